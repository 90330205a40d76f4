//! Frequent queries that begin as what is typed, also with a typing error.

use crate::pins::normal;

/// Of this many letters typed, one may be wrong.
const LETTERS_FOR_AN_ERROR: usize = 4;
/// No more letters may be wrong.
const MOST_ERRORS: usize = 2;

/// Queries that people type, the most frequent first.
pub(crate) struct Suggestions(Vec<Suggestion>);

struct Suggestion {
    query: String,
    /// The query as it is compared.
    letters: Vec<char>,
}

impl Suggestions {
    pub(crate) fn new(queries: &[String]) -> Suggestions {
        let suggestion = |query: &String| Suggestion { query: query.clone(), letters: normal(query).chars().collect() };
        Suggestions(queries.iter().map(suggestion).collect())
    }

    /// Returns at most `count` queries for what is typed: those that begin with it, then those with a later word that does, then those
    /// that begin nearly so; each the most frequent first. Nothing typed gives the most frequent queries.
    pub(crate) fn find(&self, typed: &str, count: usize) -> Vec<&str> {
        let typed: Vec<char> = normal(typed).chars().collect();
        let most = (typed.len() / LETTERS_FOR_AN_ERROR).min(MOST_ERRORS);
        let begins = |letters: &[char]| letters.starts_with(&typed);
        let later = |letters: &[char]| (1..letters.len()).any(|at| letters[at - 1] == ' ' && begins(&letters[at..]));
        let mut found: Vec<&Suggestion> = self.0.iter().filter(|of| begins(&of.letters)).take(count).collect();
        let later = self.0.iter().filter(|of| !begins(&of.letters) && later(&of.letters));
        found.extend(later.take(count - found.len()));
        if found.len() < count && most > 0 {
            let others = self.0.iter().filter(|&of| !found.iter().any(|other| std::ptr::eq(*other, of)));
            let counted = others.map(|of| (errors_in_beginning(&typed, &of.letters), of));
            let mut nearly: Vec<(usize, &Suggestion)> = counted.filter(|&(errors, _)| errors <= most).collect();
            nearly.sort_by_key(|&(errors, _)| errors);
            found.extend(nearly.into_iter().map(|(_, of)| of).take(count - found.len()));
        }
        found.into_iter().map(|of| of.query.as_str()).collect()
    }
}

/// Returns the least number of letters to change, leave out or add so that what is typed begins a text.
fn errors_in_beginning(typed: &[char], letters: &[char]) -> usize {
    let letters = &letters[..letters.len().min(typed.len() + MOST_ERRORS)];
    let mut errors: Vec<usize> = (0..=letters.len()).collect();
    for (before, c) in (1..).zip(typed) {
        let mut diagonal = std::mem::replace(&mut errors[0], before);
        for (at, letter) in (1..).zip(letters) {
            let changed = diagonal + usize::from(c != letter);
            diagonal = errors[at];
            errors[at] = changed.min(errors[at].min(errors[at - 1]) + 1);
        }
    }
    errors.into_iter().min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_may_be_wrong_in_a_letter() {
        let queries = ["leather couch", "desk lamp", "Léather Sofa", "lamp", "led strip"].map(str::to_owned);
        let suggestions = Suggestions::new(&queries);
        for (typed, expected) in [
            ("", &["leather couch", "desk lamp", "Léather Sofa"][..]),
            ("LE", &["leather couch", "Léather Sofa", "led strip"]),
            ("lamp", &["lamp", "desk lamp"]),
            ("lether s", &["Léather Sofa", "leather couch"]),
            ("lxd", &[]),
            ("lether cuoch", &[]),
            ("desk lanp", &["desk lamp"]),
        ] {
            assert_eq!(suggestions.find(typed, 3), expected, "{typed}");
        }
    }
}

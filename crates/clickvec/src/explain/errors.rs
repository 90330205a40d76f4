//! A model's worst queries, grouped by what makes them hard.

use crate::eval::{EvaluateOptions, Judgments, Metric, Scores, judge};
use crate::text::{Interner, words};

/// What is hard about a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Difficulty {
    /// A word that stands in no known text, and is no misspelling of one that does.
    UnseenWord,
    /// A word that stands in no known text, and is one edit away from one that does.
    Misspelt,
    /// Six words or more.
    Long,
    /// A word with a digit: a size, a model, a price.
    Number,
    /// A word that stands in a good title and in the bad title that the model puts first: it has two senses, or says
    /// too little.
    Sense,
    /// Nothing of these.
    Other,
}

impl Difficulty {
    /// All of them.
    pub const ALL: [Difficulty; 6] = [
        Difficulty::UnseenWord,
        Difficulty::Misspelt,
        Difficulty::Long,
        Difficulty::Number,
        Difficulty::Sense,
        Difficulty::Other,
    ];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Difficulty::UnseenWord => "unseen word",
            Difficulty::Misspelt => "misspelt",
            Difficulty::Long => "long",
            Difficulty::Number => "number",
            Difficulty::Sense => "sense",
            Difficulty::Other => "other",
        }
    }
}

/// Words from which on a query is long.
const LONG: usize = 6;
/// Letters from which on a word can be misspelt: shorter ones have too many neighbours.
const SPELT: usize = 4;
/// The lowest grade of a good title.
const GOOD: u8 = 2;

/// A judged query as a model and another system answer it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The query's place among the judged ones.
    pub query: usize,
    /// What is hard about it; never empty.
    pub difficulties: Vec<Difficulty>,
    /// The model's metric.
    pub model: f64,
    /// The other system's.
    pub other: f64,
    /// The place of the title that the model puts first.
    pub first: usize,
    /// The place of the title with the best grade, the first if there are several.
    pub best: usize,
}

/// All judged queries with a title, those first in which the model is furthest behind the other system.
/// `vocabulary` has the words of all known texts.
///
/// # Panics
///
/// If there is not one score for each judged title.
pub fn outcomes(
    judgments: &Judgments,
    model: &Scores,
    other: &Scores,
    metric: Metric,
    vocabulary: &Interner,
) -> Vec<Outcome> {
    let options = EvaluateOptions::default();
    let values = |scores: &Scores| judge("system", scores, judgments, &options).values(metric);
    let (model_values, other_values) = (values(model), values(other));
    let mut outcomes = Vec::new();
    for (place, query) in judgments.queries.iter().enumerate() {
        if query.titles.is_empty() {
            continue;
        }
        // Of equal ones the first.
        let largest = |value: &dyn Fn(usize) -> f64| {
            (1..query.titles.len()).fold(0, |best, title| if value(title) > value(best) { title } else { best })
        };
        let first = largest(&|title| model[place][title]);
        let best = largest(&|title| f64::from(query.titles[title].grade));
        let told = [first, best].map(|title| (words(&query.titles[title].text), query.titles[title].grade));
        outcomes.push(Outcome {
            query: place,
            difficulties: difficulties(&words(&query.text), &told[0], &told[1], vocabulary),
            model: model_values[place],
            other: other_values[place],
            first,
            best,
        });
    }
    outcomes.sort_by(|a, b| (a.model - a.other).total_cmp(&(b.model - b.other)).then(a.query.cmp(&b.query)));
    outcomes
}

type Title = (Vec<String>, u8);

fn difficulties(query: &[String], first: &Title, best: &Title, vocabulary: &Interner) -> Vec<Difficulty> {
    let mut found = Vec::new();
    let unseen: Vec<&String> = query.iter().filter(|word| vocabulary.get(word).is_none()).collect();
    if unseen.iter().any(|word| !is_misspelt(word, vocabulary)) {
        found.push(Difficulty::UnseenWord);
    }
    if unseen.iter().any(|word| is_misspelt(word, vocabulary)) {
        found.push(Difficulty::Misspelt);
    }
    if query.len() >= LONG {
        found.push(Difficulty::Long);
    }
    if query.iter().any(|word| word.chars().any(char::is_numeric)) {
        found.push(Difficulty::Number);
    }
    let in_both = |word: &String| first.0.contains(word) && best.0.contains(word);
    if first.1 < GOOD && best.1 >= GOOD && query.iter().any(in_both) {
        found.push(Difficulty::Sense);
    }
    if found.is_empty() {
        found.push(Difficulty::Other);
    }
    found
}

/// Whether one letter more, less, other or two exchanged make a known word of it. A word with a digit is none.
fn is_misspelt(word: &str, vocabulary: &Interner) -> bool {
    let letters: Vec<char> = word.chars().collect();
    if letters.len() < SPELT || letters.iter().any(|c| c.is_numeric()) {
        return false;
    }
    let alphabet: Vec<char> = ('a'..='z').chain(letters.iter().copied().filter(|c| !c.is_ascii())).collect();
    let known = |letters: &[char]| vocabulary.get(&letters.iter().collect::<String>()).is_some();
    (0..=letters.len()).any(|at| {
        let (before, after) = letters.split_at(at);
        let shorter = || !after.is_empty() && known(&[before, &after[1..]].concat());
        let exchanged = || after.len() > 1 && known(&[before, &[after[1], after[0]], &after[2..]].concat());
        let changed = |c: &char| {
            known(&[before, &[*c], after].concat())
                || (!after.is_empty() && known(&[before, &[*c], &after[1..]].concat()))
        };
        shorter() || exchanged() || alphabet.iter().any(changed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Interner {
        let mut vocabulary = Interner::default();
        for word in ["leather", "couch", "oak", "grün", "hammer", "office", "chair"] {
            vocabulary.intern(word);
        }
        vocabulary
    }

    #[test]
    fn one_edit_makes_a_misspelling() {
        let vocabulary = vocabulary();
        for (word, expected) in [
            ("lether", true),
            ("leatherr", true),
            ("laether", true),
            ("leathar", true),
            ("lethar", false),
            ("elk", false),
            ("grühn", true),
            ("hammer2", false),
            ("zzzzzz", false),
        ] {
            assert_eq!(is_misspelt(word, &vocabulary), expected, "{word}");
        }
    }

    #[test]
    fn what_is_hard_is_told() {
        let vocabulary = vocabulary();
        let title = |text: &str, grade| (words(text), grade);
        let told = |query: &str, first, best| difficulties(&words(query), &first, &best, &vocabulary);
        let (good, bad) = (title("office chair", 4), title("office suite", 0));
        assert_eq!(told("office chair", good.clone(), good.clone()), [Difficulty::Other]);
        assert_eq!(told("office", bad.clone(), good.clone()), [Difficulty::Sense]);
        assert_eq!(told("lether couch", good.clone(), good.clone()), [Difficulty::Misspelt]);
        assert_eq!(told("plutonium couch 12", bad, good), [Difficulty::UnseenWord, Difficulty::Number]);
        let long = "oak couch oak couch oak couch";
        assert_eq!(told(long, title("a", 0), title("b", 0)), [Difficulty::Long]);
    }
}

//! What a query and a title have in common, judging by their letters and not by a model.

use std::collections::HashSet;

use clickvec::internals::text::{Trigram, for_each_trigram, words};

/// The share of common trigrams from which words look alike.
const ALIKE: f64 = 0.4;

/// What a title has in common with a query.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Match {
    /// Words in both, in the order of the query.
    pub(super) words: Vec<String>,
    /// Other words of the query, each with the word of the title that is most like it.
    pub(super) alike: Vec<(String, String)>,
    /// Words of the query that are like no word of the title.
    pub(super) without: Vec<String>,
    /// The words in both, in the order of the title.
    pub(super) in_title: Vec<String>,
}

impl Match {
    /// The match of a query and a title.
    pub(super) fn new(query: &str, title: &str) -> Match {
        let (query, title) = (words(query), words(title));
        let mut found = Match::default();
        for word in query {
            if title.contains(&word) {
                found.words.push(word);
                continue;
            }
            let mut best = (0.0, "");
            for other in &title {
                let likeness = likeness(&word, other);
                if likeness > best.0 {
                    best = (likeness, other);
                }
            }
            match best {
                (likeness, other) if likeness >= ALIKE => found.alike.push((word, other.to_owned())),
                _ => found.without.push(word),
            }
        }
        let place = |word: &String| title.iter().position(|other| other == word);
        found.in_title = found.words.clone();
        found.in_title.sort_by_key(place);
        found
    }

    /// The match in words.
    pub(super) fn explanation(&self) -> String {
        let mut parts = Vec::new();
        if !self.words.is_empty() {
            let order = match self.words.len() {
                1 => String::new(),
                _ if self.words == self.in_title => " in this order".to_owned(),
                _ => format!(" as \"{}\"", self.in_title.join(" ")),
            };
            parts.push(format!("shares {}{order}", self.words.join(" ")));
        }
        if !self.alike.is_empty() {
            let alike: Vec<String> = self.alike.iter().map(|(asked, said)| format!("{asked} ≈ {said}")).collect();
            parts.push(format!("letters of {}", alike.join(", ")));
        }
        match (parts.is_empty(), self.without.is_empty()) {
            (true, _) => "no word in common".to_owned(),
            (false, true) => parts.join("; "),
            (false, false) => format!("{}; not {}", parts.join("; "), self.without.join(" ")),
        }
    }
}

/// The Dice coefficient of two words' letter trigrams.
fn likeness(a: &str, b: &str) -> f64 {
    let trigrams = |word: &str| {
        let mut found: HashSet<[char; 3]> = HashSet::new();
        for_each_trigram(word, |trigram: Trigram| {
            found.insert(trigram.chars());
        });
        found
    };
    let (a, b) = (trigrams(a), trigrams(b));
    2.0 * a.intersection(&b).count() as f64 / (a.len() + b.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_letters_and_order_are_told() {
        let explained = |query, title| Match::new(query, title).explanation();
        assert_eq!(explained("paris rome", "Flights from Paris to Rome"), "shares paris rome in this order");
        assert_eq!(explained("rome paris", "Flights from Paris to Rome"), "shares rome paris as \"paris rome\"");
        assert_eq!(explained("pizza recipee", "Pizza Recipe | Tastely"), "shares pizza; letters of recipee ≈ recipe");
        assert_eq!(explained("settee lease", "Rent a Couch"), "no word in common");
        assert_eq!(explained("turkey places to stay", "Turkey Hotels"), "shares turkey; not places to stay");
    }
}

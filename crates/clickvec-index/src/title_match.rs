//! Re-ranking of the best titles of a fused search, by whether a title has the numbers of the query, its words side by side, and is
//! the kind of thing that the query names.

use clickvec::internals::text::{Analysis, WordBuffer, for_each_term, for_each_word};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// The number of titles that are re-ranked.
pub(crate) const LOOKED_AT: usize = 100;

/// The contribution of each kind of evidence in a title to its fused score; or, as weights, the most that it can contribute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TitleMatch {
    /// The numbers of the query, in proportion to the share that the title has.
    pub numbers: f32,
    /// Each pair of neighbouring words of the query that are neighbours in the title (the ordered window of Metzler and Croft's
    /// sequential dependence model, 2005).
    pub pairs: f32,
    /// The head: the last word of the query's noun phrase, if it is also that of the title. The head of `oak vanity for bathroom` is
    /// `vanity`, and that of `Vanity Light in Oak` is `light`.
    pub head: f32,
}

impl TitleMatch {
    /// The default weights, next to a cosine with weight 1 (docs/explanation/defaults.md).
    pub(crate) const WEIGHTS: TitleMatch = TitleMatch { numbers: 0.1, pairs: 0.03, head: 0.05 };

    /// Returns each times `weight`.
    pub(crate) fn scaled(self, weight: f32) -> TitleMatch {
        let TitleMatch { numbers, pairs, head } = self;
        TitleMatch { numbers: numbers * weight, pairs: pairs * weight, head: head * weight }
    }

    /// Returns the sum.
    pub fn sum(&self) -> f32 {
        self.numbers + self.pairs + self.head
    }

    /// Returns whether all weights are finite and none is negative, so that re-ranking never moves a title below one that is not re-ranked.
    pub(crate) fn are_weights(&self) -> bool {
        [self.numbers, self.pairs, self.head].iter().all(|weight| (0.0..=1e6).contains(weight))
    }
}

/// Words that end a noun phrase.
const AFTER_THE_HEAD: [&str; 4] = ["for", "in", "w", "with"];
/// Units that follow a number and are no heads.
const UNITS: [&str; 30] = [
    "amp", "btu", "cm", "count", "ct", "cu", "d", "dia", "ft", "ga", "gal", "gauge", "gb", "h", "in", "inch", "kg",
    "l", "lb", "mil", "mm", "oz", "pack", "piece", "qt", "sq", "volt", "w", "watt", "x",
];

/// A query, for comparing it with titles.
pub(crate) struct QueryMatch {
    analysis: Analysis,
    weights: TitleMatch,
    /// The distinct terms.
    terms: Vec<String>,
    /// The idf of each.
    idf: Vec<f32>,
    /// The terms that are numbers.
    numbers: Vec<usize>,
    /// The pairs of neighbours.
    pairs: Vec<(usize, usize)>,
    head: Option<String>,
}

/// The memory of a comparison, reused from title to title.
#[derive(Default)]
pub(crate) struct Scratch {
    words: WordBuffer,
    /// Whether the title has each term.
    found: Vec<bool>,
}

impl QueryMatch {
    /// Reads a query. `idf` is that of a term among the titles.
    pub(crate) fn new(
        query: &str,
        analysis: Analysis,
        weights: TitleMatch,
        idf: impl FnMut(&String) -> Result<f32>,
    ) -> Result<QueryMatch> {
        let (mut words, mut terms, mut sequence) = (WordBuffer::default(), Vec::<String>::new(), Vec::new());
        for_each_term(query, analysis, &mut words, |term| {
            let number = terms.iter().position(|known| known == term).unwrap_or_else(|| {
                terms.push(term.to_owned());
                terms.len() - 1
            });
            sequence.push(number);
        });
        let numbers = (0..terms.len()).filter(|&term| is_number(&terms[term])).collect();
        let pairs = sequence.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let mut head = None;
        for_each_head(query, analysis, &mut words, |found| {
            if head.is_none() {
                head = Some(found.to_owned());
            }
        });
        let idf = terms.iter().map(idf).collect::<Result<_>>()?;
        Ok(QueryMatch { analysis, weights, terms, idf, numbers, pairs, head })
    }

    /// Returns the evidence that a title has for the query, and its coverage: the share of the query's terms that it has, by
    /// their idf.
    pub(crate) fn compare(&self, title: &str, scratch: &mut Scratch) -> (TitleMatch, f32) {
        let Scratch { words, found } = scratch;
        found.clear();
        found.resize(self.terms.len(), false);
        let (mut pairs, mut before) = (0, None);
        for_each_term(title, self.analysis, words, |term| {
            let number = self.terms.iter().position(|known| known == term);
            if let Some(number) = number {
                found[number] = true;
                pairs += before.map_or(0, |before| usize::from(self.pairs.contains(&(before, number))));
            }
            before = number;
        });
        let mut has_head = false;
        // A title's head is one of its terms, and few titles have that of the query.
        if let Some(head) = &self.head
            && self.terms.iter().zip(found.iter()).any(|(term, found)| *found && term == head)
        {
            for_each_head(title, self.analysis, words, |found| has_head |= found == head);
        }
        let has_number = self.numbers.iter().filter(|&&number| found[number]).count();
        let adds = TitleMatch {
            numbers: self.weights.numbers * has_number as f32 / self.numbers.len().max(1) as f32,
            pairs: self.weights.pairs * pairs.min(self.pairs.len()) as f32,
            head: if has_head { self.weights.head } else { 0.0 },
        };
        let has = self.idf.iter().zip(found.iter()).filter(|(_, found)| **found).map(|(idf, _)| idf);
        let all: f32 = self.idf.iter().sum();
        (adds, if all > 0.0 { has.sum::<f32>() / all } else { 0.0 })
    }
}

fn is_number(term: &str) -> bool {
    term.starts_with(|c: char| c.is_numeric())
}

/// Calls `head` with the head of each part of a text that ` - ` separates, as brand, product and size are. What follows a comma or a
/// bracket is left out.
fn for_each_head(text: &str, analysis: Analysis, words: &mut WordBuffer, mut head: impl FnMut(&str)) {
    let phrase = text.split([',', '(']).next().unwrap_or_default();
    let mut last = String::new();
    for part in phrase.split(" - ") {
        let (mut after_number, mut is_first, mut has_ended) = (false, true, false);
        last.clear();
        for_each_word(part, words, |word| {
            // In `24 in. vanity`, `in` is a unit.
            has_ended |= !is_first && !after_number && AFTER_THE_HEAD.contains(&word);
            if has_ended {
                return;
            }
            if !is_number(word) && !UNITS.contains(&word) {
                last.clear();
                last.push_str(word);
            }
            after_number = word.ends_with(|c: char| c.is_numeric());
            is_first = false;
        });
        if !last.is_empty() {
            let mut ending = String::new();
            analysis.for_each_term(&last, |term| term.clone_into(&mut ending));
            head(&ending);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Analysis = Analysis::USUAL;

    fn heads(text: &str) -> Vec<String> {
        let mut heads = Vec::new();
        for_each_head(text, BOTH, &mut WordBuffer::default(), |head| heads.push(head.to_owned()));
        heads
    }

    #[test]
    fn the_head_is_the_last_word_of_the_noun_phrase() {
        for (text, expected) in [
            ("oak vanity for bathroom", &["vanity"][..]),
            ("Vanity Light in Oak", &["light"]),
            ("24 in. Vanities in White with Top", &["vanity"]),
            ("Vertical Blind - 104 in. W x 84 in. L", &["blind"]),
            ("Dynex - 32 in. LCD HDTV", &["dynex", "hdtv"]),
            ("Bar Pull (25-Pack)", &["pull"]),
            ("Stain and Sealer, Clear", &["sealer"]),
            ("24 x 36", &[]),
            ("in", &[]),
            ("", &[]),
            ("with lid", &["lid"]),
        ] {
            assert_eq!(heads(text), expected, "{text}");
        }
    }

    #[test]
    fn a_title_adds_for_numbers_pairs_and_head() {
        let weights = TitleMatch { numbers: 0.1, pairs: 0.03, head: 0.05 };
        let query = QueryMatch::new("24 x 36 oak vanities", BOTH, weights, |_| Ok(1.0)).unwrap();
        let mut scratch = Scratch::default();
        let mut of = |title: &str| {
            let (TitleMatch { numbers, pairs, head }, coverage) = query.compare(title, &mut scratch);
            assert_eq!(coverage == 1.0, title.contains("24") && title.contains("36"), "{title}: {coverage}");
            [numbers / 0.1, pairs / 0.03, head / 0.05].map(|share| (share * 100.0).round() / 100.0)
        };
        assert_eq!(of("Oak Vanity 24in x 36in"), [1.0, 2.0, 1.0]);
        assert_eq!(of("24 x 36 oak vanity"), [1.0, 4.0, 1.0]);
        assert_eq!(of("36 in. Vanity Light"), [0.5, 0.0, 0.0]);
        assert_eq!(of("oak vanity oak vanity oak vanity oak vanity oak vanity"), [0.0, 4.0, 1.0]);
        assert_eq!(of(""), [0.0; 3]);
        let without = QueryMatch::new("?!", BOTH, weights, |_| Ok(1.0)).unwrap();
        assert_eq!(without.compare("24 oak", &mut scratch), (TitleMatch::default(), 0.0));
    }
}

//! Searches among all titles, and why each result was found.

use std::collections::HashMap;

use clickvec::explain::Explainer;
use clickvec::internals::text::words;
use clickvec::model::Model;
use clickvec_eval::ranker::Ranker;
use clickvec_index::{Index, Part, Request};
use clickvec_tables::Result;

/// The number of results shown.
const TOP: usize = 3;

/// The results of a search.
pub(super) struct Search {
    pub(super) kind: &'static str,
    pub(super) query: String,
    pub(super) lstm: Vec<Found>,
    /// Empty if no title contains a word of the query.
    pub(super) bm25: Vec<Found>,
    /// The number of titles with the same BM25 score as the first one; their order is arbitrary.
    pub(super) bm25_equals: usize,
}

/// A title, and why it was found.
pub(super) struct Found {
    pub(super) title: String,
    pub(super) why: Why,
    /// Its true grade, 0 to 4.
    pub(super) grade: u8,
}

/// The two engines to search with.
pub(super) struct Engines<'a> {
    pub(super) model: &'a Model,
    pub(super) lstm: &'a Index,
    pub(super) bm25: &'a dyn Ranker,
    pub(super) titles: &'a [&'a str],
}

/// Why a title was found.
pub(super) struct Why {
    score: f64,
    /// What brings most of the score, strongest first.
    reasons: Vec<String>,
}

impl Why {
    /// Returns the score and the strongest reasons, as many as fit into `most` characters: a reason is never cut.
    pub(super) fn within(&self, most: usize) -> String {
        let mut text = format!("score {:.2}", self.score);
        let mut joint = ": ";
        for reason in &self.reasons {
            if [&text, joint, reason].map(|part| part.chars().count()).iter().sum::<usize>() > most {
                break;
            }
            text.extend([joint, reason]);
            joint = ", ";
        }
        text
    }
}

/// The number of pairs of words in an explanation.
const PAIRS: usize = 3;

/// Returns the score of a title, and the pairs of words that add most to it: what the cells that both words changed most add
/// together.
fn together(explainer: &Explainer<'_>, query: &str, title: &str) -> Why {
    let found = explainer.explain(query, title);
    Why { score: f64::from(found.score), reasons: found.named_pairs(PAIRS) }
}

/// Returns a title's BM25, and what each word of the query adds to it.
fn by_word(bm25: &dyn Ranker, query: &str, title: &str) -> Why {
    let score = |text: &str| bm25.score(text, &[title])[0];
    let words = words(query).into_iter().map(|word| (score(&word), word));
    let mut words: Vec<(f64, String)> = words.filter(|(share, _)| *share > 0.0).collect();
    words.sort_by(|a, b| b.0.total_cmp(&a.0));
    Why { score: score(query), reasons: words.iter().map(|(share, word)| format!("{word} {share:.2}")).collect() }
}

/// Searches with both engines. `grades` has the true grades in the order of the titles.
pub(super) fn search(engines: &Engines<'_>, kind: &'static str, query: &str, grades: &[u8]) -> Result<Search> {
    let grade_of: HashMap<&str, u8> = engines.titles.iter().copied().zip(grades.iter().copied()).collect();
    let explainer = Explainer::new(engines.model);
    let found = |title: &str, why: Why| Found {
        title: title.to_owned(),
        why,
        grade: grade_of.get(title).copied().unwrap_or(0),
    };
    let answer = engines.lstm.search(&Request::new(query, Part::Vectors).with_k(TOP))?;
    let lstm = answer.hits.iter().map(|hit| found(&hit.title, together(&explainer, query, &hit.title))).collect();

    let scores = engines.bm25.score(query, engines.titles);
    let mut order: Vec<usize> = (0..scores.len()).filter(|&title| scores[title] > 0.0).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let bm25_equals =
        order.first().map_or(0, |&best| order.iter().filter(|&&title| scores[title] == scores[best]).count());
    let bm25 = order.iter().take(TOP).map(|&title| {
        let title = engines.titles[title];
        found(title, by_word(engines.bm25, query, title))
    });
    let bm25 = bm25.collect();
    Ok(Search { kind, query: query.to_owned(), lstm, bm25, bm25_equals })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_shown_whole_or_not_at_all() {
        let why = Why { score: 0.914, reasons: ["adapter ↔ charger 0.33", "best 0.20"].map(str::to_owned).into() };
        assert_eq!(why.within(99), "score 0.91: adapter ↔ charger 0.33, best 0.20");
        assert_eq!(why.within(45), "score 0.91: adapter ↔ charger 0.33, best 0.20");
        assert_eq!(why.within(44), "score 0.91: adapter ↔ charger 0.33");
        assert_eq!(why.within(34), "score 0.91: adapter ↔ charger 0.33");
        assert_eq!(why.within(33), "score 0.91", "the weaker one does not take the place of the stronger");
    }
}

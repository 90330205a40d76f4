//! What a search found for a query, from whatever searched.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use clickvec::index::Hit;
use clickvec::internals::text::words;
use clickvec::tables::Title;
use clickvec_eval::ranker::Candidates;
use serde::Serialize;

/// What was found for a query.
pub(super) struct Outcome {
    pub(super) results: Vec<Shown>,
    /// Why nothing was found.
    pub(super) nothing: Option<Nothing>,
}

/// Why nothing was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nothing {
    /// No title has anything of the query.
    Found,
    /// The query has no words.
    OfWords,
    /// The model knows none of its words.
    Known,
    /// No title meets the conditions.
    Met,
    /// No title that meets the conditions has anything of the query.
    FoundOfMet,
    /// There are titles, but none after those that were to be left out.
    After {
        /// How many were to be left out.
        offset: usize,
    },
}

impl Display for Nothing {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Nothing::Found => f.write_str("no title has any of these words"),
            Nothing::OfWords => f.write_str("expected words, found none"),
            Nothing::Known => f.write_str("the model knows none of its words"),
            Nothing::Met => f.write_str("no title meets the conditions of --filter"),
            Nothing::FoundOfMet => f.write_str("no title that meets the conditions of --filter has any of these words"),
            Nothing::After { offset } => write!(f, "the list ends before --offset {offset}"),
        }
    }
}

/// A title that was found, as JSON shows it.
#[derive(Serialize)]
pub(super) struct Shown {
    pub(super) rank: usize,
    pub(super) id: String,
    pub(super) title: String,
    pub(super) score: f32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) fields: BTreeMap<String, String>,
}

/// Searches the titles of a ranker. A query without a word finds nothing.
pub(super) fn of_candidates(
    candidates: &dyn Candidates,
    titles: &[Title],
    queries: &[String],
    top: usize,
) -> clickvec::Result<Vec<Outcome>> {
    let asked: Vec<&str> = queries.iter().map(String::as_str).filter(|query| !words(query).is_empty()).collect();
    let mut lists = candidates.search_batch(&asked, top)?.into_iter();
    let mut outcomes = Vec::with_capacity(queries.len());
    for query in queries {
        if words(query).is_empty() {
            outcomes.push(Outcome { results: Vec::new(), nothing: Some(Nothing::OfWords) });
            continue;
        }
        let shown = |(rank, hit): (usize, Hit)| {
            let Title { id, title } = titles.get(hit.position as usize)?.clone();
            Some(Shown { rank, id, title, score: hit.score, fields: BTreeMap::new() })
        };
        let results: Vec<Shown> = (1..).zip(lists.next().unwrap_or_default()).filter_map(shown).collect();
        let nothing = results.is_empty().then_some(Nothing::Found);
        outcomes.push(Outcome { results, nothing });
    }
    Ok(outcomes)
}

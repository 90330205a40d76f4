//! What a search found for a query, from whatever searched.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use clickvec_index::searcher::{Answer, Found};
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

/// The outcomes of a search of the library.
pub(super) fn all(answers: &[Answer<'_>]) -> Vec<Outcome> {
    let shown = |&Found { rank, id, title, score, .. }: &Found<'_>| Shown {
        rank,
        id: id.to_owned(),
        title: title.to_owned(),
        score,
        fields: BTreeMap::new(),
    };
    let outcome = |answer: &Answer<'_>| {
        let nothing = match answer {
            Answer::Found(found) if found.is_empty() => Some(Nothing::Found),
            Answer::Found(_) => None,
            Answer::NoWords => Some(Nothing::OfWords),
            Answer::UnknownWords => Some(Nothing::Known),
        };
        Outcome { results: answer.results().iter().map(shown).collect(), nothing }
    };
    answers.iter().map(outcome).collect()
}

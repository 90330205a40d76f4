//! What a search of an index found for a query, and why it found nothing.

use std::collections::BTreeMap;

use anyhow::Result;
use clickvec_index::{Answer, Hit, Index, Mode, Part, Request};
use rayon::prelude::*;
use serde::Serialize;

use super::Args;

/// What was found for a query.
pub(super) struct Outcome {
    pub(super) results: Vec<Shown>,
    /// Why nothing was found.
    pub(super) nothing: Option<String>,
    /// Whether no title is likely to be a good match.
    pub(super) weak: bool,
    /// What was searched for, if words were corrected.
    pub(super) corrected: Option<String>,
}

/// A title that was found, as JSON shows it.
#[derive(Serialize)]
pub(super) struct Shown {
    pub(super) rank: usize,
    pub(super) id: String,
    pub(super) title: String,
    pub(super) score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f32>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fields: BTreeMap<String, String>,
}

impl From<Hit> for Shown {
    fn from(Hit { rank, id, title, fields, score, confidence, .. }: Hit) -> Shown {
        Shown { rank, id, title, score, confidence, fields }
    }
}

/// Answers queries on all threads.
pub(super) fn search(index: &Index, args: &Args, queries: &[String]) -> Result<Vec<Outcome>> {
    queries.par_iter().map(|query| search_one(index, args, query)).collect()
}

fn search_one(index: &Index, args: &Args, query: &str) -> Result<Outcome> {
    let mut request = Request::new(query, args.mode).with_k(args.top as usize).with_filters(args.filters.concat());
    request.min_confidence = args.min_confidence();
    request.corrects = !args.as_typed;
    let answer = index.search(&request.clone().with_offset(args.offset))?;
    let nothing = if !answer.hits.is_empty() {
        None
    } else if args.offset > 0 && !index.search(&request)?.hits.is_empty() {
        Some(format!("the list ends before --offset {}", args.offset))
    } else {
        Some(why_nothing(&answer, args).to_owned())
    };
    let results = answer.hits.into_iter().map(Shown::from).collect();
    Ok(Outcome { results, nothing, weak: answer.weak, corrected: answer.query.corrected })
}

fn why_nothing(answer: &Answer, args: &Args) -> &'static str {
    let is_filtered = !args.filters.is_empty();
    if answer.query.words.is_empty() {
        "expected words, found none"
    } else if args.mode == Mode::Alone(Part::Vectors) && !answer.query.has_vector {
        "the model knows none of its words"
    } else if is_filtered && answer.total == 0 {
        "no title meets the conditions of --filter"
    } else if answer.unlikely > 0 {
        "no title is a likely match; `--min-confidence 0` shows the nearest"
    } else if is_filtered {
        "no title that meets the conditions of --filter has any of these words"
    } else {
        "no title has any of these words"
    }
}

//! Search by one part of an index or by all of them, with conditions and pages.

use anyhow::Result;
use clickvec_index::{Answer, Filter, Hit, Index, Mode, Part, Request};
use rayon::prelude::*;

use super::outcome::{Nothing, Outcome, Shown};

/// How to search an index.
#[derive(clap::Args)]
// The command has a group named after its own `Args`.
#[group(skip)]
pub(super) struct Args {
    /// Search an index by `vectors`, `words` (BM25), `trigrams` or `teacher` alone, or by all that its fusion weighs, `fused`
    /// [default: fused].
    #[arg(long, value_name = "MODE")]
    mode: Option<Mode>,

    /// Only titles of an index that meet this condition on a stored column: brand=acme, brand=acme|zed, or
    /// price:10..20, where either end may be missing. If repeated, titles must meet all conditions.
    #[arg(long = "filter", value_name = "CONDITION")]
    filters: Vec<Filter>,

    /// Skip this many of the best titles: with -k 10, the third page begins after 20.
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
}

impl Args {
    /// Whether any was given.
    pub(super) fn are_given(&self) -> bool {
        self.mode.is_some() || !self.filters.is_empty() || self.offset > 0
    }
}

/// Answers queries on all threads.
pub(super) fn search(index: &Index, args: &Args, queries: &[String], top: usize) -> Result<Vec<Outcome>> {
    index.prepare()?;
    let mode = args.mode.unwrap_or(Mode::Fused);
    let one = |query: &String| {
        let first = Request::new(query, mode).with_k(top).with_filters(args.filters.clone());
        let answer = index.search(&first.clone().with_offset(args.offset))?;
        if answer.hits.is_empty() && args.offset > 0 && !index.search(&first)?.hits.is_empty() {
            return Ok(Outcome { results: Vec::new(), nothing: Some(Nothing::After { offset: args.offset }) });
        }
        Ok(outcome(answer, mode, !args.filters.is_empty()))
    };
    queries.par_iter().map(one).collect()
}

fn outcome(answer: Answer, mode: Mode, is_filtered: bool) -> Outcome {
    let nothing = match (answer.hits.is_empty(), mode) {
        (false, _) => None,
        _ if answer.query.words.is_empty() => Some(Nothing::OfWords),
        (true, Mode::Alone(Part::Vectors)) if !answer.query.has_vector => Some(Nothing::Known),
        _ if is_filtered && answer.total == 0 => Some(Nothing::Met),
        _ if is_filtered => Some(Nothing::FoundOfMet),
        (true, _) => Some(Nothing::Found),
    };
    let shown = |hit: Hit| {
        let Hit { rank, id, title, fields, score, .. } = hit;
        Shown { rank, id, title, score, fields }
    };
    Outcome { results: answer.hits.into_iter().map(shown).collect(), nothing }
}

//! Systems that score judged titles.

use std::path::Path;

use anyhow::Result;
use clickvec::eval;

use super::{Args, Results, systems, trec};
use crate::{input, progress};

/// Loads every system, evaluates it, and writes what was asked for on the way.
pub(super) fn evaluate(path: &Path, args: &Args) -> Result<Results> {
    let wanted = systems::Wanted::parse(&args.ranker, &args.model)?;
    let judgments = input::judgments(path)?;
    if let Some(out) = &args.qrels_out {
        trec::write_qrels(out, &judgments)?;
    }
    let mut runs = args.run_out.as_deref().map(|folder| trec::RunFolder::create(folder, &judgments)).transpose()?;
    let collection = wanted.collection(args.titles.as_deref(), args.clicks.as_deref(), &judgments)?;
    let options = args.options();
    let bar = progress::bar(wanted.len() as u64, "judging", "systems");
    let mut evaluations = Vec::with_capacity(wanted.len());
    for system in wanted.systems() {
        // One at a time: a model of a large dictionary is large.
        let ranker = system.load(&collection)?;
        evaluations.push(eval::evaluate(ranker.as_ref(), &judgments, &options));
        if let Some(runs) = &mut runs {
            runs.write(ranker.as_ref())?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let queries = judgments.queries.into_iter().map(|query| query.text).collect();
    Ok(Results { evaluations, queries })
}

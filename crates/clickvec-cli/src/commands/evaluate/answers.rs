//! What a system answers: scores of judged titles, or what it finds in a collection.

use anyhow::{Result, bail};
use clickvec_build::search_all;
use clickvec_eval::ranker::FUSED_DEPTH;
use clickvec_eval::{Answers, Task};

use super::coverage;
use super::fusion::Found;
use super::systems::{Entry, Loaded};
use super::test::Test;
use crate::{output, progress};

/// Answers the queries of the test and, for a member of a fusion, those that weights are fitted on.
pub(super) fn answers(entry: &Entry, system: &Loaded, test: &Test, is_member: bool) -> Result<Found> {
    let fitting = test.fitting().filter(|_| is_member);
    // A fusion takes a list of fewer titles for all that there is to find.
    let depth = if is_member { test.depth.max(FUSED_DEPTH) } else { test.depth };
    let before = test.task().len();
    let queries = before + fitting.map_or(0, Task::len);
    let bar = progress::bar(queries as u64, &output::printable(&entry.name), "queries");
    if let Loaded::Ranker(ranker) = system {
        coverage::note_missing_vectors(&entry.name, ranker.as_ref(), test.task())?;
    }
    let judged = answers_to(entry, system, test, test.task(), depth, &mut |done| bar.set_position(done as u64))?;
    let done = &mut |done| bar.set_position((before + done) as u64);
    let fitting = fitting.map(|task| answers_to(entry, system, test, task, depth, done)).transpose()?;
    bar.finish_and_clear();
    Ok(Found { judged, fitting })
}

fn answers_to(
    entry: &Entry,
    system: &Loaded,
    test: &Test,
    task: Task<'_>,
    depth: usize,
    done: &mut dyn FnMut(usize),
) -> Result<Answers> {
    match (system, task, test.collection()) {
        (Loaded::Ranker(ranker), ..) => Ok(task.answers(ranker.as_ref(), depth, done)?),
        (Loaded::Run(run), ..) => {
            let (answers, coverage) = run.answers(task, depth)?;
            coverage::note_run(entry.file_name(), &coverage, task);
            Ok(answers)
        }
        (Loaded::Index(index), Task::Search { queries, .. }, Some(collection)) => {
            Ok(Answers::Lists(search_all(index, collection, queries, depth, done)?))
        }
        (Loaded::Index(_), ..) => bail!("{}: expected `--full` with an index", entry.file_name().display()),
    }
}

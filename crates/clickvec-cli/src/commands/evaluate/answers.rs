//! What a system answers: scores of judged titles, or what it finds in a collection.

use anyhow::Result;
use clickvec_eval::ranker::FUSED_DEPTH;
use clickvec_eval::{Answers, Task};

use super::coverage;
use super::fusion::Found;
use super::systems::Entry;
use super::test::Test;
use crate::systems::Loaded;
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
    let collection = test.collection();
    let answers_to = |task: Task<'_>, done: &mut dyn FnMut(usize)| -> Result<Answers> {
        let (answers, coverage) = system.answers(task, collection, depth, done)?;
        if let Some(coverage) = coverage {
            coverage::note_run(entry.file_name(), &coverage, task);
        }
        Ok(answers)
    };
    let judged = answers_to(test.task(), &mut |done| bar.set_position(done as u64))?;
    let done = &mut |done| bar.set_position((before + done) as u64);
    let fitting = fitting.map(|task| answers_to(task, done)).transpose()?;
    bar.finish_and_clear();
    Ok(Found { judged, fitting })
}

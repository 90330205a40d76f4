//! What systems lack of the test set: vectors, and titles of runs.

use std::path::Path;

use clickvec_eval::ranker::{Ranker, VectorCoverage};
use clickvec_eval::{RunCoverage, Task};
use clickvec_tables::Result;
use clickvec_tables::shown::{agreeing, count, counted, printable, shown_input};

use crate::Watcher;

/// Notes how many of the texts have no vector, if the ranker is a table of vectors. An error if no query or no title has one.
pub(super) fn note_missing_vectors(name: &str, ranker: &dyn Ranker, task: Task<'_>, watch: &dyn Watcher) -> Result<()> {
    let titles: Vec<&str> = match task {
        Task::Judged(judgments) => {
            judgments.queries.iter().flat_map(|query| &query.titles).map(|title| &title.text[..]).collect()
        }
        Task::Search { titles, .. } => titles.iter().map(|title| &title.title[..]).collect(),
    };
    let coverage = VectorCoverage::count(ranker, task.queries().map(|(_, text)| text), titles.into_iter());
    let coverage = coverage.map_err(|error| error.within(printable(name).into_owned()))?;
    coverage.and_then(|coverage| lacking_vectors(name, &coverage)).into_iter().for_each(|note| watch.warn(note));
    Ok(())
}

/// What a table of vectors lacks, if it lacks anything.
pub fn lacking_vectors(name: &str, coverage: &VectorCoverage) -> Option<String> {
    let &VectorCoverage { lacking_queries, queries, lacking_titles, titles } = coverage;
    let part = |lacking: u64, all: u64, what: &str| {
        (lacking > 0).then(|| format!("{} of {}", count(lacking), counted(all, what)))
    };
    let parts: Vec<String> = [part(lacking_queries, queries, "query"), part(lacking_titles, titles, "title")]
        .into_iter()
        .flatten()
        .collect();
    let score = agreeing(lacking_queries + lacking_titles, "scores", "score");
    (!parts.is_empty())
        .then(|| format!("{}: has no vector for {}, which {score} 0", printable(name), parts.join(" and ")))
}

/// Notes what a run lacks of the task, and what it has besides.
pub(super) fn note_run(path: &Path, run: &RunCoverage, task: Task<'_>, watch: &dyn Watcher) {
    let name = shown_input(path);
    let Task::Search { titles, .. } = task else {
        lacking_in_run(&name, run).into_iter().for_each(|note| watch.warn(note));
        return;
    };
    let &RunCoverage { lacking_queries, other_queries, found, judged, .. } = run;
    if lacking_queries > 0 {
        let score = agreeing(lacking_queries as u64, "scores", "score");
        let lacking = counted(lacking_queries as u64, "judged query");
        watch.warn(format!("{name}: lacks {lacking}, which {score} 0"));
    }
    if other_queries > 0 {
        let left_out = counted(other_queries as u64, "query");
        watch.warn(format!("{name}: left out {left_out} without judgments"));
    }
    // With qrels alone there is no collection that could have been searched.
    if titles.iter().all(|title| title.title.is_empty()) {
        return;
    }
    let with_titles = task.len() - lacking_queries;
    if with_titles >= 10 && judged < with_titles / 10 {
        watch.warn(format!(
            "warning: {name}: has {} of the judged titles for {}; its query ids may refer to other queries: evaluate a \
             `clickvec search` run with its own topics file",
            count(judged as u64),
            counted(with_titles as u64, "query")
        ));
    }
    if found > 0 && found == judged {
        watch.warn(format!(
            "{name}: has only judged titles, {} for {}: it seems to re-rank them without searching the collection; compare it \
             only with systems that do the same",
            count(found as u64),
            counted(with_titles as u64, "query")
        ));
    }
}

/// What a run lacks of the judged titles, a line for queries and one for titles.
pub fn lacking_in_run(name: &str, coverage: &RunCoverage) -> Vec<String> {
    let &RunCoverage { lacking_queries, lacking_titles, titles, .. } = coverage;
    let mut lines = Vec::new();
    if lacking_queries > 0 {
        lines.push(format!("{name}: lacks {}", counted(lacking_queries as u64, "judged query")));
    }
    if lacking_titles > 0 {
        let of = counted(titles as u64, "judged title");
        let come = agreeing(lacking_titles as u64, "comes", "come");
        lines.push(format!("{name}: lacks {} of {of}, which {come} last", count(lacking_titles as u64)));
    }
    lines
}

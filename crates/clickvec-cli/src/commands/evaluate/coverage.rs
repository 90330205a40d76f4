//! What systems lack of the test set, told to the user: vectors, and titles of runs.

use std::path::Path;

use anyhow::{Context as _, Result};
use clickvec_eval::ranker::{Ranker, VectorCoverage};
use clickvec_eval::{RunCoverage, Task};

use crate::console;

/// Reports how many of the texts have no vector, if the ranker is a table of vectors. An error if no query or no title has one.
pub(super) fn note_missing_vectors(name: &str, ranker: &dyn Ranker, task: Task<'_>) -> Result<()> {
    let titles: Vec<&str> = match task {
        Task::Judged(judgments) => {
            judgments.queries.iter().flat_map(|query| &query.titles).map(|title| &title.text[..]).collect()
        }
        Task::Search { titles, .. } => titles.iter().map(|title| &title.title[..]).collect(),
    };
    let coverage = VectorCoverage::count(ranker, task.queries().map(|(_, text)| text), titles.into_iter());
    let coverage = coverage.with_context(|| console::printable(name).into_owned())?;
    coverage.and_then(|coverage| lacking_vectors(name, &coverage)).into_iter().for_each(console::note);
    Ok(())
}

/// What a table of vectors lacks, if it lacks anything.
pub(crate) fn lacking_vectors(name: &str, coverage: &VectorCoverage) -> Option<String> {
    let &VectorCoverage { lacking_queries, queries, lacking_titles, titles } = coverage;
    let part = |lacking: u64, all: u64, what: &str| {
        (lacking > 0).then(|| format!("{} of {}", console::count(lacking), console::counted(all, what)))
    };
    let parts: Vec<String> = [part(lacking_queries, queries, "query"), part(lacking_titles, titles, "title")]
        .into_iter()
        .flatten()
        .collect();
    let score = console::agreeing(lacking_queries + lacking_titles, "scores", "score");
    (!parts.is_empty())
        .then(|| format!("{}: has no vector for {}, which {score} 0", console::printable(name), parts.join(" and ")))
}

/// Reports what a run lacks of the task, and what it has besides.
pub(super) fn note_run(path: &Path, run: &RunCoverage, task: Task<'_>) {
    let name = path.display();
    let Task::Search { titles, .. } = task else {
        lacking_in_run(&name.to_string(), run).into_iter().for_each(console::note);
        return;
    };
    let &RunCoverage { lacking_queries, other_queries, found, judged, .. } = run;
    if lacking_queries > 0 {
        let score = console::agreeing(lacking_queries as u64, "scores", "score");
        let lacking = console::counted(lacking_queries as u64, "judged query");
        console::note(format_args!("{name}: lacks {lacking}, which {score} 0"));
    }
    if other_queries > 0 {
        let left_out = console::counted(other_queries as u64, "query");
        console::note(format_args!("{name}: left out {left_out} without judgments"));
    }
    // With qrels alone there is no collection that could have been searched.
    if titles.iter().all(|title| title.title.is_empty()) {
        return;
    }
    let with_titles = task.len() - lacking_queries;
    if with_titles >= 10 && judged < with_titles / 10 {
        console::note(format_args!(
            "warning: {name}: has {} of the judged titles for {}; if that is unlikely, its query ids are of other queries: a run of \
             `search --trec --topics FILE` has those of the queries of FILE, so give that file as `--judged`",
            console::count(judged as u64),
            console::counted(with_titles as u64, "query")
        ));
    }
    if found > 0 && found == judged {
        console::note(format_args!(
            "{name}: has only judged titles, {} for {}, as a run has that ranks them anew and did not search the collection; do \
             not compare its figures with those of systems that did, or leave `--full` out",
            console::count(found as u64),
            console::counted(with_titles as u64, "query")
        ));
    }
}

/// What a run lacks of the judged titles, a line for queries and one for titles.
pub(crate) fn lacking_in_run(name: &str, coverage: &RunCoverage) -> Vec<String> {
    let &RunCoverage { lacking_queries, lacking_titles, titles, .. } = coverage;
    let mut lines = Vec::new();
    if lacking_queries > 0 {
        lines.push(format!("{name}: lacks {}", console::counted(lacking_queries as u64, "judged query")));
    }
    if lacking_titles > 0 {
        let of = console::counted(titles as u64, "judged title");
        let come = console::agreeing(lacking_titles as u64, "comes", "come");
        lines.push(format!("{name}: lacks {} of {of}, which {come} last", console::count(lacking_titles as u64)));
    }
    lines
}

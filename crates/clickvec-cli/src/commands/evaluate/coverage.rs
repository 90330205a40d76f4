//! What systems lack of the test set, told to the user: vectors, and titles of runs.

use anyhow::{Result, bail};
use clickvec::Error;
use clickvec::eval::{RunCoverage, RunLists};
use clickvec::ranker::{Ranker, VectorCoverage};

use crate::output;

/// Says how many of the texts have no vector, if the ranker is a table of vectors. An error if no query or no title has one.
pub(super) fn say<'t>(
    name: &str,
    ranker: &dyn Ranker,
    queries: impl Iterator<Item = &'t str>,
    titles: impl Iterator<Item = &'t str>,
) -> Result<()> {
    let coverage = match VectorCoverage::of(ranker, queries, titles) {
        Err(Error::Learn { fault, .. }) => bail!("{}: {fault}", output::printable(name)),
        coverage => coverage?,
    };
    let note = coverage.and_then(|coverage| lacking_vectors(name, &coverage));
    note.into_iter().for_each(output::note);
    Ok(())
}

/// What a table of vectors lacks, if it lacks anything.
pub(crate) fn lacking_vectors(name: &str, coverage: &VectorCoverage) -> Option<String> {
    let &VectorCoverage { lacking_queries, queries, lacking_titles, titles } = coverage;
    let part = |lacking: u64, all: u64, what: &str| {
        (lacking > 0).then(|| format!("{} of {}", output::count(lacking), output::counted(all, what)))
    };
    let parts: Vec<String> = [part(lacking_queries, queries, "query"), part(lacking_titles, titles, "title")]
        .into_iter()
        .flatten()
        .collect();
    let score = output::agreeing(lacking_queries + lacking_titles, "scores", "score");
    (!parts.is_empty())
        .then(|| format!("{}: has no vector for {}, which {score} 0", output::printable(name), parts.join(" and ")))
}

/// What is to know of a run that should have searched a collection for `queries` judged queries.
pub(super) fn of_searched_run(name: &str, run: &RunLists, queries: usize) -> Vec<String> {
    let &RunLists { lacking_queries, other_queries, titles, judged_titles, .. } = run;
    let mut lines = Vec::new();
    if lacking_queries > 0 {
        let score = output::agreeing(lacking_queries as u64, "scores", "score");
        lines.push(format!(
            "{name}: lacks {}, which {score} 0",
            output::counted(lacking_queries as u64, "judged query")
        ));
    }
    if other_queries > 0 {
        let left_out = output::counted(other_queries as u64, "query");
        lines.push(format!("{name}: left out {left_out} without judgments"));
    }
    let with_titles = queries - lacking_queries;
    if with_titles >= 10 && judged_titles < with_titles / 10 {
        lines.push(format!(
            "warning: {name}: has {} of the judged titles for {}; if that is unlikely, its query ids are of other queries: a run of \
             `search --trec --topics FILE` has those of the queries of FILE, so give that file as `--judged`",
            output::count(judged_titles as u64),
            output::counted(with_titles as u64, "query")
        ));
    }
    if titles > 0 && titles == judged_titles {
        lines.push(format!(
            "{name}: has only judged titles, {} for {}, as a run has that ranks them anew and did not search the collection; do \
             not compare its figures with those of systems that did, or leave `--full` out",
            output::count(titles as u64),
            output::counted(with_titles as u64, "query")
        ));
    }
    lines
}

/// What a run lacks, a line for queries and one for titles.
pub(crate) fn lacking_in_run(name: &str, coverage: &RunCoverage) -> Vec<String> {
    let &RunCoverage { lacking_queries, lacking_titles, titles } = coverage;
    let mut lines = Vec::new();
    if lacking_queries > 0 {
        lines.push(format!("{name}: lacks {}", output::counted(lacking_queries as u64, "judged query")));
    }
    if lacking_titles > 0 {
        let of = output::counted(titles as u64, "judged title");
        let come = output::agreeing(lacking_titles as u64, "comes", "come");
        lines.push(format!("{name}: lacks {} of {of}, which {come} last", output::count(lacking_titles as u64)));
    }
    lines
}

//! A TREC run as a system that scores judged titles: for each query the titles of the run in their order, followed by
//! those that it lacks.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, ensure};
use clickvec::eval::trec::read_run;
use clickvec::eval::{Judgments, Scores};
use clickvec::internals::files;

use crate::output;

/// The scores of a run, by query and title.
pub(super) struct Run(HashMap<String, HashMap<String, f64>>);

impl Run {
    /// Reads a run.
    pub(super) fn read(path: &Path) -> Result<Run> {
        let mut run: HashMap<String, HashMap<String, f64>> = HashMap::new();
        for line in read_run(files::open(path)?, path)? {
            run.entry(line.query_id).or_default().insert(line.title_id, line.score);
        }
        Ok(Run(run))
    }

    /// The scores of the judged titles; −∞ for those that the run lacks.
    pub(super) fn scores(&self, judgments: &Judgments) -> Scores {
        let of_query = |query: &clickvec::eval::JudgedQuery| {
            let run = self.0.get(&query.id);
            let score = |id: &String| run.and_then(|run| run.get(id)).copied().unwrap_or(f64::NEG_INFINITY);
            query.titles.iter().map(|title| score(&title.id)).collect()
        };
        judgments.queries.iter().map(of_query).collect()
    }

    /// Reports what the run lacks. Refuses a run without any judged title, which would score like chance.
    pub(super) fn say_coverage(&self, path: &Path, judgments: &Judgments) -> Result<()> {
        let path = path.display();
        let scores = self.scores(judgments);
        let judged: usize = scores.iter().map(Vec::len).sum();
        let lacking = scores.iter().flatten().filter(|&&score| score == f64::NEG_INFINITY).count();
        ensure!(
            lacking < judged,
            "{path}: expected a run with ids of the judged queries and titles, found none of them; `--qrels-out` writes these"
        );
        let queries = judgments.queries.iter().filter(|query| !self.0.contains_key(&query.id)).count();
        if queries > 0 {
            output::note(format_args!("{path}: lacks {}", output::counted(queries as u64, "judged query")));
        }
        if lacking > 0 {
            let of = output::counted(judged as u64, "judged title");
            output::note(format_args!("{path}: lacks {} of {of}, which come last", output::count(lacking as u64)));
        }
        Ok(())
    }
}

//! A TREC run as a system. For each query, the titles of the run come first, in its order, and the judged titles that
//! it lacks come last.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, bail, ensure};
use clickvec::eval::trec::read_run;
use clickvec::eval::{FullQuery, Judgments, Scores};
use clickvec::index::Hit;
use clickvec::internals::files;
use clickvec::tables::Title;

use crate::output;

/// The scores of a run, by query and title.
pub(super) struct Run(HashMap<String, HashMap<String, f64>>);

impl Run {
    /// Reads a run from a file.
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

    /// The titles that the run has for each query, best first and at most `depth`; ties are in the order of `titles`.
    ///
    /// An error if the run has a title that is not in `titles`, or none of the queries.
    pub(super) fn lists(
        &self,
        path: &Path,
        queries: &[FullQuery],
        titles: &[Title],
        depth: usize,
    ) -> Result<Vec<Vec<Hit>>> {
        let path = path.display();
        let positions: HashMap<&str, u32> = (0..).zip(titles).map(|(at, title)| (title.id.as_str(), at)).collect();
        let mut lacking = 0;
        let mut of_query = |query: &FullQuery| {
            let Some(run) = self.0.get(&query.id) else {
                lacking += 1;
                return Ok(Vec::new());
            };
            let hit = |(id, &score): (&String, &f64)| match positions.get(id.as_str()) {
                Some(&position) => Ok(Hit { position, score: score as f32 }),
                None => bail!(
                    "{path}: expected titles of the collection, found `{}` for query `{}`; name the collection that was \
                     searched, or judge the run by `--qrels`",
                    output::printable(id),
                    output::printable(&query.id)
                ),
            };
            let mut hits = run.iter().map(hit).collect::<Result<Vec<Hit>>>()?;
            hits.sort_unstable_by(Hit::best_first);
            hits.truncate(depth);
            Ok(hits)
        };
        let lists = queries.iter().map(&mut of_query).collect::<Result<Vec<_>>>()?;
        ensure!(
            lacking < queries.len(),
            "{path}: expected a run with ids of the judged queries, found none of them; `--qrels-out` writes these"
        );
        if lacking > 0 {
            output::note(format_args!(
                "{path}: lacks {}, which score 0",
                output::counted(lacking as u64, "judged query")
            ));
        }
        Ok(lists)
    }

    /// Reports what the run lacks. An error if it has no judged title at all: its score would be that of a random order.
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

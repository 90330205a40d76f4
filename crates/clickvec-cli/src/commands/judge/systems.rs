//! The systems whose titles are pooled.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Result, bail, ensure};
use clickvec::internals::text::words;
use clickvec::tables::Title;
use clickvec_eval::ranker::{Corpus, Ranker, Resources};
use clickvec_eval::trec::read_run;
use clickvec_index::{Index, Mode, Part, Request};
use clickvec_tables::files;
use rayon::prelude::*;

use super::queries::PoolQuery;
use crate::systems::{Source, load, run_error, titles};
use crate::{output, progress};

/// The queries that are searched at once.
const BATCH_QUERIES: usize = 64;

/// The titles that systems find for queries.
pub(super) struct Pool<'a> {
    index: Index,
    pub(super) titles: Vec<Title>,
    queries: &'a [PoolQuery],
    depth: usize,
    /// For each query the positions of the titles that were found.
    pub(super) found: Vec<HashSet<usize>>,
    /// The number of systems.
    pub(super) systems: u64,
    /// How many titles they found, counted for each system.
    pub(super) hits: u64,
}

impl<'a> Pool<'a> {
    /// Opens an index for these queries. A system adds at most `depth` titles for each.
    pub(super) fn open(path: &Path, queries: &'a [PoolQuery], depth: usize) -> Result<Pool<'a>> {
        let index = Index::open(path)?;
        let titles = titles(&index)?;
        let found = vec![HashSet::new(); queries.len()];
        Ok(Pool { index, titles, queries, depth, found, systems: 0, hits: 0 })
    }

    /// Adds what the index finds by words, by vectors and by the fusion of all parts.
    pub(super) fn add_index(&mut self) -> Result<()> {
        let positions = self.positions();
        for mode in [Part::Words.into(), Part::Vectors.into(), Mode::Fused] {
            let search = |query: &&str| -> Result<Vec<usize>> {
                let answer =
                    self.index.search(&Request::new(*query, mode).with_k(self.depth).with_min_confidence(0.0))?;
                answer.hits.iter().map(|hit| position(self.index.path(), &positions, &hit.id)).collect()
            };
            let found = searched(mode.name(), self.queries, |queries| queries.iter().map(search).collect())?;
            add(&mut self.found, &mut self.hits, found);
            self.systems += 1;
        }
        Ok(())
    }

    /// Adds what a system finds.
    pub(super) fn add(&mut self, system: &Source) -> Result<()> {
        match system {
            Source::Ranker { system, values, spec } => {
                let corpus = Corpus::from_titles(self.titles.iter().map(|title| title.title.as_str()))?;
                let resources = Resources { corpus: &corpus, files: &spec.files };
                let ranker = system.train(values, &resources, &mut |_| ())?;
                self.add_ranker(&spec.to_string(), ranker.as_ref())
            }
            Source::File { path, .. } => self.add_ranker(&path.display().to_string(), load(path)?.as_ref()),
            Source::Run(path) => self.add_run(path),
            Source::Index(path) => {
                bail!(
                    "{}: expected one index, found another one; name it first in a sheet of its own",
                    output::path(path)
                )
            }
        }
    }

    /// Adds what a model, a ranker or a fusion finds.
    fn add_ranker(&mut self, name: &str, ranker: &dyn Ranker) -> Result<()> {
        let texts: Vec<&str> = self.titles.iter().map(|title| title.title.as_str()).collect();
        let candidates = ranker.candidates(&texts)?;
        let found = searched(name, self.queries, |queries| {
            let search = |query: &&str| -> Result<Vec<usize>> {
                if words(query).is_empty() {
                    return Ok(Vec::new());
                }
                let hits = candidates.search(query, self.depth)?;
                Ok(hits.iter().map(|hit| hit.position as usize).collect())
            };
            queries.par_iter().map(search).collect()
        })?;
        add(&mut self.found, &mut self.hits, found);
        self.systems += 1;
        Ok(())
    }

    /// Adds the best titles of a run.
    fn add_run(&mut self, path: &Path) -> Result<()> {
        let mut lines: HashMap<String, Vec<(f64, String)>> = HashMap::new();
        for line in read_run(files::open(path)?, path).map_err(|error| run_error(path, error))? {
            lines.entry(line.query_id).or_default().push((line.score, line.title_id));
        }
        let positions = self.positions();
        let (mut found, mut has_queries) = (Vec::new(), 0);
        for query in self.queries {
            let mut titles = Vec::new();
            let mut has_query = false;
            for id in &query.ids {
                let Some(lines) = lines.get_mut(id) else { continue };
                has_query = true;
                lines.sort_by(|(a, first), (b, second)| b.total_cmp(a).then_with(|| second.cmp(first)));
                for (_, id) in lines.iter().take(self.depth) {
                    titles.push(position(path, &positions, id)?);
                }
            }
            has_queries += usize::from(has_query);
            found.push(titles);
        }
        ensure!(
            has_queries > 0,
            "{}: expected a run for the queries, whose ids are the column query_id of their table, or the numbers of their \
             lines, found none of them",
            output::path(path)
        );
        if has_queries < self.queries.len() {
            let lacking = output::counted((self.queries.len() - has_queries) as u64, "query");
            output::note(format_args!("{}: lacks {lacking}", output::path(path)));
        }
        add(&mut self.found, &mut self.hits, found);
        self.systems += 1;
        Ok(())
    }

    fn positions(&self) -> HashMap<String, usize> {
        self.titles.iter().map(|title| title.id.clone()).zip(0..).collect()
    }
}

/// Adds the titles that a system found for each query.
fn add(pool: &mut [HashSet<usize>], hits: &mut u64, found: Vec<Vec<usize>>) {
    for (pool, found) in pool.iter_mut().zip(found) {
        *hits += found.len() as u64;
        pool.extend(found);
    }
}

/// Searches for all queries, some at once, and shows the progress.
fn searched(
    name: &str,
    queries: &[PoolQuery],
    search: impl Fn(&[&str]) -> Result<Vec<Vec<usize>>>,
) -> Result<Vec<Vec<usize>>> {
    let bar = progress::bar(queries.len() as u64, &format!("{}: searching", output::printable(name)), "queries");
    let mut found = Vec::with_capacity(queries.len());
    for queries in queries.chunks(BATCH_QUERIES) {
        let texts: Vec<&str> = queries.iter().map(|query| query.text.as_str()).collect();
        found.append(&mut search(&texts)?);
        bar.inc(queries.len() as u64);
    }
    bar.finish_and_clear();
    Ok(found)
}

/// Returns the position of a title that was found.
fn position(path: &Path, positions: &HashMap<String, usize>, id: &str) -> Result<usize> {
    match positions.get(id) {
        Some(&position) => Ok(position),
        None => bail!(
            "{}: expected titles of the index, found the id `{}`; name the index of the titles that were searched",
            output::path(path),
            output::printable(id)
        ),
    }
}

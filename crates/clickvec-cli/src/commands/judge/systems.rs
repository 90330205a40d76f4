//! The systems whose titles are pooled.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Result, bail, ensure};
use clickvec::Error;
use clickvec::internals::files;
use clickvec::tables::{TITLE, Title};
use clickvec_eval::ranker::{self, Ranker, RankerSpec, Resources, System};
use clickvec_eval::trec::read_run;
use clickvec_eval::{self as eval, CorpusFiles, Judgments};
use clickvec_index::searcher::{self, Searcher};
use clickvec_index::{Engine, Mode, Request};

use super::pool::Args;
use super::queries::PoolQuery;
use crate::{output, progress};

/// The queries that are asked at once.
const BATCH_QUERIES: usize = 64;

/// The places of the titles that were found for each query.
pub(super) type Pool = Vec<HashSet<usize>>;

/// Pools what all systems find. Returns the number of systems, and how many titles they found, counted for each system.
pub(super) fn pool(args: &Args, table: &Path, queries: &[PoolQuery], titles: &[Title]) -> Result<(Pool, usize, usize)> {
    let mut pool: Pool = vec![HashSet::new(); queries.len()];
    let (mut systems, mut found) = (0, 0);
    let texts: Vec<&str> = titles.iter().map(|title| title.title.as_str()).collect();
    for (name, ranker) in rankers(args, table)? {
        let candidates = ranker.candidates(&texts)?;
        found += asked(&name, queries, &mut pool, |queries| {
            let answers = searcher::answers(candidates.as_ref(), titles, queries, args.depth as usize)?;
            let places = |answer: searcher::Answer<'_>| places(&answer, |found| Ok(found.position as usize));
            answers.into_iter().map(places).collect()
        })?;
        systems += 1;
    }
    if args.index.is_empty() && args.run.is_empty() {
        return Ok((pool, systems, found));
    }
    let by_id: HashMap<&str, usize> = titles.iter().map(|title| title.id.as_str()).zip(0..).collect();
    for path in &args.index {
        let name = path.display().to_string();
        if crate::fused::keeps_fusion(path)? {
            let engine = Engine::open(path)?;
            let of_query = |query: &&str| -> Result<Vec<usize>> {
                let answer = engine.search(&Request::new(*query, Mode::Both).with_k(args.depth as usize))?;
                answer.hits.iter().map(|hit| place(path, &by_id, &hit.id)).collect()
            };
            found += asked(&name, queries, &mut pool, |queries| queries.iter().map(of_query).collect())?;
            continue;
        }
        let index = Searcher::open(path)?;
        found += asked(&name, queries, &mut pool, |queries| {
            let answers = index.search_batch(queries, args.depth as usize)?;
            answers.into_iter().map(|answer| places(&answer, |found| place(path, &by_id, found.id))).collect()
        })?;
    }
    for path in &args.run {
        found += of_run(path, args.depth as usize, queries, &by_id, &mut pool)?;
    }
    Ok((pool, systems + args.index.len() + args.run.len(), found))
}

/// The rankers and models, ready to search, with their names.
fn rankers(args: &Args, titles: &Path) -> Result<Vec<(String, Box<dyn Ranker>)>> {
    let mut rankers: Vec<(String, Box<dyn Ranker>)> = Vec::new();
    if !args.ranker.is_empty() {
        let files = CorpusFiles {
            titles: Some(titles),
            clicks: args.clicks.as_deref(),
            field: TITLE,
            ..CorpusFiles::default()
        };
        let nothing_judged: [&Judgments; 0] = [];
        let corpus = eval::read_corpus(&files, &nothing_judged)?.corpus;
        let resources = Resources { corpus: &corpus, load: None, vectors: &[] };
        for text in &args.ranker {
            let spec: RankerSpec = text.parse().map_err(Error::from)?;
            let system = System::named(&spec.name, &clickvec_lab::SYSTEMS).map_err(Error::from)?;
            let values = system.values(&spec).map_err(Error::from)?;
            let bar = progress::bar(1, &output::printable(text), "steps");
            let ranker = system.train(&values, &resources, &mut |progress| {
                bar.set_length(progress.of);
                bar.set_position(progress.done);
            })?;
            bar.finish_and_clear();
            rankers.push((spec.to_string(), ranker));
        }
    }
    for path in &args.model {
        rankers.push((path.display().to_string(), ranker::load_with(path, &clickvec_lab::SYSTEMS)?));
    }
    Ok(rankers)
}

/// Adds the places that `search` finds for some queries at once. Returns how many it found.
fn asked(
    name: &str,
    queries: &[PoolQuery],
    pool: &mut Pool,
    search: impl Fn(&[&str]) -> Result<Vec<Vec<usize>>>,
) -> Result<usize> {
    let bar = progress::bar(queries.len() as u64, &format!("{}: searching", output::printable(name)), "queries");
    let mut found = 0;
    for (queries, pool) in queries.chunks(BATCH_QUERIES).zip(pool.chunks_mut(BATCH_QUERIES)) {
        let texts: Vec<&str> = queries.iter().map(|query| query.text.as_str()).collect();
        for (places, pool) in search(&texts)?.into_iter().zip(pool) {
            found += places.len();
            pool.extend(places);
        }
        bar.inc(queries.len() as u64);
    }
    bar.finish_and_clear();
    Ok(found)
}

/// The places of the titles in an answer.
fn places(answer: &searcher::Answer<'_>, place: impl Fn(&searcher::Found<'_>) -> Result<usize>) -> Result<Vec<usize>> {
    answer.results().iter().map(place).collect()
}

/// The place of a title that an index or a run found.
fn place(path: &Path, by_id: &HashMap<&str, usize>, id: &str) -> Result<usize> {
    match by_id.get(id) {
        Some(&place) => Ok(place),
        None => bail!(
            "{}: expected titles of `--titles`, found the id `{}`; name the titles that were searched",
            output::path(path),
            output::printable(id)
        ),
    }
}

/// Adds the best titles of a run. Returns how many they are.
fn of_run(
    path: &Path,
    depth: usize,
    queries: &[PoolQuery],
    by_id: &HashMap<&str, usize>,
    pool: &mut Pool,
) -> Result<usize> {
    let mut lines: HashMap<String, Vec<(f64, String)>> = HashMap::new();
    for line in read_run(files::open(path)?, path)? {
        lines.entry(line.query_id).or_default().push((line.score, line.title_id));
    }
    let (mut found, mut has_queries) = (0, 0);
    for (query, pool) in queries.iter().zip(pool) {
        let mut has_query = false;
        for id in &query.ids {
            let Some(lines) = lines.get_mut(id) else { continue };
            has_query = true;
            lines.sort_by(|(a, first), (b, second)| b.total_cmp(a).then_with(|| second.cmp(first)));
            for (_, id) in lines.iter().take(depth) {
                pool.insert(place(path, by_id, id)?);
                found += 1;
            }
        }
        has_queries += usize::from(has_query);
    }
    ensure!(
        has_queries > 0,
        "{}: expected a run for the queries, whose ids are the column query_id of their table, or the numbers of their \
         lines, found none of them",
        output::path(path)
    );
    if has_queries < queries.len() {
        let lacking = output::counted((queries.len() - has_queries) as u64, "query");
        output::note(format_args!("{}: lacks {lacking}", output::path(path)));
    }
    Ok(found)
}

//! The first ten titles of both systems for each query.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use clickvec::index::Hit;
use clickvec::tables::Title;
use clickvec_eval::ranker::Corpus;
use clickvec_eval::{Answers, Collection, JudgedQuery, Judgments};
use clickvec_index::Index;
use clickvec_serve::SheetRow;
use clickvec_tables::shown::{counted, printable};
use clickvec_tables::{Error, ErrorKind, Result};
use xxhash_rust::xxh3::xxh3_64;

use crate::Watcher;
use crate::queries::{Drawn, PoolQuery};
use crate::systems::{Loaded, Source, names, titles};

/// The titles of each system that are judged for a query.
pub(super) const DEPTH: usize = 10;

/// What two systems find for the queries of searches.
pub(super) struct Pool {
    /// The names of the systems.
    pub(super) names: [String; 2],
    /// The queries for which a system finds something.
    pub(super) queries: Vec<PooledQuery>,
    /// The position of each search's query.
    pub(super) searches: Vec<usize>,
    /// The systems, whose indexes have the stored fields of titles.
    systems: Vec<Loaded>,
}

/// A query with the titles to grade.
pub(super) struct PooledQuery {
    /// The titles, each once, in an order that does not reveal who found them.
    pub(super) rows: Vec<SheetRow>,
    /// For each system, the positions in `rows` of the titles that it finds, each with its score.
    pub(super) found: [Vec<(usize, f32)>; 2],
}

impl Pool {
    /// Searches with both systems.
    pub(super) fn new(systems: &[Source; 2], drawn: Drawn, watch: &dyn Watcher) -> Result<Pool> {
        let names: [String; 2] = names(systems).try_into().expect("a name for each system");
        let index = |source: &Source| match source {
            Source::Index(path) => Index::open(path).map(Some),
            _ => Ok(None),
        };
        let indexes = systems.iter().map(index).collect::<Result<Vec<Option<Index>>>>()?;
        let collection = collection(&drawn.queries, all_titles(indexes.iter().flatten())?)?;
        let (mut loaded, mut answers) = (Vec::new(), Vec::new());
        for ((name, source), index) in names.iter().zip(systems).zip(indexes) {
            let system = match index {
                Some(index) => Loaded::Index(Box::new(index)),
                None => source.load(name, &Corpus::from_titles(collection.texts())?, &|_, _, _| Ok(()), watch)?,
            };
            answers.push(search(name, &system, &collection, watch)?);
            loaded.push(system);
        }
        let [ours, theirs] = <[Answers; 2]>::try_from(answers).expect("the answers of each system");
        let (mut queries, mut positions) = (Vec::new(), Vec::new());
        for (number, query) in drawn.queries.iter().enumerate() {
            let hits = [&ours, &theirs].map(|answers| &answers.lists()[number][..]);
            let has_titles = hits.iter().any(|hits| !hits.is_empty());
            positions.push(has_titles.then_some(queries.len()));
            if has_titles {
                queries.push(PooledQuery::new(&query.text, hits, &collection));
            }
        }
        if queries.is_empty() {
            let found = "none: no system finds anything for these queries";
            return Err(Error::expected(ErrorKind::Empty, "titles to judge", found));
        }
        let lacking = drawn.queries.len() - queries.len();
        if lacking > 0 {
            let lacking = counted(lacking as u64, "query");
            watch.warn(format!("left out {lacking}, for which no system finds a title"));
        }
        let searches = drawn.searches.iter().filter_map(|&query| positions[query]).collect();
        Ok(Pool { names, queries, searches, systems: loaded })
    }

    /// Returns all titles to grade.
    pub(super) fn rows(&self) -> Vec<SheetRow> {
        self.queries.iter().flat_map(|query| &query.rows).cloned().collect()
    }

    /// Returns the stored fields of a title.
    pub(super) fn fields(&self, id: &str) -> Result<BTreeMap<String, String>> {
        for system in &self.systems {
            let Loaded::Index(index) = system else { continue };
            if let Some(document) = index.get(id)? {
                return Ok(document.fields);
            }
        }
        Ok(BTreeMap::new())
    }
}

impl PooledQuery {
    fn new(query: &str, hits: [&[Hit]; 2], collection: &Collection) -> PooledQuery {
        let positions: BTreeSet<u32> = hits.iter().flat_map(|hits| hits.iter().map(|hit| hit.position)).collect();
        let row = |position: u32| {
            let title = &collection.titles[position as usize];
            SheetRow::new(query, &title.id, &title.title, None)
        };
        let mut rows: Vec<(u32, SheetRow)> = positions.into_iter().map(|position| (position, row(position))).collect();
        rows.sort_by_cached_key(|(_, row)| (xxh3_64(format!("{}\t{}", row.query, row.id).as_bytes()), row.id.clone()));
        let row = |hit: &Hit| {
            let row = rows.iter().position(|&(position, _)| position == hit.position).expect("a row for each title");
            (row, hit.score)
        };
        let found = hits.map(|hits| hits.iter().map(row).collect());
        PooledQuery { rows: rows.into_iter().map(|(_, row)| row).collect(), found }
    }
}

/// Returns the titles of all indexes; where two have the same id, that of the first.
fn all_titles<'a>(indexes: impl Iterator<Item = &'a Index>) -> Result<Vec<Title>> {
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for index in indexes {
        all.extend(titles(index)?.into_iter().filter(|title| known.insert(title.id.clone())));
    }
    Ok(all)
}

/// Returns the titles that are searched, with the queries.
fn collection(queries: &[PoolQuery], titles: Vec<Title>) -> Result<Collection> {
    let queries = queries.iter().map(|PoolQuery { text, id, .. }| JudgedQuery {
        id: id.clone().unwrap_or_else(|| text.clone()),
        text: text.clone(),
        titles: Vec::new(),
    });
    let judgments = Judgments { queries: queries.collect(), ..Judgments::default() };
    Collection::new(&judgments, true, titles)
}

/// Returns the best titles that a system finds for each query.
fn search(name: &str, system: &Loaded, collection: &Collection, watch: &dyn Watcher) -> Result<Answers> {
    let task = collection.task(&collection.queries);
    let (step, queries) = (format!("{}: searching", printable(name)), task.len() as u64);
    let mut done = |done: usize| watch.progress_or_unwind(&step, "queries", done as u64, queries);
    let (mut answers, coverage) = system.answers(task, Some(collection), DEPTH, &mut done)?;
    answers.truncate(DEPTH);
    if let Some(lacking) = coverage.map(|coverage| coverage.lacking_queries as u64).filter(|&lacking| lacking > 0) {
        let queries = counted(lacking, "query");
        watch.warn(format!("{}: lacks {queries}, for which it finds nothing", printable(name)));
    }
    Ok(answers)
}

//! Indexes that are judged: one by its vectors, and one that has a fusion as its own searches use it.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clickvec::eval::FullQuery;
use clickvec::eval::FullTestSet;
use clickvec::index::{Candidates, Hit, Query};
use clickvec::internals::eval::room_for_lists;
use clickvec::tables::Title;
use clickvec_index::searcher::Searcher;
use clickvec_index::{Engine, Mode, Request};
use rayon::prelude::*;

use crate::output;

/// The queries that are searched for at once.
const QUERIES_AT_ONCE: usize = 256;

/// The places of titles in the collection, by id or, if judged titles have no ids, by text.
struct Known<'a> {
    by_id: HashMap<&'a str, u32>,
    by_text: HashMap<&'a str, u32>,
}

impl<'a> Known<'a> {
    fn new(set: &'a FullTestSet) -> Known<'a> {
        let by_id = (0..).zip(&set.titles).map(|(at, title)| (title.id.as_str(), at)).collect();
        let by_text = match set.repeated {
            0 => HashMap::new(),
            _ => (0..).zip(&set.titles).map(|(at, title)| (title.title.as_str(), at)).collect(),
        };
        Known { by_id, by_text }
    }

    /// The place of a title of the index at `path`.
    fn place(&self, path: &Path, id: &str, text: &str) -> Result<u32> {
        match self.by_id.get(id).or_else(|| self.by_text.get(text)) {
            Some(&position) => Ok(position),
            None => bail!(
                "{}: expected titles of the collection, found `{}`; build the index again, or leave `--titles` out",
                path.display(),
                output::printable(id)
            ),
        }
    }
}

/// The titles of an index that has a fusion; `None` if it has none.
pub(super) fn fused_titles(index: &Path) -> Result<Option<Vec<Title>>> {
    if !crate::fused::keeps_fusion(index)? {
        return Ok(None);
    }
    let mut titles = Vec::new();
    Engine::open(index)?.for_each_title(|title| {
        titles.push(Title { id: title.id, title: title.title });
        Ok(())
    })?;
    Ok(Some(titles))
}

/// An index with a fusion, searched as `search` and the service do.
pub(super) struct FusedIndex<'a> {
    path: PathBuf,
    engine: &'a Engine,
    known: Known<'a>,
}

impl<'a> FusedIndex<'a> {
    pub(super) fn new(path: PathBuf, engine: &'a Engine, set: &'a FullTestSet) -> FusedIndex<'a> {
        FusedIndex { path, engine, known: Known::new(set) }
    }

    /// Searches for all queries, and passes on what is found for some of them at a time.
    pub(super) fn search_all(
        &self,
        queries: &[FullQuery],
        depth: usize,
        take: &mut impl FnMut(&[FullQuery], Vec<Vec<Hit>>) -> Result<()>,
    ) -> Result<()> {
        for some in queries.chunks(QUERIES_AT_ONCE) {
            room_for_lists(some.len(), depth.min(self.known.by_id.len()))?;
            let found = some.par_iter().map(|query| self.search(&query.text, depth)).collect::<Result<Vec<_>>>()?;
            take(some, found)?;
        }
        Ok(())
    }

    fn search(&self, query: &str, depth: usize) -> Result<Vec<Hit>> {
        let mut seen = HashSet::new();
        let answer = self.engine.search(&Request::new(query, Mode::Both).with_k(depth))?;
        let hit = |hit: clickvec_index::Hit| -> Result<Hit> {
            Ok(Hit { position: self.known.place(&self.path, &hit.id, &hit.title)?, score: hit.score })
        };
        let mut hits = answer.hits.into_iter().map(hit).collect::<Result<Vec<Hit>>>()?;
        hits.retain(|hit| seen.insert(hit.position));
        hits.sort_unstable_by(Hit::best_first);
        Ok(hits)
    }
}

/// An index that is searched by its vectors, with the places of its titles in the collection.
pub(super) struct Places<'a> {
    index: &'a Searcher,
    /// The place of each title of the index in the collection.
    positions: Vec<u32>,
}

impl<'a> Places<'a> {
    pub(super) fn new(path: &Path, index: &'a Searcher, set: &FullTestSet) -> Result<Places<'a>> {
        let known = Known::new(set);
        let titles = (0..index.len() as u32).filter_map(|position| index.title(position));
        let positions = titles.map(|(id, text)| known.place(path, id, text)).collect::<Result<_>>()?;
        Ok(Places { index, positions })
    }
}

impl Candidates for Places<'_> {
    fn len(&self) -> usize {
        self.positions.len()
    }

    fn needs_vector(&self) -> bool {
        false
    }

    fn search(&self, query: &Query<'_>, k: usize) -> clickvec::Result<Vec<Hit>> {
        Ok(self.search_batch(&[*query], k)?.pop().unwrap_or_default())
    }

    fn search_batch(&self, queries: &[Query<'_>], k: usize) -> clickvec::Result<Vec<Vec<Hit>>> {
        let texts: Vec<&str> = queries.iter().map(|query| query.text).collect();
        let of_query = |answer: clickvec_index::searcher::Answer<'_>| {
            let mut seen = HashSet::new();
            let hit = |found: &clickvec_index::searcher::Found<'_>| Hit {
                position: self.positions[found.position as usize],
                score: found.score,
            };
            let mut hits: Vec<Hit> = answer.results().iter().map(hit).collect();
            // Titles of one text have one score, so that the first is as good as any.
            hits.retain(|hit| seen.insert(hit.position));
            hits.sort_unstable_by(Hit::best_first);
            hits
        };
        Ok(self.index.search_batch(&texts, k)?.into_iter().map(of_query).collect())
    }
}

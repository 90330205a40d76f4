//! An index as a system: searched as `search` does, by its fusion if it has one and by its vectors otherwise.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Result, bail};
use clickvec::index::Hit;
use clickvec::tables::Title;
use clickvec_eval::room_for_lists;
use clickvec_eval::{Collection, SearchQuery};
use clickvec_index::searcher::Searcher;
use clickvec_index::{Engine, Mode, Request};
use rayon::prelude::*;

use crate::output;

/// The number of queries that are searched for at once.
const QUERIES_AT_ONCE: usize = 256;

/// An open index.
pub(super) enum Index {
    Vectors(Box<Searcher>),
    Fused(Box<Engine>),
}

impl Index {
    pub(super) fn open(path: &Path) -> Result<Index> {
        if !crate::fused::keeps_fusion(path)? {
            return Ok(Index::Vectors(Box::new(Searcher::open(path)?)));
        }
        let engine = Engine::open(path)?;
        engine.prepare()?;
        Ok(Index::Fused(Box::new(engine)))
    }

    /// Returns all titles of the index.
    pub(super) fn titles(&self) -> Result<Vec<Title>> {
        let mut titles = Vec::new();
        match self {
            Index::Vectors(index) => {
                let found = (0..index.len() as u32).filter_map(|position| index.title(position));
                titles.extend(found.map(|(id, title)| Title { id: id.to_owned(), title: title.to_owned() }));
            }
            Index::Fused(engine) => engine.for_each_title(|title| {
                titles.push(Title { id: title.id, title: title.title });
                Ok(())
            })?,
        }
        Ok(titles)
    }

    /// Searches for every query and returns the titles by their positions in the collection, at most `depth` for each query. Calls
    /// `done` with the number of queries answered so far. `path` is for messages.
    pub(super) fn search_all(
        &self,
        path: &Path,
        set: &Collection,
        queries: &[SearchQuery],
        depth: usize,
        done: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<Hit>>> {
        room_for_lists(queries.len(), depth.min(set.titles.len()))?;
        let known = Known::new(path, set);
        let mut lists = Vec::with_capacity(queries.len());
        for some in queries.chunks(QUERIES_AT_ONCE) {
            match self {
                Index::Vectors(index) => {
                    let texts: Vec<&str> = some.iter().map(|query| query.text.as_str()).collect();
                    for answer in index.search_batch(&texts, depth)? {
                        let found = answer.results().iter().map(|hit| (hit.id, hit.title, hit.score));
                        lists.push(known.hits(found)?);
                    }
                }
                Index::Fused(engine) => {
                    let search = |query: &SearchQuery| -> Result<Vec<Hit>> {
                        let answer = engine.search(&Request::new(&query.text, Mode::Both).with_k(depth))?;
                        known.hits(answer.hits.iter().map(|hit| (&hit.id[..], &hit.title[..], hit.score)))
                    };
                    lists.extend(some.par_iter().map(search).collect::<Result<Vec<_>>>()?);
                }
            }
            done(lists.len());
        }
        Ok(lists)
    }
}

/// The positions of titles in the collection, by id or, if judged titles have no ids, by text.
struct Known<'a> {
    path: &'a Path,
    by_id: HashMap<&'a str, u32>,
    by_text: HashMap<&'a str, u32>,
}

impl<'a> Known<'a> {
    fn new(path: &'a Path, set: &'a Collection) -> Known<'a> {
        let by_id = (0..).zip(&set.titles).map(|(at, title)| (title.id.as_str(), at)).collect();
        let by_text = match set.repeated {
            0 => HashMap::new(),
            _ => (0..).zip(&set.titles).map(|(at, title)| (title.title.as_str(), at)).collect(),
        };
        Known { path, by_id, by_text }
    }

    /// Returns titles, each with id, text and score, by their positions in the collection, best first.
    fn hits<'t>(&self, found: impl Iterator<Item = (&'t str, &'t str, f32)>) -> Result<Vec<Hit>> {
        let mut hits = found
            .map(|(id, text, score)| Ok(Hit { position: self.position(id, text)?, score }))
            .collect::<Result<Vec<_>>>()?;
        // Titles with the same text have the same score, so the first is as good as any.
        let mut seen = HashSet::new();
        hits.retain(|hit| seen.insert(hit.position));
        hits.sort_unstable_by(Hit::best_first);
        Ok(hits)
    }

    fn position(&self, id: &str, text: &str) -> Result<u32> {
        match self.by_id.get(id).or_else(|| self.by_text.get(text)) {
            Some(&position) => Ok(position),
            None => bail!(
                "{}: expected titles of the collection, found `{}`; build the index again, or leave `--titles` out",
                self.path.display(),
                output::printable(id)
            ),
        }
    }
}

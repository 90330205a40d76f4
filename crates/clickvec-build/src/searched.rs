//! An index as a system of an evaluation: searched as `search` does.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use clickvec::index::Hit;
use clickvec_eval::{Collection, SearchQuery, room_for_lists};
use clickvec_index::{Index, Mode, Request};
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind, Result};

/// The number of queries that are searched for at once.
const QUERIES_AT_ONCE: usize = 256;

/// Searches for every query and returns the titles by their positions in the collection, at most `depth` for each query. Calls
/// `done` with the number of queries answered so far.
///
/// # Errors
///
/// Those of searching; the index has a title that the collection lacks.
pub fn search_all(
    index: &Index,
    set: &Collection,
    queries: &[SearchQuery],
    depth: usize,
    done: &mut dyn FnMut(usize),
) -> Result<Vec<Vec<Hit>>> {
    room_for_lists(queries.len(), depth.min(set.titles.len()))?;
    let known = Known::new(index.path(), set);
    let mut lists = Vec::with_capacity(queries.len());
    for some in queries.chunks(QUERIES_AT_ONCE) {
        let request =
            |query: &SearchQuery| Request::new(&query.text, Mode::Fused).with_k(depth).with_min_confidence(0.0);
        let requests: Vec<Request> = some.iter().map(request).collect();
        for answer in index.search_all(&requests)? {
            lists.push(known.hits(answer.hits.iter().map(|hit| (&hit.id[..], &hit.title[..], hit.score)))?);
        }
        done(lists.len());
    }
    Ok(lists)
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
        self.by_id.get(id).or_else(|| self.by_text.get(text)).copied().ok_or_else(|| {
            let expected = "titles of the collection";
            let error = Error::expected(ErrorKind::Mismatch, expected, format!("`{}`", shortened(id))).at(self.path);
            error.help("build the index again, or search the titles of the index")
        })
    }
}

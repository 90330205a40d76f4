//! An index as a system of an evaluation: searched as `search` does.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use clickvec::index::Hit;
use clickvec_eval::Collection;
use clickvec_eval::ranker::Candidates;
use clickvec_index::{Hit as FoundTitle, Index, Mode, Request};
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind, Result};

/// An index as candidates of an evaluation.
pub struct IndexCandidates<'a> {
    index: &'a Index,
    known: Known<'a>,
    titles: usize,
}

impl<'a> IndexCandidates<'a> {
    /// Creates candidates whose positions are those of the titles in `set`.
    pub fn new(index: &'a Index, set: &'a Collection) -> IndexCandidates<'a> {
        IndexCandidates { index, known: Known::new(index.path(), set), titles: set.titles.len() }
    }
}

impl Candidates for IndexCandidates<'_> {
    fn titles(&self) -> usize {
        self.titles
    }

    fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>> {
        Ok(self.search_batch(&[query], k)?.remove(0))
    }

    /// Fails if the index has a title that the collection lacks.
    fn search_batch(&self, queries: &[&str], k: usize) -> Result<Vec<Vec<Hit>>> {
        let request = |query: &&str| Request::new(*query, Mode::Fused).with_k(k).with_min_confidence(0.0);
        let requests: Vec<Request> = queries.iter().map(request).collect();
        let answers = self.index.search_all(&requests)?;
        answers.iter().map(|answer| self.known.hits(&answer.hits)).collect()
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

    /// Returns titles by their positions in the collection, best first.
    fn hits(&self, found: &[FoundTitle]) -> Result<Vec<Hit>> {
        let hit = |hit: &FoundTitle| Ok(Hit { position: self.position(&hit.id, &hit.title)?, score: hit.score });
        let mut hits = found.iter().map(hit).collect::<Result<Vec<_>>>()?;
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

//! A trained model as a ranker: the cosine of the query's and the title's embedding.

use std::borrow::Borrow;

use super::{Ranker, Scorer};
use crate::ranker::Candidates;
use clickvec::Result;
use clickvec::index::{ExactIndex, FlatIndex, Hit};
use clickvec::internals::Pool;
use clickvec::internals::math::score::{score, scores};
use clickvec::model::{Embedder, Model, Side};

/// Judged titles have few distinct words, and a table may contain many models, so this is smaller than in a search.
const CACHE_BYTES: usize = 16 << 20;

/// A trained model with a name. The model is owned or borrowed.
pub struct Neural<M = Model> {
    name: String,
    model: M,
    queries: Embedder,
    titles: Embedder,
    vectors: Pool<[Vec<f32>; 2]>,
}

impl<M: Borrow<Model>> Neural<M> {
    /// A ranker named `name` in tables, with `model`.
    pub fn new(name: String, model: M) -> Neural<M> {
        let borrowed: &Model = model.borrow();
        let [queries, titles] =
            [Side::Query, Side::Title].map(|side| borrowed.embedder(side).with_cache_bytes(CACHE_BYTES));
        Neural { name, model, queries, titles, vectors: Pool::default() }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        self.model.borrow()
    }
}

impl<M: Borrow<Model> + Send + Sync> Ranker for Neural<M> {
    fn name(&self) -> &str {
        &self.name
    }

    /// The same scores as a search, bit for bit.
    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        self.vectors.with(Default::default, |[query_vector, title_vectors]| {
            self.queries.embed_into(&[query], query_vector);
            self.titles.embed_into(titles, title_vectors);
            let mut found = vec![0.0; titles.len()];
            scores(query_vector, title_vectors, &mut found);
            found.into_iter().map(f64::from).collect()
        })
    }

    fn weights(&self) -> Option<u64> {
        Some(self.model().parameters())
    }

    fn scorer<'a>(&'a self, titles: &'a [&'a str]) -> Scorer<'a> {
        let (vectors, dimension) = (self.titles.embed(titles), self.titles.dimension());
        Box::new(move |query, positions| {
            let query = self.queries.embed(&[query]);
            let of = |&position: &u32| &vectors[position as usize * dimension..][..dimension];
            positions.iter().map(|position| f64::from(score(&query, of(position)))).collect()
        })
    }

    fn candidates<'a>(&'a self, titles: &'a [&'a str]) -> Result<Box<dyn Candidates + 'a>> {
        let mut vectors = Vec::new();
        let is_known = self.titles.embed_known(titles, &mut vectors);
        let positions = (0..).zip(is_known).filter_map(|(position, is_known)| is_known.then_some(position)).collect();
        let index = FlatIndex::from_unit(self.titles.dimension(), vectors)?;
        Ok(Box::new(NeuralCandidates { queries: &self.queries, positions, index: ExactIndex::new(index) }))
    }
}

/// The vectors of titles.
struct NeuralCandidates<'a> {
    queries: &'a Embedder,
    /// Where the titles of the vectors are among all, ascending.
    positions: Vec<u32>,
    index: ExactIndex,
}

impl NeuralCandidates<'_> {
    /// From places among the vectors to places among all titles; the order of equal scores stays.
    fn among_all(&self, mut hits: Vec<Hit>) -> Vec<Hit> {
        hits.iter_mut().for_each(|hit| hit.position = self.positions[hit.position as usize]);
        hits
    }
}

impl Candidates for NeuralCandidates<'_> {
    fn titles(&self) -> usize {
        self.positions.len()
    }

    fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>> {
        if !self.queries.dictionary().knows_a_word(query) {
            return Ok(Vec::new());
        }
        let vector = self.queries.embed(&[query]);
        Ok(self.among_all(self.index.search(&vector, k)?))
    }

    fn search_batch(&self, queries: &[&str], k: usize) -> Result<Vec<Vec<Hit>>> {
        let mut vectors = Vec::new();
        let is_known = self.queries.embed_known(queries, &mut vectors);
        let mut hits = self.index.search_batch(&vectors, k)?.into_iter();
        let answer =
            |is_known: bool| if is_known { self.among_all(hits.next().unwrap_or_default()) } else { Vec::new() };
        Ok(is_known.into_iter().map(answer).collect())
    }
}

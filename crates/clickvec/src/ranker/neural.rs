//! A trained model as a ranker: the cosine of the query's and the title's embedding.

use std::borrow::Borrow;

use super::Ranker;
use crate::math::score::scores;
use crate::model::{Embedder, Model, Side};
use crate::pool::Pool;

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
        let whole: &Model = model.borrow();
        let [queries, titles] =
            [Side::Query, Side::Title].map(|side| whole.embedder(side).with_cache_bytes(CACHE_BYTES));
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
        self.vectors.with(Default::default, |[of_query, of_titles]| {
            self.queries.embed_into(&[query], of_query);
            self.titles.embed_into(titles, of_titles);
            let mut found = vec![0.0; titles.len()];
            scores(of_query, of_titles, &mut found);
            found.into_iter().map(f64::from).collect()
        })
    }
}

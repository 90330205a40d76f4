//! A trained model as a ranker: the cosine of the query's and the title's embedding.

use std::borrow::Borrow;

use super::Ranker;
use crate::math::vector::{dot, normalize};
use crate::model::{Model, Side};

/// An embedder lives as long as one query here, too short to fill a larger cache.
const CACHE_BYTES: usize = 1 << 20;

/// A trained model under a name: its own, or one that is borrowed.
pub struct Neural<M = Model> {
    name: String,
    model: M,
}

impl<M: Borrow<Model>> Neural<M> {
    /// `model`, called `name` in tables.
    pub fn new(name: String, model: M) -> Neural<M> {
        Neural { name, model }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        self.model.borrow()
    }

    /// The model back.
    pub fn into_model(self) -> M {
        self.model
    }
}

impl<M: Borrow<Model> + Send + Sync> Ranker for Neural<M> {
    fn name(&self) -> &str {
        &self.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let dimension = self.model().dimension();
        let embedder = |side| self.model().embedder(side).with_cache_bytes(CACHE_BYTES);
        let mut query = embedder(Side::Query).embed(&[query]).to_vec();
        normalize(&mut query);
        let mut titles = embedder(Side::Title).embed(titles).to_vec();
        titles
            .chunks_exact_mut(dimension)
            .map(|title| {
                normalize(title);
                f64::from(dot(&query, title))
            })
            .collect()
    }
}

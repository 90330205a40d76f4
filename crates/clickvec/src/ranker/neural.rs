//! A trained model as a ranker: the cosine of the query's and the title's embedding.

use super::Ranker;
use crate::math::vector::{dot, normalize};
use crate::model::{Model, Side};

/// An embedder lives as long as one query here, too short to fill a larger cache.
const CACHE_BYTES: usize = 1 << 20;

/// A trained model under a name.
pub struct Neural {
    name: String,
    model: Model,
}

impl Neural {
    /// `model`, called `name` in tables.
    pub fn new(name: String, model: Model) -> Neural {
        Neural { name, model }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model back.
    pub fn into_model(self) -> Model {
        self.model
    }
}

impl Ranker for Neural {
    fn name(&self) -> &str {
        &self.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let dimension = self.model.dimension();
        let embedder = |side| self.model.embedder(side).with_cache_bytes(CACHE_BYTES);
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

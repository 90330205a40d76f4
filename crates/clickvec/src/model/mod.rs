//! The model: two towers whose vectors are compared by their cosine. Training makes it, and everything else uses it.

mod embedder;
pub(crate) mod file;

pub use embedder::Embedder;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::encoder::{Encoder, EncoderConfig};
use crate::settings::TrainingRecord;
use crate::text::Dictionary;

/// A side of a pair, and the tower that encodes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The tower that reads queries.
    Query,
    /// The tower that reads titles (documents).
    Title,
}

/// A trained model; it never changes. Clones share their weights.
#[derive(Clone)]
pub struct Model {
    pub(crate) dictionary: Arc<Dictionary>,
    /// The query tower and the title tower, or one for both.
    pub(crate) towers: Vec<Arc<dyn Encoder>>,
    pub(crate) training: TrainingRecord,
    pub(crate) fingerprint: String,
}

impl Model {
    /// Returns the size of an embedding (L in the papers).
    pub fn dimension(&self) -> usize {
        self.towers[0].dimension()
    }

    /// Returns the kind of encoder and its sizes.
    pub fn encoder_config(&self) -> &EncoderConfig {
        &self.training.config.encoder
    }

    /// Returns whether queries and titles share one tower.
    pub fn shared_towers(&self) -> bool {
        self.towers.len() == 1
    }

    /// The letter trigrams the model knows.
    // Its type is in `internals`, which promises nothing.
    #[doc(hidden)]
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// Returns the record of the model's training.
    pub fn training(&self) -> &TrainingRecord {
        &self.training
    }

    /// Returns a fingerprint of dictionary, weights and settings. Models with equal fingerprints embed alike.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The encoder of a side.
    // Its type is in `internals`, which promises nothing.
    #[doc(hidden)]
    pub fn encoder(&self, side: Side) -> &dyn Encoder {
        &**self.tower(side)
    }

    fn tower(&self, side: Side) -> &Arc<dyn Encoder> {
        match side {
            Side::Query => &self.towers[0],
            Side::Title => self.towers.last().expect("one or two towers"),
        }
    }

    /// Returns the name, rows (inputs) and columns (outputs) of each of the papers' matrices.
    pub fn tensors(&self) -> impl Iterator<Item = (String, usize, usize)> {
        self.prefixes().into_iter().zip(&self.towers).flat_map(|(prefix, tower)| {
            tower.tensors().iter().flat_map(move |tensor| {
                let rows = tensor.value.rows();
                tensor.groups.iter().map(move |group| (format!("{prefix}{}", group.name), rows, group.width))
            })
        })
    }

    /// Returns the number of weights.
    pub fn parameters(&self) -> u64 {
        self.tensors().map(|(_, rows, columns)| rows as u64 * columns as u64).sum()
    }

    /// Returns the prefix of tensor names, for each tower.
    pub(crate) fn prefixes(&self) -> Vec<&'static str> {
        prefixes(self.shared_towers())
    }

    /// Returns an embedder for texts of one side. It shares its weights with the model and may outlive it.
    pub fn embedder(&self, side: Side) -> Embedder {
        Embedder::new(Arc::clone(self.tower(side)), Arc::clone(&self.dictionary), self.training.config.limit())
    }
}

pub(crate) fn prefixes(shared: bool) -> Vec<&'static str> {
    if shared { vec!["shared."] } else { vec!["query.", "document."] }
}

/// The half of a model that searching needs: the query tower without the title tower.
pub struct QueryModel {
    /// A model with the query tower alone. A type of its own keeps it from being used as a whole model.
    pub(crate) half: Model,
}

impl QueryModel {
    /// Returns the size of an embedding (L in the papers).
    pub fn dimension(&self) -> usize {
        self.half.dimension()
    }

    /// Returns the kind of encoder and its sizes.
    pub fn encoder_config(&self) -> &EncoderConfig {
        self.half.encoder_config()
    }

    /// The letter trigrams the model knows.
    // Its type is in `internals`, which promises nothing.
    #[doc(hidden)]
    pub fn dictionary(&self) -> &Dictionary {
        self.half.dictionary()
    }

    /// Returns the fingerprint of the whole model.
    pub fn fingerprint(&self) -> &str {
        self.half.fingerprint()
    }

    /// Returns an embedder for queries, whose vectors equal those of the whole model bit for bit.
    pub fn embedder(&self) -> Embedder {
        self.half.embedder(Side::Query)
    }
}

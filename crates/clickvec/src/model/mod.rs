//! Two towers and the cosine: what training makes and everything else uses.

mod embedder;
pub(crate) mod file;

pub use embedder::Embedder;

use std::sync::Arc;

use crate::encoder::{Encoder, EncoderConfig};
use crate::settings::TrainingRecord;
use crate::text::Dictionary;

/// Which tower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The tower that reads queries.
    Query,
    /// The tower that reads titles (documents).
    Title,
}

/// A trained model; it never changes.
pub struct Model {
    pub(crate) dictionary: Arc<Dictionary>,
    /// The query tower and the title tower, or one for both.
    pub(crate) towers: Vec<Arc<dyn Encoder>>,
    pub(crate) training: TrainingRecord,
    pub(crate) fingerprint: String,
}

impl Model {
    /// L: size of the embeddings.
    pub fn dimension(&self) -> usize {
        self.towers[0].dimension()
    }

    /// The kind of encoder and its sizes.
    pub fn encoder_config(&self) -> &EncoderConfig {
        &self.training.config.encoder
    }

    /// Whether queries and titles share one tower.
    pub fn shared_towers(&self) -> bool {
        self.towers.len() == 1
    }

    /// The letter trigrams the model knows.
    #[doc(hidden)]
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// What the model says of its training.
    pub fn training(&self) -> &TrainingRecord {
        &self.training
    }

    /// Of dictionary, weights and settings: models with equal fingerprints embed alike.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The encoder of a side.
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

    /// Name, rows (inputs) and columns (outputs) of each of the papers' matrices.
    pub fn tensors(&self) -> impl Iterator<Item = (String, usize, usize)> {
        self.prefixes().into_iter().zip(&self.towers).flat_map(|(prefix, tower)| {
            tower.tensors().iter().flat_map(move |tensor| {
                let rows = tensor.value.rows();
                tensor.groups.iter().map(move |group| (format!("{prefix}{}", group.name), rows, group.width))
            })
        })
    }

    /// Number of weights.
    pub fn parameters(&self) -> u64 {
        self.tensors().map(|(_, rows, columns)| rows as u64 * columns as u64).sum()
    }

    /// What stands before a tensor's name, for each tower.
    pub(crate) fn prefixes(&self) -> Vec<&'static str> {
        prefixes(self.shared_towers())
    }

    /// The half that reads queries; it shares the weights with the model.
    pub(crate) fn query_half(&self) -> QueryModel {
        QueryModel {
            half: Model {
                dictionary: Arc::clone(&self.dictionary),
                towers: vec![Arc::clone(self.tower(Side::Query))],
                training: self.training.clone(),
                fingerprint: self.fingerprint.clone(),
            },
        }
    }

    /// Embeds texts of one side; it shares the weights of that side with the model, and may outlive it.
    pub fn embedder(&self, side: Side) -> Embedder {
        Embedder::new(Arc::clone(self.tower(side)), Arc::clone(&self.dictionary), self.training.config.max_words)
    }
}

pub(crate) fn prefixes(shared: bool) -> Vec<&'static str> {
    if shared { vec!["shared."] } else { vec!["query.", "document."] }
}

/// The half of a model that searching needs: the tower that reads queries, without the one that reads titles.
pub struct QueryModel {
    /// With the query tower alone; that is what makes this a type of its own.
    pub(crate) half: Model,
}

impl QueryModel {
    /// L: size of the embeddings.
    pub fn dimension(&self) -> usize {
        self.half.dimension()
    }

    /// The kind of encoder and its sizes.
    pub fn encoder_config(&self) -> &EncoderConfig {
        self.half.encoder_config()
    }

    /// The letter trigrams the model knows.
    #[doc(hidden)]
    pub fn dictionary(&self) -> &Dictionary {
        self.half.dictionary()
    }

    /// That of the whole model.
    pub fn fingerprint(&self) -> &str {
        self.half.fingerprint()
    }

    /// Embeds queries, bit for bit as the whole model does.
    pub fn embedder(&self) -> Embedder {
        self.half.embedder(Side::Query)
    }
}

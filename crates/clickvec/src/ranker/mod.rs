//! The systems that are compared: each scores titles for a query.

pub mod bm25;
pub mod corpus;
mod dependence;
mod doc2vec;
pub mod file;
pub mod fusion;
mod inverted;
mod language_model;
mod lce;
mod lsa;
mod mrf;
mod neural;
#[cfg(test)]
mod shop;
mod skip_thought;
pub mod spec;
pub mod stored;
pub mod system;
#[cfg(test)]
mod testing;
mod text_table;
mod topic;
mod translation;
mod trigram;
mod ulm;
mod word_vectors;

pub use bm25::Bm25;
pub use corpus::Corpus;
pub use doc2vec::Doc2Vec;
pub use file::{State, load};
pub use fusion::{FittedWeights, Fusion, FusionMethod, RECIPROCAL_RANK_K, fit_weights, fuse};
pub use lce::Lce;
pub use lsa::Lsa;
pub use mrf::Mrf;
pub use neural::Neural;
pub use skip_thought::SkipThought;
pub use spec::{RankerSpec, SpecFault};
pub use stored::Stored;
pub use system::{Parameter, Progress, Resources, Stage, System, Values, Watch};
pub use topic::TopicRanker;
pub use translation::{Ptm, Wtm};
pub use trigram::LetterTrigrams;
pub use ulm::Ulm;
pub use word_vectors::WordVectors;

/// Every system that is not an encoder, in the order of the papers' tables.
pub const SYSTEMS: [&System; 14] = [
    &bm25::SYSTEM,
    &ulm::SYSTEM,
    &lsa::SYSTEM,
    &topic::plsa::SYSTEM,
    &topic::lda::SYSTEM,
    &topic::bltm::SYSTEM,
    &translation::wtm::SYSTEM,
    &translation::ptm::SYSTEM,
    &mrf::SYSTEM,
    &lce::SYSTEM,
    &doc2vec::SYSTEM,
    &skip_thought::SYSTEM,
    &trigram::SYSTEM,
    &word_vectors::SYSTEM,
];

/// A system of the comparison, neural or not; ready to score and not changed by scoring.
pub trait Ranker: Send + Sync {
    /// The name in reports.
    fn name(&self) -> &str;

    /// One score a title, larger is better; only their order within one query means anything. Finite for every text.
    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64>;
}

/// A ranker that was trained as one of [`SYSTEMS`].
pub trait Trained: Ranker {
    /// Takes over the values of parameters of [`Stage::Scoring`]; looks at no other.
    fn tune(&mut self, values: &Values);

    /// All that [`file::save`] has to write, so that it scores the same once it is read again.
    fn state(&self) -> State;
}

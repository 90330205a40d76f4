//! The systems that are compared: each scores titles for a query.

pub mod bm25;
pub mod corpus;
mod doc2vec;
mod dependence;
pub mod file;
mod inverted;
mod fusion;
mod language_model;
mod lce;
mod lsa;
mod mrf;
mod neural;
#[cfg(test)]
mod shop;
mod skip_thought;
pub mod spec;
pub mod system;
#[cfg(test)]
mod testing;
mod text_table;
mod trigram;
mod translation;
mod ulm;
mod word_vectors;

pub use bm25::Bm25;
pub use corpus::Corpus;
pub use doc2vec::Doc2Vec;
pub use file::{State, load};
pub use lce::Lce;
pub use lsa::Lsa;
pub use mrf::Mrf;
pub use neural::Neural;
pub use skip_thought::SkipThought;
pub use spec::{RankerSpec, SpecFault};
pub use system::{Parameter, Progress, Resources, Stage, System, Values, Watch};
pub use trigram::LetterTrigrams;
pub use fusion::{FittedWeights, Fusion, FusionMethod, RECIPROCAL_RANK_K, fit_weights, fuse};
pub use neural::Neural;
pub use spec::{RankerSpec, SpecFault};
pub use system::{Parameter, Progress, Resources, Stage, System, Values, Watch};
pub use translation::{Ptm, Wtm};
pub use ulm::Ulm;
pub use word_vectors::WordVectors;

/// Every system that is not an encoder, in the order of the papers' tables.
pub const SYSTEMS: [&System; 4] = [&bm25::SYSTEM, &ulm::SYSTEM, &doc2vec::SYSTEM, &word_vectors::SYSTEM];
pub const SYSTEMS: [&System; 6] =
    [&bm25::SYSTEM, &ulm::SYSTEM, &lsa::SYSTEM, &mrf::SYSTEM, &lce::SYSTEM, &trigram::SYSTEM];
pub const SYSTEMS: [&System; 4] = [&bm25::SYSTEM, &ulm::SYSTEM, &translation::wtm::SYSTEM, &translation::ptm::SYSTEM];
pub const SYSTEMS: [&System; 3] = [&bm25::SYSTEM, &ulm::SYSTEM, &skip_thought::SYSTEM];

/// A system of the comparison, neural or not; ready to score and not changed by scoring.
pub trait Ranker: Send + Sync {
    /// What reports call it.
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

//! The systems of the papers' tables other than encoders.

mod dependence;
mod doc2vec;
mod fault;
mod language_model;
mod lce;
mod lsa;
mod mrf;
#[cfg(test)]
#[path = "../../../clickvec-eval/src/ranker/shop.rs"]
pub(crate) mod shop;
mod skip_thought;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod text_vectors;
mod topic;
mod translation;
mod ulm;
mod vectors;

use clickvec::Result;
use clickvec_eval::ranker::{self, Corpus, RankerSpec, Resources, System, SystemRanker};

/// Every system except encoders, those of [`clickvec_eval::ranker::SYSTEMS`] among them, in the order of the papers' tables.
pub const SYSTEMS: [&System; 14] = {
    let [bm25, trigram] = ranker::SYSTEMS;
    [
        bm25,
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
        trigram,
        &vectors::SYSTEM,
    ]
};

/// The systems that `clickvec evaluate` trains: those of [`clickvec_eval::ranker::SYSTEMS`], and vectors of other programs.
pub const COMMON: [&System; 3] = {
    let [bm25, trigram] = ranker::SYSTEMS;
    [bm25, trigram, &vectors::SYSTEM]
};

/// Trains the ranker that `spec` describes, such as `plsa:topics=100,lambda=0.5`, one of [`SYSTEMS`].
///
/// # Errors
///
/// `ErrorKind::Setting` for a spec that is not valid; an error that [`clickvec::Error::concerns_data`] if the corpus is not enough.
pub fn train(spec: &str, corpus: &Corpus) -> Result<Box<dyn SystemRanker>> {
    let spec: RankerSpec = spec.parse()?;
    let system = System::named(&spec.name, &SYSTEMS)?;
    system.train(&system.values(&spec)?, &Resources { corpus, files: &spec.files }, &mut |_| ())
}

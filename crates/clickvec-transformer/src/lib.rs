//! Vectors of texts by a sentence transformer, on a CPU.
//!
//! [`Transformer::load`] reads a folder that sentence-transformers wrote: a BERT encoder such as MiniLM, BGE, GTE or E5. The vectors are
//! those of that library up to rounding, and have unit length. The vector of a text does not depend on the other texts of a call, bit
//! for bit.

mod config;
mod encoder;
mod folder;
mod layers;
mod normalizer;
mod tokenizer;
mod transformer;
mod weights;

pub use transformer::Transformer;

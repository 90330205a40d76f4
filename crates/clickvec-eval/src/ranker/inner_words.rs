//! The vectors of words that a ranker has inside.

use std::borrow::Cow;

use clickvec::internals::text::Interner;

/// The vectors of words that a ranker has inside, of any length.
#[derive(Debug)]
pub struct InnerWords<'a> {
    /// The words.
    pub words: &'a Interner,
    /// [words, dimension]
    pub vectors: Cow<'a, [f32]>,
    /// Numbers of a vector.
    pub dimension: usize,
}

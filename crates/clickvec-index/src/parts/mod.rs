//! What the parts of an index keep, each in a file or folder of its own: how it is written and opened.

pub(crate) mod teacher;
pub(crate) mod trigrams;
pub(crate) mod vectors;
pub(crate) mod words;

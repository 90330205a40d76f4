//! The files of an index's parts: how they are written and opened.

pub(crate) mod teacher;
pub(crate) mod trigrams;
pub(crate) mod vectors;
pub(crate) mod words;

//! What clickvec reads and writes: files, tables, and the one error of all its crates.

pub mod error;
pub mod shown;

pub use error::{Error, ErrorKind, Result};

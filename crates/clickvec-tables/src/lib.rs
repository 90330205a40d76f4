//! What clickvec reads and writes: files, tables, and the one error of all its crates.

pub mod collection;
pub mod column_names;
pub mod damaged;
pub mod error;
pub mod files;
pub mod json;
mod lines;
pub mod memory;
mod named;
pub mod outputs;
pub mod shown;
mod stop;
pub mod table;
mod text;
pub mod titles;
mod unique_ids;

pub use error::{Error, ErrorKind, Result};
pub use lines::{FoundLine, Lines};
pub use stop::Stop;
pub use text::{NULLS, decode_entities, decoded, null_text};
pub use unique_ids::{IdentityHasher, UniqueIds};

//! An index on disk that answers queries by vectors, by words, or by both fused.
//!
//! ```
//! use clickvec_index::{Index, Mode, Request};
//!
//! # fn main() -> clickvec_index::Result<()> {
//! # let path = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/frozen/format-1/index"));
//! let index = Index::open(path)?;
//! let answer = index.search(&Request::new("oak vanity", Mode::Fused).with_k(3))?;
//! for hit in &answer.hits {
//!     println!("{} {:.3} {} {}", hit.rank, hit.score, hit.id, hit.title);
//! }
//! # assert_eq!(answer.hits.len(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! [`finish`] makes the index, [`Updater`] changes it, [`compact`] clears away what updates leave behind,
//! [`compact_in_background`] without searches in the same process feeling it.

mod answer;
mod background;
mod bm25;
mod build;
mod changes;
mod check;
mod encode;
pub mod error;
mod facts;
mod folder;
mod format;
mod fusion;
#[cfg(fuzzing)]
pub mod fuzzing;
mod layout;
mod map;
mod memory;
mod open;
mod part;
mod request;
mod search;
mod segment;
mod table;
mod teacher;
mod trigrams;
mod update;
mod words;

pub use answer::{Answer, Comparison, Document, Explanation, Hit, QueryFacts, QueryWord, Share, Timings, WordShare};
pub use bm25::Bm25;
pub use build::{BuiltIndex, IndexBuilder, Parts};
pub use changes::CHANGES_PREFIX;
pub use check::{Checked, Verified, check_files, verify};
pub use clickvec::internals::text::Analysis;
pub use error::{Error, Result};
pub use facts::{
    Choices, Facts, FieldFacts, FusionFacts, ModelFacts, TeacherFacts, TrigramFacts, VectorFacts, VectorSearch,
    WordFacts,
};
pub use folder::{MANIFEST, PartKind, looks_like_index, put_part};
pub use format::VectorFormat;
pub use fusion::Fusion;
pub use layout::{About, IndexSummary, Shard};
pub use open::Index;
pub use part::Part;
pub use request::{Condition, DEFAULT_K, Filter, Mode, Request};
pub use teacher::Teacher;
pub use trigrams::Trigrams;
pub use update::{Compacted, Updated, Updater, compact, compact_in_background, finish, join};

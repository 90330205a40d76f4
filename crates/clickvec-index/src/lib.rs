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
//! [`finish`] makes the index, [`Updater`] changes it, [`compact`] clears away what updates leave behind.

mod answer;
mod background;
mod bits;
mod build;
mod changes;
mod check;
mod confidence;
mod describe;
mod encode;
mod error;
mod explain;
mod facets;
mod facts;
mod finders;
mod folder;
mod fusion;
mod fusion_method;
#[cfg(fuzzing)]
pub mod fuzzing;
mod join;
mod link;
mod manifests;
mod map;
mod memory;
mod open;
mod part;
mod parts;
mod request;
mod search;
mod segment;
mod shard;
mod spelling;
mod title_match;
mod titles;
mod update;

pub use answer::{
    Answer, Document, Explanation, Facet, FacetValue, Gap, Hit, QueryFacts, QueryWord, Share, Timings, WordGap,
    WordShare,
};
pub use build::{BuiltIndex, IndexBuilder};
pub use changes::CHANGES_PREFIX;
pub use check::{Checked, Verified, check_files, verify};
pub use clickvec::internals::text::Analysis;
pub use confidence::Confidence;
pub use describe::IndexFiles;
pub use error::{Error, ErrorKind, Result};
pub use facts::{
    Facts, FieldFacts, FusionFacts, ModelFacts, PartFacts, TeacherFacts, TrigramFacts, VectorFacts, VectorSearch,
    WordFacts,
};
#[doc(hidden)]
pub use folder::put_part;
pub use folder::{MANIFEST, looks_like_index};
pub use fusion::Fusion;
pub use fusion_method::{FusionMethod, RECIPROCAL_RANK_K};
#[doc(hidden)]
pub use fusion_method::{fused_shares, sum_shares};
pub use join::join;
pub use link::link;
#[doc(hidden)]
pub use manifests::manifests;
pub use open::Index;
pub use part::{ByPart, Part};
pub use parts::teacher::Teacher;
pub use parts::trigrams::Trigrams;
pub use parts::vectors::VectorFormat;
pub use parts::words::Bm25;
pub use request::{Boost, Condition, DEFAULT_K, Filter, Mode, Pin, Request};
pub use shard::Shard;
pub use title_match::TitleMatch;
pub use update::{Compacted, Updated, Updater, compact, finish};

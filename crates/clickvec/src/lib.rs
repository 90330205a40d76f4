//! Sentence vectors learned from a search engine's click log. The crate `clickvec-index` searches with them, and `clickvec-eval`
//! judges whether they are better.
//!
//! Train a model from pairs of query and clicked title, and embed titles with it:
//!
//! ```
//! use std::ops::ControlFlow;
//! use clickvec::train::{ClickSource, TrainConfig, TrainOptions, train};
//!
//! # fn main() -> clickvec::Result<()> {
//! let clicks = [("couch", "leather sofa", 3.0), ("desk lamp", "lamp for a desk", 1.0)];
//! let config = TrainConfig { epochs: 2, ..TrainConfig::default() };
//! let outcome = train(&config, ClickSource::pairs(clicks), TrainOptions::default(), &mut |_| ControlFlow::Continue(()))?;
//! let model = outcome.finished().expect("nothing cancels it");
//!
//! let vectors = model.embedder(clickvec::model::Side::Title).embed(&["leather sofa", "lamp for a desk"]);
//! # assert_eq!(vectors.len(), 2 * model.dimension());
//! # Ok(())
//! # }
//! ```
//!
//! Vectors for other programs have unit length, so that a dot product is the score of a search:
//!
//! ```
//! use clickvec::model::{Model, Side};
//!
//! # fn main() -> clickvec::Result<()> {
//! # let path = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/frozen/format-1/lstm.safetensors"));
//! let model = Model::load(path)?;
//! let vectors = model.embedder(Side::Query).embed(&["oak vanity", "garden hose"]);
//! assert_eq!(vectors.len(), 2 * model.dimension());
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`train`] | learning a model from a file or any iterator of pairs |
//! | [`model`] | a trained model, and the vectors of texts |
//! | [`explain`] | why a title matches a query |
//! | [`encoder`] | the kinds of encoder and their sizes; what happened inside one |
//! | [`tables`] | reading titles and other tables |
//! | [`vectors`] | vectors in files of other programs |
//! | [`click_model`] | how often each position is looked at |
//!
//! The module `internals`, not listed here, is for the project's own crates and tests and may change at any time.

pub mod click_model;
mod clicks;
pub mod encoder;
pub mod explain;
mod fields;
pub mod index;
// For the other crates of the workspace, which are built from the same commit. Not behind a feature: what is published must be what
// they were tested with.
#[doc(hidden)]
pub mod internals;
mod loss;
mod math;
pub mod model;
mod npy;
mod optimizer;
mod pool;
mod ragged;
mod ranks;
mod ridge;
mod rng;
mod settings;
/// Reading titles and other tables, as [`clickvec_tables`] does.
pub mod tables {
    pub use clickvec_tables::collection::{
        Title, TitleFile, TitlesSummary, for_each_document, for_each_title, read_titles, titles_file,
    };
    pub use clickvec_tables::table::{RowFault, Skipped, SkippedLine};
    pub use clickvec_tables::titles::{TITLE, Titles};
}
mod tensor_file;
mod text;
pub mod train;
mod vector_file;
pub mod vectors;
mod views;

pub use clickvec_tables::{Error, ErrorKind, Result};

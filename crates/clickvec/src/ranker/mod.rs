//! The systems that are compared: each scores titles for a query.

pub mod bm25;
mod neural;
pub mod spec;

pub use bm25::{Bm25, Bm25Parameters};
pub use neural::Neural;
pub use spec::{RankerSpec, SpecFault};

/// A system of the comparison, neural or not; ready to score and not changed by scoring.
pub trait Ranker: Send + Sync {
    /// What reports call it.
    fn name(&self) -> &str;

    /// One score a title, larger is better; only their order within one query means anything.
    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64>;
}

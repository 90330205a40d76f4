//! The parameters of BM25.

use serde::{Deserialize, Serialize};

/// k₁ and b of the search by words.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bm25 {
    /// The saturation of repetitions of a word.
    pub k1: f64,
    /// The influence of the title's length, from 0 to 1.
    pub b: f64,
}

impl Bm25 {
    /// The best parameters for titles: a repeated word counts little more, and so does the length (docs/explanation/defaults.md).
    pub const TITLES: Bm25 = Bm25 { k1: 0.5, b: 0.4 };

    /// Returns these parameters if BM25 is defined for them: k₁ of 0 or more and b from 0 to 1.
    pub fn new(k1: f64, b: f64) -> Option<Bm25> {
        ((0.0..=1e6).contains(&k1) && (0.0..=1.0).contains(&b)).then_some(Bm25 { k1, b })
    }
}

impl Default for Bm25 {
    fn default() -> Bm25 {
        Bm25::TITLES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_checked() {
        for (k1, b) in [(1.2, 0.75), (0.5, 0.4), (0.9, 0.4), (0.0, 0.0), (3.0, 1.0)] {
            assert_eq!(Bm25::new(k1, b), Some(Bm25 { k1, b }));
        }
        for (k1, b) in [(f64::NAN, 0.5), (-1.0, 0.5), (f64::INFINITY, 1.0), (1.2, 1.1), (1.2, -0.1), (1.2, f64::NAN)] {
            assert_eq!(Bm25::new(k1, b), None, "{k1}, {b}");
        }
    }
}

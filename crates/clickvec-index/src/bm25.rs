//! The parameters of BM25 that tantivy can be made to have.

use serde::{Deserialize, Serialize};

/// k₁ and b of the search by words.
///
/// tantivy offers 1.2 and 0.75 alone. But a title of length |D| adds k₁ (1 − b) + k₁ b |D| / L to the denominator of a
/// word's share, where L is the mean length, and tantivy takes L from whoever asks. So it computes, up to a constant
/// factor, any BM25 with the same k₁ (1 − b), which is 0.3: an L that is 4.5 times as large makes it that of 0.5 and 0.4.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bm25 {
    /// How slowly repetitions of a word saturate.
    pub k1: f64,
    /// How much the title's length counts, from 0 to 1.
    pub b: f64,
}

impl Bm25 {
    /// Those of tantivy.
    pub const USUAL: Bm25 = Bm25 { k1: 1.2, b: 0.75 };

    /// These parameters, if an index can have them: k₁ (1 − b) is 0.3, and k₁ b is between 0.001 and 0.9.
    pub fn new(k1: f64, b: f64) -> Option<Bm25> {
        let Bm25 { k1: usual, b: usual_b } = Bm25::USUAL;
        let is_same = (k1 * (1.0 - b) - usual * (1.0 - usual_b)).abs() < 1e-9;
        // A length that hardly counts would take a mean length beyond what numbers hold.
        (is_same && k1 * b >= 1e-3 && k1 * b <= usual * usual_b + 1e-9).then_some(Bm25 { k1, b })
    }

    /// How much more a title's length counts than in tantivy: 1 or less.
    fn slope(self) -> f64 {
        self.k1 * self.b / (Bm25::USUAL.k1 * Bm25::USUAL.b)
    }

    /// The number of words in all titles that makes tantivy compute this.
    pub(crate) fn tokens(self, tokens: u64) -> u64 {
        if self == Bm25::USUAL { tokens } else { (tokens as f64 / self.slope()).round() as u64 }
    }

    /// The mean length of a title that scores come from. tantivy takes whole numbers of words, which a small index can tell:
    /// with 1,000 words the mean length is off by a ten-thousandth.
    pub(crate) fn mean_length(self, tokens: u64, titles: u64) -> f64 {
        self.tokens(tokens) as f64 * self.slope() / titles.max(1) as f64
    }

    /// How many times as large scores are as those of tantivy, which has the factor k₁ + 1 too.
    pub(crate) fn factor(self) -> f32 {
        ((self.k1 + 1.0) / (Bm25::USUAL.k1 + 1.0)) as f32
    }

    /// How many times as large a score may be as the largest that tantivy expects in a block of titles.
    ///
    /// For each block, tantivy keeps the title that is best with its own parameters, and passes over the block if that
    /// title's score is too small. Another one of the block may be better now, though not by more than this: with
    /// x = 0.3 / tf and u = x + 0.9 |D| / (L tf), a share is 1 / (1 + x + s (u − x)) for the slope s, and tantivy's best
    /// has the smallest u. Its x is at most 0.3, and another's at least 0.
    pub(crate) fn slack(self) -> f32 {
        let most = Bm25::USUAL.k1 * (1.0 - Bm25::USUAL.b);
        (1.0 + most * (1.0 - self.slope()).max(0.0)) as f32
    }
}

impl Default for Bm25 {
    fn default() -> Bm25 {
        Bm25::USUAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_index_can_have() {
        for (k1, b) in [(1.2, 0.75), (0.5, 0.4), (0.6, 0.5), (1.0, 0.7), (0.375, 0.2)] {
            assert_eq!(Bm25::new(k1, b), Some(Bm25 { k1, b }));
        }
        for (k1, b) in
            [(0.9, 0.4), (1.5, 0.8), (0.3, 0.0), (f64::NAN, 0.5), (-1.0, 1.3), (f64::INFINITY, 1.0), (0.0, 0.0)]
        {
            assert_eq!(Bm25::new(k1, b), None, "{k1}, {b}");
        }
        let [usual, flat] = [Bm25::USUAL, Bm25 { k1: 0.5, b: 0.4 }];
        assert_eq!((usual.tokens(7), usual.factor(), usual.slack()), (7, 1.0, 1.0));
        assert_eq!((flat.tokens(1000), usual.mean_length(1000, 100)), (4500, 10.0));
        assert!((flat.mean_length(1001, 100) - 10.01).abs() < 2e-3);
    }

    #[test]
    fn no_title_of_a_block_is_better_by_more_than_the_slack() {
        let bm25 = Bm25 { k1: 0.5, b: 0.4 };
        let share = |tf: f64, length: f64, slope: f64| tf / (tf + 0.3 + slope * 0.9 * length);
        let mut most = 0.0f64;
        let titles = || (1..=30).flat_map(|tf| (1..=40).map(move |length| (f64::from(tf), f64::from(length) / 10.0)));
        for (tf, length) in titles() {
            for (other_tf, other_length) in titles() {
                if share(tf, length, 1.0) >= share(other_tf, other_length, 1.0) {
                    let slope = bm25.slope();
                    most = most.max(share(other_tf, other_length, slope) / share(tf, length, slope));
                }
            }
        }
        assert!(most > 1.1 && most <= f64::from(bm25.slack()), "{most} {}", bm25.slack());
    }
}

//! Ridge regression from the words of texts to numbers: for each feature, a letter trigram or a whole word, the row of numbers that
//! together come closest.
//!
//! The rows s_f x_f are those whose x minimise, over the texts i with the features' counts c and the targets t,
//! Σ_i ‖Σ_f c_if s_f x_f / n_i − t_i‖² + λ Σ_f ‖x_f‖², where s_f is √(ln(texts / texts with f)), so that a rare feature says more, and
//! n_i is the length of the text's numbers c_if s_f.

mod solve;
#[cfg(test)]
mod tests;

use crate::ragged::Ragged;
use crate::text::Feature;
use clickvec_tables::memory::NoRoom;

pub(crate) use solve::Solved;
pub use solve::{LANES, Row, solve};

/// The largest number of texts that are worth their time: with more, the rows hardly change.
pub const MOST_TEXTS: usize = 100_000;

/// An item of a list, and the number of its occurrences.
#[derive(Debug, Clone, Copy, Default)]
pub struct Item {
    /// Its number.
    pub number: u32,
    /// The number of its occurrences.
    pub count: u32,
}

impl From<Feature> for Item {
    fn from(feature: Feature) -> Item {
        Item { number: feature.id, count: feature.count }
    }
}

/// The purpose of the memory, in messages.
const WHAT: &str = "texts to fit weights to";

/// Returns, for each of `count` numbers, the lists that have it, in order.
fn transposed(lists: &Ragged<Item>, count: usize) -> Result<Ragged<Item>, NoRoom> {
    Ragged::sorted(WHAT, count, |each| {
        for (list, items) in lists.iter().enumerate() {
            items.iter().for_each(|item| each(item.number as usize, Item { number: list as u32, count: item.count }));
        }
    })
}

/// The features of texts, as a matrix in two steps: from texts to words, and from words to features.
pub struct Design {
    /// The words of each text.
    pub words: Ragged<Item>,
    /// The features of each word.
    pub features: Ragged<Item>,
    /// The texts that have each word.
    pub by_word: Ragged<Item>,
    /// The words that have each feature.
    pub by_feature: Ragged<Item>,
    /// s: the factor of each feature.
    pub factors: Vec<f32>,
    /// 1 / n: for each text, 1 divided by the length of its features' numbers; 0 if that is 0.
    pub scales: Vec<f32>,
    /// For each feature, the sum over the texts of its squared number.
    pub squares: Vec<f32>,
}

impl Design {
    /// Texts of these words, which have these of `count` features.
    ///
    /// # Errors
    ///
    /// [`NoRoom`].
    pub fn new(words: Ragged<Item>, features: Ragged<Item>, count: usize) -> Result<Design, NoRoom> {
        let (by_word, by_feature) = (transposed(&words, features.len())?, transposed(&features, count)?);
        let mut design = Design {
            words,
            features,
            by_word,
            by_feature,
            factors: Vec::new(),
            scales: Vec::new(),
            squares: vec![0.0; count],
        };
        design.weigh();
        Ok(design)
    }

    /// Returns the number of texts.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns whether [`Self::len`] is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the numbers that [`solve`] needs at a time on this many threads, as factors of a product.
    pub fn working(&self, threads: usize) -> [usize; 4] {
        [6, threads, LANES, self.by_feature.len() + self.features.len() + self.len()]
    }

    /// Sets the factors of features and the scales of texts.
    fn weigh(&mut self) {
        let mut holders = vec![0u32; self.by_feature.len()];
        self.each_text(|_, counts| counts.iter().for_each(|&(feature, _)| holders[feature] += 1));
        let texts = self.len() as f64;
        let factor = |&holders: &u32| if holders == 0 { 0.0 } else { (texts / f64::from(holders)).ln().sqrt() as f32 };
        self.factors = holders.iter().map(factor).collect();
        let (mut scales, mut squares) = (vec![0.0; self.len()], vec![0.0; holders.len()]);
        self.each_text(|text, counts| {
            let numbers = || counts.iter().map(|&(feature, count)| (feature, count as f32 * self.factors[feature]));
            let length = numbers().map(|(_, x)| x * x).sum::<f32>().sqrt();
            if length > 0.0 {
                scales[text] = 1.0 / length;
                numbers().for_each(|(feature, x)| squares[feature] += (x / length).powi(2));
            }
        });
        (self.scales, self.squares) = (scales, squares);
    }

    /// Calls `take` with each text and the features that it has with their counts.
    fn each_text(&self, mut take: impl FnMut(usize, &[(usize, u32)])) {
        let (mut counts, mut found) = (vec![0u32; self.by_feature.len()], Vec::new());
        for (text, words) in self.words.iter().enumerate() {
            found.clear();
            for feature in words.iter().flat_map(|word| self.features.get(word.number as usize)) {
                let count = &mut counts[feature.number as usize];
                if *count == 0 {
                    found.push((feature.number as usize, 0));
                }
                *count += feature.count;
            }
            found.iter_mut().for_each(|(feature, count)| *count = std::mem::take(&mut counts[*feature]));
            take(text, &found);
        }
    }
}

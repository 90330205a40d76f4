//! Settings of the pairs to learn from: their sections, weights and negatives.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::fields::number_or;

/// A section of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// Titles without a click, each paired with itself.
    Titles,
    /// Clicked pairs.
    Clicks,
}

/// The number of negatives of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Negatives {
    /// n titles, drawn at random; all eligible titles if there are fewer.
    Sampled(usize),
    /// Every eligible title of the minibatch.
    All,
}

impl Serialize for Negatives {
    /// Writes the number, or `all`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = match self {
            Negatives::Sampled(number) => Some(number),
            Negatives::All => None,
        };
        number_or::write(number, "all", serializer)
    }
}

impl<'de> Deserialize<'de> for Negatives {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Negatives, D::Error> {
        let number = number_or::read_integer(&["all"], deserializer)?;
        Ok(number.map_or(Negatives::All, |number| Negatives::Sampled(usize::try_from(number).unwrap_or(usize::MAX))))
    }
}

/// The source of sampled negatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NegativeSource {
    /// The titles of the minibatch, each of which is encoded once and shared.
    Minibatch,
    /// All distinct titles of the log, at the cost of encoding n more titles for each pair.
    Uniform,
}

/// The weight that a pair gets from the `count` column of a click log. [`Weighting::Binary`] also
/// decides for the column `weight`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weighting {
    /// ln(1 + count), because the thousandth click says less than the first.
    #[default]
    Log,
    /// The count itself.
    Linear,
    /// 1 for every pair. The column is not read.
    None,
    /// One click for each pair, as in the papers, whatever both `count` and `weight` say: 1 if they are above 0, otherwise
    /// 0.
    Binary,
}

impl Weighting {
    /// Returns whether the column `count` is read.
    pub fn reads_counts(self) -> bool {
        self != Weighting::None
    }

    /// Returns the factor of a pair's loss, from its `weight` (1 if there is no such column) and its `count`, if there is
    /// one. Both are finite and 0 or more. `None` if the factor does not fit 32 bits.
    pub fn weigh(self, weight: f64, count: Option<f64>) -> Option<f32> {
        let factor = self.factor(weight, count) as f32;
        factor.is_finite().then_some(factor)
    }

    /// Returns [`Weighting::weigh`] before it is rounded.
    pub(crate) fn factor(self, weight: f64, count: Option<f64>) -> f64 {
        let one_click = |number: f64| if number > 0.0 { 1.0 } else { 0.0 };
        let count_factor = count.map_or(1.0, |count| match self {
            Weighting::Log => count.ln_1p(),
            Weighting::Linear => count,
            Weighting::None => 1.0,
            Weighting::Binary => one_click(count),
        });
        match self {
            Weighting::Binary => one_click(weight * count_factor),
            Weighting::Log | Weighting::Linear | Weighting::None => weight * count_factor,
        }
    }
}

//! The mix of queries: which share of them has which words, and how far it has moved from another mix.

use std::collections::HashSet;
use std::f64::consts::FRAC_2_PI;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use clickvec::internals::text::{WordBuffer, for_each_word};

/// The number of groups of words. A hash says in which group a word is, so that a mix tells no word.
const GROUPS: usize = 64;
/// The number of standard deviations that a drift must be beyond chance.
const DEVIATIONS: f64 = 3.0;

/// The mix of the queries of some days. A query counts once on each day, with the weight of the day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// The effective sample size (Kish 1965): the number of words of equal weight that would tell as much.
    sample_size: f64,
    /// The share of each group of words. The words of a query share it equally.
    words: Vec<f64>,
}

/// The distance of a mix from another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drift {
    /// The total-variation distance: the share of words that would have to be others.
    pub distance: f64,
    /// The distance to expect of two samples of one mix.
    pub by_chance: f64,
    /// Its standard deviation.
    pub deviation: f64,
}

impl Drift {
    /// Returns an estimate of the distance between the mixes themselves. Chance adds to the squares of differences, not to the
    /// differences: a large one is hardly any larger by chance.
    pub fn beyond_chance(&self) -> f64 {
        (self.distance.powi(2) - self.by_chance.powi(2)).max(0.0).sqrt()
    }

    /// Returns whether the mix has drifted: by more than `least` beyond chance, and significantly (three standard deviations).
    pub fn exceeds(&self, least: f64) -> bool {
        self.beyond_chance() > least && self.distance > self.by_chance + DEVIATIONS * self.deviation
    }
}

impl Mix {
    /// Returns the drift of this mix from one before; `None` if one of them has no query.
    pub fn drift_from(&self, before: &Mix) -> Option<Drift> {
        if self.sample_size <= 0.0 || before.sample_size <= 0.0 {
            return None;
        }
        let (mut distance, mut by_chance, mut variance) = (0.0, 0.0, 0.0);
        for (now, was) in self.words.iter().zip(&before.words) {
            distance += 0.5 * (now - was).abs();
            // Both as samples of the mix of all their queries. The difference of a share is then nearly normal.
            let share = (now * self.sample_size + was * before.sample_size) / (self.sample_size + before.sample_size);
            let noise = share * (1.0 - share) * (1.0 / self.sample_size + 1.0 / before.sample_size);
            by_chance += 0.5 * (FRAC_2_PI * noise).sqrt();
            variance += 0.25 * (1.0 - FRAC_2_PI) * noise;
        }
        Some(Drift { distance, by_chance, deviation: variance.sqrt() })
    }

    /// Returns whether the numbers can be those of a mix.
    pub(super) fn is_sound(&self) -> bool {
        let is_share = |share: &f64| (0.0..=1.0).contains(share);
        let sum: f64 = self.words.iter().sum();
        match self.sample_size {
            0.0 => self.words.is_empty(),
            size => {
                let is_complete = self.words.len() == GROUPS && (sum - 1.0).abs() < 1e-6;
                size.is_finite() && size > 0.0 && is_complete && self.words.iter().all(is_share)
            }
        }
    }
}

/// A counter of the queries of a window, day by day.
#[derive(Default)]
pub(super) struct Mixing {
    weight: f64,
    sum: f64,
    squares: f64,
    words: Vec<f64>,
    /// The queries of the day.
    today: HashSet<u64>,
    buffer: WordBuffer,
    groups: Vec<usize>,
}

impl Mixing {
    /// Begins a day of this weight.
    pub(super) fn begin_day(&mut self, weight: f32) {
        self.weight = f64::from(weight);
        self.today.clear();
    }

    /// Adds a query with the hash of its words.
    pub(super) fn add(&mut self, hash: u64, query: &str) {
        if !self.today.insert(hash) {
            return;
        }
        let Mixing { buffer, groups, .. } = self;
        groups.clear();
        for_each_word(query, buffer, |word| groups.push((xxh3_64(word.as_bytes()) % GROUPS as u64) as usize));
        if groups.is_empty() {
            return;
        }
        self.words.resize(GROUPS, 0.0);
        let share = self.weight / groups.len() as f64;
        for &group in groups.iter() {
            self.words[group] += share;
            self.squares += share * share;
        }
        self.sum += self.weight;
    }

    pub(super) fn finish(self) -> Mix {
        if self.sum <= 0.0 {
            return Mix::default();
        }
        let words = self.words.iter().map(|weight| weight / self.sum).collect();
        Mix { sample_size: self.sum * self.sum / self.squares, words }
    }
}

#[cfg(test)]
mod tests {
    use clickvec::internals::rng;
    use rand::RngExt as _;

    use super::*;

    /// Returns the mix of `queries` queries of two words each, drawn from 2,000 words with frequencies as 1/rank, a share of
    /// which was replaced by new ones.
    fn drawn(seed: u64, queries: usize, new: f64) -> Mix {
        let mut rng = rng::stream(seed, "mix", 0);
        let mut mixing = Mixing::default();
        mixing.begin_day(1.0);
        let word = |rng: &mut dyn rand::Rng| {
            let rank = 2000f64.powf(rng.random::<f64>()) as u64;
            let is_new = (xxh3_64(&rank.to_le_bytes()) % 1000) < (new * 1000.0) as u64;
            format!("{}{rank}", if is_new { "new" } else { "old" })
        };
        (0..queries as u64).for_each(|query| mixing.add(query, &format!("{} {}", word(&mut rng), word(&mut rng))));
        mixing.finish()
    }

    #[test]
    fn samples_of_one_mix_do_not_drift_and_new_words_do() {
        let before = drawn(0, 4_000, 0.0);
        for seed in 1..=200 {
            let drift = drawn(seed, 1_000, 0.0).drift_from(&before).unwrap();
            assert!(!drift.exceeds(0.0), "{seed}: {drift:?}");
        }
        for seed in 201..=220 {
            let drift = drawn(seed, 1_000, 0.4).drift_from(&before).unwrap();
            assert!(drift.exceeds(0.1), "{seed}: {drift:?}");
        }
    }

    #[test]
    fn the_distance_beyond_chance_is_about_that_of_large_samples() {
        for (new, tolerance) in [(0.1, 0.05), (0.4, 0.04), (0.8, 0.04)] {
            let large = drawn(1, 400_000, new).drift_from(&drawn(2, 400_000, 0.0)).unwrap();
            let small: Vec<_> = (3..43)
                .map(|seed| drawn(seed, 1_000, new).drift_from(&drawn(seed + 100, 1_000, 0.0)).unwrap())
                .collect();
            let mean = small.iter().map(Drift::beyond_chance).sum::<f64>() / small.len() as f64;
            assert!((mean - large.distance).abs() < tolerance, "{new}: {mean:.3} for {:.3}", large.distance);
        }
    }

    #[test]
    fn a_query_counts_once_a_day_and_as_much_as_its_day() {
        let mut mixing = Mixing::default();
        mixing.begin_day(0.5);
        (0..3).for_each(|_| mixing.add(1, "red sofa"));
        mixing.begin_day(1.0);
        mixing.add(1, "red sofa");
        mixing.add(2, "lamp");
        mixing.add(3, "!");
        let mix = mixing.finish();
        assert!(mix.is_sound());
        assert!((mix.sample_size - 2.5 * 2.5 / (2.0 * 0.25_f64.powi(2) + 2.0 * 0.5_f64.powi(2) + 1.0)).abs() < 1e-12);
        let mut shares: Vec<f64> = mix.words.iter().copied().filter(|&share| share > 0.0).collect();
        shares.sort_by(f64::total_cmp);
        assert_eq!(shares, [0.3, 0.3, 0.4]);
    }

    #[test]
    fn without_a_query_there_is_no_drift() {
        let none = Mixing::default().finish();
        assert!(none.is_sound());
        assert_eq!(none.drift_from(&drawn(1, 10, 0.0)), None);
        assert_eq!(drawn(1, 10, 0.0).drift_from(&none), None);
    }
}

//! A test that may be looked at after every query: a confidence sequence for the mean difference of two systems.
//!
//! A t-test that is repeated after each query, until it says what one hopes for, errs far more often than in 5 % of cases. Here a
//! gambler bets on each difference that the mean is not m. If it is m, the game is fair, so the gambler's wealth reaches 1/α at any
//! time with a probability of at most α (Ville 1939), whatever the distribution. What is refuted when the wealth is that large, is so
//! for good reason, however often one looked. The bets are a mixture of constant ones: a universal portfolio (Cover, "Universal
//! portfolios", 1991; Orabona and Jun, "Tight concentrations and confidence sequences from the regret of universal portfolio", 2024;
//! Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024).

use serde::Serialize;

use super::SIGNIFICANT;

/// The number of constant bets in the mixture.
const BETS: usize = 4;
/// The number of halvings that find a bound of the interval.
const HALVINGS: usize = 40;
/// A smaller difference of nDCG hardly changes what users see.
const MATTERS: f64 = 0.02;

/// The finding from the differences so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// The mean is above 0.
    Better,
    /// The mean is below 0.
    Worse,
    /// The mean is nearer to 0 than a difference that matters.
    Alike,
    /// Nothing yet.
    Open,
}

/// The mean of paired differences between −1 and 1, with an interval that holds for all numbers of differences at once: with a
/// probability of at least 95 % the true mean is never outside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceSequence {
    /// The number of differences.
    pub queries: usize,
    /// Their mean.
    pub mean: f64,
    /// The least and the largest mean that are not refuted.
    pub interval: [f64; 2],
}

impl ConfidenceSequence {
    /// Returns the interval after these differences, each drawn independently.
    pub fn new(differences: &[f64]) -> ConfidenceSequence {
        let n = differences.len();
        let mean = if n == 0 { 0.0 } else { differences.iter().sum::<f64>() / n as f64 };
        let up = shares(differences, 1.0);
        let down = shares(differences, -1.0);
        let interval = [2.0 * least_mean(&up) - 1.0, 1.0 - 2.0 * least_mean(&down)];
        ConfidenceSequence { queries: n, mean, interval }
    }

    /// Returns the finding.
    pub fn finding(&self) -> Finding {
        match self.interval {
            [least, _] if least > 0.0 => Finding::Better,
            [_, most] if most < 0.0 => Finding::Worse,
            [least, most] if least > -MATTERS && most < MATTERS => Finding::Alike,
            _ => Finding::Open,
        }
    }

    /// Returns about how many differences more will show which mean is above 0, if they are like those so far. `None` if
    /// the mean is 0, or more than `most` are needed.
    pub fn needed(differences: &[f64], most: usize) -> Option<usize> {
        let n = differences.len();
        let sum: f64 = differences.iter().sum();
        let shares = shares(differences, if sum < 0.0 { -1.0 } else { 1.0 });
        let is_shown = |more: usize| is_refuted(&shares, 0.5, (n + more) as f64 / n as f64);
        (n > 0 && sum != 0.0 && is_shown(most)).then(|| {
            let (mut least, mut enough) = (0, most);
            while least < enough {
                let middle = least.midpoint(enough);
                if is_shown(middle) { enough = middle } else { least = middle + 1 }
            }
            enough
        })
    }
}

/// Maps differences between −1 and 1, or their opposites, to numbers between 0 and 1.
fn shares(differences: &[f64], sign: f64) -> Vec<f64> {
    differences.iter().map(|difference| (f64::midpoint(1.0, sign * difference)).clamp(0.0, 1.0)).collect()
}

/// Returns the least mean of numbers between 0 and 1 that is not refuted from below.
fn least_mean(shares: &[f64]) -> f64 {
    // The wealth falls with the mean, and is at most 1 at the mean of the numbers.
    let (mut refuted, mut open) = (0.0, shares.iter().sum::<f64>() / shares.len().max(1) as f64);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(refuted, open);
        if is_refuted(shares, middle, 1.0) { refuted = middle } else { open = middle }
    }
    refuted
}

/// Returns whether these numbers between 0 and 1, each seen so many `times`, refute that their mean is `mean` or less. This errs in
/// at most half of 5 % of cases; the other half is for the other side.
fn is_refuted(shares: &[f64], mean: f64, times: f64) -> bool {
    // After a number x, a bet of the share c makes 1 − c + c x / mean of each coin.
    let wealth = |bet: usize| {
        let bet = bet as f64 / BETS as f64;
        let logs: f64 = shares.iter().map(|share| (1.0 - bet + bet * share / mean).ln()).sum();
        (times * logs).exp()
    };
    let sum: f64 = (1..=BETS).map(wealth).sum();
    sum / BETS as f64 >= 2.0 / SIGNIFICANT
}

#[cfg(test)]
mod tests {
    use clickvec::internals::rng;
    use rand::RngExt as _;

    use super::*;

    /// Returns the number of differences after which each of many simulated people stop, if they look after every one.
    fn stops(trials: u64, most: usize, difference: impl Fn(f64, f64) -> f64) -> Vec<Option<usize>> {
        let stop = |trial| {
            let mut stream = rng::stream(1, "simulated differences", trial);
            let mut differences = Vec::new();
            (1..=most).find(|_| {
                differences.push(difference(stream.random(), stream.random()));
                [1.0, -1.0].iter().any(|&sign| is_refuted(&shares(&differences, sign), 0.5, 1.0))
            })
        };
        (0..trials).map(stop).collect()
    }

    #[test]
    fn equal_systems_are_rarely_told_apart_however_often_one_looks() {
        let trials = 400;
        let equal: [fn(f64, f64) -> f64; 4] = [
            |a, _| if a < 0.5 { -0.3 } else { 0.3 },
            |a, b| a - b,
            // Nearly always a little worse, and now and then much better.
            |a, _| if a < 0.9 { -0.1 } else { 0.9 },
            |a, b| if a < 0.8 { 0.0 } else { b - 0.5 },
        ];
        for difference in equal {
            let errors = stops(trials, 150, difference).iter().flatten().count();
            assert!(errors as f64 <= 0.05 * trials as f64, "{errors} of {trials}");
        }
    }

    #[test]
    fn a_better_system_is_found_soon() {
        // A mean of .1 with a standard deviation of .23, and of .05 with .14.
        let found = |most, difference: fn(f64, f64) -> f64| stops(100, most, difference).iter().flatten().count();
        let (large, small) = (found(100, |a, b| 0.1 + 0.57 * (a - b)), found(200, |a, b| 0.05 + 0.35 * (a - b)));
        assert!(large >= 80 && small >= 80, "{large} and {small} of 100");
    }

    #[test]
    fn the_interval_and_the_number_needed_agree_with_the_test() {
        let differences: Vec<f64> = (0..12).map(|number| 0.1 + f64::from(number % 5 - 2) / 8.0).collect();
        let short = ConfidenceSequence::new(&differences);
        assert_eq!((short.queries, short.finding()), (12, Finding::Open));
        assert!(short.interval[0] < short.mean && short.mean < short.interval[1], "{short:?}");
        let needed = ConfidenceSequence::needed(&differences, 1000).expect("a number");
        let more = |count: usize| differences.iter().cycle().take(count).copied().collect::<Vec<f64>>();
        let long = more(12 * (needed / 12 + 3));
        assert_eq!(ConfidenceSequence::new(&long).finding(), Finding::Better);
        let opposite: Vec<f64> = long.iter().map(|difference| -difference).collect();
        assert_eq!(ConfidenceSequence::new(&opposite).finding(), Finding::Worse);
        assert_eq!(ConfidenceSequence::needed(&differences, 3), None);
    }

    #[test]
    fn what_hardly_differs_is_alike_and_nothing_is_open() {
        assert_eq!(ConfidenceSequence::new(&[0.0; 400]).finding(), Finding::Alike);
        let nothing = ConfidenceSequence::new(&[]);
        assert_eq!((nothing.interval, nothing.finding()), ([-1.0, 1.0], Finding::Open));
        assert_eq!(ConfidenceSequence::needed(&[], 10), None);
        assert_eq!(ConfidenceSequence::new(&[1.0; 50]).interval[1], 1.0);
    }
}

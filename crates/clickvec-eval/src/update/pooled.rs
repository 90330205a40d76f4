//! A test of whether new models are better than the old one, which may be looked at after every day.
//!
//! It is a game of bets (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024). A player begins
//! with a capital of 1 and bets on each held-out query that the new model finds its clicked titles higher up. If new models are no
//! better on the mean, the capital is as likely to shrink as to grow, and the probability that it ever reaches 1/α is at most α
//! (Ville 1939). So it may be looked at every day, and the new model may be another one every day.

use serde::{Deserialize, Serialize};

/// The share of its capital that each player bets on a query with a difference of 1. Large bets detect large gains soon, small
/// ones detect small gains at last. Several players share the first capital.
const BETS: [f64; 5] = [0.75, 0.5, 0.25, 0.125, 0.0625];
/// The most that a player can have, so that numbers stay finite.
const MOST: f64 = 1e100;

/// The state of the test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PooledTest {
    /// The days that had a held-out query.
    pub days: u64,
    /// The held-out queries of these days.
    pub queries: u64,
    /// The sum of the differences, new − old, over these queries.
    pub gain: f64,
    /// Each player's capital from the stakes of all days.
    capital: [f64; BETS.len()],
}

impl Default for PooledTest {
    fn default() -> PooledTest {
        PooledTest { days: 0, queries: 0, gain: 0.0, capital: [0.0; BETS.len()] }
    }
}

impl PooledTest {
    /// Adds a day: the differences of its queries, new − old, each between −1 and 1. Neither model may have learnt these queries.
    ///
    /// On day n a player stakes 1 / (n · (n + 1)) of its first capital anew, so that gains that begin late are seen too. All stakes
    /// together are the first capital.
    pub fn add_day(&mut self, differences: &[f64]) {
        if differences.is_empty() {
            return;
        }
        self.days += 1;
        self.queries += differences.len() as u64;
        self.gain += differences.iter().sum::<f64>();
        let stake = 1.0 / (self.days as f64 * (self.days + 1) as f64);
        for (capital, bet) in self.capital.iter_mut().zip(BETS) {
            let grown = differences.iter().fold(*capital + stake, |capital, difference| {
                let factor = 1.0 + bet * difference.clamp(-1.0, 1.0);
                (capital * factor).min(MOST)
            });
            *capital = grown;
        }
    }

    /// Returns the capital of all players, with what is not staked yet: the evidence for a gain. At an error rate of α it must reach
    /// 1/α.
    pub fn evidence(&self) -> f64 {
        let staked = self.capital.iter().sum::<f64>() / BETS.len() as f64;
        staked + 1.0 / (self.days + 1) as f64
    }

    /// Returns the mean difference over all queries; `None` if there is none.
    pub fn mean_gain(&self) -> Option<f64> {
        (self.queries > 0).then(|| self.gain / self.queries as f64)
    }

    /// Returns whether the numbers can be those of a test.
    pub(super) fn is_sound(&self) -> bool {
        let is_capital = |capital: &f64| (0.0..=MOST).contains(capital);
        self.capital.iter().all(is_capital) && self.gain.abs() <= self.queries as f64 && self.days <= self.queries
    }
}

#[cfg(test)]
mod tests {
    use clickvec::internals::rng;
    use rand::RngExt as _;

    use super::*;
    use crate::paired_t_test;

    const ERROR_RATE: f64 = 0.05;
    const RUNS: u64 = 1_000;
    const DAYS: u64 = 60;
    const QUERIES: usize = 50;

    /// Draws the difference of a query as nDCG has them: most queries have none, and some a large one. The mean is `gain`.
    fn difference(rng: &mut impl rand::Rng, gain: f64) -> f64 {
        if rng.random_bool(0.5) {
            return 0.0;
        }
        let size = rng.random::<f64>().powi(2);
        let mean_size = 1.0 / 3.0;
        // Half of the queries have a difference.
        let is_gain = rng.random_bool((0.5 + gain / mean_size).clamp(0.0, 1.0));
        if is_gain { size } else { -size }
    }

    /// Returns the first day, from 1, on which the test shows a gain, if it is looked at every day; and whether a paired t-test of
    /// all days so far ever does.
    fn first_day(run: u64, gain: impl Fn(u64) -> f64) -> (Option<u64>, bool) {
        let mut rng = rng::stream(run, "pooled", 0);
        let (mut test, mut all, mut shown, mut naive) = (PooledTest::default(), Vec::new(), None, false);
        for day in 1..=DAYS {
            let differences: Vec<f64> = (0..QUERIES).map(|_| difference(&mut rng, gain(day))).collect();
            test.add_day(&differences);
            all.extend(differences);
            let t_test = paired_t_test(&all, &vec![0.0; all.len()]).unwrap();
            naive |= t_test.difference > 0.0 && t_test.evidence() < ERROR_RATE;
            if shown.is_none() && test.evidence() >= 1.0 / ERROR_RATE {
                shown = Some(day);
            }
        }
        (shown, naive)
    }

    #[test]
    fn the_error_rate_holds_although_it_is_looked_at_every_day() {
        let runs: Vec<_> = (0..RUNS).map(|run| first_day(run, |_| 0.0)).collect();
        let wrong = runs.iter().filter(|(shown, _)| shown.is_some()).count();
        let naive = runs.iter().filter(|(_, naive)| *naive).count();
        println!("no gain: shown in {wrong} of {RUNS} runs, by daily t-tests in {naive}");
        assert!(wrong as f64 <= ERROR_RATE * RUNS as f64, "{wrong} of {RUNS}");
        assert!(naive as f64 > 2.0 * ERROR_RATE * RUNS as f64, "{naive} of {RUNS}: the test would not be needed");
        let worse = (0..RUNS).filter(|&run| first_day(run, |_| -0.01).0.is_some()).count();
        assert!(worse as f64 <= ERROR_RATE * RUNS as f64 / 2.0, "{worse} of {RUNS}");
    }

    #[test]
    fn a_gain_is_shown_soon_and_a_late_one_too() {
        let median = |gain: &dyn Fn(u64) -> f64| {
            let mut days: Vec<u64> = (0..200).map(|run| first_day(run, gain).0.unwrap_or(u64::MAX)).collect();
            days.sort_unstable();
            days[days.len() / 2]
        };
        let [large, middle, small] = [0.1, 0.05, 0.02].map(|gain| median(&|_| gain));
        let late = median(&|day| if day <= 20 { 0.0 } else { 0.05 });
        println!("half of the gains are shown after so many days: {large}, {middle}, {small}; after day 20: {late}");
        assert!(large <= 3 && middle <= 10 && small <= 45, "{large} {middle} {small}");
        assert!(late <= 20 + 15, "{late}");
    }

    #[test]
    fn a_day_without_queries_is_no_day_and_numbers_stay_finite() {
        let mut test = PooledTest::default();
        test.add_day(&[]);
        assert_eq!((test.clone(), test.evidence(), test.mean_gain()), (PooledTest::default(), 1.0, None));
        // Half of the capital is staked on the first day.
        test.add_day(&[0.0]);
        assert_eq!((test.evidence(), test.mean_gain()), (1.0, Some(0.0)));
        test.add_day(&[1.0; 5_000]);
        assert!(test.evidence() > 1e90 && test.evidence().is_finite() && test.is_sound());
        test.add_day(&[-1.0; 5_000]);
        assert!(test.evidence() > 0.0 && test.is_sound(), "{test:?}");
    }
}

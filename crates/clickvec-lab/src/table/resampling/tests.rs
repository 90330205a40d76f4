//! Tests and intervals compared with closed forms, with scipy, and with simulated chance.

use rand::RngExt as _;

use super::*;
use clickvec::internals::rng::stream;
use clickvec_eval::{holm, paired_t_test};

fn assert_relative(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() < tolerance, "expected {expected:e}, found {found:e}");
}

/// Returns two lists of numbers in [0, 1) without a pattern.
fn lists(n: u32, up: f64) -> (Vec<f64>, Vec<f64>) {
    let fraction = |i: u32, step: u32, first: u32, prime: u32| f64::from((i * step + first) % prime) / f64::from(prime);
    ((0..n).map(|i| fraction(i, 37, 11, 101) + up).collect(), (0..n).map(|i| fraction(i, 53, 29, 97)).collect())
}

fn randomized(a: &[f64], b: &[f64], samples: u32) -> RandomizationTest {
    randomization_test(a, b, &Resampling { samples, seed: 1 }).unwrap()
}

#[test]
fn a_hand_computed_randomization() {
    // ±1 ±2 ±3: of eight sums, only 6 and −6 are as far from 0 as 6, and 4 and −4 are as far as 4.
    let test = randomized(&[1.0, 2.0, 3.0], &[0.0; 3], 1);
    assert_eq!(test, RandomizationTest { difference: 2.0, p: 2.0 / 8.0, ways: 8, exact: true });
    assert_eq!(randomized(&[-1.0, 2.0, 3.0], &[0.0; 3], 1).p, 4.0 / 8.0);
    // Pairs that do not differ change only the mean.
    let test = randomized(&[1.0, 7.0, 2.0, 3.0, 5.0], &[0.0, 7.0, 0.0, 0.0, 5.0], 1);
    assert_eq!((test.difference, test.p, test.ways), (6.0 / 5.0, 0.25, 8));
    // Sums that are equal up to rounding.
    assert_eq!(randomized(&[0.1, 0.2, 0.3, -0.6], &[0.0; 4], 1).p, 1.0);
    assert_eq!(randomized(&[0.3, 0.1, 0.2], &[0.0; 3], 1), randomized(&[0.1, 0.2, 0.3], &[0.0; 3], 9));
    for nothing in [&[][..], &[0.5], &[0.25; 30]] {
        let test = randomized(nothing, nothing, 9);
        assert_eq!(test, RandomizationTest { difference: 0.0, p: 1.0, ways: 1, exact: true });
    }
    assert!(randomization_test(&[1.0], &[], &Resampling::default()).is_err());
}

/// `scipy.stats.permutation_test` with `permutation_type='samples'`, scipy 1.17.1: all 4096 assignments, and 2
/// million.
#[test]
fn randomization_is_scipys() {
    for (up, ways) in [(0.0, 3814.0), (0.25, 516.0), (0.5, 24.0)] {
        let (a, b) = lists(12, up);
        assert_eq!(randomized(&a, &b, 1).p, ways / 4096.0);
    }
    let (a, b) = lists(60, 0.0625);
    let test = randomized(&a, &b, 100_000);
    assert!(!test.exact && test.ways == 100_000);
    assert!((test.p - 0.428_024_785_987_607).abs() < 0.006, "{test:?}");
}

#[test]
fn random_ways_agree_with_all_ways() {
    // With 15 pairs all assignments are tried. Two more that hardly differ make them random.
    let (mut a, mut b) = lists(15, 0.2);
    let all = randomized(&a, &b, 1);
    a.extend([1e-9, 0.0]);
    b.extend([0.0, 1e-9]);
    let random = randomized(&a, &b, 200_000);
    assert!(all.exact && !random.exact);
    // Allow four standard errors.
    let error = 4.0 * (all.p * (1.0 - all.p) / 2e5).sqrt();
    assert!((all.p - random.p).abs() < error, "{all:?} {random:?}");
    // No assignment reaches this difference: p is as small as this number of assignments can show, but not 0.
    let test = randomized(&[1.0; 60], &[0.0; 60], 999);
    assert_eq!((test.p, test.ways), (1.0 / 1000.0, 999));
    // The result depends on the seed and not on the threads.
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let (a, b) = lists(60, 0.0);
    let on = |threads| {
        let resampling = Resampling { samples: 5000, seed: 1 };
        let interval = || bootstrap_difference(&a, &b, 0.9, &resampling).unwrap();
        pool(threads).install(|| (randomized(&a, &b, 5000), interval()))
    };
    assert_eq!(on(1), on(3));
    let other = randomization_test(&a, &b, &Resampling { samples: 5000, seed: 2 }).unwrap();
    assert_ne!(on(1).0.p, other.p);
}

/// `scipy.stats.bootstrap` with `method='BCa'` and 400,000 resamples, scipy 1.17.1, with two seeds: 0.1398 and 0.1400,
/// 0.2763 and 0.2761. Plain percentiles would give 0.1353 and 0.2693.
#[test]
fn the_bootstrap_is_scipys() {
    let values: Vec<f64> = lists(60, 0.0).0.iter().map(|a| a.powi(4)).collect();
    let found = bootstrap_mean(&values, 0.95, &Resampling { samples: 100_000, seed: 1 });
    assert_relative(found.mean, 0.199_019_707_954_677_83, 1e-12);
    assert!((found.low - 0.1399).abs() < 7e-4 && (found.high - 0.2762).abs() < 7e-4, "{found:?}");
}

/// `scipy.stats.bootstrap` with `method='BCa'` and 100,000 resamples, scipy 1.17.1. Half of the means that are equal to the mean count
/// as below it.
#[test]
fn ties_with_the_mean_count_half() {
    for (ones, all, low, high) in
        [(2, 5, 0.0, 0.8), (3, 5, 0.2, 1.0), (1, 10, 0.0, 0.5), (9, 10, 0.5, 1.0), (7, 10, 0.4, 0.9)]
    {
        let values: Vec<f64> = (0..all).map(|i| f64::from(u8::from(i < ones))).collect();
        let found = bootstrap_mean(&values, 0.95, &Resampling { samples: 100_000, seed: 1 });
        assert!((found.low - low).abs() < 1e-9 && (found.high - high).abs() < 1e-9, "{ones} of {all}: {found:?}");
    }
}

#[test]
fn intervals_without_variance_are_points() {
    let interval = |values: &[f64]| {
        let interval = bootstrap_mean(values, 0.95, &Resampling { samples: 10, seed: 1 });
        (interval.mean, interval.low, interval.high)
    };
    assert_eq!(interval(&[]), (0.0, 0.0, 0.0));
    assert_eq!(interval(&[0.1]), (0.1, 0.1, 0.1));
    assert_eq!(interval(&[0.1; 7]), (0.1, 0.1, 0.1));
    // With any small number of samples, the numbers are finite and in order.
    for samples in 1..20 {
        let values = [0.0, 0.0, 0.0, 1.0];
        let interval = bootstrap_mean(&values, 0.95, &Resampling { samples, seed: 5 });
        assert!(0.0 <= interval.low && interval.low <= interval.high && interval.high <= 1.0, "{interval:?}");
    }
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn nine_intervals_of_ten_hold_the_true_mean() {
    let mut random = stream(7, "coverage", 0);
    let mut held = 0;
    for seed in 0..2000 {
        // Skewed values: the mean of u² is a third.
        let values: Vec<f64> = (0..40).map(|_| random.random::<f64>().powi(2)).collect();
        let interval = bootstrap_mean(&values, 0.9, &Resampling { samples: 500, seed });
        held += u32::from(interval.low <= 1.0 / 3.0 && 1.0 / 3.0 <= interval.high);
    }
    // The bootstrap interval is a little narrow with 40 values. Three standard errors are 2 %.
    assert!((1740..=1850).contains(&held), "{held} of 2000");
}

/// Two systems that differ only by noise: each test calls 5 % of such pairs different, and with Holm's correction 5 %
/// of families of ten tests have a test that does.
#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn without_a_difference_one_test_in_twenty_finds_one() {
    const REPLICATIONS: u64 = 10_000;
    let (mut by_t, mut by_randomization, mut by_holm) = (0, 0, 0);
    let mut family = Vec::new();
    for seed in 0..REPLICATIONS {
        let mut random = stream(seed, "null", 0);
        // The difficulty of a query is the same for both systems. Their noise is independent, skewed and has ties,
        // like NDCG.
        let mut pair = || {
            let difficulty: f64 = random.random();
            let mut noisy = || (difficulty + random.random::<f64>().powi(3)).min(1.0);
            (noisy(), noisy())
        };
        let (a, b): (Vec<f64>, Vec<f64>) = (0..50).map(|_| pair()).unzip();
        let p = paired_t_test(&a, &b).unwrap().p;
        by_t += u32::from(p < 0.05);
        let resampling = Resampling { samples: 999, seed };
        by_randomization += u32::from(randomization_test(&a, &b, &resampling).unwrap().p <= 0.05);
        family.push(p);
        if family.len() == 10 {
            by_holm += u32::from(holm(&family).iter().any(|&p| p < 0.05));
            family.clear();
        }
    }
    let percent = |count: u32, of: u64| 100.0 * f64::from(count) / of as f64;
    let found = [percent(by_t, REPLICATIONS), percent(by_randomization, REPLICATIONS)];
    assert!(found.iter().all(|percent| (4.0..=6.0).contains(percent)), "{found:?} %");
    let families = percent(by_holm, REPLICATIONS / 10);
    // Allow three standard errors of 1000 families.
    assert!((2.9..=7.1).contains(&families), "{families} %");
}

//! The paired randomisation test (Fisher 1935; in retrieval: Smucker, Allan, Carterette 2007).

use rand::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::Resampling;
use clickvec::internals::rng::stream;
use clickvec_eval::internals::paired_differences;
use clickvec_tables::Result;

/// The largest number of differing pairs for which all 2ⁿ assignments are tried.
const EXACT_PAIRS: usize = 16;
/// The number of random assignments in a task.
const TASK: u32 = 1024;
/// The number of differences that one look-up sums.
const GROUP: usize = 8;

/// The result of a paired two-sided randomisation test of the values a − b.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomizationTest {
    /// The mean of a − b.
    pub difference: f64,
    /// The probability of a |difference| at least this large if the two values of each pair were assigned at random.
    pub p: f64,
    /// The number of assignments that were tried.
    pub ways: u64,
    /// Whether all assignments were tried.
    pub exact: bool,
}

/// Runs the paired two-sided randomisation test of `a` against `b`, query by query. It assumes nothing about the distribution of
/// the differences.
///
/// If the systems do not differ, the two values of each pair could as well be swapped. p is the share of all
/// assignments whose mean difference is at least as far from 0 as the observed one. Pairs that do not differ change
/// nothing. If at most 16 pairs differ, all assignments are tried. Otherwise `resampling` gives the number m of random
/// assignments, and p = (b + 1) / (m + 1) if b of them are as extreme, so p is never smaller than m assignments can
/// show. Runs on rayon's current threads, whose number does not change the result.
///
/// # Errors
///
/// `ErrorKind::Mismatch` if `a` and `b` have different lengths.
pub(in crate::table) fn randomization_test(a: &[f64], b: &[f64], resampling: &Resampling) -> Result<RandomizationTest> {
    let mut differences = paired_differences(a, b)?;
    let n = differences.len().max(1) as f64;
    differences.retain(|&difference| difference != 0.0);
    let sum: f64 = differences.iter().sum();
    // Assignments with the same sum may be rounded differently.
    let rounding = 1e-12 * differences.iter().map(|difference| difference.abs()).sum::<f64>();
    let far = sum.abs() - rounding;
    let exact = differences.len() <= EXACT_PAIRS;
    let (p, ways) = if exact {
        let sums = all_sums(&differences);
        let as_far = sums.iter().filter(|sum| sum.abs() >= far).count();
        (as_far as f64 / sums.len() as f64, sums.len() as u64)
    } else {
        let as_far = count_random(&differences, far, resampling);
        ((as_far + 1) as f64 / (f64::from(resampling.samples) + 1.0), u64::from(resampling.samples))
    };
    Ok(RandomizationTest { difference: sum / n, p, ways, exact })
}

/// Returns the sum of ±d for every choice of signs.
fn all_sums(differences: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for difference in differences {
        let other: Vec<f64> = sums.iter().map(|sum| sum - difference).collect();
        sums.iter_mut().for_each(|sum| *sum += difference);
        sums.extend(other);
    }
    sums
}

/// Counts the random assignments whose sum is at least `far` from 0.
fn count_random(differences: &[f64], far: f64, resampling: &Resampling) -> u64 {
    // The sums for all signs of eight differences at a time, so that a random byte picks one.
    let groups: Vec<Vec<f64>> = differences.chunks(GROUP).map(all_sums).collect();
    let count = |task: u32| {
        let mut random = stream(resampling.seed, "randomization", u64::from(task));
        let ways = TASK.min(resampling.samples - task * TASK);
        (0..ways).filter(|_| random_sum(&groups, &mut random).abs() >= far).count() as u64
    };
    (0..resampling.samples.div_ceil(TASK)).into_par_iter().map(count).sum()
}

fn random_sum(groups: &[Vec<f64>], random: &mut Xoshiro256PlusPlus) -> f64 {
    let of_eight = |groups: &[Vec<f64>]| -> f64 {
        let bytes = random.next_u64().to_le_bytes();
        // The last group may be smaller. Its number of sums is a power of two.
        groups.iter().zip(bytes).map(|(sums, byte)| sums[usize::from(byte) & (sums.len() - 1)]).sum()
    };
    groups.chunks(8).map(of_eight).sum()
}

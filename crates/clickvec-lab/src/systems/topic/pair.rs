//! The E-step of a pair, in which a query and its clicked title share their topics.
//!
//! The constraint is that each topic has the same fraction of the words on both sides: Σ_{w∈Q} q_w(z) / |Q| = Σ_{w∈D}
//! q_w(z) / |D|. Of all q that obey it, the one closest to the posterior P(z|w) in KL(q‖P) is q_w(z) ∝ P(w|z) θ_z
//! e^(−λ_z/|Q|) for the words of Q, and with e^(λ_z/|D|) for those of D (Ganchev, Graça, Gillenwater, Taskar,
//! "Posterior regularization for structured latent variable models", 2010), where λ minimises
//!
//! Σ_{w∈Q} ln Σ_z P(w|z) θ_z e^(−λ_z/|Q|) + Σ_{w∈D} ln Σ_z P(w|z) θ_z e^(λ_z/|D|).
//!
//! Its minimum is the log likelihood minus that KL, which EM raises. Let a and b be the current fractions on the two
//! sides. A change of λ by δ changes the function by at most |Q| ln Σ_z a_z e^(−δ_z/|Q|) + |D| ln Σ_z b_z e^(δ_z/|D|),
//! because a mean of logarithms is at most the logarithm of the mean. This is smallest at δ_z = |Q||D| / (|Q| + |D|) ·
//! ln(a_z / b_z), where it is below 0 by Hölder's inequality, unless a = b. So every step goes down, and no step size
//! needs to be chosen.

use clickvec::internals::math::activation::{exp_slice, ln_slice};
use clickvec::internals::math::vector::{add_scaled, dot};

/// The largest number of changes of λ in an iteration of EM. The next iteration continues from there.
const MOVES: usize = 20;
/// λ is final once the fractions differ by no more than this, summed over the topics.
const GAP: f32 = 1e-3;
/// A limit on the exponents, so that products of e^60 with probabilities fit 32 bits.
const STEEPEST: f32 = 60.0;

/// The change of a pair's topics by its two sides.
pub(super) struct Tilt<'a> {
    /// λ, by topic.
    pub(super) lambda: &'a mut [f32],
    /// θ_z e^(−λ_z/|Q|) and θ_z e^(λ_z/|D|).
    pub(super) theta: [&'a mut [f32]; 2],
}

/// Working memory, reused from text to text.
pub(super) struct Scratch {
    fractions: [Vec<f32>; 2],
    /// P(w|D) of each word.
    probabilities: Vec<f32>,
}

impl Scratch {
    pub(super) fn new(topics: usize) -> Scratch {
        Scratch { fractions: [vec![0.0; topics], vec![0.0; topics]], probabilities: Vec::new() }
    }
}

/// Writes the number of words of each topic by P(z|w) to `counts`. Returns the log likelihood.
pub(super) fn single(words: &[u32], table: &[f32], theta: &[f32], counts: &mut [f32], scratch: &mut Scratch) -> f64 {
    scratch.probabilities.clear();
    expect(words, table, theta, counts, &mut scratch.probabilities);
    sum_of_logarithms(&scratch.probabilities)
}

/// Runs [`single`] for a pair, under the constraint. Returns the log likelihood minus the KL of the constraint.
pub(super) fn pair(
    words: [&[u32]; 2],
    tables: [&[f32]; 2],
    theta: &[f32],
    tilt: Tilt<'_>,
    counts: &mut [f32],
    scratch: &mut Scratch,
) -> f64 {
    let Scratch { fractions: [a, b], probabilities } = scratch;
    let lengths = words.map(|words| words.len() as f32);
    let rate = lengths[0] * lengths[1] / (lengths[0] + lengths[1]);
    for moved in 0..=MOVES {
        probabilities.clear();
        let sides = [(&mut *a, -1.0 / lengths[0]), (&mut *b, 1.0 / lengths[1])];
        for (side, (fractions, factor)) in sides.into_iter().enumerate() {
            let tilted = &mut *tilt.theta[side];
            let exponents = tilted.iter_mut().zip(&*tilt.lambda);
            exponents.for_each(|(out, lambda)| *out = (lambda * factor).clamp(-STEEPEST, STEEPEST));
            exp_slice(tilted);
            tilted.iter_mut().zip(theta).for_each(|(tilted, theta)| *tilted *= theta);
            expect(words[side], tables[side], tilted, fractions, probabilities);
            fractions.iter_mut().for_each(|fraction| *fraction /= lengths[side]);
        }
        let gap: f32 = a.iter().zip(&*b).map(|(a, b)| (a - b).abs()).sum();
        if gap <= GAP || moved == MOVES {
            break;
        }
        ln_slice(a);
        ln_slice(b);
        let fractions = a.iter().zip(&*b);
        tilt.lambda.iter_mut().zip(fractions).for_each(|(lambda, (a, b))| *lambda += rate * (a - b));
    }
    let fractions = a.iter().zip(&*b);
    counts.iter_mut().zip(fractions).for_each(|(count, (a, b))| *count = lengths[0] * a + lengths[1] * b);
    sum_of_logarithms(probabilities)
}

/// Computes Σ_w P(z|w) for each topic, and appends each P(w|D) to `probabilities`.
fn expect(words: &[u32], table: &[f32], theta: &[f32], counts: &mut [f32], probabilities: &mut Vec<f32>) {
    counts.fill(0.0);
    for &row in words {
        let row = &table[row as usize * theta.len()..][..theta.len()];
        let p = dot(row, theta);
        probabilities.push(p);
        // A word that none of the remaining topics has says nothing.
        if p > 0.0 {
            add_scaled(counts, 1.0 / p, row);
        }
    }
    counts.iter_mut().zip(theta).for_each(|(count, theta)| *count *= theta);
}

/// Returns Σ ln xᵢ, where 0 counts as the smallest normal number.
pub(super) fn sum_of_logarithms(values: &[f32]) -> f64 {
    // The product of eight of the smallest numbers still fits 64 bits.
    let product = |part: &[f32]| part.iter().map(|&x| f64::from(x.max(f32::MIN_POSITIVE))).product::<f64>().ln();
    values.chunks(8).map(product).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const THETA: [f32; 3] = [0.5, 0.3, 0.2];
    /// P(w|z) of two words of queries and three of titles, [words, 3].
    const QUERY: [f32; 6] = [0.7, 0.2, 0.5, 0.3, 0.8, 0.5];
    const TITLE: [f32; 9] = [0.1, 0.6, 0.3, 0.8, 0.2, 0.3, 0.1, 0.2, 0.4];

    /// Returns P(w, z) tilted by λ·factor.
    fn tilted(table: &[f32], row: u32, lambda: &[f32; 3], factor: f64) -> [f64; 3] {
        std::array::from_fn(|z| {
            let tilt = (f64::from(lambda[z]) * factor).exp();
            f64::from(table[row as usize * 3 + z]) * f64::from(THETA[z]) * tilt
        })
    }

    #[test]
    fn the_sides_of_a_pair_agree_at_the_least_cost() {
        for words in [[&[0u32][..], &[0, 1, 2, 2]], [&[0, 1, 1], &[1]], [&[1], &[0]]] {
            let (mut lambda, mut theta) = ([0.0; 3], [[0.0; 3]; 2]);
            let [a, b] = &mut theta;
            let (mut counts, mut scratch) = ([0.0; 3], Scratch::new(3));
            let mut value = f64::INFINITY;
            // Like iterations of EM, each continues from the last, and the value never rises.
            for _ in 0..30 {
                let tilt = Tilt { lambda: &mut lambda, theta: [a, b] };
                let next = pair(words, [&QUERY, &TITLE], &THETA, tilt, &mut counts, &mut scratch);
                assert!(next <= value + 1e-5, "{value}, then {next}");
                value = next;
            }
            let factors = [-1.0 / words[0].len() as f64, 1.0 / words[1].len() as f64];
            let rows = || words.into_iter().zip([&QUERY[..], &TITLE]).zip(factors);
            let dual = |lambda: &[f32; 3]| -> f64 {
                let side = |((words, table), factor): ((&[u32], &[f32]), f64)| {
                    words.iter().map(|&row| tilted(table, row, lambda, factor).iter().sum::<f64>().ln()).sum::<f64>()
                };
                rows().map(side).sum()
            };
            assert!((dual(&lambda) - value).abs() < 1e-5, "{words:?}: {value}");
            for (z, step) in [(0, 0.3), (1, 0.3), (2, 0.3), (0, -0.3), (1, -0.3), (2, -0.3)] {
                let mut other = lambda;
                other[z] += step;
                assert!(dual(&other) > value - 1e-4, "{words:?}: λ {z} moved by {step} is lower");
            }
            // The value is the log likelihood minus KL(q‖P) = Σ q (ln q − ln P(z|w)), and the fractions are those of
            // q.
            let (mut primal, mut fractions) = (0.0, [[0.0; 3]; 2]);
            for (side, ((words, table), factor)) in rows().enumerate() {
                for &row in words {
                    let (q, p) = (tilted(table, row, &lambda, factor), tilted(table, row, &lambda, 0.0));
                    let (q_sum, p_sum) = (q.iter().sum::<f64>(), p.iter().sum::<f64>());
                    primal += p_sum.ln();
                    for z in 0..3 {
                        let q = q[z] / q_sum;
                        primal -= q * (q.ln() - (p[z] / p_sum).ln());
                        fractions[side][z] += q / words.len() as f64;
                    }
                }
            }
            assert!((primal - value).abs() < 5e-3, "{words:?}: {primal}, {value}");
            for z in 0..3 {
                assert!((fractions[0][z] - fractions[1][z]).abs() < 2e-3, "{words:?}: {fractions:?}");
                let both = (words[0].len() + words[1].len()) as f64;
                assert!((f64::from(counts[z]) - both * fractions[0][z]).abs() < 1e-2, "{words:?}: {counts:?}");
            }
        }
    }

    #[test]
    fn sums_of_logarithms_are_sums_of_logarithms() {
        let values: Vec<f32> = (1..100).map(|i| 1.0 / (i * i) as f32).collect();
        let expected: f64 = values.iter().map(|&x| f64::from(x).ln()).sum();
        assert!((sum_of_logarithms(&values) - expected).abs() < 1e-9);
        let smallest = f64::from(f32::MIN_POSITIVE).ln();
        assert!((sum_of_logarithms(&[0.0; 16]) - 16.0 * smallest).abs() < 1e-9);
        assert_eq!(sum_of_logarithms(&[]), 0.0);
    }
}

//! Dot products that decide the order of results: the same bits at every level.

use super::level::by_level;

/// The number of independent partial sums: enough to hide the latency of additions, and one AVX-512 register.
const LANES: usize = 16;

/// Products are rounded before they are added, because not every level could fuse the two. The partial sums are added
/// in a fixed order.
#[inline(always)]
fn score_body<const FMA: bool>(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    let ((a_blocks, a_rest), (b_blocks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    // `+ 0.0`, because an empty sum is -0.0, which would come after 0.0 in the order of scores. A tree of halves
    // instead of this plain sum would make the compiler shuffle inside the loop, three times slower.
    sums.iter().sum::<f32>() + rest + 0.0
}

by_level! {
    /// Returns Σ aᵢ·bᵢ.
    pub fn score(a: &[f32], b: &[f32]) -> f32 = score_body
}

#[inline(always)]
fn scores_body<const FMA: bool>(query: &[f32], rows: &[f32], scores: &mut [f32]) {
    for (row, score) in rows.chunks_exact(query.len()).zip(scores) {
        *score = score_body::<FMA>(query, row);
    }
}

by_level! {
    /// Returns the [`score`] of each of `rows`, [scores, query].
    pub fn scores(query: &[f32], rows: &[f32], scores: &mut [f32]) = scores_body
}

#[inline(always)]
fn any_above_body<const FMA: bool>(values: &[f32], thresholds: &[f32]) -> bool {
    // No early exit: most calls find nothing, and a loop without branches is vectorised.
    values.iter().zip(thresholds).fold(false, |any, (value, threshold)| any | (value > threshold))
}

by_level! {
    /// Returns whether any value is above its threshold.
    pub(crate) fn any_above(values: &[f32], thresholds: &[f32]) -> bool = any_above_body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_of_every_length() {
        for length in 0..70 {
            let a: Vec<f32> = (0..length).map(|i| i as f32).collect();
            let b: Vec<f32> = (0..length).map(|i| (i % 5) as f32 - 2.0).collect();
            // Small integers are exact in any order.
            assert_eq!(score(&a, &b), a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>());
        }
        assert!(score(&[], &[]).is_sign_positive());
    }

    #[test]
    fn many_rows_score_what_each_does() {
        for dimension in [1, 16, 17, 96, 97] {
            let rows: Vec<f32> = (0..9 * dimension).map(|i| (i as f32 * 0.7).sin()).collect();
            let query: Vec<f32> = (0..dimension).map(|i| (i as f32 * 1.3).cos()).collect();
            let mut found = [0.0; 9];
            scores(&query, &rows, &mut found);
            for (row, found) in rows.chunks_exact(dimension).zip(found) {
                assert_eq!(score(&query, row).to_bits(), found.to_bits());
                // Plain code of the same body must give the same bits.
                assert_eq!(score_body::<false>(&query, row).to_bits(), found.to_bits());
            }
        }
    }

    #[test]
    fn one_value_above_its_threshold_is_seen() {
        let mut values = [1.0; 37];
        assert!(!any_above(&values, &[1.0; 37]));
        values[36] = 1.5;
        assert!(any_above(&values, &[1.0; 37]) && !any_above(&values, &[f32::INFINITY; 37]));
    }
}

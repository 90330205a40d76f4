//! Correction for many tests (Holm, "A simple sequentially rejective multiple test procedure", 1979).

/// Adjusts the p-values of a family of tests. If those below α are called significant, the probability of any error among them is
/// at most α, however the tests depend on each other.
///
/// The k-th smallest of m p-values is multiplied by m − k + 1. No adjusted value is smaller than the one before it, or
/// larger than 1. A NaN counts as 1.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let p: Vec<f64> = p.iter().map(|&p| if p.is_nan() { 1.0 } else { p }).collect();
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut largest = 0.0f64;
    for (rank, &test) in order.iter().enumerate() {
        largest = largest.max((p.len() - rank) as f64 * p[test]).min(1.0);
        adjusted[test] = largest;
    }
    adjusted
}

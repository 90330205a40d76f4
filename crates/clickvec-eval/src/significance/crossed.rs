//! A test with queries and seeds as random samples.

use super::t_test::two_sided;
use super::{PairedTest, ROUNDING};

/// Tests whether the mean of `differences`, of shape seeds × queries, is 0 for other queries and other seeds. A test over queries answers
/// for other queries and these seeds.
///
/// Queries and seeds are crossed random effects (Clark, "The language-as-fixed-effect fallacy", 1973): with the mean squares of queries,
/// seeds and the rest, the variance of the mean is (MS_q + MS_s − MS_r) / (queries · seeds), and at least what either of the two alone
/// says. `None` with fewer than two queries or seeds, or if all differences are equal.
pub fn crossed_test(differences: &[Vec<f64>]) -> Option<PairedTest> {
    let (seeds, queries) = (differences.len(), differences.first()?.len());
    if seeds < 2 || queries < 2 {
        return None;
    }
    let (s, q) = (seeds as f64, queries as f64);
    let by_seed: Vec<f64> = differences.iter().map(|row| row.iter().sum::<f64>() / q).collect();
    let by_query: Vec<f64> =
        (0..queries).map(|query| differences.iter().map(|row| row[query]).sum::<f64>() / s).collect();
    let mean = by_seed.iter().sum::<f64>() / s;
    let squares = |means: &[f64]| means.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let of_queries = s * squares(&by_query) / (q - 1.0);
    let of_seeds = q * squares(&by_seed) / (s - 1.0);
    let rest: f64 = differences
        .iter()
        .zip(&by_seed)
        .flat_map(|(row, seed)| row.iter().zip(&by_query).map(move |(value, query)| value - seed - query + mean))
        .map(|rest| rest * rest)
        .sum();
    let rest = rest / ((q - 1.0) * (s - 1.0));
    let both = of_queries + of_seeds - rest;
    let variance = both.max(of_queries).max(of_seeds);
    if variance.sqrt() <= ROUNDING * mean.abs() {
        return None;
    }
    let degrees_of_freedom = match variance {
        _ if variance == both => {
            let parts = [(of_queries, q - 1.0), (of_seeds, s - 1.0), (rest, (q - 1.0) * (s - 1.0))];
            both.powi(2) / parts.iter().map(|(square, freedom)| square.powi(2) / freedom).sum::<f64>()
        }
        _ if variance == of_queries => q - 1.0,
        _ => s - 1.0,
    };
    let standard_error = (variance / (q * s)).sqrt();
    let t = mean / standard_error;
    let differing = (0..queries).filter(|&query| differences.iter().any(|row| row[query] != 0.0)).count();
    let p = two_sided(t, degrees_of_freedom);
    Some(PairedTest { difference: mean, t, p, degrees_of_freedom, standard_error, differing })
}

#[cfg(test)]
mod tests {
    use clickvec::internals::rng;
    use rand::RngExt as _;

    use super::*;
    use crate::paired_t_test;

    #[test]
    fn a_hand_computed_table() {
        // Means by query .15, .25, .45, by seed .2, .366…; mean squares .046, .0416…, .0016….
        let test = crossed_test(&[vec![0.1, 0.15, 0.35], vec![0.2, 0.35, 0.55]]).unwrap();
        let (of_queries, of_seeds, rest) = (0.14 / 3.0, 0.125 / 3.0, 0.005 / 3.0);
        let variance: f64 = of_queries + of_seeds - rest;
        assert!((test.difference - 0.85 / 3.0).abs() < 1e-12);
        assert!((test.t - test.difference / (variance / 6.0).sqrt()).abs() < 1e-9, "{test:?}");
        let freedom = variance.powi(2) / (of_queries.powi(2) / 2.0 + of_seeds.powi(2) + rest.powi(2) / 2.0);
        assert!((test.degrees_of_freedom - freedom).abs() < 1e-9, "{test:?}");
    }

    #[test]
    fn without_scatter_between_seeds_it_is_the_test_over_queries() {
        let row = vec![0.1, 0.3, -0.1, 0.2];
        let test = crossed_test(&[row.clone(), row.clone(), row.clone()]).unwrap();
        let over_queries = paired_t_test(&row, &[0.0; 4]).unwrap();
        assert!((test.t - over_queries.t).abs() < 1e-9 && (test.p - over_queries.p).abs() < 1e-9, "{test:?}");
        assert_eq!(crossed_test(std::slice::from_ref(&row)), None);
        assert_eq!([0.0, 0.1].map(|same| crossed_test(&[vec![same; 3], vec![same; 3]])), [None, None]);
        assert_eq!(crossed_test(&[]), None);
    }

    #[test]
    fn equal_networks_whose_seeds_differ_are_rarely_told_apart() {
        // A normal number, nearly.
        let normal = |rng: &mut dyn rand::Rng| (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let (mut crossed, mut over_queries) = (0, 0);
        for run in 0..400 {
            let mut rng = rng::stream(run, "crossed", 0);
            let queries: Vec<f64> = (0..100).map(|_| 0.1 * normal(&mut rng)).collect();
            let table: Vec<Vec<f64>> = (0..5)
                .map(|_| {
                    let seed = 0.02 * normal(&mut rng);
                    queries.iter().map(|query| query + seed + 0.1 * normal(&mut rng)).collect()
                })
                .collect();
            let means: Vec<f64> = (0..100).map(|query| table.iter().map(|row| row[query]).sum::<f64>() / 5.0).collect();
            crossed += usize::from(crossed_test(&table).unwrap().p < 0.05);
            over_queries += usize::from(paired_t_test(&means, &[0.0; 100]).unwrap().p < 0.05);
        }
        assert!(crossed <= 28, "{crossed} of 400");
        assert!(over_queries > 2 * crossed, "{over_queries} and {crossed}: the test would not be needed");
    }
}

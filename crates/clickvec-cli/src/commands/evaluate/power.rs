//! How small a difference the judged queries can show.

use clickvec_eval::{Evaluation, Metric, paired_t_test};

use crate::console;
use crate::superscripts::letter;

/// With more pairs of systems than this, only the smallest and the largest difference are shown.
const LISTED_PAIRS: usize = 3;

/// Returns a line with the smallest difference in NDCG@10 that the queries can show, for each pair of systems. It is empty if the
/// systems were not judged by NDCG@10, or all pairs differ on too few queries.
pub(super) fn text(systems: &[Evaluation]) -> String {
    let by = Metric::Ndcg(10);
    let queries = systems.first().map_or(0, |system| system.queries.len());
    if !systems.first().is_some_and(|system| system.mean.iter().any(|(metric, _)| metric == by)) {
        return String::new();
    }
    let mut pairs = Vec::new();
    for (first, a) in systems.iter().enumerate() {
        for (second, b) in systems.iter().enumerate().skip(first + 1) {
            // Systems of one table have the same queries, so there is no other fault.
            let test = paired_t_test(&b.values(by), &a.values(by)).ok();
            if let Some(least) = test.and_then(|test| test.minimum_detectable(1)) {
                pairs.push((least, format!("{} − {}", letter(second), letter(first))));
            }
        }
    }
    if pairs.is_empty() {
        return String::new();
    }
    format!(
        "smallest difference in NDCG@10 detectable with 80 % power on {}: {}\n(half of it takes four times as many queries)\n",
        console::counted(queries as u64, "query"),
        listed(&pairs)
    )
}

/// Lists the difference of each pair, or the smallest and the largest of all.
fn listed(pairs: &[(f64, String)]) -> String {
    if pairs.len() <= LISTED_PAIRS {
        return pairs.iter().map(|(least, pair)| format!("{least:.3} ({pair})")).collect::<Vec<_>>().join(", ");
    }
    let least = pairs.iter().map(|pair| pair.0);
    let (from, to) = least.fold((f64::INFINITY, 0.0), |(from, to), least| (f64::min(from, least), f64::max(to, least)));
    format!("{from:.3} to {to:.3}, depending on the systems")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_pairs_are_a_range() {
        let pair = |label: &str, least| (least, label.to_owned());
        let mut pairs = vec![pair("b − a", 0.02), pair("c − a", 0.01)];
        assert_eq!(listed(&pairs), "0.020 (b − a), 0.010 (c − a)");
        pairs.extend([pair("c − b", 0.03), pair("d − a", 0.015)]);
        assert_eq!(listed(&pairs), "0.010 to 0.030, depending on the systems");
    }
}

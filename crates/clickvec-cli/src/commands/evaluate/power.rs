//! How small a difference the judged queries can show, and how many queries a smaller one takes.

use std::fmt::Write as _;

use clickvec_eval::{Evaluation, Metric, minimum_detectable_difference, queries_that_show};

use crate::output;
use crate::superscripts::letter;

/// With more pairs of systems than this, only the least and the largest number are given.
const LISTED_PAIRS: usize = 3;

/// A pair of systems, the smallest difference of theirs that the queries can show, and the pair's label.
struct Shown {
    label: String,
    least: f64,
}

/// What the queries can show of each pair of systems by NDCG@10, and what `expected` takes. Nothing if the systems were not judged
/// by it, or the pairs differ on too few queries to tell.
pub(super) fn text(systems: &[Evaluation], expected: Option<f64>) -> String {
    let queries = systems.first().map_or(0, |system| system.queries.len());
    let by = Metric::Ndcg(10);
    if !systems.first().is_some_and(|system| system.mean.iter().any(|(metric, _)| metric == by)) {
        return String::new();
    }
    let (mut pairs, mut alike) = (Vec::new(), Vec::new());
    for (place, a) in systems.iter().enumerate() {
        for (later, b) in systems.iter().enumerate().skip(place + 1) {
            let values = [b, a].map(|system| system.values(by));
            let label = format!("{} − {}", letter(later), letter(place));
            // Systems of one table have the same queries.
            match minimum_detectable_difference(&values[0], &values[1], 1) {
                Ok(Some(least)) => pairs.push(Shown { label, least }),
                _ => alike.push(label),
            }
        }
    }
    let all = output::counted(queries as u64, "query");
    let mut text = String::new();
    if expected.is_some() && !alike.is_empty() {
        let _ = writeln!(text, "{}: not told, since the systems differ on too few queries", alike.join(", "));
    }
    if pairs.is_empty() {
        return text;
    }
    let _ = writeln!(
        text,
        "smallest difference in NDCG@10 that {all} show in four of five cases: {}",
        listed(&pairs, |pair| format!("{:.3}", pair.least))
    );
    if let Some(expected) = expected {
        let needed = |pair: &Shown| queries_that_show(expected, pair.least, queries);
        let _ = writeln!(
            text,
            "queries that show a difference of {expected} as surely: {}; there are {}",
            listed(&pairs, |pair| output::count(needed(pair))),
            output::count(queries as u64)
        );
        let most = pairs.iter().map(needed).max().unwrap_or(0);
        let more = most.saturating_sub(queries as u64);
        let _ = match more {
            0 => writeln!(text, "no more queries are needed"),
            more => writeln!(text, "{} more would do for all", output::counted(more, "query")),
        };
    }
    text
}

/// The number of each pair, or of all the least and the largest.
fn listed(pairs: &[Shown], number: impl Fn(&Shown) -> String) -> String {
    if pairs.len() <= LISTED_PAIRS {
        let each: Vec<String> = pairs.iter().map(|pair| format!("{} ({})", number(pair), pair.label)).collect();
        return each.join(", ");
    }
    let of = |pair: Option<&Shown>| pair.map_or_else(String::new, &number);
    let least = pairs.iter().min_by(|a, b| a.least.total_cmp(&b.least));
    let most = pairs.iter().max_by(|a, b| a.least.total_cmp(&b.least));
    format!("{} to {}, depending on the systems", of(least), of(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_pairs_are_a_range() {
        let pair = |label: &str, least| Shown { label: label.to_owned(), least };
        let mut pairs = vec![pair("b − a", 0.02), pair("c − a", 0.01)];
        let of = |pairs: &[Shown]| listed(pairs, |pair| format!("{:.3}", pair.least));
        assert_eq!(of(&pairs), "0.020 (b − a), 0.010 (c − a)");
        pairs.extend([pair("c − b", 0.03), pair("d − a", 0.015)]);
        assert_eq!(of(&pairs), "0.010 to 0.030, depending on the systems");
    }
}

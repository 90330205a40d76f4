//! Rows that were trained several times, each time with another seed.

use clickvec_eval::{Evaluation, Metrics};

/// Averages each query's metrics over evaluations of the same queries.
pub(super) fn mean_over(runs: &[Evaluation]) -> Evaluation {
    let mut mean = runs[0].clone();
    if runs.len() > 1 {
        for (position, query) in mean.queries.iter_mut().enumerate() {
            query.metrics = Metrics::mean(runs.iter().map(|run| &run.queries[position].metrics));
        }
        mean.mean = Metrics::mean(mean.queries.iter().map(|query| &query.metrics));
    }
    mean
}

/// Returns the standard deviation of a value over the seeds; `None` with a single seed.
pub(super) fn deviation(values: impl ExactSizeIterator<Item = f64> + Clone) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.clone().sum::<f64>() / count;
    (count > 1.0).then(|| (values.map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clickvec_eval::{EvaluateOptions, JudgedQuery, JudgedTitle, Judgments, Metric, judge};

    #[test]
    fn the_mean_is_taken_query_by_query() {
        let title = |grade: u8| JudgedTitle { id: grade.to_string(), text: grade.to_string(), grade };
        let query = |id: &str| JudgedQuery { id: id.to_owned(), text: id.to_owned(), titles: vec![title(4), title(0)] };
        let judgments = Judgments { queries: vec![query("a"), query("b")], ..Judgments::default() };
        let run = |first: f64, second: f64| {
            judge("s", &[vec![first, 0.0], vec![second, 0.0]], &judgments, &EvaluateOptions::default())
        };
        let runs = [run(1.0, 1.0), run(1.0, -1.0)];
        let mean = mean_over(&runs);
        assert_eq!(mean.values(Metric::Ndcg(1)), [1.0, 0.5]);
        assert_eq!(mean.mean.get(Metric::Ndcg(1)), 0.75);
        assert_eq!(mean_over(&runs[1..]), runs[1]);
    }

    #[test]
    fn a_single_seed_has_no_deviation() {
        assert_eq!(deviation([0.7].into_iter()), None);
        assert_eq!(deviation([1.0, 2.0, 3.0].into_iter()), Some(1.0));
    }
}

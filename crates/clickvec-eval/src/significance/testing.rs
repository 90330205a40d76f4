//! Systems to compare, for the tests of this crate and of the lab.

use clickvec_eval::{EvaluateOptions, Evaluation, JudgedQuery, JudgedTitle, Judgments, judge};

/// Creates a system that is right on the first `right` of `queries` queries.
pub(crate) fn system(name: &str, right: usize, queries: usize) -> Evaluation {
    let title = |id: &str, grade| JudgedTitle { id: id.to_owned(), text: id.to_owned(), grade };
    let query = |i: usize| JudgedQuery {
        id: i.to_string(),
        text: i.to_string(),
        titles: vec![title("good", 4), title("bad", 0)],
    };
    let judgments = Judgments { queries: (0..queries).map(query).collect(), ..Judgments::default() };
    let scores: Vec<Vec<f64>> = (0..queries).map(|i| if i < right { vec![1.0, 0.0] } else { vec![0.0, 1.0] }).collect();
    judge(name, &scores, &judgments, &EvaluateOptions::default())
}

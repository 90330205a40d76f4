//! Rankers evaluated and compared.

use super::*;
use crate::ranker::Ranker;

/// Scores a title by the number in its text, or by its negative.
struct Numbers {
    name: &'static str,
    sign: f64,
}

impl Ranker for Numbers {
    fn name(&self) -> &str {
        self.name
    }

    fn score(&self, _: &str, titles: &[&str]) -> Vec<f64> {
        titles.iter().map(|title| self.sign * title.parse::<f64>().unwrap()).collect()
    }
}

fn judgments(queries: &[(&str, &[(&str, u8)])]) -> Judgments {
    let title = |&(text, grade): &(&str, u8)| JudgedTitle { id: text.to_owned(), text: text.to_owned(), grade };
    let query = |&(id, titles): &(&str, &[(&str, u8)])| JudgedQuery {
        id: id.to_owned(),
        text: id.to_owned(),
        titles: titles.iter().map(title).collect(),
    };
    Judgments { queries: queries.iter().map(query).collect(), ..Judgments::default() }
}

const UP: Numbers = Numbers { name: "up", sign: 1.0 };
const DOWN: Numbers = Numbers { name: "down", sign: -1.0 };

#[test]
fn rankers_are_judged_and_compared() {
    let judgments = judgments(&[
        ("a", &[("1", 0), ("2", 3)]),
        ("b", &[("5", 1), ("6", 1), ("4", 0)]),
        ("none", &[("1", 0), ("2", 0)]),
    ]);
    let options = EvaluateOptions::default();
    let systems = [&UP, &DOWN].map(|ranker| evaluate(ranker, &judgments, &options));
    let [up, down] = &systems;
    let firsts = |system: &Evaluation| -> Vec<f64> {
        system.queries.iter().map(|query| query.metrics.get(Metric::Ndcg(1))).collect()
    };
    assert_eq!(firsts(up), [1.0, 1.0, 0.0]);
    assert_eq!(firsts(down), [0.0, 0.0, 0.0]);
    assert_eq!(up.mean.get(Metric::Ndcg(1)), 2.0 / 3.0);
    assert_eq!(up.mean.get(Metric::Precision(10)), (0.1 + 0.2 + 0.0) / 3.0);
    assert_eq!(up.mean.get(Metric::Recall(10)), 2.0 / 3.0);
    assert_eq!(down.mean.get(Metric::ReciprocalRank(None)), (0.5 + 0.5 + 0.0) / 3.0);
    assert_eq!(up.queries_without_relevant, 1);

    let comparisons = compare_all(&systems).unwrap();
    let tested: Vec<_> = comparisons.iter().map(|c| (c.a.as_str(), c.b.as_str(), c.metric)).collect();
    assert_eq!(tested, Metric::OF_JUDGED.map(|metric| ("up", "down", metric)));
    // Differences 1, 1, 0: mean 2/3, t = 2.
    assert!((comparisons[0].test.t - 2.0).abs() < 1e-12);
    assert!((comparisons[0].test.difference - 2.0 / 3.0).abs() < 1e-15);
}

#[test]
fn only_the_same_queries_are_compared() {
    let options = EvaluateOptions::default();
    let one = |id| evaluate(&UP, &judgments(&[(id, &[("1", 1)])]), &options);
    let none = evaluate(&UP, &Judgments::default(), &options);
    assert!(none.mean.iter().all(|(_, value)| value == 0.0));
    let message = |evaluations: &[Evaluation]| compare_all(evaluations).unwrap_err().to_string();
    let help = "evaluate both on the same judgments";
    let expected = format!("expected the same queries for both systems, found `a` and `b` at place 1; {help}");
    assert_eq!(message(&[one("a"), one("b")]), expected);
    let expected = format!("expected as many queries for both systems, found 1 and 0; {help}");
    assert_eq!(message(&[one("a"), none]), expected);
}

#[test]
fn what_is_no_quality_is_not_compared() {
    let judgments = judgments(&[("a", &[("1", 0), ("2", 3)]), ("b", &[("5", 1), ("6", 1), ("4", 0)])]);
    let metrics = [Metric::Ndcg(10), Metric::Judged(10)];
    let systems = [&UP, &DOWN].map(|ranker| {
        let answers = Answers::Scores(score(ranker, &judgments));
        Task::Judged(&judgments).judge(ranker.name(), &answers, &metrics, &EvaluateOptions::default())
    });
    assert_eq!(systems[0].mean.get(Metric::Judged(10)), 1.0);
    let tests = compare_all(&systems).unwrap();
    assert_eq!(tests.iter().map(|test| test.metric).collect::<Vec<_>>(), [Metric::Ndcg(10)]);
}

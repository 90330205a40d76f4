//! Full collections by hand.

use std::path::Path;

use super::*;
use crate::eval::{Gain, Ties};
use crate::ranker::shop::Shop;
use crate::ranker::testing::train;
use crate::tables::JudgedRow;

fn titles(texts: &[&str]) -> Vec<Title> {
    (0..).zip(texts).map(|(id, text): (usize, _)| Title { id: format!("d{id}"), title: (*text).to_owned() }).collect()
}

fn judgments(rows: &[(&str, &str, &str)]) -> Judgments {
    let row = |(line, &(query, title, grade)): (u64, &(&'static str, &'static str, &'static str))| JudgedRow {
        line,
        query_id: None,
        query,
        title_id: None,
        title,
        grade,
    };
    let rows: Vec<_> = rows.iter().map(|&(a, b, c)| (leak(a), leak(b), leak(c))).collect();
    Judgments::from_rows(Path::new("j.tsv"), (2..).zip(&rows).map(row)).unwrap()
}

fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn hits(scores: &[(u32, f32)]) -> Vec<Hit> {
    scores.iter().map(|&(position, score)| Hit { position, score }).collect()
}

fn values(set: &FullTestSet, list: Vec<Hit>, measures: &[Measure], options: &EvaluateOptions) -> Vec<f64> {
    let mut judge = FullJudge::new(&set.titles, measures, options);
    judge.add(&set.queries, &[list]);
    judge.finish("x").mean
}

#[test]
fn judged_titles_are_found_by_text_or_by_id() {
    let judgments = judgments(&[("red", "b", "3"), ("red", "gone", "2"), ("red", "a", "0")]);
    let set = FullTestSet::new(&judgments, false, titles(&["a", "b", "a", "c"])).unwrap();
    assert_eq!((set.titles.len(), set.repeated, set.judged), (3, 1, 3));
    assert_eq!((set.missing.count, &set.missing.first[..]), (1, &["gone".to_owned()][..]));
    assert_eq!(set.queries[0].judged(), [(0, 0), (1, 3)]);
    assert_eq!((set.queries[0].grade(1), set.queries[0].grade(2)), (Some(3), None));
    let mut named = judgments.clone();
    named.queries[0].titles.iter_mut().zip(["d2", "d9", "d0"]).for_each(|(title, id)| title.id = id.to_owned());
    let set = FullTestSet::new(&named, true, titles(&["a", "b", "a", "c"])).unwrap();
    assert_eq!((set.titles.len(), set.repeated), (4, 0));
    assert_eq!(set.queries[0].judged(), [(0, 0), (2, 3)]);
    assert_eq!(set.missing.first, ["d9"]);
}

#[test]
fn a_hand_computed_list() {
    let judgments =
        judgments(&[("q", "a", "3"), ("q", "b", "0"), ("q", "c", "1"), ("q", "gone", "1"), ("q", "d", "0")]);
    let set = FullTestSet::new(&judgments, false, titles(&["a", "b", "c", "d", "e", "f"])).unwrap();
    let options = EvaluateOptions { gain: Gain::Linear, ties: Ties::Trec, relevant_from: 1 };
    // Not judged, not relevant, not judged, 3, 1.
    let list = hits(&[(4, 5.0), (1, 4.0), (5, 3.0), (0, 2.0), (2, 1.0)]);
    let d = |rank: f64| 1.0 / (rank + 1.0).log2();
    let ideal = |k: usize| [3.0, 1.0, 1.0].iter().zip(1..).take(k).map(|(g, rank)| g * d(f64::from(rank))).sum::<f64>();
    let expected = [
        (Measure::Ndcg(4), 3.0 * d(4.0) / ideal(4)),
        (Measure::Ndcg(5), (3.0 * d(4.0) + d(5.0)) / ideal(5)),
        (Measure::Recall(4), 1.0 / 3.0),
        (Measure::Recall(100), 2.0 / 3.0),
        (Measure::Precision(10), 0.2),
        (Measure::ReciprocalRank(3), 0.0),
        (Measure::ReciprocalRank(4), 0.25),
        (Measure::AveragePrecision, (1.0 / 4.0 + 2.0 / 5.0) / 3.0),
        (Measure::Judged(3), 1.0 / 3.0),
        (Measure::Judged(10), 0.6),
        (Measure::CondensedNdcg(2), 3.0 * d(2.0) / ideal(2)),
        // 3 relevant, 2 not: each of the two found has one of min(3, 2) before it.
        (Measure::Bpref, 2.0 * (1.0 - 1.0 / 2.0) / 3.0),
    ];
    let measures = expected.map(|(measure, _)| measure);
    let found = values(&set, list, &measures, &options);
    for ((measure, expected), found) in expected.into_iter().zip(found) {
        assert!((found - expected).abs() < 1e-12, "{measure}: {found} {expected}");
    }
    assert!(values(&set, Vec::new(), &measures, &options).iter().all(|&value| value == 0.0));
}

/// trec_eval's loop over one order.
fn naive_bpref(order: &[u8], judged: &[u8]) -> f64 {
    let relevant = judged.iter().filter(|&&grade| grade > 0).count();
    let other = judged.len() - relevant;
    let (mut before, mut sum) = (0, 0.0);
    for &grade in order {
        match grade > 0 {
            true if before > 0 => sum += 1.0 - before.min(relevant) as f64 / other.min(relevant) as f64,
            true => sum += 1.0,
            false => before += 1,
        }
    }
    if relevant == 0 { 0.0 } else { sum / relevant as f64 }
}

#[test]
fn bpref_is_the_mean_over_the_orders_of_ties() {
    let rows = [("q", "a", "1"), ("q", "b", "0"), ("q", "c", "2"), ("q", "d", "0"), ("q", "e", "0"), ("q", "x", "1")];
    let judgments = judgments(&rows);
    let set = FullTestSet::new(&judgments, false, titles(&["a", "b", "c", "d", "e", "f"])).unwrap();
    // b, then a tie of a, c, d, then e; f was not judged.
    let list = hits(&[(1, 3.0), (5, 2.0), (0, 1.0), (2, 1.0), (3, 1.0), (4, 0.5)]);
    let tied = [[1, 2, 0], [1, 0, 2], [2, 1, 0], [2, 0, 1], [0, 1, 2], [0, 2, 1]];
    let of = |[x, y, z]: [u8; 3]| naive_bpref(&[0, x, y, z, 0], &[1, 0, 2, 0, 0, 1]);
    let expected = tied.into_iter().map(of).sum::<f64>() / 6.0;
    let found = values(&set, list, &[Measure::Bpref], &EvaluateOptions::default())[0];
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
}

#[test]
fn lists_do_not_depend_on_how_many_queries_are_asked_at_once() {
    let shop = Shop::new();
    let texts: Vec<String> =
        shop.judgments.queries.iter().flat_map(|query| &query.titles).map(|title| title.text.clone()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut many = Judgments::default();
    for copy in 0..20 {
        many.queries.extend(
            shop.judgments
                .queries
                .iter()
                .cloned()
                .map(|query| crate::eval::JudgedQuery { id: format!("{copy}-{}", query.id), ..query }),
        );
    }
    assert!(many.queries.len() > QUERIES_AT_ONCE);
    let set = FullTestSet::new(&many, false, titles(&texts)).unwrap();
    assert_eq!(set.missing.count, 0);
    let ranker = train("bm25", &shop.corpus);
    let texts = set.texts();
    let candidates = ranker.candidates(&texts).unwrap();
    let options = EvaluateOptions::default();
    let mut judge = FullJudge::new(&set.titles, &Measure::USUAL, &options);
    search_all(candidates.as_ref(), &set.queries, 50, |queries, lists| -> Result<()> {
        judge.add(queries, &lists);
        Ok(())
    })
    .unwrap();
    let all = judge.finish("bm25");
    assert_eq!(all.queries.len(), many.queries.len());
    let one = shop.judgments.queries.len();
    assert_eq!(all.queries[..one], all.queries[one..2 * one]);
    let mut singly = FullJudge::new(&set.titles, &Measure::USUAL, &options);
    for query in &set.queries[..one] {
        let list = candidates.search(&Query::new(&query.text, None), 50).unwrap();
        singly.add(std::slice::from_ref(query), &[list]);
    }
    assert_eq!(singly.finish("bm25").queries[..], all.queries[..one]);
    assert!(all.mean[0] > 0.3, "{:?}", all.mean);
}

#[test]
fn tests_are_paired_by_query_and_leave_out_what_is_no_quality() {
    let system = |name: &str, shift: f64| FullEvaluation {
        name: name.to_owned(),
        queries: (0..20)
            .map(|query| vec![0.1 + f64::from(query % 5) * 0.1 + shift * f64::from(query % 3), 1.0])
            .collect(),
        mean: Vec::new(),
        without_titles: 0,
    };
    let measures = [Measure::Ndcg(10), Measure::Judged(10)];
    let tests = compare_full(&[system("a", 0.0), system("b", 0.1)], &measures).unwrap();
    assert_eq!(tests.len(), 1);
    assert_eq!((tests[0].a.as_str(), tests[0].b.as_str(), tests[0].metric), ("a", "b", Measure::Ndcg(10)));
    assert_eq!(tests[0].verdict(crate::eval::Correction::Holm), crate::eval::Verdict::Worse);
}

//! Full collections by hand.

use std::path::Path;

use super::*;
use crate::judgments::JudgedRow;
use crate::ranker::shop::Shop;
use crate::ranker::testing::train;
use crate::{Answers, EvaluateOptions, Gain, Metric, Ties};

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

fn values(set: &Collection, list: Vec<Hit>, metrics: &[Metric], options: &EvaluateOptions) -> Vec<f64> {
    let found = set.task(&set.queries).judge("x", &Answers::Lists(vec![list]), metrics, options);
    found.mean.iter().map(|(_, value)| value).collect()
}

#[test]
fn judged_titles_are_found_by_text_or_by_id() {
    let judgments = judgments(&[("red", "b", "3"), ("red", "gone", "2"), ("red", "a", "0")]);
    let set = Collection::new(&judgments, false, titles(&["a", "b", "a", "c"])).unwrap();
    assert_eq!((set.titles.len(), set.repeated, set.judged), (3, 1, 3));
    assert_eq!((set.missing.count, &set.missing.first[..]), (1, &["gone".to_owned()][..]));
    assert_eq!(set.queries[0].judged(), [(0, 0), (1, 3)]);
    assert_eq!((set.queries[0].grade(1), set.queries[0].grade(2)), (Some(3), None));
    let mut named = judgments.clone();
    named.queries[0].titles.iter_mut().zip(["d2", "d9", "d0"]).for_each(|(title, id)| title.id = id.to_owned());
    let set = Collection::new(&named, true, titles(&["a", "b", "a", "c"])).unwrap();
    assert_eq!((set.titles.len(), set.repeated), (4, 0));
    assert_eq!(set.queries[0].judged(), [(0, 0), (2, 3)]);
    assert_eq!(set.missing.first, ["d9"]);
}

#[test]
fn a_hand_computed_list() {
    let judgments =
        judgments(&[("q", "a", "3"), ("q", "b", "0"), ("q", "c", "1"), ("q", "gone", "1"), ("q", "d", "0")]);
    let set = Collection::new(&judgments, false, titles(&["a", "b", "c", "d", "e", "f"])).unwrap();
    let options = EvaluateOptions { gain: Gain::Linear, ties: Ties::Trec, relevant_from: 1 };
    // Not judged, not relevant, not judged, 3, 1.
    let list = hits(&[(4, 5.0), (1, 4.0), (5, 3.0), (0, 2.0), (2, 1.0)]);
    let d = |rank: f64| 1.0 / (rank + 1.0).log2();
    let ideal = |k: usize| [3.0, 1.0, 1.0].iter().zip(1..).take(k).map(|(g, rank)| g * d(f64::from(rank))).sum::<f64>();
    let expected = [
        (Metric::Ndcg(4), 3.0 * d(4.0) / ideal(4)),
        (Metric::Ndcg(5), (3.0 * d(4.0) + d(5.0)) / ideal(5)),
        (Metric::Recall(4), 1.0 / 3.0),
        (Metric::Recall(100), 2.0 / 3.0),
        (Metric::Precision(10), 0.2),
        (Metric::ReciprocalRank(Some(3)), 0.0),
        (Metric::ReciprocalRank(Some(4)), 0.25),
        (Metric::AveragePrecision, (1.0 / 4.0 + 2.0 / 5.0) / 3.0),
        (Metric::Judged(3), 1.0 / 3.0),
        (Metric::Judged(10), 0.6),
        (Metric::CondensedNdcg(2), 3.0 * d(2.0) / ideal(2)),
        // 3 relevant, 2 not: each of the two found has one of min(3, 2) before it.
        (Metric::Bpref, 2.0 * (1.0 - 1.0 / 2.0) / 3.0),
    ];
    let metrics = expected.map(|(metric, _)| metric);
    let found = values(&set, list, &metrics, &options);
    for ((metric, expected), found) in expected.into_iter().zip(found) {
        assert!((found - expected).abs() < 1e-12, "{metric}: {found} {expected}");
    }
    assert!(values(&set, Vec::new(), &metrics, &options).iter().all(|&value| value == 0.0));
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
    let set = Collection::new(&judgments, false, titles(&["a", "b", "c", "d", "e", "f"])).unwrap();
    // b, then a tie of a, c, d, then e; f was not judged.
    let list = hits(&[(1, 3.0), (5, 2.0), (0, 1.0), (2, 1.0), (3, 1.0), (4, 0.5)]);
    let tied = [[1, 2, 0], [1, 0, 2], [2, 1, 0], [2, 0, 1], [0, 1, 2], [0, 2, 1]];
    let of = |[x, y, z]: [u8; 3]| naive_bpref(&[0, x, y, z, 0], &[1, 0, 2, 0, 0, 1]);
    let expected = tied.into_iter().map(of).sum::<f64>() / 6.0;
    let found = values(&set, list, &[Metric::Bpref], &EvaluateOptions::default())[0];
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
                .map(|query| crate::JudgedQuery { id: format!("{copy}-{}", query.id), ..query }),
        );
    }
    assert!(many.queries.len() > QUERIES_AT_ONCE);
    let set = Collection::new(&many, false, titles(&texts)).unwrap();
    assert_eq!(set.missing.count, 0);
    let ranker = train("bm25", &shop.corpus);
    let texts = set.texts();
    let candidates = ranker.candidates(&texts).unwrap();
    let found = search_all(candidates.as_ref(), &set.queries, 50, &mut |_| ()).unwrap();
    assert_eq!(found.len(), many.queries.len());
    let one = shop.judgments.queries.len();
    assert_eq!(found[..one], found[one..2 * one]);
    let singly = set.queries[..one].iter().map(|query| candidates.search(&query.text, 50).unwrap());
    assert_eq!(singly.collect::<Vec<_>>(), found[..one]);
    let options = EvaluateOptions::default();
    let judged = set.task(&set.queries).judge("bm25", &Answers::Lists(found), &Metric::OF_SEARCH, &options);
    assert!(judged.mean.get(Metric::Ndcg(10)) > 0.3, "{:?}", judged.mean);
}

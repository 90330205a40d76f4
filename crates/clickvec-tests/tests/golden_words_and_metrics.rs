//! Words, trigrams, metrics and p-values compared with the golden numbers of an independent implementation.

use std::path::PathBuf;

use clickvec::internals::text::{for_each_trigram, words};
use clickvec_eval::{Gain, Ranking, Scored, Ties, paired_t_test};
use serde_json::{Map, Value};

fn golden(file: &str) -> Value {
    let folder = std::env::var_os("CLICKVEC_GOLDEN")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden")), PathBuf::from);
    let path = folder.join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn object<'a>(value: &'a Value, key: &str) -> &'a Map<String, Value> {
    value[key].as_object().unwrap_or_else(|| panic!("no object `{key}`"))
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

fn assert_close(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-9, "{what}: expected {expected}, found {found}");
}

#[test]
fn golden_words() {
    let golden = golden("words.json");
    for case in golden["texts"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        assert_eq!(words(text), strings(&case["words"]), "words of {text:?}");
    }
    for case in golden["words"].as_array().unwrap() {
        let mut trigrams = Vec::new();
        for_each_trigram(case["word"].as_str().unwrap(), |trigram| trigrams.push(trigram.to_string()));
        assert_eq!(trigrams, strings(&case["trigrams"]));
    }
}

/// The value that a golden key such as `ndcg@10_linear_expected` names.
fn value(key: &str, ranking: impl Fn(Ties) -> Ranking) -> f64 {
    let (name, ties) = match key.strip_suffix("_expected") {
        Some(name) => (name, Ties::Expected),
        None => (key, Ties::Trec),
    };
    let ranking = ranking(ties);
    match name {
        "reciprocal_rank" => return ranking.reciprocal_rank(1),
        "average_precision" => return ranking.average_precision(1),
        _ => {}
    }
    let (metric, rest) = name.split_once('@').unwrap_or_else(|| panic!("unknown metric {key}"));
    let (k, gain) = rest.split_once('_').unwrap_or((rest, ""));
    let k = k.parse().unwrap_or_else(|_| panic!("unknown metric {key}"));
    match (metric, gain) {
        ("ndcg", "exponential") => ranking.ndcg(k, Gain::Exponential),
        ("ndcg", "linear") => ranking.ndcg(k, Gain::Linear),
        ("precision", "") => ranking.precision(k, 1),
        ("recall", "") => ranking.recall(k, 1),
        _ => panic!("unknown metric {key}"),
    }
}

#[test]
fn golden_metrics_and_t_tests() {
    let golden = golden("metrics.json");
    let found = |run: &str, query: &str, key: &str| {
        let grades = object(&golden["qrels"], query);
        let judged = grades.values().map(|grade| u8::try_from(grade.as_u64().unwrap()).unwrap());
        let grade = |id: &str| grades.get(id).map_or(0, |grade| u8::try_from(grade.as_u64().unwrap()).unwrap());
        let titles = object(&golden["runs"][run], query).iter();
        let titles = titles.map(|(id, score)| Scored { id, score: score.as_f64().unwrap(), grade: grade(id) });
        let (titles, judged) = (titles.collect::<Vec<_>>(), judged.collect::<Vec<_>>());
        value(key, |ties| Ranking::new(titles.clone(), judged.clone(), ties))
    };
    let column = |run: &str, key: &str| -> Vec<f64> {
        object(&golden["per_query"], run).keys().map(|query| found(run, query, key)).collect()
    };
    let mut compared = 0;
    for (run, queries) in object(&golden, "per_query") {
        for (query, metrics) in queries.as_object().unwrap() {
            for (key, expected) in metrics.as_object().unwrap() {
                assert_close(found(run, query, key), expected, &format!("{run} {query} {key}"));
                compared += 1;
            }
        }
        for (key, expected) in object(&golden["mean"], run) {
            let values = column(run, key);
            assert_close(values.iter().sum::<f64>() / values.len() as f64, expected, &format!("{run} mean {key}"));
        }
    }
    assert!(compared > 0, "no metric to compare");
    for (key, expected) in object(&golden, "paired_t_test_a_minus_b") {
        let test = paired_t_test(&column("a", key), &column("b", key)).unwrap();
        assert_close(test.t, &expected["t"], &format!("t of {key}"));
        assert_close(test.p, &expected["p_two_sided"], &format!("p of {key}"));
        assert_eq!(Some(test.degrees_of_freedom as u64), expected["degrees_of_freedom"].as_u64());
    }
}

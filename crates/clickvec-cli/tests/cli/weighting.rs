//! `--weighting`: how the counts of a click log reach rankers.

use crate::harness::{Folder, row};

/// A log in which most clicks say that a sofa is a couch, and most pairs that it is a bed.
fn folder() -> Folder {
    let folder = Folder::new();
    let clicks =
        [("sofa", "couch", 100), ("bench", "couch", 1), ("stool", "couch", 1), ("sofa", "bed", 1), ("cot", "bed", 100)];
    let rows: String = clicks.iter().map(|(query, title, count)| format!("{query}\t{title}\t{count}\n")).collect();
    folder.write("clicks.tsv", format!("query\ttitle\tcount\n{rows}"));
    folder.write("judged.tsv", "query\ttitle\tgrade\nsofa\tcouch\t4\nsofa\tbed\t0\n");
    folder
}

fn is_first(report: &serde_json::Value) -> bool {
    report["systems"][0]["ndcg@1"].as_f64().unwrap() > 0.99
}

/// Whether the couch is the first title by itself: by clicks it is, by pairs it is not.
const FIRST: [(&str, bool); 4] = [("log", true), ("linear", true), ("none", false), ("binary", false)];

#[test]
fn rankers_of_the_command_line_learn_from_weighted_pairs() {
    let folder = folder();
    let evaluate = ["lab", "table", "--judged=judged.tsv", "--ranker=wtm", "--json"];
    for (how, expected) in FIRST {
        let run = folder.run(&[&evaluate[..], &["--clicks=clicks.tsv", "--weighting", how]].concat()).code(0);
        assert_eq!(is_first(&run.json_lines()[0]), expected, "{how}");
    }
    let run = folder.run(&[&evaluate[..], &["--clicks=clicks.tsv"]].concat()).code(0);
    assert!(is_first(&run.json_lines()[0]), "the default is the logarithm");
    folder
        .run(&[&evaluate[..], &["--weighting=none"]].concat())
        .code(2)
        .says("name one as `--clicks`")
        .prints_nothing();
}

#[test]
fn rankers_of_a_table_learn_from_weighted_pairs() {
    let folder = folder();
    let spec = |data: &str| {
        let data = format!("[data]\njudged = \"judged.tsv\"\n{data}[evaluation]\nfolds = 1\n");
        folder.write("spec.toml", data + &row("a", "ranker = \"wtm\""));
    };
    let made = |more: &[&str]| folder.run(&[&["lab", "table", "spec.toml", "--json"], more].concat());
    let clicks = "clicks = \"clicks.tsv\"\n";
    // One cache for all: what was learnt with other weights is not taken from it.
    for (how, expected) in FIRST {
        spec(&format!("{clicks}weighting = \"{how}\"\n"));
        assert_eq!(is_first(&made(&[]).code(0).json_lines()[0]), expected, "{how}");
        spec(clicks);
        assert_eq!(is_first(&made(&["--weighting", how]).code(0).json_lines()[0]), expected, "{how} of the command");
    }
    assert!(is_first(&made(&[]).code(0).json_lines()[0]), "the default is the logarithm");
    spec("");
    let alone = made(&["--weighting=none"]).code(2);
    alone.says("expected a click log, whose counts `weighting` is about, found none; name one as `--clicks`");
}

//! Training holds queries out of the clicks by itself.

use crate::harness::{Folder, SMALL};

/// A log of so many queries for numbered things, in three colours.
pub(crate) fn many_queries(queries: usize) -> String {
    let things = ["hammer", "ladder", "paint", "shelf", "faucet", "bracket", "carpet", "drill"];
    let row = |i: usize| format!("{} {}\t{} no {}\n", things[i % 8], i, things[i % 8], i % 700);
    format!("query\ttitle\n{}", (0..queries).map(row).collect::<String>())
}

#[test]
fn queries_are_held_out_and_the_report_compares_with_what_needs_no_training() {
    let folder = Folder::with_data();
    folder.write("clicks.tsv", many_queries(1400));
    let said = folder.train("m.safetensors", &[]).code(0).stderr();
    for line in [
        "held out for evaluation: 140 of 1,400 queries with 140 pairs; then all clicks are learnt",
        "learning all clicks now, also those held out, for ",
        "  held out: NDCG@10 ",
        "140 queries, each searched among all 1,400 distinct titles; a clicked title is relevant, any other is not",
        "model − BM25: NDCG@10 +0.",
        "model − letter trigrams: NDCG@10 +0.",
        "is kept, the last: no epoch before it is shown to be better",
        "model finds what users clicked better than BM25 and than letter trigrams, although clicks favour the engine that showed",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let worse =
        "model finds less of what users clicked than BM25 and than letter trigrams; clicks favour the engine that";
    folder.train("worse.safetensors", &["--set", "learning_rate=1e-9"]).code(0).says(worse);
    // Titles that were never clicked.
    let things = ["hammer", "ladder", "paint", "shelf", "faucet", "bracket", "carpet", "drill"];
    let row = |i: usize| format!("n{i}\t{} x{i}\n", things[i % 8]);
    folder.write("more.tsv", format!("id\ttitle\n{}", (0..2000).map(row).collect::<String>()));
    let with_titles = ["--set", "learning_rate=1e-9", "--set", "titles.learning_rate=1e-9", "--titles", "more.tsv"];
    folder
        .train("worse.safetensors", &with_titles)
        .code(0)
        .says("  clicked@10")
        .says("titles that nobody was shown count as bad and decide this comparison");
    let events = folder.train("m.safetensors", &["--json"]).code(0).json_lines();
    let named = |name: &str| events.iter().filter(|event| event["event"] == name).collect::<Vec<_>>();
    assert_eq!((&named("held_out")[0]["queries"], &named("held_out")[0]["of_titles"]), (&140.into(), &1400.into()));
    let judged = named("judged")[0];
    let of_trial =
        events.iter().take_while(|event| event["event"] != "judged").filter(|event| event["event"] == "epoch");
    let is_judged = |epoch: &serde_json::Value| epoch["held_out"]["ndcg@10"].is_f64() && epoch["validation"].is_null();
    assert!(of_trial.clone().count() == 3 && of_trial.clone().all(is_judged));
    assert_eq!((&judged["systems"][1]["name"], judged["tests"].as_array().unwrap().len()), (&"BM25".into(), 2));
    let kept = &judged["systems"][0]["ndcg@10"];
    assert!(named("epoch").iter().any(|epoch| &epoch["held_out"]["ndcg@10"] == kept), "{judged}");
    assert_eq!(events.last().unwrap()["event"], "done");
}

#[test]
fn all_clicks_are_learnt_for_as_long_as_was_best() {
    let folder = Folder::with_data();
    folder.write("clicks.tsv", many_queries(1400));
    let titles = ["--titles", "titles.tsv", "--set", "titles.epochs=2", "--set", "encoder.members=2"];
    let settings = ["--set", "encoder.cells=8", "--set", "batch_size=32", "--set", "seed=7"];
    for more in [&[][..], &titles[..]] {
        let events = folder.train("m", &[more, &["--json"]].concat()).code(0).json_lines();
        let at = events.iter().position(|event| event["event"] == "all_clicks").unwrap();
        let epochs = events[at]["epochs"].to_string();
        let after: Vec<_> = events[at + 1..].iter().map(|event| event["event"].as_str().unwrap()).collect();
        assert_eq!(
            after.len() as u64,
            1 + events[at]["epochs"].as_u64().unwrap(),
            "titles are not learnt again: {after:?}"
        );
        assert!(after[..after.len() - 1].iter().all(|event| *event == "epoch") && after.last() == Some(&"done"));
        // The same as without anything held out.
        let whole = ["train", "--clicks", "clicks.tsv", "--output", "whole", "--held-out", "0", "--epochs", &epochs];
        folder.run(&[&whole[..], &settings, more].concat()).code(0);
        assert!(std::fs::read(folder.path("m")).unwrap() == std::fs::read(folder.path("whole")).unwrap());
        assert!(!folder.path("m.held-out").exists());
        folder.train("m", &[more, &["--resume"]].concat()).code(0).says("m: finished before, nothing to do");
    }
    // What such a model is asked to begin with has seen the held-out queries.
    folder.train("m", &[]).code(0);
    folder.train("later", &["--init", "m"]).code(0).says("the initial model has already learnt all clicks");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(folder.path("m"), std::fs::Permissions::from_mode(0o600)).unwrap();
        folder.train("m", &[]).code(0);
        assert_eq!(std::fs::metadata(folder.path("m")).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // It is said at once that the output has no place.
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.train("folder", &["--json"]).code(2).prints_nothing();
    folder.train("folder/", &["--json"]).code(2).prints_nothing();
}

#[test]
fn the_epoch_with_the_smallest_loss_of_held_out_pairs_can_be_kept() {
    let folder = Folder::with_data();
    folder.write("clicks.tsv", many_queries(1400));
    let run = [
        "train",
        "--clicks",
        "clicks.tsv",
        "--output",
        "m",
        "--set",
        "keep=loss",
        "--json",
        "--set",
        "encoder.cells=8",
    ];
    // A large step, so that the loss rises again; and a preset, which holds nothing out unless it is asked for.
    let much = ["--set", "batch_size=32", "--epochs", "8", "--set", "learning_rate=0.05"];
    for more in [&much[..], &["--preset", "lstm-dssm", "--epochs", "3", "--set", "learning_rate=0.003"]] {
        let events = folder.run(&[&run[..], more].concat()).code(0).json_lines();
        let trial = events.iter().take_while(|event| event["event"] != "judged");
        let losses: Vec<f64> = trial.filter_map(|event| event["held_out"]["loss"].as_f64()).collect();
        let best = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap();
        let all = events.iter().find(|event| event["event"] == "all_clicks").unwrap();
        assert_eq!(all["epochs"], best as u64 + 1, "{more:?}: {losses:?}");
        if more == much {
            assert!(losses[7] > losses[best], "the last epoch would be no other: {losses:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn clicks_that_can_be_read_once_are_not_learnt_twice() {
    let folder = Folder::with_data();
    let clicks = many_queries(1400);
    let run = [&["train", "--clicks", "/dev/stdin", "--output", "m"], &SMALL[..]].concat();
    folder.run_with(&run, clicks).code(0).says("held out for evaluation: ").says("; `--held-out 0` learns all clicks");
}

#[test]
fn a_comparison_that_says_nothing_is_not_called_a_win() {
    let folder = Folder::with_data();
    // Item numbers for titles: no word in common with any query.
    let letters = |i: usize| -> String { i.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect() };
    let row = |i: usize| format!("query {}\t{}\n", letters(i), 900_000 + i % 400);
    folder.write("clicks.tsv", format!("query\ttitle\n{}", (0..1400).map(row).collect::<String>()));
    folder.train("m.safetensors", &[]).code(0).says("so BM25 and letter trigrams find almost nothing");
}

#[test]
fn all_clicks_are_learnt_where_that_is_asked_for_or_queries_are_few() {
    let folder = Folder::with_data();
    folder.train("few.safetensors", &[]).code(0).says("held out: none (48 queries are too few)");
    folder.write("clicks.tsv", many_queries(1));
    folder.train("few.safetensors", &[]).code(0).says("held out: none (1 query is too few)");
    folder.write("clicks.tsv", many_queries(1400));
    let events = |more: &[&str]| folder.train("m.safetensors", &[more, &["--json"]].concat()).code(0).json_lines();
    let off: [&[&str]; 4] =
        [&["--held-out", "0"], &["--set", "keep=last"], &["--preset", "lstm-dssm"], &["--validation", "judged.tsv"]];
    for more in off {
        let events = events(more);
        assert!(events.iter().all(|event| event["event"] != "held_out"), "{more:?}");
        assert_eq!(events[0]["pairs"], 1400, "{more:?}");
    }
    let spec = "[data]\njudged = \"judged.tsv\"\n[[system]]\nname = \"a\"\ntrain.held_out = 0.1\n";
    folder.write("spec.toml", spec);
    folder.run(&["lab", "table", "spec.toml"]).code(2).says("held_out: expected clicks whose queries can be held out");
}

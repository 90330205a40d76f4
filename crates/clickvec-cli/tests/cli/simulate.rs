//! `clickvec lab simulate`.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{Folder, program};

const SIMULATE: [&str; 10] =
    ["lab", "simulate", "--output", "log", "--set", "pairs=2000", "--set", "judged=10", "--set", "titles=2000"];

fn names(folder: &Folder, path: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path(path)).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_log_can_be_learnt_from_and_judged_by() {
    let folder = Folder::new();
    let run = folder.run(&[&SIMULATE[..], &["--set", "impressions=true"]].concat()).code(0).prints_nothing();
    let said = run.stderr();
    assert!(said.starts_with("log: written after ") && said.contains("; 2,000 pairs from "), "{said}");
    let log = folder.read("log/log.tsv");
    assert!(log.starts_with("query\ttitle\tid\tposition\tclicked\tuser\tsession\ttime\tgrade\n"));
    let learn =
        "train --clicks log/clicks.tsv --validation log/validation.tsv --set encoder.cells=8 --epochs 1 --output model";
    folder.run(&learn.split(' ').collect::<Vec<_>>()).code(0).says("log/clicks.tsv: 2,000 pairs");
    let judge = "evaluate --judged log/judged-order.tsv --titles log/titles.tsv bm25 model --json";
    let [judged] = folder.run(&judge.split(' ').collect::<Vec<_>>()).code(0).json_lines().try_into().unwrap();
    assert_eq!(judged["queries"], 10);
}

#[test]
fn json_says_what_was_written_and_threads_change_nothing() {
    let folder = Folder::new();
    let [made] = folder.run(&[&SIMULATE[..], &["--json"]].concat()).code(0).json_lines().try_into().unwrap();
    assert_eq!(
        (&made["simulation"], &made["pairs"], &made["validation"].is_u64()),
        (&"log".into(), &2000.into(), &true)
    );
    let clicks = folder.read("log/clicks.tsv");
    assert_eq!(clicks.lines().count(), 2001);
    folder.run(&[&SIMULATE[..], &["--threads", "1"]].concat()).code(0);
    assert_eq!(folder.read("log/clicks.tsv"), clicks);
    folder.run(&[&SIMULATE[..], &["--set", "seed=2"]].concat()).code(0);
    assert_ne!(folder.read("log/clicks.tsv"), clicks);
}

#[test]
fn only_a_simulation_is_replaced() {
    let folder = Folder::new();
    folder.run(&SIMULATE).code(0);
    folder.write("log/notes.txt", "mine");
    let refused = "log: expected a simulation to replace, or nothing, found one with `notes.txt` in it";
    folder.run(&SIMULATE).code(2).says(refused);
    assert_eq!(folder.read("log/notes.txt"), "mine");
    folder.write("file", "mine");
    let to = |output: &str| folder.run(&[&SIMULATE[..2], &["--output", output], &SIMULATE[4..]].concat()).code(2);
    to("file").says("file: expected a simulation to replace, or nothing, found a file");
    to(".").says("found a folder with other files in it");
    to("no/log").says("expected a folder");
    assert_eq!(names(&folder, ""), ["file", "log"]);
}

#[test]
fn bad_arguments_and_titles() {
    let folder = Folder::new();
    let with = |more: &[&str]| folder.run(&[&SIMULATE[..6], more].concat()).code(2).prints_nothing();
    with(&["--set", "misspelt=1.5"]).says("misspelt: expected a number from 0 to 1, found 1.5");
    with(&["--set", "position_bias=-1"]).says("position_bias: expected a number from 0 to 10, found -1");
    with(&["--set", "titles=0"]).says("titles: expected a number from 1 to 10000000, found 0");
    with(&["--set", "judged=100001"]).says("judged: expected a number from 0 to 100000, found 100001");
    with(&["--set", "validation=100001"]).says("validation: expected a number from 0 to 100000");
    with(&["--set", "noise=1"]).says("noise: unknown field `noise`, expected one of `pairs`, `titles`, ");
    with(&["--set", "seed"]).says("--set: expected NAME=VALUE");
    with(&["--set", "titles=9", "--titles", "none.tsv"])
        .says("expected `--titles FILE` or `--set titles=N`, found both");
    with(&["--titles", "none.tsv"]).says("none.tsv: cannot open");
    folder.write("titles.tsv", "id\ttitle\n");
    with(&["--titles", "titles.tsv"]).says("titles.tsv: expected titles");
    folder.write("titles.tsv", "id\ttitle\na\t!!!\n");
    with(&["--titles", "titles.tsv"]).says("expected a title with a word, found none");
    folder
        .run(&["lab", "simulate", "--output", "log", "--set", "pairs=0"])
        .code(2)
        .says("pairs: expected 1 or more, found 0");
    assert_eq!(names(&folder, ""), ["titles.tsv"]);
}

#[test]
fn own_titles_are_searched_for() {
    let folder = Folder::with_data();
    let run = folder.run(&[&SIMULATE[..6], &["--titles", "titles.tsv", "--set", "judged=5"]].concat()).code(0);
    assert!(run.stderr().contains("144 titles"), "{}", run.stderr());
    assert_eq!(folder.read("log/titles.tsv"), folder.read("titles.tsv"));
    let beyond = "this is more than the 20 % that were to be";
    assert!(!run.stderr().contains(beyond), "{}", run.stderr());
    let again = ["lab", "simulate", "--output", "log", "--set", "pairs=500", "--titles", "log/titles.tsv"];
    folder.run(&again).code(2).says("expected an output without inputs, found `log/titles.tsv` in `log`");
    assert_eq!(folder.read("log/titles.tsv"), folder.read("titles.tsv"));
    // With few titles nearly all correctly spelt queries are judged ones.
    folder.write("few.tsv", "id\ttitle\n1\tred oak shelf\n2\tblue pine table\n3\tsteel lamp\n");
    folder
        .run(&["lab", "simulate", "--output", "few", "--set", "pairs=500", "--titles", "few.tsv"])
        .code(0)
        .says(beyond);
}

#[test]
fn killed_half_way_it_leaves_nothing_that_looks_whole() {
    let folder = Folder::new();
    folder.run(&SIMULATE).code(0);
    let before = folder.read("log/clicks.tsv");
    let large = ["lab", "simulate", "--output", "log", "--set", "pairs=20000000", "--set", "impressions=true"];
    let mut child =
        Command::new(program()).args(large).current_dir(folder.path("")).stderr(Stdio::null()).spawn().unwrap();
    // It has begun when its temporary folder is there.
    let begun = Instant::now();
    while names(&folder, "") == ["log"] && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(200));
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "it ended before it was killed");
    assert_eq!(folder.read("log/clicks.tsv"), before);
    // The next one removes what the killed one left.
    folder.run(&SIMULATE).code(0);
    assert_eq!(names(&folder, ""), ["log"]);
}

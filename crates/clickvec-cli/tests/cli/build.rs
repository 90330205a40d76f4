//! `clickvec build`.

use crate::harness::Folder;
use crate::held_out::many_queries;

/// A model that is made quickly.
const SMALL: [&str; 6] = ["--set", "encoder.cells=8", "--set", "encoder.members=1", "--set", "titles.epochs=1"];

/// A folder with a log and its titles, some of which were never clicked.
fn folder() -> Folder {
    let folder = Folder::new();
    let things = ["hammer", "ladder", "paint", "shelf", "faucet", "bracket", "carpet", "drill"];
    let title = |i: usize| format!("i{i}\t{} no {}\tbrand{}\n", things[i % 8], i % 700, i % 3);
    folder.write("log.tsv", many_queries(1400));
    folder.write("titles.tsv", format!("sku\tname\tbrand\n{}", (0..1600).map(title).collect::<String>()));
    folder
}

fn build<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["build", "log.tsv", "--titles", "titles.tsv", "-o", "shop"], &SMALL[..], more].concat()
}

#[test]
fn a_log_and_titles_become_an_index_that_is_searched() {
    let folder = folder();
    let run = folder.run(&build(&["--store", "brand"])).code(0);
    for said in [
        "1 of 6  looking at the files",
        "titles.tsv: 1,600 titles, ids in `sku`, texts in `name`",
        "2 of 6  counting clicks",
        "1,400 clicks of 1,400 queries on 1,400 titles",
        "3 of 6  learning",
        "held out for evaluation: 140 of 1,400 queries",
        "4 of 6  testing",
        "5 of 6  learning all clicks, also those held out",
        "6 of 6  making the index",
    ] {
        assert!(run.stderr().contains(said), "{said}: {}", run.stderr());
    }
    run.prints("over all titles, by held-out clicks").prints("BM25 of stems").prints("  clickvec search shop \"");
    folder.run(&["search", "shop", "--filter", "brand=brand1", "hammer 16"]).code(0).prints("hammer no 16");
    folder.run(&["inspect", "shop"]).code(0);
    assert!(!folder.path("shop.work").exists());
}

#[test]
fn judged_titles_take_the_place_of_held_out_clicks() {
    let folder = folder();
    folder.write("judged.tsv", "query\ttitle\tgrade\nhammer 8\thammer no 8\t4\nbig drill 7\tdrill no 7\t3\n");
    let events = folder.run(&build(&["--fast", "--judged", "judged.tsv", "--json"])).code(0).json_lines();
    let tested = events.iter().find(|event| event["event"] == "tested").unwrap();
    assert_eq!((&tested["evidence"], tested["tests"].as_array().unwrap().len()), (&"judgments".into(), 2));
    assert!(events.iter().all(|event| event["event"] != "all_clicks"), "--fast learns once");
    let done = events.last().unwrap();
    assert_eq!((&done["event"], &done["titles"]), (&"done".into(), &1600.into()));
}

#[test]
fn what_cannot_be_built_is_refused_at_once() {
    let folder = folder();
    let refused = |arguments: &[&str], message: &str| {
        folder.run(arguments).code(2).says(message);
        assert!(!folder.path("shop").exists() && !folder.path("shop.work").exists());
    };
    refused(&["build", "titles.tsv", "--titles", "log.tsv", "-o", "shop"], "the log and the titles are swapped");
    refused(&build(&["--set", "epoch=1"]), "epoch");
    refused(&build(&["--columns", "query=search"]), "search");
    folder.write("teacher.npy", "no vectors");
    refused(&build(&["--teacher", "teacher.npy"]), "teacher.npy:1: expected vectors");
    refused(&["build", "none.tsv", "--titles", "titles.tsv", "-o", "shop"], "none.tsv: cannot open");
    // It has no option for the form of times, and `prepare` has.
    folder.write("days.csv", format!("query,title,time\n{}", "hammer,hammer no 8,17 of May\n".repeat(20)));
    refused(&["build", "days.csv", "--titles", "titles.tsv", "-o", "shop"], "`prepare --time-format`");
}

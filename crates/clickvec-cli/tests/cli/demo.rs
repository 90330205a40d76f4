//! `clickvec demo`.

use crate::harness::Folder;

const DEMO: [&str; 5] = ["demo", "--pairs", "3000", "--epochs", "1"];

#[test]
fn it_shows_everything_and_writes_a_page() {
    let folder = Folder::new();
    let run = folder.run(&DEMO).code(0).says("done in ");
    let text = run.stdout();
    for part in
        ["3,000 pairs", "bm25", "dssm", "lstm", "NDCG@10", "synonym", "order", "clickvec train --clicks clicks.tsv"]
    {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    for line in text.lines().chain(run.stderr().lines()) {
        assert!(line.chars().count() <= 80 && !line.contains('\u{1b}'), "{line}");
    }
    let page = folder.read("clickvec-demo.html");
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    for strange in ["{{", "http:", "https:", "src=", "<script"] {
        assert!(!page.contains(strange), "`{strange}`");
    }
    let names: Vec<_> = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["clickvec-demo.html"]);
}

#[test]
fn what_it_makes_can_be_kept_and_searched() {
    let folder = Folder::new();
    let keep = ["--keep", "kept", "--output", "page.html"];
    let text = folder.run(&[&DEMO[..], &keep].concat()).code(0).stdout();
    let search = "clickvec search --model kept/lstm.safetensors --titles kept/log/titles.tsv";
    assert!(text.contains(search), "{text}");
    let mut arguments: Vec<&str> = search.split(' ').skip(1).collect();
    arguments.push("pizza recipe");
    folder.run(&arguments).code(0);
    folder.run(&[&DEMO[..], &keep].concat()).code(2).says("kept: expected an empty folder, or nothing");
}

#[test]
fn a_page_that_cannot_be_written_is_told_first() {
    let folder = Folder::new();
    let to = |output: &str| folder.run(&["demo", "--output", output]).code(2).prints_nothing();
    to(".").says(".: expected a file, found a folder");
    to("no/page.html").says("no: expected a folder to write into, found none");
    folder.run(&["demo", "--pairs", "0"]).code(2).says("--pairs");
}

//! `clickvec demo`.

use crate::harness::{Folder, program};

const DEMO: [&str; 3] = ["demo", "--pairs", "3000"];

#[test]
fn it_shows_everything_and_writes_a_page() {
    let folder = Folder::new();
    let run = folder.run(&DEMO).code(0).says("done in ");
    let text = run.stdout();
    for part in [
        "3,000 pairs",
        "bm25",
        "dssm",
        "lstm",
        "NDCG@10",
        "synonym",
        "order",
        "clickvec build log.csv --titles titles.tsv",
        "not corrected",
        "c lstm",
        "grade 4",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    // The path of the program may be long.
    let path = program().to_string_lossy();
    for line in text.lines().chain(run.stderr().lines()) {
        assert!((line.chars().count() <= 80 || line.contains(&*path)) && !line.contains('\u{1b}'), "{line}");
    }
    let page = folder.read("clickvec-demo.html");
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("200 judged queries (validation)") && page.contains("grade 4</b>"));
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
    let search = "clickvec search kept/lstm.index";
    let flat = text.replace(" \\\n      ", " ");
    assert!(flat.contains(search), "{text}");
    let mut arguments: Vec<&str> = search.split(' ').skip(1).collect();
    arguments.push("pizza recipe");
    folder.run(&arguments).code(0);
    folder.run(&[&DEMO[..], &keep].concat()).code(2).says("kept: expected an empty folder, or nothing");
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn the_page_goes_to_standard_output() {
    let folder = Folder::new();
    let page = folder.run(&[&DEMO[..], &["-o", "-"]].concat()).code(0).stdout();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(!folder.path("-").exists());
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn what_a_killed_demo_left_is_removed_by_the_next() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("tmp")).unwrap();
    let left = || std::fs::read_dir(folder.path("tmp")).unwrap().count();
    let mut child = std::process::Command::new(program())
        .args(["demo", "--pairs", "2000000"])
        .current_dir(folder.path(""))
        .env("TMPDIR", folder.path("tmp"))
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while left() == 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // A demo that is running is left alone.
    let next = || folder.command().args(DEMO).env("TMPDIR", folder.path("tmp")).output().unwrap();
    assert!(next().status.success() && left() == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(next().status.success());
    assert_eq!(left(), 0);
}

/// Ctrl-C and SIGTERM leave nothing; after SIGKILL the next demo cleans up.
#[test]
#[cfg(unix)]
fn a_demo_that_is_interrupted_leaves_nothing() {
    for (signal, status) in [("-INT", 130), ("-TERM", 143)] {
        let folder = Folder::new();
        std::fs::create_dir(folder.path("tmp")).unwrap();
        let files = || {
            let folders = std::fs::read_dir(folder.path("tmp")).unwrap();
            folders.flat_map(|entry| std::fs::read_dir(entry.unwrap().path())).flatten().count()
        };
        let mut child = std::process::Command::new(program())
            .args(["demo", "--pairs", "2000000"])
            .current_dir(folder.path(""))
            .env("TMPDIR", folder.path("tmp"))
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while files() == 0 {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it wrote anything");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(status));
        assert_eq!(std::fs::read_dir(folder.path("tmp")).unwrap().count(), 0);
        assert!(!folder.path("clickvec-demo.html").exists());
    }
}

#[test]
#[cfg(unix)]
fn a_page_that_cannot_be_written_is_told_first() {
    let folder = Folder::new();
    let to = |output: &str| folder.run(&["demo", "--output", output]).code(2).prints_nothing();
    to(".").says(".: expected a file, found a folder");
    to("no/page.html").says("no: expected a folder");
    std::fs::create_dir(folder.path("locked")).unwrap();
    std::fs::set_permissions(folder.path("locked"), std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    // Root may write there.
    if std::fs::write(folder.path("locked/any"), "").is_err() {
        to("locked/page.html").says("locked/page.html: cannot write");
    }
    folder.run(&["demo", "--pairs", "0"]).code(2).says("--pairs");
}

//! `clickvec prepare` where something is in the way: bad rows, full disks, kills, outputs that are inputs.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::harness::{Folder, program};
use crate::prepare::{LOG, json, prepare};

/// What a former run wrote.
const FORMER: &str = "query\ttitle\tcount\nformer\tformer\t1\n";

#[test]
fn broken_rows_are_counted_and_too_many_stop() {
    let folder = Folder::new();
    let rows = |broken: usize| {
        let good = "shoes\tRed shoes\t1\n".repeat(1000 - broken);
        format!("query\ttitle\tcount\n{}{good}", "shoes\tRed shoes\t-1\n".repeat(broken))
    };
    folder.write("log.tsv", rows(10));
    let run = prepare(&folder, &[]).code(0).says("10 (bad count 10)");
    run.says("log.tsv:2: expected a count, a whole number from 0 to 1,000,000,000,000 in column `count`, found `-1`")
        .says("and 5 more");
    let former = folder.read("clicks.tsv");
    folder.write("log.tsv", rows(11));
    let run = prepare(&folder, &[]).code(2).says("expected at most 1 % broken rows, found 11 of 1,000 rows (1.10 %)");
    run.says("log.tsv:2: ").says("check `--format` and `--columns`, or allow more as `--max-bad`");
    assert_eq!(folder.read("clicks.tsv"), former);
    prepare(&folder, &["--max-bad", "2%"]).code(0);

    // Broken rows at the beginning count like others, unless there are hopelessly many.
    let (bad, good) = ("shoes\tRed shoes\t-1\n", "shoes\tRed shoes\t1\n");
    let rows =
        |broken: usize, all: usize| format!("query\ttitle\tcount\n{}{}", bad.repeat(broken), good.repeat(all - broken));
    folder.write("log.tsv", rows(1_000, 140_000));
    prepare(&folder, &[]).code(0).says("1,000 (bad count 1,000)");
    folder.write("log.tsv", rows(12_000, 140_000));
    prepare(&folder, &[]).code(2).says("found 12,000 of 140,000 rows (8.57 %)");
    folder.write("log.tsv", rows(20_000, 140_000));
    prepare(&folder, &[]).code(2).says("found 20,000 of the first 65,536 rows (30.52 %)");
    prepare(&folder, &["--max-bad", "40%"]).code(0);

    for (log, kind) in [
        ("query\ttitle\tcount\na\tb\tNaN\n", "bad count"),
        ("query\ttitle\tcount\na\tb\t1.5\n", "bad count"),
        // Two of these would not fit into any sum, and be more than all others.
        ("query\ttitle\tcount\na\tb\t18446744073709551615\n", "bad count"),
        ("query\ttitle\tcount\na\tb\t1000000000001\n", "bad count"),
        ("query\ttitle\ttime\na\tb\tsoon\n", "bad time"),
        ("query\ttitle\tclicked\na\tb\t2\n", "bad click"),
        ("query\ttitle\na\n", "wrong number of columns"),
        ("query\ttitle\na\tb\tc\n", "wrong number of columns"),
        ("query\ttitle\na\0\tb\n", "NUL byte"),
    ] {
        // One good row, so that something remains.
        let header = log.lines().next().unwrap();
        let good = ["a", "b", "1"][..header.split('\t').count()].join("\t");
        folder.write("log.tsv", format!("{log}{good}\n"));
        let report = json(prepare(&folder, &["--max-bad", "100%", "--json"]));
        assert_eq!(report["broken_by_kind"][kind], 1, "{log:?}: {report}");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_told_before_the_log_is_read() {
    let folder = Folder::new();
    folder.write("log.tsv", "query\ttitle\ttime\na\tb\t2024\na\tb\t2025\n");
    std::fs::create_dir(folder.path("pages")).unwrap();
    let run = prepare(&folder, &["--report", "pages/report.html"]).code(0);
    run.says("warning: all times are on 1970-01-01, because numbers count as seconds").says("only years");
    if cfg!(unix) {
        let clicks = folder.read("clicks.tsv");
        folder.write("log.tsv", "query\ttitle\nother\tother\n");
        // Longer than a file system allows.
        let long = format!("pages/{}.html", "r".repeat(300));
        let run = prepare(&folder, &["--report", &long]).code(2);
        run.says("r.html: cannot write: ");
        assert_eq!(folder.read("clicks.tsv"), clicks);
    }
}

#[test]
fn a_log_that_is_named_twice_is_refused() {
    let folder = Folder::new();
    folder.write("log.tsv", "query\ttitle\na\tb\n");
    let run = folder.run(&["prepare", "log.tsv", "./log.tsv", "--output", "clicks.tsv", "--min-users", "1"]).code(2);
    run.says("expected each log once, found `./log.tsv` again");
    assert!(!folder.path("clicks.tsv").exists());
}

#[test]
fn logs_that_are_refused() {
    let folder = Folder::new();
    folder.write("old.tsv", FORMER);
    for (log, expected) in [
        (&b""[..], "log.tsv: expected a header line, found nothing"),
        (b"\xff\xfeq\0u\0", "found UTF-16"),
        (b"query\xff\ttitle\n", "expected a header in UTF-8"),
        (b"q\ttitle\na\tb\n", "expected a column `query`, found `q`, `title`; name it as `query=NAME` in `--columns`"),
        (b"query\tquery\ttitle\na\tb\tc\n", "expected one column `query` in the header, found several"),
        (b"query\ttitle\n", "the log has no rows"),
        (b"query\ttitle\n\t\n", "of 1 row: 1 without a query"),
    ] {
        folder.write("log.tsv", log);
        folder.run(&["prepare", "log.tsv", "-o", "old.tsv"]).code(2).says(expected).prints_nothing();
        assert_eq!(folder.read("old.tsv"), FORMER);
    }
    folder.write("log.tsv", LOG);
    folder.write("other.tsv", "query\ttitle\na\tb\n");
    for (arguments, expected) in [
        (&["prepare", "log.tsv", "-o", "log.tsv"][..], "expected an output that is not an input"),
        (&["prepare", "log.tsv", "-o", "out.tsv", "--report", "out.tsv"], "a file of its own for each output"),
        (&["prepare", "log.tsv", "other.tsv", "-o", "out.tsv"], "other.tsv: expected the columns of log.tsv"),
        (&["prepare", "missing.tsv", "-o", "out.tsv"], "missing.tsv: cannot open"),
        (&["prepare", ".", "-o", "out.tsv"], "expected a file, found a folder"),
        (&["prepare", "log.tsv", "-o", "no/out.tsv"], "no: expected a folder to write into, found none"),
        (&["prepare", "log.tsv", "-o", "out.tsv", "--columns", "user=who"], "expected a column `who`, found `query`"),
        (
            &["prepare", "other.tsv", "-o", "out.tsv", "--min-users", "2"],
            "a least number of users needs a column of users, found none; name the column as `user=NAME` in `--columns`",
        ),
        (&["prepare", "other.tsv", "-o", "out.tsv", "--correct-position-bias"], "`position=NAME`"),
        (&["prepare", "log.tsv", "-o", "out.tsv", "--memory", "1M"], "16M or more"),
        (&["prepare", "log.tsv", "-o", "out.tsv", "--max-bad", "-1"], ""),
        (&["prepare", "-", "-", "-o", "out.tsv"], "standard input"),
    ] {
        folder.run(arguments).code(2).says(expected);
        assert!(!folder.path("out.tsv").exists() && !folder.path("v.tsv").exists());
    }
    assert_eq!(folder.read("log.tsv"), LOG);
    folder.write("log.parquet", b"PAR1 and more");
    let run = folder.run(&["prepare", "log.parquet", "-o", "out.tsv"]).code(2);
    run.says("cannot read this Parquet file");
}

#[cfg(target_os = "linux")]
#[test]
fn one_column_is_not_both_query_and_title() {
    let folder = Folder::new();
    folder.write("log.tsv", "query\ttitle\titem\nshoes\tRed shoes\t1\n");
    let same = "expected a column of queries and another of titles, found `";
    for columns in [
        &["--columns=query=query", "--columns=title=query"][..],
        &["--columns=title=query"],
        &["--columns=query=title"],
        &["--columns=query=item", "--columns=title=item", "--item-as-title"],
    ] {
        prepare(&folder, columns).code(2).says(same).says("name them as `query=NAME,title=NAME` in `--columns`");
    }
    assert!(!folder.path("clicks.tsv").exists());
    prepare(&folder, &["--columns=query=title", "--columns=title=query"]).code(0);
    // A log of items gets its titles elsewhere.
    folder.write("items.tsv", "id\ttitle\n1\tRed shoes\n");
    folder.write("log.tsv", "typed\titem\nshoes\t1\n");
    prepare(&folder, &["--columns=query=typed", "--titles=items.tsv"]).code(0);
}

#[test]
fn a_full_disk_is_an_error() {
    let folder = Folder::new();
    folder.write("log.tsv", LOG);
    let run = folder.run(&["prepare", "log.tsv", "-o", "/dev/full", "--min-users", "1"]).code(2);
    run.says("/dev/full: cannot write: No space left on device");
    let names: Vec<_> = std::fs::read_dir(folder.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["log.tsv"]);
    for name in ["/dev/stdout", "-"] {
        folder.run(&["prepare", "log.tsv", "-o", name, "--min-users", "1"]).code(0).prints("sofa\tCouch\t1\n");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_by_name_loses_nothing() {
    let folder = Folder::new();
    folder.write("log.tsv", LOG);
    prepare(&folder, &["--min-users", "1"]).code(0);
    let expected = folder.read("clicks.tsv");
    let made = Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(made.success());
    let path = folder.path("pipe");
    let writer = std::thread::spawn(move || std::fs::write(path, LOG).unwrap());
    folder.run(&["prepare", "pipe", "-o", "again.tsv", "--min-users", "1"]).code(0);
    writer.join().unwrap();
    assert_eq!(folder.read("again.tsv"), expected);
}

#[cfg(unix)]
#[test]
fn outputs_are_told_apart_by_where_they_lead() {
    let folder = Folder::new();
    folder.write("log.tsv", LOG);
    std::fs::create_dir(folder.path("sub")).unwrap();
    std::os::unix::fs::symlink("out.tsv", folder.path("link.tsv")).unwrap();
    for other in ["./out.tsv", "sub/../out.tsv", "link.tsv"] {
        folder.run(&["prepare", "log.tsv", "-o", "out.tsv", "--report", other]).code(2).says("a file of its own");
        assert!(!folder.path("out.tsv").exists());
    }
    std::fs::hard_link(folder.path("log.tsv"), folder.path("hard.tsv")).unwrap();
    folder.run(&["prepare", "log.tsv", "-o", "hard.tsv"]).code(2).says("expected an output that is not an input");
    folder.run(&["prepare", "log.tsv", "-o", "out.tsv", "--report", "no/r.html"]).code(2).says("no: expected a folder");
    folder.run(&["prepare", "log.tsv", "-o", "-", "--json"]).code(2).says("standard output");
    // A file that standard output is redirected to is appended to and not replaced.
    folder.write("target", "before\n");
    let target = std::fs::File::options().append(true).open(folder.path("target")).unwrap();
    let mut command = Command::new(program());
    command
        .current_dir(folder.path("."))
        .args(["prepare", "log.tsv", "-o", "/dev/stdout", "--min-users", "1"])
        .stdout(target);
    assert!(command.status().unwrap().success());
    let text = folder.read("target");
    assert!(text.starts_with("before\nquery\ttitle\tcount\n") && text.ends_with("sofa\tCouch\t1\n"), "{text}");
}

#[test]
fn limits_that_cannot_be_held_are_an_error() {
    let folder = Folder::new();
    folder.write("log.tsv", "query\ttitle\tuser\na\tt\tu\n");
    prepare(&folder, &["--max-queries", "9/day"])
        .code(2)
        .says("a limit of queries for each user and day needs a column of times")
        .says("leave `--max-queries` out");
    folder.write("log.tsv", "query\ttitle\na\tt\n");
    prepare(&folder, &["--max-queries", "9"]).code(2).says("needs a column of users").says("leave `--max-queries` out");
    // A table that has rows does not give way to one without.
    folder.write("clicks.tsv", FORMER);
    folder.write("log.tsv", "query\ttitle\tcount\na\tt\t0\n");
    prepare(&folder, &[]).code(2).says("expected pairs of a query and a title, found none left");
    assert_eq!(folder.read("clicks.tsv"), FORMER);
}

#[test]
fn what_a_killed_run_left_is_removed() {
    let folder = Folder::new();
    folder.write("log.tsv", LOG);
    folder.write(".clickvec-clicks.tsv-abcdef.tmp", "half");
    prepare(&folder, &["--min-users", "1"]).code(0);
    assert!(!folder.path(".clickvec-clicks.tsv-abcdef.tmp").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_run_leaves_what_was_there_and_nothing_else() {
    let folder = Folder::new();
    folder.write("clicks.tsv", FORMER);
    let names = || {
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let mut child = Command::new(program())
        .args(["prepare", "-", "-o", "clicks.tsv", "--min-users", "1"])
        .current_dir(folder.path("."))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(LOG.as_bytes()).unwrap();
    while !folder.path(".clickvec-clicks.tsv.lock").exists() {}
    child.kill().unwrap();
    child.wait().unwrap();
    // The lock is empty, and no process holds it.
    assert_eq!(names(), [".clickvec-clicks.tsv.lock", "clicks.tsv"]);
    assert_eq!(folder.read("clicks.tsv"), FORMER);
    folder.write("log.tsv", LOG);
    prepare(&folder, &["--min-users", "1"]).code(0);
    assert_eq!(names(), ["clicks.tsv", "log.tsv"]);
}

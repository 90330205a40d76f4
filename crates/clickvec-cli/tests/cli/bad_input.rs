//! Tables as they occur in practice: a clear error with code 2, or a counted skip.

use std::io::Write;

use crate::harness::Folder;

/// Files that no command can read, with the expected messages.
fn unreadable(folder: &Folder, column: &str) -> Vec<(&'static str, String)> {
    folder.write("empty", "");
    folder.write("other-columns", "a\tb\n1\t2\n");
    folder.write("not-utf8", b"qu\xffery\ttitle\n");
    folder.write("twice", "query\ttitle\tid\tgrade\tid\tgrade\tquery\ttitle\n");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    let table = folder.read("clicks.tsv").replace("query\ttitle", "query\ttitle\tgrade\tid\tcount");
    gzip.write_all(table.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    folder.write("cut.gz", &gzip[..gzip.len() / 2]);
    std::fs::create_dir_all(folder.path("folder")).unwrap();
    vec![
        ("empty", "empty: expected a header line, found nothing".to_owned()),
        ("other-columns", format!("expected a column `{column}` in the header, found ")),
        ("not-utf8", "expected a header in UTF-8, found another byte at position".to_owned()),
        ("twice", format!("expected one column `{column}` in the header, found several")),
        ("cut.gz", "cut.gz:".to_owned()),
        ("folder", "folder: expected a file, ".to_owned()),
        ("missing", "missing: cannot open".to_owned()),
    ]
}

#[test]
fn a_log_that_cannot_be_read() {
    let folder = Folder::with_data();
    for (file, message) in unreadable(&folder, "query") {
        folder
            .run(&["train", "--clicks", file, "--output", "m", "--epochs", "1"])
            .code(2)
            .says(&message)
            .prints_nothing();
        assert!(!folder.path("m").exists());
    }
    folder.write("log.csv", "time,user,query,sku\n1,2,red lamp,l1\n");
    let hint =
        "found `time`, `user`, `query`, `sku`; see docs/reference/tables.md; `clickvec prepare` makes a click log";
    folder.run(&["train", "--clicks", "log.csv", "--output", "m"]).code(2).says(hint).prints_nothing();
    folder.write("header", "query\ttitle\n");
    folder.run(&["train", "--clicks", "header", "--output", "m", "--epochs", "1"]).code(2).says("header");
}

#[test]
fn judged_titles_that_cannot_be_read() {
    let folder = Folder::with_data();
    for (file, message) in unreadable(&folder, "query") {
        // The cut file has complete columns but not all rows.
        folder.run(&["evaluate", "--judged", file, "bm25"]).code(2).says(&message).prints_nothing();
        folder.train("m", &["--validation", file]).code(2).says(&message);
    }
    for (grade, found) in [("11", "`11`"), ("good", "`good`"), ("2.5", "`2.5`")] {
        folder.write("bad", format!("query\ttitle\tgrade\na\tb\t1\na\tc\t{grade}\n"));
        let message = format!("bad:3: expected a grade, one of the integers 0 to 10, found {found}");
        folder.run(&["evaluate", "--judged", "bad", "bm25"]).code(2).says(&message);
    }
    folder.write("bad", "query\ttitle\tgrade\na\tb\t1\na\tc\n");
    let broken = "bad:3: expected at least 3 columns, found 2";
    folder.run(&["evaluate", "--judged", "bad", "bm25"]).code(2).says(broken);
    folder.write("bad", b"query\ttitle\tgrade\na\tb\xff\t1\n");
    folder.run(&["evaluate", "--judged", "bad", "bm25"]).code(2).says("bad:2: expected UTF-8");
    folder.write("bad", "query\ttitle\tgrade\n");
    let nothing = "bad: expected judged titles below the header, found none";
    folder.run(&["evaluate", "--judged", "bad", "bm25"]).code(2).says(nothing);
}

#[test]
fn titles_that_cannot_be_read() {
    let folder = Folder::with_model();
    for (file, message) in unreadable(&folder, "id") {
        folder.index("model.safetensors", file).code(2).says(&message).prints_nothing();
        let evaluate = ["evaluate", "--judged", "judged.tsv", "bm25", "--titles", file];
        folder.run(&evaluate).code(2).says(&message).prints_nothing();
    }
    folder.write("bad", "id\ttitle\n1\ta\n1\tb\n");
    let twice = "bad:3: expected a new id, found `1`, which line 2 has already";
    folder.index("model.safetensors", "bad").code(2).says(twice);
    folder.write("bad", "id\ttitle\n");
    let nothing = "bad: expected titles below the header, found none";
    folder.index("model.safetensors", "bad").code(2).says(nothing);
    folder.write("bad", "id\ttitle\n1\n2\n3\n4\n");
    let broken = "expected titles below the header, found none (4 broken; line 2: expected at least 2 columns, found 1";
    folder.run(&["evaluate", "--judged", "judged.tsv", "bm25", "--titles", "bad"]).code(2).says(broken);
    let index = folder.index("model.safetensors", "bad").code(2);
    index.says("bad:2: expected at least 2 columns, found 1");
}

#[test]
fn trec_files_that_cannot_be_read() {
    let folder = Folder::new();
    folder.write("q", "1 0 a 1\n");
    folder.write("r", "1 Q0 a 1 0.5 t\n");
    folder.write("bad", "1 0 a\n");
    folder.write("none", "");
    folder.run(&["evaluate", "--judged", "q", "r"]).code(0).prints("1 query");
    folder.run(&["evaluate", "--judged", "bad", "r"]).code(2).says("bad: expected ");
    folder.run(&["evaluate", "--judged", "q", "bad"]).code(2).says("bad:1: expected 6 fields");
    folder.run(&["evaluate", "--judged", "none", "r"]).code(2).says("none: expected a header line");
    folder.run(&["evaluate", "--judged", "q", "none"]).code(2).says("but an empty run");
    folder.run(&["evaluate", "--judged", "q"]).code(2).says("<SYSTEM>...");
}

#[test]
fn a_compressed_log_reads_like_a_plain_one() {
    let folder = Folder::with_data();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(folder.read("clicks.tsv").as_bytes()).unwrap();
    folder.write("clicks.tsv.gz", gzip.finish().unwrap());
    folder.train("plain", &[]).code(0);
    let arguments = ["train", "--clicks", "clicks.tsv.gz", "--output", "zipped"];
    folder.run(&[&arguments, &crate::harness::SMALL[..]].concat()).code(0);
    let bytes = |name| std::fs::read(folder.path(name)).unwrap();
    assert!(bytes("plain") == bytes("zipped"));
}

//! `clickvec prepare --private`: rare queries stay, marked.

use serde_json::Value;

use crate::harness::{Folder, Run};

const LOG: &str = "query\ttitle\tuser\ttime\n\
    Red shoes\tShoes, red\tu1\t2024-05-01 10:00:00\n\
    red  shoes\tShoes, red\tu2\t2024-05-02 10:00:00\n\
    red shoes\tBoots, red\tu3\t2024-05-03 10:00:00\n\
    sofa\tCouch\tu1\t2024-05-01 11:00:00\n";

fn prepare(folder: &Folder, more: &[&str]) -> Run {
    folder.run(&[&["prepare", "log.tsv", "--output", "clicks.tsv"], more].concat())
}

#[track_caller]
fn json(run: Run) -> Value {
    run.code(0).json_lines().remove(0)
}

#[test]
fn what_one_person_typed_stays_out_unless_it_is_private() {
    let folder = Folder::new();
    let mut log = LOG.to_owned();
    log.push_str("zqx wvk\tCouch\tu1\t2024-05-04 10:00:00\n");
    folder.write("log.tsv", &log);
    // Two users by default, and the cost comes before all figures.
    let run = prepare(&folder, &[]).code(0);
    let said = run.stderr();
    let cost =
        said.find("warning: 40 % of the clicks and 67 % of the queries are left out, 2 of 5 and 2 of 3").expect(&said);
    assert!(cost < said.find("titles written").expect(&said));
    assert_eq!(folder.read("clicks.tsv").lines().count(), 3);
    let report = json(prepare(&folder, &["--private", "--min-users", "2", "--json"]));
    assert_eq!((&report["rare"]["queries"], &report["too_few_users"]["queries"]), (&2.into(), &0.into()));
    let expected = "query\ttitle\tcount\trare\nred shoes\tBoots, red\t1\t0\nred shoes\tShoes, red\t2\t0\nsofa\tCouch\t1\t1\nzqx wvk\tCouch\t1\t1\n";
    assert_eq!(folder.read("clicks.tsv"), expected);
    prepare(&folder, &["--private"]).code(0).says(
        "rare: 3 queries, 4 pairs, 5 clicks, of fewer than 5 users, are in clicks.tsv (--private): keep it where the log is",
    );
    folder.write("clicks.tsv", "");
    prepare(&folder, &["--private", "--min-users", "1"])
        .code(2)
        .says("expected 2 or more users for a private table, which say what is rare, found 1; raise `--min-users`");
    folder.write("log.tsv", "query\ttitle\na\tb\n");
    prepare(&folder, &["--private"]).code(2).says("a private table needs a column of users, found none");
    // The model learns from all pairs, and knows no trigram of the rare query alone.
    folder.write("clicks.tsv", expected);
    folder
        .train("private.safetensors", &[])
        .code(0)
        .says("4 pairs, ")
        .says("2 pairs with a rare query are learnt; trigrams that only such queries have are not in the model");
    let without_marks = |line: &str| line.rsplit_once('\t').map(|(rest, _)| format!("{rest}\n"));
    folder.write("clicks.tsv", expected.lines().filter_map(without_marks).collect::<String>());
    folder.train("open.safetensors", &[]).code(0);
    let has = |model: &str, trigram: &str| {
        // A model file has the characters of its trigrams as 32-bit numbers.
        let letters: Vec<u8> = trigram.chars().flat_map(|letter| (letter as u32).to_le_bytes()).collect();
        std::fs::read(folder.path(model)).unwrap().windows(letters.len()).any(|part| part == letters)
    };
    for trigram in ["zqx", "wvk", "sof"] {
        assert!(!has("private.safetensors", trigram) && has("open.safetensors", trigram), "{trigram}");
    }
    assert!(has("private.safetensors", "red"));
}

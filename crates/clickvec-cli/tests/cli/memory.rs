//! How memory grows with judged rows.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::{Folder, anonymous_memory, program};

/// The largest anonymous memory, in bytes, that the program has while it runs with these arguments.
fn peak(folder: &Path, arguments: &[&str]) -> u64 {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = command.spawn().unwrap();
    let mut peak = 0;
    let status = loop {
        peak = peak.max(anonymous_memory(running.id()));
        if let Some(status) = running.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(status.success(), "{arguments:?}");
    peak
}

/// A table of so many judged queries, six titles each, whose texts are as long as those of a shop. They have few different
/// words, since what an embedder remembers of words has a bound of its own.
fn judged(queries: usize) -> String {
    let words = ["hammer", "ladder", "paint", "shelf", "faucet", "bracket", "carpet", "drill", "cordless", "outdoor"];
    // The digits of a number in words, so that each number has a text of its own.
    let text = |number: usize, length: u32| {
        let word = |place: u32| words[number / 10usize.pow(place) % words.len()];
        (0..length).map(word).collect::<Vec<_>>().join(" ")
    };
    let mut table = "query\ttitle\tgrade\n".to_owned();
    for query in 0..queries {
        for title in 6 * query..6 * query + 6 {
            let _ = writeln!(table, "{}\t{} in.\t{}", text(query, 5), text(title, 8), title % 5);
        }
    }
    table
}

/// Of ten times as many judged rows only their texts are kept, and nothing of the work on each: 94,332 rows once took 3.7 GB.
#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn ten_times_the_judged_rows_take_no_more_than_their_texts() {
    const QUERIES: usize = 1_572;
    let folder = Folder::with_data();
    folder.write("few.tsv", judged(QUERIES));
    folder.write("many.tsv", judged(10 * QUERIES));
    folder.run(&["train", "--clicks=clicks.tsv", "--output=m", "--epochs=1"]).code(0);
    let evaluate = ["evaluate", "bm25", "m", "--judged"];
    let train = ["train", "--clicks=clicks.tsv", "--output=n", "--epochs=2", "--validation"];
    for command in [&evaluate[..], &train] {
        let [few, many] = ["few.tsv", "many.tsv"].map(|table| peak(&folder.path(""), &[command, &[table]].concat()));
        let rows = 9 * 6 * QUERIES as u64;
        let per_row = many.saturating_sub(few) / rows;
        println!("{}: {} MB, with ten times the rows {} MB, {per_row} bytes a row", command[0], few >> 20, many >> 20);
        assert!(few > 0 && per_row < 1024, "{}: {few} and {many} bytes", command[0]);
    }
}

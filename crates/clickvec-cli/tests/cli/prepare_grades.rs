//! The grades in the validation set of `clickvec prepare`.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::harness::Folder;

#[test]
fn a_validation_set_has_grades_by_what_clicks_weigh() {
    let folder = Folder::new();
    let mut log = "query\ttitle\tposition\tclicked\n".to_owned();
    for i in 0..800 {
        let query = i / 40;
        // On top every second time, where it is always clicked, and below it half as often; `seldom` is only below.
        for (title, place) in [("top", 1), ("below", 2), ("seldom", 2), ("both", 1 + i % 2)] {
            let clicked = if title == "seldom" { i % 10 == 0 } else { place == 1 || i % 4 < 2 };
            let _ = writeln!(log, "query {query}\t{title} {query}\t{place}\t{}", u8::from(clicked));
        }
    }
    folder.write("log.tsv", log);
    let grades = |flags: &[&str]| -> HashSet<(String, String)> {
        let prepare =
            ["prepare", "log.tsv", "--output", "clicks.tsv", "--validation=held.tsv", "--validation-split=0.5"];
        folder.run(&[&prepare[..], flags].concat()).code(0);
        let held = folder.read("held.tsv");
        let rows = held.lines().skip(1).map(|row| row.split('\t').collect::<Vec<_>>());
        let clicked = rows.filter(|row| row[2] != "0");
        clicked.map(|row| (row[1].split(' ').next().unwrap().to_owned(), row[2].to_owned())).collect()
    };
    let all =
        |named: [(&str, &str); 4]| HashSet::from(named.map(|(title, grade)| (title.to_owned(), grade.to_owned())));
    assert_eq!(grades(&[]), all([("top", "1"), ("below", "1"), ("seldom", "1"), ("both", "1")]));
    // A click below weighs twice as much as one on top.
    let weighed = all([("top", "4"), ("below", "4"), ("seldom", "2"), ("both", "4")]);
    assert_eq!(grades(&["--correct-position-bias=trust=0"]), weighed);
}

//! Random logs compared with a simple count: no written query has fewer users than requested, nothing from a robot is written, and
//! nothing that has enough users is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use clickvec_logs::columns::Role;
use clickvec_logs::robots::Limits;
use clickvec_logs::tables::Options;
use clickvec_logs::{Config, Error, ErrorKind, prepare};
use proptest::prelude::*;

/// Query, title, user (0: unknown), day of May.
type Row = (u8, u8, u8, u8);

fn config(folder: &Path, min_users: usize, limits: Limits, memory: usize) -> Config {
    Config {
        inputs: vec![folder.join("log.tsv")],
        table: Options::default(),
        preset: None,
        titles: None,
        queries: None,
        item_as_title: false,
        keep_case: false,
        keep_personal: false,
        min_users: Some(min_users),
        private: false,
        limits,
        needs_day_limit: false,
        position_weighting: None,
        impressions: 0.0,
        max_bad: 0.0,
        memory,
        output: folder.join("clicks.tsv"),
    }
}

/// The users who exceed a limit, on a day or in the whole log.
fn robots(rows: &[Row], limits: Limits) -> BTreeSet<u8> {
    let over = |user: u8, day: Option<u8>, limit: u64| {
        let asked: Vec<_> = rows.iter().filter(|row| row.2 == user && day.is_none_or(|day| row.3 == day)).collect();
        let mut asked: Vec<(u8, u8)> = asked.into_iter().map(|row| (row.0, row.3)).collect();
        // Consecutive rows with the same query and time are one query.
        asked.dedup();
        asked.len() as u64 > limit
    };
    let is_robot = |user: &u8| {
        (1..5).any(|day| limits.day.is_some_and(|limit| over(*user, Some(day), limit)))
            || limits.log.is_some_and(|limit| over(*user, None, limit))
    };
    (1..12).filter(is_robot).collect()
}

/// The pairs and counts of the rows, without queries of too few users.
fn expected(rows: &[Row], min_users: usize) -> Vec<(String, String, u64)> {
    let mut users: BTreeMap<u8, BTreeSet<u8>> = BTreeMap::new();
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.2 > 0) {
        users.entry(row.0).or_default().insert(row.2);
    }
    for row in rows {
        if min_users == 1 || users.get(&row.0).is_some_and(|users| users.len() >= min_users) {
            *counts.entry((format!("q{}", row.0), format!("t{}", row.1))).or_default() += 1;
        }
    }
    counts.into_iter().map(|((query, title), count)| (query, title, count)).collect()
}

/// The query, title and count of each line of a file.
fn written(path: &Path) -> Vec<(String, String, u64)> {
    let Ok(text) = std::fs::read_to_string(path) else { return Vec::new() };
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        (fields[0].to_owned(), fields[1].to_owned(), fields[2].parse().unwrap())
    };
    text.lines().skip(1).map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_written_query_has_fewer_users(
        rows in prop::collection::vec((0u8..30, 0u8..4, 0u8..12, 1u8..5), 1..400),
        min_users in 1usize..7,
        day in prop::option::of(1u64..14),
        whole in prop::option::of(10u64..40),
        // So little memory that runs are written now and then, or all the time.
        memory in prop::sample::select(vec![1_000, 20_000]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut log = "query\ttitle\tuser\ttime\n".to_owned();
        for (query, title, user, day) in &rows {
            let user = if *user == 0 { String::new() } else { format!("u{user}") };
            let _ = writeln!(log, "Q{query}\tt{title}\t{user}\t2024-05-{day:02}");
        }
        std::fs::write(folder.path().join("log.tsv"), log).unwrap();
        let limits = Limits { day, log: whole };
        let config = config(folder.path(), min_users, limits, memory);
        let is_empty = match prepare(&config, &mut std::io::sink(), &mut |_| ControlFlow::Continue(())) {
            Ok(_) => false,
            Err(error) if error.kind() == ErrorKind::Empty => true,
            Err(error) => panic!("{error}"),
        };
        let robots = robots(&rows, limits);
        let rows: Vec<Row> = rows.into_iter().filter(|row| !robots.contains(&row.2)).collect();
        let written = written(&config.output);
        prop_assert_eq!(is_empty, written.is_empty());
        prop_assert_eq!(written, expected(&rows, min_users));
    }
}

/// Prepares a log with the header `query title user time`. Returns the pairs written, and the report or why there are
/// none.
fn prepared(log: &str, more: impl FnOnce(&mut Config)) -> (String, Result<clickvec_logs::Report, Error>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("log.tsv"), format!("query\ttitle\tuser\ttime\n{log}")).unwrap();
    let none = Limits { day: None, log: None };
    let mut config = config(folder.path(), 1, none, 64 << 20);
    more(&mut config);
    let report = prepare(&config, &mut Vec::new(), &mut |_| ControlFlow::Continue(()));
    (std::fs::read_to_string(&config.output).unwrap_or_default(), report)
}

#[test]
fn one_person_in_many_spellings_is_one() {
    let spellings = ["José", "JOSÉ", "jose\u{301}", " josé ", "jos\u{200b}é", "ｊｏｓé"];
    let log: String = spellings.iter().map(|user| format!("secret\tTitle\t{user}\t\n")).collect();
    let (_, report) = prepared(&log, |config| config.min_users = Some(2));
    let error = report.map(drop).unwrap_err().to_string();
    assert!(error.contains("of 6 rows: 6 clicks of queries with fewer than 2 users;"), "{error}");
}

#[test]
fn a_private_table_has_all_and_marks_what_is_rare() {
    let row = |query: &str, user: &str| format!("{query}\tTitle\t{user}\t\n");
    let log = [row("sofa", "a"), row("sofa", "b"), row("my name", "c"), row("my name", "c")].concat();
    let (written, report) = prepared(&log, |config| {
        config.private = true;
        config.min_users = Some(2);
    });
    assert_eq!(written, "query\ttitle\tcount\trare\nmy name\tTitle\t2\t1\nsofa\tTitle\t2\t0\n");
    let report = report.unwrap();
    assert_eq!((report.rare.queries, report.rare.clicks, report.too_few_users.queries), (1, 2, 0));
}

#[test]
fn nobody_is_no_person() {
    let nobodies = ["\\N", "00000000-0000-0000-0000-000000000000", "anonymous", "Guest", "0", "-1", "NULL"];
    let log: String = nobodies.iter().map(|user| format!("secret\tTitle\t{user}\t\n")).collect();
    let (written, report) = prepared(&log, |config| config.min_users = Some(2));
    assert!(report.is_err_and(|error| error.kind() == ErrorKind::Empty) && written.is_empty(), "{written}");
    let (_, report) = prepared(&log, |_| {});
    assert_eq!(report.unwrap().users.unwrap().count, 0);
}

#[test]
fn a_robot_does_not_escape_by_leaving_the_time_out() {
    let day = |config: &mut Config| config.limits.day = Some(20);
    let robot: String = (0..30).map(|query| format!("robot {query}\tTitle\tr\t\n")).collect();
    let person = "shoes\tRed shoes\tp\t2024-05-17\n";
    let (written, report) = prepared(&format!("{robot}{person}"), day);
    assert_eq!(written, "query\ttitle\tcount\nshoes\tRed shoes\t1\n");
    let report = report.unwrap();
    assert_eq!((report.robots, report.left_out.robots), (Some(1), 30));
    // If no row has a time there are no days, and no user exceeds the limit.
    let (_, report) = prepared(&robot, day);
    assert_eq!(report.unwrap().robots, Some(0));
}

#[test]
fn ids_that_repeat_in_a_table_of_titles_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let titles = folder.path().join("titles.tsv");
    std::fs::write(&titles, "id\ttitle\n1\tRed\n1\tRed\n1\tBlue\n\tNone\n2\t\n3\tGreen\n").unwrap();
    let (written, report) = prepared("shoes\t1\tp\t\nshoes\t1\tp\t\n", |config| {
        config.table.columns.name(Role::Item, "title");
        config.titles = Some((&titles).into());
    });
    assert_eq!(written, "query\ttitle\tcount\nshoes\tRed\t2\n");
    let report = report.unwrap();
    let table = &report.side_tables[0];
    assert_eq!((table.rows, table.empty, table.repeated, table.contradicting), (6, 2, 2, 1));
    assert_eq!(report.titles_read, Some(2));
}

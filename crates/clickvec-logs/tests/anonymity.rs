//! Random logs compared with a simple count: no written query has fewer users than requested in either file, nothing
//! from a robot is in either, and nothing that has enough users is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use clickvec_logs::columns::Role;
use clickvec_logs::robots::Limits;
use clickvec_logs::tables::Options;
use clickvec_logs::time::Time;
use clickvec_logs::{Config, Error, ErrorKind, Split, prepare};
use proptest::prelude::*;

/// Query, title, user (0: unknown), day of May.
type Row = (u8, u8, u8, u8);

fn config(folder: &Path, split: Split, min_users: usize, limits: Limits, memory: usize) -> Config {
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
        split,
        position_weighting: None,
        impressions: 0.0,
        max_bad: 0.0,
        memory,
        output: folder.join("clicks.tsv"),
        validation: (split != Split::None).then(|| folder.join("held.tsv")),
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

/// The pairs and counts of the rows for which `part` is true, without queries of too few users.
fn expected(rows: &[Row], part: impl Fn(&Row) -> bool, min_users: usize) -> Vec<(String, String, u64)> {
    let rows: Vec<&Row> = rows.iter().filter(|row| part(row)).collect();
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

/// The query, title and count of each line of a file; in a validation set the count comes after the grade.
fn written(path: &Path, count: usize) -> Vec<(String, String, u64)> {
    let Ok(text) = std::fs::read_to_string(path) else { return Vec::new() };
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        (fields[0].to_owned(), fields[1].to_owned(), fields[count].parse().unwrap())
    };
    // Titles that were not clicked have a count of 0.
    text.lines().skip(1).map(row).filter(|(_, _, count)| *count > 0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_written_query_has_fewer_users(
        rows in prop::collection::vec((0u8..30, 0u8..4, 0u8..12, 1u8..5), 1..400),
        min_users in 1usize..7,
        split in 0u8..3,
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
        let split = match split {
            0 => Split::None,
            1 => Split::After(Time::parse("2024-05-03").unwrap()),
            _ => Split::Part(0.3),
        };
        let limits = Limits { day, log: whole };
        let config = config(folder.path(), split, min_users, limits, memory);
        let empty = match prepare(&config, &mut std::io::sink(), &mut |_| ControlFlow::Continue(())) {
            Ok(_) => None,
            Err(error) if error.kind() == ErrorKind::Empty => error.path().map(|path| path.ends_with("held.tsv")),
            Err(error) => panic!("{error}"),
        };
        let robots = robots(&rows, limits);
        let rows: Vec<Row> = rows.into_iter().filter(|row| !robots.contains(&row.2)).collect();
        let (training, held) = (written(&config.output, 2), written(&folder.path().join("held.tsv"), 3));
        let all = |part: &dyn Fn(&Row) -> bool| expected(&rows, part, min_users);
        match split {
            Split::None => prop_assert_eq!(training, all(&|_| true)),
            Split::After(_) if empty.is_some() => {
                let parts = [all(&|row| row.3 < 3), all(&|row| row.3 >= 3)].map(|part| part.is_empty());
                prop_assert_eq!(parts, [empty == Some(false), empty == Some(true)]);
                prop_assert!(training.is_empty() && held.is_empty());
            }
            Split::After(_) => {
                prop_assert_eq!(training, all(&|row| row.3 < 3));
                prop_assert_eq!(held, all(&|row| row.3 >= 3));
            }
            Split::Part(_) if empty.is_some() => prop_assert!(training.is_empty() && held.is_empty()),
            Split::Part(_) => {
                let queries = |rows: &[(String, String, u64)]| rows.iter().map(|row| row.0.clone()).collect::<BTreeSet<_>>();
                prop_assert!(queries(&training).is_disjoint(&queries(&held)));
                let mut both = [training, held].concat();
                both.sort();
                prop_assert_eq!(both, all(&|_| true));
            }
        }
    }
}

/// Prepares a log with the header `query title user time`. Returns the pairs written, and the report or why there are
/// none.
fn prepared(log: &str, more: impl FnOnce(&mut Config)) -> (String, Result<clickvec_logs::Report, Error>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("log.tsv"), format!("query\ttitle\tuser\ttime\n{log}")).unwrap();
    let none = Limits { day: None, log: None };
    let mut config = config(folder.path(), Split::None, 1, none, 64 << 20);
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
    // A part by itself: a query of two users, one on each side of the split, is rare on both.
    let log = ["sofa\tTitle\ta\t2024-05-01\n", "sofa\tTitle\tb\t2024-05-09\n"].concat();
    let (written, _) = prepared(&log, |config| {
        config.private = true;
        config.min_users = Some(2);
        config.split = Split::After(clickvec_logs::time::Time::parse("2024-05-05").unwrap());
        config.validation = Some(config.output.with_file_name("held.tsv"));
    });
    assert_eq!(written, "query\ttitle\tcount\trare\nsofa\tTitle\t1\t1\n");
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
    // If no row has a time there are no days, and nobody exceeds the limit.
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

//! `clickvec judge`: sheets that people fill in.

use crate::harness::Folder;

const POOL: [&str; 6] = ["judge", "pool", "i", "--queries", "clicks.tsv", "--output"];

/// A folder with a model and the index `i` of the titles.
fn with_index() -> Folder {
    let folder = Folder::with_model();
    folder.run(&["index", "--model=model.safetensors", "--titles=titles.tsv", "--output=i"]).code(0);
    folder
}

/// The sheet with the grades that `grade` gives its lines after the header.
fn filled(sheet: &str, grade: impl Fn(usize, &str) -> String) -> String {
    let mut lines = sheet.lines();
    let head = lines.next().unwrap();
    let rows: String = lines.enumerate().map(|(place, line)| format!("{line}{}\n", grade(place, line))).collect();
    format!("{head}\n{rows}")
}

#[test]
fn a_sheet_has_every_title_once_and_says_nothing_of_its_system() {
    let folder = with_index();
    let pool = |output: &str, more: &[&str]| folder.run(&[&POOL[..], &[output, "--depth", "3"], more].concat());
    pool("sheet.tsv", &["--sample", "5", "--html", "sheet.html"])
        .code(0)
        .says("5 queries")
        .says("which 3 systems found 45 times");
    let sheet = folder.read("sheet.tsv");
    assert!(sheet.starts_with("query\ttitle_id\ttitle\tgrade\n"));
    let rows: Vec<Vec<&str>> = sheet.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == 4 && row[3].is_empty()), "{sheet}");
    let mut pairs: Vec<_> = rows.iter().map(|row| (row[0], row[1])).collect();
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs.len(), rows.len());
    let queries: std::collections::BTreeSet<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(queries.len(), 5);
    let said = ["bm25", "model", "rank", "score"].iter().find(|word| sheet.contains(*word));
    assert_eq!(said, None);
    let page = folder.read("sheet.html");
    assert!(rows.iter().all(|row| page.contains(row[2])) && !page.contains("bm25"), "{page}");
    assert!(!page.contains("http://") && !page.contains("https://"), "the page loads something");
    // The same again.
    pool("again.tsv", &["--sample", "5"]).code(0);
    assert_eq!(folder.read("again.tsv"), sheet);
    // A second sheet has other queries.
    pool("second.tsv", &["--sample", "5", "--leave-out", "sheet.tsv"]).code(0);
    let second = folder.read("second.tsv");
    assert!(second.lines().skip(1).all(|line| !queries.contains(line.split('\t').next().unwrap())), "{second}");
    let all = "clicks.tsv: expected queries that no file of --leave-out has, found none";
    pool("third.tsv", &["--leave-out", "clicks.tsv"]).code(2).says(all);
    // Lines of text, and queries without a title.
    folder.write("queries.txt", "red hammer\n\nzzz qqq\nred hammer\n");
    let lines = ["judge", "pool", "i", "--queries", "queries.txt", "-o", "l.tsv"];
    folder.run(&lines).code(0).says("1 query left out, for which no system finds a title");
    // The files of a ranker are inputs.
    folder.write("words.vec", "1 1\nred 1\n");
    let ranker = [&POOL[..], &["words.vec", "vectors:file=words.vec"]].concat();
    folder.run(&ranker).code(2).says("an input, found `words.vec`");
    assert_eq!(folder.read("words.vec"), "1 1\nred 1\n");
}

#[test]
fn broken_rows_of_the_queries_are_counted_and_shown() {
    let folder = with_index();
    let pool = |queries: &str| {
        folder.write("queries.tsv", queries);
        let base = ["judge", "pool", "i", "--queries=queries.tsv", "--output=s.tsv"];
        folder.run(&[&base[..], &["--sample=100"]].concat())
    };
    let good = "query\tcount\nred hammer\t3\nblue ladder\t1e2\nwhite shelf\t1.0\n";
    pool(&format!("{good}green drill\nyellow paint\tmany\n"))
        .code(0)
        .says("queries.tsv: skipped 2 broken lines:\n  queries.tsv:5: expected 2 columns as in the header, found 1\n")
        .says("  queries.tsv:6: expected a whole number from 0 to 1,000,000,000,000 in column `count`, found `many`")
        .says("3 queries");
    let in_capitals = good.replacen("count", "Count", 1);
    pool(&format!("{in_capitals}yellow paint\tmany\n")).code(0).says("in column `count`, found `many`");
    // They are not rounded.
    pool(&format!("{good}green drill\t2.5\nyellow paint\t1e300\nblack carpet\t-1\n"))
        .code(0)
        .says("queries.tsv: skipped 3 broken lines:")
        .says("`count`, found `2.5`")
        .says("`count`, found `1e300`");
    // An empty one says nothing, and none matters where no sample is drawn.
    assert!(!pool(&format!("{good}green drill\t\n")).code(0).says("4 queries").stderr().contains("skipped"));
    let unused = ["judge", "pool", "i", "--queries=queries.tsv", "--output=s.tsv"];
    folder.write("queries.tsv", "query\tcount\nred hammer\tmany\nblue ladder\t1,000\n");
    assert!(!folder.run(&unused).code(0).says("2 queries").stderr().contains("skipped"));
    let message = "queries.tsv: expected a table of queries, found 4 broken lines of 7; fix them first";
    pool(&format!("{good}{}", "green drill\n".repeat(4))).code(2).says(message);
}

#[test]
fn a_filled_sheet_is_a_test_set() {
    let folder = with_index();
    folder.run(&[&POOL[..], &["sheet.tsv", "--depth", "5", "--sample", "12"]].concat()).code(0);
    let sheet = folder.read("sheet.tsv");
    folder.run(&["judge", "read", "sheet.tsv", "--output", "j.tsv"]).code(2).says("expected grades from 0 to 4");
    // Red is perfect, and every fourth row is left open.
    let grade = |place: usize, line: &str| match (place % 4, line.contains("in red")) {
        (3, _) => String::new(),
        (_, true) => "4".to_owned(),
        _ => "1.0".to_owned(),
    };
    folder.write("a.tsv", filled(&sheet, grade));
    // Grades are not replaced by a new sheet.
    let again = [&POOL[..], &["a.tsv", "--depth", "5"]].concat();
    folder.run(&again).code(2).says("a.tsv: expected a new sheet, found one with").prints_nothing();
    assert_eq!(folder.read("a.tsv"), filled(&sheet, grade));
    let in_capitals = filled(&sheet, grade).replacen("grade", "Grade", 1);
    for other_form in
        [in_capitals.clone(), in_capitals.replace(',', " ").replace('\t', ","), in_capitals.replace('\t', ";")]
    {
        folder.write("b.csv", &other_form);
        let again = [&POOL[..], &["b.csv", "--depth", "5"]].concat();
        folder.run(&again).code(2).says("b.csv: expected a new sheet, found one with").prints_nothing();
        assert_eq!(folder.read("b.csv"), other_form);
        folder.run(&["judge", "read", "b.csv", "--output", "j.tsv"]).code(0);
    }
    folder.run(&[&POOL[..], &["sheet.tsv", "--depth", "5", "--sample", "12"]].concat()).code(0);
    let open = (sheet.lines().count() - 1) / 4;
    folder
        .run(&["judge", "read", "a.tsv", "--output", "j.tsv"])
        .code(0)
        .says(&format!("left out {open} rows without a grade"))
        .says("next: clickvec evaluate bm25 MODEL --full --judged j.tsv");
    let judged = folder.read("j.tsv");
    assert!(judged.starts_with("query\ttitle_id\ttitle\tgrade\n"));
    folder.run_with(&["judge", "read", "-", "--output", "piped.tsv"], folder.read("a.tsv")).code(0);
    assert_eq!(folder.read("piped.tsv"), judged);
    folder.run(&["evaluate", "--judged", "j.tsv", "bm25", "model.safetensors"]).code(0);
    folder.run(&["evaluate", "--full", "--judged", "j.tsv", "--titles", "titles.tsv", "bm25"]).code(0);
}

#[test]
fn two_judges_are_compared() {
    let folder = Folder::new();
    let sheet = |grades: [&str; 4]| {
        let rows = grades.iter().enumerate().map(|(i, grade)| format!("q\tt{i}\tTitle, {i}\t{grade}\n"));
        format!("query\ttitle_id\ttitle\tgrade\n{}", rows.collect::<String>())
    };
    folder.write("a.tsv", sheet(["0", "0", "4", ""]));
    // A spreadsheet's CSV of the same sheet.
    let csv = sheet(["0", "1", "4", "3"]).replace('\t', ",").replace("Title, ", "Title ");
    folder.write("b.csv", csv);
    let read = ["judge", "read", "a.tsv", "b.csv", "--output", "j.tsv"];
    folder
        .run(&read)
        .code(0)
        .says("a.tsv and b.csv: the same grade for 2 of 3 titles that both judged; κ 0.50, with squared weights 0.95");
    let judged = folder.read("j.tsv");
    let grades: Vec<&str> = judged.lines().skip(1).map(|line| line.rsplit('\t').next().unwrap()).collect();
    assert_eq!(grades, ["0", "0", "4", "3"], "a half goes to the lower grade, and one judge is enough");
    let [report] = folder.run(&[&read[..], &["--json"]].concat()).code(0).json_lines().try_into().unwrap();
    assert_eq!((&report["titles"], &report["agreement"][0]["same"]), (&4.into(), &2.into()));
    for (grade, found) in [("5", "found `5`"), ("good", "found `good`"), ("2.5", "found `2.5`")] {
        folder.write("bad.tsv", sheet(["0", grade, "1", ""]));
        let run = folder.run(&["judge", "read", "bad.tsv", "--output", "k.tsv"]).code(2);
        run.says(&format!("bad.tsv:3: expected a grade from 0 to 4 or nothing, {found}"));
        assert!(!folder.path("k.tsv").exists());
    }
}

#[test]
fn models_and_runs_are_pooled_too() {
    let folder = with_index();
    folder.write("queries.tsv", "query_id\tquery\n7\tred hammer\n8\tblue ladder\n9\tred hammer\n");
    // The second of the query's ids is in the run, and its best two titles are taken.
    folder.write("other.run", "9 Q0 t7520 3 0.25 x\n9 Q0 t7510 1 0.75 x\n9 Q0 t7530 2 0.5 x\n");
    let pool = ["judge", "pool", "i", "--depth", "2", "--output", "sheet.tsv", "--queries"];
    let of = |queries: &str, systems: &[&str]| folder.run(&[&pool[..], &[queries], systems].concat());
    let rows = || -> Vec<String> { folder.read("sheet.tsv").lines().skip(1).map(str::to_owned).collect() };
    of("queries.tsv", &[]).code(0).says("which 3 systems found 12 times");
    let by_index = rows();
    // The model of the index finds nothing else.
    of("queries.tsv", &["model.safetensors"]).code(0).says("which 4 systems found 16 times");
    assert_eq!(rows(), by_index);
    let of_run = |rows: &[String]| rows.iter().filter(|row| row.contains("\tt75")).count();
    of("queries.tsv", &["other.run"]).code(0).says("other.run: lacks 1 query");
    assert_eq!(of_run(&rows()), 2, "{:?}", rows());
    assert!(!rows().iter().any(|row| row.contains("t7520")), "{:?}", rows());
    folder.write("capitals.tsv", folder.read("queries.tsv").replacen("query_id", "Query_ID", 1));
    let before = rows();
    of("capitals.tsv", &["other.run"]).code(0);
    assert_eq!(rows(), before);
    // Lines of text have their numbers as ids.
    folder.write("queries.txt", "blue ladder\nred hammer\n");
    folder.write("lines.run", "2 Q0 t7520 1 1 x\n");
    of("queries.txt", &["lines.run"]).code(0);
    assert!(rows().iter().any(|row| row.starts_with("red hammer\tt7520")), "{:?}", rows());
    of("queries.txt", &["other.run"]).code(2).says("expected a run for the queries");
    folder.write("strange.run", "1 Q0 t9999 1 1 x\n");
    of("queries.txt", &["strange.run"]).code(2).says("expected titles of the index, found the id `t9999`");
}

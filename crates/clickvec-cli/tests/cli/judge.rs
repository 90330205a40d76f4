//! `clickvec judge`: a page to grade on, a sheet that loses nothing, and what the grades show.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::harness::Folder;

const BASE: [&str; 6] = ["judge", "shop.index", "--against", "bm25", "--queries", "clicks.tsv"];

/// A running `judge`; it is killed if a test fails.
struct Judge {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    address: String,
}

impl Judge {
    fn start(folder: &Folder, arguments: &[&str]) -> Judge {
        let mut command = folder.command();
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut said, mut line) = (String::new(), String::new());
        let address = loop {
            if stderr.read_line(&mut line).unwrap() == 0 {
                break None;
            }
            if let Some((_, rest)) = line.split_once("http://") {
                break rest.split(' ').next().map(str::to_owned);
            }
            said += &std::mem::take(&mut line);
        };
        let Some(address) = address else {
            child.wait().unwrap();
            panic!("no page: {said}");
        };
        Judge { child, stderr, address }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String, String) {
        let (host, key) = self.address.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} /{key}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
    }

    fn step(&self, step: &Value) -> Value {
        let (status, _, body) = self.ask("POST", "step", &step.to_string());
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    fn look(&self) -> Value {
        self.step(&json!({"step": "look"}))
    }

    /// Grades all titles of the next query, and returns what the page shows then.
    fn grade_query(&self, shown: &Value, grade: impl Fn(&str, &str) -> u8) -> Value {
        let query = shown["query"].as_str().unwrap();
        let titles: Vec<&Value> = shown["titles"].as_array().unwrap().iter().collect();
        let mut shown = Value::Null;
        for title in titles {
            let grade = grade(query, title["title"].as_str().unwrap());
            shown = self.step(&json!({"step": "grade", "query": query, "id": title["id"], "grade": grade}));
        }
        shown
    }

    /// Presses the button of the page that ends it, and returns what is printed.
    fn finish(mut self) -> (Option<i32>, String) {
        self.step(&json!({"step": "finish"}));
        let mut printed = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        (self.child.wait().unwrap().code(), printed)
    }

    fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// Grades by the colour and the thing of the query.
fn by_words(query: &str, title: &str) -> u8 {
    match query.split(' ').filter(|word| title.contains(word)).count() {
        2 => 4,
        found => found as u8,
    }
}

/// The sheet with the grades that `grade` gives its rows.
fn filled(sheet: &str, grade: impl Fn(&str, &str) -> String) -> String {
    let mut lines = sheet.lines();
    let head = lines.next().unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        format!("{}\t{}\t{}\t{}\n", fields[0], fields[1], fields[2], grade(fields[0], fields[2]))
    };
    format!("{head}\n{}", lines.map(row).collect::<String>())
}

#[test]
fn grades_of_a_page_say_which_system_is_better() {
    let folder = Folder::with_index();
    // It finds the first title of the collection for every query.
    let run: String = (1..=48).map(|query| format!("{query} Q0 t0010 1 1 x\n")).collect();
    folder.write("poor.run", run);
    let queries: Vec<String> = folder
        .read("clicks.tsv")
        .lines()
        .skip(1)
        .step_by(3)
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect();
    folder.write("queries.txt", queries.join("\n"));
    let arguments = ["judge", "shop.index", "--against", "poor.run", "--queries", "queries.txt", "--json"];
    let judge = Judge::start(&folder, &arguments);
    let (status, head, page) = judge.ask("GET", "", "");
    assert!(status == 200 && page.contains("judge.js") && !page.contains("http"), "{page}");
    let head = head.to_lowercase();
    assert!(head.contains("default-src 'none'") && head.contains("referrer-policy: no-referrer"), "{head}");
    assert_eq!(judge.ask("GET", "other", "").0, 404);
    let mut shown = judge.look();
    assert_eq!((&shown["judged"], &shown["enough"], &shown["left"]), (&json!(0), &json!(false), &Value::Null));
    assert!(!shown.to_string().contains("poor") && !shown.to_string().contains("shop"), "{shown}");
    let (mut lefts, mut judged) = (Vec::new(), 0);
    while shown["enough"] == json!(false) {
        shown = judge.grade_query(&shown, by_words);
        judged += 1;
        assert_eq!(shown["judged"], json!(judged));
        lefts.extend(shown["left"].as_u64());
    }
    assert!(lefts.len() > 2 && lefts.windows(2).all(|pair| pair[1] <= pair[0] + 3), "{lefts:?}");
    let sentence = "shop finds better titles than poor (";
    assert!(shown["verdict"].as_str().unwrap().starts_with(sentence), "{shown}");
    let (code, printed) = judge.finish();
    let result: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, &result["finding"], &result["queries"]), (Some(0), &json!("better"), &json!(judged)));
    assert!(result["interval"][0].as_f64().unwrap() > 0.0, "{printed}");
    // Once more there is nothing to do, and the table is for people.
    let written =
        ["--write", "opensearch=ratings.json", "--write", "quepid=ratings.csv", "--write", "quepid-book=book.json"];
    folder
        .run(&[&arguments[..6], &written].concat())
        .code(0)
        .prints(sentence)
        .prints("NDCG@10\n")
        .prints("95 % interval +")
        .prints("grades: shop.index.judged.tsv");
    // The sheet is a test set, on which both have the same figures.
    let evaluate =
        ["evaluate", "--full", "--judged", "shop.index.judged.tsv", "shop.index", "--json", "--measures", "ndcg@10"];
    let [report] = folder.run(&evaluate).code(0).says("without a grade").json_lines().try_into().unwrap();
    let difference =
        report["systems"][0]["ndcg@10"].as_f64().unwrap() - result["systems"][0]["ndcg@10"].as_f64().unwrap();
    for judged in ["ratings.json", "ratings.csv", "book.json"] {
        let other = ["evaluate", "shop.index", "--full", "--titles", "titles.tsv", "--json", "--judged", judged];
        let [same] = folder.run(&other).code(0).json_lines().try_into().unwrap();
        assert_eq!(same["systems"][0]["ndcg@10"], report["systems"][0]["ndcg@10"], "{judged}");
    }
    // There every query counts once, here every search.
    assert!(difference.abs() < 0.1, "{difference}");
}

#[test]
fn a_killed_judge_loses_no_grade_and_goes_on() {
    let folder = Folder::with_index();
    let arguments = [&BASE[..], &["-o", "sheet.tsv"]].concat();
    let judge = Judge::start(&folder, &arguments);
    let first = judge.look();
    let second = judge.grade_query(&first, by_words);
    assert_ne!(first["query"], second["query"]);
    let title = &second["titles"][0];
    judge.step(&json!({"step": "grade", "query": second["query"], "id": title["id"], "grade": 3}));
    // No other process writes to the sheet meanwhile.
    folder.run(&arguments).code(2).says("sheet.tsv: another process writes to this output");
    let before = folder.read("sheet.tsv");
    judge.kill();
    assert_eq!(folder.read("sheet.tsv"), before);
    assert!(before.contains(&format!("{}\t3\n", title["title"].as_str().unwrap())), "{before}");

    let judge = Judge::start(&folder, &arguments);
    let shown = judge.look();
    assert_eq!((&shown["query"], &shown["judged"]), (&second["query"], &json!(1)));
    assert_eq!(shown["titles"][0]["grade"], json!(3));
    let taken_back =
        judge.step(&json!({"step": "grade", "query": first["query"], "id": first["titles"][0]["id"], "grade": null}));
    assert_eq!((&taken_back["query"], &taken_back["judged"]), (&first["query"], &json!(0)));
    let skipped = judge.step(&json!({"step": "skip", "query": first["query"]}));
    assert_eq!(skipped["query"], second["query"]);
    // What no card has is refused, and nothing changes.
    let before = folder.read("sheet.tsv");
    for wrong in [
        json!({"step": "grade", "query": first["query"], "id": "no such title", "grade": 1}),
        json!({"step": "grade", "query": first["query"], "id": first["titles"][0]["id"], "grade": 5}),
        json!({"step": "jump"}),
    ] {
        let (status, _, body) = judge.ask("POST", "step", &wrong.to_string());
        assert!(status == 422 && body.contains("expected"), "{body}");
    }
    assert_eq!(folder.read("sheet.tsv"), before);
    let (code, printed) = judge.finish();
    assert_eq!(code, Some(0));
    assert!(
        printed.starts_with("0 searches do not show whether shop or bm25 finds better titles; judge more queries"),
        "{printed}"
    );
}

#[test]
fn a_sheet_is_filled_anywhere_and_other_rows_stay() {
    let folder = Folder::with_index();
    let other = "another query\tx1\tAnother <b>title</b>\t2\n";
    folder.write("sheet.tsv", format!("query\ttitle_id\ttitle\tgrade\n{other}"));
    let arguments = [&BASE[..], &["-o", "sheet.tsv"]].concat();
    Judge::start(&folder, &arguments).kill();
    let sheet = folder.read("sheet.tsv");
    assert!(sheet.contains(other));
    folder.write("sheet.tsv", filled(&sheet, |query, title| format!("{}.0", by_words(query, title))));
    folder.run(&arguments).code(0).prints("whose first ten titles are all judged\n");
    assert!(folder.read("sheet.tsv").contains("another query\tx1\tAnother <b>title</b>\t0\n"));
    // Bad sheets are refused with the line, and stay as they are.
    for (grade, told) in [("5", "sheet.tsv:2: expected a grade from 0 to 4 or nothing, found `5`"), ("good", "`good`")]
    {
        let bad = filled(&sheet, |_, _| grade.to_owned());
        folder.write("sheet.tsv", &bad);
        folder.run(&arguments).code(2).says(told);
        assert_eq!(folder.read("sheet.tsv"), bad);
    }
    folder.write("sheet.tsv", "id\ttitle\n1\tred\n");
    folder.run(&arguments).code(2).says("sheet.tsv:1: expected the columns query, title_id, title, grade and no other");
}

#[test]
fn a_title_with_markup_is_a_text() {
    let folder = Folder::with_model();
    let titles =
        folder.read("titles.tsv").replacen("hammer in red, 10 in.", "hammer in red <script>alert(1)</script>", 1);
    folder.write("titles.tsv", titles);
    folder.index("model.safetensors", "titles.tsv").code(0);
    folder.write("queries.txt", "red hammer\n");
    let judge = Judge::start(&folder, &["judge", "shop.index", "--against", "bm25", "--queries", "queries.txt"]);
    let shown = judge.look().to_string();
    assert!(shown.contains("<script>alert(1)</script>"), "{shown}");
    // The page puts texts into elements as texts.
    let (_, _, script) = judge.ask("GET", "judge.js", "");
    assert!(!script.contains("innerHTML"));
}

#[test]
fn what_cannot_be_compared_is_refused_before_a_page_is_shown() {
    let folder = Folder::with_index();
    let judge = |against: &str, queries: &str| {
        folder.run(&["judge", "shop.index", "--against", against, "--queries", queries]).code(2)
    };
    judge("shop.index", "clicks.tsv").says("expected another system to compare with, found the index itself");
    judge("bm26", "clicks.tsv").says("found `bm26`");
    folder.write("none.txt", "\n\n");
    judge("bm25", "none.txt").says("none.txt: expected queries, found none");
    folder.write("strange.txt", "zzz qqq\n");
    folder.write("strange.run", "1 Q0 t9999 1 1 x\n");
    judge("strange.run", "strange.txt").says("strange.run: expected titles of the collection, found `t9999`");
    folder.write("other.run", "7 Q0 t0010 1 1 x\n");
    judge("other.run", "strange.txt")
        .says("other.run: expected a run with ids of the judged queries, such as query `1`");
    let broken = "query\tcount\nred hammer\t3\nyellow paint\tmany\ngreen drill\n";
    folder.write("broken.tsv", broken);
    let told = "broken.tsv:3: expected a whole number from 0 to 1,000,000,000,000 in column `count`, found `many`";
    judge("bm25", "broken.tsv").says(told).says("broken.tsv: expected a table of queries, found 2 broken lines of 3");
    folder.write("rows.txt", "red hammer\nblue drill\tt0010\n");
    judge("bm25", "rows.txt").says("rows.txt:2: expected a query, found a tab in it; a table needs a header");
    folder.write("terms.csv", "search term,clicks\nred hammer,3\n");
    judge("bm25", "terms.csv").says("or a table with the column query, found a table with `search term`, `clicks`");
    assert!(!folder.path("shop.index.judged.tsv").exists());
}

#[test]
fn grades_of_a_model_count_with_a_note_of_their_agreement() {
    let folder = Folder::with_index();
    let arguments = [&BASE[..], &["-o", "sheet.tsv"]].concat();
    let judge = Judge::start(&folder, &arguments);
    let first = judge.look();
    judge.grade_query(&first, by_words);
    judge.kill();
    let sheet = folder.read("sheet.tsv");
    // The model grades all, and is a little too mild.
    folder.write("model.tsv", filled(&sheet, |query, title| (by_words(query, title) + 1).min(4).to_string()));
    let with_model = [&arguments[..], &["--judged", "model.tsv"]].concat();
    let titles = first["titles"].as_array().unwrap().len();
    let note = format!("of {titles} titles that both judged; κ 0.");
    folder.run(&with_model).code(0).prints("model.tsv: the same grade for ").prints(&note);
    assert_eq!(folder.read("sheet.tsv"), sheet, "they are not copied");
    let evaluate = ["evaluate", "--full", "shop.index", "bm25", "--judged", "sheet.tsv", "--judged", "model.tsv"];
    folder.run(&evaluate).code(0).prints("48 queries").prints(&note);
    let [report] = folder.run(&[&evaluate[..], &["--json"]].concat()).code(0).json_lines().try_into().unwrap();
    let agreement = &report["agreements"][0];
    assert_eq!((&agreement["file"], &agreement["titles"]), (&json!("model.tsv"), &json!(titles)));
    let told = "judged.tsv: expected a table with the column title_id, since there are several judges";
    folder.run(&[&evaluate[..6], &["--judged", "judged.tsv"]].concat()).code(2).says(told);
    folder.write("other.tsv", "query\ttitle_id\ttitle\tgrade\nother\tt1\tother\t4\n");
    folder.run(&[&evaluate[..6], &["--judged", "other.tsv"]].concat()).code(0).prints("no title was judged by both");
    folder.write("ten.tsv", "query\ttitle_id\ttitle\tgrade\nother\tt1\tother\t10\n");
    folder.run(&[&arguments[..], &["--judged", "ten.tsv"]].concat()).code(2).says("grades from 0 to 4");
}

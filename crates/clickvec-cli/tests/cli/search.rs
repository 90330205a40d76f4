//! `clickvec search`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::harness::{Folder, program};

const BASE: [&str; 2] = ["search", "shop.index"];

#[test]
fn the_best_titles_stand_first() {
    let folder = Folder::with_index();
    let run = folder.run(&[&BASE[..], &["-k", "3", "red hammer"]].concat()).code(0);
    let lines: Vec<String> = run.stdout().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 3, "{}", run.stdout());
    assert!(lines[0].starts_with("1  ") && lines[0].contains("  t"), "{}", run.stdout());
    assert_eq!(run.stderr(), "");
}

#[test]
fn an_id_of_any_length_is_printed() {
    let folder = Folder::with_index();
    let id = "i".repeat(70_000);
    folder.write("long.tsv", format!("id\ttitle\n{id}\tred hammer\nb\tblue ladder\n"));
    folder.index("model.safetensors", "long.tsv").code(0);
    let run = folder.run(&[&BASE[..], &["--min-confidence", "0", "red hammer"]].concat()).code(0);
    assert!(run.stdout().contains(&format!("  {id}  red hammer\n")) && run.stdout().contains("  blue ladder\n"));
}

#[test]
fn typing_errors_are_corrected_and_nonsense_finds_nothing() {
    let folder = Folder::with_index();
    let note = "`hamer red`: searched for `hammer red`; `--as-typed` keeps the words as they are";
    folder.run(&[&BASE[..], &["hamer red"]].concat()).code(0).says(note);
    let typed = folder.run(&[&BASE[..], &["--as-typed", "hamer red"]].concat()).code(0);
    assert!(!typed.stderr().contains("searched for"), "{}", typed.stderr());
    folder.write("topics.tsv", "query_id\tquery\n1\thamer red\n2\tblue ladder\n");
    let note = "searched for 1 of 2 topics with corrected words; `--as-typed` keeps the words as they are\n";
    assert_eq!(folder.run(&[&BASE[..], &["--topics", "topics.tsv"]].concat()).code(0).stderr(), note);
    let [answer] = folder.run(&[&BASE[..], &["--json", "hamer red"]].concat()).code(0).json_lines().try_into().unwrap();
    assert_eq!(answer["corrected"], "hammer red");
    // A scale on which no title of this small model is likely.
    let path = folder.path("shop.index");
    let scale = "{\"noise\":0.99,\"titles\":0.0}";
    assert!(std::fs::read_to_string(path.join("confidence.json")).unwrap().contains("noise"));
    std::fs::write(path.join("confidence.json"), scale).unwrap();
    folder.run(&[&BASE[..], &["red"]].concat()).code(2).says("confidence.json: expected ").prints_nothing();
    folder.run(&[&BASE[..], &["--min-confidence", "2", "red"]].concat()).code(2).says("expected a number from 0 to 1");
}

#[test]
fn json_has_one_object_a_query() {
    let folder = Folder::with_index();
    let run = folder.run(&[&BASE[..], &["--json", "--top", "200", "red hammer", "blue ladder"]].concat()).code(0);
    let answers = run.json_lines();
    assert_eq!(answers.len(), 2);
    assert_eq!((&answers[0]["query"], &answers[1]["query"]), (&"red hammer".into(), &"blue ladder".into()));
    let results = answers[0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 144);
    let mut before = f64::INFINITY;
    for (rank, result) in (1..).zip(results) {
        assert_eq!(result["rank"], rank);
        let score = result["score"].as_f64().unwrap();
        assert!(score <= before, "{result}");
        assert!(result["id"].is_string() && result["title"].is_string());
        before = score;
    }
}

#[test]
fn without_a_known_word_there_is_no_result() {
    let folder = Folder::with_index();
    folder.run(&[&BASE[..], &["…"]].concat()).code(1).says("`…`: no results: expected words");
    let run = folder.run(&[&BASE[..], &["--json", "日本"]].concat()).code(1);
    assert_eq!(run.stdout(), "{\"query\":\"日本\",\"weak\":true,\"results\":[]}\n");
    assert!(run.stderr().contains("no title has any of these words"));
    folder.run(&[&BASE[..], &["日本", "red hammer"]].concat()).code(0);
}

#[test]
fn titles_of_unknown_words_are_found_by_words() {
    let folder = Folder::with_index();
    let titles = folder.read("titles.tsv") + "x1\t日本\nx2\tBlack &amp; Decker men&#39;s drill\nbroken\n";
    folder.write("titles.tsv", titles);
    let titles = folder.read("titles.tsv") + "x3\t--\nx4\t🙂\nx5\t\n";
    folder.write("titles.tsv", titles);
    let run = folder.index("model.safetensors", "titles.tsv").code(0);
    let run = run.says("3 titles without any word: no search finds them");
    let run = run.says("titles.tsv: decoded HTML entities in 1 text");
    assert!(
        run.stderr().contains("1 title found by words alone: the model knows none of their words"),
        "{}",
        run.stderr()
    );
    assert!(run.stderr().contains("titles.tsv:148: expected at least 2 columns, found 1"), "{}", run.stderr());
    let run = folder.run(&[&BASE[..], &["--json", "-k", "1000", "red hammer"]].concat()).code(0);
    assert_eq!(run.json_lines()[0]["results"].as_array().unwrap().len(), 145);
    for mode in ["words", "fused"] {
        let run = folder.run(&["search", "shop.index", "--json", "--mode", mode, "日本"]).code(0);
        assert_eq!(run.json_lines()[0]["results"][0]["id"], "x1", "{mode}");
    }
    folder.run(&["search", "shop.index", "--mode", "vectors", "日本"]).code(1);
    let run = folder.run(&["search", "shop.index", "--json", "--mode", "words", "decker"]).code(0);
    assert_eq!(run.json_lines()[0]["results"][0]["title"], "Black & Decker men's drill");
}

#[test]
fn standard_input_is_answered_as_it_comes() {
    let folder = Folder::with_index();
    let mut child = Command::new(program())
        .args(BASE)
        .args(["--json", "-k", "1"])
        .current_dir(folder.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    for query in ["red hammer", "", "blue ladder"] {
        // The next query is sent only after this one is answered.
        writeln!(input, "{query}").unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["query"], query);
        assert_eq!(answer["results"].as_array().unwrap().len(), usize::from(!query.is_empty()));
    }
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn several_queries_are_told_apart_and_titles_cannot_move_the_cursor() {
    let folder = Folder::with_index();
    folder.write("titles.tsv", "id\ttitle\n1\tred \u{1b}[31mhammer\n");
    folder.index("model.safetensors", "titles.tsv").code(0);
    let run = folder.run(&[&BASE[..], &["red", "hammer"]].concat()).code(0);
    assert!(run.stdout().starts_with("red\n1  "), "{}", run.stdout());
    assert!(run.stdout().contains("\n\nhammer\n1  "), "{}", run.stdout());
    assert!(!run.stdout().contains('\u{1b}'));
}

#[test]
fn a_bad_line_is_told_and_the_others_are_answered() {
    let folder = Folder::with_index();
    let long = "a".repeat((64 << 20) + 1);
    let input = [b"red hammer\n\xff\nblue ladder\n", long.as_bytes(), b"\n\nred\n", long.as_bytes()].concat();
    let search = ["search", "shop.index", "--json"];
    let run = folder.run_with(&search, input.clone()).code(2);
    let run = run.says("standard input:2: expected UTF-8").says("standard input:4: expected a row of at most");
    let run = run.says("standard input: 3 lines could not be read, all others were answered");
    let answers = run.json_lines();
    // Every line gets an answer, so they can be counted.
    let queries: Vec<_> = answers.iter().map(|answer| answer["query"].as_str()).collect();
    assert_eq!(queries, [Some("red hammer"), None, Some("blue ladder"), None, Some(""), Some("red"), None]);
    let message = answers[1]["error"].as_str().unwrap();
    assert!(message.starts_with("standard input:2: expected UTF-8"), "{message}");
    assert!(answers[0].get("error").is_none() && !answers[5]["results"].as_array().unwrap().is_empty());
    assert_eq!(answers[1]["results"].as_array().unwrap().len(), 0);
    let run = folder.run_with(&search[..2], input).code(2);
    assert_eq!(run.stdout().lines().filter(|line| line.starts_with("red")).count(), 2);
}

#[test]
fn a_run_is_what_evaluate_and_judge_take() {
    let folder = Folder::with_index();
    folder.write("topics.tsv", "query_id\tquery\nq7\tred hammer\nq9\tblue ladder\nq10\tzzz qqq\n");
    let judged =
        ["q7\tred hammer\tt0010\thammer in red, 10 in.\t3", "q9\tblue ladder\tt1110\tladder in blue, 10 in.\t10"];
    folder.write("j.tsv", format!("query_id\tquery\ttitle_id\ttitle\tgrade\n{}\n", judged.join("\n")));
    let search = ["search", "shop.index", "-k", "20", "--trec"];
    let run = folder.run(&[&search[..], &["--topics", "topics.tsv"]].concat()).code(0).says("`zzz qqq`: no results");
    let printed = run.stdout();
    let lines: Vec<Vec<&str>> = printed.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len(), 40, "{printed}");
    assert!(lines.iter().all(|line| line.len() == 6 && line[1] == "Q0" && line[5] == "clickvec"));
    assert_eq!((lines[0][0], lines[0][3], lines[20][0]), ("q7", "1", "q9"));
    folder.write("first.run", &printed);
    // The run gets the figures of the search that it was written by.
    let evaluate = ["evaluate", "--full=20", "--judged", "j.tsv", "--titles", "titles.tsv", "--measures", "ndcg@10"];
    let systems = ["model.safetensors", "first.run", "--json"];
    let [report] = folder.run(&[&evaluate[..], &systems].concat()).code(0).json_lines().try_into().unwrap();
    let figure = |place: usize| report["systems"][place]["ndcg@10"].as_f64().unwrap();
    assert!(figure(0) > 0.1 && figure(0) == figure(1), "{report}");
    // Without topics, queries have the numbers of their lines.
    let run = folder.run_with(&search, "red hammer\n\nblue ladder\n").code(0);
    let printed = run.stdout();
    let ids: Vec<&str> = printed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!((ids.len(), ids[0], ids[20]), (40, "1", "3"));
    // What a run cannot say.
    folder.write("spaced.tsv", "id\ttitle\na b\tred hammer\n");
    folder.index("model.safetensors", "spaced.tsv").code(0);
    folder.run(&[&search[..], &["red"]].concat()).code(2).says("standard output:1: ");
    folder.run(&[&search[..], &["--json", "red"]].concat()).code(2);
    folder.run(&[&search[..], &["--topics", "topics.tsv", "red"]].concat()).code(2);
}

#[test]
fn topics_may_be_judged_titles_and_their_faults_are_told() {
    let folder = Folder::with_index();
    let search = ["search", "shop.index", "-k", "2", "--trec", "--topics"];
    let judged = "query_id\tquery\ttitle\tgrade\nq7\tred hammer\ta\t3\nq7\tred hammer\tb\t0\n";
    folder.write("judged.tsv", judged);
    let of_file = folder.run(&[&search[..], &["judged.tsv"]].concat()).code(0).stdout();
    assert_eq!(of_file.lines().filter(|line| line.starts_with("q7 Q0 ")).count(), 2, "{of_file}");
    // What is wrong with judged titles is said of judged titles.
    folder.write("judged.tsv", judged.replace("\t0\n", "\tgood\n"));
    let run = folder.run(&[&search[..], &["judged.tsv"]].concat()).code(2).prints_nothing();
    run.says("judged.tsv:3: ").says("grade");
    folder.write("judged.tsv", "query\ttitle\nred hammer\ta\n");
    folder.run(&[&search[..], &["judged.tsv"]].concat()).code(2).says("`grade`").prints_nothing();
    folder.write("judged.tsv", "query\ttitle\tgrade\n");
    folder.run(&[&search[..], &["judged.tsv"]].concat()).code(2).says("expected topics");
    // What is no id may be a query that a person typed.
    for (text, place) in
        [("john smith\tlamp\n", "log.tsv:1"), ("query_id\tquery\ttitle\tgrade\na b\tc\td\t1\n", "log.tsv")]
    {
        folder.write("log.tsv", text);
        let run = folder.run(&[&search[..], &["log.tsv"]].concat()).code(2);
        let run = run.says(&format!("{place}: expected")).says("white space");
        assert!(!run.stderr().contains("john"), "{}", run.stderr());
    }
    #[cfg(unix)]
    {
        let pipe = folder.run_with(&[&search[..], &["/dev/stdin"]].concat(), judged).code(0);
        assert_eq!(pipe.stdout(), of_file);
        let topics = folder.run_with(&[&search[..], &["/dev/stdin"]].concat(), "q7\tred hammer\n").code(0);
        assert_eq!(topics.stdout(), of_file);
        let bad = folder.run_with(&[&search[..], &["/dev/stdin"]].concat(), judged.replace("\t3\n", "\tgood\n"));
        bad.code(2).says("/dev/stdin:2: ").says("grade");
    }
}

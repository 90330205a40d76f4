//! `clickvec lab table`: files that change, are damaged, or are not plain files.

use serde_json::Value;

use crate::harness::{DATA, Folder, Run, row, small_row};

/// The only model in a cache.
fn model(folder: &Folder) -> String {
    let entries = std::fs::read_dir(folder.path("spec.cache/models")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let [model] = names.filter(|name| name.ends_with(".safetensors")).collect::<Vec<_>>().try_into().unwrap();
    format!("spec.cache/models/{model}")
}

#[test]
fn a_pipe_is_refused_before_it_is_read() {
    let folder = Folder::with_data();
    folder.write("spec.toml", row("a", "ranker = \"bm25\""));
    let files = ["--judged=judged.tsv", "--titles=titles.tsv", "--clicks=clicks.tsv"];
    folder.run(&[&["lab", "table", "spec.toml"], &files[..]].concat()).code(0);
    for option in ["--judged", "--titles", "--clicks", "--topics"] {
        for pipe in ["/dev/stdin", "-"] {
            let given: Vec<String> =
                files.iter().filter(|file| !file.starts_with(option)).map(|file| (*file).into()).collect();
            let given = [given, vec![format!("{option}={pipe}")]].concat();
            let given: Vec<&str> = given.iter().map(String::as_str).collect();
            let run =
                folder.run_with(&[&["lab", "table", "spec.toml"], &given[..]].concat(), folder.read("judged.tsv"));
            let named = if pipe == "-" { "standard input" } else { pipe };
            run.code(2).says(&format!("{named}: expected a file, since a table reads it more than once, found a pipe"));
        }
        let kept = files.iter().filter(|file| !file.starts_with(option)).map(|file| (*file).to_owned());
        let given: Vec<String> = kept.chain([format!("{option}=/dev/zero")]).collect();
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        let run = folder.run(&[&["lab", "table", "spec.toml"], &given[..]].concat()).code(2);
        run.says("/dev/zero: expected a file, since a table reads it more than once, found a device;");
    }
    folder.write("spec.toml", small_row("a", "", "validation = \"/dev/stdin\""));
    folder
        .run_with(&[&["lab", "table", "spec.toml"], &files[..]].concat(), "")
        .code(2)
        .says("/dev/stdin: expected a file");
}

#[test]
fn a_damaged_model_is_trained_again() {
    let folder = Folder::with_data();
    folder.write("spec.toml", DATA.to_owned() + &small_row("a", "", ""));
    let report = |folder: &Folder| {
        let [mut report]: [Value; 1] =
            folder.run(&["lab", "table", "spec.toml", "--json"]).code(0).json_lines().try_into().unwrap();
        let system = report["systems"][0].as_object_mut().unwrap();
        assert!(system.remove("train_seconds").unwrap().as_f64().unwrap() > 0.0);
        system.remove("peak_bytes");
        report
    };
    let expected = report(&folder);
    let model = model(&folder);
    let whole = std::fs::read(folder.path(&model)).unwrap();
    // Its scores are stored, so the model is read only if they are made again.
    let points = || {
        let entries = std::fs::read_dir(folder.path("spec.cache")).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect::<Vec<_>>()
    };
    for damaged in [&whole[..whole.len() / 2], b"", b"{"] {
        folder.write(&model, damaged);
        points().iter().for_each(|point| std::fs::remove_file(point).unwrap());
        assert_eq!(report(&folder), expected);
        assert!(std::fs::read(folder.path(&model)).unwrap() == whole);
    }
}

#[test]
fn a_validation_set_with_one_judged_query_is_refused() {
    let folder = Folder::with_data();
    let judged = folder.read("judged.tsv");
    let train = |validation: &str| {
        folder.write("spec.toml", DATA.to_owned() + &small_row("a", "", &format!("validation = \"{validation}\"")));
        folder.run(&["lab", "table", "spec.toml"])
    };
    folder.write("same.tsv", format!("{judged}\n"));
    train("same.tsv")
        .code(2)
        .says("same.tsv: expected a validation set that is not judged in the table, found 48 queries of it");
    folder.write("one.tsv", "query\ttitle\tgrade\npink hammer\thammer in pink\t3\nRed, hammer!\thammer in red\t3\n");
    train("one.tsv").code(2).says("found 1 query of it there, the first `Red, hammer!`");
    assert!(!folder.path("spec.cache/models").read_dir().unwrap().any(|_| true), "something was trained");
    folder.write("none.tsv", "query\ttitle\tgrade\npink hammer\thammer in pink\t3\n");
    train("none.tsv").code(0);
}

#[test]
fn a_broken_model_is_told_before_anything_is_trained() {
    let folder = Folder::with_data();
    folder.write("broken.safetensors", "none");
    let systems = [row("a", "ranker = \"lsa\""), row("b", "model = \"broken.safetensors\"")];
    folder.write("spec.toml", format!("{DATA}{}", systems.concat()));
    folder.run(&["lab", "table", "spec.toml"]).code(2).says("system `b`: broken.safetensors: ");
    assert!(!folder.path("spec.cache/models").read_dir().unwrap().any(|_| true), "something was trained");
}

#[test]
#[ignore = "slow; .ci/run runs it"]
#[cfg(target_os = "linux")]
fn a_click_log_that_changes_during_a_training_ends_the_table() {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    let folder = Folder::with_data();
    let spec = |epochs: u32| {
        let trained = row("a", &format!("train = {{ encoder.cells = 8, epochs = {epochs} }}"));
        folder.write("spec.toml", format!("{DATA}{trained}"));
    };
    spec(400);
    let mut table = std::process::Command::new(crate::harness::program());
    table.args(["lab", "table", "spec.toml"]).current_dir(folder.path("")).stdout(Stdio::null()).stderr(Stdio::piped());
    let table = table.spawn().unwrap();
    let began = Instant::now();
    // After each epoch it stores its progress next to the model.
    while !folder.path("spec.cache/models").read_dir().is_ok_and(|mut files| files.any(|_| true)) {
        assert!(began.elapsed().as_secs() < 60, "no training was started");
        std::thread::sleep(Duration::from_millis(5));
    }
    folder.write("clicks.tsv", format!("{}red hammer\thammer in red, 40 in.\n", folder.read("clicks.tsv")));
    let output = table.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("clicks.tsv: expected it to stay as it is while the table is made"), "{stderr}");
    let left: Vec<_> =
        folder.path("spec.cache/models").read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Judged titles of a query for which words find the good title, and letters the bad one.
fn misspelt(query: &str) -> String {
    let like: Vec<String> = query.split(' ').map(|word| format!("{word}s")).collect();
    let long = "on a wide and heavy stand made of solid oak by skilled joiners";
    format!("{query}\t{query} {long}\t4\n{query}\t{}\t0\n", like.join(" "))
}

fn evaluated(folder: &Folder) -> Run {
    folder.run(&["evaluate", "--judged=judged.tsv", "trigram", "bm25"]).code(0)
}

#[test]
fn where_few_queries_differ_nothing_is_shown() {
    let folder = Folder::new();
    let systems =
        [("letters", "trigram"), ("words", "bm25")].map(|(name, ranker)| row(name, &format!("ranker = \"{ranker}\"")));
    folder.write("spec.toml", format!("[evaluation]\nfolds = 1\n{}", systems.concat()));
    let words = ["green lamp", "small table", "round mirror", "brown stool", "white couch", "large shelf"];
    let made = |differing: usize, more: &[&str]| {
        let of = |i: usize| format!("{} {}", words[i % words.len()], ["one", "two"][i / words.len()]);
        let differing: String = (0..differing).map(|i| misspelt(&of(i))).collect();
        let alike: String = (0..48).map(|i| format!("number{i}\tnumber{i}\t4\nnumber{i}\tsofa\t0\n")).collect();
        folder.write("judged.tsv", format!("query\ttitle\tgrade\n{differing}{alike}"));
        folder.run(&[&["lab", "table", "spec.toml", "--judged=judged.tsv"], more].concat()).code(0)
    };
    made(1, &[]).prints("not shown: only 1 query differs");
    // t is 2.06, significant if differences were normal. Two of 16 sign patterns are as far from 0.
    made(4, &[]).prints("not shown: only 4 queries differ");
    let [report] = made(4, &["--json"]).json_lines().try_into().unwrap();
    let against = &report["against_first"][0];
    assert!(against["p"].as_f64().unwrap() < 0.05 && against["randomization"] == 0.125, "{against}");
    assert_eq!((&against["holm"], &report["tests"][0]["holm"]), (&0.125.into(), &0.125.into()));
    for marked in [made(4, &[]), made(4, &["--uncorrected"]), evaluated(&folder)] {
        let text = marked.stdout();
        assert!(!text.contains("1.000ᵃ"), "{text}");
    }
    assert_eq!(
        (&against["queries_that_differ"], &against["verdict"], &against["minimum_detectable"]),
        (&4.into(), &"not shown".into(), &Value::Null)
    );
    made(10, &[]).prints("1.000ᵃ");
    evaluated(&folder).prints("1.000ᵃ");
    let [report] = made(10, &["--json"]).json_lines().try_into().unwrap();
    let against = &report["against_first"][0];
    assert!(against["minimum_detectable"].as_f64().unwrap() > 0.1 && against["verdict"] == "better", "{against}");
}

#[test]
fn two_queries_prove_nothing() {
    let folder = Folder::new();
    folder.write("judged.tsv", format!("query\ttitle\tgrade\n{}{}", misspelt("green lamp"), misspelt("small table")));
    let systems = [("letters", "trigram"), ("words", "bm25"), ("again", "bm25:k1=1.2")]
        .map(|(name, ranker)| row(name, &format!("ranker = \"{ranker}\"")));
    folder.write("spec.toml", format!("[evaluation]\nfolds = 1\n{}", systems.concat()));
    let table =
        |more: &[&str]| folder.run(&[&["lab", "table", "spec.toml", "--judged=judged.tsv"], more].concat()).code(0);
    // No figure of the better system has a superscript.
    let unmarked = |text: &str| {
        let row = text.lines().find(|line| line.starts_with("b  words ")).unwrap();
        row.split_whitespace().skip(2).take(3).eq(["1.000"; 3])
    };
    let text = table(&["--against=words"]).stdout();
    assert!(text.contains("not shown: only 2 queries differ") && text.contains("no difference"), "{text}");
    assert!(unmarked(&text), "{text}");
    let text = table(&["--uncorrected"]).stdout();
    assert!(unmarked(&text), "{text}");
    let [report] = table(&["--json"]).json_lines().try_into().unwrap();
    let against = &report["against_first"][0];
    assert_eq!(
        (&against["p"], &against["verdict"], &against["minimum_detectable"]),
        (&0.5.into(), &"not shown".into(), &Value::Null)
    );
    assert_eq!(against["difference"], 1.0);
    let run = folder.run(&["evaluate", "--judged=judged.tsv", "bm25", "trigram", "--json"]).code(0);
    let [report] = run.json_lines().try_into().unwrap();
    assert_eq!((&report["tests"][0]["p"], &report["tests"][0]["t"]), (&0.5.into(), &Value::Null), "{report}");
}

#[test]
fn parameters_stand_fold_by_fold_or_once() {
    let folder = Folder::with_data();
    let made = |folds: u32| {
        let systems = [
            row("a", "ranker = \"bm25\""),
            row("b", "ranker = \"trigram\""),
            row("c", "fusion = [\"a\", \"b\"]\nmethod = \"min-max\""),
            row("d", "ranker = \"bm25\"\ngrid = { k1 = [1, 1.0001] }"),
        ];
        folder.write("spec.toml", format!("{DATA}[evaluation]\nfolds = {folds}\n{}", systems.concat()));
        folder.run(&["lab", "table", "spec.toml"]).code(0).stdout()
    };
    let one = made(1);
    assert!(one.contains("  c: min-max: a=") && !one.contains(" | "), "{one}");
    let five = made(5);
    let line = five.lines().find(|line| line.starts_with("  c: ")).unwrap();
    assert!([1, 5].contains(&line.matches("min-max: ").count()), "{five}");
    assert!(five.contains("\n  d: bm25:k1=1\n"), "{five}");
}

#[test]
fn runs_and_vectors_of_other_programs_are_rows_and_what_they_lack_is_said() {
    let folder = Folder::new();
    folder.write("j.tsv", "query\ttitle\tgrade\nsofa\ta lamp\t0\nsofa\tthe couch\t3\nlamp\tcouch\t0\nlamp\tlight\t3\n");
    folder.write("right.vec", "4 2\nsofa 1 0\ncouch 0.9 0.1\nlamp 0 1\nlight 0.2 0.8\n");
    folder.write("part.vec", "2 2\nsofa 1 0\ncouch 0.9 0.1\n");
    folder.write("none.vec", "1 2\nchair 1 0\n");
    folder.run(&["evaluate", "--judged=j.tsv", "vectors:file=right.vec", "--output=runs"]).code(0);
    let ids: Vec<String> = folder.read("runs/judged.qrels").lines().map(str::to_owned).collect();
    assert_eq!(ids.len(), 4);
    let whole = folder.read("runs/vectors_file=right.vec.run");
    folder.write("part.run", whole.lines().next().unwrap().to_owned() + "\n");
    let data = "[data]\njudged = \"j.tsv\"\n[evaluation]\nfolds = 1\n";
    let table = |rows: &str| {
        folder.write("spec.toml", data.to_owned() + rows);
        folder.run(&["lab", "table", "spec.toml", "--json"])
    };
    let rows = [
        row("one", "ranker = \"vectors:file=right.vec\""),
        row("two", "ranker = \"vectors:queries=part.vec,titles=right.vec\""),
        row("whole", "run = \"runs/vectors_file=right.vec.run\""),
        row("part", "run = \"part.run\""),
        row("all", "fusion = [\"one\", \"whole\", \"part\"]"),
    ];
    let run = table(&rows.concat()).code(0);
    let run = run.says("two: has no vector for 1 of 2 queries, which scores 0");
    let run = run.says("part: lacks 1 judged query").says("part: lacks 3 of 4 judged titles, which come last");
    let [report]: [Value; 1] = run.json_lines().try_into().unwrap();
    let ndcg: Vec<f64> =
        report["systems"].as_array().unwrap().iter().map(|system| system["ndcg@1"].as_f64().unwrap()).collect();
    assert_eq!((ndcg[0], ndcg[2], ndcg[4]), (1.0, 1.0, 1.0), "{report}");
    assert!(ndcg[1] < 1.0 && ndcg[3] < 1.0, "{report}");
    // A row that was kept says it again.
    for _ in 0..2 {
        folder
            .run(&["lab", "table", "spec.toml", "--cache=kept"])
            .code(0)
            .says("two: has no vector for 1 of 2 queries");
    }
    // One that has none of the texts or ids would score like chance.
    let run = table(&row("none", "ranker = \"vectors:file=none.vec\"")).code(1);
    run.says("none: left out: vectors: expected vectors for the texts of the test set, found none for its 2 queries");
    folder.write("other.run", "x Q0 y 1 2.0 a\n");
    table(&row("other", "run = \"other.run\"")).code(2).says("other.run: expected a run");
    let three = "ranker = \"vectors:file=right.vec,queries=right.vec,titles=right.vec\"";
    table(&row("three", three)).code(1).says("expected `file`, or `queries` and `titles`");
    table(&row("idle", "run = \"part.run\"\nvectors = \"right.vec\"")).code(2).says("unknown field `vectors`");
}

#[test]
fn a_folder_of_something_else_is_no_cache() {
    let folder = Folder::with_data();
    folder.write("spec.toml", "[[system]]\nname = \"a\"\nranker = \"bm25\"\n");
    let table =
        ["lab", "table", "spec.toml", "--judged=judged.tsv", "--titles=titles.tsv", "--clicks=clicks.tsv", "--cache=c"];
    std::fs::create_dir(folder.path("c")).unwrap();
    folder.write("c/mine.txt", "mine");
    let other = "c: expected a new folder or that of an earlier table, found one with `mine.txt` and no file `lock`";
    folder.run(&table).code(2).says(other);
    assert_eq!(std::fs::read_dir(folder.path("c")).unwrap().count(), 1);
    std::fs::remove_file(folder.path("c/mine.txt")).unwrap();
    folder.run(&table).code(0);
    folder.run(&table).code(0);
}

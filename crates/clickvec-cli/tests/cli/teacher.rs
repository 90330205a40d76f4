//! `clickvec train --teacher`.

use crate::harness::{Folder, Run, SMALL};

/// A folder with data, and the vectors of its titles and queries by another model in `teacher.FORM`.
fn folder(form: &str) -> Folder {
    let folder = Folder::with_model();
    let column = |name: &str, column: usize| -> Vec<String> {
        let table = std::fs::read_to_string(folder.path(name)).unwrap();
        table.lines().skip(1).map(|line| line.split('\t').nth(column).unwrap().to_owned()).collect()
    };
    let mut texts = [column("titles.tsv", 1), column("clicks.tsv", 0)].concat();
    texts.sort();
    texts.dedup();
    folder.write("teacher.txt", texts.join("\n") + "\n");
    let output = format!("teacher.{form}");
    folder
        .run(&["embed", "model.safetensors", "--side", "title", "--format", form, "-o", &output, "teacher.txt"])
        .code(0);
    folder
}

fn train(folder: &Folder, output: &str, more: &[&str]) -> Run {
    folder.run(&[&["train", "--output", output, "--clicks", "clicks.tsv"], &SMALL[..], more].concat())
}

#[test]
fn a_model_teaches_another() {
    let folder = folder("npy");
    let taught = ["--teacher", "teacher.npy", "--set", "teacher.clicks=0.7"];
    train(&folder, "m", &taught)
        .code(0)
        .says("teacher: vectors of 8 numbers for 48 of 48 queries and 144 of 144 titles")
        .says("  teacher: rank correlation 0.");
    let events =
        train(&folder, "m", &[&taught[..], &["--titles", "titles.tsv", "--json"]].concat()).code(0).json_lines();
    let teacher = events.iter().find(|event| event["event"] == "teacher").unwrap();
    assert_eq!((&teacher["known_queries"], &teacher["vectors"]), (&48.into(), &192.into()), "{teacher}");
    let agreed: Vec<f64> = events.iter().filter_map(|event| event["teacher"]["spearman"].as_f64()).collect();
    assert_eq!(agreed.len(), 9, "six epochs of titles and three of clicks: {events:?}");
    assert!(events.iter().any(|event| event["teacher"]["overlap_of_10"].is_f64()));
    folder.run(&["inspect", "m"]).code(0).prints("teacher.clicks").prints("0.7");
    folder.index("m", "titles.tsv").code(0);
    folder.run(&["search", "shop.index", "red ladder"]).code(0);
}

/// The texts of a `.npy` are a file of their own, which no option names.
#[test]
#[cfg(unix)]
fn the_texts_of_a_teacher_are_not_overwritten() {
    let folder = folder("npy");
    let texts = folder.read("teacher.txt");
    train(&folder, "teacher.txt", &["--teacher", "teacher.npy"]).code(2).says("teacher.txt");
    assert_eq!(folder.read("teacher.txt"), texts);
    std::fs::create_dir(folder.path("out")).unwrap();
    std::os::unix::fs::symlink(folder.path("teacher.txt"), folder.path("out/per-query.tsv")).unwrap();
    let vectors = ["evaluate", "--judged=judged.tsv", "vectors:file=teacher.npy", "--output=out"];
    folder.run(&vectors).code(2).says("per-query.tsv");
    assert_eq!(folder.read("teacher.txt"), texts);
}

#[test]
fn json_lines_are_the_same_teacher() {
    let (npy, json) = (folder("npy"), folder("jsonl"));
    train(&npy, "m", &["--teacher", "teacher.npy"]).code(0);
    train(&json, "m", &["--teacher", "teacher.jsonl"]).code(0);
    assert!(std::fs::read(npy.path("m")).unwrap() == std::fs::read(json.path("m")).unwrap());
}

#[test]
fn parquet_is_the_same_teacher() {
    let (json, parquet) = (folder("jsonl"), folder("parquet"));
    train(&json, "m", &["--teacher", "teacher.jsonl"]).code(0);
    train(&parquet, "m", &["--teacher", "teacher.parquet"]).code(0);
    assert!(std::fs::read(json.path("m")).unwrap() == std::fs::read(parquet.path("m")).unwrap());
    parquet.write("cut.parquet", &std::fs::read(parquet.path("teacher.parquet")).unwrap()[..900]);
    train(&parquet, "no", &["--teacher", "cut.parquet"]).code(2).says("cut.parquet");
}

#[test]
fn damaged_parquet_is_an_error_or_other_vectors() {
    let folder = folder("parquet");
    let whole = std::fs::read(folder.path("teacher.parquet")).unwrap();
    let mut refused = 0;
    for part in 0..24 {
        let mut damaged = whole.clone();
        // Bytes of pages, of their headers, and of the footer.
        let at = if part < 8 { 4 + part * 3 } else { whole.len() * part / 24 };
        damaged[at] ^= 0xff;
        folder.write("damaged.parquet", &damaged);
        let run = train(&folder, "no", &["--teacher", "damaged.parquet", "--epochs", "1"]);
        let is_refused = run.stderr().contains("error: ");
        refused += usize::from(is_refused);
        run.code(if is_refused { 2 } else { 0 });
    }
    assert!(refused > 8, "{refused}");
}

#[test]
fn what_it_lacks_is_counted_once() {
    let folder = folder("jsonl");
    let lines = std::fs::read_to_string(folder.path("teacher.jsonl")).unwrap();
    let half: String = lines.lines().take(100).map(|line| format!("{line}\n")).collect();
    folder.write("half.jsonl", half);
    let half = ["--teacher", "half.jsonl"];
    train(&folder, "m", &half).code(0).says("teacher: 92 texts without a vector, learnt without the teacher");
    // The rest in a second file.
    let rest: String = lines.lines().skip(100).map(|line| format!("{line}\n")).collect();
    folder.write("rest.jsonl", rest);
    let both = train(&folder, "both", &["--teacher", "half.jsonl", "--teacher", "rest.jsonl"]).code(0);
    assert!(!both.stderr().contains("without a vector"), "{}", both.stderr());
    train(&folder, "whole", &["--teacher", "teacher.jsonl"]).code(0);
    assert!(std::fs::read(folder.path("both")).unwrap() == std::fs::read(folder.path("whole")).unwrap());
}

#[test]
fn vectors_of_texts_that_are_not_learnt_are_counted() {
    let folder = folder("jsonl");
    let titles_alone =
        ["train", "--output", "cold", "--set", "encoder.cells=8", "--titles", "titles.tsv", "--set", "titles.epochs=1"];
    let cold = |teacher: &str, more: &[&str]| folder.run(&[&titles_alone[..], &["--teacher", teacher], more].concat());
    cold("teacher.jsonl", &[])
        .code(0)
        .says("teacher: vectors of 8 numbers for 144 of 144 titles")
        .says("48 of 192 vectors are for texts not in the training data (it has no queries without clicks); ignored")
        .says("  teacher: rank correlation ");
    let json = cold("teacher.jsonl", &["--json"]).code(0).json_lines();
    let teacher = json.iter().find(|event| event["event"] == "teacher").unwrap();
    assert_eq!((&teacher["unused"], &teacher["repeated"]), (&48.into(), &0.into()), "{teacher}");
    let lines = folder.read("teacher.jsonl");
    folder.write("twice.jsonl", format!("{lines}{}\n", lines.lines().next().unwrap()));
    train(&folder, "m", &["--teacher", "twice.jsonl"]).code(0).says("ignored 1 repeated vector; the first for a text");
    let whole = train(&folder, "m", &["--teacher", "teacher.jsonl"]).code(0).stderr();
    assert!(!whole.contains("ignored") && !whole.contains("no vectors"), "{whole}");

    // Without a vector of a query there is nothing to compare, and clicks are not taught.
    let table = folder.read("titles.tsv");
    let titles: Vec<&str> = table.lines().skip(1).map(|row| row.split_once('\t').unwrap().1).collect();
    let of_title = |line: &&str| titles.iter().any(|title| line.contains(&format!("{title:?}")));
    let of_titles: String = lines.lines().filter(of_title).map(|line| format!("{line}\n")).collect();
    folder.write("titles.jsonl", &of_titles);
    let run = train(&folder, "m", &["--teacher", "titles.jsonl"]).code(0).says("0 of 48 queries and 144 of 144 titles");
    let said = run.says("no vectors for queries, so clicks are learnt without it").stderr();
    assert!(!said.contains("rank correlation"), "{said}");
    let one = of_titles.lines().next().unwrap();
    folder.write("one.jsonl", format!("{one}\n"));
    train(&folder, "m", &["--teacher", "one.jsonl"])
        .code(0)
        .says("teacher: ignored; it needs vectors for at least two titles");
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = Folder::with_data();
    train(&folder, "m", &["--set", "teacher.clicks=0.5"])
        .code(2)
        .says("teacher.clicks: expected a teacher, on which it acts, found none");
    train(&folder, "m", &["--teacher", "none.npy"]).code(2).says("none.npy");
    folder.write("t.jsonl", "{\"text\":\"red hammer\",\"vector\":[1,2]}\n{\"text\":\"b\",\"vector\":[1]}\n");
    let with = |more: &[&str]| train(&folder, "m", &[&["--teacher", "t.jsonl"], more].concat());
    with(&[]).code(2).says("t.jsonl:2: expected a vector of 2 numbers, as the others have, found 1");
    folder.write("t.jsonl", "{\"text\":\"zebra\",\"vector\":[1,2]}\n");
    with(&[]).code(2).says("teacher: expected vectors of texts");
    folder.write("t.jsonl", "{\"text\":\"red hammer\",\"vector\":[0,0]}\n");
    with(&[]).code(2).says("t.jsonl:1: expected a number other than 0 in the vector of `red hammer`");
    with(&["--set", "teacher.clicks=2"]).code(2).says("teacher.clicks: expected a number from 0 to 1, found 2");
    with(&["--set", "negatives=4"]).code(2).says("negatives: expected `all` with a teacher");
    assert!(!folder.path("m").exists());
}

#[test]
fn a_share_of_what_the_teacher_does_not_teach_is_refused() {
    let folder = folder("npy");
    let clicks = folder.read("clicks.tsv");
    let scores = clicks.lines().skip(1).enumerate().map(|(place, line)| format!("{line}\t{}\n", place % 7));
    folder.write("scores.tsv", format!("query\ttitle\tscore\n{}", scores.collect::<String>()));
    let run = |from: &[&str], name: &str| {
        let pair = format!("teacher.{name}=0.3");
        let base = ["train", "--output", "m", "--set", "encoder.cells=8", "--set", &pair];
        folder.run(&[&base[..], from].concat())
    };
    let (titles, clicks) = (["--titles", "titles.tsv", "--encoder", "lstm"], ["--clicks", "clicks.tsv"]);
    let (vectors, scores) = (["--teacher", "teacher.npy"], ["--teacher", "scores.tsv"]);
    run(&[&titles[..], &vectors].concat(), "clicks")
        .code(2)
        .says("teacher.clicks: expected clicks, on which it acts, found titles alone; set teacher.titles");
    run(&[&clicks[..], &vectors].concat(), "titles")
        .code(2)
        .says("teacher.titles: expected titles to learn from, on which it acts, found none");
    for name in ["clicks", "titles"] {
        let said = format!("teacher.{name}: expected a teacher with vectors, on which it acts, found scores alone");
        run(&[&clicks[..], &titles, &scores].concat(), name).code(2).says(&said);
    }
    run(&[&clicks[..], &vectors].concat(), "scores")
        .code(2)
        .says("teacher.scores: expected a teacher with scores, on which it acts, found vectors alone");
    assert!(!folder.path("m").exists());
    for name in ["clicks", "titles", "scores"] {
        run(&[&clicks[..], &titles, &vectors, &scores].concat(), name).code(0);
    }
    // The pairs of scores take the place of clicks.
    run(&[&vectors[..], &scores].concat(), "clicks").code(0);
}

#[test]
fn scores_teach_beside_clicks_and_in_their_place() {
    let folder = Folder::with_data();
    let clicks = folder.read("clicks.tsv");
    let mut scores = "query\ttitle\tscore\n".to_owned();
    for (place, line) in clicks.lines().skip(1).enumerate() {
        scores.push_str(&format!("{line}\t{}\n", place % 7));
    }
    folder.write("scores.tsv", scores + "red hammer\tno such title\t1\nred hammer\tx\tgood\n");
    train(&folder, "m", &["--teacher", "scores.tsv"])
        .code(0)
        .says("teacher: 144 of 145 scores are for queries and titles in the training data; 48 queries with several titles")
        .says("scores.tsv: skipped 1 broken line:")
        .says("scores.tsv:147: expected a finite number in column `score`, found `good`");
    folder.run(&["inspect", "m"]).code(0).prints("teacher.clicks");
    let alone = [&["train", "--output", "alone", "--teacher", "scores.tsv", "--json"], &SMALL[..]].concat();
    let events = folder.run(&alone).code(0).json_lines();
    let teacher = events.iter().find(|event| event["event"] == "teacher_scores").unwrap();
    assert_eq!((&teacher["known"], &teacher["skipped"]), (&145.into(), &1.into()), "{teacher}");
    assert!(events.iter().all(|event| event["event"] != "held_out"));
    // The first score of a pair counts; where most lines are broken, it is no success.
    let scores = folder.read("scores.tsv");
    let (head, lines) = scores.split_once('\n').unwrap();
    folder.write("twice.tsv", format!("{head}\n{0}\n{0}\n{1}", lines.lines().next().unwrap(), lines));
    train(&folder, "m", &["--teacher", "twice.tsv"])
        .code(0)
        .says("teacher: 144 of 147 scores are for queries and titles")
        .says("teacher: ignored 2 scores for pairs with an earlier score");
    folder.write("mostly.tsv", scores.clone() + &"red hammer\tx\tgood\n".repeat(200));
    train(&folder, "m", &["--teacher", "mostly.tsv"]).code(1).says("mostly.tsv: most lines were left out, 201 of 346");
    folder.write("broken.tsv", format!("{head}\nred hammer\tx\tgood\n"));
    train(&folder, "no", &["--teacher", "broken.tsv"])
        .code(2)
        .says("broken.tsv:2: expected a finite number in column `score`, found `good`");
    folder.write("flat.tsv", "query\ttitle\tscore\nred hammer\tx\t1\n");
    train(&folder, "no", &["--teacher", "flat.tsv"]).code(2).says("expected scores");
    let vectors = ["train", "--output", "no", "--teacher", "none.npy"];
    folder.run(&vectors).code(2);
}

/// If too few scores are left, the lines that were broken are a likely reason.
#[test]
fn broken_scores_are_told_where_the_others_teach_nothing() {
    let folder = Folder::with_data();
    folder.write("scores.tsv", "query\ttitle\tscore\nred hammer\tx\tnan\nred hammer\ty\t0\nred hammer\tz\tinf\n");
    let run = folder.run(&["train", "--output=m", "--teacher=scores.tsv", "--epochs=1"]).code(2);
    run.says("found none among 1 scores")
        .says("; broken lines are not among them: 2, the first scores.tsv:2: expected");
}

#[test]
fn initial_weights_are_fitted_to_the_teacher() {
    const SAID: &str = "initial weights by least squares";
    let folder = folder("npy");
    let teacher = ["--teacher", "teacher.npy"];
    let with = |more: &[&'static str]| train(&folder, "m", &[&teacher[..], more].concat());
    with(&[]).code(0).says("teacher: initial weights by least squares over 144 titles: they explain ");
    folder.run(&["inspect", "m"]).code(0).prints("teacher.start").prints("least-squares");
    let shown = |name: &str| {
        let run = folder.run(&["inspect", "m"]).code(0);
        let line = run.stdout().lines().find(|line| line.contains(name)).map(str::to_owned);
        line.unwrap_or_default().split_whitespace().last().unwrap_or_default().to_owned()
    };
    assert_eq!(shown("start_share"), "0.2");
    std::fs::copy(folder.path("m"), folder.path("init")).unwrap();
    let events = with(&["--json"]).code(0).json_lines();
    let start = events.iter().find(|event| event["event"] == "start").unwrap();
    assert_eq!(start["titles"], 144);
    let explained = start["explained"].as_f64().unwrap();
    assert!(0.3 < explained && explained < 1.0, "{start}");
    for more in [
        &["--init", "init"][..],
        &["--set", "teacher.start=random"],
        &["--set", "init_range=0.1"],
        &["--set", "encoder.forget_gate=true"],
    ] {
        let run = with(more).code(0);
        assert!(!run.stderr().contains(SAID), "{more:?}: {}", run.stderr());
        let shown = folder.run(&["inspect", "m"]).code(0);
        assert!(!shown.stdout().contains("least-squares"), "{more:?}: {}", shown.stdout());
    }
    let title = folder.read("titles.tsv").lines().nth(1).unwrap().split('\t').nth(1).unwrap().to_owned();
    folder.write("few.jsonl", format!("{{\"text\": \"{title}\", \"vector\": [1, 2, 3, 4, 5, 6, 7, 8]}}\n"));
    let few = ["--titles", "titles.tsv", "--teacher", "few.jsonl"];
    train(&folder, "m", &few).code(0).says("teacher: random initial weights, because its vectors cover too few titles");
    assert_eq!(shown("among_clicks"), "2.0");
    let events = train(&folder, "m", &[&few[..], &["--json"]].concat()).code(0).json_lines();
    assert!(events.iter().any(|event| event["event"] == "start" && event["titles"].is_null()), "{events:?}");
}

#[test]
fn where_no_weights_are_fitted_none_are_asked_for() {
    let folder = folder("npy");
    let fitted = ["--set", "teacher.start=least-squares"];
    let with = |more: &[&str]| train(&folder, "m", &[&fitted[..], more].concat()).code(2);
    with(&[]).says("teacher.start: expected a teacher, on which it acts, found none");
    let taught = ["--teacher", "teacher.npy"];
    let with = |more: &[&str]| with(&[&taught[..], more].concat());
    with(&["--set", "encoder.forget_gate=true"])
        .says("teacher.start: expected an LSTM of one layer without a forget gate");
    with(&["--set", "init_range=0.1"])
        .says("init_range: expected random weights, on which it acts, found teacher.start=least-squares");
    with(&["--init", "model.safetensors"])
        .says("teacher.start: expected new weights, on which it acts, found those of the initial model");
    let wrong = train(&folder, "m", &["--teacher", "teacher.npy", "--set", "teacher.start_share=1.5"]).code(2);
    wrong.says("teacher.start_share: expected a number from 0 to 1, found 1.5");
    let share = ["--set", "teacher.start_share=0.5"];
    let with = |more: &[&str]| train(&folder, "m", &[&share[..], more].concat()).code(2);
    with(&[]).says("teacher.start_share: expected a teacher, on which it acts, found none");
    let with = |more: &[&str]| with(&[&taught[..], more].concat());
    with(&["--set", "teacher.start=random"])
        .says("teacher.start_share: expected weights that are fitted to the teacher's vectors");
    with(&["--set", "encoder.forget_gate=true"])
        .says("teacher.start_share: expected weights that are fitted to the teacher's vectors");
    with(&["--init", "model.safetensors"]).says("teacher.start_share: expected new weights");
}

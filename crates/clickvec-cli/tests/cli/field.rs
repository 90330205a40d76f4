//! `--field`: another column instead of the title.

use crate::harness::{Folder, small_settings};

/// Tables whose titles say nothing, and whose bodies are the titles of [`Folder::with_data`].
fn folder() -> Folder {
    let folder = Folder::with_data();
    for (name, text) in [("clicks.tsv", 1), ("judged.tsv", 1), ("titles.tsv", 1)] {
        let rows: String = folder
            .read(name)
            .lines()
            .enumerate()
            .map(|(number, line)| {
                let mut fields: Vec<&str> = line.split('\t').collect();
                let body = if number == 0 { "body" } else { fields[text] };
                let title = format!("number{number}");
                fields[text] = if number == 0 { "title" } else { &title };
                format!("{}\t{body}\n", fields.join("\t"))
            })
            .collect();
        folder.write(name, rows);
    }
    folder
}

fn ndcg(report: &serde_json::Value, system: usize) -> f64 {
    report["systems"][system]["ndcg@1"].as_f64().unwrap()
}

#[test]
fn a_body_is_learnt_judged_and_searched() {
    let folder = folder();
    // Also judged on the test set: every reader uses the column.
    folder.train("body", &["--field", "body", "--validation", "judged.tsv"]).code(0);
    folder.run(&["inspect", "body"]).code(0).prints("field").prints("body");
    let learnt =
        ["--clicks", "clicks.tsv", "--titles", "titles.tsv", "--ranker", "bm25", "--ranker", "wtm:iterations=2"];
    let evaluate = |field: &[&str]| {
        let run =
            folder.run(&[&["lab", "table", "--judged", "judged.tsv", "--json"], &learnt[..], field].concat()).code(0);
        let [report] = run.json_lines().try_into().unwrap();
        report
    };
    let (titles, bodies) = (evaluate(&[]), evaluate(&["--field", "Body"]));
    assert!(ndcg(&titles, 0) < 0.6, "titles say nothing: {titles}");
    assert!((0..2).all(|system| ndcg(&bodies, system) > 0.9), "{bodies}");
    let model = ["evaluate", "--judged", "judged.tsv", "--json", "--field", "Body", "body"];
    let model = folder.run(&model).code(0).json_lines();
    assert!(ndcg(&model[0], 0) > 0.9, "{model:?}");

    folder.run(&["index", "--model", "body", "--titles", "titles.tsv", "--field", "body", "--output", "ix"]).code(0);
    folder.run(&["search", "ix", "red hammer", "-k", "1"]).code(0).prints("hammer in red");
}

#[test]
fn columns_are_joined() {
    let folder = folder();
    let joined = ["--field", "title+body"];
    folder.train("both", &[&joined[..], &["--validation", "judged.tsv"]].concat()).code(0);
    folder.run(&["inspect", "both"]).code(0).prints("title+body");
    let index = ["index", "--model", "both", "--titles", "titles.tsv", "--output", "ix"];
    folder.run(&[&index[..], &joined].concat()).code(0);
    let found = folder.run(&["search", "ix", "red hammer", "-k", "1"]).code(0);
    assert!(found.stdout().contains("number") && found.stdout().contains(" hammer in red"), "{}", found.stdout());
    folder.train("none", &["--field", "title+text"]).code(2).says("expected a column `text`");
}

#[test]
fn a_column_that_is_named_twice_is_refused() {
    let folder = folder();
    folder.train("m", &[]).code(0);
    folder.write("titles.jsonl", "{\"id\": \"a\", \"title\": \"red hammer\", \"body\": \"hammer in red\"}\n");
    folder.write("corpus.jsonl", "{\"_id\": \"a\", \"title\": \"red hammer\", \"body\": \"hammer in red\"}\n");
    let data = "[data]\njudged = \"judged.tsv\"\nfield = \"title+body+title\"\n";
    folder.write("spec.toml", format!("{data}[[system]]\nname = \"a\"\nranker = \"bm25\"\n"));
    let evaluate = ["evaluate", "--judged=judged.tsv", "bm25"];
    let commands: [&[&str]; 8] = [
        &["train", "--clicks=clicks.tsv", "--output=no", "--epochs=1", "--set", "encoder.cells=4"],
        &[
            "train",
            "--titles=titles.tsv",
            "--output=no",
            "--set",
            "titles.epochs=1",
            "--set",
            "encoder.cells=4",
            "--encoder",
            "lstm",
        ],
        &[
            "train",
            "--titles=corpus.jsonl",
            "--output=no",
            "--set",
            "titles.epochs=1",
            "--set",
            "encoder.cells=4",
            "--encoder",
            "lstm",
        ],
        &evaluate,
        &[&evaluate[..], &["--clicks=clicks.tsv"]].concat(),
        &["lab", "table", "spec.toml"],
        &["index", "--model=m", "--titles=titles.tsv", "--output=ix", "--store=body"],
        &["index", "--model=m", "--titles=titles.jsonl", "--output=ix"],
    ];
    for command in commands {
        for field in ["title+title", "title+body+ Title"] {
            let run = folder.run(&[command, &["--field", field]].concat()).code(2);
            run.says("expected each column once in the field to read, found `").says("itle` twice; name it once");
        }
    }
    folder.run(&["lab", "table", "spec.toml"]).code(2).says("found `title` twice");
    assert!(!folder.path("no").exists() && !folder.path("ix").exists());
    // A column of that name is one column.
    let named = folder.read("clicks.tsv").replacen("body", "title+title", 1);
    folder.write("clicks.tsv", named);
    folder.train("m", &["--field", "title+title"]).code(0);
}

#[test]
fn a_run_goes_on_with_its_own_field_only() {
    let folder = folder();
    folder.train("m", &["--field", "body"]).code(0);
    folder
        .train("m", &["--field", "title", "--resume"])
        .code(2)
        .says("the run to resume (field body), found field title");
    folder.train("m", &["--field", "body", "--resume"]).code(0);
}

#[test]
fn a_column_that_is_missing_is_named_with_those_that_are_there() {
    let folder = folder();
    let missing =
        |file: &str, columns: &str| format!("{file}: expected a column `text` in the header, found {columns}");
    let (clicks, judged) = ("`query`, `title`, `body`", "`query`, `title`, `grade`, `body`");
    folder.train("m", &["--field", "text"]).code(2).says(&missing("clicks.tsv", clicks));
    let evaluate = ["evaluate", "--judged", "judged.tsv", "bm25", "--field", "text"];
    folder.run(&evaluate).code(2).says(&missing("judged.tsv", judged));
    folder.train("m", &[]).code(0);
    let index = ["index", "--model", "m", "--titles", "titles.tsv", "--output", "ix", "--field", "text"];
    folder.run(&index).code(2).says(&missing("titles.tsv", "`id`, `title`, `body`"));
    folder.write(
        "spec.toml",
        "[data]\njudged = \"judged.tsv\"\nfield = \"text\"\n[[system]]\nname = \"a\"\nranker = \"bm25\"\n",
    );
    folder.run(&["lab", "table", "spec.toml"]).code(2).says(&missing("judged.tsv", judged));
}

#[test]
fn a_table_has_a_field_and_its_rows_are_not_those_of_another() {
    let folder = folder();
    let spec = format!(
        "[data]\njudged = \"judged.tsv\"\nclicks = \"clicks.tsv\"\ntitles = \"titles.tsv\"\n\
         [[system]]\nname = \"BM25\"\nranker = \"bm25\"\n[[system]]\nname = \"LSTM\"\n{}",
        small_settings("")
    );
    folder.write("spec.toml", &spec);
    let report = |more: &[&str]| {
        let run = folder.run(&[&["lab", "table", "spec.toml", "--json"], more].concat()).code(0);
        let [report] = run.json_lines().try_into().unwrap();
        report
    };
    let titles = report(&[]);
    folder.write("spec.toml", spec.replace("[data]", "[data]\nfield = \"body\""));
    let bodies = report(&[]);
    for system in 0..2 {
        assert!(ndcg(&titles, system) < 0.6 && ndcg(&bodies, system) > 0.9, "{titles} {bodies}");
    }
    assert_eq!((titles["field"].as_str(), bodies["field"].as_str()), (Some("title"), Some("body")));
    assert_eq!(report(&["--field", "title"])["systems"], titles["systems"], "from the cache, in every digit");
    folder.run(&["lab", "table", "spec.toml"]).code(0).prints("the column `body`");
}

#[test]
fn rows_have_columns_of_their_own_and_are_scored_together() {
    let folder = folder();
    let data = "[data]\njudged = \"judged.tsv\"\nclicks = \"clicks.tsv\"\ntitles = \"titles.tsv\"\n";
    let row = |name: &str, rest: &str| format!("[[system]]\nname = \"{name}\"\n{rest}\n");
    let lstm = small_settings("");
    let report = |spec: String| {
        folder.write("spec.toml", spec);
        let [report] = folder.run(&["lab", "table", "spec.toml", "--json"]).code(0).json_lines().try_into().unwrap();
        report
    };
    let both = [
        row("title", "ranker = \"bm25\""),
        row("body", "ranker = \"bm25\"\nfield = \"body\""),
        row("LSTM, body", &format!("{lstm}\nfield = \"body\"")),
        row("title again", "ranker = \"wtm:iterations=2\"\nfield = \"title\""),
        row("joined", "ranker = \"bm25\"\nfield = \"title+body\""),
        row("together", "fusion = [\"title\", \"body\"]"),
    ];
    let both = report(data.to_owned() + &both.concat());
    let alone = [row("a", "ranker = \"bm25\""), row("b", "ranker = \"wtm:iterations=2\"")].concat();
    let titles = report(data.to_owned() + &alone);
    let bodies = row("a", "ranker = \"bm25\"") + &row("b", &lstm);
    let bodies = report(data.replace("[data]", "[data]\nfield = \"body\"") + &bodies);
    let scores = |report: &serde_json::Value, system: usize| report["systems"][system]["per_query"].clone();
    assert_eq!((scores(&both, 0), scores(&both, 3)), (scores(&titles, 0), scores(&titles, 1)));
    assert_eq!((scores(&both, 1), scores(&both, 2)), (scores(&bodies, 0), scores(&bodies, 1)));
    assert!(ndcg(&both, 0) < 0.6 && ndcg(&both, 5) > 0.9 && ndcg(&both, 4) > 0.9, "{both}");

    let fault = |spec: String| {
        folder.write("spec.toml", spec);
        folder.run(&["lab", "table", "spec.toml"]).code(2)
    };
    let one = row("a", "ranker = \"bm25\"");
    let fusion = row("b", "fusion = [\"a\"]\nfield = \"body\"");
    fault(data.to_owned() + &one + &fusion).says("expected `field` only with `ranker`, `train` or `model`");
    let full = data.to_owned() + "[evaluation]\nfull = true\n" + &row("a", "ranker = \"bm25\"\nfield = \"body\"");
    fault(full).says("system `a`: expected column `title` for all rows, since each searches all titles, found `");
    fault(data.to_owned() + &row("a", "ranker = \"bm25\"\nfield = \"text\"")).says("expected a column `text`");
    let same = "query\ttitle\tgrade\tbody\nred\ta\t1\tsame\nred\tb\t1\tsame\nblue\tc\t1\tother\n";
    folder.write("judged.tsv", same);
    fault("[data]\njudged = \"judged.tsv\"\n".to_owned() + &row("a", "ranker = \"bm25\"\nfield = \"body\""))
        .says("expected the same judged titles in column `body` as in `title`, found 1 of 2 for the query `red`");
}

/// An index keeps the column of its texts: titles that come later are read from the same one.
#[test]
fn an_index_keeps_its_field() {
    let folder = folder();
    folder.train("m", &[]).code(0);
    folder.train("of-both", &["--field", "title+body"]).code(0);
    let index = |arguments: &[&str]| folder.run(&[&["index", "--output", "ix"], arguments].concat());
    let text = |id: &str| {
        let titles = folder.read("ix/titles.tsv");
        titles.lines().find_map(|line| line.strip_prefix(&format!("{id}\t"))).map(str::to_owned)
    };
    let first = folder.read("titles.tsv").lines().nth(1).unwrap().split('\t').next().unwrap().to_owned();
    let made = |arguments: &[&str]| {
        index(&[&["--titles", "titles.tsv"], arguments].concat()).code(0);
        text(&first).unwrap()
    };
    let (title, both) = (made(&["--model", "m"]), made(&["--model", "m", "--field", "title+body"]));
    assert!(both.starts_with(&format!("{title} ")), "{title} {both}");
    folder.run(&["inspect", "ix"]).code(0).prints("title+body");
    // Later titles come from the same columns.
    folder.write("one.tsv", "id\ttitle\tbody\nnew\tnumber1\tred hammer\n");
    folder.run(&["update", "ix", "--add", "one.tsv"]).code(0);
    let engine = folder.run(&["search", "ix", "--json", "number1", "-k", "100"]).code(0);
    engine.prints("number1 red hammer");
    index(&["--join", "ix"]).code(0);
    assert_eq!(text("new").as_deref(), Some("number1 red hammer"));
    // `update` looks for the columns of the index before it learns.
    folder.write("bare.tsv", "id\ttitle\na\tnumber1\n");
    let update = ["update", "ix", "--clicks", "clicks.tsv", "--titles", "bare.tsv"];
    folder.run(&update).code(2).says("expected a column `body`");
    // Without a column, it is the one that the model learnt from.
    assert_eq!(made(&["--model", "of-both"]), both);
    index(&["--titles", "titles.tsv", "--model", "of-both"]).says("texts come from the column `title+body`");
    assert_eq!(made(&["--model", "of-both", "--field", "title"]), title);
    // Shards of different columns do not fit together.
    let shard = |number: &str, field: &str| {
        let shard = ["--model", "m", "--titles", "titles.tsv", "--shard", number, "--field", field, "--output"];
        folder.run(&[&["index"], &shard[..], &[&format!("ix{}", &number[..1])]].concat()).code(0);
    };
    shard("1/2", "title");
    shard("2/2", "body");
    let join = folder.run(&["index", "--join", "ix1", "ix2", "--output", "joined"]).code(2);
    join.says("expected texts of the column `title`, as in the first index to join, found those of `body`");
    shard("1/2", "body");
    folder.run(&["index", "--join", "ix1", "ix2", "--output", "joined"]).code(0);
    folder.run(&["inspect", "joined", "--json"]).code(0).prints("\"field\":\"body\"");
}

//! Judged data and titles in the forms of others: TREC qrels with topics, and BEIR folders.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::{Value, json};

use crate::harness::{Folder, Run, small_settings};

/// The data of [`Folder::with_model`] in every form, with the same queries, titles, grades and ids.
fn folder() -> Folder {
    let folder = Folder::with_model();
    let (mut table, mut qrels, mut topics) =
        ("query_id\tquery\ttitle_id\ttitle\tgrade\n".to_owned(), String::new(), String::new());
    let (mut beir, mut queries, mut corpus) = ("query-id\tcorpus-id\tscore\n".to_owned(), String::new(), String::new());
    let (mut titles, mut tagged) = ("id\ttitle\n".to_owned(), String::new());
    let (mut query_ids, mut title_ids): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for line in folder.read("judged.tsv").lines().skip(1) {
        let [query, title, grade] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let query_id = number(&mut query_ids, query, |id| {
            let _ = writeln!(topics, "{id}\t{query}");
            let _ = writeln!(queries, "{}", json!({"_id": id, "text": query, "metadata": {}}));
            let _ = write!(tagged, "<top>\n<num> Number: {id}\n<title> {query}\n\n<desc> x\n</top>\n\n");
        });
        let title_id = number(&mut title_ids, title, |id| {
            let _ = writeln!(titles, "é{id}\t{title}");
            // Every second document has no title.
            let title_of = if id % 2 == 0 { title } else { "" };
            let _ = writeln!(corpus, "{}", json!({"_id": format!("é{id}"), "title": title_of, "text": title}));
        });
        let _ = writeln!(table, "{query_id}\t{query}\té{title_id}\t{title}\t{grade}");
        let _ = writeln!(qrels, "{query_id} 0 é{title_id} {grade}");
        let _ = writeln!(beir, "{query_id}\té{title_id}\t{grade}");
    }
    std::fs::create_dir_all(folder.path("beir/qrels")).unwrap();
    for (name, text) in [
        ("ids.tsv", &table),
        ("qrels.txt", &qrels),
        ("topics.tsv", &topics),
        ("topics.txt", &tagged),
        ("own.tsv", &titles),
        ("beir/queries.jsonl", &queries),
        ("beir/corpus.jsonl", &corpus),
        ("beir/qrels/test.tsv", &beir),
        ("beir/qrels/dev.tsv", &beir),
    ] {
        folder.write(name, text);
    }
    folder
}

/// The position of a text among those so far. `new` is called for a new one.
fn number(known: &mut Vec<String>, text: &str, mut new: impl FnMut(usize)) -> usize {
    known.iter().position(|other| other == text).unwrap_or_else(|| {
        new(known.len());
        known.push(text.to_owned());
        known.len() - 1
    })
}

const TREC: [&str; 6] = ["--judged", "qrels.txt", "--topics", "topics.txt", "--titles", "own.tsv"];

fn evaluate(folder: &Folder, flags: &[&str]) -> Run {
    let base = ["evaluate", "bm25", "model.safetensors", "--json"];
    folder.run(&[&base, flags].concat())
}

fn report(run: Run) -> Value {
    let [report] = run.code(0).json_lines().try_into().unwrap();
    report
}

#[test]
fn every_form_gives_the_same_numbers() {
    let folder = folder();
    let expected = report(evaluate(&folder, &["--judged", "ids.tsv", "--titles", "own.tsv"]));
    assert_eq!(expected["queries"], 48);
    let trec = |topics| [&TREC[..3], &[topics], &TREC[4..]].concat();
    let forms: [&[&str]; 6] = [
        &trec("topics.tsv"),
        &trec("topics.txt"),
        &trec("beir/queries.jsonl"),
        &["--judged", "beir", "--titles", "own.tsv"],
        // The corpus is the collection.
        &["--judged", "beir"],
        &["--judged", "beir/qrels/dev.tsv", "--titles", "beir/corpus.jsonl", "--field", "text"],
    ];
    for form in forms {
        assert_eq!(report(evaluate(&folder, form)), expected, "{form:?}");
    }
    let run = evaluate(&folder, &["--judged", "beir"]).code(0).says("beir: judged by beir/qrels/test.tsv");
    run.says("52 judged documents without a title; the text is used instead")
        .says("corpus.jsonl: 52 documents without");
    assert_eq!(evaluate(&folder, &trec("topics.tsv")).stderr(), "");
}

#[test]
fn qrels_and_runs_go_out_with_the_ids_that_came_in() {
    let folder = folder();
    for (form, qrels) in [(&TREC[..], "qrels.txt"), (&["--judged", "beir"], "qrels.txt")] {
        let out = ["--output", "runs", "--trec-eval"];
        let written = report(evaluate(&folder, &[form, &out].concat()));
        let sorted = |name: &str| {
            let mut lines: Vec<String> = folder.read(name).lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted("runs/judged.qrels"), sorted(qrels));
        let runs = ["runs/bm25.run", "runs/model.run", "--trec-eval", "--json"];
        let read = report(folder.run(&[&["evaluate", "--judged", qrels], &runs[..]].concat()));
        for system in [0, 1] {
            for metric in ["ndcg@1", "ndcg@10", "mrr", "map", "precision@10", "recall@10"] {
                let [a, b] = [&written, &read].map(|report| report["systems"][system][metric].as_f64().unwrap());
                assert!((a - b).abs() < 1e-12, "{metric}: {a} {b}");
            }
        }
        let table = folder.run(&[&["evaluate", "bm25", "--output", "out"], form].concat());
        table.code(0);
        assert!(folder.read("out/per-query.tsv").lines().nth(1).unwrap().starts_with("bm25\t0\tred hammer\t"));
    }
}

#[test]
fn compressed_files_are_read_alike() {
    let folder = folder();
    let expected = report(evaluate(&folder, &["--judged", "beir"]));
    for name in ["beir/queries.jsonl", "beir/corpus.jsonl", "beir/qrels/test.tsv"] {
        let text = folder.read(name);
        std::fs::remove_file(folder.path(name)).unwrap();
        let file = std::fs::File::create(folder.path(&format!("{name}.gz"))).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap();
    }
    assert_eq!(report(evaluate(&folder, &["--judged", "beir"])), expected);
    folder.index("model.safetensors", "beir").code(0);
}

#[test]
fn what_is_missing_is_counted_and_shown() {
    let folder = folder();
    let qrels = folder.read("qrels.txt");
    folder.write("more.txt", format!("{qrels}0 0 x1 3\n0 0 x2 0\nq\u{e9} 0 \u{e9}1 1\n5000 0 x1 1\n"));
    folder.write("more.tsv", folder.read("topics.tsv") + "t1\tlamp\nt2\tlamp\n5000\tsofa\n");
    let more = ["--judged", "more.txt", "--topics", "more.tsv", "--titles", "own.tsv"];
    let run = evaluate(&folder, &more)
        .code(0)
        .says("more.txt: left out 1 judged query without a text: q\u{e9}\n")
        .says("more.txt: left out 2 judged titles without a text: x1, x2\n")
        .says("more.txt: left out 1 query with no judged title left: 5000\n")
        .says("more.tsv: has 2 queries without judgments: t1, t2\n");
    assert_eq!(report(run)["systems"], report(evaluate(&folder, &TREC))["systems"]);

    folder.write("none.txt", "q9 0 d1 1\n");
    let none = ["--judged", "none.txt", "--topics", "topics.tsv", "--titles", "own.tsv"];
    evaluate(&folder, &none)
        .code(2)
        .says("topics.tsv: has 48 queries without judgments: 0, 1, 2, 3, 4, …")
        .says("none.txt: expected judged titles whose texts are there, found none");
    // BEIR's qrels list only what is relevant.
    folder
        .write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\n0\té0\t1\n1\té0\t0\n1\té1\t1\n2\té1\t2\n2\té2\t2\n");
    let same = "beir: the judged titles of 2 of 3 queries all have the same grade, so every order scores alike";
    evaluate(&folder, &["--judged", "beir"]).code(0).says(same);
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let folder = folder();
    let line = |name: &str, text: &str| folder.write(name, folder.read(name) + text);
    line("topics.tsv", "a line\n");
    let trec = ["--judged", "qrels.txt", "--topics", "topics.tsv", "--titles", "own.tsv"];
    evaluate(&folder, &trec)
        .code(2)
        .says("topics.tsv:49: expected 2 fields, `id, a tab, query`, found 1")
        .prints_nothing();
    line("qrels.txt", "1 0 x good\n");
    evaluate(&folder, &TREC).code(2).says("qrels.txt:145: expected a grade");
    line("beir/queries.jsonl", "{\"_id\":\"x\"\n");
    evaluate(&folder, &["--judged", "beir"]).code(2).says("beir/queries.jsonl:49: expected a JSON object");
    std::fs::remove_file(folder.path("beir/queries.jsonl")).unwrap();
    for judged in ["beir", "beir/qrels/test.tsv"] {
        let message = "found a folder without `queries.jsonl`";
        evaluate(&folder, &["--judged", judged]).code(2).says(message);
    }
    evaluate(&folder, &["--judged", "qrels.txt"]).code(2).says("found none; name a file of topics");
    evaluate(&folder, &["--judged", "qrels.txt", "--topics", "topics.txt"]).code(2).says("name a file of titles");
    let idle = ["--judged", "judged.tsv", "--topics", "topics.txt"];
    evaluate(&folder, &idle).code(2).says("judged.tsv: expected a file of topics with TREC qrels only, found a table");
    let piped = ["--judged", "ids.tsv", "--topics", "topics.txt", "--titles", "-"];
    evaluate(&folder, &piped)
        .code(2)
        .says("standard input: expected a file of titles, since they are read twice, found a pipe");
    line("beir/corpus.jsonl", "[]\n\n{\"_id\":\"\",\"text\":\"a\"}\n");
    evaluate(&folder, &["--judged", "ids.tsv", "--titles", "beir"])
        .code(0)
        .says("beir/corpus.jsonl: skipped 2 broken lines:")
        .says("beir/corpus.jsonl:105: expected a JSON object")
        .says("beir/corpus.jsonl:107: expected an id");
    folder.write("empty", "");
    evaluate(&folder, &["--judged", "empty"]).code(2).says("empty: expected a header line");
    folder.index("model.safetensors", "empty").code(2).says("empty: expected a header line");
    std::fs::create_dir(folder.path("nothing")).unwrap();
    folder.index("model.safetensors", "nothing").code(2).says("nothing: expected a file, or a BEIR folder");
}

#[test]
#[cfg(unix)]
fn nothing_that_is_read_is_written_over() {
    let folder = folder();
    for (form, inputs) in [
        (&TREC[..], &["qrels.txt", "topics.txt", "own.tsv"][..]),
        (&["--judged", "beir"], &["beir/qrels/test.tsv", "beir/queries.jsonl", "beir/corpus.jsonl"]),
        (&["--judged", "ids.tsv", "--titles", "beir"], &["beir/corpus.jsonl"]),
        (&["--judged", "beir/qrels/dev.tsv"], &["beir/qrels/dev.tsv", "beir/queries.jsonl"]),
    ] {
        for input in inputs {
            // A link by the name of an output.
            let (before, link) = (folder.read(input), folder.path("out/per-query.tsv"));
            std::fs::create_dir_all(folder.path("out")).unwrap();
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(folder.path(input), &link).unwrap();
            evaluate(&folder, &[form, &["--output", "out"]].concat()).code(2).says("expected an output");
            assert_eq!(folder.read(input), before);
        }
    }
    let validation = ["--validation", "beir"];
    folder.train("beir/corpus.jsonl", &validation).code(2).says("expected an output");
}

#[test]
fn titles_of_a_corpus_are_searched_and_indexed() {
    let folder = folder();
    let hits = |titles: &str| {
        folder.index("model.safetensors", titles).code(0);
        folder.run(&["search", "shop.index", "--json", "red hammer"]).code(0).json_lines()
    };
    let expected = hits("own.tsv");
    assert_eq!(hits("beir"), expected);
    assert_eq!(hits("beir/corpus.jsonl"), expected);
    folder.run(&["lab", "simulate", "--set", "pairs=500", "--titles", "beir", "--output", "made-up"]).code(0);
}

#[test]
fn training_is_validated_by_every_form() {
    let folder = folder();
    let models = [("a", "ids.tsv"), ("b", "beir")].map(|(name, judged)| {
        folder.train(name, &["--validation", judged]).code(0);
        std::fs::read(folder.path(name)).unwrap()
    });
    assert!(models[0] == models[1], "the same test set makes the same model");
    folder.train("c", &["--validation", "qrels.txt"]).code(2).says("make a BEIR folder of them");
}

/// Two systems, the first of which is right about every query, and their fusion. Returns its row.
fn fused_by(folder: &Folder) -> Value {
    report(folder.run(&["lab", "table", "fusion.toml", "--json"]).code(0))["systems"][2].clone()
}

#[test]
fn a_fusion_notices_other_judgments_in_a_folder() {
    let folder = folder();
    folder.write(
        "fusion.toml",
        "[data]\njudged = \"beir\"\n[[system]]\nname = \"words\"\nranker = \"bm25\"\n[[system]]\nname = \"letters\"\nranker = \
         \"trigram\"\n[[system]]\nname = \"both\"\nfusion = [\"words\", \"letters\"]\n",
    );
    let points = || std::fs::read_dir(folder.path("fusion.cache")).unwrap().count();
    let first = fused_by(&folder);
    let before = points();
    assert_eq!(fused_by(&folder)["parameters"], first["parameters"]);
    assert_eq!(points(), before);
    let qrels = folder.read("beir/qrels/test.tsv").replace("\t4\n", "\t1\n");
    folder.write("beir/qrels/test.tsv", qrels);
    fused_by(&folder);
    // Two rankers, and two folds of the fusion.
    assert_eq!(points(), before + 4);
}

#[test]
fn a_table_is_made_of_every_form_and_notices_what_changes() {
    let folder = folder();
    let table = |data: &str, flags: &[&str]| {
        let systems = format!(
            "[[system]]\nname = \"BM25\"\nranker = \"bm25\"\n[[system]]\nname = \"LSTM\"\n{}",
            small_settings("")
        );
        folder.write("spec.toml", format!("[data]\nclicks = \"clicks.tsv\"\n{data}\n{systems}"));
        report(folder.run(&[&["lab", "table", "spec.toml", "--json"], flags].concat()))["systems"].clone()
    };
    let numbers = |systems: &Value| {
        let of = |system: &Value| ["ndcg@1", "ndcg@3", "ndcg@10"].map(|metric| system[metric].as_f64().unwrap());
        systems.as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let expected = numbers(&table("judged = \"ids.tsv\"\ntitles = \"own.tsv\"", &[]));
    let trec = "judged = \"qrels.txt\"\ntopics = \"topics.txt\"\ntitles = \"own.tsv\"";
    assert_eq!(numbers(&table(trec, &[])), expected);
    assert_eq!(numbers(&table("titles = \"own.tsv\"", &["--judged", "qrels.txt", "--topics", "topics.tsv"])), expected);
    assert_eq!(numbers(&table("judged = \"beir\"", &[])), expected);
    // All rows are in the cache, but not for other judgments in the same folder.
    let qrels = folder.read("beir/qrels/test.tsv").replace("\t4\n", "\t0\n");
    folder.write("beir/qrels/test.tsv", qrels);
    assert_ne!(numbers(&table("judged = \"beir\"", &[])), expected);
    folder.write("spec.toml", folder.read("spec.toml").replace("train = ", "validation = \"beir\"\ntrain = "));
    folder
        .run(&["lab", "table", "spec.toml"])
        .code(2)
        .says("expected a validation set that is not judged in the table");
}

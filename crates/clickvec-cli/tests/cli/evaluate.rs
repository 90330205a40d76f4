//! `clickvec evaluate`.

use crate::harness::Folder;

#[test]
fn titles_through_a_pipe_are_read_once() {
    let folder = Folder::with_data();
    let evaluate = ["evaluate", "--judged", "judged.tsv", "bm25", "--json", "--titles"];
    let whole = folder.run(&[&evaluate[..], &["titles.tsv"]].concat()).code(0).stdout();
    let piped = folder.run_with(&[&evaluate[..], &["-"]].concat(), folder.read("titles.tsv")).code(0).stdout();
    assert!(whole == piped, "{whole}{piped}");
}

#[test]
fn models_and_rankers_stand_in_one_table() {
    let folder = Folder::with_model();
    let run = folder
        .run(&["evaluate", "--judged", "judged.tsv", "bm25", "model.safetensors"])
        .code(0)
        .says("the collection has only the 104 distinct titles that were judged");
    let table = run.stdout();
    for part in ["a  bm25 ", "b  model ", "NDCG@10", "48 queries", "b − a", "paired t-test"] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn json_is_what_programs_lean_on() {
    let folder = Folder::with_model();
    let run = folder.run(&["evaluate", "--judged", "judged.tsv", "bm25", "bm25:k1=2,b=0", "--json"]).code(0);
    let [report] = run.json_lines().try_into().unwrap();
    assert_eq!(report["queries"], 48);
    let names: Vec<_> = report["systems"].as_array().unwrap().iter().map(|system| &system["name"]).collect();
    assert_eq!(names, ["bm25", "bm25:k1=2,b=0"]);
    for name in ["ndcg@1", "ndcg@3", "ndcg@10", "mrr", "map"] {
        assert!(report["systems"][0][name].is_f64(), "{report}");
    }
    let tests = report["tests"].as_array().unwrap();
    let metrics: Vec<_> = tests.iter().map(|test| &test["metric"]).collect();
    assert_eq!(metrics, ["ndcg@1", "ndcg@3", "ndcg@10", "mrr", "map", "precision@10", "recall@10"]);
    assert_eq!((&tests[0]["a"], &tests[0]["b"]), (names[0], names[1]));
    let name_first = run.stdout().find("\"name\"").unwrap() < run.stdout().find("\"ndcg@1\":").unwrap();
    assert!(name_first, "{}", run.stdout());
}

#[test]
fn statistics_come_from_titles_or_clicks() {
    let folder = Folder::with_data();
    let base = ["evaluate", "--judged", "judged.tsv", "bm25"];
    folder.run(&[&base[..], &["--clicks", "clicks.tsv"]].concat()).code(0).says("that were clicked or judged");
    let run = folder.run(&[&base[..], &["--titles", "titles.tsv"]].concat()).code(0);
    assert_eq!(run.stderr(), "");
}

#[test]
fn queries_without_a_relevant_title_are_told() {
    let folder = Folder::new();
    folder.write("j.tsv", "query\ttitle\tgrade\na\tred a\t3\na\tb\t0\nc\td\t0\n");
    folder
        .run(&["evaluate", "--judged", "j.tsv", "bm25"])
        .code(0)
        .prints("2 queries")
        .prints("1 query has no relevant title and scores 0")
        .prints("0.500");
}

#[test]
fn two_models_of_one_stem_are_told_apart() {
    let folder = Folder::with_model();
    std::fs::create_dir(folder.path("old")).unwrap();
    std::fs::copy(folder.path("model.safetensors"), folder.path("old/model.safetensors")).unwrap();
    let models = ["evaluate", "--judged", "judged.tsv", "model.safetensors"];
    folder.run(&[&models[..], &["old/model.safetensors"]].concat()).code(0).prints("b  old/model.safetensors");
    folder
        .run(&[&models[..], &["model.safetensors"]].concat())
        .code(2)
        .says("expected each system once, found `model.safetensors` again");
}

#[test]
fn a_system_by_two_names_is_refused() {
    let folder = Folder::with_model();
    let refused = |more: &[&str], message: &str| {
        let run = folder.run(&[&["evaluate", "--judged", "judged.tsv"], more].concat()).code(2).prints_nothing();
        run.says(&format!("expected each system once, found {message} again; leave one of them out"));
    };
    let twice = ["model.safetensors", "./model.safetensors"];
    refused(&twice, "`./model.safetensors`, which is `model.safetensors`");
    // Parameters that are not given have their defaults, and their order does not matter.
    refused(&["bm25", "bm25:k1=0.9"], "`bm25:k1=0.9`, which is `bm25`");
    refused(&["bm25:b=0,k1=2", "bm25:k1=2,b=0"], "`bm25:k1=2,b=0`, which is `bm25:b=0,k1=2`");
    folder.write("q.txt", "q1 0 t1 1\n");
    folder.write("a.run", "q1 Q0 t1 1 2.0 a\n");
    folder
        .run(&["evaluate", "--judged", "q.txt", "a.run", "./a.run"])
        .code(2)
        .says("expected each system once, found `./a.run`, which is `a.run` again; leave one of them out");
}

#[test]
fn trec_files_come_back_with_the_same_numbers() {
    let folder = Folder::with_model();
    let written = folder
        .run(&[
            "evaluate",
            "--judged",
            "judged.tsv",
            "bm25:k1=2",
            "model.safetensors",
            "--output",
            "runs",
            "--trec-eval",
            "--json",
        ])
        .code(0)
        .json_lines();
    let read = folder
        .run(&[
            "evaluate",
            "--judged",
            "runs/judged.qrels",
            "runs/bm25_k1=2.run",
            "runs/model.run",
            "--trec-eval",
            "--json",
        ])
        .code(0)
        .json_lines();
    // As trec_eval does, it takes no notice of what follows the tag.
    folder.write("runs/tagged.run", folder.read("runs/model.run").replace('\n', " of today, the second\n"));
    let tagged = folder.run(&["evaluate", "--judged", "runs/judged.qrels", "runs/tagged.run", "--trec-eval", "--json"]);
    assert_eq!(tagged.code(0).json_lines()[0]["systems"][0]["ndcg@10"], read[0]["systems"][1]["ndcg@10"]);
    for system in [0, 1] {
        for metric in ["ndcg@1", "ndcg@3", "ndcg@10", "mrr", "map"] {
            let [a, b] = [&written, &read].map(|report| report[0]["systems"][system][metric].as_f64().unwrap());
            assert!((a - b).abs() < 1e-12, "{metric}: {a} {b}");
        }
    }
}

#[test]
fn every_query_can_be_written() {
    let folder = Folder::with_data();
    folder.run(&["evaluate", "--judged", "judged.tsv", "bm25", "--output", "out"]).code(0);
    let table = folder.read("out/per-query.tsv");
    let mut lines = table.lines();
    assert!(lines.next().unwrap().starts_with("system\tquery_id\tquery\tndcg@1\tndcg@3\tndcg@10\t"));
    assert!(lines.next().unwrap().starts_with("bm25\tq0000000\tred hammer\t"));
    assert_eq!(table.lines().count(), 49);
}

#[test]
fn an_output_replaces_an_earlier_one_with_all_its_files() {
    let folder = Folder::with_data();
    let evaluate = |system: &str| folder.run(&["evaluate", "--judged", "judged.tsv", system, "--output", "a/out"]);
    let files = || {
        let entries = std::fs::read_dir(folder.path("a/out")).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names.join(" ")
    };
    evaluate("bm25").code(0);
    evaluate("trigram").code(0);
    assert_eq!(files(), "judged.qrels per-query.tsv trigram.run");
    folder.write("a/out/notes.txt", "mine");
    evaluate("bm25").code(2).says("expected an evaluation to replace, or nothing, found one with `notes.txt` in it");
    assert_eq!(files(), "judged.qrels notes.txt per-query.tsv trigram.run");
    let both = ["evaluate", "--judged=judged.tsv", "bm25", "--output=b", "--save-rankers=b/rankers"];
    folder.run(&both).code(2).says("another folder for `--save-rankers`");
}

#[test]
fn gain_and_ties_are_choices() {
    let folder = Folder::with_data();
    let base = ["evaluate", "--judged", "judged.tsv", "bm25"];
    folder.run(&base).code(0).prints("gain 2^grade − 1; mean over the orders of ties");
    folder.run(&[&base[..], &["--trec-eval"]].concat()).code(0).prints("gain = grade; ties by id, descending");
}

#[test]
fn what_cannot_be_judged_is_told() {
    let folder = Folder::with_data();
    let judged = ["evaluate", "--judged", "judged.tsv"];
    let cases: [(&[&str], &str); 10] = [
        (&[], "<SYSTEM>..."),
        (&["titles.tsv"], "titles.tsv:1: expected 6 fields"),
        (&["runs"], "or a file, found `runs`; `clickvec lab table` has the systems of the papers"),
        (
            &["BM25"],
            "expected one of the rankers bm25, trigram, vectors, or a file, found `BM25`; did you mean `bm25`?",
        ),
        (&["trigrams"], "did you mean `trigram`?"),
        (&["bm25:k=1"], "ranker `bm25`: expected one of the parameters k1, b, stem, split, fold, found `k`"),
        (&["bm25:b=2"], "expected 0 to 1 for `b`, found 2"),
        (&["bm25", "bm25"], "expected each system once, found `bm25` again"),
        (&["no.safetensors"], "no.safetensors: cannot open"),
        (&["judged.tsv"], "judged.tsv:1: expected 6 fields"),
    ];
    for (flags, message) in cases {
        folder.run(&[&judged[..], flags].concat()).code(2).says(message).prints_nothing();
    }
    folder.run(&["evaluate", "bm25"]).code(2).says("--judged");
}

#[test]
fn a_run_stands_beside_rankers_on_the_same_titles() {
    let folder = Folder::with_data();
    let base = ["evaluate", "--judged=judged.tsv", "bm25", "--trec-eval", "--json"];
    folder.run(&[&base[..], &["--output=runs"]].concat()).code(0);
    let run = folder.run(&[&base[..], &["runs/bm25.run"]].concat()).code(0);
    // Named by its path, because its stem is taken.
    let [report] = run.json_lines().try_into().unwrap();
    let systems = report["systems"].as_array().unwrap();
    assert_eq!(systems[1]["name"], "runs/bm25.run");
    assert_eq!(systems[0]["ndcg@3"], systems[1]["ndcg@3"], "{report}");
    assert_eq!(report["tests"].as_array().unwrap().len(), 7);
    // A run without a query and some titles.
    let whole = folder.read("runs/bm25.run");
    let part: String = whole
        .lines()
        .filter(|line| !line.starts_with("q0000000 ") && !line.contains(" 3 "))
        .map(|line| format!("{line}\n"))
        .collect();
    folder.write("part.run", part);
    folder
        .run(&[&base[..], &["part.run", "--output=again"]].concat())
        .code(0)
        .says("part.run: lacks 1 judged query")
        .says(" of 144 judged titles, which come last");
    assert!(!folder.read("again/part.run").contains("inf"));
    folder.write("other.run", "x Q0 y 1 2.0 a\n");
    folder
        .run(&[&base[..], &["other.run"]].concat())
        .code(2)
        .says("other.run: expected a run with ids of the judged queries and titles, such as title");
    folder.run(&["evaluate", "--judged=judged.tsv", "runs/bm25.run"]).code(0).prints("a  bm25 ");
    #[cfg(unix)]
    {
        let piped = ["evaluate", "--judged=judged.tsv", "--titles=/dev/stdin", "runs/bm25.run"];
        let run = folder.run_with(&piped, folder.read("titles.tsv")).code(2).prints_nothing();
        run.says("/dev/stdin: expected a file of titles, because a run needs the ids of the judged titles")
            .says("write the titles to a file first, or give the judged table a column `title_id`");
    }
}

#[test]
fn outputs_are_checked_before_anything_is_trained() {
    let folder = Folder::with_data();
    let refused = |more: &[&str], message: &str| {
        let base = ["evaluate", "--judged=judged.tsv", "bm25", "--clicks=clicks.tsv"];
        let run = folder.run(&[&base[..], more].concat()).code(2).prints_nothing().says(message);
        // The corpus was not read.
        assert!(!run.stderr().contains("the collection is"), "{}", run.stderr());
    };
    folder.run(&["evaluate", "--judged=judged.tsv", "bm25", "--output=runs"]).code(0);
    folder.write("runs/per-query.tsv", folder.read("judged.tsv"));
    let same = ["evaluate", "--judged=runs/per-query.tsv", "bm25", "--output=runs"];
    folder.run(&same).code(2).says("an input, found `runs/per-query.tsv`; name another file").prints_nothing();
    folder.write("file", "");
    refused(&["--output=file"], "file");
    refused(&["runs/bm25.run", "--output=runs", "trigram"], "expected an output that is not an input");
}

#[test]
fn a_weighting_of_nothing_is_refused() {
    let folder = Folder::with_data();
    let message = "expected a value above 0 for one of lambda_t, lambda_o, lambda_u, found none";
    let spec = "mrf:lambda_t=0,lambda_o=0,lambda_u=0";
    folder.run(&["lab", "table", "--judged=judged.tsv", "--ranker", spec]).code(2).says(message);
    let grid = "ranker = \"mrf\"\ngrid = { lambda_t = [0], lambda_o = [0], lambda_u = [0, 0.5] }";
    folder.write("spec.toml", crate::harness::row("a", grid));
    folder.run(&["lab", "table", "spec.toml", "--judged=judged.tsv"]).code(2).says(message);
}

#[test]
#[cfg(target_os = "linux")]
fn json_is_whole_where_a_path_is_no_utf8() {
    use std::os::unix::ffi::OsStrExt as _;

    let folder = Folder::with_model();
    let odd = std::ffi::OsStr::from_bytes(b"m\xff.safetensors");
    std::fs::rename(folder.path("model.safetensors"), folder.path("").join(odd)).unwrap();
    let output = folder.command().args(["inspect", "--json"]).arg(odd).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["file"], "m\u{fffd}.safetensors");
    let mut train = folder.command();
    train
        .args(["train", "--clicks=clicks.tsv", "--json", "--set", "encoder.cells=8", "--epochs=1", "--output"])
        .arg(odd);
    let output = train.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let last = String::from_utf8(output.stdout).unwrap().lines().last().unwrap().to_owned();
    let done: serde_json::Value = serde_json::from_str(&last).unwrap();
    assert_eq!((&done["event"], &done["model"]), (&"done".into(), &"m\u{fffd}.safetensors".into()));
}

#[test]
fn it_says_what_the_queries_can_show() {
    let folder = Folder::new();
    let (mut judged, mut good, mut half) =
        ("query_id\tquery\ttitle_id\ttitle\tgrade\n".to_owned(), String::new(), String::new());
    for i in 0..40 {
        judged.push_str(&format!("q{i}\tquery {i}\ta{i}\tgood {i}\t4\nq{i}\tquery {i}\tb{i}\tother {i}\t0\n"));
        good.push_str(&format!("q{i} Q0 a{i} 1 2.0 x\nq{i} Q0 b{i} 2 1.0 x\n"));
        let [first, second] = if i % 2 == 0 { ["a", "b"] } else { ["b", "a"] };
        half.push_str(&format!("q{i} Q0 {first}{i} 1 2.0 x\nq{i} Q0 {second}{i} 2 1.0 x\n"));
    }
    folder.write("judged.tsv", judged);
    folder.write("good.run", good);
    folder.write("half.run", half);
    let base = ["evaluate", "--judged", "judged.tsv", "half.run", "good.run"];
    // Half of the queries differ by 1 − 1 / log₂ 3 = 0.369: (2.02 + 0.85) · 0.5 · 0.369 / √39 = 0.085.
    folder
        .run(&base)
        .code(0)
        .prints("smallest difference in NDCG@10 detectable with 80 % power on 40 queries: 0.085 (b − a)");
}

#[test]
fn judged_queries_that_are_clicked_are_counted_and_named() {
    let folder = Folder::with_model();
    let evaluate = |more: &[&str]| {
        let arguments = ["evaluate", "--judged", "judged.tsv", "--clicks", "clicks.tsv", "bm25"];
        folder.run(&[&arguments, more].concat())
    };
    let named =
        "judged.tsv: 48 of 48 judged queries are also in clicks.tsv, with 48 of 144 judged pairs: `red hammer`, ";
    for more in [&[][..], &["--titles", "titles.tsv"]] {
        evaluate(more).code(0).says(named);
    }
    // A system that does not read the clicks now may have learnt them before.
    let model = ["evaluate", "--judged", "judged.tsv", "--clicks", "clicks.tsv", "model.safetensors"];
    folder.run(&model).code(0).says(named);
    let [report] = evaluate(&["--json"]).code(0).json_lines().try_into().unwrap();
    assert_eq!((&report["overlap"]["queries"], &report["overlap"]["of_pairs"]), (&48.into(), &144.into()), "{report}");
    // Queries of other words.
    folder.write("judged.tsv", "query\ttitle\tgrade\ncrimson mallet\thammer in red, 10 in.\t3\n");
    let run = evaluate(&["--json"]).code(0);
    assert!(!run.stderr().contains("also in"), "{}", run.stderr());
    assert_eq!(run.json_lines()[0]["overlap"]["queries"], 0);
}

#[test]
fn qrels_without_texts_are_for_runs_alone() {
    let folder = Folder::with_data();
    folder.write("q.txt", "q1 0 t1 1\n");
    folder.write("r.txt", "q1 Q0 t1 1 0.5 r\n");
    for option in ["--full", "--clicks=clicks.tsv", "bm25"] {
        folder.run(&["evaluate", "--judged=q.txt", "r.txt", option]).code(2).says("which TREC qrels do not have");
    }
}

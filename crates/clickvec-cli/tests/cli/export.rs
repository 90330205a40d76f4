//! `clickvec export`: what is written, and what is refused. crates/clickvec-py/tests/test_export.py loads it into the systems that
//! it is for.

use serde_json::Value;

use crate::harness::{Folder, Run};

/// A folder with a model and the index `shop` of the titles.
fn with_index() -> Folder {
    let folder = Folder::with_model();
    index(&folder, "titles.tsv").code(0);
    folder
}

fn index(folder: &Folder, titles: &str) -> Run {
    folder.run(&["index", "--model=model.safetensors", "--titles", titles, "--output=shop"])
}

fn export(folder: &Folder, form: &str, more: &[&str]) -> Run {
    folder.run(&[&["export", "shop", "--output=out", "--to", form], more].concat())
}

/// The vectors that `embed` gives the titles of titles.tsv, by id.
fn vectors(folder: &Folder) -> Vec<(String, String, Vec<f32>)> {
    let embed = ["embed", "model.safetensors", "--side=title", "titles.tsv"];
    let lines = folder.run(&embed).code(0).json_lines();
    let row = |line: &Value| {
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        (text("id"), text("text"), numbers(&line["vector"]))
    };
    lines.iter().map(row).collect()
}

fn numbers(list: &Value) -> Vec<f32> {
    list.as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect()
}

fn json_lines(folder: &Folder, name: &str) -> Vec<Value> {
    folder.read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The fields of a row of CSV, all of them in quotes.
fn fields(row: &str) -> Vec<String> {
    let inside = row.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
    inside.split("\",\"").map(|field| field.replace("\"\"", "\"")).collect()
}

#[test]
fn a_table_for_postgresql_has_every_title_with_its_vector() {
    let folder = with_index();
    let [report] = export(&folder, "pgvector", &["--json"]).code(0).json_lines().try_into().unwrap();
    let expected = vectors(&folder);
    assert_eq!((&report["rows"], &report["dimension"]), (&expected.len().into(), &8.into()));
    let table = folder.read("out/titles.csv");
    assert_eq!(table.lines().count(), expected.len());
    for (row, (id, title, vector)) in table.lines().zip(expected) {
        let [found_id, found_title, found] = fields(row).try_into().unwrap();
        assert_eq!((found_id, found_title), (id, title));
        assert_eq!(serde_json::from_str::<Vec<f32>>(&found).unwrap(), vector);
    }
    let sql = folder.read("out/load.sql");
    assert!(sql.contains("embedding :numbers(8)") && !sql.contains("DROP"), "{sql}");
}

#[test]
fn lines_of_json_have_every_title_with_its_vector() {
    let folder = with_index();
    let expected = vectors(&folder);
    export(&folder, "qdrant", &["--name=shop"]).code(0).says("144 rows");
    let points = json_lines(&folder, "out/points.jsonl");
    let points: Vec<&Value> = points.iter().flat_map(|batch| batch["points"].as_array().unwrap()).collect();
    assert_eq!(points.len(), expected.len());
    for (number, (point, (id, title, vector))) in points.iter().zip(&expected).enumerate() {
        assert_eq!(point["id"], number);
        assert_eq!(point["payload"], serde_json::json!({"id": id, "title": title}));
        assert_eq!(&numbers(&point["vector"]), vector);
    }
    std::fs::remove_dir_all(folder.path("out")).unwrap();
    for form in ["opensearch", "elasticsearch"] {
        let told = "the exported search, computed here for 144 queries made from titles, finds ";
        export(&folder, form, &["--name=shop"]).code(0).says(told);
        let lines = json_lines(&folder, "out/bulk.jsonl");
        assert_eq!(lines.len(), 2 * expected.len());
        for (pair, (id, title, vector)) in lines.chunks_exact(2).zip(&expected) {
            assert_eq!(pair[0], serde_json::json!({"index": {"_index": "shop", "_id": id}}));
            assert_eq!((pair[1]["title"].as_str(), &numbers(&pair[1]["embedding"])), (Some(title.as_str()), vector));
        }
        let query = folder.read("out/query.json");
        assert!(query.contains("\"THE QUERY'S VECTOR, a list of 8 numbers\"") && query.lines().count() < 50, "{query}");
        let _: Value = serde_json::from_str(&query).unwrap();
        std::fs::remove_dir_all(folder.path("out")).unwrap();
    }
}

#[test]
fn a_search_pipeline_has_the_weights_of_the_index() {
    let folder = with_index();
    let pipeline = || -> Value {
        export(&folder, "opensearch", &[]).code(0);
        let pipeline: Value = serde_json::from_str(&folder.read("out/pipeline.json")).unwrap();
        pipeline["phase_results_processors"][0].clone()
    };
    let weights = |processor: &Value| -> Vec<f64> {
        let weights = processor["combination"]["parameters"]["weights"].as_array().unwrap();
        weights.iter().map(|weight| weight.as_f64().unwrap()).collect()
    };
    let equal = &pipeline()["normalization-processor"];
    assert_eq!((equal["normalization"]["technique"].as_str(), weights(equal)), (Some("min_max"), vec![0.5, 0.5]));
    for (method, name, technique) in [
        ("min-max", "normalization-processor", "min_max"),
        ("z-score", "normalization-processor", "z_score"),
        ("rrf", "score-ranker-processor", "rrf"),
    ] {
        let index = ["index", "--model=model.safetensors", "--titles=titles.tsv", "--output=shop"];
        folder.run(&[&index[..], &["--weights=words=0.3,vectors=0.9", "--fusion", method]].concat()).code(0);
        let [about] = folder.run(&["inspect", "shop", "--json"]).code(0).json_lines().try_into().unwrap();
        let fusion = &about["fusion"]["weights"];
        let (words, vectors) = (fusion["words"].as_f64().unwrap(), fusion["vectors"].as_f64().unwrap());
        let processor = &pipeline()[name];
        let techniques = [&processor["normalization"]["technique"], &processor["combination"]["technique"]];
        assert!(techniques.contains(&&Value::from(technique)), "{processor}");
        for (found, weight) in weights(processor).into_iter().zip([words, vectors]) {
            assert!((found - weight / (words + vectors)).abs() < 1e-12, "{processor} {fusion}");
        }
    }
}

#[test]
fn features_of_judged_titles_are_in_svmranks_form() {
    let folder = with_index();
    export(&folder, "svmrank", &["--judged=judged.tsv"]).code(0).says("144 rows");
    let lines = folder.read("out/features.txt");
    assert_eq!(lines.lines().count(), 144);
    let first: Vec<&str> = lines.lines().next().unwrap().split(' ').collect();
    assert_eq!((first[0], first[1]), ("4", "qid:1"), "{first:?}");
    let numbers: Vec<f64> =
        (1..=8).map(|n| first[1 + n].strip_prefix(&format!("{n}:")).unwrap().parse().unwrap()).collect();
    // `red hammer`, `hammer in red, 10 in.`: both words are there, not in order.
    assert_eq!(numbers[3..], [2.0, 5.0, 2.0, 1.0, 0.0]);
    folder.index("model.safetensors", "titles.tsv").code(0);
    let search = ["search", "shop.index", "--mode=vectors", "-k=200", "--json", "red hammer"];
    let [found] = folder.run(&search).code(0).json_lines().try_into().unwrap();
    let found = found["results"].as_array().unwrap().iter().find(|of| of["title"] == "hammer in red, 10 in.").unwrap();
    assert!((found["score"].as_f64().unwrap() - numbers[0]).abs() < 1e-6, "{found} {numbers:?}");
    let groups: Vec<usize> = folder.read("out/groups.txt").lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(groups, [3; 48]);
    assert_eq!(folder.read("out/names.txt").lines().count(), 8);
}

#[cfg(feature = "onnx")]
#[test]
fn encoders_are_exported_with_what_texts_must_become() {
    let folder = Folder::with_data();
    folder.train("model.safetensors", &["--set", "shared_towers=true"]).code(0);
    let onnx = ["export", "model.safetensors", "--to=onnx", "--output=out"];
    folder.run(&onnx).code(0).says("out: written; lstm, 8 cells").prints_nothing();
    let graph = std::fs::read(folder.path("out/model.onnx")).unwrap();
    for name in ["clickvec", "features", "lengths", "vectors", "LSTM", "ReduceSum"] {
        assert!(graph.windows(name.len()).any(|bytes| bytes == name.as_bytes()), "{name}");
    }
    let settings: Value = serde_json::from_str(&folder.read("out/trigrams.json")).unwrap();
    let trigrams = settings["trigrams"].as_array().unwrap().len();
    assert_eq!(settings["graphs"], serde_json::json!({"query": "model.onnx", "title": "model.onnx"}));
    let expected: Vec<Value> = serde_json::from_str(&folder.read("out/vectors.json")).unwrap();
    let texts: Vec<&str> = expected.iter().map(|of| of["text"].as_str().unwrap()).collect();
    folder.write("texts", texts.join("\n"));
    let lines = folder.run(&["embed", "model.safetensors", "--side=query", "texts"]).code(0).json_lines();
    for (of, line) in expected.iter().zip(&lines) {
        assert_eq!((&of["text"], numbers(&of["query"])), (&line["text"], numbers(&line["vector"])));
        let rows = of["rows"].as_array().unwrap().iter().flat_map(|word| word.as_array().unwrap());
        assert!(rows.clone().all(|row| (row.as_u64().unwrap() as usize) < trigrams), "{of}");
    }
    assert!(expected[0]["rows"].as_array().unwrap().len() == 2, "{}", expected[0]);
    // Once more over the same files, and never over the model.
    folder.run(&onnx).code(0);
    std::fs::copy(folder.path("model.safetensors"), folder.path("out/model.onnx")).unwrap();
    folder.run(&["export", "out/model.onnx", "--to=onnx", "--output=out"]).code(2).says("expected an output");
    folder.train("folded.safetensors", &["--set", "text.accents=fold"]).code(0);
    folder
        .run(&["export", "folded.safetensors", "--to=onnx", "--output=folded"])
        .code(2)
        .says("expected a model with text.accents=keep");
}

#[test]
fn strange_titles_are_exported() {
    let folder = Folder::with_model();
    let strange =
        ["red 'hammer' \"x\"", "grüne Lampe red \\ ß", &"red ".repeat(3000), "red\u{0}hammer", "<b>red</b> {{ x }}"];
    let rows = strange.iter().enumerate().map(|(number, title)| format!("i'{number}\t{title}\n"));
    folder.write("strange.tsv", format!("id\ttitle\n{}", rows.collect::<String>()));
    index(&folder, "strange.tsv").code(0);
    for (form, file) in [("pgvector", "titles.csv"), ("qdrant", "points.jsonl"), ("opensearch", "bulk.jsonl")] {
        let _ = std::fs::remove_dir_all(folder.path("out"));
        export(&folder, form, &[]).code(0).says("5 rows");
        let written = std::fs::read(folder.path(&format!("out/{file}"))).unwrap();
        assert!(!written.contains(&0), "{form}");
    }
    let bulk = json_lines(&folder, "out/bulk.jsonl");
    let titles: Vec<&str> = bulk.iter().skip(1).step_by(2).map(|line| line["title"].as_str().unwrap()).collect();
    assert_eq!(titles, strange);
    // Texts of PostgreSQL have no U+0000.
    std::fs::remove_dir_all(folder.path("out")).unwrap();
    export(&folder, "pgvector", &[]).code(0);
    let table = folder.read("out/titles.csv");
    let titles: Vec<String> = table.lines().map(|row| fields(row)[1].clone()).collect();
    assert_eq!(titles, strange.map(|title| title.replace('\0', " ")));
}

#[test]
fn a_form_of_ones_own_is_a_template() {
    let folder = with_index();
    let printed = folder.run(&["export", "--print-template", "--to=qdrant"]).code(0).stdout();
    folder.write("same.jinja", &printed);
    let own = |template: &str| folder.run(&["export", "shop", "--output=own", "--template", template]);
    own("same.jinja").code(0).says("144 rows");
    export(&folder, "qdrant", &[]).code(0);
    for file in ["points.jsonl", "collection.json", "load.sh"] {
        assert_eq!(folder.read(&format!("own/{file}")), folder.read(&format!("out/{file}")));
    }
    // Another form does not replace it.
    folder.write("other.jinja", "==> ids.txt | each title\n{{ title.id }}\n");
    own("other.jinja").code(2).says("own: expected an export to this form to replace, or nothing");
    std::fs::remove_dir_all(folder.path("own")).unwrap();
    own("other.jinja").code(0);
    assert!(folder.read("own/ids.txt").starts_with("t0010\nt0020\n"));
    // What fails leaves the earlier export as it was.
    folder.write("other.jinja", "==> ids.txt | each title\n{{ title.price }}\n");
    own("other.jinja").code(2).says("other.jinja:2: cannot render `ids.txt`: undefined value");
    assert_eq!(folder.read("own/ids.txt").lines().count(), 144);
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_replaced() {
    let folder = with_index();
    let refused = |form: &str, more: &[&str], words: &str| {
        export(&folder, form, more).code(2).says(words).prints_nothing();
    };
    refused("pgvector", &["--judged=judged.tsv"], "expected no judged titles");
    refused("svmrank", &[], "--judged");
    refused("svmrank", &["--judged=none.tsv"], "none.tsv");
    refused("pgvector", &["--name=a; drop table b"], "expected at most 48 lowercase letters");
    refused("word", &[], "invalid value 'word'");
    let model = ["export", "model.safetensors", "--to=qdrant", "--output=out"];
    folder.run(&model).code(2).says("model.safetensors: expected an index, found a file");
    assert!(!folder.path("out").exists());
    folder.write("out", "mine");
    refused("qdrant", &[], "out: expected an export to this form to replace, or nothing, found a file");
    assert_eq!(folder.read("out"), "mine");
    // An input in an earlier export is not replaced.
    std::fs::remove_file(folder.path("out")).unwrap();
    export(&folder, "svmrank", &["--judged=judged.tsv"]).code(0);
    std::fs::copy(folder.path("judged.tsv"), folder.path("out/names.txt")).unwrap();
    refused("svmrank", &["--judged=out/names.txt"], "expected an output that is not an input");
    assert_eq!(folder.read("out/names.txt"), folder.read("judged.tsv"));
}

#[test]
fn a_folder_of_something_else_is_refused() {
    let folder = with_index();
    let to = |output: &str, form: &str| folder.run(&["export", "shop", "--output", output, "--to", form]);
    for (form, file) in [("qdrant", "load.sh"), ("pgvector", "load.sql"), ("onnx", "encode.py")] {
        // An index that has other files in it can no longer be replaced.
        to("shop", form).code(2).says("expected an output outside the index");
        to(form, form).code(0);
        to(form, form).code(0);
        // Half of one system's files and half of another's would load neither.
        to(form, "opensearch").code(2).says(&format!("{form}: expected an export to this form to replace, or nothing"));
        // Files that have the names of ours may come from elsewhere.
        let own = format!("own-{form}");
        std::fs::create_dir(folder.path(&own)).unwrap();
        folder.write(&format!("{own}/{file}"), "mine");
        to(&own, form).code(2).says("expected an export to this form to replace, or nothing");
        assert_eq!(folder.read(&format!("{own}/{file}")), "mine");
        assert_eq!(std::fs::read_dir(folder.path(&own)).unwrap().count(), 1);
    }
    index(&folder, "titles.tsv").code(0);
}

#[test]
fn a_folder_has_one_export_at_a_time() {
    let folder = with_index();
    export(&folder, "qdrant", &[]).code(0);
    let other = clickvec_tables::files::Claim::new(&folder.path("out")).unwrap();
    export(&folder, "qdrant", &[]).code(2).says("out: another process writes to this output; wait for it");
    drop(other);
    folder.write("out/notes", "mine");
    export(&folder, "qdrant", &[]).code(2).says("found one with `notes` in it");
    std::fs::remove_file(folder.path("out/notes")).unwrap();
    export(&folder, "qdrant", &[]).code(0);
}

/// A request may be answered with 200 and a document refused.
#[test]
#[cfg(unix)]
fn a_script_tells_what_opensearch_does_not_take() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = with_index();
    folder.run(&["export", "shop", "--to=opensearch", "--output=os"]).code(0);
    let load = |bulk: &str| {
        folder.write("curl", format!("#!/bin/sh\ncase \"$*\" in *_bulk*) {bulk} ;; *) echo fine ;; esac\n"));
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path("curl"), executable).unwrap();
        let paths = format!("{}:{}", folder.path("").display(), std::env::var("PATH").unwrap());
        let mut bash = std::process::Command::new("bash");
        let run = bash.arg("load.sh").current_dir(folder.path("os")).env("PATH", paths).output().unwrap();
        let parts = std::fs::read_dir(folder.path("os")).unwrap();
        let parts = parts.filter(|part| part.as_ref().unwrap().file_name().to_string_lossy().starts_with(".part"));
        assert_eq!(parts.count(), 0, "parts are left");
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    assert_eq!(load(r#"echo '{"errors":false}'"#), (Some(0), String::new()));
    let (code, told) = load(r#"echo '{"errors":true,"items":[]}'"#);
    assert!(code == Some(1) && told.contains("not all documents were taken: {\"errors\":true"), "{told}");
    let (code, told) = load("echo 'no disk'; exit 22");
    assert!(code == Some(1) && told.contains("no disk"), "{told}");
}

/// Graphs of an earlier model with other towers would be taken for this one's.
#[test]
#[cfg(feature = "onnx")]
fn graphs_of_an_earlier_model_go() {
    let folder = Folder::with_model();
    let train =
        ["train", "--clicks=clicks.tsv", "--set", "encoder.cells=4", "--epochs=1", "--held-out=0", "--output=one"];
    folder.run(&train).code(0);
    let graphs = |model: &str| {
        folder.run(&["export", model, "--to=onnx", "--output=graphs"]).code(0);
        let names = std::fs::read_dir(folder.path("graphs")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".onnx")).collect();
        names.sort();
        names
    };
    assert_eq!(graphs("model.safetensors"), ["query.onnx", "title.onnx"]);
    assert_eq!(graphs("one"), ["model.onnx"]);
    assert_eq!(graphs("model.safetensors"), ["query.onnx", "title.onnx"]);
}

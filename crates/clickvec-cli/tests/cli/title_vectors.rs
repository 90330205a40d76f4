//! Vectors of titles alone, as a transformer writes them: queries get theirs by `vectors:ridge`, in a fusion, an index and an explanation.

use std::fmt::Write as _;

use serde_json::Value;

use crate::harness::Folder;

/// A number for each letter, so that titles with the same words have similar vectors.
fn vector(title: &str) -> Vec<f64> {
    let mut sums = vec![0.0; 8];
    for word in title.split_whitespace() {
        let hash = word.bytes().fold(7u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
        sums.iter_mut()
            .enumerate()
            .for_each(|(i, sum)| *sum += f64::from(hash.wrapping_mul(2 * i as u32 + 1) >> 20) - 2048.0);
    }
    sums
}

/// [`Folder::with_model`] with `vectors.jsonl`, which has all titles.
fn folder() -> Folder {
    let folder = Folder::with_model();
    let mut lines = String::new();
    for title in folder.read("titles.tsv").lines().skip(1).map(|line| line.split('\t').nth(1).unwrap().to_owned()) {
        let _ = writeln!(lines, "{}", serde_json::json!({ "text": title, "vector": vector(&title) }));
    }
    folder.write("vectors.jsonl", lines);
    folder
}

const EVALUATE: [&str; 3] = ["evaluate", "--judged=judged.tsv", "--titles=titles.tsv"];

#[test]
fn queries_get_vectors_and_without_the_parameter_the_message_names_it() {
    let folder = folder();
    folder
        .run(&[&EVALUATE[..], &["vectors:file=vectors.jsonl"]].concat())
        .code(2)
        .says("expected vectors for the texts of the test set, found none for its")
        .says("`ridge=0.3` gives queries theirs");
    let report =
        folder.run(&[&EVALUATE[..], &["vectors:file=vectors.jsonl,ridge=0.3", "--json"]].concat()).code(0).json_lines();
    let system = &report[0]["systems"][0];
    assert!(
        system["name"] == "vectors:file=vectors.jsonl,ridge=0.3" && system["ndcg@10"].as_f64().unwrap() > 0.5,
        "{report:?}"
    );
    // Titles that the file does not know cannot be learnt from.
    folder.write("other.jsonl", "{\"text\": \"some other title\", \"vector\": [1, 2]}\n");
    let other = ["evaluate", "--judged=judged.tsv", "--titles=titles.tsv", "vectors:file=other.jsonl,ridge=1"];
    folder.run(&other).code(1).says("titles as whole texts to fit others to, found 0").says("leave out `ridge`");
    folder.run(&[&EVALUATE[..], &["vectors:file=vectors.jsonl,ridge=-1"]].concat()).code(2).says("ridge");
}

#[test]
fn an_index_searches_with_them_and_its_sums_are_explained() {
    let folder = folder();
    let members = ["bm25:k1=1.2,b=0.75", "vectors:file=vectors.jsonl,ridge=0.3", "model.safetensors"];
    let fused = ["--fusion=linear:2,5,3", "--fusion=min-max:2,5,3", "--save-rankers=kept"];
    folder.run(&[&EVALUATE[..], &members, &fused].concat()).code(0);
    for method in ["linear", "min-max"] {
        let model = format!("--model=kept/fusion_{method}.safetensors");
        folder.run(&["index", &model, "--titles=titles.tsv", "--output=four.index"]).code(0);
        let inspected = folder.run(&["inspect", "four.index"]).code(0).stdout();
        assert!(inspected.contains("fusion.weights.teacher "), "{inspected}");
        let mut by_teacher = 0;
        for query in ["red hammer", "hamers in red"] {
            let explained = folder.run(&["explain", "rank", "four.index", query, "-k=7", "--json"]);
            let lines = explained.code(0).json_lines();
            let found =
                folder.run(&["search", "four.index", query, "-k=7", "--as-typed", "--json"]).code(0).json_lines();
            let results = found[0]["results"].as_array().unwrap();
            assert_eq!((lines.len(), results.len()), (7, 7));
            for (line, result) in lines.iter().zip(results) {
                let number = |value: &Value| value.as_f64().unwrap_or(0.0);
                assert_eq!(line["title"], result["title"], "{method} {query}");
                assert!((number(&line["sum"]) - number(&result["score"])).abs() < 1e-5, "{line} {result}");
                let parts = ["words", "vectors", "teacher"].map(|part| number(&line["adds"][part]));
                assert!((parts.iter().sum::<f64>() - number(&line["sum"])).abs() < 1e-6, "{line}");
                by_teacher += u32::from(parts[2] > 0.0 && line["scores"]["teacher"].is_number());
            }
        }
        assert!(by_teacher > 5, "{by_teacher}");
        let page = ["explain", "rank", "--html=four.html", "four.index", "red hammer"];
        let text = folder.run(&page).code(0).stdout();
        assert!(text.contains("cosine of teacher") && text.contains("half"), "{text}");
        assert!(folder.read("four.html").contains("cosine of teacher"));
    }
    // An update keeps it, and a damaged file is told.
    folder.write("new.tsv", "id\ttitle\nnew1\tred hammer of steel\n");
    folder.run(&["index", "--update=new.tsv", "--output=four.index"]).code(0);
    folder.run(&["index", "--join=four.index", "--output=four.index"]).code(0);
    let found = folder.run(&["search", "four.index", "red hammer steel", "--json"]).code(0).json_lines();
    assert!(found[0]["results"].as_array().unwrap().iter().any(|result| result["id"] == "new1"), "{found:?}");
    let path = folder.path("four.index").join("teacher.safetensors");
    let good = std::fs::read(&path).unwrap();
    std::fs::write(&path, &good[..good.len() / 2]).unwrap();
    folder.run(&["search", "four.index", "red"]).code(2).says("teacher.safetensors").prints_nothing();
}

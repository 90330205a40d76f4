//! `clickvec inspect`.

use crate::harness::Folder;

#[test]
fn a_model_is_described() {
    let folder = Folder::with_model();
    let run = folder.run(&["inspect", "model.safetensors"]).code(0);
    let text = run.stdout();
    for part in
        ["encoder.kind", "lstm", "fingerprint", "trigrams", "query.w4", "parameters", "training", "gamma", "epochs"]
    {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn json_is_one_object() {
    let folder = Folder::with_model();
    let [report] = folder.run(&["inspect", "model.safetensors", "--json"]).code(0).json_lines().try_into().unwrap();
    assert_eq!((&report["encoder"]["kind"], &report["dimension"]), (&"lstm".into(), &8.into()));
    let tensors = report["tensors"].as_array().unwrap();
    let sum: u64 = tensors.iter().map(|tensor| tensor["parameters"].as_u64().unwrap()).sum();
    assert_eq!(report["parameters"], sum);
    assert!(report["trigrams"].as_u64().unwrap() > 50);
    assert!(report["first_trigrams"].as_array().unwrap().iter().all(|t| t.as_str().unwrap().chars().count() == 3));
}

#[test]
fn a_model_that_is_cut_short_is_refused() {
    let folder = Folder::with_model();
    folder.run(&["inspect", "none"]).code(2).says("none: cannot open");
    folder.run(&["inspect", "."]).code(1).prints(".: nothing that clickvec knows");
    let model = std::fs::read(folder.path("model.safetensors")).unwrap();
    for length in [100, model.len() / 2, model.len() - 1] {
        folder.write("cut", &model[..length]);
        folder.run(&["inspect", "cut"]).code(2).says("cut: ").prints_nothing();
    }
}

#[test]
fn a_ranker_is_described() {
    let folder = Folder::with_model();
    let evaluate = ["evaluate", "--judged=judged.tsv", "--titles=titles.tsv", "bm25:k1=1.2,b=0.75"];
    folder.run(&[&evaluate[..], &["--save-rankers=kept"]].concat()).code(0);
    let bm25 = "kept/bm25_k1=1.2,b=0.75.safetensors";
    folder.run(&["inspect", bm25]).code(0).prints("ranker  bm25:k1=1.2,b=0.75");
    let report = folder.run(&["inspect", bm25, "--json"]).code(0).json_lines();
    assert_eq!(report[0]["ranker"], "bm25:k1=1.2,b=0.75,stem=0,split=0,fold=0");
}

/// The files of a folder and of those in it, by their names.
fn files(path: &std::path::Path, inside: &str) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{inside}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            names.extend(files(&entry.path(), &format!("{name}/")));
        } else {
            names.push(name);
        }
    }
    names.sort();
    names
}

#[test]
fn a_changed_byte_in_any_file_of_an_index_is_named() {
    let folder = Folder::with_model();
    let weights = ["--weights=words=1,vectors=1,trigrams=1", "--fusion=z-score", "--output=shop.index"];
    folder.run(&[&["index", "--model=model.safetensors", "--titles=titles.tsv"][..], &weights].concat()).code(0);
    folder.write("new.tsv", "id\ttitle\nnew\tred hammer of brass\n");
    folder.run(&["update", "shop.index", "--add=new.tsv"]).code(0);
    let verify = ["inspect", "shop.index"];
    folder.run(&verify).code(0).prints("integrity.sound ").prints("fingerprint ");
    let names = files(&folder.path("shop.index"), "");
    assert!(names.len() > 35 && names.iter().any(|name| name.starts_with("changes-000001/words/")), "{names:?}");
    for name in &names {
        let path = folder.path("shop.index").join(name);
        let good = std::fs::read(&path).unwrap();
        if good.is_empty() {
            continue;
        }
        let mut bad = good.clone();
        bad[good.len() / 2] ^= 1;
        std::fs::write(&path, bad).unwrap();
        let short = name.rsplit('/').next().unwrap().trim_end_matches(".json");
        if name == "manifest.json" {
            // Without it nothing is known of the others.
            folder.run(&verify).code(2).says("manifest");
        } else {
            let text = folder.run(&verify).code(1).prints(short).stdout();
            assert!(!text.contains("searches."), "{name}: {text}");
        }
        std::fs::write(&path, good).unwrap();
    }
    let [report] = folder.run(&[&verify[..], &["--json"]].concat()).code(0).json_lines().try_into().unwrap();
    assert!(report["integrity"]["sound"] == true && report["integrity"]["queries"].as_u64() > Some(0), "{report}");
    // All that are damaged are named, also one that is gone.
    std::fs::remove_file(folder.path("shop.index/ids.bin")).unwrap();
    folder.write("shop.index/vectors.npy", "short");
    let [report] = folder.run(&[&verify[..], &["--json"]].concat()).code(1).json_lines().try_into().unwrap();
    let damaged = report["integrity"]["damaged"].to_string();
    assert!(report["integrity"]["damaged"].as_array().unwrap().len() == 2, "{report}");
    assert!(damaged.contains("ids.bin") && damaged.contains("vectors.npy"), "{report}");
}

//! `clickvec index --words`, and a `bm25` that analyses words: plurals and numbers in searches.

use crate::harness::{Folder, Run};

/// A folder with a model and `part.tsv`, titles with plurals and units.
fn folder() -> Folder {
    let folder = Folder::with_model();
    folder.write("part.tsv", "id\ttitle\na\tred hammers 12in\nb\tred hammer 12 in\nc\tgreen door\n");
    folder
}

fn index(folder: &Folder, more: &[&str]) -> Run {
    let model = ["index", "--model", "model.safetensors", "--titles", "part.tsv", "--output", "shop.index"];
    folder.run(&[&model[..], more].concat())
}

/// The ids that a search by words finds, sorted.
fn found(folder: &Folder, index: &str, query: &str) -> Vec<String> {
    let lines = folder.run(&["search", index, "--json", "--mode", "words", query]).json_lines();
    let results = lines[0]["results"].as_array().unwrap();
    let mut ids: Vec<String> = results.iter().map(|found| found["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn an_index_compares_words_as_it_is_told() {
    let folder = folder();
    for (how, by_plural, by_unit) in [
        ("exact", &["a"][..], &["a"][..]),
        ("stem", &["a", "b"], &["a"]),
        ("split", &["a"], &["a", "b"]),
        ("stem,split", &["a", "b"], &["a", "b"]),
    ] {
        index(&folder, &["--words", how]).code(0);
        assert_eq!(found(&folder, "shop.index", "hammers"), by_plural, "{how}");
        assert_eq!(found(&folder, "shop.index", "12in"), by_unit, "{how}");
    }
    folder.write("new.tsv", "id\ttitle\nn\tgreen hammers\n");
    folder.run(&["index", "--update", "new.tsv", "--output", "shop.index"]).code(0);
    folder.run(&["index", "--join", "shop.index", "--output", "shop.index"]).code(0);
    assert_eq!(found(&folder, "shop.index", "hammer"), ["a", "b", "n"]);
    // What is lost is said.
    let lost = "the index that is replaced compares words by `exact`, and the new one by `stem,split`; `--words exact`, or a fusion \
                whose `bm25` does so, keeps that";
    index(&folder, &["--words", "exact"]).code(0);
    index(&folder, &[]).code(0).says(lost);
    index(&folder, &["--words", "stem"]).code(0);
    let kept = index(&folder, &["--words", "split"]).code(0);
    assert!(!kept.stderr().contains("warning"), "{}", kept.stderr());
}

#[test]
fn shards_are_joined_as_it_is_told() {
    let folder = folder();
    for part in ["1", "2"] {
        let output = format!("{part}.index");
        let shard = ["index", "--model", "model.safetensors", "--titles", "part.tsv", "--shard"];
        folder.run(&[&shard[..], &[&format!("{part}/2"), "--output", &output]].concat()).code(0);
    }
    let join = ["index", "--join", "1.index", "2.index", "--output", "joined.index"];
    folder.run(&[&join[..], &["--words", "stem"]].concat()).code(0);
    assert_eq!(found(&folder, "joined.index", "hammers"), ["a", "b"]);
    folder.run(&join).code(0).says("compares words by `stem`");
    assert_eq!(found(&folder, "joined.index", "hammers"), ["a", "b"]);
    // Whole indexes keep what they have, unless they differ.
    for how in ["stem", "split"] {
        index(&folder, &["--words", how]).code(0);
        std::fs::rename(folder.path("shop.index"), folder.path(how)).unwrap();
    }
    folder.write("part.tsv", "id\ttitle\nd\tred hammers\n");
    index(&folder, &["--words", "stem"]).code(0);
    folder.run(&["index", "--join", "stem", "shop.index", "--output", "both"]).code(0);
    assert_eq!(found(&folder, "both", "hammer"), ["a", "b", "d"]);
    let mixed = ["index", "--join", "split", "shop.index", "--output", "both"];
    folder.run(&mixed).code(2).says("or choose one");
    folder.run(&[&mixed[..], &["--words", "exact"]].concat()).code(0);
    assert_eq!(found(&folder, "both", "hammer"), ["b"]);
}

#[test]
fn a_fusion_brings_its_own() {
    let folder = folder();
    let evaluate = ["evaluate", "--full", "--judged", "judged.tsv", "--titles", "titles.tsv"];
    let more = ["bm25:k1=1.2,b=0.75,stem=1,split=1", "model.safetensors", "--fusion", "z-score"];
    folder.run(&[&evaluate[..], &more, &["--save-rankers", "kept"]].concat()).code(0);
    let fusion = "kept/fusion_z-score.safetensors";
    let model = |fusion| ["index", "--model", fusion, "--titles", "part.tsv", "--output", "shop.index"];
    folder.run(&model(fusion)).code(0);
    assert_eq!(found(&folder, "shop.index", "hammers"), ["a", "b"]);
    let about = folder.run(&["inspect", "--json", "shop.index"]).code(0).json_lines();
    let (words, fused) = (&about[0]["searches"]["words"], &about[0]["fusion"]);
    assert_eq!((&words["k1"], &words["b"], &words["stem"]), (&1.2.into(), &0.75.into(), &true.into()));
    assert_eq!((&fused["method"], &fused["custom"]), (&"z-score".into(), &true.into()));
    let words =
        "expected a model with `--words`, found a fusion, which compares words as its `bm25` does; leave `--words` out";
    folder.run(&[&model(fusion)[..], &["--words", "stem"]].concat()).code(2).says(words);
    // What was fitted together stays together.
    let join = ["index", "--join", "shop.index", "--words", "exact", "--output", "joined.index"];
    folder.run(&join).code(2).says("expected an index with the default fusion with `--words`");
    // An index has the parameters with which the weights were fitted.
    let more = ["bm25:stem=1", "model.safetensors", "--fusion", "min-max", "--save-rankers", "other"];
    folder.run(&[&evaluate[..], &more].concat()).code(0);
    folder.run(&model("other/fusion_min-max.safetensors")).code(0);
    let about = folder.run(&["inspect", "--json", "shop.index"]).code(0).json_lines();
    let words = &about[0]["searches"]["words"];
    assert_eq!((&words["k1"], &words["b"], &words["stem"]), (&0.9.into(), &0.4.into(), &true.into()));
    assert_eq!(words["split"], false);
}

#[test]
fn what_is_no_way_to_compare_words_is_refused() {
    let folder = folder();
    for bad in ["", "stems", "stem,stem", "stem split"] {
        index(&folder, &["--words", bad]).code(2).says("expected exact, stem, split or stem,split");
    }
    index(&folder, &[]).code(0);
    folder
        .run(&["index", "--delete", "gone.txt", "--words", "stem", "--output", "shop.index"])
        .code(2)
        .says("cannot be used with");
    for (spec, fault) in [("stem=2", "expected 0 to 1 for `stem`, found 2"), ("split=0.5", "a whole number")] {
        let ranker = format!("bm25:{spec}");
        folder.run(&["evaluate", "--judged", "judged.tsv", &ranker]).code(2).says(fault);
    }
}

#[test]
fn an_explanation_compares_words_as_the_index_does() {
    let folder = folder();
    index(&folder, &["--words", "stem,split"]).code(0);
    let explain = ["explain", "rank", "shop.index", "--json", "hammers"];
    let told = folder.run(&explain).code(0).json_lines();
    let bm25 = |id: &str| told.iter().find(|of| of["id"] == id).unwrap()["scores"]["words"].as_f64().unwrap();
    assert!(bm25("a") > 0.0 && bm25("b") > 0.0 && bm25("c") == 0.0, "{told:?}");
}

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
fn accents_are_folded_if_the_model_folds_them_or_the_index() {
    let folder = Folder::with_data();
    folder.write("part.tsv", "id\ttitle\na\tCafé hammer\nb\tcafe hammer\n");
    folder.train("model.safetensors", &["--set", "text.accents=fold"]).code(0);
    index(&folder, &[]).code(0);
    assert_eq!(found(&folder, "shop.index", "cafés"), ["a", "b"]);
    let vector = |text: &str| {
        let lines = folder.run_with(&["embed", "model.safetensors", "--side=title"], text).code(0).json_lines();
        lines[0]["vector"].clone()
    };
    assert_eq!(vector("Café hammer\n"), vector("cafe hammer\n"));
    folder.run(&["inspect", "model.safetensors"]).code(0).prints("training.config.text.accents").prints("  fold");
    index(&folder, &["--weights", "words=0.1,trigrams=0.1,vectors=1"]).code(0);
    let by_trigrams = folder.run(&["search", "shop.index", "--json", "--mode", "trigrams", "café hammer"]).json_lines();
    assert_eq!(by_trigrams[0]["results"][0]["score"], by_trigrams[0]["results"][1]["score"]);
    index(&folder, &["--words", "stem,split"]).code(0);
    assert_eq!(found(&folder, "shop.index", "cafés"), ["a"]);
    // A model goes on with its own rule.
    folder.train("next.safetensors", &["--init", "model.safetensors"]).code(0);
    let other = ["--init", "model.safetensors", "--set", "text.accents=keep"];
    folder.train("other.safetensors", &other).code(2).says("expected an initial model with accents=keep tokens=words");
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
    folder.run(&["update", "shop.index", "--add", "new.tsv"]).code(0);
    folder.run(&["update", "shop.index", "--compact"]).code(0);
    assert_eq!(found(&folder, "shop.index", "hammer"), ["a", "b", "n"]);
    // What is lost is said.
    let lost = "the new index analyses words by `stem,split`, and the one it replaces by `exact`; keep that with `--words exact`";
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
    folder.run(&join).code(0).says("the one it replaces by `stem`");
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
fn what_is_no_way_to_compare_words_is_refused() {
    let folder = folder();
    for bad in ["", "stems", "stem,stem", "stem split"] {
        index(&folder, &["--words", bad]).code(2).says("expected exact, or some of stem, split and fold");
    }
    index(&folder, &[]).code(0);
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

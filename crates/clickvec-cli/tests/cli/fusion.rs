//! `clickvec evaluate --fusion`: fusing systems, their weights, and saved fusions.

use serde_json::Value;

use crate::harness::{Folder, Run};

const METRICS: [&str; 7] = ["ndcg@1", "ndcg@3", "ndcg@10", "mrr", "map", "precision@10", "recall@10"];

/// The row of this name.
#[track_caller]
fn row(run: &Run, name: &str) -> Value {
    let [report] = run.json_lines().try_into().unwrap();
    let rows = report["systems"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no `{name}` in {report}")).clone()
}

#[track_caller]
fn assert_same_numbers(a: &Value, b: &Value) {
    for metric in METRICS {
        assert!(a[metric].is_f64() && a[metric] == b[metric], "{metric}: {a} {b}");
    }
}

/// The weights of a fusion's row, by the name of the member.
fn weights(row: &Value) -> Vec<(String, f64)> {
    let members = row["fusion"]["members"].as_array().unwrap();
    members.iter().map(|m| (m["name"].as_str().unwrap().to_owned(), m["weight"].as_f64().unwrap())).collect()
}

/// A folder with a model, and `other.tsv`: the judged titles for queries with their words reversed.
fn folder() -> Folder {
    let folder = Folder::with_model();
    let line = |line: &str| {
        let (query, rest) = line.split_once('\t').unwrap();
        let (colour, thing) = query.split_once(' ').unwrap();
        format!("{thing} {colour}\t{rest}\n")
    };
    let judged = folder.read("judged.tsv");
    let (head, lines) = judged.split_once('\n').unwrap();
    folder.write("other.tsv", format!("{head}\n{}", lines.lines().map(line).collect::<String>()));
    folder
}

const THREE: [&str; 9] =
    ["evaluate", "--judged", "judged.tsv", "--titles", "titles.tsv", "bm25", "trigram", "model.safetensors", "--json"];

#[test]
fn a_fusion_is_fitted_on_other_queries_kept_and_read_again() {
    let folder = folder();
    let more = ["--fusion=min-max:other.tsv", "--fusion=rrf:other.tsv", "--save-rankers=kept"];
    let run = folder.run(&[&THREE[..], &more].concat()).code(0);
    let [sum, ranks] = ["fusion:min-max", "fusion:reciprocal-rank"].map(|name| row(&run, name));
    for (fusion, method) in [(&sum, "min-max"), (&ranks, "reciprocal-rank")] {
        assert_eq!((&fusion["fusion"]["method"], &fusion["fusion"]["fitted_on"]), (&method.into(), &48.into()));
        let weights = weights(fusion);
        let names: Vec<&str> = weights.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["bm25", "trigram", "model"]);
        assert!((weights.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-9, "{fusion}");
    }
    assert!(row(&run, "bm25")["fusion"].is_null());

    // The folder has everything that is needed, wherever it is.
    std::fs::rename(folder.path("kept"), folder.path("moved")).unwrap();
    std::fs::remove_file(folder.path("model.safetensors")).unwrap();
    std::fs::remove_file(folder.path("titles.tsv")).unwrap();
    let kept = ["moved/fusion_min-max.safetensors", "moved/fusion_reciprocal-rank.safetensors"];
    let run = folder.run(&["evaluate", "--judged", "judged.tsv", "--json", kept[0], kept[1]]).code(0);
    assert_same_numbers(&row(&run, "fusion_min-max"), &sum);
    assert_same_numbers(&row(&run, "fusion_reciprocal-rank"), &ranks);
    // A table can read it too.
    let system = format!("[[system]]\nname = \"kept\"\nmodel = \"{}\"\n", kept[0]);
    folder.write("spec.toml", system);
    let run = folder.run(&["lab", "table", "spec.toml", "--judged", "judged.tsv", "--json"]).code(0);
    let [table] = run.json_lines().try_into().unwrap();
    assert!((table["systems"][0]["ndcg@3"].as_f64().unwrap() - sum["ndcg@3"].as_f64().unwrap()).abs() < 1e-12);
}

/// A title with the words of the query among many others, and one with only their letters. BM25 ranks the first
/// higher, letter trigrams the second.
fn opposite(query: &str, right: &str) -> String {
    let long = "on a wide and heavy stand made of solid oak by skilled joiners";
    let (words, letters) = if right == "words" { (4, 0) } else { (0, 4) };
    let like: Vec<String> = query.split(' ').map(|word| format!("{word}s")).collect();
    format!("{query}\t{query} {long}\t{words}\n{query}\t{}\t{letters}\n", like.join(" "))
}

/// Weights are for one point of a score, so those of BM25 are far smaller than those of cosines, and give the same fusion again.
#[test]
fn a_linear_fusion_adds_scores_as_they_are() {
    let folder = folder();
    let linear = |weights: &str| {
        let fusion = format!("--fusion=linear{weights}");
        folder.run(&[&THREE[..], &[fusion.as_str()]].concat()).code(0)
    };
    for fitted in [":other.tsv", ""] {
        let fusion = row(&linear(fitted), "fusion:linear");
        let found = weights(&fusion);
        assert!((found.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-9, "{found:?}");
        let given: Vec<String> = found.iter().map(|(_, weight)| weight.to_string()).collect();
        let again = row(&linear(&format!(":{}", given.join(","))), "fusion:linear");
        assert_same_numbers(&again, &fusion);
    }
    let alike = weights(&row(&linear(""), "fusion:linear"));
    assert!(alike[0].1 > 0.0 && alike[0].1 < 0.25 * alike[1].1, "{alike:?}");
    let text = folder.run(&[&THREE[..THREE.len() - 1], &["--fusion=linear"]].concat()).code(0).stdout();
    assert!(text.lines().any(|line| line == format!("  {:.4}  bm25", alike[0].1)), "{text}");
}

#[test]
fn weights_follow_the_queries_they_are_fitted_on_alone() {
    let folder = Folder::new();
    let table = |right: &str, queries: &[&str]| {
        let rows: String = queries.iter().map(|query| opposite(query, right)).collect();
        format!("query\ttitle\tgrade\n{rows}")
    };
    folder.write("judged.tsv", table("words", &["green lamp", "small table"]));
    folder.write("words.tsv", table("words", &["white chair", "round mirror", "green lamp"]));
    folder.write("letters.tsv", table("letters", &["white chair", "round mirror", "Green, lamp!"]));
    let base = ["evaluate", "--judged=judged.tsv", "bm25", "trigram", "--json"];
    let with = |weights: &str| {
        let fusion = format!("--fusion=min-max{weights}");
        folder.run(&[&base[..], &[fusion.as_str()]].concat()).code(0)
    };
    for (file, heavier, expected) in [("words.tsv", 0, 1.0), ("letters.tsv", 1, 0.0)] {
        let run = with(&format!(":{file}"))
            .says(&format!("{file}: left out 1 query that --judged has too"))
            .says("distinct titles in --judged and --fusion");
        let fusion = row(&run, "fusion:min-max");
        let weights = weights(&fusion);
        assert!(weights[heavier].1 > 0.5 && weights[1 - heavier].1 < 0.5, "{file}: {weights:?}");
        assert_eq!((&fusion["ndcg@1"], &fusion["fusion"]["fitted_on"]), (&expected.into(), &2.into()), "{file}");
        // The members are unchanged.
        assert_eq!((&row(&run, "bm25")["ndcg@1"], &row(&run, "trigram")["ndcg@1"]), (&1.0.into(), &0.0.into()));
    }
    let equal = row(&with(""), "fusion:min-max");
    assert_eq!(weights(&equal), [("bm25".to_owned(), 0.5), ("trigram".to_owned(), 0.5)]);
    assert_eq!((&equal["ndcg@1"], &equal["fusion"]["fitted_on"]), (&0.5.into(), &Value::Null));
    let run = with(":3,0.5");
    let given = row(&run, "fusion:min-max");
    assert_eq!(weights(&given), [("bm25".to_owned(), 6.0 / 7.0), ("trigram".to_owned(), 1.0 / 7.0)]);
    assert_same_numbers(&given, &row(&run, "bm25"));
    for (large, same) in [("1e308,1e308", "1,1"), ("1e308,5e307", "2,1"), ("5e-324,5e-324", "1,1")] {
        let [large, same] = [large, same].map(|given| row(&with(&format!(":{given}")), "fusion:min-max"));
        assert_same_numbers(&large, &same);
        let [large, same] = [weights(&large), weights(&same)];
        let near = large.iter().zip(&same).all(|((_, a), (_, b))| (a - b).abs() < 1e-12);
        assert!(near, "{large:?} {same:?}");
    }

    let whole = ["evaluate", "--judged=judged.tsv", "bm25", "trigram", "--fusion=min-max:words.tsv"];
    let text = folder.run(&whole).code(0).stdout();
    assert!(text.contains("c  fusion:min-max "), "{text}");
    assert!(text.contains("fusion:min-max, weights fitted on 2 other queries:\n"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("  0.") && line.ends_with("  trigram")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_run_and_every_query_are_written_of_a_fusion_too() {
    let folder = folder();
    let more = ["--fusion=z-score", "--output=runs", "--trec-eval"];
    let run = folder.run(&[&THREE[..], &more].concat()).code(0);
    assert_eq!(
        folder.read("runs/per-query.tsv").lines().filter(|line| line.starts_with("fusion:z-score\t")).count(),
        48
    );
    let read = ["evaluate", "--judged=runs/judged.qrels", "runs/fusion_z-score.run", "--trec-eval", "--json"];
    let read = folder.run(&read).code(0);
    assert_same_numbers(&row(&read, "fusion_z-score"), &row(&run, "fusion:z-score"));
}

#[test]
fn a_member_that_cannot_be_trained_leaves_the_fusion_out() {
    let folder = Folder::with_data();
    let arguments = ["evaluate", "--judged=judged.tsv", "bm25", "vectors", "--fusion=rrf", "--fusion=sum"];
    let run = folder
        .run(&arguments)
        .code(1)
        .says("left out vectors: ")
        .says("left out fusion:reciprocal-rank: its member `vectors` was left out")
        .says("left out fusion:min-max: its member `vectors` was left out");
    assert!(run.stdout().contains("a  bm25") && !run.stdout().contains("fusion"), "{}", run.stdout());
    let run = folder.run(&[&arguments[..], &["--json"]].concat()).code(1);
    let [report] = run.json_lines().try_into().unwrap();
    let left_out: Vec<_> = report["left_out"].as_array().unwrap().iter().map(|of| of["name"].clone()).collect();
    assert_eq!(left_out, ["vectors", "fusion:reciprocal-rank", "fusion:min-max"]);
    assert!(report["left_out"][0]["why"].as_str().unwrap().contains("vectors"), "{report}");
}

#[test]
fn a_fusion_is_judged_but_not_fused_again() {
    let folder = folder();
    folder.run(&[&THREE[..], &["--fusion=rrf", "--save-rankers=kept"]].concat()).code(0);
    let kept = "kept/fusion_reciprocal-rank.safetensors";
    let run = folder.run(&[&THREE[..], &["--fusion=rrf", kept]].concat()).code(0);
    assert_eq!(weights(&row(&run, "fusion:reciprocal-rank")).len(), 3);
    assert_same_numbers(&row(&run, "fusion_reciprocal-rank"), &row(&run, "fusion:reciprocal-rank"));
    folder.run(&["evaluate", "--judged=judged.tsv", "bm25", kept, "--fusion=rrf"]).code(2).says(
        "expected two systems or more to fuse, found 1 system besides fusions, which are not fused again; name another",
    );
}

#[test]
fn what_cannot_be_fused_is_told_before_anything_is_done() {
    let folder = folder();
    let cases: [(&[&str], &str); 8] = [
        (&["--fusion=none"], "invalid value 'none' for '--fusion"),
        (&["--fusion=rrf", "--fusion=rrf"], "expected each system once, found `fusion:reciprocal-rank` again"),
        (&["--fusion=sum:1,2"], "expected a weight for each of bm25, trigram, model, in this order, found 2"),
        (&["--fusion=sum:1,-2,1"], "expected weights of 0 or more, found -2"),
        (&["--fusion=sum:1,nan,1"], "expected weights of 0 or more, found NaN"),
        (&["--fusion=sum:0,0,0"], "expected a weight above 0, found none"),
        (
            &["--fusion=sum:other.tsv", "--fusion=rrf:judged.tsv"],
            "expected one file to fit the weights of all fusions on, found `judged.tsv` too",
        ),
        (
            &["--fusion=sum:judged.tsv"],
            "judged.tsv: expected queries that are not in --judged, found none; weights are fitted on other queries",
        ),
    ];
    for (flags, message) in cases {
        folder.run(&[&THREE[..], flags].concat()).code(2).says(message).prints_nothing();
    }
}

#[test]
fn weights_that_few_queries_give_are_doubted() {
    let folder = folder();
    let few: String = folder.read("other.tsv").lines().take(10).map(|line| format!("{line}\n")).collect();
    folder.write("few.tsv", few);
    let doubt = "warning: few.tsv: weights fitted on 3 queries follow chance; judge 20 or more";
    folder.run(&[&THREE[..], &["--fusion=min-max:few.tsv"]].concat()).code(0).says(doubt);
    let enough = folder.run(&[&THREE[..], &["--fusion=min-max:other.tsv"]].concat()).code(0);
    assert!(!enough.stderr().contains("follow chance"));
}

#[test]
fn a_kept_fusion_that_is_damaged_is_refused_and_nothing_that_is_read_is_lost() {
    let folder = folder();
    let save = ["--fusion=min-max", "--save-rankers=kept"];
    folder.run(&[&THREE[..], &save].concat()).code(0);
    let judge = || folder.run(&["evaluate", "--judged=judged.tsv", "kept/fusion_min-max.safetensors"]);
    judge().code(0);
    // Another ranker in the place of a member, and a missing one.
    folder.run(&["evaluate", "--judged=judged.tsv", "bm25", "--save-rankers=other"]).code(0);
    let kept = std::fs::read(folder.path("kept/bm25.safetensors")).unwrap();
    std::fs::copy(folder.path("other/bm25.safetensors"), folder.path("kept/bm25.safetensors")).unwrap();
    judge().code(2).says("expected member `bm25.safetensors` with the fingerprint ").prints_nothing();
    std::fs::remove_file(folder.path("kept/bm25.safetensors")).unwrap();
    judge().code(2).says("bm25.safetensors: cannot open");
    folder.write("kept/bm25.safetensors", &kept);
    judge().code(0);

    let again = ["evaluate", "--judged=judged.tsv", "kept/fusion_min-max.safetensors", "--fusion=min-max"];
    folder.run(&again).code(2).says("found 0 systems besides fusions, which are not fused again");
    let beside = [&again[..], &["bm25", "trigram"]].concat();
    folder.run(&beside).code(0).says("fusion_min-max: a fusion, which is judged but not fused again");

    // It is not a model.
    folder
        .run(&["embed", "kept/fusion_min-max.safetensors", "--side=query"])
        .code(2)
        .says("expected a model, found a `fusion`");
    // Members that are already there stay. A ranker is not written over one that is read.
    folder.run(&[&THREE[..5], &["trigram", "kept/bm25.safetensors"], &save[..]].concat()).code(0);
    assert!(std::fs::read(folder.path("kept/bm25.safetensors")).unwrap() == kept);
    folder
        .run(&[&THREE[..5], &["bm25", "kept/bm25.safetensors", "--save-rankers=kept"]].concat())
        .code(2)
        .says("expected outputs in `kept` that are not also inputs, found `bm25.safetensors`; name another folder");
    // Two members with the same file name.
    std::fs::create_dir(folder.path("old")).unwrap();
    std::fs::copy(folder.path("model.safetensors"), folder.path("old/a b.safetensors")).unwrap();
    std::fs::copy(folder.path("model.safetensors"), folder.path("old/a_b.safetensors")).unwrap();
    let two = ["old/a b.safetensors", "old/a_b.safetensors"];
    folder
        .run(&[&THREE[..5], &two, &save].concat())
        .code(2)
        .says("expected a file for each system, found `a_b.safetensors` for two; rename a model's file");
}

/// Members are replaced together with the fusion that has them, or not at all.
#[test]
fn a_fusion_that_cannot_be_written_anew_stays() {
    let folder = folder();
    let fuse = |titles: &str, rankers: &[&str]| {
        let base = ["evaluate", "--judged=judged.tsv", "bm25", "--fusion=linear", "--save-rankers=kept", "--titles"];
        folder.run(&[&base[..], &[titles], rankers].concat())
    };
    fuse("titles.tsv", &["trigram"]).code(0);
    let titles = folder.read("titles.tsv");
    folder.write("few.tsv", titles.lines().take(40).map(|line| format!("{line}\n")).collect::<String>());
    let judge = || folder.run(&["evaluate", "--judged=judged.tsv", "kept/fusion_linear.safetensors"]).code(0);
    let before = judge().stdout();
    // Without a file, `vectors` cannot be trained.
    fuse("few.tsv", &["vectors"]).code(1).says("kept/bm25.safetensors: stays as it was, since a fusion needs it");
    assert_eq!(judge().stdout(), before);
    let names = std::fs::read_dir(folder.path("kept")).unwrap();
    assert!(names.flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with('.')), "nothing is left");
    let kept = std::fs::read(folder.path("kept/bm25.safetensors")).unwrap();
    fuse("few.tsv", &["trigram"]).code(0);
    judge();
    assert!(std::fs::read(folder.path("kept/bm25.safetensors")).unwrap() != kept, "the new one is there");
}

/// A folder may have several fusions. None loses a member to a run that trains another ranker of the same name.
#[test]
fn a_member_of_another_fusion_is_not_replaced() {
    let folder = folder();
    let fuse = |titles: &str, method: &str, more: &[&str]| {
        let base = ["evaluate", "--judged=judged.tsv", "bm25", "trigram", "--save-rankers=kept"];
        folder.run(&[&base[..], &["--titles", titles, "--fusion", method], more].concat())
    };
    fuse("titles.tsv", "min-max", &[]).code(0);
    // The same members again, and the same fusion of others, are fine.
    fuse("titles.tsv", "rrf", &[]).code(0);
    let titles = folder.read("titles.tsv");
    folder.write("few.tsv", titles.lines().take(40).map(|line| format!("{line}\n")).collect::<String>());
    let kept = std::fs::read(folder.path("kept/bm25.safetensors")).unwrap();
    fuse("few.tsv", "linear", &[])
        .code(2)
        .says("kept/bm25.safetensors: expected the same system as before, which `fusion_")
        .says("needs, found another; name another folder");
    assert!(std::fs::read(folder.path("kept/bm25.safetensors")).unwrap() == kept);
    assert!(!folder.path("kept/fusion_linear.safetensors").exists());
    fuse("few.tsv", "min-max", &["--fusion=rrf"]).code(0);
    assert!(std::fs::read(folder.path("kept/bm25.safetensors")).unwrap() != kept);
    for name in ["min-max", "reciprocal-rank"] {
        let fusion = format!("kept/fusion_{name}.safetensors");
        folder.run(&["evaluate", "--judged=judged.tsv", &fusion]).code(0);
    }
    // Models are copied: one of the same file name and other weights is refused as well.
    let model = |more: &[&str]| {
        let base = ["evaluate", "--judged=judged.tsv", "trigram", "model.safetensors", "--save-rankers=two"];
        folder.run(&[&base[..], more].concat())
    };
    model(&["--fusion=min-max"]).code(0);
    folder.train("model.safetensors", &["--set", "loss.gamma=3"]).code(0);
    model(&["--fusion=rrf"]).code(2).says("two/model.safetensors: expected the same system as before");
    folder.run(&["evaluate", "--judged=judged.tsv", "two/fusion_min-max.safetensors"]).code(0);
    let names = std::fs::read_dir(folder.path("two")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with('.')));
}

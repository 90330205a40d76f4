//! `clickvec evaluate --full`: every system searches all titles.

use std::collections::HashMap;

use serde_json::Value;

use crate::harness::{Folder, Run};

const THREE: [&str; 9] = [
    "evaluate",
    "--full",
    "--judged=judged.tsv",
    "--titles=titles.tsv",
    "bm25",
    "trigram",
    "model.safetensors",
    "--measures=ndcg@1,ndcg@10,recall@5,recall@100,precision@10,mrr@10,map,bpref,judged@10,condensed_ndcg@3",
    "--json",
];
const MEASURES: [&str; 10] = [
    "ndcg@1",
    "ndcg@10",
    "recall@5",
    "recall@100",
    "precision@10",
    "mrr@10",
    "map",
    "bpref",
    "judged@10",
    "condensed_ndcg@3",
];

#[track_caller]
fn report(run: &Run) -> Value {
    let [report] = run.json_lines().try_into().unwrap();
    report
}

#[track_caller]
fn row<'a>(report: &'a Value, name: &str) -> &'a Value {
    let rows = report["systems"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no `{name}` in {report}"))
}

#[track_caller]
fn assert_same(a: &Value, b: &Value) {
    for measure in MEASURES {
        assert!(a[measure].is_f64() && a[measure] == b[measure], "{measure}: {a} {b}");
    }
}

/// Grades by query, then title.
type Qrels = HashMap<String, HashMap<String, i32>>;

fn qrels(text: &str) -> Qrels {
    let mut qrels = Qrels::new();
    for line in text.lines() {
        let [query, _, title, grade] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        qrels.entry(query.to_owned()).or_default().insert(title.to_owned(), grade.parse().unwrap());
    }
    qrels
}

/// trec_eval's way through a run, written as plainly as it can be: scores, of equal ones the larger id.
fn by_hand(run: &str, qrels: &Qrels) -> HashMap<&'static str, f64> {
    let mut lists: HashMap<&str, Vec<(f32, &str)>> = HashMap::new();
    for line in run.lines() {
        let [query, _, title, _, score, _] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        lists.entry(query).or_default().push((score.parse().unwrap(), title));
    }
    let mut sums: HashMap<&str, f64> = HashMap::new();
    for (query, grades) in qrels {
        let mut list = lists.remove(query.as_str()).unwrap_or_default();
        list.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(a.1)));
        let found: Vec<Option<i32>> = list.iter().map(|(_, title)| grades.get(*title).copied()).collect();
        let gain = |grade: i32| f64::from(grade.max(0));
        let dcg = |grades: &[i32], k: usize| {
            (0..).zip(grades).take(k).map(|(place, &g)| gain(g) / f64::from(place + 2).log2()).sum::<f64>()
        };
        let mut best: Vec<i32> = grades.values().copied().collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        let all: Vec<i32> = found.iter().map(|grade| grade.unwrap_or(0)).collect();
        let condensed: Vec<i32> = found.iter().flatten().copied().collect();
        let ndcg = |list: &[i32], k: usize| if dcg(&best, k) > 0.0 { dcg(list, k) / dcg(&best, k) } else { 0.0 };
        let relevant = best.iter().filter(|&&grade| grade > 0).count() as f64;
        let hits = |k: usize| all.iter().take(k).filter(|&&grade| grade > 0).count() as f64;
        let first = all.iter().take(10).position(|&grade| grade > 0);
        let precisions =
            (0..all.len()).filter(|&place| all[place] > 0).map(|place| hits(place + 1) / (place + 1) as f64);
        let others = best.len() as f64 - relevant;
        let bpref = (0..condensed.len()).filter(|&place| condensed[place] > 0).map(|place| {
            let before = condensed[..place].iter().filter(|&&grade| grade <= 0).count() as f64;
            if before > 0.0 { 1.0 - before.min(relevant) / others.min(relevant) } else { 1.0 }
        });
        let shown = all.len().min(10);
        let judged = found.iter().take(10).flatten().count() as f64 / shown.max(1) as f64;
        let share = |sum: f64| if relevant > 0.0 { sum / relevant } else { 0.0 };
        let values = [
            ("ndcg@1", ndcg(&all, 1)),
            ("ndcg@10", ndcg(&all, 10)),
            ("recall@5", share(hits(5))),
            ("recall@100", share(hits(100))),
            ("precision@10", hits(10) / 10.0),
            ("mrr@10", first.map_or(0.0, |place| 1.0 / (place + 1) as f64)),
            ("map", share(precisions.sum())),
            ("bpref", share(bpref.sum())),
            ("judged@10", judged),
            ("condensed_ndcg@3", ndcg(&condensed, 3)),
        ];
        for (measure, value) in values {
            *sums.entry(measure).or_default() += value / qrels.len() as f64;
        }
    }
    sums
}

/// The judged table with ids of titles: those of the collection where it has the text.
fn with_ids(folder: &Folder) {
    let titles = folder.read("titles.tsv");
    let ids: HashMap<&str, &str> =
        titles.lines().skip(1).map(|line| line.split_once('\t').unwrap()).map(|(id, text)| (text, id)).collect();
    let judged = folder.read("judged.tsv");
    let line = |line: &str| {
        let [query, title, grade] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let id = ids.get(title).map_or_else(|| title.replace(' ', "-"), |id| (*id).to_owned());
        format!("{query}\t{id}\t{title}\t{grade}\n")
    };
    let lines: String = judged.lines().skip(1).map(line).collect();
    folder.write("with-ids.tsv", format!("query\ttitle_id\ttitle\tgrade\n{lines}"));
}

#[test]
fn numbers_are_those_of_trec_eval_for_the_runs_that_are_written() {
    let folder = Folder::with_model();
    with_ids(&folder);
    let more = ["--output=runs", "--trec-eval", "--judged=with-ids.tsv"];
    let arguments: Vec<&str> = THREE.iter().copied().filter(|of| !of.starts_with("--judged=")).chain(more).collect();
    let run = folder
        .run(&arguments)
        .code(0)
        .says("48 of 144 judgments are for titles that are not in the collection (matched by their ids)");
    let report = report(&run);
    assert_eq!((&report["queries"], &report["titles"], &report["depth"]), (&48.into(), &144.into(), &1000.into()));
    assert_eq!((&report["judged"], &report["judged_not_in_titles"]), (&144.into(), &48.into()));
    let qrels = qrels(&folder.read("runs/judged.qrels"));
    for name in ["bm25", "trigram", "model"] {
        let text = folder.read(&format!("runs/{}.run", name.replace(':', "_")));
        let expected = by_hand(&text, &qrels);
        for measure in MEASURES {
            let found = row(&report, name)[measure].as_f64().unwrap();
            assert!((found - expected[measure]).abs() < 1e-12, "{name} {measure}: {found} {}", expected[measure]);
        }
    }
    assert!(row(&report, "bm25")["recall@100"].as_f64() > Some(0.2));
    assert!(row(&report, "bm25")["judged@10"].as_f64() < Some(0.5));
    // The run of one system, judged together with the others, is that system.

    let base = ["evaluate", "--full", "--titles=titles.tsv", "--judged=with-ids.tsv", "bm25"];
    let more = ["runs/trigram.run", "--trec-eval"];
    let again = folder.run(&[&base[..], &more, &THREE[7..]].concat()).code(0);
    assert!(!again.stderr().contains("trigram.run: has only judged titles"), "{}", again.stderr());
    assert_same(row(&self::report(&again), "trigram"), row(&report, "trigram"));
}

#[test]
fn a_run_that_did_not_search_the_collection_is_told() {
    let folder = Folder::with_model();
    with_ids(&folder);
    let ids: Vec<String> =
        folder.read("titles.tsv").lines().skip(1).map(|line| line[..line.find('\t').unwrap()].to_owned()).collect();
    let known = |id: &str| ids.iter().any(|of| of == id);
    folder.run(&["evaluate", "--judged=with-ids.tsv", "bm25", "--output=runs"]).code(0);
    // Titles that the collection lacks would be refused.
    let lines = folder.read("runs/bm25.run");
    let lines: Vec<&str> = lines.lines().filter(|line| known(line.split(' ').nth(2).unwrap())).collect();
    folder.write("reranked.run", lines.join("\n") + "\n");
    let run =
        |name: &str| folder.run(&["evaluate", "--full", "--titles=titles.tsv", "--judged=with-ids.tsv", "bm25", name]);
    let expected =
        format!("reranked.run: has only judged titles, {} for 48 queries: it seems to re-rank them", lines.len());
    run("reranked.run").code(0).says(&expected);
    // One title has no judgment, and the run has searched.
    let unjudged = format!("{}\n{}", lines.join("\n"), lines[0].replace(lines[0].split(' ').nth(2).unwrap(), "t0020"));
    folder.write("searched.run", unjudged + "\n");
    let said = run("searched.run").code(0).stderr();
    assert!(!said.contains("only judged titles"), "{said}");
    assert!(!said.contains("other queries"), "{said}");
    // Each query has the titles of another.
    let queries: Vec<&str> = lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
    let mut distinct = queries.clone();
    distinct.dedup();
    let next = |query: &str| distinct[(distinct.iter().position(|of| *of == query).unwrap() + 7) % distinct.len()];
    let moved = lines.iter().zip(&queries).map(|(line, query)| line.replacen(query, next(query), 1) + "\n");
    folder.write("moved.run", moved.collect::<String>());
    run("moved.run").code(0).says("warning: moved.run: has ").says("its query ids may refer to other queries");
    // Queries that are not judged are counted; if none is, the run is refused.
    folder.write("more.run", lines.join("\n") + "\nother Q0 t0020 1 2.0 a\nthird Q0 t0020 1 2.0 a\n");
    run("more.run").code(0).says("more.run: left out 2 queries without judgments");
    folder.write("other.run", "other Q0 t0020 1 2.0 a\n");
    run("other.run")
        .code(2)
        .says("other.run: expected a run with ids of the judged queries, such as query")
        .prints_nothing();
}

#[test]
fn titles_without_ids_are_known_by_their_texts() {
    let folder = Folder::with_model();
    with_ids(&folder);
    let by_text = report(&folder.run(&THREE).code(0).says("not in the collection (matched by their texts)"));
    let by_id: Vec<&str> =
        THREE.iter().map(|of| if of.starts_with("--judged=") { "--judged=with-ids.tsv" } else { of }).collect();
    let by_id = report(&folder.run(&by_id).code(0));
    for name in ["bm25", "trigram", "model"] {
        assert_same(row(&by_text, name), row(&by_id, name));
    }
    let metrics: Vec<&str> =
        by_text["tests"].as_array().unwrap().iter().map(|test| test["metric"].as_str().unwrap()).collect();
    assert!(!metrics.contains(&"judged@10") && metrics.contains(&"recall@5"), "{metrics:?}");
    // An index is its model and its titles, and needs no other.
    folder.run(&["index", "--model=model.safetensors", "--titles=titles.tsv", "--output=shop.index"]).code(0);
    let index = ["evaluate", "--full", "--judged=with-ids.tsv", "shop.index", "bm25"];
    let of_index = report(&folder.run(&[&index[..], &THREE[7..]].concat()).code(0));
    assert!(row(&of_index, "shop")["ndcg@10"].is_number());
    assert_same(row(&of_index, "bm25"), row(&by_id, "bm25"));
    folder.write(
        "fewer.tsv",
        folder.read("titles.tsv").lines().take(9).map(|line| format!("{line}\n")).collect::<String>(),
    );
    folder
        .run(&[&index[..], &["--titles=fewer.tsv"]].concat())
        .code(2)
        .says("shop.index: expected titles of the collection");
    // A title that is in the collection twice counts once.
    let titles = folder.read("titles.tsv");
    let again: String = titles.lines().skip(1).map(|line| format!("again-{line}\n")).collect();
    folder.write("titles.tsv", titles.clone() + &again);
    let twice =
        report(&folder.run(&THREE).code(0).says("left out 144 titles of the collection with the same text as another"));
    assert_eq!(twice["titles"], 144);
    assert_same(row(&twice, "model"), row(&by_text, "model"));
}

#[test]
fn people_get_a_table_with_tests() {
    let folder = Folder::with_model();
    let base = ["evaluate", "--full", "--judged=judged.tsv", "--titles=titles.tsv", "bm25", "model.safetensors"];
    let run = folder.run(&[&base[..], &["--output=out"]].concat()).code(0);
    let table = run.stdout();
    for part in [
        "NDCG@10",
        "R@100",
        "MRR@10",
        "judged@10",
        "NDCG'@10",
        "bpref",
        "48 queries",
        "144 titles",
        "b − a",
        "not relevant",
    ] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 120), "{table}");
    let rows = folder.read("out/per-query.tsv");
    assert_eq!(rows.lines().count(), 1 + 2 * 48);
    assert!(
        rows.starts_with("system\tquery_id\tquery\tndcg@10\trecall@100\tmrr@10\tjudged@10\tcondensed_ndcg@10\tbpref\n")
    );
}

/// An index is judged as it is searched, by its default weights and by those of a user.
#[test]
fn an_index_gives_the_numbers_of_its_search() {
    let folder = Folder::with_model();
    let base = ["index", "--model=model.safetensors", "--titles=titles.tsv", "--output=fused.index"];
    let chosen = "--weights=words=0.2,trigrams=0.5,vectors=0.3";
    for more in [&[][..], &[chosen], &[chosen, "--fusion=min-max"], &[chosen, "--fusion=rrf"]] {
        folder.run(&[&base[..], more].concat()).code(0);
        let search = ["search", "fused.index", "--topics=judged.tsv", "--trec", "-k=1000"];
        let found = folder.run(&search).code(0).stdout();
        folder.write("fused.run", found);
        let again = ["evaluate", "--full", "--judged=judged.tsv", "--titles=titles.tsv", "fused.run", "--json"];
        let again = report(&folder.run(&again).code(0));
        let found = row(&again, "fused");
        // With the titles of the table and with its own.
        let index = ["evaluate", "--full", "--judged=judged.tsv", "fused.index", "--json"];
        for titles in [&["--titles=titles.tsv"][..], &[]] {
            let judged = report(&folder.run(&[&index[..], titles].concat()).code(0));
            for measure in ["ndcg@10", "recall@100", "mrr@10"] {
                assert_eq!(row(&judged, "fused")[measure], found[measure], "{more:?} {measure}");
            }
        }
    }
    let lost = "warning: fused.index: the new index has default weights, unlike the one it replaces; set them with `--weights`";
    folder.run(&base).code(0).says(lost);
    let said = folder.run(&base).code(0).stderr();
    assert!(!said.contains("weights"), "{said}");
    let refused = |more: &[&str], message: &str| {
        folder.run(&[&base[..], more].concat()).code(2).says(message);
    };
    refused(&["--weights=words"], "expected a number for each of some of vectors, words, trigrams, teacher");
    refused(&["--weights=words=0,vectors=0"], "expected a weight above 0, found none");
    refused(&["--fusion=min-max"], "--weights");
    refused(
        &["--weights=words=1", "--fusion=best"],
        "expected `linear`, `min-max`, `z-score` or `reciprocal-rank`, found `best`",
    );
    refused(&["--weights=words=1", "--shard=1/2"], "cannot be used with");
}

#[test]
fn what_cannot_be_searched_is_said() {
    let folder = Folder::with_model();
    let refused = |arguments: &[&str], message: &str| {
        let base = ["evaluate", "--judged=judged.tsv", "bm25"];
        folder.run(&[&base[..], arguments].concat()).code(2).says(message).prints_nothing();
    };
    refused(&["--full"], "expected titles to search, found none; add `--titles`");
    refused(&["--full", "--titles=titles.tsv", "--measures=ndcg@5,f1"], "found `f1`");
    refused(&["--full", "--titles=titles.tsv", "--measures=map,map"], "expected each metric once, found `map` again");
    refused(
        &["--full=50", "--titles=titles.tsv", "--measures=recall@100"],
        "expected lists of at least 100 titles for `recall@100`, found 50; set `--full` to 100",
    );
    folder.write("others.tsv", "id\ttitle\n1\tnothing of it\n");
    refused(&["--full", "--titles=others.tsv"], "found none; is this the collection that was judged?");
    folder.write("r.run", "q0000000 Q0 nobody 1 2.5 x\n");
    refused(&["--full", "--titles=titles.tsv", "r.run"], "r.run: expected titles of the collection, found `nobody`");
    folder.write("empty.tsv", "id\ttitle\n");
    refused(&["--full", "--titles=empty.tsv"], "empty.tsv: expected titles below the header, found none");
    // Nothing is left of a run that failed.
    let base = ["evaluate", "--full", "--judged=judged.tsv", "--titles=titles.tsv"];
    folder.run(&[&base[..], &["none.safetensors", "--output=runs"]].concat()).code(2);
    // A ranker that cannot be trained: the others are judged, and the answer is no.
    let run = folder.run(&[&base[..], &["vectors", "bm25", "trigram"]].concat());
    run.code(1).says("left out").prints("bm25");
}

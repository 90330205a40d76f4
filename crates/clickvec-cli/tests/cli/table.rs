//! `clickvec lab table`.

use crate::harness::{DATA, Folder, SMALL, row, small_row};

fn folder() -> Folder {
    let folder = Folder::with_data();
    let systems = [
        row("BM25", "ranker = \"bm25\"\ngrid = { k1 = [0.5, 2], b = [0, 1] }\npaper = [30.5, 32.8, 38.8]"),
        small_row("LSTM", "", "grid = { \"loss.gamma\" = [5, 10] }"),
        row("Both", "fusion = [\"BM25\", \"LSTM\"]"),
    ];
    folder.write("spec.toml", format!("title = \"Tiny\"\n{DATA}{}", systems.concat()));
    folder
}

#[test]
fn a_table_is_made_and_nothing_is_done_twice() {
    let folder = folder();
    let run = folder.run(&["lab", "table", "spec.toml", "--output", "t.html", "--output", "t.md"]).code(0);
    let table = run.stdout();
    for part in ["Tiny", "a  BM25", "b  LSTM", "c  Both", "30.5 / 32.8 / 38.8", "48 queries, 2 folds", "against BM25"] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    assert!(folder.read("t.md").contains("| a | BM25 |"), "{}", folder.read("t.md"));
    let page = folder.read("t.html");
    assert!(page.contains("<title>Tiny</title>") && !page.contains("/*DATA*/null"), "{}", &page[..500]);
    assert!(!page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org").count());

    let written = |folder: &Folder| -> Vec<(String, std::time::SystemTime)> {
        let entries = std::fs::read_dir(folder.path("spec.cache")).unwrap().map(|entry| entry.unwrap());
        let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
        let files = files.filter(|entry| entry.file_name() != "lock");
        let mut files: Vec<_> = files
            .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().modified().unwrap()))
            .collect();
        files.sort();
        files
    };
    let before = written(&folder);
    assert_eq!(before.len(), 8, "four of BM25, two of the LSTM, two folds of both: {before:?}");
    // The time of a fusion is stored with its scores alone, and differs if these are made again.
    let results = |folder: &Folder| {
        let [mut report] =
            folder.run(&["lab", "table", "spec.toml", "--json"]).code(0).json_lines().try_into().unwrap();
        for system in report["systems"].as_array_mut().unwrap() {
            assert!(system["train_seconds"].as_f64().unwrap() > 0.0, "{system}");
            if system["name"] == "Both" {
                system["train_seconds"] = 0.into();
            }
        }
        report
    };
    let first = results(&folder);
    assert_eq!(written(&folder), before);
    // A point that is damaged, as by a full disk, is made again, and its model's time and losses are still known.
    for (name, _) in &before {
        folder.write(&format!("spec.cache/{name}"), "{");
    }
    assert_eq!(results(&folder), first);
    folder.run(&["lab", "table", "spec.toml", "--output", "again.html"]).code(0);
    assert!(folder.read("again.html").contains("\"curves\":[{\"name\":\"LSTM\""));

    // With other parameters a member gives another fusion, of the same members' points.
    folder.write("spec.toml", folder.read("spec.toml").replace("k1 = [0.5, 2]", "k1 = [2]"));
    folder.run(&["lab", "table", "spec.toml"]).code(0);
    let more = written(&folder).len() - before.len();
    assert!(more <= 2, "{more} more");
    folder.write("spec.toml", folder.read("spec.toml").replace("k1 = [2]", "k1 = [0.5, 2]"));
    let points = written(&folder).len();

    // Other judgments give another table, of the same neural models.
    let models = |folder: &Folder| std::fs::read_dir(folder.path("spec.cache/models")).unwrap().count();
    let before = models(&folder);
    folder.write("judged.tsv", format!("{}red hammer\tblue hammer\t1\n", folder.read("judged.tsv")));
    folder.run(&["lab", "table", "spec.toml"]).code(0);
    assert_eq!((written(&folder).len(), models(&folder)), (points + 8, before + 2), "one more BM25 with its times");
}

#[test]
fn hostile_texts_do_not_leave_the_pages_script() {
    let folder = Folder::new();
    folder.write("j.tsv", "query\ttitle\tgrade\n<!--<script>\t</script><b>\t3\n<!--<script>\tother\t0\n");
    folder.write("s.toml", format!("title = \"</title><script>\"\n{}", row("<i>", "ranker = \"bm25\"")));
    folder
        .run(&["lab", "table", "s.toml", "--judged", "j.tsv", "--output", "t.html"])
        .code(2)
        .says("expected at most 1 folds");
    folder.write("s.toml", format!("{}[evaluation]\nfolds = 1\n", folder.read("s.toml")));
    folder.run(&["lab", "table", "s.toml", "--judged", "j.tsv", "--output", "t.html"]).code(0);
    let page = folder.read("t.html");
    let data = page.split("const data = ").nth(1).unwrap().split('\n').next().unwrap();
    assert!(data.contains("\\u003c!--\\u003cscript>") && !data.contains('<'), "{data}");
    assert_eq!(page.matches("</script>").count(), 1);
}

#[test]
fn two_tables_at_once_do_not_share_a_cache() {
    let folder = folder();
    std::fs::create_dir_all(folder.path("spec.cache/models")).unwrap();
    let lock = std::fs::File::create(folder.path("spec.cache/lock")).unwrap();
    lock.lock().unwrap();
    folder.run(&["lab", "table", "spec.toml"]).code(2).says("another process makes a table there");
    drop(lock);
}

#[test]
fn json_has_every_row_and_every_test() {
    let folder = folder();
    let run = folder.run(&["lab", "table", "spec.toml", "--json"]).code(0);
    let [report] = run.json_lines().try_into().unwrap();
    let systems = report["systems"].as_array().unwrap();
    assert_eq!(systems.len(), 3);
    for system in systems {
        assert!(system["ndcg@1"].is_f64() && system["intervals"][0][1].is_f64(), "{system}");
        assert_eq!(system["parameters"].as_array().unwrap().len(), 2, "{system}");
    }
    assert!(systems[1]["train_seconds"].as_f64().unwrap() > 0.0 && systems[1]["bytes"].as_u64().unwrap() > 1000);
    assert_eq!(report["tests"].as_array().unwrap().len(), 21);
    assert_eq!(report["against_first"].as_array().unwrap().len(), 6);
    let ids = report["query_ids"].as_array().unwrap();
    assert_eq!((ids.len(), report["query_texts"].as_array().unwrap().len()), (48, 48));
    for system in systems {
        for metric in ["ndcg@1", "ndcg@3", "ndcg@10"] {
            let values: Vec<f64> = serde_json::from_value(system["per_query"][metric].clone()).unwrap();
            let mean = values.iter().sum::<f64>() / 48.0;
            assert!(values.len() == 48 && (mean - system[metric].as_f64().unwrap()).abs() < 1e-12, "{system}");
        }
    }
    for test in report["tests"].as_array().unwrap() {
        assert!(test["holm"].as_f64().unwrap() >= test["p"].as_f64().unwrap(), "{test}");
    }
}

#[test]
fn any_system_can_be_the_one_that_all_are_compared_with() {
    let folder = folder();
    let with = |more: &[&str]| {
        let run = folder.run(&[&["lab", "table", "spec.toml", "--json"], more].concat()).code(0);
        let [report] = run.json_lines().try_into().unwrap();
        report["against_first"].as_array().unwrap().clone()
    };
    let (first, last) = (with(&[]), with(&["--against", "Both"]));
    let names = |against: &[serde_json::Value]| -> Vec<(String, String)> {
        let name = |of: &serde_json::Value| of.as_str().unwrap().to_owned();
        against.iter().map(|against| (name(&against["system"]), name(&against["against"]))).collect()
    };
    let both = |system: &str, against: &str| (system.to_owned(), against.to_owned());
    assert_eq!(names(&first[..2]), [both("LSTM", "BM25"), both("Both", "BM25")]);
    assert_eq!(names(&last[..2]), [both("BM25", "Both"), both("LSTM", "Both")]);
    // The same pair in the opposite direction.
    let [a, b] = [&first[1], &last[0]].map(|pair| pair["difference"].as_f64().unwrap());
    assert!((a + b).abs() < 1e-12 && first[1]["p"] == last[0]["p"], "{} {}", first[1], last[0]);
    folder.run(&["lab", "table", "spec.toml", "--against", "Both"]).code(0).prints("against Both");
    folder
        .run(&["lab", "table", "spec.toml", "--against", "none"])
        .code(2)
        .says("expected a system of the table, found `none`; name another as `--against`");
}

#[test]
fn a_table_of_which_nothing_can_be_trained_says_why() {
    let folder = Folder::with_data();
    folder.write("spec.toml", row("a", "ranker = \"bltm\""));
    let base = ["lab", "table", "spec.toml", "--judged", "judged.tsv", "--titles", "titles.tsv", "--output", "t.html"];
    folder.run(&base).code(1).prints("a: left out: ");
    let [report] = folder.run(&[&base[..], &["--json"]].concat()).code(1).json_lines().try_into().unwrap();
    assert!(report["systems"][0]["error"].is_string(), "{report}");
}

#[test]
fn a_system_that_cannot_be_trained_is_left_out_and_the_rest_goes_on() {
    let folder = Folder::with_data();
    let systems = [
        row("first", "ranker = \"bm25\""),
        row("no clicks", "train.encoder.cells = 8"),
        row("of it", "fusion = [\"first\", \"no clicks\"]"),
        row("last", "ranker = \"ulm\""),
    ];
    folder.write("spec.toml", systems.concat());
    let run = folder
        .run(&["lab", "table", "spec.toml", "--judged", "judged.tsv", "--titles", "titles.tsv"])
        .code(1)
        .prints("no clicks: left out: expected clicked pairs to learn from, found none")
        .prints("of it: left out: its member `no clicks` was left out")
        .prints("b  last");
    assert!(run.stderr().contains("no clicks: left out"), "{}", run.stderr());
}

#[test]
fn faults_of_a_spec_are_told_before_anything_is_done() {
    let folder = Folder::with_data();
    let a = |what: &str| row("a", what);
    let cases = [
        (String::new(), "expected at least one system, found none"),
        (a(""), "expected one of `ranker`, `train`, `model`, `run` and `fusion`, found none"),
        (a("ranker = \"bm26\""), "expected one of the rankers bm25, ulm"),
        (a("ranker = \"bm25\"\ngrid = { k1 = [] }"), "expected values for `k1`, found none"),
        (a("ranker = \"bm25\"\ngird = { k1 = [1] }"), "unknown field `gird`"),
        (a("ranker = \"bm25\"") + &a("ranker = \"ulm\""), "found `a` again"),
        ("[evaluation]\nfolds = 0\n".to_owned() + &a("ranker = \"bm25\""), "expected 1 to 100 folds, found 0"),
        (
            a("train.encoder.cells = \"none\""),
            "`train` (encoder.cells=none): encoder.cells: invalid type: string \"none\"",
        ),
        (a("model = \"none\""), "none: cannot read"),
        ("[[system]\n".to_owned(), "spec.toml"),
    ];
    for (spec, message) in cases {
        folder.write("spec.toml", spec);
        folder.run(&["lab", "table", "spec.toml", "--judged", "judged.tsv"]).code(2).says(message).prints_nothing();
    }
    folder.write("spec.toml", a("ranker = \"bm25\""));
    folder.run(&["lab", "table", "spec.toml"]).code(2).says("expected judged titles, found none");
    folder.run(&["lab", "table", "missing.toml", "--judged", "judged.tsv"]).code(2).says("missing.toml: cannot read");
    let missing = ["lab", "table", "spec.toml", "--judged", "judged.tsv", "--output", "none/t.html"];
    folder.run(&missing).code(2).says("none: expected a folder");
    let form = ["lab", "table", "spec.toml", "--judged", "judged.tsv", "--output", "t.txt"];
    folder.run(&form).code(2).says("expected a name that ends in `.md` or `.html`, found `t.txt`");
    let over = ["lab", "table", "spec.toml", "--judged", "judged.tsv", "--output", "spec.toml"];
    folder.run(&over).code(2).says("not an input, found `spec.toml`");
}

#[test]
fn whatever_one_system_cannot_read_or_learn_the_others_are_judged() {
    let folder = Folder::with_data();
    folder.write("cut.vec", "3 4\nred 1 2 3 4\nblue 1 2\n");
    folder.write("short.vec", "3 4\nred 1 2 3 4\nblue 1 2 3 4\n");
    folder.write("binary.bin", b"2 4\nred \x00\x00\x80\x3f");
    folder.write("not.vec", b"\x89PNG\r\n\x1a\n\0\0\0");
    std::fs::create_dir(folder.path("encoder")).unwrap();
    folder.write("encoder/dictionary.txt", "eos\nUNK\nred\nblue\n");
    for array in ["utable.npy", "btable.npy", "uni_skip.npz", "bi_skip.npz"] {
        folder.write(&format!("encoder/{array}"), b"PK\x03\x04 and no more");
    }
    let systems = [
        ("topics", "ranker = \"plsa:topics=5000\"", "topics"),
        ("dimensions", "ranker = \"lsa:dimensions=5000\"", "dimensions"),
        ("no encoder", "ranker = \"skip-thought\"", "expected a trained encoder"),
        ("damaged", "ranker = \"skip-thought:encoder=encoder\"", "expected"),
        ("cut", "ranker = \"vectors:file=cut.vec\"", "cut.vec"),
        ("short", "ranker = \"vectors:file=short.vec\"", "short.vec"),
        ("binary", "ranker = \"vectors:file=binary.bin\"", "binary.bin"),
        ("not", "ranker = \"vectors:file=not.vec\"", "not.vec"),
        ("of it", "fusion = [\"first\", \"cut\"]", "its member `cut` was left out"),
    ];
    let rows: String = systems.iter().map(|(name, what, _)| row(name, what)).collect();
    let [first, last] = ["first", "last"].map(|name| row(name, "ranker = \"bm25\""));
    folder.write("spec.toml", format!("{first}{rows}{last}"));
    let data = ["--judged", "judged.tsv", "--clicks", "clicks.tsv", "--titles", "titles.tsv"];
    let run = folder.run(&[&["lab", "table", "spec.toml", "--json"], &data[..]].concat()).code(1);
    let [report] = run.json_lines().try_into().unwrap();
    let rows = report["systems"].as_array().unwrap();
    assert!(rows[0]["ndcg@1"].is_f64() && rows[0]["ndcg@1"] == rows[systems.len() + 1]["ndcg@1"], "{report}");
    for (row, (name, _, why)) in rows[1..].iter().zip(systems) {
        let error = row["error"].as_str().unwrap_or_else(|| panic!("{name} was judged: {row}"));
        assert!(row["name"] == name && error.contains(why), "{name}: {error}");
    }

    // With one title or without clicks there is nothing to learn from.
    folder.write("one.tsv", "id\ttitle\n1\thammer in red\n");
    folder.write("none.tsv", "query\ttitle\n");
    let learners = ["lsa", "bltm", "wtm", "ptm"];
    let rows: String = learners.iter().map(|name| row(name, &format!("ranker = \"{name}\""))).collect();
    folder.write("spec.toml", format!("{rows}{last}"));
    let data = ["--judged", "judged.tsv", "--clicks", "none.tsv", "--titles", "one.tsv"];
    let run = folder.run(&[&["lab", "table", "spec.toml", "--json"], &data[..]].concat()).code(1);
    let [report] = run.json_lines().try_into().unwrap();
    for (row, name) in report["systems"].as_array().unwrap().iter().zip(learners) {
        assert!(row["error"].is_string(), "{name} was judged: {row}");
    }
    assert!(report["systems"][4]["ndcg@1"].is_f64(), "{report}");
}

#[test]
fn a_row_learns_from_titles_from_a_model_and_from_a_teacher() {
    let folder = Folder::with_model();
    let embed = ["embed", "model.safetensors", "--side", "title", "--format", "jsonl", "-o", "t.jsonl", "t.txt"];
    let titles = folder.read("titles.tsv");
    let texts: Vec<&str> = titles.lines().skip(1).filter_map(|line| line.split('\t').nth(1)).collect();
    folder.write("t.txt", texts.join("\n"));
    folder.run(&embed).code(0);
    let (once, titles) = (", encoder.kind = \"lstm\", titles.epochs = 1", "titles = true\n");
    let spec = [
        DATA.to_owned(),
        small_row("clicks", "", ""),
        small_row("titles", once, titles),
        small_row("members", ", encoder.members = 2, titles.epochs = 1", titles),
        small_row("taught", once, &format!("{titles}teacher = \"t.jsonl\"")),
        small_row("from a model", ", shared_towers = false", "init = \"model.safetensors\""),
    ];
    folder.write("spec.toml", spec.concat());
    let keys = |keys: &str| small_row("keys", once, keys);
    for (wrong, says) in [
        ("init = \"none\"", "none: cannot open"),
        ("model = \"m\"", "found `train` and `model`"),
        ("teacher = [\"none.jsonl\"]", "none.jsonl"),
    ] {
        folder.write("keys.toml", DATA.to_owned() + &keys(&format!("titles = true\n{wrong}")));
        folder.run(&["lab", "table", "keys.toml"]).code(2).says(says);
    }

    let table = |folder: &Folder| folder.run(&["lab", "table", "spec.toml", "--json"]).code(0).json_lines()[0].clone();
    let first = table(&folder);
    let systems = first["systems"].as_array().unwrap();
    assert_eq!(systems.len(), 5);
    // The same as outside of a table.
    let train =
        ["train", "--clicks", "clicks.tsv", "--titles", "titles.tsv", "--set", "titles.epochs=1", "--encoder", "lstm"];
    let train = [&train[..], &["--held-out", "0", "--output", "m.safetensors"], &SMALL[..]].concat();
    folder.run(&train).code(0);
    let alone = folder.run(&["inspect", "m.safetensors", "--json"]).code(0).json_lines()[0]["fingerprint"].clone();
    let models = std::fs::read_dir(folder.path("spec.cache/models")).unwrap();
    let found = models.filter_map(|model| clickvec::model::Model::load(&model.unwrap().path()).ok());
    let found: Vec<String> = found.map(|model| model.fingerprint().to_owned()).collect();
    assert!(found.iter().any(|fingerprint| alone == *fingerprint), "{alone}: {found:?}");
    // Other titles make another model, and nothing else is trained again.
    let count = || std::fs::read_dir(folder.path("spec.cache/models")).unwrap().count();
    let before = count();
    folder.write("titles.tsv", folder.read("titles.tsv") + "new\tpurple lantern\n");
    table(&folder);
    assert_eq!(count(), before + 6, "three models, each with what is known of its training");
    folder.write("spec.toml", DATA.replace("clicks = \"clicks.tsv\"\n", "") + &small_row("cold", once, titles));
    assert_eq!(table(&folder)["systems"].as_array().unwrap().len(), 1);
    folder.write("spec.toml", DATA.to_owned() + &small_row("a", ", held_out = 0.1", ""));
    folder.run(&["lab", "table", "spec.toml"]).code(2).says("held_out: expected clicks");
    // The same by keys, whose paths are relative to the spec, is not trained again.
    let lines = folder.read("clicks.tsv");
    let lines = lines.lines().skip(1).enumerate();
    let scores: String = lines.map(|(place, line)| format!("{line}\t{}\n", place % 7)).collect();
    folder.write("s.tsv", format!("query\ttitle\tscore\n{scores}"));
    let by_keys = [
        DATA.to_owned(),
        keys("titles = true"),
        small_row("members", ", encoder.members = 2, titles.epochs = 1", "titles = \"titles.tsv\""),
        keys("titles = [\"titles.tsv\"]\nteacher = [\"t.jsonl\"]").replace("keys", "taught"),
        small_row("scored", "", "teacher = \"s.tsv\""),
    ];
    folder.write("spec.toml", by_keys.concat());
    let before = count();
    assert_eq!(table(&folder)["systems"].as_array().unwrap().len(), 4);
    assert_eq!(count(), before + 2, "the scores are new");
    // Other scores make another model.
    folder.write("s.tsv", folder.read("s.tsv").replace("\t3\n", "\t30\n"));
    table(&folder);
    assert_eq!(count(), before + 4);
}

#[test]
fn a_row_has_seeds_of_its_own() {
    let folder = Folder::with_data();
    let doc2vec = |more: &str| row("Doc2Vec", &format!("ranker = \"doc2vec:size=8,epochs=3,sample=0,seed=4\"\n{more}"));
    let table = |systems: &[String]| {
        folder.write("spec.toml", DATA.to_owned() + &systems.concat());
        folder.run(&["lab", "table", "spec.toml", "--json"])
    };
    let values = |more: &str| {
        let bm25 = row("BM25", "ranker = \"bm25\"");
        let found = table(&[doc2vec(more), bm25, row("Both", "fusion = [\"Doc2Vec\", \"BM25\"]")]).code(0).json_lines()
            [0]
        .clone();
        found["systems"][0].clone()
    };
    let (first, next) = (values("seeds = 1"), values("").clone());
    assert_eq!(first, next);
    assert!(first.get("seeds").is_none());
    let three = values("seeds = 3\ngrid = { window = [2, 5] }");
    assert_eq!(three["seeds"].as_array().unwrap().len(), 3, "{three}");
    let three = values("seeds = 3");
    let of_seed = |seed: usize| three["seeds"][seed]["ndcg@3"].as_f64().unwrap();
    assert_eq!(first["ndcg@3"], three["seeds"][0]["ndcg@3"]);
    assert_eq!(first["per_query"], three["per_query_by_seed"][0]);
    assert!(first.get("per_query_by_seed").is_none());
    // The next seed is that of the parameter.
    let other = table(&[row("Doc2Vec", "ranker = \"doc2vec:size=8,epochs=3,sample=0,seed=5\"")]).code(0).json_lines();
    assert_eq!(other[0]["systems"][0]["ndcg@3"], three["seeds"][1]["ndcg@3"]);
    assert!((three["ndcg@3"].as_f64().unwrap() - (0..3).map(of_seed).sum::<f64>() / 3.0).abs() < 1e-12);
    assert!(of_seed(0) != of_seed(1), "{three}");
    let text = folder.run(&["lab", "table", "spec.toml"]).code(0).stdout();
    assert!(!text.contains("standard deviation over"), "{text}");
    // For other seeds as well, a difference is less significant.
    let bm25 = row("BM25", "ranker = \"bm25\"");
    let found = table(&[doc2vec("seeds = 3"), bm25]).code(0).json_lines()[0].clone();
    let (test, against) = (&found["tests"][0], &found["against_first"][0]);
    let of = |system: usize| -> Vec<f64> {
        serde_json::from_value(found["systems"][system]["per_query"]["ndcg@1"].clone()).unwrap()
    };
    let over_queries = clickvec_eval::paired_t_test(&of(0), &of(1)).unwrap();
    let number = |of: &serde_json::Value, key: &str| of[key].as_f64().unwrap();
    assert!((number(test, "difference") - over_queries.difference).abs() < 1e-12, "{test}");
    assert!(number(test, "t").abs() < over_queries.t.abs() && number(test, "p") > over_queries.p, "{test}");
    assert_eq!((number(against, "p"), &against["randomization"]), (number(test, "p"), &serde_json::Value::Null));
    folder.write(
        "spec.toml",
        [DATA, &doc2vec("seeds = 2"), &row("Three", &format!("{}seeds = 3", "ranker = \"doc2vec:size=8,epochs=3\"\n"))]
            .concat(),
    );
    let mixed = folder.run(&["lab", "table", "spec.toml"]).code(0);
    mixed
        .prints("±: standard deviation over 2 or 3 seeds")
        .prints("different numbers of seeds are tested over queries");
    for (wrong, says) in [
        (
            row("BM25", "ranker = \"bm25\"\nseeds = 2"),
            "expected 1 seed for `bm25`, in whose training nothing is random, found 2",
        ),
        (doc2vec("seeds = 0"), "expected 1 to 100 seeds, found 0"),
        (row("Both", "fusion = [\"Doc2Vec\"]\nseeds = 2"), "expected `seeds` only with `ranker` or `train`"),
    ] {
        table(&[doc2vec(""), wrong.replace("\"Doc2Vec\"\nranker", "\"Other\"\nranker")]).code(2).says(says);
    }
}

#[test]
fn the_pairs_of_a_claim_are_corrected_together() {
    let folder = folder();
    let claim =
        |name: &str, pairs: &str| format!("[[claim]]\nname = \"{name}\"\nmetric = \"ndcg@3\"\npairs = [{pairs}]\n");
    let claims = [
        claim("it is better", "[\"LSTM\", \"BM25\"], [\"Both\", \"BM25\"]"),
        claim("both are", "[\"Both\", \"LSTM\"]"),
    ];
    folder.write("spec.toml", folder.read("spec.toml") + &claims.concat());
    let run = folder.run(&["lab", "table", "spec.toml", "--output", "t.md", "--output", "t.html", "--json"]).code(0);
    let [report] = run.json_lines().try_into().unwrap();
    let [better, both] = serde_json::from_value::<[serde_json::Value; 2]>(report["claims"].clone()).unwrap();
    assert_eq!((&better["name"], &better["pairs"][1]["system"]), (&"it is better".into(), &"Both".into()));
    assert_eq!(better["pairs"][0]["metric"], "ndcg@3");
    let number = |of: &serde_json::Value, key: &str| of[key].as_f64().unwrap();
    let pairs = better["pairs"].as_array().unwrap();
    let least = pairs.iter().min_by(|a, b| number(a, "p").total_cmp(&number(b, "p"))).unwrap();
    assert!((number(least, "holm") - (2.0 * number(least, "p")).min(1.0)).abs() < 1e-12, "{better}");
    assert_eq!(number(&both["pairs"][0], "holm"), number(&both["pairs"][0], "p"), "{both}");
    assert!(folder.read("t.md").contains("## both are (NDCG@3)\n"), "{}", folder.read("t.md"));
    assert!(folder.read("t.html").contains("it is better (NDCG@3)"));
    let text = folder.run(&["lab", "table", "spec.toml"]).code(0).stdout();
    assert!(text.contains("it is better (NDCG@3)\n") && text.contains("Both against LSTM"), "{text}");
    assert!(text.lines().any(|line| line.contains("CPU time") && line.ends_with("weights")), "{text}");
    let fingerprint = report["fingerprint"].as_str().unwrap();
    assert!(fingerprint.len() == 16 && report["systems"][1]["weights"].as_u64().unwrap() > 1000, "{report}");
}

#[test]
fn models_are_trained_with_several_seeds_and_every_row_searches_all_titles() {
    let folder = Folder::with_data();
    let spec = |seeds: usize| {
        let systems = [
            row("BM25", "ranker = \"bm25\"\ngrid = { b = [0, 1] }"),
            small_row("LSTM", "", ""),
            row("Both", "fusion = [\"BM25\", \"LSTM\"]"),
        ];
        format!("{DATA}[evaluation]\nseeds = {seeds}\nfull = true\n{}", systems.concat())
    };
    let table = |seeds| {
        folder.write("spec.toml", spec(seeds));
        folder.run(&["lab", "table", "spec.toml", "--json"]).code(0).json_lines()[0].clone()
    };
    let one = table(1);
    let count = || std::fs::read_dir(folder.path("spec.cache/models")).unwrap().count();
    let before = count();
    let three = table(3);
    assert_eq!(count(), before + 4, "two more models, each with what is known of its training");
    let system = |table: &serde_json::Value, place: usize| table["systems"][place].clone();
    // A ranker has no seed.
    assert_eq!(system(&one, 0), system(&three, 0));
    assert!(system(&one, 1).get("seeds").is_none());
    for place in [1, 2] {
        let of = system(&three, place);
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let values: Vec<f64> = values.collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        let seeds = of["seeds"].as_array().unwrap();
        let over_seeds = mean(&mut seeds.iter().map(|seed| seed["ndcg@1"].as_f64().unwrap()));
        assert_eq!(seeds.len(), 3);
        assert!((of["ndcg@1"].as_f64().unwrap() - over_seeds).abs() < 1e-12, "{of}");
        let per_query = of["per_query"]["ndcg@1"].as_array().unwrap();
        let over_queries = mean(&mut per_query.iter().map(|value| value.as_f64().unwrap()));
        assert!((of["ndcg@1"].as_f64().unwrap() - over_queries).abs() < 1e-12, "{of}");
        assert_eq!(of["all_titles"]["seeds"].as_array().unwrap().len(), 3);
        assert_eq!(of["all_titles"]["per_query"]["recall@100"].as_array().unwrap().len(), 48);
    }
    assert_eq!(system(&one, 1)["ndcg@1"], system(&three, 1)["seeds"][0]["ndcg@1"]);
    // What `evaluate --full` says of the same model. Its fold chooses nothing, since there is one point.
    folder.train("m", &["--held-out", "0"]).code(0);
    let full = ["evaluate", "--full=100", "--judged", "judged.tsv", "--titles", "titles.tsv", "m", "--json"];
    let full = folder.run(&[&full[..], &["--measures", "ndcg@10,recall@100"]].concat()).code(0);
    let full = full.json_lines()[0]["systems"][0].clone();
    for measure in ["ndcg@10", "recall@100"] {
        assert_eq!(system(&one, 1)["all_titles"][measure], full[measure], "{full}");
    }
    assert_eq!(three["all_titles_tests"].as_array().unwrap().len(), 6);
    let text = folder.run(&["lab", "table", "spec.toml", "--output", "t.html"]).code(0).stdout().to_owned();
    for part in ["all titles: NDCG@10", "all titles: R@100", " ± 0.", "standard deviation over 3 seeds"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    // Other titles: the search is done again, and nothing is trained.
    let models = count();
    folder.write("titles.tsv", folder.read("titles.tsv") + "new\tpurple lantern\n");
    folder.run(&["lab", "table", "spec.toml", "--json"]).code(0);
    assert_eq!(count(), models + 2, "BM25, which learns from the titles");
    for (wrong, says) in [
        ("seeds = 0", "expected 1 to 100 seeds, found 0"),
        ("seeds = 101", "expected 1 to 100 seeds, found 101"),
        ("full = 1", "expected a boolean"),
    ] {
        folder.write("wrong.toml", format!("{DATA}[evaluation]\n{wrong}\n{}", row("a", "ranker = \"bm25\"")));
        folder.run(&["lab", "table", "wrong.toml"]).code(2).says(says);
    }
    let without = DATA.replace("titles = \"titles.tsv\"\n", "");
    folder.write("wrong.toml", format!("{without}[evaluation]\nfull = true\n{}", row("a", "ranker = \"bm25\"")));
    folder.run(&["lab", "table", "wrong.toml"]).code(2).says("expected a file of titles for a search of all titles");
    folder.write("other.tsv", "id\ttitle\nx\tnothing that was judged\n");
    folder.write("wrong.toml", format!("{DATA}[evaluation]\nfull = true\n{}", row("a", "ranker = \"bm25\"")));
    folder
        .run(&["lab", "table", "wrong.toml", "--titles", "other.tsv"])
        .code(2)
        .says("expected judged titles in the collection");
}

#[test]
fn judged_queries_that_are_clicked_are_counted() {
    let folder = Folder::with_data();
    folder.write("spec.toml", format!("{DATA}{}{}", row("BM25", "ranker = \"bm25\""), row("ULM", "ranker = \"ulm\"")));
    let run = folder.run(&["lab", "table", "spec.toml", "--output", "t.html"]).code(0);
    assert!(run.stderr().contains("48 of 48 judged queries are also in "), "{}", run.stderr());
    run.prints("48 judged queries are also in the click log, with 48 of 144 judged pairs");
    assert!(folder.read("t.html").contains("table 7 of the CLSM paper"));
    let [report] = folder.run(&["lab", "table", "spec.toml", "--json"]).code(0).json_lines().try_into().unwrap();
    assert_eq!(report["overlap"]["queries"], 48);
    let [first] = report["first_titles"].as_array().unwrap().as_slice() else { panic!("{}", report["first_titles"]) };
    let counts = first["queries"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap());
    let sum: f64 = counts.map(|count| count.as_f64().unwrap()).sum();
    assert_eq!((&first["system"], &first["against"]), (&"ULM".into(), &"BM25".into()));
    assert!((sum - 48.0).abs() < 1e-3, "{sum}");
}

#[test]
fn with_one_fold_it_says_that_parameters_were_chosen_on_the_same_queries() {
    let folder = Folder::with_data();
    let grid = row("a", "ranker = \"bm25\"\ngrid = { k1 = [0.5, 1.2] }");
    for (folds, says) in [(1, "best on these very queries, which flatters"), (2, "2 folds; each fold judged with")] {
        folder.write("spec.toml", format!("{DATA}[evaluation]\nfolds = {folds}\n{grid}"));
        folder.run(&["lab", "table", "spec.toml"]).code(0).prints(says);
    }
}

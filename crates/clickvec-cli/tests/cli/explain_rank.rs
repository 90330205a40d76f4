//! Why a title has its rank.

use crate::harness::Folder;

#[test]
fn a_rank_is_the_sum_of_words_and_vectors() {
    let folder = Folder::with_model();
    let arguments =
        ["explain", "rank", "--model", "model.safetensors", "--titles", "titles.tsv", "red hammer", "--json"];
    let lines = folder.run(&arguments).code(0).json_lines();
    assert_eq!(lines.len(), 5);
    let number = |line: &serde_json::Value, key: &str| line[key].as_f64().unwrap();
    for line in &lines {
        assert!((number(line, "words_part") + number(line, "vectors_part") - number(line, "sum")).abs() < 1e-12);
        let query = line["query"].as_array().unwrap();
        let sum = |key: &str| query.iter().map(|word| number(word, key)).sum::<f64>();
        assert!((sum("bm25") - number(line, "bm25")).abs() < 1e-9, "BM25 is a sum over words");
        assert!((sum("along") - number(line, "cosine")).abs() < 1e-5, "the cosine too");
    }
    assert!(lines.windows(2).all(|pair| number(&pair[0], "sum") >= number(&pair[1], "sum")));
    assert!(lines[0]["title"].as_str().unwrap().starts_with("hammer in red"), "{}", lines[0]);

    folder.run(&["index", "--model", "model.safetensors", "--titles", "titles.tsv", "--output", "shop.index"]).code(0);
    let of_index =
        folder.run(&["explain", "rank", "--index", "shop.index", "red hammer", "--json"]).code(0).json_lines();
    assert_eq!(of_index, lines);
    let text = folder.run(&[&arguments[..7], &["--html", "rank.html"]].concat()).code(0).stdout();
    assert!(text.contains("cosine") && text.contains("hammer in red"), "{text}");
    assert!(folder.read("rank.html").contains("Why this order"));
    folder.run(&["explain", "rank", "--index", "shop.index", "?!"]).code(1).says("expected words, found none");
    folder.run(&["explain", "rank", "--model", "model.safetensors", "red"]).code(2).says("--titles");
    folder
        .run(&["explain", "rank", "--index", "shop.index", "北京"])
        .code(1)
        .says("no title has any of its words")
        .prints_nothing();
    // A word that only titles know: BM25 ranks, and the model's numbers, which mean nothing, are zero.
    folder.write("more.tsv", "id\ttitle\nt1\t北 hammer\nt2\tred paint\n");
    let unknown = ["explain", "rank", "--model", "model.safetensors", "--titles", "more.tsv", "北", "--json"];
    let lines = folder.run(&unknown).code(0).says("the order comes from BM25 alone").json_lines();
    assert_eq!(
        (&lines[0]["id"], number(&lines[0], "cosine"), number(&lines[1], "vectors_part")),
        (&"t1".into(), 0.0, 0.0)
    );
}

#[test]
fn a_rank_by_a_kept_fusion_has_its_weights_and_order() {
    let folder = Folder::with_model();
    let evaluate =
        ["evaluate", "--judged=judged.tsv", "--titles=titles.tsv", "--model=model.safetensors", "--ranker=bm25"];
    let weights = ["--fusion=min-max", "--fusion=reciprocal-rank", "--fusion-weights=1,3", "--save-rankers=kept"];
    folder.run(&[&evaluate[..], &weights].concat()).code(0);
    for (method, gaps) in [("min-max", "words +"), ("reciprocal-rank", "words have no share of it")] {
        let fusion = format!("--model=kept/fusion_{method}.safetensors");
        let rank = ["explain", "rank", &fusion, "--titles=titles.tsv", "red hammer", "-k=8"];
        let lines = folder.run(&[&rank[..], &["--json"]].concat()).code(0).json_lines();
        let number = |line: &serde_json::Value, key: &str| line[key].as_f64().unwrap();
        let best = |key: &str| lines.iter().map(|line| number(line, key)).fold(f64::MIN, f64::max);
        // The best by words and by vectors are here, so each part has its largest value: a weight times 1 or 1 / 61.
        let most = if method == "min-max" { 1.0 } else { 1.0 / 61.0 };
        assert!((best("vectors_part") - 0.75 * most).abs() < 1e-9, "{lines:?}");
        let search = ["search", &fusion, "--titles=titles.tsv", "-k=8", "--json", "red hammer"];
        let found = folder.run(&search).code(0).json_lines();
        let titles: Vec<_> = found[0]["results"].as_array().unwrap().iter().map(|found| &found["title"]).collect();
        assert_eq!(lines[0]["title"], *titles[0], "the search puts the same title first");
        let text = folder.run(&[&rank[..], &["--html=rank.html"]].concat()).code(0).stdout();
        assert!(text.contains("0.75 times") && text.contains("0.25 times") && text.contains(gaps), "{text}");
        assert!(folder.read("rank.html").contains("0.75 times"));
    }
    folder.run(&[&evaluate[..], &["--ranker=ulm", "--fusion=z-score", "--save-rankers=three"]].concat()).code(0);
    folder
        .run(&["explain", "rank", "--model=three/fusion_z-score.safetensors", "--titles=titles.tsv", "red"])
        .code(2)
        .says("expected a fusion of one model with bm25, trigram or vectors, found one of bm25, ulm, a model");
}

/// Sums and titles of `explain rank` are the scores and titles of a search, whether a fusion is in a file or in an index.
#[test]
fn a_rank_by_three_is_that_of_the_search() {
    let folder = Folder::with_model();
    let evaluate = ["evaluate", "--judged=judged.tsv", "--titles=titles.tsv", "--model=model.safetensors"];
    let members = ["--ranker=bm25:k1=1.2,b=0.75", "--ranker=trigram", "--fusion-weights=2,5,3", "--save-rankers=kept"];
    let methods = ["--fusion=linear", "--fusion=min-max", "--fusion=z-score", "--fusion=reciprocal-rank"];
    folder.run(&[&evaluate[..], &members, &methods].concat()).code(0);
    for method in ["linear", "min-max", "z-score", "reciprocal-rank"] {
        let model = format!("--model=kept/fusion_{method}.safetensors");
        folder.run(&["index", &model, "--titles=titles.tsv", "--output=three.index"]).code(0);
        let file = [&model[..], "--titles=titles.tsv"];
        for of in [&file[..], &["--index=three.index"]] {
            let mut has_null = false;
            // Misspelt, so that words find little.
            for query in ["red hammer", "hamers in red", "hamers"] {
                let lines =
                    folder.run(&[&["explain", "rank"], of, &[query, "-k=7", "--json"]].concat()).code(0).json_lines();
                let found = folder.run(&[&["search"], of, &[query, "-k=7", "--json"]].concat()).code(0).json_lines();
                let number = |line: &serde_json::Value, key: &str| line[key].as_f64().unwrap();
                let results = found[0]["results"].as_array().unwrap();
                assert_eq!((lines.len(), results.len()), (7, 7));
                for (line, result) in lines.iter().zip(results) {
                    assert_eq!(line["title"], result["title"], "{method} {of:?} {query}");
                    assert!((number(line, "sum") - number(result, "score")).abs() < 1e-5, "{line} {result}");
                    let parts = ["words_part", "vectors_part", "trigrams_part"].map(|key| &line[key]);
                    // Null is what did not find the title.
                    assert!(parts.iter().all(|part| part.is_number() || part.is_null()), "{line}");
                    has_null |= parts[0].is_null();
                    let parts = parts.map(|part| part.as_f64().unwrap_or(0.0));
                    assert!((parts.iter().sum::<f64>() - number(line, "sum")).abs() < 1e-6, "{line}");
                }
                let positive = |line: &serde_json::Value| line["trigrams_part"].as_f64().is_some_and(|part| part > 0.0);
                assert!(lines.iter().any(|line| positive(line) && number(line, "trigrams") > 0.3));
            }
            assert!(has_null, "words find all of them");
            let text = folder.run(&[&["explain", "rank"], of, &["hamers", "-k=7"]].concat()).code(0).stdout();
            assert!(text.contains('–'), "{text}");
            folder.run(&[&["explain", "rank"], of, &["hamers", "-k=7", "--html=three.html"]].concat()).code(0);
            let page = folder.read("three.html");
            assert!(page.contains("not found") && page.contains("cosine of trigrams"), "{page}");
            let text = folder.run(&[&["explain", "rank"], of, &["red hammer", "--html=three.html"]].concat()).code(0);
            let text = text.stdout();
            for expected in [
                "cosine of vectors",
                "cosine of trigrams",
                "trigrams: half",
                if method == "linear" { "0.2000 times" } else { "0.20 times" },
                if method == "linear" { "0.3000 times" } else { "0.30 times" },
                "each part adds only to",
            ] {
                assert!(text.contains(expected), "{expected}: {text}");
            }
            assert!(folder.read("three.html").contains("trigrams"));
        }
    }
    let never = ["explain", "rank", "--index=three.index", "red hammer", "--ids=nobody"];
    folder.run(&never).code(2).says("no title with the id `nobody`");
    // A damaged fusion is not left out.
    for name in ["fusion.json", "trigrams.safetensors"] {
        let path = folder.path("three.index").join(name);
        let good = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        for command in [&["search"][..], &["explain", "rank"]] {
            folder.run(&[command, &["--index=three.index", "red hammer"]].concat()).code(2).says(name).prints_nothing();
            std::fs::write(&path, &good[..good.len() / 2]).unwrap();
            folder.run(&[command, &["--index=three.index", "red hammer"]].concat()).code(2).says(name).prints_nothing();
            std::fs::remove_file(&path).unwrap();
        }
        std::fs::write(&path, good).unwrap();
    }
    // The fusion that an index has without any, but given.
    let members = ["--ranker=bm25:k1=1.2,b=0.75", "--fusion=reciprocal-rank", "--save-rankers=given"];
    folder.run(&[&evaluate[..], &members].concat()).code(0);
    let made =
        ["index", "--model=given/fusion_reciprocal-rank.safetensors", "--titles=titles.tsv", "--output=given.index"];
    folder.run(&made).code(0);
    let found = folder.run(&["search", "--index=given.index", "red hammer", "--json", "-k=1"]).code(0).json_lines();
    assert!(found[0]["results"][0]["score"].as_f64().unwrap() < 0.02, "{found:?}");
}

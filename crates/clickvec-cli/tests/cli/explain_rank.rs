//! Why a title has its rank.

use serde_json::Value;

use crate::harness::Folder;

fn number(line: &Value, key: &str) -> f64 {
    line[key].as_f64().unwrap()
}

#[test]
fn a_rank_is_the_sum_of_words_and_vectors() {
    let folder = Folder::with_model();
    folder.run(&["index", "--model", "model.safetensors", "--titles", "titles.tsv", "--output", "shop.index"]).code(0);
    let explain = ["explain", "rank", "shop.index", "red hammer"];
    let lines = folder.run(&[&explain[..], &["--json"]].concat()).code(0).json_lines();
    let found = folder.run(&["search", "shop.index", "--mode=fused", "red hammer", "--json"]).code(0).json_lines();
    assert_eq!(lines.len(), 5);
    for (line, result) in lines.iter().zip(found[0]["results"].as_array().unwrap()) {
        assert_eq!(line["id"], result["id"], "the order is that of a search");
        assert!((number(line, "sum") - number(result, "score")).abs() < 1e-6);
        let parts = ["words", "vectors"].map(|part| line["adds"][part].as_f64().unwrap_or(0.0));
        let look = ["numbers", "pairs", "head"].map(|kind| number(&line["title_match"], kind));
        let sum: f64 = parts.iter().chain(&look).sum();
        assert!((sum - number(line, "sum")).abs() < 1e-6, "{line}");
        let query = line["query"].as_array().unwrap();
        let sum = |key: &str| query.iter().map(|word| number(word, key)).sum::<f64>();
        assert!((sum("bm25") - number(&line["scores"], "words")).abs() < 1e-5, "BM25 is a sum over words");
        assert!((sum("along") - number(&line["scores"], "vectors")).abs() < 1e-5, "the cosine too");
    }
    assert!(lines[0]["title"].as_str().unwrap().starts_with("hammer in red"), "{}", lines[0]);
    let text = folder.run(&[&explain[..], &["--html", "rank.html"]].concat()).code(0).stdout();
    assert!(text.contains("cosine") && text.contains("hammer in red"), "{text}");
    assert!(folder.read("rank.html").contains("Why this order"));
    folder.run(&["explain", "rank", "shop.index", "?!"]).code(1).says("expected words, found none");
    folder.run(&["explain", "rank", "shop.index"]).code(2).says("<QUERY>");
    let unknown = folder.run(&["explain", "rank", "shop.index", "北京"]).code(1);
    unknown.says("no title has any of its words").prints_nothing();
    // A word that only titles know: BM25 ranks, and the model's numbers, which mean nothing, are left out.
    folder.write("more.tsv", "id\ttitle\nt1\t北 hammer\nt2\tred paint\n");
    folder.run(&["index", "--model", "model.safetensors", "--titles", "more.tsv", "--output", "more.index"]).code(0);
    let [line] =
        folder.run(&["explain", "rank", "more.index", "北", "--json"]).code(0).json_lines().try_into().unwrap();
    assert_eq!(
        (&line["id"], number(&line["scores"], "vectors"), &line["adds"]["vectors"]),
        (&"t1".into(), 0.0, &Value::Null)
    );
}

/// Sums and titles are the scores and titles of a search, whatever the fusion.
#[test]
fn a_rank_by_three_is_that_of_the_search() {
    let folder = Folder::with_model();
    for method in ["linear", "min-max", "z-score", "reciprocal-rank"] {
        let weights = ["--weights=words=0.2,trigrams=0.5,vectors=0.3", "--fusion", method, "--words=exact"];
        let index = ["index", "--model=model.safetensors", "--titles=titles.tsv", "--output=three.index"];
        folder.run(&[&index[..], &weights].concat()).code(0);
        let explain = |query: &str, more: &[&str]| {
            folder.run(&[&["explain", "rank", "three.index", query, "-k=7"][..], more].concat()).code(0)
        };
        let mut has_null = false;
        // Misspelt, so that words find little.
        for query in ["red hammer", "hamers in red", "hamers"] {
            let lines = explain(query, &["--json"]).json_lines();
            let found =
                folder.run(&["search", "three.index", query, "-k=7", "--as-typed", "--json"]).code(0).json_lines();
            let results = found[0]["results"].as_array().unwrap();
            assert_eq!((lines.len(), results.len()), (7, 7));
            for (line, result) in lines.iter().zip(results) {
                assert_eq!(line["title"], result["title"], "{method} {query}");
                assert!((number(line, "sum") - number(result, "score")).abs() < 1e-5, "{line} {result}");
                let parts = ["words", "vectors", "trigrams"].map(|part| &line["adds"][part]);
                // Null is what did not find the title.
                assert!(parts.iter().all(|part| part.is_number() || part.is_null()), "{line}");
                has_null |= parts[0].is_null();
                let re_ranking = ["numbers", "pairs", "head"].map(|kind| &line["title_match"][kind]);
                let sum: f64 = parts.iter().chain(&re_ranking).filter_map(|adds| adds.as_f64()).sum();
                assert!((sum - number(line, "sum")).abs() < 1e-6, "{line}");
            }
            let positive = |line: &Value| line["adds"]["trigrams"].as_f64().is_some_and(|part| part > 0.0);
            assert!(lines.iter().any(|line| positive(line) && number(&line["scores"], "trigrams") > 0.3));
        }
        assert!(has_null, "words find all of them");
        let text = explain("hamers", &["--html=three.html"]).stdout();
        assert!(text.contains('–'), "{text}");
        let page = folder.read("three.html");
        assert!(page.contains(">–</td>") && page.contains("cosine of trigrams"), "{page}");
        let text = explain("red hammer", &[]).stdout();
        for expected in [
            "cosine of vectors",
            "cosine of trigrams",
            "trigrams: half",
            if method == "linear" { "0.2000 times" } else { "0.20 times" },
            if method == "linear" { "0.3000 times" } else { "0.30 times" },
            if method == "reciprocal-rank" { "not divided among words" } else { "words +" },
            if method == "linear" { "cosine of vectors" } else { "each part adds only to" },
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
    let never = ["explain", "rank", "three.index", "red hammer", "--ids=nobody"];
    folder.run(&never).code(2).says("no title with the id `nobody`");
    // A damaged fusion is not left out.
    let explain = ["explain", "rank", "three.index", "red hammer"];
    let path = folder.path("three.index").join("fusion.json");
    let good = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    folder.run(&explain).code(2).says("fusion.json").prints_nothing();
    std::fs::write(&path, &good[..good.len() / 2]).unwrap();
    folder.run(&explain).code(2).says("fusion.json").prints_nothing();
}

//! `clickvec explain`: text, JSON and pages, and what it says if there is nothing to explain.

use std::fs;

use crate::harness::Folder;

const MATCH: [&str; 5] = ["explain", "match", "model.safetensors", "red hammer", "hammer in red, 10 in."];

/// [`Folder::with_model`] and models of other encoders: `clsm`, `bilstm`, `rnn` and `dssm`.
fn with_models() -> Folder {
    let folder = Folder::with_model();
    let sizes = [("clsm", "encoder.hidden=12,8"), ("rnn", "encoder.hidden=8"), ("dssm", "encoder.layers=12,8")];
    for (kind, sizes) in sizes {
        let model = format!("{kind}.safetensors");
        let arguments = ["train", "--clicks", "clicks.tsv", "--output", &model, "--encoder", kind, "--set", sizes];
        folder.run(&[&arguments[..], &["--epochs", "2"]].concat()).code(0);
    }
    folder.train("bilstm.safetensors", &["--encoder", "bilstm"]).code(0);
    folder
}

#[test]
fn a_match_says_the_score_of_the_search_and_shares_that_sum_to_it() {
    let folder = Folder::with_model();
    folder.write("one.tsv", "id\ttitle\nt1\thammer in red, 10 in.\n");
    folder.index("model.safetensors", "one.tsv").code(0);
    let search = ["search", "shop.index", "--mode=vectors", "--json", "red hammer"];
    let found = folder.run(&search).code(0).json_lines();
    let [explained] = folder.run(&[&MATCH[..], &["--json"]].concat()).code(0).json_lines().try_into().unwrap();
    let model = &explained["models"][0];
    assert_eq!(model["score"], found[0]["results"][0]["score"]);
    let score = model["score"].as_f64().unwrap();
    let sum = |values: &serde_json::Value, key: &str| -> f64 {
        values["words"].as_array().unwrap().iter().map(|word| word[key].as_f64().unwrap()).sum()
    };
    let units: f64 = model["units"].as_array().unwrap().iter().map(|unit| unit.as_f64().unwrap()).sum();
    for sum in [units, sum(&model["query"], "along"), sum(&model["title"], "along")] {
        assert!((sum - score).abs() < 1e-5, "{sum} for {score}");
    }
    assert_eq!(model["title"]["words"].as_array().unwrap().len(), 5);
    assert!(model["title"].get("states").is_none());
    let [states] = folder.run(&[&MATCH[..], &["--json", "--states"]].concat()).code(0).json_lines().try_into().unwrap();
    let gates = &states["models"][0]["query"]["states"][1];
    assert_eq!((&gates["state"], &gates["direction"]), (&"input gate".into(), &"forward".into()));
    let rows = gates["values"].as_array().unwrap();
    assert_eq!((rows.len(), rows[0].as_array().unwrap().len()), (2, 8));

    let text = folder.run(&MATCH).code(0).stdout();
    let shown = format!("score  {score:.3}");
    for part in ["query  red hammer", &shown, "input gate", "along", "without", "share", "query word"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn an_index_explains_with_its_model() {
    let folder = Folder::with_model();
    folder.run(&["index", "--model", "model.safetensors", "--titles", "titles.tsv", "--output", "shop.index"]).code(0);
    let of = |which: &str| {
        let arguments = ["explain", "match", "--json", which, "red hammer", "hammer in red"];
        folder.run(&arguments).code(0).json_lines()[0]["models"][0]["score"].clone()
    };
    assert_eq!(of("shop.index"), of("model.safetensors"));
}

#[test]
fn models_stand_side_by_side_with_the_grade() {
    let folder = with_models();
    let kinds = ["model", "bilstm", "rnn", "clsm", "dssm"];
    let files = kinds.map(|kind| format!("{kind}.safetensors"));
    let models: Vec<&str> = files[1..].iter().flat_map(|file| ["--compare", file]).collect();
    let arguments = [&["explain", "match", &files[0], "--pairs", "judged.tsv", "--limit", "2"][..], &models].concat();
    let text = folder.run(&arguments).code(0).stdout();
    for part in ["grade  4", "grade  0", "bilstm (bilstm, 8 cells in each direction)", "max-pooling unit", "dssm (dssm"]
    {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let lines = folder.run(&[&arguments[..], &["--json"]].concat()).code(0).json_lines();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["grade"], lines[0]["models"].as_array().unwrap().len()), (&4.into(), 5));
    folder.run(&[&arguments[..], &["--html", "page.html"]].concat()).code(0);
    let page = folder.read("page.html");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "a page needs nothing from outside, found `{outside}`");
    }
    for part in ["input gate", "read from the end", "max-pooling unit", ">grade</span>", "prefers-color-scheme: dark"] {
        assert!(page.contains(part), "no `{part}` on the page");
    }
    folder.write("pairs.tsv", "query\ttitle\nred hammer\thammer in red\nbroken\n");
    let pairs = ["explain", "match", "rnn.safetensors", "--pairs", "pairs.tsv", "--json"];
    let run = folder.run(&pairs).code(0).says("skipped 1 broken line");
    assert_eq!(run.json_lines().len(), 1);
}

#[test]
fn a_merged_tail_is_shown_as_one_word() {
    let folder = Folder::with_data();
    folder.train("tail.safetensors", &["--set", "max_words=3", "--set", "tail=merge"]).code(0);
    folder.train("cut.safetensors", &["--set", "max_words=2"]).code(0);
    let texts = ["red hammer in the blue shed", "hammer in red, 10 in."];
    let explain = |what: &str, model: &[&str], more: &[&str]| {
        let arguments = [&["explain", what][..], model, more].concat();
        folder.run(&arguments).code(0)
    };
    let tail = ["tail.safetensors"];
    let text = explain("match", &tail, &texts).stdout();
    for part in [
        "… (4 words)",
        "… (3 words)",
        "the model reads the last 4 words of the query as one word",
        "the model reads the last 3 words of the title as one word",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let [line] = explain("match", &tail, &[&texts[..], &["--json"]].concat()).json_lines().try_into().unwrap();
    let words = line["models"][0]["title"]["words"].as_array().unwrap().clone();
    let of = |key: &str| words.iter().map(|word| word[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("word"), ["hammer", "in", "red 10 in"]);
    assert_eq!(of("parts"), [1, 1, 3]);

    // Next to a model that reads other words, each number is at its own word.
    let both = [&tail[..], &["--compare", "cut.safetensors"]].concat();
    let text = explain("match", &both, &[&texts[..], &["--html", "page.html"]].concat()).stdout();
    let table = text.split("\n\n").find(|part| part.lines().next().unwrap().matches("along").count() == 2).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [6, 5, 5, 6, 5, 5], "{table}");
    assert_eq!(rows[2][..3], ["…", "(4", "words)"], "only the model that merges has numbers there: {table}");
    let page = folder.read("page.html");
    assert!(page.contains(">… (3 words)</") && page.contains("title=\"red 10 in\""), "the words of the tail are there");
    let text = explain("keywords", &tail, &[texts[0]]).stdout();
    assert!(text.contains("… (4 words)"), "{text}");

    let index = ["index", "--model", "tail.safetensors", "--titles", "titles.tsv", "--output", "tail.index"];
    folder.run(&index).code(0);
    let text = explain("rank", &["tail.index"], &[texts[0]]).stdout();
    assert!(text.contains("red  hammer  … (4 words)"), "{text}");
}

#[test]
fn keywords_of_every_encoder() {
    let folder = with_models();
    let run = |kind: &str, more: &[&str]| {
        let model = format!("{kind}.safetensors");
        folder.run(&[&["explain", "keywords", &model, "red hammer in <b>white</b>"][..], more].concat())
    };
    let text = run("model", &["--keyword", "threshold=0"]).code(0).stdout();
    // With a threshold of zero every word except the first has every cell.
    assert!(text.contains("*hammer*") && text.contains("cells of 8, left to right"), "{text}");
    assert!(text.contains("mean input gate") && text.contains("by more than 0 of"), "{text}");
    let line = text.lines().find(|line| line.starts_with("cells of 8")).unwrap();
    assert_eq!(line.split_whitespace().skip(6).collect::<Vec<_>>(), ["-", "*8", "*8", "*8", "*8", "*8"]);
    let text = run("bilstm", &[]).code(0).stdout();
    assert!(text.contains("left to right") && text.contains("right to left"), "{text}");
    let lines = run("clsm", &["--json"]).code(0).json_lines();
    assert_eq!(lines[0]["winners"].as_array().unwrap().len(), 5);
    let text = run("rnn", &["--html", "rnn.html"]).code(0).stdout();
    assert!(!text.contains("input gate") && !text.contains("cell") && text.contains("units of "), "{text}");
    let page = folder.read("rnn.html");
    assert!(page.contains("most active units of red hammer") && page.contains("of the 10 most active units"), "{page}");
    run("dssm", &[]).code(1).prints("reads a bag of words");
    run("model", &["--html", "keywords.html"]).code(0);
    let page = folder.read("keywords.html");
    assert!(page.contains("Keywords") && page.contains("<svg") && !page.contains("<b>white"), "markup is escaped");
    let lines = folder
        .run_with(&["explain", "keywords", "model.safetensors", "--file", "-", "--json"], "red paint\n\nblue shelf\n");
    assert_eq!(lines.code(0).json_lines().len(), 2);
}

#[test]
fn topics_contexts_and_neighbours() {
    let folder = with_models();
    let judged = folder.read("judged.tsv");
    let queries: Vec<&str> = judged.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
    folder.write("queries.txt", queries.join("\n"));
    let topics = ["lab", "topics", "--file", "queries.txt", "--keyword", "threshold=0.01"];
    let text = folder.run(&[&topics[..], &["model.safetensors", "--html", "topics.html"]].concat()).code(0).stdout();
    assert!(text.contains("purity") && text.contains("144 queries"), "{text}");
    assert!(folder.read("topics.html").contains("What the cells represent"));
    let cells = folder.run(&[&topics[..], &["clsm.safetensors", "--json"]].concat()).code(0).json_lines();
    assert!(
        cells.iter().all(|cell| cell["queries"].as_u64().unwrap() > 0 && !cell["name"].as_str().unwrap().is_empty())
    );
    folder.run(&[&topics[..], &["dssm.safetensors"]].concat()).code(2).says("found a dssm, which reads bags of words");

    let without = ["lab", "context", "clsm.safetensors", "red", "red hammer", "blue shelf"];
    folder.run(&without).code(2).says("expected texts with the word `red`, found `blue shelf`");
    let context = |model: &str| folder.run(&["lab", "context", model, "red", "red hammer", "red paint", "--json"]);
    let lines = context("clsm.safetensors").code(0).json_lines();
    assert_eq!((lines.len(), &lines[1]["context"]), (2, &"red paint".into()));
    context("model.safetensors").code(2).says("expected a clsm");
    // The encoder is what is wrong, also where the texts are a table.
    let table = ["lab", "context", "model.safetensors", "red", "--file", "clicks.tsv"];
    folder.run(&table).code(2).says("expected a clsm");
    let one = ["lab", "context", "clsm.safetensors", "red", "red hammer"];
    folder.run(&one).code(1).says("expected other texts with the word `red` to compare with this one").prints_nothing();
    folder.write("none.txt", "?!\n");
    folder.run(&["lab", "topics", "model.safetensors", "--file", "none.txt"]).code(1).prints("no query has a word");
    let few = ["lab", "topics", "model.safetensors", "--file", "queries.txt", "--keyword", "threshold=100"];
    folder.run(&few).code(1).prints("no cell collects a word of 144 queries; try a threshold below 100");
    let two = ["lab", "context", "clsm.safetensors", "red hammer", "red"];
    folder.run(&two).code(2).says("expected one word, found 2");

    let near = ["lab", "neighbours", "model.safetensors", "hamer", "--file", "queries.txt", "--json"];
    let lines = folder.run(&near).code(0).json_lines();
    assert_eq!((&lines[0]["space"], &lines[0]["neighbours"][0]["word"]), (&"input layer".into(), &"hammer".into()));
    assert_eq!(lines[1]["space"], "embedding");
    let strange = ["lab", "neighbours", "model.safetensors", "北", "--file", "queries.txt"];
    folder.run(&strange).code(2).says("expected a word with a letter trigram that the model knows");
}

#[test]
fn odd_texts_and_places_are_told() {
    let folder = Folder::with_model();
    let explain = |query: &str, title: &str| {
        folder.run(&["explain", "match", "model.safetensors", query, title]).code(0).stdout()
    };
    let limited = ["explain", "match", "model.safetensors", "--limit", "1", "red", "hammer"];
    folder.run(&limited).code(2).says("the argument '--limit <N>' cannot be used with '[QUERY]'").prints_nothing();
    assert!(explain("", "hammer").contains("the query has no words"));
    let nothing = explain("", " ");
    assert!(nothing.contains("query  (empty)\ntitle  (empty)\n") && !nothing.contains("without  "), "{nothing}");
    assert!(explain("hammer", "?!").contains("the title has no words"));
    assert!(explain("北京", "hammer").contains("the model knows none of the query's words"));
    assert!(explain("hammer \u{1b}[31m", "مطرقة أحمر").contains("مطرقة (unknown)"));
    assert!(!explain("hammer \u{1b}[31m", "hammer").contains('\u{1b}'));
    let long = "hammer ".repeat(100_000);
    assert!(explain(&long[..100_000], "hammer").contains("score"));
    folder.run(&["explain", "match", "model.safetensors"]).code(2).says("expected a query and a title");
    folder.run(&["explain", "match", "model.safetensors", "one"]).code(2).prints_nothing();
    folder.run(&["explain", "match"]).code(2).says("<MODEL>");
    folder.run(&[&MATCH[..], &["--html", "none/page.html"]].concat()).code(2).prints_nothing();
    folder.run(&[&MATCH[..], &["--html", "model.safetensors"]].concat()).code(2).says("expected an output");
    folder.run(&[&MATCH[..], &["--keyword", "threshold=NaN"]].concat()).code(2).says("expected a number of 0 or more");
    folder.run(&[&MATCH[..], &["--keyword", "cells=0"]].concat()).code(2).says("expected a whole number of 1 or more");
    folder.run(&[&MATCH[..], &["--keyword", "cell=1"]].concat()).code(2).says("expected cells=N, units=N, at-least=N");
    folder.write("empty.txt", "\n \n");
    let empty = ["explain", "keywords", "model.safetensors", "--file", "empty.txt"];
    folder.run(&empty).code(2).says("empty.txt: expected texts, one a line, found none");
    assert!(fs::read(folder.path("model.safetensors")).is_ok_and(|bytes| bytes.len() > 1000));
}

#[test]
fn errors_are_grouped_by_what_is_hard() {
    let folder = Folder::with_model();
    let judged = "query\ttitle\tgrade\nred hamer\thammer in red\t4\nred hamer\tpaint for kitchens\t0\n\
                  plutonium 12\tladder\t0\nplutonium 12\tshelf for isotopes\t3\n";
    folder.write("hard.tsv", judged);
    let arguments = ["lab", "errors", "model.safetensors", "--judged", "hard.tsv", "--titles", "titles.tsv"];
    let mut lines = folder.run(&[&arguments[..], &["--json"]].concat()).code(0).json_lines();
    lines.sort_by_key(|line| line["query"].to_string());
    let difficulties = |line: &serde_json::Value| line["difficulties"].to_string();
    assert_eq!(difficulties(&lines[0]), r#"["unseen word","number or unit"]"#);
    assert_eq!(difficulties(&lines[1]), r#"["misspelt"]"#);
    assert_eq!((&lines[1]["best"]["title"], &lines[1]["best"]["grade"]), (&"hammer in red".into(), &4.into()));
    let text = folder.run(&[&arguments[..], &["--html", "errors.html"]].concat()).code(0).stdout();
    assert!(text.contains("worse than bm25") && text.contains("Mean NDCG@10"), "{text}");
    assert!(folder.read("errors.html").contains("Where model is worse than BM25"));
}

#[test]
fn a_model_shows_no_column_that_it_has_nothing_for() {
    let folder = with_models();
    let header = |kind: &str| {
        let model = format!("{kind}.safetensors");
        let arguments = ["explain", "match", &model, "red hammer", "hammer in red"];
        let text = folder.run(&arguments).code(0).stdout();
        text.lines().find(|line| line.contains("along")).map(str::to_owned).unwrap()
    };
    let words = |kind: &str| header(kind).split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    assert_eq!(words("model"), "word cells input gate along without");
    assert_eq!(words("rnn"), "word units along without");
    assert_eq!(words("clsm"), "word units won along without");
    assert_eq!(words("dssm"), "word along without");
}

#[test]
fn queries_are_shown_with_the_title_that_comes_first() {
    let folder = with_models();
    folder.run(&["index", "--model", "clsm.safetensors", "--titles", "titles.tsv", "--output", "c.index"]).code(0);
    let table_8 = ["explain", "keywords", "--search", "c.index"];
    let run = |more: &[&str]| folder.run(&[&table_8[..], more].concat());
    let text = run(&["red hammer", "", "北"]).code(0).stdout();
    assert!(text.contains("title ranked first") && text.contains('*'), "{text}");
    assert!(text.contains("nothing: the query has no words") && text.contains("knows no word of the query"), "{text}");
    let [line] = run(&["red hammer", "--json"]).code(0).json_lines().try_into().unwrap();
    let search = ["search", "c.index", "--mode", "vectors", "--json", "-k", "1", "red hammer"];
    let found = folder.run(&search).code(0).json_lines();
    let first = &found[0]["results"][0];
    assert_eq!((&line["first"]["id"], &line["first"]["score"]), (&first["id"], &first["score"]));
    for side in [&line["query"], &line["first"]["title"]] {
        assert_eq!(side["winners"].as_array().unwrap().len(), 5);
    }
    run(&["red hammer", "--html", "first.html"]).code(0);
    assert!(folder.read("first.html").contains("<b class=\"key\">"));
    run(&["北"]).code(1);
    let file = ["explain", "keywords", "--search", "clsm.safetensors", "red"];
    folder.run(&file).code(2).says("clsm.safetensors: expected an index for `--search`, found a file");
}

#[test]
fn a_text_without_words_is_said_to_have_none() {
    let folder = Folder::with_model();
    let run = |text: &str| folder.run(&["explain", "keywords", "model.safetensors", text]);
    run("").code(1).prints("(empty)\nno keywords: the text has no words");
    run("?!").code(1).prints("no keywords: the text has no words");
    run(&"hammer ".repeat(10_000)).code(0).prints("more words, which the model does not read");
    run("hammer").code(0).prints("-");
    folder.run(&["explain", "keywords", "none", "red"]).code(2).says("none: cannot ");
}

#[test]
fn what_is_said_of_keywords_is_tested() {
    let folder = with_models();
    let judged = folder.read("judged.tsv");
    let queries: Vec<&str> = judged.lines().skip(1).filter_map(|line| line.split('\t').nth(1)).collect();
    folder.write("texts.txt", queries.join("\n"));
    let claims = ["lab", "claims", "--file", "texts.txt", "--keyword"];
    let text = folder.run(&[&claims[..], &["threshold=0.2", "model.safetensors"]].concat()).code(0).stdout();
    assert!(text.contains("change of the vector without it") && text.contains("mean input gate"), "{text}");
    let [line] = folder
        .run(&[&claims[..], &["threshold=0.5", "rnn.safetensors", "--json"]].concat())
        .code(0)
        .json_lines()
        .try_into()
        .unwrap();
    let p = line["removal"]["p"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&p) && line["texts"].as_u64().unwrap() > 1, "{line}");
    assert!(line.get("input_gate").is_none(), "an RNN has no gates");
    folder.run(&[&claims[..], &["threshold=0.2", "dssm.safetensors"]].concat()).code(1).says("reads a bag of words");
    folder.write("texts.txt", "hammer\n");
    folder
        .run(&[&claims[..], &["threshold=0.2", "model.safetensors"]].concat())
        .code(1)
        .says("at least two texts with a keyword");
}

#[test]
fn topics_are_printed_as_the_paper_does() {
    let folder = Folder::with_model();
    folder.write("queries.txt", "red hammer\nblue paint for kitchens\nwhite shelf\n");
    let topics = ["lab", "topics", "model.safetensors", "--file", "queries.txt", "--keyword", "threshold=0"];
    let text = folder.run(&[&topics[..], &["--table", "20"]].concat()).code(0).stdout();
    let header = text.lines().next().unwrap();
    assert!(header.starts_with("query") && header.contains("cell "), "{text}");
    assert!(text.contains("red hammer") && text.contains("hammer"), "{text}");
    let rows = folder.run(&[&topics[..], &["--table", "20", "--json"]].concat()).code(0).json_lines();
    assert_eq!((rows.len(), rows[0]["cells"].as_array().unwrap().len()), (3, 5));
    // At a threshold of zero each of the five cells collects every word but the first.
    assert_eq!(rows[1]["cells"][0]["words"], serde_json::json!(["paint", "for", "kitchens"]));
    let short = folder.run(&[&topics[..], &["--table", "1"]].concat()).code(0).stdout();
    assert!(short.contains("The first 1 of 3 queries."), "{short}");
    let idle = ["lab", "topics", "model.safetensors", "--file", "queries.txt", "--keyword", "cells=2,at-least=3"];
    folder
        .run(&idle)
        .code(2)
        .says("expected cells, units or threshold with `--keyword`, found at-least")
        .prints_nothing();
    // A query of one word has no word that a cell could collect.
    folder.write("queries.txt", "red hammer\nhammer\nblue paint for kitchens\nwhite shelf\n");
    let mut all = folder.run(&[&topics[..], &["--table", "20"]].concat()).code(0).stdout();
    assert!(all.contains("\nAll 4 queries; 1 is left out, since no cell collects a word of it.\n"), "{all}");
    all = folder.run(&[&topics[..], &["--table", "3"]].concat()).code(0).stdout();
    assert!(all.contains("\nThe first 3 of 4 queries; 1 is left out, since no cell collects a word of it.\n"), "{all}");
    folder.run(&[&topics[..], &["--html", "topics.html", "--table", "1"]].concat()).code(0);
    folder.run(&[&topics[..], &["--html", "topics.html"]].concat()).code(0);
    let page = folder.read("topics.html");
    for part in ["id=\"cells\"", "id=\"words\"", "id=\"queries\"", "data-w=\"hammer\"", "blue paint for kitchens"] {
        assert!(page.contains(part), "no `{part}` on the page");
    }
}

#[test]
fn a_rankers_own_words_have_neighbours() {
    let folder = Folder::with_model();
    let rankers = ["--ranker", "doc2vec:epochs=2", "--ranker", "lsa:dimensions=4", "--ranker", "bm25"];
    let train = ["lab", "table", "--judged", "judged.tsv", "--titles", "titles.tsv", "--cache", "rankers"];
    folder.run(&[&train[..], &rankers].concat()).code(0);
    let file = |name: &str| folder.saved_ranker("rankers", name);
    let near = |name: &str, word: &str, more: &[&str]| {
        folder.run(&[&["lab", "neighbours", &file(name), word][..], more].concat())
    };
    for name in ["doc2vec", "lsa"] {
        let [line] = near(name, "hammer", &["--json", "-k", "3"]).code(0).json_lines().try_into().unwrap();
        let found = line["neighbours"].as_array().unwrap();
        assert_eq!(found.len(), 3, "{line}");
        assert!(found.iter().all(|near| near["cosine"].as_f64().unwrap() <= 1.0 + 1e-6 && near["word"] != "hammer"));
    }
    folder.write("some.txt", "red hammer\n");
    let [line] = near("lsa", "hammer", &["--json", "--file", "some.txt"]).code(0).json_lines().try_into().unwrap();
    assert_eq!(line["neighbours"].as_array().unwrap().len(), 1);
    near("doc2vec", "plutonium", &[]).code(2).says("expected a word that doc2vec knows");
    near("bm25", "hammer", &[]).code(2).says("which has none");
    folder.run(&["lab", "neighbours", "model.safetensors", "red"]).code(2).says("expected `--file FILE`");
    folder.run(&["index", "--model", "model.safetensors", "--titles", "titles.tsv", "--output", "n.index"]).code(0);
    folder.run(&["lab", "neighbours", "n.index", "hamer"]).code(0).prints("hammer");
}

#[test]
fn titles_are_compared_by_their_ids() {
    let folder = Folder::with_model();
    folder.run(&["index", "--model", "model.safetensors", "--titles", "titles.tsv", "--output", "r.index"]).code(0);
    let all = ["explain", "rank", "r.index", "red hammer", "--json", "-k", "10000"];
    let all = folder.run(&all).code(0).json_lines();
    let (third, last) = (&all[2], all.last().unwrap());
    let ids = format!("{},{}", last["id"].as_str().unwrap(), third["id"].as_str().unwrap());
    let two = ["explain", "rank", "r.index", "red hammer", "--ids", &ids];
    let lines = folder.run(&[&two[..], &["--json"]].concat()).code(0).json_lines();
    assert_eq!((&lines[0], &lines[1], lines.len()), (third, last, 2));
    let text = folder.run(&two).code(0).stdout();
    assert!(text.contains(&format!("3 above {} by", all.len())), "{text}");
    folder.run(&["explain", "rank", "r.index", "red", "--ids", "nobody"]).code(2).says("no title with the id `nobody`");
    folder.run(&["explain", "rank", "r.index", "北"]).code(1).says("no title has any of its words");
}

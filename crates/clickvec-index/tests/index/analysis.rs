//! Words that are analysed before they are compared.

use clickvec::tables::Title;
use clickvec_index::{Analysis, Fusion, Index, Part, Updater, compact, join};

use crate::world::{World, build, document, search, word_facts};

const BOTH: Analysis = Analysis::USUAL;

/// The ids that a query finds by words.
fn by_words(index: &Index, query: &str) -> Vec<String> {
    let mut ids: Vec<String> = search(index, query, Part::Words, 50).hits.into_iter().map(|hit| hit.id).collect();
    ids.sort();
    ids
}

fn titles() -> Vec<Title> {
    let title = |(number, title): (usize, &&str)| Title { id: format!("t{number}"), title: (*title).to_owned() };
    ["nylon rug 12in", "nylon rugs 12 in", "toilet seats", "seat", "nylon in white"]
        .iter()
        .enumerate()
        .map(title)
        .collect()
}

#[test]
fn plurals_and_numbers_are_found() {
    let world = World::new();
    let path = world.folder.path().join("analysed");
    let found = |analysis: Analysis, query: &str| {
        build(&path, &world.model, &titles(), &Fusion { analysis, ..Fusion::default() });
        by_words(&Index::open(&path).unwrap(), query)
    };
    assert_eq!(found(Analysis::EXACT, "rugs"), ["t1"]);
    assert_eq!(found(BOTH, "rugs"), ["t0", "t1"]);
    assert_eq!(found(BOTH, "12in"), ["t0", "t1", "t4"]);
    assert_eq!(found(Analysis { stem: true, ..Analysis::EXACT }, "12in"), ["t0"]);
    assert_eq!(found(Analysis { split: true, ..Analysis::EXACT }, "seats"), ["t2"]);
}

#[test]
fn the_words_that_a_title_shares_with_a_query_are_those_of_the_title() {
    let world = World::new();
    let path = world.folder.path().join("analysed");
    let matched = |analysis: Analysis, query: &str| {
        build(&path, &world.model, &titles(), &Fusion { analysis, ..Fusion::default() });
        let index = Index::open(&path).unwrap();
        index.matched_words(query, &["Men’s Rugs, 12in rug: rugs", "12\" seat", ""])
    };
    let none: [&str; 0] = [];
    assert_eq!(matched(Analysis::EXACT, "rugs 12 mens rugs"), [&["mens", "rugs"][..], &["12"], &none]);
    assert_eq!(matched(BOTH, "rugs 12"), [&["rugs", "12in", "rug"][..], &["12"], &none]);
    assert_eq!(matched(BOTH, ""), [&none[..], &none, &none]);
}

#[test]
fn an_explanation_speaks_of_words_and_not_of_terms() {
    let world = World::new();
    let path = world.folder.path().join("analysed");
    build(&path, &world.model, &titles(), &Fusion { analysis: BOTH, ..Fusion::default() });
    let index = Index::open(&path).unwrap();
    let query = "rugs 12in rug rugs";
    let answer = search(&index, query, Part::Words, 1);
    let hit = &answer.hits[0];
    let words: Vec<_> = answer.query.words.iter().map(|word| (word.text.as_str(), word.titles)).collect();
    // `in` is in a third title.
    assert_eq!(words, [("rugs", 2), ("12in", 3), ("rug", 2)]);
    let explained = index.explain(query, &hit.id).unwrap();
    let words: Vec<_> = explained.words.iter().map(|of| (of.word.as_str(), of.in_query, of.in_title)).collect();
    assert_eq!(words, [("rugs", 2, 1), ("12in", 1, 1), ("rug", 1, 1)]);
    let score = explained.scores.get(Part::Words).unwrap();
    assert!((score - hit.score).abs() < 1e-5, "{score} and {}", hit.score);
    // A title that has one of its terms.
    let [_, of, _] = index.explain(query, "t4").unwrap().words.try_into().unwrap();
    assert!((of.in_title, of.titles) == (1, 3) && of.share > 0.0, "{of:?}");
}

#[test]
fn it_survives_updates_compaction_and_joins() {
    let world = World::new();
    let path = world.folder.path().join("analysed");
    let fusion = Fusion { analysis: BOTH, ..Fusion::default() };
    build(&path, &world.model, &titles(), &fusion);
    let mut updater = Updater::open(&path).unwrap();
    updater.put(&document("new", "nylon rugs of wool", "brand")).unwrap();
    updater.commit().unwrap();
    let finds = |path: &std::path::Path| {
        let index = Index::open(path).unwrap();
        assert_eq!((index.fusion(), word_facts(&index).analysis), (&fusion, BOTH));
        assert!(!index.fusion().custom, "an analysis is no custom fusion");
        assert_eq!(by_words(&index, "rug"), ["new", "t0", "t1"]);
        index.check().unwrap();
    };
    finds(&path);
    compact(&path).unwrap();
    finds(&path);
    let [joined, mixed] = ["joined", "mixed"].map(|name| world.folder.path().join(name));
    join(std::slice::from_ref(&path), &joined, Ok, None).unwrap();
    finds(&joined);
    let world_index = world.folder.path().join("one");
    let exact = Fusion { analysis: Analysis::EXACT, ..Fusion::default() };
    build(&world_index, &world.model, &world.titles[..9], &exact);
    let both = [path, world_index];
    let error = join(&both, &mixed, Ok, None).unwrap_err().to_string();
    assert!(error.contains("analysed by `stem,split` (default), found linear of"), "{error}");
    // Unless a user chooses.
    for analysis in [BOTH, Analysis::EXACT] {
        join(&both, &mixed, |fusion| Ok(Fusion { analysis, ..fusion }), None).unwrap();
        assert_eq!(word_facts(&Index::open(&mixed).unwrap()).analysis, analysis);
    }
}

#[test]
fn a_title_of_thousands_of_terms_is_indexed_like_others() {
    let world = World::new();
    let path = world.folder.path().join("long");
    let long = Title { id: "long".to_owned(), title: format!("nylon {}", "a1".repeat(20_000)) };
    let fusion = Fusion { analysis: BOTH, ..Fusion::default() };
    build(&path, &world.model, &[long], &fusion);
    let index = Index::open(&path).unwrap();
    assert_eq!(word_facts(&index).mean_length, 40_001.0);
    index.check().unwrap();
    assert_eq!(by_words(&index, "a1"), ["long"]);
}

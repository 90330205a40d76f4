//! Weights of a user, with those of trigrams.

use std::path::Path;

use clickvec::tables::Title;
use clickvec_eval::ranker::{self, Corpus};
use clickvec_index::{
    ByPart, Fusion, FusionMethod, Index, IndexBuilder, Mode, Part, PartFacts, RECIPROCAL_RANK_K, Request, TitleMatch,
    Updater, VectorFormat, compact, finish, join,
};

use crate::world::{
    QUERIES, World, adds, all_titles, as_fused, build, document, fields, fused_rankers, search, weights,
};

const METHODS: [FusionMethod; 4] = [
    FusionMethod::Linear,
    FusionMethod::MinMax,
    FusionMethod::ZScore,
    FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K },
];

/// A fusion of all three.
pub(crate) fn fused(method: FusionMethod) -> Fusion {
    let weights = [(Part::Vectors, 0.5), (Part::Words, 0.3), (Part::Trigrams, 0.2)].into();
    Fusion { title_match: TitleMatch::default(), ..Fusion::default().with_weights(method, &weights).unwrap() }
}

#[test]
fn three_are_fused_as_the_library_fuses() {
    let world = World::new();
    let kept = all_titles(&world.open());
    let titles: Vec<&str> = kept.iter().map(|title| title.title.as_str()).collect();
    let corpus = Corpus::from_titles(titles.iter().copied()).unwrap();
    for method in METHODS {
        let (path, fusion) = (world.folder.path().join("three"), fused(method));
        build(&path, &world.model, &world.titles, &fusion);
        let index = Index::open(&path).unwrap();
        assert!(index.fusion().custom && !world.open().fusion().custom);
        assert_eq!((index.fusion().weights, index.facts().fusion.weights), (fusion.weights, fusion.weights));
        let Some(PartFacts::Trigrams(facts)) = index.facts().parts.get(Part::Trigrams) else { panic!() };
        assert!(facts.bytes > 10_000 && index.check().unwrap().queries > 0);

        let model = ranker::load(&path.join("model.safetensors")).unwrap();
        let [bm25, trigram] =
            ["bm25:k1=0.5,stem=1,split=1", "trigram"].map(|name| ranker::train(name, &corpus).unwrap());
        let members = [
            (model.candidates(&titles).unwrap(), 0.5),
            (bm25.candidates(&titles).unwrap(), 0.3),
            (trigram.candidates(&titles).unwrap(), 0.2),
        ];
        let mut by_trigrams_alone = 0;
        for query in QUERIES.into_iter().chain(["nilon anchr", "tolet"]) {
            let expected = fused_rankers(&members, method, query, 10);
            let hits = search(&index, query, Mode::Fused, 10).hits;
            assert_eq!(hits.len(), expected.len(), "{query}");
            for (hit, expected) in as_fused(method, &hits, &expected) {
                assert!((hit.score - expected).abs() < 1e-5, "{query} {method:?}: {hit:?} {expected}");
                let sum: f32 = hit.parts.iter().map(|(_, share)| share.adds.unwrap()).sum();
                assert!((sum - hit.score).abs() < 1e-5, "{hit:?}");
                let by_trigrams = hit.parts.get(Part::Trigrams);
                by_trigrams_alone += u32::from(hit.parts.get(Part::Words).is_none() && by_trigrams.is_some());
                let explained = *index.explain(query, &hit.id).unwrap().scores.get(Part::Trigrams).unwrap();
                assert_eq!(by_trigrams.map_or(0.0, |share| share.score), explained, "{query}: {}", hit.title);
            }
        }
        assert!(by_trigrams_alone > 5, "{by_trigrams_alone}");
        let pair = [0, 1].map(|rank| search(&index, "nylon anchor", Mode::Fused, 2).hits[rank].clone());
        let [above, below] = pair.each_ref().map(|hit| index.explain("nylon anchor", &hit.id).unwrap());
        let gap = *above.gap(&below).scores.get(Part::Trigrams).unwrap();
        let [a, b] = pair.map(|hit| hit.parts.get(Part::Trigrams).map_or(0.0, |share| f64::from(share.score)));
        assert_eq!(gap, a - b);
    }
}

#[test]
fn it_does_not_matter_how_titles_came_in() {
    let world = World::new();
    let [whole, halves] = ["whole", "halves"].map(|name| world.folder.path().join(name));
    build(&whole, &world.model, &world.titles, &fused(FusionMethod::MinMax));
    // With the idf of all titles.
    let fusion = Index::open(&whole).unwrap().fusion().clone();
    let half = world.titles.len() / 2;
    build(&halves, &world.model, &world.titles[..half], &fusion);
    let mut updater = Updater::open(&halves).unwrap();
    for (number, title) in world.titles.iter().enumerate().skip(half) {
        let [brand, price] = fields(number);
        let mut document = document(&title.id, &title.title, &brand);
        document.fields.insert("price".to_owned(), price);
        updater.put(&document).unwrap();
    }
    updater.commit().unwrap();
    let whole = Index::open(&whole).unwrap();
    let same = |index: &Index| {
        assert_eq!(index.fusion(), &fusion);
        for query in QUERIES {
            let [one, other] = [&whole, index].map(|index| search(index, query, Mode::Fused, 40).hits);
            assert_eq!(one, other, "{query}");
        }
        index.check().unwrap();
    };
    let index = Index::open(&halves).unwrap();
    assert_eq!(index.facts().segments, 2);
    same(&index);
    compact(&halves).unwrap();
    let index = index.reopened().unwrap().unwrap();
    assert_eq!(index.facts().segments, 1);
    same(&index);
}

#[test]
fn filters_and_deleted_titles_reach_the_trigrams() {
    let world = World::new();
    let path = world.folder.path().join("three");
    build(&path, &world.model, &world.titles, &fused(FusionMethod::ZScore));
    // Only trigrams know this word.
    let query = "anchrs";
    let first = search(&Index::open(&path).unwrap(), query, Mode::Fused, 1).hits.remove(0);
    assert!(adds(&first, Part::Trigrams).is_some() && adds(&first, Part::Words).is_none());
    let filter = vec![format!("brand={}", first.fields["brand"]).parse().unwrap()];
    let index = Index::open(&path).unwrap();
    let hits = index.search(&Request::new(query, Mode::Fused).with_filters(filter)).unwrap().hits;
    assert!(hits.len() > 1 && hits.iter().all(|hit| hit.fields["brand"] == first.fields["brand"]));
    let mut updater = Updater::open(&path).unwrap();
    updater.delete(&first.id);
    updater.commit().unwrap();
    let hits = search(&Index::open(&path).unwrap(), query, Mode::Fused, 1000).hits;
    assert!(hits.len() > 10 && hits.iter().all(|hit| hit.id != first.id));
}

/// Trigrams are learnt from all titles, however they came in.
#[test]
fn shards_get_weights_when_they_are_joined() {
    let world = World::new();
    let [whole, first, second, joined] =
        ["whole", "first", "second", "joined"].map(|name| world.folder.path().join(name));
    let fusion = fused(FusionMethod::Linear);
    let make = |path: &Path, titles: &[Title], fusion: &Fusion| {
        let mut builder = IndexBuilder::new(&world.model, path).unwrap();
        titles.iter().for_each(|title| builder.add(title.clone()).unwrap());
        finish(builder, &world.model, fusion, VectorFormat::F32).unwrap().fingerprint
    };
    let fingerprint = make(&whole, &world.titles[..80], &fusion);
    make(&first, &world.titles[..40], &Fusion::default());
    make(&second, &world.titles[40..80], &Fusion::default());
    let change = |of: Fusion| {
        let with = of.with_weights(FusionMethod::Linear, &fusion.weights)?;
        Ok(Fusion { title_match: TitleMatch::default(), ..with })
    };
    let found = join(&[first.clone(), second.clone()], &joined, change, None).unwrap();
    assert_eq!(found.fingerprint, fingerprint);
    let default =
        join(&[joined], &first, |of| of.with_weights(FusionMethod::Linear, &[(Part::Trigrams, 0.0)].into()), None);
    default.unwrap();
    assert_eq!(Index::open(&first).unwrap().fusion().weights, weights(0.5, 0.3));
}

#[test]
fn weights_that_make_no_fusion_are_refused() {
    let chosen = |text: &str| Fusion::default().with_weights(FusionMethod::Linear, &text.parse::<ByPart<f64>>()?);
    let fusion = chosen("vectors=10, words=0.5").unwrap();
    assert_eq!((fusion.weights, fusion.custom), (weights(10.0, 0.5), true));
    assert_eq!(fusion.title_match.numbers, 10.0 * Fusion::default().title_match.numbers);
    assert_eq!(chosen("words=0.1,trigrams=0").unwrap().weights, weights(1.0, 0.1));
    for (text, found) in [
        ("words", "found `words`"),
        ("bm25=1", "found `bm25=1`"),
        ("words=much", "found `words=much`"),
        ("words=1,words=2", "found words twice"),
        ("words=-1", "expected weights of 0 or more, found -1 for words"),
        ("words=inf", "found inf for words"),
        ("words=0,vectors=0", "expected a weight above 0, found none"),
        ("teacher=1", "expected weights of vectors, words and trigrams, found one of a teacher"),
    ] {
        let error = chosen(text).unwrap_err().to_string();
        assert!(error.contains(found), "{text}: {error}");
    }
}

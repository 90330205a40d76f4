//! Fusions of three: vectors, words and trigrams.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clickvec_eval::internals::save_fusion;
use clickvec_eval::ranker::{self, Corpus, FusionMethod, RECIPROCAL_RANK_K, Ranker, RankerSpec, Resources, System};
use clickvec_index::{Fusion, Index, Mode, Part, PartFacts, Request, Updater, compact};

use crate::world::{
    QUERIES, World, adds, all_titles, as_fused, build, document, fields, model, search, titles, weights,
};

const METHODS: [FusionMethod; 4] = [
    FusionMethod::Linear,
    FusionMethod::MinMax,
    FusionMethod::ZScore,
    FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K },
];

/// Writes a fusion as `evaluate --save-rankers` does, with these members: `model` or the names of rankers.
pub(crate) fn save(folder: &Path, method: FusionMethod, members: &[(&str, f64)]) -> PathBuf {
    let titles = titles();
    let corpus = Corpus::from_titles(titles.iter().map(|title| title.title.as_str())).unwrap();
    let mut files = Vec::new();
    for (number, &(name, weight)) in members.iter().enumerate() {
        let file = format!("{number}.safetensors");
        if name == "model" {
            std::fs::copy(crate::world::testdata("frozen/format-1/lstm.safetensors"), folder.join(&file)).unwrap();
        } else {
            let spec: RankerSpec = name.parse().unwrap();
            let system = System::named(&spec.name, &ranker::SYSTEMS).unwrap();
            let values = system.values(&spec).unwrap();
            let files = [("file".to_owned(), crate::teacher::vectors(folder))];
            let resources = Resources { corpus: &corpus, files: if spec.name == "vectors" { &files } else { &[] } };
            let ranker = system.train(&values, &resources, &mut |_| ()).unwrap();
            system.save(&folder.join(&file), &values, ranker.as_ref()).unwrap();
        }
        files.push((file, weight));
    }
    let path = folder.join("fusion.safetensors");
    let files: Vec<(&str, f64)> = files.iter().map(|(file, weight)| (file.as_str(), *weight)).collect();
    save_fusion(&path, method, &files).unwrap();
    path
}

const THREE: [(&str, f64); 3] = [("bm25", 0.3), ("trigram", 0.2), ("model", 0.5)];

/// An index whose fusion has all three.
pub(crate) fn fused(world: &World, method: FusionMethod) -> Fusion {
    let folder = world.folder.path().join("kept");
    std::fs::create_dir_all(&folder).unwrap();
    Fusion::read(&save(&folder, method, &THREE), world.model.fingerprint()).unwrap()
}

#[test]
fn three_are_fused_as_the_library_fuses() {
    let world = World::new();
    let kept = all_titles(&world.open());
    let titles: Vec<&str> = kept.iter().map(|title| title.title.as_str()).collect();
    let corpus = Corpus::from_titles(titles.iter().copied()).unwrap();
    for method in METHODS {
        let (path, fusion) = (world.folder.path().join("three"), fused(&world, method));
        build(&path, &world.model, &world.titles, &fusion);
        let index = Index::open(&path).unwrap();
        assert!(index.fusion().custom && !world.open().fusion().custom);
        assert_eq!((index.fusion(), index.facts().fusion.weights.get(Part::Trigrams)), (&fusion, Some(&0.2)));
        let Some(PartFacts::Trigrams(facts)) = index.facts().parts.get(Part::Trigrams) else { panic!() };
        assert!(facts.bytes > 10_000 && index.check().unwrap().queries > 0);

        let ranker = |name: &str| -> Arc<dyn Ranker> {
            let ranker: Box<dyn Ranker> = ranker::train(name, &corpus).unwrap();
            Arc::from(ranker)
        };
        let kept = |file: &str| -> Arc<dyn Ranker> {
            Arc::from(ranker::load(&world.folder.path().join("kept").join(file)).unwrap())
        };
        let members = vec![(ranker("bm25"), 0.3), (kept("1.safetensors"), 0.2), (kept("2.safetensors"), 0.5)];
        let library = ranker::Fusion::new("fusion".to_owned(), members, method);
        let candidates = library.candidates(&titles).unwrap();
        let mut by_trigrams_alone = 0;
        for query in QUERIES.into_iter().chain(["nilon anchr", "tolet"]) {
            let expected = candidates.search(query, 10).unwrap();
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
        let compared = index.compare("nylon anchor", &pair[0].id, &pair[1].id).unwrap();
        let gap = *compared.scores.get(Part::Trigrams).unwrap();
        let [a, b] = pair.map(|hit| hit.parts.get(Part::Trigrams).map_or(0.0, |share| f64::from(share.score)));
        assert_eq!(gap, a - b);
    }
}

#[test]
fn it_does_not_matter_how_titles_came_in() {
    let world = World::new();
    let fusion = fused(&world, FusionMethod::MinMax);
    let [whole, halves] = ["whole", "halves"].map(|name| world.folder.path().join(name));
    build(&whole, &world.model, &world.titles, &fusion);
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
    build(&path, &world.model, &world.titles, &fused(&world, FusionMethod::ZScore));
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

#[test]
fn only_what_an_index_can_ask_is_fused() {
    let folder = tempfile::tempdir().unwrap();
    let model = model();
    let read = |members: &[(&str, f64)]| {
        Fusion::read(&save(folder.path(), FusionMethod::MinMax, members), model.fingerprint())
    };
    // A part without weight finds nothing that counts.
    let fusion = read(&[("model", 0.6), ("trigram", 0.0), ("bm25", 0.4)]).unwrap();
    assert_eq!((fusion.weights, fusion.trigrams), (weights(0.6, 0.4), None));
    let fusion = read(&[("trigram", 0.4), ("model", 0.6)]).unwrap();
    let weights = Part::ALL.map(|part| fusion.weight(part));
    assert!(weights == [0.6, 0.0, 0.4, 0.0] && fusion.trigrams.is_some());
    for (members, found) in [
        (&[("trigram", 0.5), ("trigram", 0.1), ("model", 0.4)][..], "a second trigram"),
        (&[("model", 0.5), ("model", 0.5)], "a second model"),
    ] {
        let error = read(members).unwrap_err().to_string();
        assert!(error.contains(&format!("found one with {found}")), "{error}");
    }
}

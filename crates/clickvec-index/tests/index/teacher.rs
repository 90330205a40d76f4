//! Fusions of four: vectors, words, trigrams and a teacher's vectors of the titles.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clickvec_eval::ranker::{self, Corpus, FusionMethod, RECIPROCAL_RANK_K, Ranker};
use clickvec_index::{Fusion, Index, Mode, Part, PartFacts, Request, Updater, compact};

use crate::trigrams::save;
use crate::world::{QUERIES, World, adds, all_titles, as_fused, build, document, fields, search, titles};

const DIMENSION: usize = 12;

/// Vectors of every other title of the shop, which sum up numbers of their words, in NumPy's form.
pub(crate) fn vectors(folder: &Path) -> PathBuf {
    let texts: Vec<String> = titles().into_iter().step_by(2).map(|title| title.title).collect();
    let mut rows: Vec<f32> = Vec::new();
    for text in &texts {
        let mut row = [0.0f32; DIMENSION];
        for word in text.to_lowercase().split_whitespace() {
            let mut state = word.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)) * 0x1_b3);
            row.iter_mut().for_each(|x| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *x += (state >> 40) as f32 / (1 << 24) as f32 - 0.5;
            });
        }
        rows.extend(row);
    }
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {DIMENSION}), }}\n", texts.len());
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend(rows.iter().flat_map(|x| x.to_le_bytes()));
    let path = folder.join("vectors.npy");
    std::fs::write(&path, bytes).unwrap();
    std::fs::write(folder.join("vectors.txt"), texts.join("\n")).unwrap();
    path
}

const FOUR: [(&str, f64); 4] = [("bm25", 0.2), ("trigram", 0.1), ("model", 0.3), ("vectors:ridge=0.3", 0.4)];

fn fused(world: &World, method: FusionMethod) -> Fusion {
    let folder = world.folder.path().join("kept");
    std::fs::create_dir_all(&folder).unwrap();
    Fusion::read(&save(&folder, method, &FOUR), world.model.fingerprint()).unwrap()
}

#[test]
fn four_are_fused_as_the_library_fuses() {
    let world = World::new();
    let kept = all_titles(&world.open());
    let titles: Vec<&str> = kept.iter().map(|title| title.title.as_str()).collect();
    let corpus = Corpus::from_titles(titles.iter().copied()).unwrap();
    for method in [FusionMethod::Linear, FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K }] {
        let (path, fusion) = (world.folder.path().join("four"), fused(&world, method));
        build(&path, &world.model, &world.titles, &fusion);
        let index = Index::open(&path).unwrap();
        assert_eq!((index.fusion(), index.fusion().weight(Part::Teacher)), (&fusion, 0.4));
        let Some(PartFacts::Teacher(facts)) = index.facts().parts.get(Part::Teacher) else { panic!() };
        assert!(facts.dimension == DIMENSION && facts.bytes > 10_000 && index.check().unwrap().queries > 0);
        let kept = |file: &str| -> Arc<dyn Ranker> {
            Arc::from(ranker::load(&world.folder.path().join("kept").join(file)).unwrap())
        };
        let bm25: Box<dyn Ranker> = ranker::train("bm25", &corpus).unwrap();
        let members = vec![
            (Arc::from(bm25), 0.2),
            (kept("1.safetensors"), 0.1),
            (kept("2.safetensors"), 0.3),
            (kept("3.safetensors"), 0.4),
        ];
        let library = ranker::Fusion::new("fusion".to_owned(), members, method);
        let candidates = library.candidates(&titles).unwrap();
        let mut by_teacher = 0;
        for query in QUERIES.into_iter().chain(["nilon anchr", "tolet"]) {
            let expected = candidates.search(query, 10).unwrap();
            let hits = search(&index, query, Mode::Fused, 10).hits;
            assert_eq!(hits.len(), expected.len(), "{query}");
            for (hit, expected) in as_fused(method, &hits, &expected) {
                assert!((hit.score - expected).abs() < 1e-5, "{query} {method:?}: {hit:?} {expected}");
                let sum: f32 = hit.parts.iter().map(|(_, share)| share.adds.unwrap()).sum();
                assert!((sum - hit.score).abs() < 1e-5, "{hit:?}");
                by_teacher += u32::from(adds(hit, Part::Teacher).is_some_and(|adds| adds > 0.0));
                let explained = *index.explain(query, &hit.id).unwrap().scores.get(Part::Teacher).unwrap();
                let found = hit.parts.get(Part::Teacher).map(|share| share.score);
                assert!(found.is_none_or(|found| (found - explained).abs() < 1e-6), "{query}: {hit:?} {explained}");
            }
        }
        assert!(by_teacher > 20, "{by_teacher}");
        let pair = [0, 1].map(|rank| search(&index, "nylon anchor", Mode::Fused, 2).hits[rank].clone());
        let compared = index.compare("nylon anchor", &pair[0].id, &pair[1].id).unwrap();
        let gap = *compared.scores.get(Part::Teacher).unwrap();
        let [a, b] = pair.map(|hit| f64::from(hit.parts.get(Part::Teacher).unwrap().score));
        assert!((gap - (a - b)).abs() < 1e-6);
        // What is not fused does not ask it.
        let alone = search(&index, "nylon anchor", Part::Vectors, 5).hits;
        assert!(alone.iter().all(|hit| hit.parts.get(Part::Teacher).is_none()));
        // Alone it finds what it adds to the fusion.
        let alone = search(&index, "nylon anchor", Part::Teacher, 1).hits.remove(0);
        assert_eq!(alone.score, alone.parts.get(Part::Teacher).unwrap().score);
    }
}

#[test]
fn updates_filters_and_deleted_titles_reach_the_teacher() {
    let world = World::new();
    let fusion = fused(&world, FusionMethod::MinMax);
    let [whole, halves] = ["whole", "halves"].map(|name| world.folder.path().join(name));
    build(&whole, &world.model, &world.titles, &fusion);
    let half = world.titles.len() / 2;
    build(&halves, &world.model, &world.titles[..half], &fusion);
    let before = Index::open(&halves).unwrap();
    let mut updater = Updater::open(&halves).unwrap();
    for (number, title) in world.titles.iter().enumerate().skip(half) {
        let [brand, price] = fields(number);
        let mut document = document(&title.id, &title.title, &brand);
        document.fields.insert("price".to_owned(), price);
        updater.put(&document).unwrap();
    }
    updater.commit().unwrap();
    let whole = Index::open(&whole).unwrap();
    let by_teacher = std::cell::Cell::new(0);
    let same = |index: &Index| {
        assert_eq!(index.fusion(), &fusion);
        for query in QUERIES {
            let [one, other] = [&whole, index].map(|index| search(index, query, Mode::Fused, 40).hits);
            by_teacher.set(by_teacher.get() + u32::from(one.iter().any(|hit| adds(hit, Part::Teacher).is_some())));
            assert_eq!(one, other, "{query}");
        }
        index.check().unwrap();
        assert!(by_teacher.take() > 2);
    };
    let index = before.reopened().unwrap().unwrap();
    assert_eq!(index.facts().segments, 2);
    same(&index);
    compact(&halves).unwrap();
    let index = index.reopened().unwrap().unwrap();
    same(&index);

    let query = "anchors of nylon";
    let first = search(&index, query, Mode::Fused, 1).hits.remove(0);
    let filter = vec![format!("brand={}", first.fields["brand"]).parse().unwrap()];
    let hits = index.search(&Request::new(query, Mode::Fused).with_k(1000).with_filters(filter)).unwrap().hits;
    assert!(hits.iter().any(|hit| adds(hit, Part::Teacher).is_some()));
    assert!(hits.iter().all(|hit| hit.fields["brand"] == first.fields["brand"]));
    let mut updater = Updater::open(&halves).unwrap();
    updater.delete(&first.id);
    updater.commit().unwrap();
    let hits = search(&index.reopened().unwrap().unwrap(), query, Mode::Fused, 1000).hits;
    assert!(hits.len() > 10 && hits.iter().all(|hit| hit.id != first.id));
}

#[test]
fn a_weight_of_0_leaves_it_out() {
    let world = World::new();
    let path = world.folder.path().join("four");
    build(&path, &world.model, &world.titles, &fused(&world, FusionMethod::Linear));
    let index = Index::open(&path).unwrap();
    assert!(index.finds_own(Part::Teacher, "anchors") && !index.finds_own(Part::Teacher, "?"));
    let folder = tempfile::tempdir().unwrap();
    let none = [("bm25", 0.5), ("vectors:ridge=0.3", 0.0), ("model", 0.5)];
    let none = Fusion::read(&save(folder.path(), FusionMethod::Linear, &none), world.model.fingerprint()).unwrap();
    assert_eq!(none.teacher, None);
    build(&path, &world.model, &world.titles, &none);
    assert!(!std::fs::read_to_string(path.join("manifest.json")).unwrap().contains("teacher"));
    assert_eq!(Index::open(&path).unwrap().facts().parts.get(Part::Teacher), None);
    // Two indexes with the same weights and another teacher have different fusions.
    let other = [("bm25", 0.2), ("trigram", 0.1), ("model", 0.3), ("vectors:ridge=3", 0.4)];
    let other = Fusion::read(&save(folder.path(), FusionMethod::Linear, &other), world.model.fingerprint()).unwrap();
    assert_ne!(other, fused(&world, FusionMethod::Linear));
}

#[test]
fn a_damaged_or_missing_teacher_is_told() {
    let world = World::new();
    let path = world.folder.path().join("four");
    build(&path, &world.model, &world.titles, &fused(&world, FusionMethod::Linear));
    let file = path.join("teacher.safetensors");
    let bytes = std::fs::read(&file).unwrap();
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for content in [&damaged[..], &bytes[..bytes.len() / 2], b""] {
        std::fs::write(&file, content).unwrap();
        let error = Index::open(&path).and_then(|index| index.check()).unwrap_err().to_string();
        assert!(error.contains("teacher.safetensors"), "{error}");
    }
    std::fs::remove_file(&file).unwrap();
    let error = Index::open(&path).map(drop).unwrap_err().to_string();
    assert!(error.contains("teacher.safetensors"), "{error}");
    std::fs::write(&file, &bytes).unwrap();
    Index::open(&path).unwrap().check().unwrap();
    // One model, and one of each other part.
    let folder = tempfile::tempdir().unwrap();
    let members = [("vectors:ridge=1", 0.5), ("vectors:ridge=2", 0.1), ("model", 0.4)];
    let error = Fusion::read(&save(folder.path(), FusionMethod::MinMax, &members), world.model.fingerprint());
    assert!(error.unwrap_err().to_string().contains("found one with a second vectors"));
}

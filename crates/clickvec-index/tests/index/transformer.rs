//! Fusions with a transformer, which is in the index and encodes queries.

use std::fs;
use std::path::Path;

use clickvec::model::Side;
use clickvec_index::{Fusion, Index, Mode, Part, PartFacts, Request, Teacher, Updater, compact, join};
use clickvec_transformer::Transformer;

use crate::tiny;
use crate::world::{QUERIES, World, adds, build, document, fields, found, search};

/// The default fusion with a tiny transformer.
fn fusion(folder: &Path) -> Fusion {
    let folder = folder.join("transformer");
    tiny::write(&folder);
    Fusion::default().with_teacher(Teacher::load(&folder).unwrap())
}

#[test]
fn queries_are_encoded_by_the_transformer_in_the_index() {
    let world = World::new();
    let path = world.folder.path().join("taught");
    let fusion = fusion(world.folder.path());
    build(&path, &world.model, &world.titles, &fusion);
    let original = world.folder.path().join("transformer");
    let transformer = Transformer::load(&original).unwrap();
    fs::remove_dir_all(&original).unwrap();
    let index = Index::open(&path).unwrap();
    assert_eq!((index.fusion(), index.fusion().weight(Part::Teacher)), (&fusion, 0.3));
    let Some(PartFacts::Teacher(facts)) = index.facts().parts.get(Part::Teacher) else { panic!() };
    assert!(facts.dimension == tiny::HIDDEN && facts.bytes > 10_000 && index.check().unwrap().queries > 0);
    for query in QUERIES {
        let vector = transformer.encode_until(Side::Query, query, None).unwrap();
        let hits = search(&index, query, Mode::Fused, 10).hits;
        for hit in &hits {
            let title = transformer.encode(Side::Title, &[&hit.title]);
            let cosine: f32 = vector.iter().zip(&title).map(|(x, y)| x * y).sum();
            // The titles' vectors are rounded to 8 bits a number.
            let found = adds(hit, Part::Teacher).unwrap() / 0.3;
            assert!((found - cosine).abs() < 0.02, "{query}, {}: {found} and {cosine}", hit.title);
            let explained = *index.explain(query, &hit.id).unwrap().scores.get(Part::Teacher).unwrap();
            assert!((found - explained).abs() < 1e-5, "{query}, {}: {found} and {explained}", hit.title);
        }
        let alone = search(&index, query, Part::Teacher, 3).hits;
        assert!(alone.windows(2).all(|pair| pair[0].score >= pair[1].score) && alone.len() == 3, "{query}");
        assert_eq!(search(&index, query, Mode::Fused, 10).hits, hits, "a second time, {query}");
    }
    assert!(search(&index, " ", Part::Teacher, 3).hits.is_empty());
    // With time enough, a deadline changes nothing.
    let late = std::time::Instant::now() + std::time::Duration::from_secs(600);
    let request = Request::new("oak desk", Part::Teacher).with_deadline(late);
    assert_eq!(index.search(&request).unwrap().hits, search(&index, "oak desk", Part::Teacher, 10).hits);
}

#[test]
fn updates_compaction_and_joining_give_what_one_index_has() {
    let world = World::new();
    let fusion = fusion(world.folder.path());
    let [whole, halves, first, second, joined] =
        ["whole", "halves", "first", "second", "joined"].map(|name| world.folder.path().join(name));
    let fingerprint = build(&whole, &world.model, &world.titles, &fusion);
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
    let same = |index: &Index| {
        assert_eq!(index.fusion(), &fusion);
        for query in QUERIES {
            let [one, other] = [&whole, index].map(|index| found(&search(index, query, Mode::Fused, 40)));
            assert!(one == other, "{query}");
        }
        index.check().unwrap();
    };
    let index = before.reopened().unwrap().unwrap();
    assert_eq!(index.facts().segments, 2);
    same(&index);
    assert_eq!(compact(&halves).unwrap().fingerprint, fingerprint);
    same(&index.reopened().unwrap().unwrap());
    build(&first, &world.model, &world.titles[..half], &fusion);
    build(&second, &world.model, &world.titles[half..], &fusion);
    join(&[first.clone(), second], &joined, Ok, None).unwrap();
    same(&Index::open(&joined).unwrap());
    // One without the teacher does not join.
    let error = join(&[first, world.path.clone()], &joined, Ok, None).unwrap_err();
    assert!(error.to_string().contains("join indexes with one fusion"), "{error}");
}

#[test]
fn a_damaged_or_missing_transformer_is_told() {
    let world = World::new();
    let path = world.folder.path().join("taught");
    build(&path, &world.model, &world.titles, &fusion(world.folder.path()));
    for name in ["teacher/model.safetensors", "teacher/config.json", "teacher.json", "teacher-codes.bin"] {
        let file = path.join(name);
        let bytes = fs::read(&file).unwrap();
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 1;
        for content in [&damaged[..], &bytes[..bytes.len() / 2], b""] {
            fs::write(&file, content).unwrap();
            let error = Index::open(&path).and_then(|index| index.check()).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
        fs::remove_file(&file).unwrap();
        let error = Index::open(&path).map(drop).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
        fs::write(&file, &bytes).unwrap();
        Index::open(&path).unwrap().check().unwrap();
    }
    // Files that are sound each for itself, but of another transformer than the index opened.
    let index = Index::open(&path).unwrap();
    let config = path.join("teacher/config.json");
    fs::write(&config, fs::read_to_string(&config).unwrap() + " ").unwrap();
    // Words do not need it.
    index.prepare(Part::Words.into()).unwrap();
    let error = index.prepare(Mode::Fused).unwrap_err().to_string();
    assert!(error.contains("was the index replaced meanwhile"), "{error}");
}

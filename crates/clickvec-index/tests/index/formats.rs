//! Vectors that are rounded before they are kept.

use clickvec_index::IndexBuilder;
use clickvec_index::{Fusion, Index, Part, PartFacts, Updater, VectorFormat, compact, finish, join};

use crate::world::{QUERIES, World, document, search, weights};

/// An index of all titles of the shop, with its vectors in a format.
fn build(world: &World, format: VectorFormat) -> Index {
    let path = world.folder.path().join(format.to_string());
    let mut builder = IndexBuilder::with_fields(&world.model, &path, &crate::world::field_names()).unwrap();
    for (number, title) in world.titles.iter().enumerate() {
        builder.add_with_fields(title.clone(), &crate::world::fields(number)).unwrap();
    }
    finish(builder, &world.model, &Fusion::default(), format).unwrap();
    Index::open(&path).unwrap()
}

fn bytes_of(index: &Index) -> u64 {
    match index.facts().parts.get(Part::Vectors) {
        Some(PartFacts::Vectors(facts)) => facts.bytes,
        other => panic!("{other:?}"),
    }
}

type Hits = Vec<(String, f32)>;

/// The ids and scores of a search by vectors.
fn hits(index: &Index, query: &str) -> Hits {
    search(index, query, Part::Vectors, 10).hits.into_iter().map(|hit| (hit.id, hit.score)).collect()
}

#[test]
fn rounded_vectors_take_less_and_find_nearly_the_same() {
    let world = World::new();
    let [exact, halves, codes] = VectorFormat::ALL.map(|format| build(&world, format));
    let bytes = [&exact, &halves, &codes].map(bytes_of);
    assert!(bytes[1] < bytes[0] && bytes[2] < bytes[1], "{bytes:?}");
    for (index, tolerance) in [(&halves, 1e-3), (&codes, 1e-2)] {
        let format = index.vector_format();
        assert!(index.check().unwrap().queries > 0, "{format}");
        for query in QUERIES {
            let (found, expected) = (hits(index, query), hits(&exact, query));
            assert_eq!(found.len(), expected.len(), "{format} {query}");
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found.1 - expected.1).abs() < tolerance, "{format} {query}: {found:?} {expected:?}");
            }
        }
    }
}

/// Whether the title `new` is found by its vector.
fn has_new(index: &Index) -> bool {
    search(index, "drywall of wool", Part::Vectors, 1000).hits.iter().any(|hit| hit.id == "new")
}

#[test]
fn a_format_survives_updates_compaction_and_joins() {
    let world = World::new();
    for format in [VectorFormat::F16, VectorFormat::Int8] {
        let before = build(&world, format);
        let expected = hits(&before, "nylon drywall anchor");
        let mut updater = Updater::open(before.path()).unwrap();
        updater.put(&document("new", "drywall of wool", "brand 9")).unwrap();
        updater.commit().unwrap();
        let updated = before.reopened().unwrap().unwrap();
        updated.check().unwrap();
        assert!(has_new(&updated), "{format}");
        compact(before.path()).unwrap();
        let compacted = updated.reopened().unwrap().unwrap();
        compacted.check().unwrap();
        assert_eq!((compacted.vector_format(), compacted.facts().segments), (format, 1));
        assert!(has_new(&compacted), "{format}");
        // What was rounded once is not rounded again.
        for (found, expected) in hits(&compacted, "nylon drywall anchor").iter().zip(&expected) {
            assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-6, "{format}: {found:?} {expected:?}");
        }
        let joined = world.folder.path().join(format!("joined-{format}"));
        let indexes = [before.path().to_owned()];
        for given in [None, Some(VectorFormat::F32)] {
            let _ = std::fs::remove_dir_all(&joined);
            join(&indexes, &joined, Ok, given).unwrap();
            let joined = Index::open(&joined).unwrap();
            assert!(has_new(&joined), "{format}");
            assert_eq!(joined.vector_format(), given.unwrap_or(format));
        }
    }
}

/// The bytes of the vectors of an index, and the ids and scores of searches by them.
fn kept(index: &Index) -> (Vec<Vec<u8>>, Vec<Hits>) {
    let files = ["vectors.npy", "codes.bin"].map(|name| index.path().join(name));
    let bytes = files.iter().filter(|path| path.exists()).map(|path| std::fs::read(path).unwrap()).collect();
    (bytes, QUERIES.map(|query| hits(index, query)).into())
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn what_was_rounded_is_not_rounded_again() {
    let world = World::new();
    for format in VectorFormat::ALL {
        let built = build(&world, format);
        let expected = kept(&built);
        let mut before = built.facts().fingerprint.clone();
        for _ in 0..2 {
            // Something to clear away; what stays has the same bytes.
            let mut updater = Updater::open(built.path()).unwrap();
            updater.put(&document("new", "drywall of wool", "brand 9")).unwrap();
            updater.commit().unwrap();
            let mut updater = Updater::open(built.path()).unwrap();
            updater.delete("new");
            updater.commit().unwrap();
            compact(built.path()).unwrap();
            let now = Index::open(built.path()).unwrap();
            assert!(kept(&now) == expected, "{format}");
            assert_eq!(now.facts().fingerprint, before, "{format}");
            before = now.facts().fingerprint.clone();
        }
        let joined = world.folder.path().join(format!("again-{format}"));
        join(&[built.path().to_owned()], &joined, Ok, None).unwrap();
        assert!(kept(&Index::open(&joined).unwrap()) == expected, "{format}");
    }
}

#[test]
fn indexes_that_are_joined_keep_what_they_agree_on() {
    let world = World::new();
    let model = &world.model;
    let half = world.titles.len() / 2;
    let fitted = Fusion { weights: weights(0.8, 0.2), custom: true, ..Fusion::default() };
    let path = |name: &str| world.folder.path().join(name);
    let make = |name: &str, second: bool, fusion: &Fusion, format: VectorFormat| {
        let mut builder = IndexBuilder::new(model, &path(name)).unwrap();
        let titles = if second { &world.titles[half..] } else { &world.titles[..half] };
        titles.iter().for_each(|title| builder.add(title.clone()).unwrap());
        finish(builder, model, fusion, format).unwrap();
        path(name)
    };
    let first = make("first", false, &fitted, VectorFormat::F16);
    let same = make("same", true, &fitted, VectorFormat::F16);
    let rounder = make("rounder", true, &fitted, VectorFormat::Int8);
    let unfitted = make("unfitted", true, &Fusion::default(), VectorFormat::F16);
    let joined = path("joined");
    join(&[first.clone(), same.clone()], &joined, Ok, None).unwrap();
    let index = Index::open(&joined).unwrap();
    assert_eq!((index.fusion(), index.vector_format()), (&fitted, VectorFormat::F16));
    let fault = |indexes: &[&std::path::PathBuf], chosen: Option<&Fusion>, format: Option<VectorFormat>| {
        let indexes: Vec<_> = indexes.iter().map(|&path| path.clone()).collect();
        let before = index.facts().fingerprint.clone();
        let error = join(&indexes, &joined, |own| Ok(chosen.cloned().unwrap_or(own)), format).unwrap_err().to_string();
        assert_eq!(Index::open(&joined).unwrap().facts().fingerprint, before);
        error
    };
    let error = fault(&[&first, &rounder], None, None);
    assert!(error.contains("rounder: expected vectors as f16") && error.contains("found int8"), "{error}");
    let error = fault(&[&first, &unfitted], None, None);
    assert!(error.contains("unfitted: expected the fusion of") && error.contains("first"), "{error}");
    // What is given need not agree.
    fault(&[&first, &rounder], Some(&fitted), None);
    fault(&[&first, &unfitted], None, Some(VectorFormat::F16));
    join(&[first.clone(), rounder], &joined, Ok, Some(VectorFormat::Int8)).unwrap();
    assert_eq!(Index::open(&joined).unwrap().vector_format(), VectorFormat::Int8);
    let given = Fusion { weights: weights(0.4, 0.6), custom: true, ..Fusion::default() };
    join(&[first, unfitted], &joined, |_| Ok(given.clone()), None).unwrap();
    assert_eq!(Index::open(&joined).unwrap().fusion(), &given);
}

#[test]
fn a_damaged_byte_is_found() {
    let world = World::new();
    for (format, file) in [(VectorFormat::F16, "vectors.npy"), (VectorFormat::Int8, "codes.bin")] {
        let index = build(&world, format);
        let path = index.path().join(file);
        assert_eq!(index.path().join("vectors.npy").exists(), format == VectorFormat::F16);
        let whole = std::fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        // Not in place: the old one is mapped.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let told = |error: String| assert!(error.contains(file), "{format}: {error}");
        told(Index::open(index.path()).unwrap().check().unwrap_err().to_string());
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        told(Index::open(index.path()).map(|_| ()).unwrap_err().to_string());
    }
}

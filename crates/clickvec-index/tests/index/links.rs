//! Indexes that link to others.

use std::fs;
use std::path::PathBuf;

use clickvec::model::Model;
use clickvec_index::{Answer, Error, ErrorKind, Fusion, Index, Part, Request, Updater, compact, join, link, verify};

use crate::world::{MODES, QUERIES, World, all_titles, build, document, found, search, testdata};

/// The titles of the shop in three indexes, in one that links to them, and in one that joins them.
struct Linked {
    world: World,
    parts: Vec<PathBuf>,
    path: PathBuf,
    joined: PathBuf,
}

impl Linked {
    fn new() -> Linked {
        let world = World::new();
        let folder = &world.folder.path().canonicalize().unwrap();
        let part = |(number, titles): (usize, &[clickvec::tables::Title])| {
            let path = folder.join(format!("part{number}"));
            build(&path, &world.model, titles, &Fusion::default());
            path
        };
        let third = world.titles.len() / 3;
        let parts: Vec<PathBuf> = world.titles.chunks(third).enumerate().map(part).collect();
        let (path, joined) = (folder.join("linked"), folder.join("joined"));
        link(&parts, &path).unwrap();
        join(&parts, &joined, Ok, None).unwrap();
        Linked { parts, path, joined, world }
    }

    fn open(&self) -> Index {
        Index::open(&self.path).unwrap()
    }
}

#[test]
fn they_answer_like_one_with_all_titles() {
    let linked = Linked::new();
    let (index, joined) = (linked.open(), Index::open(&linked.joined).unwrap());
    assert_eq!((index.links(), joined.links().len()), (&linked.parts[..], 0));
    assert_eq!(index.facts().titles, joined.facts().titles);
    assert_eq!(all_titles(&index), all_titles(&joined));
    for query in QUERIES.into_iter().chain(["lether sofa", "nylon anchor 8"]) {
        for mode in MODES {
            let [here, there] = [&index, &joined].map(|index| index.search(&Request::new(query, mode)).unwrap());
            assert_eq!(found(&here), found(&there), "{query} by {mode}");
            let rest = |answer: &Answer| {
                let confidences: Vec<Option<u32>> =
                    answer.hits.iter().map(|hit| hit.confidence.map(f32::to_bits)).collect();
                (confidences, answer.weak, answer.unlikely, answer.query.corrected.clone())
            };
            assert_eq!(rest(&here), rest(&there), "{query} by {mode}");
        }
    }
    assert_eq!(index.get("p1").unwrap(), joined.get("p1").unwrap());
    let again = linked.world.folder.path().join("again");
    join(std::slice::from_ref(&linked.path), &again, Ok, None).unwrap();
    assert_eq!(fs::read(again.join("manifest.json")).unwrap(), fs::read(linked.joined.join("manifest.json")).unwrap());
}

#[test]
fn they_find_what_changes_in_the_others() {
    let linked = Linked::new();
    let before = linked.open();
    assert!(before.reopened().unwrap().is_none());
    let mut update = Updater::open(&linked.parts[1]).unwrap();
    update.put(&document("later", "a purple submarine", "acme")).unwrap();
    update.commit().unwrap();
    let after = before.reopened().unwrap().expect("another generation");
    assert_eq!(search(&after, "purple submarine", Part::Words, 1).hits[0].id, "later");
    assert_eq!(after.facts().titles, before.facts().titles + 1);
    assert_ne!(after.facts().fingerprint, before.facts().fingerprint);
    assert!(after.check_after(Some(&before)).unwrap().bytes < after.check().unwrap().bytes);
    // They have no titles to change.
    for error in [Updater::open(&linked.path).err().unwrap(), compact(&linked.path).unwrap_err()] {
        let found = error.to_string();
        assert!(found.contains("expected an index with titles of its own, found one that links to others"), "{found}");
    }
}

#[test]
fn links_that_lead_nowhere_or_do_not_fit() {
    let linked = Linked::new();
    let folder = &linked.world.folder.path().canonicalize().unwrap();
    let refused = |result: clickvec_index::Result<Index>, kind: ErrorKind, expected: &str| {
        let error = result.map(drop).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(expected), "{error}");
    };
    let link_to = |parts: &[&PathBuf], name: &str| {
        let path = folder.join(name);
        let parts: Vec<PathBuf> = parts.iter().map(|&part| part.clone()).collect();
        link(&parts, &path).and_then(|_| Index::open(&path))
    };
    let [first, second] = [&linked.parts[0], &linked.parts[1]];
    refused(link_to(&[first, first], "twice"), ErrorKind::Mismatch, "expected ids that no other index to join has");
    refused(link_to(&[first, &linked.path], "nested"), ErrorKind::Setting, "found one that links to others");
    for inside in ["part1", "part1/inside"] {
        refused(
            link_to(&[first, second], inside),
            ErrorKind::Setting,
            "expected an output outside the indexes to link to",
        );
    }
    assert_eq!(Index::open(second).unwrap().links().len(), 0, "it is as it was");
    let mut other = Fusion::default();
    other.bm25.k1 += 1.0;
    let third = folder.join("third");
    build(&third, &linked.world.model, &linked.world.titles[..9], &other);
    refused(link_to(&[first, &third], "unlike"), ErrorKind::Mismatch, "third");
    // A part is made anew in another way, damaged, or goes.
    build(second, &linked.world.model, &linked.world.titles[..9], &other);
    refused(Index::open(&linked.path), ErrorKind::Mismatch, "part1");
    build(second, &linked.world.model, &linked.world.titles[..9], &Fusion::default());
    linked.open();
    let file = second.join("titles.tsv");
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, &bytes).unwrap();
    assert_eq!(linked.open().check().unwrap_err().path(), Some(&*file));
    let damaged = verify(&linked.path).unwrap().damaged;
    assert_eq!(damaged.iter().map(Error::path).collect::<Vec<_>>(), [Some(&*file)]);
    fs::remove_dir_all(second).unwrap();
    let gone = format!("`{}` links to it; link the indexes anew", linked.path.display());
    refused(Index::open(&linked.path), ErrorKind::Io, &gone);
    assert_eq!(verify(&linked.path).unwrap().damaged[0].path(), Some(&**second));
    link_to(&[first], "linked").unwrap();
    let file = linked.path.join("links.json");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("part0", "part2")).unwrap();
    assert_eq!(verify(&linked.path).unwrap().damaged[0].path(), Some(&*file));
}

#[test]
fn an_id_that_a_second_index_gets_is_a_fault() {
    let linked = Linked::new();
    let mut update = Updater::open(&linked.parts[1]).unwrap();
    update.put(&document(&linked.world.titles[0].id, "a purple submarine", "acme")).unwrap();
    update.commit().unwrap();
    let found = verify(&linked.path).unwrap().damaged[0].to_string();
    assert!(found.contains("expected ids that no other index to join has"), "{found}");
}

#[test]
fn another_model_in_a_part_is_told() {
    let linked = Linked::new();
    let other = Model::load(&testdata("frozen/format-1/gru.safetensors")).unwrap();
    for part in &linked.parts[..2] {
        build(part, &other, &linked.world.titles[..9], &Fusion::default());
        let error = Index::open(&linked.path).map(drop).unwrap_err();
        let found = (error.path(), error.to_string());
        assert!(found.0 == Some(&**part) && found.1.contains("links to, found the model"), "{found:?}");
        build(part, &linked.world.model, &linked.world.titles[..9], &Fusion::default());
    }
}

#[test]
fn a_folder_with_all_of_them_can_be_moved() {
    let linked = Linked::new();
    let all = linked.world.folder.path();
    let moved = all.join("moved");
    fs::create_dir(&moved).unwrap();
    for path in linked.parts.iter().chain([&linked.path]) {
        fs::rename(path, moved.join(path.file_name().unwrap())).unwrap();
    }
    assert_eq!(Index::open(&moved.join("linked")).unwrap().facts().titles, linked.world.titles.len() as u64);
}

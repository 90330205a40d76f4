//! Titles added, replaced and deleted.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use clickvec_index::{
    Analysis, Bm25, Condition, ErrorKind, Filter, Fusion, Index, Mode, Part, Request, Updater, compact,
};

use crate::world::{MODES, QUERIES, World, build, document, found, search};

#[test]
fn changes_are_found_at_once_and_survive_compaction() {
    let world = World::new();
    let before = world.open();
    let count = before.facts().titles;
    let gone = search(&before, "nylon anchor with kit", Mode::Fused, 2).hits;
    let mut updater = Updater::open(&world.path).unwrap();
    updater.put(&document("new", "nylon drywall anchor with a zeppelin", "brand 9")).unwrap();
    updater.put(&document(&gone[1].id, "drywall anchor of nylon", "brand 9")).unwrap();
    updater.delete(&gone[0].id);
    updater.delete("none");
    // Nothing is seen yet.
    assert!(before.reopened().unwrap().is_none());
    let updated = updater.commit().unwrap();
    let figures = (updated.added, updated.replaced, updated.deleted, updated.missing, updated.without_vector);
    assert_eq!((figures, updated.titles, updated.segments), ((1, 1, 1, 1, 0), count, 2));
    let after = before.reopened().unwrap().unwrap();
    assert_eq!((&after.facts().fingerprint, after.facts().titles), (&updated.fingerprint, count));
    // The old one goes on as it was.
    assert_eq!(search(&before, "nylon anchor with kit", Mode::Fused, 2).hits, gone);
    let check = |index: &Index| {
        assert_eq!(search(index, "nylon drywall anchor zeppelin", Part::Words, 1).hits[0].id, "new");
        for mode in MODES {
            let hits = search(index, "nylon drywall anchor zeppelin", mode, 100_000).hits;
            assert!(hits.iter().any(|hit| hit.id == "new"), "{mode}");
            assert!(hits.iter().all(|hit| hit.id != gone[0].id), "{mode}");
            // The replaced title is there once, with its new text.
            let all = search(index, "drywall anchor of nylon", mode, 100_000).hits;
            let replaced: Vec<_> = all.iter().filter(|hit| hit.id == gone[1].id).collect();
            assert_eq!((replaced.len(), replaced[0].title.as_str()), (1, "drywall anchor of nylon"), "{mode}");
        }
        assert_eq!(index.get(&gone[0].id).unwrap(), None);
        let all: Vec<String> = index.sample(100_000).unwrap().into_iter().map(|title| title.id).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len() as u64, count);
        assert!(all.contains(&"new".to_owned()) && !all.contains(&gone[0].id));
        let some: Vec<String> = index.sample(3).unwrap().into_iter().map(|title| title.id).collect();
        assert_eq!((some.len(), &some[0]), (3, &all[0]));
        assert!(index.sample(0).unwrap().is_empty());
        assert_eq!(index.get("new").unwrap().unwrap().fields["brand"], "brand 9");
        let filter = Filter { field: "brand".to_owned(), condition: Condition::Is("brand 9".to_owned()) };
        let request = Request::new("nylon", Part::Vectors).with_filters(vec![filter]);
        assert_eq!(index.search(&request).unwrap().total, 2);
    };
    check(&after);
    check(&world.open());
    let [new, all] = [Some(&before), None].map(|before| after.check_after(before).unwrap());
    assert!(new.files > 10 && new.files < all.files && new.bytes < all.bytes, "{new:?} {all:?}");
    assert!(new.queries == 0 && all.queries > 0);
    let compacted = compact(&world.path).unwrap();
    assert_eq!((compacted.titles, compacted.cleared, compacted.segments), (count, 2, 2));
    let compacted = world.open();
    check(&compacted);
    compacted.check().unwrap();
    // The files of the old generation are no longer there to be read.
    assert!(after.check().is_err());
    assert_eq!((compacted.facts().segments, compacted.facts().deleted), (1, 0));
    for query in QUERIES {
        let [one, other] = [&after, &compacted].map(|index| found(&search(index, query, Part::Vectors, 30)));
        assert_eq!(one, other, "{query}");
    }
    // The old generations still answer.
    check(&after);
}

/// What is new is read even if the rest was read before.
#[test]
fn a_damaged_update_is_refused_after_a_good_index() {
    let world = World::new();
    let before = world.open();
    before.check().unwrap();
    let mut updater = Updater::open(&world.path).unwrap();
    updater.put(&document("new", "nylon drywall anchor", "")).unwrap();
    updater.commit().unwrap();
    let path = world.path.join("changes-000001").join("vectors.npy");
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let after = before.reopened().unwrap().unwrap();
    assert!(after.check_after(Some(&before)).unwrap_err().to_string().contains("vectors.npy"));
}

#[test]
fn the_last_of_several_changes_to_a_title_counts() {
    let world = World::new();
    let mut updater = Updater::open(&world.path).unwrap();
    for title in ["drywall one", "drywall two", "drywall three"] {
        updater.put(&document("a", title, "")).unwrap();
    }
    updater.put(&document("b", "drywall", "")).unwrap();
    updater.delete("b");
    updater.delete("c");
    updater.put(&document("c", "drywall", "")).unwrap();
    updater.put(&document("d", "drywall", "")).unwrap();
    updater.put(&document("d", "???", "")).unwrap();
    updater.commit().unwrap();
    // A second update, which replaces what the first one added.
    let mut updater = Updater::open(&world.path).unwrap();
    updater.put(&document("c", "drywall four", "")).unwrap();
    let updated = updater.commit().unwrap();
    assert_eq!((updated.segments, updated.replaced), (3, 1));
    let index = world.open();
    let title = |id: &str| index.get(id).unwrap().map(|document| document.title);
    assert_eq!(
        [title("a"), title("b"), title("c"), title("d")],
        [Some("drywall three".to_owned()), None, Some("drywall four".to_owned()), Some("???".to_owned())]
    );
    for mode in MODES {
        let hits = search(&index, "drywall", mode, 100_000).hits;
        let of = |id: &str| hits.iter().filter(|hit| hit.id == id).count();
        assert_eq!([of("a"), of("b"), of("c"), of("d")], [1, 0, 1, 0], "{mode}");
    }
}

/// Statistics are those of all segments, so that it does not matter how titles came in.
#[test]
fn a_segment_scores_as_if_it_had_all_titles() {
    let world = World::new();
    let half = world.titles.len() / 2;
    let path = world.folder.path().join("halves");
    let (analysis, bm25) = (Analysis::USUAL, Bm25::new(0.5, 0.4).unwrap());
    let fusion = Fusion { analysis, bm25, ..Fusion::default() };
    build(&world.path, &world.model, &world.titles, &fusion);
    build(&path, &world.model, &world.titles[..half], &fusion);
    let mut updater = Updater::open(&path).unwrap();
    for (number, title) in world.titles.iter().enumerate().skip(half) {
        let [brand, price] = crate::world::fields(number);
        let mut document = document(&title.id, &title.title, &brand);
        document.fields.insert("price".to_owned(), price);
        updater.put(&document).unwrap();
    }
    updater.commit().unwrap();
    let (whole, halves) = (world.open(), Index::open(&path).unwrap());
    for query in QUERIES {
        for mode in MODES {
            let [one, other] = [&whole, &halves].map(|index| search(index, query, mode, 40).hits);
            assert_eq!(one, other, "{query} {mode}");
        }
    }
}

#[test]
fn only_one_changes_an_index_at_a_time() {
    let world = World::new();
    let updater = Updater::open(&world.path).unwrap();
    let in_use = |result: clickvec_index::Result<()>| result.is_err_and(|error| error.kind() == ErrorKind::Busy);
    assert!(in_use(Updater::open(&world.path).map(drop)));
    assert!(in_use(compact(&world.path).map(drop)));
    drop(updater);
    let mut updater = Updater::open(&world.path).unwrap();
    let error = updater.put(&clickvec_index::Document {
        fields: [("colour".to_owned(), String::new())].into_iter().collect(),
        ..document("a", "b", "")
    });
    assert!(error.unwrap_err().to_string().contains("`colour`"));
    // Titles are written some thousand at a time, so that the error comes with the end of the update.
    updater.put(&document("a\tb", "drywall", "")).unwrap();
    let error = updater.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
    assert!(world.open().check().is_ok());
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn searches_go_on_during_updates_and_compaction() {
    let world = World::new();
    let current = RwLock::new(Arc::new(world.open()));
    let done = AtomicBool::new(false);
    /// Ends the searches, also if the updates fail.
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let index = Arc::clone(&current.read().unwrap());
                    let hits = search(&index, "nylon anchor with kit", Mode::Fused, 10).hits;
                    assert_eq!(hits.len(), 10);
                    // What was added once is never lost again.
                    let added = index.get("counter").unwrap().map_or(0, |found| found.title[8..].parse().unwrap());
                    assert!(added >= last, "{added} after {last}");
                    last = added;
                }
            });
        }
        let _end = End(&done);
        for round in 1..=12 {
            let mut updater = Updater::open(&world.path).unwrap();
            updater.put(&document("counter", &format!("drywall {round}"), "")).unwrap();
            updater.commit().unwrap();
            if round % 4 == 0 {
                compact(&world.path).unwrap();
            }
            let next = current.read().unwrap().reopened().unwrap().unwrap();
            *current.write().unwrap() = Arc::new(next);
        }
    });
    assert_eq!(world.open().get("counter").unwrap().unwrap().title, "drywall 12");
}

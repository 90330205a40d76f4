//! Folders that are damaged or only half there.

use std::fs;
use std::path::{Path, PathBuf};

use clickvec::model::Model;
use clickvec_index::{Analysis, Bm25, ErrorKind, Fusion, Index, Request, Updater};

use crate::world::{MODES, World, build, document, testdata};

/// All files of an index, by their names in it.
fn files(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(path.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = folder.join(entry.file_name());
            if entry.path().is_dir() { folders.push(name) } else { names.push(name.to_str().unwrap().to_owned()) }
        }
    }
    names.sort();
    names
}

/// Opens an index, checks it and asks it; whatever is wrong must be an error and never a panic.
fn look(path: &Path) -> Result<(), String> {
    let index = Index::open(path).map_err(|error| error.to_string())?;
    let told = |error: clickvec_index::Error| error.to_string();
    // The answers may be wrong until a check.
    for mode in MODES {
        let _ = index.search(&Request::new("nylon anchor", mode));
    }
    index.check().map(drop).map_err(told)
}

#[test]
fn a_changed_byte_in_any_file_is_refused_by_name() {
    let world = World::new();
    let fusion = crate::trigrams::fused(clickvec_index::FusionMethod::MinMax);
    build(&world.path, &world.model, &world.titles, &fusion);
    let mut updater = Updater::open(&world.path).unwrap();
    updater.put(&document("new", "nylon drywall anchor of brass", "")).unwrap();
    updater.delete(&world.titles[3].id);
    updater.commit().unwrap();
    look(&world.path).unwrap();
    let names = files(&world.path);
    assert!(names.len() > 45, "{names:?}");
    for name in &names {
        let path = world.path.join(name);
        let good = fs::read(&path).unwrap();
        for place in [0, good.len() / 2, good.len().saturating_sub(2)] {
            let mut bad = good.clone();
            if let Some(byte) = bad.get_mut(place) {
                *byte ^= 0x15;
            }
            // Replaced and not written over, since a mapped file must not change.
            fs::remove_file(&path).unwrap();
            fs::write(&path, &bad).unwrap();
            let Err(error) = look(&world.path) else {
                assert!(good.is_empty(), "{name}: nothing was noticed at {place}");
                continue;
            };
            let short = Path::new(name).file_name().unwrap().to_str().unwrap();
            assert!(error.contains(short) || name.ends_with("manifest.json"), "{name}: {error}");
        }
        for bad in [&good[..good.len() / 2], &[]] {
            fs::remove_file(&path).unwrap();
            fs::write(&path, bad).unwrap();
            assert!(look(&world.path).is_err() || bad.len() == good.len(), "{name}: {} bytes", bad.len());
        }
        fs::remove_file(&path).unwrap();
        assert!(look(&world.path).is_err(), "{name}: removed");
        fs::write(&path, &good).unwrap();
    }
    look(&world.path).unwrap();
}

/// Replaces part of a file of an index by as many bytes and makes the manifest's checksums match, as a forger who knows
/// the form. Returns what is said when the index is opened.
fn forged(path: &Path, name: &str, old: &str, new: &str) -> String {
    let good = fs::read_to_string(path.join(name)).unwrap();
    let manifest = fs::read_to_string(path.join("manifest.json")).unwrap();
    assert!(good.contains(old) && old.len() == new.len(), "{good}");
    replace(&path.join(name), &good.replacen(old, new, 1));
    let mut told = manifest.clone();
    let message = loop {
        match Index::open(path).map(drop) {
            Err(error) if error.kind() == ErrorKind::Damaged => {
                // `the checksum X`, `the fingerprint X`
                let expected = error.what_was_expected().unwrap().rsplit(' ').next().unwrap();
                assert!(told.contains(expected), "{expected}");
                told = told.replace(expected, error.what_was_found().unwrap());
                replace(&path.join("manifest.json"), &told);
            }
            Err(error) => break error.to_string(),
            Ok(()) => break String::new(),
        }
    };
    replace(&path.join(name), &good);
    replace(&path.join("manifest.json"), &manifest);
    message
}

/// Replaces a file and does not write over it, since a mapped file must not change.
fn replace(path: &Path, text: &str) {
    fs::remove_file(path).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn changes_that_no_update_makes_are_refused() {
    let world = World::new();
    for (added, gone) in [("new", 11), ("newer", 12)] {
        let mut updater = Updater::open(&world.path).unwrap();
        updater.put(&document(added, "nylon drywall anchor of brass", "")).unwrap();
        updater.delete(&world.titles[gone].id);
        updater.commit().unwrap();
    }
    let (name, count) = ("changes-000002.json", world.titles.len());
    let changes = fs::read_to_string(world.path.join(name)).unwrap();
    assert!(changes.ends_with("\"deleted\":[[11,12],[],[]]}"), "{changes}");
    assert_eq!(forged(&world.path, name, "[11,12]", "[11,13]"), "", "as an update could have made it");
    let refused = |old: &str, new: &str, expected: &str| {
        let told = forged(&world.path, name, old, new);
        let message = format!("{name}: expected the changes of an index, found {expected}; rebuild the index");
        assert!(told.ends_with(&message), "{told}");
    };
    let titles = format!("of segment 0, which has {count}; positions begin at 0 and rise");
    for (deleted, position) in [("[12,11]", 11), ("[11,11]", 11)] {
        refused("[11,12]", deleted, &format!("{position} among the deleted titles {titles}"));
    }
    assert!(count < 9_999);
    refused("[11,12]", "[ 9999]", &format!("9999 among the deleted titles {titles}"));
    refused("changes-000002", "changes-000001", "the segment `changes-000001` twice");
}

#[test]
fn words_that_were_analysed_otherwise_are_refused() {
    let world = World::new();
    let fusion = Fusion { analysis: Analysis::USUAL, ..Fusion::default() };
    build(&world.path, &world.model, &world.titles, &fusion);
    let told = forged(&world.path, "fusion.json", "\"stem\": true", "\"stem\":false");
    assert!(told.contains("expected words analysed by `split`, as the fusion says, found `stem,split`"), "{told}");
    let fusion = Fusion { bm25: Bm25::new(0.5, 0.4).unwrap(), ..fusion };
    build(&world.path, &world.model, &world.titles, &fusion);
    let told = forged(&world.path, "fusion.json", "\"b\": 0.4", "\"b\": 1.4");
    assert!(told.contains("expected k1 of 0 or more and b from 0 to 1, found 0.5 and 1.4"), "{told}");
    let told = forged(&world.path, "words/meta.json", "clickvec-stem-split", "clickvec-stem-spilt");
    assert!(told.contains("expected a tokenizer of clickvec, found `clickvec-stem-spilt`"), "{told}");
}

#[test]
fn another_model_is_refused() {
    let world = World::new();
    let model = world.path.join("model.safetensors");
    let other = testdata("frozen/format-1/clsm.safetensors");
    fs::remove_file(&model).unwrap();
    fs::copy(&other, &model).unwrap();
    let error = look(&world.path).unwrap_err();
    assert!(error.contains("model"), "{error}");
    assert_ne!(Model::load(&other).unwrap().fingerprint(), world.model.fingerprint());
}

#[test]
fn what_a_killed_update_left_is_cleared_away_by_the_next() {
    let world = World::new();
    let before = world.open().facts().clone();
    for name in ["changes-000007", ".clickvec-changes-000007-abc.tmp"] {
        fs::create_dir(world.path.join(name)).unwrap();
        fs::write(world.path.join(name).join("titles.tsv"), "half").unwrap();
    }
    fs::write(world.path.join("changes-000007.json"), "{").unwrap();
    fs::write(world.path.join(".clickvec-manifest.json-abc.tmp"), "{").unwrap();
    assert_eq!(world.open().facts().fingerprint, before.fingerprint);
    let mut updater = Updater::open(&world.path).unwrap();
    updater.put(&document("new", "nylon drywall anchor", "")).unwrap();
    drop(updater);
    assert!(files(&world.path).iter().all(|name| !name.contains("changes-") && !name.contains(".tmp")));
    assert_eq!(world.open().facts().fingerprint, before.fingerprint);
    // An index in which something was left can be replaced.
    fs::create_dir(world.path.join("changes-000009")).unwrap();
    fs::write(world.path.join("changes-000009").join("titles.tsv"), "half").unwrap();
    crate::world::build(&world.path, &world.model, &world.titles[..50], &Default::default());
    assert!(world.open().facts().titles <= 50);
    assert!(!world.path.join("changes-000009").exists());
    // One with files of another program cannot.
    fs::write(world.path.join("words").join("mine"), "").unwrap();
    let builder = clickvec_index::IndexBuilder::new(&world.model, &world.path);
    assert!(builder.is_err_and(|error| error.kind() == ErrorKind::Occupied));
}

#[test]
fn names_that_lead_out_of_the_index_are_refused() {
    let world = World::new();
    let fusion = crate::trigrams::fused(clickvec_index::FusionMethod::MinMax);
    build(&world.path, &world.model, &world.titles, &fusion);
    let mut updater = Updater::open(&world.path).unwrap();
    updater.put(&document("new", "nylon drywall anchor", "")).unwrap();
    updater.commit().unwrap();
    let outside = world.folder.path().join("outside");
    fs::rename(world.path.join("changes-000001"), &outside).unwrap();
    let path = world.path.join("changes-000001.json");
    let changes = fs::read_to_string(&path).unwrap();
    fs::write(&path, changes.replace("changes-000001", "../outside")).unwrap();
    assert!(look(&world.path).is_err());
}

/// A service often runs as another user than the one who made the index.
#[cfg(unix)]
#[test]
fn who_may_read_one_file_may_read_all() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let fusion = crate::trigrams::fused(clickvec_index::FusionMethod::MinMax);
    build(&world.path, &world.model, &world.titles, &fusion);
    let mut updater = Updater::open(&world.path).unwrap();
    updater.put(&document("new", "nylon drywall anchor of brass", "")).unwrap();
    updater.commit().unwrap();
    let mode = |name: &str| fs::metadata(world.path.join(name)).unwrap().permissions().mode() & 0o777;
    for name in files(&world.path) {
        assert_eq!(mode(&name), mode("titles.tsv"), "{name}");
    }
}

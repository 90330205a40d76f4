//! Folders of an index: written and read back, damaged, and replaced while they are read.

use std::io::BufWriter;
use std::path::Path;

use super::*;

/// Writes an index with one file of each part, and one more of the second.
fn write(path: &Path, titles: &str) -> Result<String> {
    let mut writer = FolderWriter::new(path)?;
    for (name, text) in [("titles.tsv", titles), ("vectors.npy", "numbers"), ("more", "")] {
        writer.create(name)?.write_all(text.as_bytes()).map_err(|source| writer.failed(source))?;
        assert_eq!(writer.file(name).file_name().unwrap(), name);
    }
    writer.part("titles", "table", &["titles.tsv"]);
    writer.part("vectors", "f32", &["vectors.npy", "more"]);
    writer.finish(about(titles.len() as u64))
}

fn about(titles: u64) -> About {
    About { model: "m".to_owned(), titles, without_vector: 0, dimension: 4, field: "title".to_owned() }
}

/// Returns a folder to write to, and an index in it.
fn made() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    write(&path, "red shoes").unwrap();
    (folder, path)
}

/// Returns the kind of an error, with what was expected and found.
#[track_caller]
fn fault<T>(result: Result<T>) -> (ErrorKind, String, String) {
    let error = result.map(drop).unwrap_err();
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    (error.kind(), text(error.what_was_expected()), text(error.what_was_found()))
}

/// Puts a manifest with these parts in the place of the one that is there, with a fingerprint that fits.
fn forge(path: &Path, parts: &[(&str, &str)]) {
    let part =
        |&(name, kind): &(&str, &str)| (name.to_owned(), Files { kind: kind.to_owned(), files: BTreeMap::new() });
    let contents = Contents { version: "9".to_owned(), ..Contents::new(about(1), parts.iter().map(part).collect()) };
    std::fs::write(path.join(MANIFEST), serde_json::to_vec(&contents.with_fingerprint()).unwrap()).unwrap();
}

#[test]
fn a_folder_with_a_manifest_looks_like_an_index() {
    let (folder, path) = made();
    assert!(looks_like_index(&path));
    std::fs::write(path.join(MANIFEST), "damaged").unwrap();
    assert!(looks_like_index(&path));
    assert!(!looks_like_index(folder.path()) && !looks_like_index(&path.join("titles.tsv")));
}

#[test]
fn there_and_back() {
    let (_folder, path) = made();
    let folder = Folder::open(&path).unwrap();
    assert_eq!((folder.about(), folder.version()), (&about(9), env!("CARGO_PKG_VERSION")));
    assert_eq!(folder.fingerprint(), write(&path, "red shoes").unwrap());
    assert_ne!(folder.fingerprint(), write(&path, "red hats!").unwrap());
    write(&path, "red shoes").unwrap();
    assert_eq!(folder.parts().keys().collect::<Vec<_>>(), ["titles", "vectors"]);
    let Files { kind, files } = &folder.parts()["titles"];
    assert_eq!(kind, "table");
    // As the xxhash package of Python says.
    let entry = FileEntry { bytes: 9, xxh3: "45482a1add2bd8388662343fc2c3b63a".to_owned() };
    assert_eq!(files, &BTreeMap::from([("titles.tsv".to_owned(), entry)]));

    assert_eq!(folder.file("titles.tsv").unwrap(), path.join("titles.tsv"));
    assert_eq!(folder.read("vectors.npy").unwrap(), b"numbers");
    assert_eq!(folder.read("more").unwrap(), b"");
    let mut file = folder.open_file("titles.tsv").unwrap();
    assert_eq!(file.len(), 9);
    let mut bytes = [0; 4];
    file.fill(&mut bytes).unwrap();
    assert_eq!(&bytes, b"red ");
    // The rest is checked too.
    file.finish().unwrap();
    assert!(Folder::open(&path).unwrap().open_file("titles.tsv").unwrap().fill(&mut [0; 10]).is_err());
}

#[test]
fn what_is_hashed_is_handed_on() {
    let mut hashing = Hashing::new(BufWriter::new(Vec::new()));
    hashing.write_all(b"red ").unwrap();
    hashing.write_all(b"shoes").unwrap();
    hashing.flush().unwrap();
    assert_eq!(hashing.inner.get_ref(), b"red shoes");
    assert_eq!(hashing.entry(), FileEntry { bytes: 9, xxh3: hashing.checksum() });
}

#[test]
fn a_file_that_is_missing_of_another_length_or_changed() {
    let (_folder, path) = made();
    let folder = Folder::open(&path).unwrap();
    let titles = path.join("titles.tsv");
    let gone = (ErrorKind::Damaged, "a file".to_owned(), "none".to_owned());
    assert_eq!(fault(folder.read("other")).1, "this file in the manifest");
    std::fs::write(&titles, "red shoe").unwrap();
    let length = (ErrorKind::Damaged, "9 bytes".to_owned(), "8".to_owned());
    assert_eq!((fault(folder.read("titles.tsv")), fault(folder.file("titles.tsv"))), (length.clone(), length));
    std::fs::write(&titles, "red shoeS").unwrap();
    let (kind, expected, found) = fault(folder.read("titles.tsv"));
    assert_eq!(expected, format!("the checksum {}", folder.parts()["titles"].files["titles.tsv"].xxh3));
    assert!(kind == ErrorKind::Damaged && found.len() == 32 && !expected.contains(&found));
    std::fs::remove_file(&titles).unwrap();
    assert_eq!(fault(folder.open_file("titles.tsv")), gone);
    std::fs::create_dir(&titles).unwrap();
    assert_eq!(fault(folder.open_file("titles.tsv")), gone);
}

#[test]
fn parts_that_are_not_known() {
    let (_folder, path) = made();
    for (name, kind) in [("graph", "usearch"), ("titles", "usearch"), ("graph", "table"), ("titles", "f32")] {
        forge(&path, &[("vectors", "f32"), (name, kind)]);
        let (error, _, found) = fault(Folder::open(&path));
        assert_eq!((error, found), (ErrorKind::Version, format!("`{name}` of kind `{kind}`")));
    }
    forge(&path, &[("titles", "table"), ("vectors", "f32")]);
    let folder = Folder::open(&path).unwrap();
    assert_eq!((folder.version(), folder.parts().len()), ("9", 2));
}

/// Tests whether they open, and their errors if they do not.
#[test]
fn manifests_of_other_kinds_versions_and_lengths() {
    let (_folder, path) = made();
    let manifest = path.join(MANIFEST);
    let good = std::fs::read_to_string(&manifest).unwrap();
    let with = |bytes: &str| {
        std::fs::write(&manifest, bytes).unwrap();
        Folder::open(&path)
    };
    let other = good.replace("\"kind\": \"index\"", "\"kind\": \"box\"");
    assert_eq!(fault(with(&other)).2, "one of kind `box`");
    let later = good.replace("\"format\": 1", "\"format\": 3");
    let version = (ErrorKind::Version, "an index of format version 1".to_owned(), "3".to_owned());
    assert_eq!(fault(with(&later)), version);
    let changed = good.replace("\"titles\": 9", "\"titles\": 8");
    let (kind, _, found) = fault(with(&changed));
    assert!(kind == ErrorKind::Damaged && !good.contains(&found));
    assert_eq!(fault(with("{")).1, "the manifest of an index");
    // White space at the end, up to the bound.
    let padded = |length: u64| format!("{good}{}", " ".repeat(length as usize - good.len()));
    assert_eq!(with(&padded(MAX_MANIFEST_BYTES)).unwrap().about().titles, 9);
    assert_eq!(fault(with(&padded(MAX_MANIFEST_BYTES + 1))).1, "at most 1048576 bytes");
    let none = (ErrorKind::Malformed, "an index".to_owned(), "a folder without `manifest.json`".to_owned());
    std::fs::remove_file(&manifest).unwrap();
    assert_eq!(fault(Folder::open(&path)), none);
    std::fs::create_dir(&manifest).unwrap();
    assert_eq!(fault(Folder::open(&path)), none);
    assert_eq!(fault(Folder::open(&path.join(".."))), none);
    assert_eq!(fault(Folder::open(&path.join("titles.tsv"))).2, "a file");
    assert_eq!(fault(Folder::open(&path.join("nothing"))).0, ErrorKind::Io);
}

#[test]
fn only_an_index_with_nothing_else_in_it_is_replaced() {
    let (_folder, path) = made();
    check_replaceable(&path).unwrap();
    std::fs::write(path.join("mine"), "").unwrap();
    let refused = check_replaceable(&path).unwrap_err().to_string();
    assert!(refused.ends_with("found one with `mine` in it, which would be lost; name another output"), "{refused}");
    assert!(write(&path, "titles").is_err());
    std::fs::remove_file(path.join("mine")).unwrap();
    let manifest = path.join(MANIFEST);
    let other = std::fs::read_to_string(&manifest).unwrap().replace("\"kind\": \"index\"", "\"kind\": \"box\"");
    std::fs::write(&manifest, other).unwrap();
    assert_eq!(check_replaceable(&path).unwrap_err().kind(), ErrorKind::Occupied);
}

//! Folders of an index: written and read back, damaged, and replaced while they are read.

use std::io::BufWriter;
use std::path::Path;

use super::*;
use clickvec::error::{Error, Result};
use clickvec_tables::ErrorKind;

const TITLES: PartKind = PartKind { name: "titles", kind: "table", first_file: "titles.tsv" };
const VECTORS: PartKind = PartKind { name: "vectors", kind: "f32", first_file: "vectors.npy" };
const KNOWN: [PartKind; 2] = [TITLES, VECTORS];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct About {
    titles: u64,
}

/// Writes an index with one file of each part, and one more of the second.
fn write(path: &Path, titles: &str) -> Result<String> {
    let mut writer = FolderWriter::new(path)?;
    for (name, text) in [("titles.tsv", titles), ("vectors.npy", "numbers"), ("more", "")] {
        writer.create(name)?.write_all(text.as_bytes()).map_err(|source| writer.failed(source))?;
        assert_eq!(writer.file(name).file_name().unwrap(), name);
    }
    writer.part(&TITLES, &["titles.tsv"])?;
    writer.part(&VECTORS, &["vectors.npy", "more"])?;
    writer.finish(About { titles: titles.len() as u64 })
}

/// A folder to write to, and an index in it.
fn made() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    write(&path, "red shoes").unwrap();
    (folder, path)
}

fn open(path: &Path) -> Result<Folder<About>> {
    Folder::open(path, &KNOWN)
}

fn fault<T>(result: Result<T>) -> IndexFault {
    match result.map(drop) {
        Err(Error::Index { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

/// Puts a manifest with these parts in the place of the one that is there, with a fingerprint that fits.
fn forge(path: &Path, parts: &[(&str, &str, bool)]) {
    let part = |&(name, kind, required): &(&str, &str, bool)| {
        (name.to_owned(), Part { kind: kind.to_owned(), required, files: BTreeMap::new() })
    };
    let contents =
        Contents { version: "9".to_owned(), about: About { titles: 1 }, parts: parts.iter().map(part).collect() };
    let manifest = Envelope { format: FORMAT, kind: KIND.to_owned(), fingerprint: fingerprint(&contents), contents };
    std::fs::write(path.join(MANIFEST), serde_json::to_vec(&manifest).unwrap()).unwrap();
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
    let folder = open(&path).unwrap();
    assert_eq!((folder.about(), folder.version()), (&About { titles: 9 }, env!("CARGO_PKG_VERSION")));
    assert_eq!(folder.fingerprint(), write(&path, "red shoes").unwrap());
    assert_ne!(folder.fingerprint(), write(&path, "red hats!").unwrap());
    write(&path, "red shoes").unwrap();
    assert_eq!(folder.parts().keys().collect::<Vec<_>>(), ["titles", "vectors"]);
    let Part { kind, required, files } = &folder.parts()["titles"];
    assert_eq!((kind.as_str(), *required), ("table", true));
    // As the xxhash package of Python says.
    let entry = FileEntry { bytes: 9, xxh3: "45482a1add2bd8388662343fc2c3b63a".to_owned() };
    assert_eq!(files, &BTreeMap::from([("titles.tsv".to_owned(), entry)]));

    assert_eq!(folder.file(&TITLES, "titles.tsv").unwrap(), path.join("titles.tsv"));
    assert_eq!(folder.read(&VECTORS, "vectors.npy").unwrap(), b"numbers");
    assert_eq!(folder.read(&VECTORS, "more").unwrap(), b"");
    let mut file = folder.open_file(&TITLES, "titles.tsv").unwrap();
    assert_eq!(file.len(), 9);
    let mut bytes = [0; 4];
    file.fill(&mut bytes).unwrap();
    assert_eq!(&bytes, b"red ");
    // What nobody asked for is checked too.
    file.finish().unwrap();
    assert!(open(&path).unwrap().open_file(&TITLES, "titles.tsv").unwrap().fill(&mut [0; 10]).is_err());
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
    let folder = open(&path).unwrap();
    let titles = path.join("titles.tsv");
    let name = || "titles.tsv".to_owned();
    assert_eq!(fault(folder.read(&TITLES, "other")), IndexFault::NotListed { name: "other".to_owned() });
    assert_eq!(fault(folder.read(&VECTORS, "titles.tsv")), IndexFault::NotListed { name: name() });
    std::fs::write(&titles, "red shoe").unwrap();
    let length = IndexFault::Length { name: name(), expected: 9, found: 8 };
    assert_eq!(
        (fault(folder.read(&TITLES, "titles.tsv")), fault(folder.file(&TITLES, "titles.tsv"))),
        (length.clone(), length)
    );
    std::fs::write(&titles, "red shoeS").unwrap();
    let IndexFault::Checksum { expected, found, .. } = fault(folder.read(&TITLES, "titles.tsv")) else { panic!() };
    assert!(expected == folder.parts()["titles"].files["titles.tsv"].xxh3 && found.len() == 32 && found != expected);
    std::fs::remove_file(&titles).unwrap();
    assert_eq!(fault(folder.open_file(&TITLES, "titles.tsv")), IndexFault::MissingFile { name: name() });
    std::fs::create_dir(&titles).unwrap();
    assert_eq!(fault(folder.open_file(&TITLES, "titles.tsv")), IndexFault::MissingFile { name: name() });
}

#[test]
fn parts_that_are_not_known() {
    let (_folder, path) = made();
    let unknown = |name: &str, kind: &str| IndexFault::UnknownPart { name: name.to_owned(), kind: kind.to_owned() };
    for (name, kind) in [("graph", "usearch"), ("titles", "usearch"), ("graph", "table"), ("titles", "f32")] {
        forge(&path, &[("vectors", "f32", true), (name, kind, true)]);
        assert_eq!(fault(open(&path)), unknown(name, kind));
        forge(&path, &[("vectors", "f32", true), (name, kind, false)]);
        assert_eq!(open(&path).unwrap().version(), "9");
    }
    forge(&path, &[("titles", "table", false), ("vectors", "f32", true)]);
    assert_eq!(open(&path).unwrap().parts().len(), 2);
}

/// Whether they open, and what they are if they do not.
#[test]
fn manifests_of_other_kinds_versions_and_lengths() {
    let (_folder, path) = made();
    let manifest = path.join(MANIFEST);
    let good = std::fs::read_to_string(&manifest).unwrap();
    let with = |bytes: &str| {
        std::fs::write(&manifest, bytes).unwrap();
        open(&path)
    };
    let other = good.replace("\"kind\": \"index\"", "\"kind\": \"box\"");
    assert_eq!(fault(with(&other)), IndexFault::Kind { found: "box".to_owned() });
    let later = good.replace("\"format\": 2", "\"format\": 3");
    assert_eq!(fault(with(&later)), IndexFault::Version { expected: 2, found: 3 });
    let changed = good.replace("\"titles\": 9", "\"titles\": 8");
    assert!(matches!(fault(with(&changed)), IndexFault::Fingerprint { found, .. } if !good.contains(&found)));
    assert!(matches!(fault(with("{")), IndexFault::BadManifest { .. }));
    // White space at the end, up to the bound.
    let padded = |length: u64| format!("{good}{}", " ".repeat(length as usize - good.len()));
    assert_eq!(with(&padded(MAX_MANIFEST_BYTES)).unwrap().about().titles, 9);
    let large = IndexFault::ManifestTooLarge { limit: 1_048_576, found: 1_048_577 };
    assert_eq!(fault(with(&padded(MAX_MANIFEST_BYTES + 1))), large);
    std::fs::remove_file(&manifest).unwrap();
    assert_eq!(fault(open(&path)), IndexFault::NoManifest);
    std::fs::create_dir(&manifest).unwrap();
    assert_eq!(fault(open(&path)), IndexFault::NoManifest);
    assert_eq!(fault(open(&path.join(".."))), IndexFault::NoManifest);
    assert_eq!(fault(open(&path.join("titles.tsv"))), IndexFault::NotAFolder);
    assert!(matches!(open(&path.join("nothing")), Err(Error::Shared(error)) if error.kind() == ErrorKind::Io));
}

#[test]
fn files_of_the_first_version_are_the_parts_that_are_known() {
    let (_folder, path) = made();
    let entry = |bytes: u64| FileEntry { bytes, xxh3: String::new() };
    let files = [("titles.tsv", entry(9)), ("other", entry(1))].map(|(name, entry)| (name.to_owned(), entry));
    let contents =
        ContentsOfFiles { version: "0".to_owned(), about: About { titles: 3 }, files: BTreeMap::from(files) };
    let fingerprint = fingerprint(&contents);
    let manifest = Envelope { format: FORMAT_OF_FILES, kind: KIND.to_owned(), fingerprint, contents };
    std::fs::write(path.join(MANIFEST), serde_json::to_vec(&manifest).unwrap()).unwrap();
    let folder = open(&path).unwrap();
    assert_eq!((folder.version(), folder.about().titles, folder.fingerprint()), ("0", 3, &*manifest.fingerprint));
    let files = BTreeMap::from([("titles.tsv".to_owned(), entry(9))]);
    let part = Part { kind: "table".to_owned(), required: true, files };
    assert_eq!(folder.parts(), &BTreeMap::from([("titles".to_owned(), part)]));
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
    assert!(matches!(check_replaceable(&path), Err(Error::Shared(error)) if error.kind() == ErrorKind::Occupied));
}

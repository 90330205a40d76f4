//! Making indexes: titles in and out, shards, replacing an index, and folders that are none.

use std::fs;
use std::path::{Path, PathBuf};

use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec_index::{BuiltIndex, Error, Fusion, Index, IndexBuilder, Shard, VectorFormat, finish};
use clickvec_tables::ErrorKind;
use xxhash_rust::xxh3::xxh3_128;

use crate::world::{all_titles, model, testdata};

fn titles() -> Vec<Title> {
    let texts = ["red shoe", "garden hose, 12-gauge", "¡", "blue lamp", "日本", "Drill “cordless”", "red shoe"];
    let title = |(number, text): (usize, &str)| Title { id: format!("t{number}"), title: text.to_owned() };
    texts.into_iter().enumerate().map(title).collect()
}

/// An index in its own folder, and the model it was made with.
struct Made {
    folder: tempfile::TempDir,
    model: Model,
}

fn make() -> Made {
    let made = Made { model: model(), folder: tempfile::tempdir().unwrap() };
    made.save(titles(), &made.index()).unwrap();
    made
}

fn done(builder: IndexBuilder, model: &Model) -> Result<BuiltIndex, Error> {
    finish(builder, model, &Fusion::default(), VectorFormat::F32)
}

impl Made {
    fn index(&self) -> PathBuf {
        self.folder.path().join("index")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.index().join(name)
    }

    fn save(&self, titles: Vec<Title>, path: &Path) -> Result<BuiltIndex, Error> {
        let mut builder = IndexBuilder::new(&self.model, path)?;
        titles.into_iter().try_for_each(|title| builder.add(title))?;
        done(builder, &self.model)
    }

    fn join(&self, indexes: &[PathBuf], path: &Path) -> Result<BuiltIndex, Error> {
        clickvec_index::join(indexes, path, Ok, None)
    }

    fn open(&self) -> Result<Index, Error> {
        Index::open(&self.index())
    }

    #[track_caller]
    fn fault(&self) -> String {
        fault(self.open())
    }

    /// Changes the text of the manifest and makes its fingerprint match, as a forger could.
    fn forge(&self, change: impl FnOnce(String) -> String) {
        let text = change(fs::read_to_string(self.file("manifest.json")).expect("a manifest"));
        let (head, contents) = text.split_once("\"contents\": ").expect("contents");
        // No value contains a space, so removing spaces makes the JSON compact. The last brace is the manifest's.
        let compact: String = contents.chars().filter(|c| !c.is_whitespace()).collect();
        let compact = compact.strip_suffix('}').expect("a brace");
        let fingerprint = format!("{:032x}", xxh3_128(compact.as_bytes()));
        let old = value(head, "fingerprint");
        fs::write(self.file("manifest.json"), text.replace(&old, &fingerprint)).expect("written");
    }
}

/// The string after this name.
fn value(json: &str, name: &str) -> String {
    let rest = json.split_once(&format!("\"{name}\": \"")).expect("a name").1;
    rest.split_once('"').expect("a string").0.to_owned()
}

/// What an error says.
#[track_caller]
fn fault<T>(result: Result<T, Error>) -> String {
    result.map(drop).unwrap_err().to_string()
}

#[track_caller]
fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    result.map(drop).unwrap_err().kind()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("it").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

/// The manifest of an index, which has the checksum of every file.
fn manifest(index: &Path) -> Vec<u8> {
    fs::read(index.join("manifest.json")).expect("a manifest")
}

#[test]
fn there_and_back() {
    let made = make();
    let index = made.open().unwrap();
    let ids: Vec<String> = all_titles(&index).into_iter().map(|title| title.id).collect();
    let facts = index.facts();
    assert_eq!((facts.titles, ids.len()), (titles().len() as u64, titles().len()));
    let (dimension, fingerprint) = (facts.model.dimension, facts.model.fingerprint.as_str());
    assert_eq!((dimension, fingerprint), (made.model.dimension(), made.model.fingerprint()));
    assert_eq!(index.files().unwrap().parts["vectors"], "f32");
    let file = testdata("frozen/format-1/lstm.safetensors");
    assert!(fs::read(made.file("model.safetensors")).unwrap() == fs::read(file).unwrap(), "the same bytes");
    assert_eq!(names(made.folder.path()), ["index"], "nothing else is left");
}

#[test]
fn an_index_without_any_title() {
    let made = make();
    made.save(Vec::new(), &made.index()).unwrap();
    assert_eq!(made.open().unwrap().facts().titles, 0);
    assert!(made.open().unwrap().search(&clickvec_index::Request::new("red", clickvec_index::Mode::Fused)).is_ok());
}

#[test]
fn shards_are_joined_to_the_bytes_of_one_run() {
    let made = make();
    let title = |i: usize| {
        // Some titles are unknown, and there are more than are encoded at once.
        let text = if i % 7 == 3 { "日本".to_owned() } else { format!("red shoe {i}") };
        Title { id: format!("t{i}"), title: text }
    };
    let all: Vec<Title> = (0..5_000).map(title).collect();
    let whole = made.save(all.clone(), &made.index()).expect("saved");
    let cuts = [0, 1, 4_096, 4_096, 5_000];
    let shard = |number: usize| made.folder.path().join(format!("shard{number}"));
    for number in 0..4 {
        made.save(all[cuts[number]..cuts[number + 1]].to_vec(), &shard(number)).expect("saved");
    }
    let shards: Vec<PathBuf> = (0..4).map(shard).collect();
    let joined = made.folder.path().join("joined");
    assert_eq!(made.join(&shards, &joined).expect("joined"), whole);
    assert!(manifest(&joined) == manifest(&made.index()));
    // Also if the output was one of them.
    made.join(&shards, &shards[3]).expect("joined");
    assert!(manifest(&shards[3]) == manifest(&joined));
}

#[test]
fn indexes_that_cannot_be_joined() {
    let made = make();
    let output = made.folder.path().join("output");
    assert_eq!(fault(made.join(&[], &output)), "expected indexes to join, found none; name at least one");
    let found = fault(made.join(&[made.index(), made.index()], &output));
    assert!(found.contains("expected ids that no other index to join has, found `t0`, which is in `"), "{found}");
    let mut vectors = fs::read(made.file("vectors.npy")).unwrap();
    *vectors.last_mut().unwrap() ^= 1;
    fs::write(made.file("vectors.npy"), vectors).unwrap();
    assert_eq!(kind(made.join(&[made.index()], &output)), ErrorKind::Damaged);
    assert_eq!(names(made.folder.path()), ["index"], "nothing else is left");
}

#[test]
fn shards_know_which_they_are() {
    let made = make();
    let shard = |name: &str, number: u64, of: u64, titles: u64| {
        let path = made.folder.path().join(name);
        let mut builder =
            IndexBuilder::new(&made.model, &path).expect("begun").with_shard(Shard { number, of, titles });
        builder.add(Title { id: name.to_owned(), title: "red shoe".to_owned() }).expect("added");
        done(builder, &made.model).expect("written");
        path
    };
    let (first, second) = (shard("first", 1, 2, 2), shard("second", 2, 2, 2));
    let output = made.folder.path().join("output");
    let join = |indexes: &[&PathBuf]| made.join(&indexes.iter().map(|&path| path.clone()).collect::<Vec<_>>(), &output);
    let found = Index::open(&second).expect("a shard can be searched");
    assert_eq!(found.shard(), Some(Shard { number: 2, of: 2, titles: 2 }));
    assert_eq!(
        join(&[&second, &made.index(), &first]).expect("joined").titles,
        made.open().unwrap().facts().titles + 2
    );
    let joined = Index::open(&output).expect("opened");
    // By their numbers, each in the place of a shard.
    let ids: Vec<String> = all_titles(&joined).into_iter().map(|title| title.id).collect();
    assert_eq!((ids[0].as_str(), ids.last().unwrap().as_str(), joined.shard()), ("first", "second", None));
    fs::remove_dir_all(&output).expect("removed");
    let refused = |indexes: &[&PathBuf], expected: &str| {
        let found = fault(join(indexes));
        assert!(found.contains(expected), "{found}");
    };
    refused(
        &[&second],
        "expected all 2 shards of this collection to join, found none with the number 1; name them too",
    );
    let many = shard("many", 3, u64::MAX, 9);
    refused(&[&many], "found none with the number 1, 2, 4, 5, 6, 7, 8, 9, 10, 11; name them too");
    refused(&[&first, &second, &first], "expected each shard once, found 1 of 2 again, which is in `");
    for other in [shard("three", 2, 3, 2), shard("longer", 2, 2, 3)] {
        refused(&[&first, &other], "expected one of 2 shards of 2 titles, as `");
    }
    for (number, of) in [(0, 2), (3, 2), (1, 0)] {
        let found = fault(Index::open(&shard("bad", number, of, 2)));
        assert!(found.contains("shard.json: ") && found.contains(&format!("found {number} of {of};")), "{found}");
    }
    assert!(!output.exists());
}

#[test]
fn a_part_of_a_later_version() {
    let made = make();
    made.forge(|text| text.replace("\"parts\": {", "\"parts\": {\"a-graph\": {\"kind\": \"usearch\", \"files\": {}},"));
    let found = made.fault();
    assert!(found.contains("found `a-graph` of kind `usearch`; use a newer clickvec"), "{found}");
    let made = make();
    made.forge(|text| text.replace("\"f32\"", "\"int4\""));
    assert!(made.fault().contains("found `vectors` of kind `int4`"));
}

#[test]
fn only_an_index_is_replaced() {
    let made = make();
    let save = |path: &Path| made.save(titles(), path);
    // Same titles, same model: the same index.
    let fingerprint = made.open().expect("opened").facts().fingerprint.clone();
    assert_eq!(save(&made.index()).expect("replaced").fingerprint, fingerprint);
    save(&made.index().join("")).expect("also with a slash at the end");
    let empty = made.folder.path().join("empty");
    fs::create_dir(&empty).expect("made");
    save(&empty).expect("an empty folder holds nothing to lose");

    #[track_caller]
    fn refused(result: Result<BuiltIndex, Error>, path: &Path, found: &str) {
        let checked = IndexBuilder::check_output(path).expect_err("refused").to_string();
        for error in [result.expect_err("refused").to_string(), checked] {
            assert!(error.contains(found), "{error}");
        }
    }
    let file = made.folder.path().join("model");
    fs::write(&file, "a file").expect("written");
    refused(save(&file), &file, "expected an index to replace, or nothing, found a file");
    fs::write(made.file("notes.txt"), "mine").expect("written");
    refused(save(&made.index()), &made.index(), "found one with `notes.txt` in it, which would be lost");
    fs::remove_file(made.file("notes.txt")).expect("removed");
    fs::remove_file(made.file("manifest.json")).expect("removed");
    refused(save(&made.index()), &made.index(), "found a folder with other files in it");
    fs::write(made.file("manifest.json"), "{\"kind\": \"other\", \"contents\": {\"parts\": {}}}").expect("written");
    refused(save(&made.index()), &made.index(), "found a folder with other files in it");
    assert!(made.file("titles.tsv").exists(), "nothing was lost");
    let nowhere = made.folder.path().join("no/index");
    assert_eq!(kind(save(&nowhere)), ErrorKind::Io);
    assert_eq!(names(made.folder.path()), ["empty", "index", "model"], "nothing else is left");
}

#[test]
fn what_cannot_be_saved_leaves_the_old_index() {
    let made = make();
    let tab = vec![Title { id: "a\tb".to_owned(), title: "red".to_owned() }];
    let in_memory = Index::in_memory(&made.model, tab.clone()).map(drop);
    for error in [in_memory.expect_err("a tab"), made.save(tab, &made.index()).expect_err("a tab")] {
        assert!(error.to_string().starts_with("expected an id and a title without tab"), "{error}");
    }
    let mut builder = IndexBuilder::new(&made.model, &made.index()).expect("begun");
    let long = (0..5000).map(|i| Title { id: format!("{i}\t"), title: "red".to_owned() });
    assert!(long.map(|title| builder.add(title)).any(|added| added.is_err()));
    assert!(fault(done(builder, &made.model)).ends_with("found one that was given up; start it over"));
    // An index without a title that can be found would take its place.
    let unknown = vec![Title { id: "x".to_owned(), title: "жжж".to_owned() }];
    assert_eq!(kind(made.save(unknown.clone(), &made.index())), ErrorKind::Empty);
    let shards = [1, 2].map(|number| made.folder.path().join(number.to_string()));
    for (number, path) in (1..).zip(&shards) {
        let mut shard =
            IndexBuilder::new(&made.model, path).expect("begun").with_shard(Shard { number, of: 2, titles: 2 });
        shard.add(Title { id: number.to_string(), ..unknown[0].clone() }).expect("added");
        assert_eq!(done(shard, &made.model).expect("a shard may have unknown titles alone").without_vector, 1);
    }
    assert!(fault(made.join(&shards, &made.index())).contains("found none among 2; is this the right model?"));
    for path in shards {
        std::fs::remove_dir_all(path).expect("removed");
    }
    // Nor does one that is given up.
    let mut builder = IndexBuilder::new(&made.model, &made.index()).expect("begun");
    assert_eq!(kind(made.save(titles(), &made.index())), ErrorKind::Busy);
    builder.add(titles().remove(0)).expect("added");
    drop(builder);
    assert!(made.open().expect("the old one").facts().titles > 1);
    assert_eq!(names(made.folder.path()), ["index"], "nothing else is left");
}

#[test]
fn an_index_that_is_replaced_while_it_is_opened_is_the_old_or_the_new_one() {
    let made = make();
    let part = made.folder.path().join("part");
    let counts = [titles(), titles().split_off(5)].map(|titles| made.save(titles, &part).unwrap().titles);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..20 {
                let titles = if round % 2 == 0 { titles().split_off(5) } else { titles() };
                made.save(titles, &made.index()).expect("replaced");
            }
        });
        while !writer.is_finished() {
            // Without the exchange of folders there is a moment without a folder.
            match made.open() {
                Ok(index) => assert!(counts.contains(&index.facts().titles)),
                Err(error) if cfg!(target_os = "linux") => panic!("{error}"),
                Err(_) => {}
            }
        }
    });
    assert_eq!(names(made.folder.path()), ["index", "part"]);
}

#[test]
fn two_writers_do_not_destroy_each_other() {
    let made = make();
    let outcomes: Vec<Result<BuiltIndex, Error>> = std::thread::scope(|scope| {
        let save = || made.save(titles(), &made.index());
        let writers: Vec<_> = (0..4).map(|_| scope.spawn(save)).collect();
        writers.into_iter().map(|writer| writer.join().expect("no panic")).collect()
    });
    assert!(outcomes.iter().any(Result::is_ok));
    for outcome in outcomes {
        assert!(outcome.is_ok() || kind(outcome) == ErrorKind::Busy);
    }
    made.open().expect("whole");
    assert_eq!(names(made.folder.path()), ["index"]);
}

#[test]
fn what_is_no_index() {
    let made = make();
    let no_manifest = "expected an index, found a folder without `manifest.json`; make one with `clickvec index`";
    assert!(
        fault(Index::open(&made.file("titles.tsv"))).contains("expected an index, which is a folder, found a file")
    );
    assert!(fault(Index::open(made.folder.path())).ends_with(no_manifest));
    let error = fault(Index::open(&made.folder.path().join("none")));
    assert!(error.contains("none: cannot open"), "{error}");
    fs::write(made.file("manifest.json"), vec![b' '; (1 << 20) + 1]).expect("written");
    assert!(made.fault().contains("expected at most 1048576 bytes, found more"));
    fs::remove_file(made.file("manifest.json")).expect("removed");
    fs::create_dir(made.file("manifest.json")).expect("made");
    assert!(made.fault().ends_with(no_manifest));
}

#[test]
fn a_manifest_that_is_none() {
    let made = make();
    let good = fs::read_to_string(made.file("manifest.json")).expect("a manifest");
    let with = |text: &str| {
        fs::write(made.file("manifest.json"), text).expect("written");
        let error = made.open().map(drop).unwrap_err();
        (error.kind(), error.to_string())
    };
    let titles_line = format!("\"titles\": {}", made.open().unwrap().facts().titles);
    let deep = "[".repeat(500_000);
    for bad in ["", "{", "null", "7", "{}", "\u{fffd}", &deep, &good[..good.len() / 2], &good.replace("files", "fires")]
    {
        assert_eq!(with(bad).0, ErrorKind::Malformed, "{bad:.40}");
    }
    for count in ["-1", "0.5", "99999999999999999999999", "\"5\"", "null"] {
        let text = good.replace(&titles_line, &format!("\"titles\": {count}"));
        assert_eq!(with(&text).0, ErrorKind::Malformed, "{count}");
    }
    // Another version may look different, so only its number counts.
    for (format, help) in
        [(0, "rebuild the index with this clickvec"), (3, "use a newer clickvec, or rebuild the index")]
    {
        let other = with(&format!("{{\"format\": {format}, \"kind\": \"index\", \"contents\": 5}}"));
        assert_eq!(other.0, ErrorKind::Version);
        let message = format!("expected an index of format version 1, found {format}; {help}");
        assert!(other.1.ends_with(&message), "{}", other.1);
    }
    let other = with(&good.replace("\"index\"", "\"model\"")).1;
    assert!(other.ends_with("expected the manifest of an index, found one of kind `model`"), "{other}");
    for (from, to) in [
        ("\"without_vector\": ", "\"without_vector\": 1"),
        ("\"dimension\": ", "\"dimension\": 1"),
        ("\"version\": \"", "\"version\": \"1"),
    ] {
        assert_eq!(with(&good.replace(from, to)).0, ErrorKind::Damaged, "{to}");
    }
}

#[test]
fn no_file_of_an_index_is_outside_of_it() {
    for name in
        ["../outside.tsv", "/etc/passwd", "words/../../outside.tsv", "./titles.tsv", "words//meta.json", "a\\\\b", ""]
    {
        // In a part that is known, and in one that is not.
        for part in ["canaries", "bookmarks"] {
            let made = make();
            // The only file of the first part, so that the order of names stays.
            let forged = |text: String| {
                text.replacen("\"canaries.json\"", &format!("\"{name}\""), 1).replacen(
                    "\"canaries\"",
                    &format!("\"{part}\""),
                    1,
                )
            };
            made.forge(forged);
            let found = made.fault();
            assert!(found.contains("expected names of files in this folder, found `"), "{part} {name}: {found}");
            assert!(clickvec_index::verify(&made.index()).is_err(), "{part} {name}");
        }
    }
}

#[test]
fn a_file_that_is_missing_cut_or_grown() {
    for name in ["model.safetensors", "titles.tsv", "vectors.npy", "codes.bin", "ids.bin"] {
        let made = make();
        let good = fs::read(made.file(name)).unwrap();
        let expected = good.len() as u64;
        for found in [0, 1, expected - 1, expected + 1, 2 * expected] {
            let mut bytes = good.clone();
            bytes.resize(found as usize, b'x');
            fs::write(made.file(name), bytes).unwrap();
            let message = format!("{name}: expected {expected} bytes, found {found}; rebuild the index");
            assert!(made.fault().ends_with(&message));
        }
        fs::remove_file(made.file(name)).unwrap();
        assert!(made.fault().ends_with(&format!("{name}: expected a file, found none; rebuild the index")));
        fs::create_dir(made.file(name)).unwrap();
        assert!(made.fault().ends_with(&format!("{name}: expected a file, found none; rebuild the index")));
    }
}

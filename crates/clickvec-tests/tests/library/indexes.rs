//! Indexes: writing, reading and replacing them, and reading hostile bytes instead.

use super::support::*;
use clickvec::Error;
use clickvec::error::{BadShard, IndexFault, TitleLine};
use clickvec::internals::rng;
use clickvec::model::Model;
use clickvec::tables::Title;
use clickvec::train::OptimizerKind;
use clickvec::train::TrainConfig;
use clickvec_index::searcher::Searcher;
use clickvec_index::{BuiltIndex, IndexBuilder, Shard, join_indexes};
use clickvec_tables::ErrorKind;
use rand::RngExt as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use xxhash_rust::xxh3::xxh3_128;

/// A model with two towers.
fn model_bytes(seed: u64) -> Vec<u8> {
    let place = Place::new(&log_rows(60, seed));
    let config = TrainConfig { epochs: 1, seed, ..small(OptimizerKind::Adam) };
    place.train(&config, How::default()).expect("trained");
    place.model()
}

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
    static MODEL: OnceLock<Vec<u8>> = OnceLock::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model");
    fs::write(&path, MODEL.get_or_init(|| model_bytes(1))).expect("written");
    let made = Made { model: Model::load(&path).expect("a model"), folder };
    made.save(titles(), &made.index()).expect("saved");
    made
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
        builder.finish()
    }

    fn open(&self) -> Result<Searcher, Error> {
        Searcher::open(&self.index())
    }

    #[track_caller]
    fn fault(&self) -> IndexFault {
        fault(self.open())
    }

    /// Changes the text of the manifest and makes its fingerprint match, like somebody who knows the format.
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

    /// Puts other bytes into a file and makes length and checksum match.
    fn forge_file(&self, name: &str, bytes: &[u8]) {
        let old = fs::read(self.file(name)).expect("a file");
        fs::write(self.file(name), bytes).expect("written");
        self.forge(|text| {
            text.replace(&format!("{:032x}", xxh3_128(&old)), &format!("{:032x}", xxh3_128(bytes)))
                .replace(&format!("\"bytes\": {},", old.len()), &format!("\"bytes\": {},", bytes.len()))
        });
    }
}

/// The string after this name.
fn value(json: &str, name: &str) -> String {
    let rest = json.split_once(&format!("\"{name}\": \"")).expect("a name").1;
    rest.split_once('"').expect("a string").0.to_owned()
}

#[track_caller]
fn fault<T>(result: Result<T, Error>) -> IndexFault {
    match result {
        Err(Error::Index { fault, .. }) => fault,
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("opened"),
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("it").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

/// The bytes of all files of a folder, by name.
fn bytes(folder: &Path) -> Vec<(String, Vec<u8>)> {
    names(folder).into_iter().map(|name| (name.clone(), fs::read(folder.join(name)).expect("a file"))).collect()
}

#[test]
fn there_and_back_bit_for_bit() {
    let made = make();
    let before = Searcher::encode(&made.model, titles()).expect("encoded");
    let after = made.open().expect("opened");
    for searcher in [&before, &after] {
        assert_eq!((searcher.len(), searcher.left_out(), searcher.is_empty()), (5, 2, false));
        assert_eq!((searcher.title(4), searcher.title(5)), (Some(("t6", "red shoe")), None));
        assert_eq!(searcher.model().fingerprint(), made.model.fingerprint());
    }
    for query in ["red", "lamp 12", "garden hose"] {
        let answer = after.search(query, 9).expect("an answer");
        assert_eq!(answer.results().len(), 5);
        assert_eq!(answer, before.search(query, 9).expect("an answer"));
    }
    let summary = after.summary().expect("one");
    assert!(before.summary().is_none());
    assert_eq!((summary.titles, summary.left_out, summary.dimension), (5, 2, made.model.dimension()));
    assert_eq!(summary.files["vectors.npy"], 128 + 4 * 5 * 6);
    assert_eq!(summary.parts["vectors"], "f32");
    assert!(fs::read(made.file("model.safetensors")).expect("read") == model_bytes(1), "the same bytes");
    assert_eq!(names(&made.index()), ["manifest.json", "model.safetensors", "titles.tsv", "vectors.npy"]);
    assert_eq!(names(made.folder.path()), ["index", "model"], "nothing else is left");
}

#[test]
fn an_index_without_any_title() {
    let made = make();
    made.save(Vec::new(), &made.index()).expect("replaced");
    assert!(made.open().expect("opened").is_empty());
}

#[test]
fn shards_are_joined_to_the_bytes_of_one_run() {
    let made = make();
    let title = |i: usize| {
        // Some titles are unknown, and there are more than are encoded at once.
        let text = if i % 7 == 3 { "日本".to_owned() } else { format!("red shoe {i}") };
        Title { id: format!("t{i}"), title: text }
    };
    let all: Vec<Title> = (0..9_000).map(title).collect();
    let whole = made.save(all.clone(), &made.index()).expect("saved");
    let cuts = [0, 1, 4_096, 4_096, 9_000];
    let shard = |number: usize| made.folder.path().join(format!("shard{number}"));
    for number in 0..4 {
        made.save(all[cuts[number]..cuts[number + 1]].to_vec(), &shard(number)).expect("saved");
    }
    let shards: Vec<PathBuf> = (0..4).map(shard).collect();
    let joined = made.folder.path().join("joined");
    assert_eq!(join_indexes(&shards, &joined).expect("joined"), whole);
    assert!(bytes(&joined) == bytes(&made.index()));
    // Also if the output was one of them.
    join_indexes(&shards, &shards[3]).expect("joined");
    assert!(bytes(&shards[3]) == bytes(&joined));
}

#[test]
fn what_cannot_be_joined() {
    let made = make();
    let path = |name: &str| made.folder.path().join(name);
    let output = path("output");
    let join = |indexes: &[PathBuf]| join_indexes(indexes, &output);
    assert!(matches!(join(&[]), Err(Error::NothingToJoin)));
    let found = fault(join(&[made.index(), made.index()]));
    assert_eq!(found, IndexFault::DuplicateId { id: "t0".to_owned(), other: made.index() });
    fs::write(path("other"), model_bytes(2)).expect("written");
    let other =
        Made { model: Model::load(&path("other")).expect("a model"), folder: tempfile::tempdir().expect("one") };
    other.save(titles(), &other.index()).expect("saved");
    assert!(matches!(fault(join(&[made.index(), other.index()])), IndexFault::OtherModel { .. }));
    made.save(titles().split_off(5), &path("half")).expect("saved");
    for dimension in [0, 5, 1_000_000] {
        let forged = make();
        forged.forge(|text| text.replace("\"dimension\": 6", &format!("\"dimension\": {dimension}")));
        assert_eq!(fault(join(&[forged.index()])), IndexFault::Dimension { expected: 6, found: dimension });
    }
    let mut vectors = fs::read(made.file("vectors.npy")).expect("vectors");
    *vectors.last_mut().expect("bytes") ^= 1;
    fs::write(made.file("vectors.npy"), vectors).expect("written");
    assert!(matches!(fault(join(&[made.index()])), IndexFault::Checksum { .. }));
    assert!(!output.exists());
    assert_eq!(names(made.folder.path()), ["half", "index", "model", "other"], "nothing else is left");
}

#[test]
fn shards_know_which_they_are() {
    let made = make();
    let shard = |name: &str, number: u64, of: u64, titles: u64| {
        let path = made.folder.path().join(name);
        let mut builder = IndexBuilder::new(&made.model, &path).expect("begun").of_shard(Shard { number, of, titles });
        builder.add(Title { id: name.to_owned(), title: "red shoe".to_owned() }).expect("added");
        builder.finish().expect("written");
        path
    };
    let (first, second) = (shard("first", 1, 2, 2), shard("second", 2, 2, 2));
    let output = made.folder.path().join("output");
    let join =
        |indexes: &[&PathBuf]| join_indexes(&indexes.iter().map(|&path| path.clone()).collect::<Vec<_>>(), &output);
    let found = Searcher::open(&second).expect("a shard can be searched");
    assert_eq!(found.summary().expect("it is on disk").shard, Some(Shard { number: 2, of: 2, titles: 2 }));
    assert_eq!(join(&[&second, &made.index(), &first]).expect("joined").titles, 7);
    let joined = Searcher::open(&output).expect("opened");
    // By their numbers, each in the place of a shard.
    let ids: Vec<&str> = (0..7).filter_map(|position| Some(joined.title(position)?.0)).collect();
    assert_eq!((ids[0], ids[6], joined.summary().expect("it is on disk").shard), ("first", "second", None));
    fs::remove_dir_all(&output).expect("removed");
    assert_eq!(fault(join(&[&second])), IndexFault::MissingShards { of: 2, missing: vec![1] });
    let many = shard("many", 3, u64::MAX, 9);
    assert!(matches!(fault(join(&[&many])), IndexFault::MissingShards { missing, .. } if missing.len() == 10));
    let twice = IndexFault::RepeatedShard { number: 1, of: 2, other: first.clone() };
    assert_eq!(fault(join(&[&first, &second, &first])), twice);
    for other in [shard("three", 2, 3, 2), shard("longer", 2, 2, 3)] {
        assert!(matches!(fault(join(&[&first, &other])), IndexFault::OtherShards { of: 2, titles: 2, .. }));
    }
    for (number, of) in [(0, 2), (3, 2), (1, 0)] {
        let found = BadShard::Number { number, of };
        assert_eq!(fault(Searcher::open(&shard("bad", number, of, 2))), IndexFault::BadShard { found });
    }
    assert!(!output.exists());
}

#[test]
fn an_index_of_every_version_is_read() {
    for (version, fingerprint) in [(1, "1c2c9e989574d08d09ad0abc071b0239"), (2, "323146d091fd38fdb8b8ccfb0f804c5f")] {
        let frozen = frozen(version);
        let searcher = Searcher::open(&frozen).expect("opened");
        let found = searcher.search("leather sofa", 3).expect("an answer");
        let found: Vec<_> = found.results().iter().map(|found| (found.id, found.score)).collect();
        // As the program said that wrote it.
        let said = fs::read_to_string(frozen.with_extension("search.jsonl")).expect("answers");
        let said: serde_json::Value = serde_json::from_str(said.lines().nth(1).expect("a line")).expect("JSON");
        assert_eq!(said["query"], "leather sofa");
        let expected = said["results"].as_array().expect("results").iter();
        let expected =
            expected.map(|found| (found["id"].as_str().expect("an id"), found["score"].as_f64().expect("one") as f32));
        assert_eq!(found.len(), 3);
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-5, "{found:?}");
        }
        let summary = searcher.summary().expect("one");
        assert_eq!((summary.fingerprint.as_str(), summary.titles), (fingerprint, 40));
        // And replaced.
        let made = make();
        let old = made.folder.path().join("old");
        fs::create_dir(&old).expect("made");
        for (name, bytes) in bytes(&frozen) {
            fs::write(old.join(name), bytes).expect("written");
        }
        made.save(titles(), &old).expect("replaced");
        assert!(bytes(&old) == bytes(&made.index()));
    }
}

fn frozen(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../testdata/frozen/format-{version}/index"))
}

#[test]
fn a_part_of_a_later_version() {
    let part = |required: bool| {
        format!("\"parts\": {{\"graph\": {{\"kind\": \"usearch\", \"required\": {required}, \"files\": {{}}}},")
    };
    let made = make();
    made.forge(|text| text.replace("\"parts\": {", &part(true)));
    let expected = IndexFault::UnknownPart { name: "graph".to_owned(), kind: "usearch".to_owned() };
    assert_eq!(made.fault(), expected);
    assert!(expected.to_string().contains("`graph` of kind `usearch`"), "{expected}");
    let made = make();
    made.forge(|text| text.replace("\"parts\": {", &part(false)));
    assert_eq!(made.open().expect("opened").len(), 5);
    let made = make();
    made.forge(|text| text.replace("\"f32\"", "\"int4\""));
    assert_eq!(made.fault(), IndexFault::UnknownPart { name: "vectors".to_owned(), kind: "int4".to_owned() });
    // Those of other kinds are not taken for what they are not.
    let made = make();
    made.forge(|text| text.replace("\"f32\"", "\"f16\""));
    assert!(matches!(made.fault(), IndexFault::VectorShape { .. }));
    let made = make();
    made.forge(|text| text.replace("\"f32\"", "\"int8\""));
    assert_eq!(made.fault(), IndexFault::NotListed { name: "codes.bin".to_owned() });
}

#[test]
fn only_an_index_is_replaced() {
    let made = make();
    let save = |path: &Path| made.save(titles(), path);
    // Same titles, same model: the same index.
    let fingerprint = made.open().expect("opened").summary().expect("one").fingerprint.clone();
    assert_eq!(save(&made.index()).expect("replaced").fingerprint, fingerprint);
    save(&made.index().join("")).expect("also with a slash at the end");
    let empty = made.folder.path().join("empty");
    fs::create_dir(&empty).expect("made");
    save(&empty).expect("an empty folder holds nothing to lose");

    #[track_caller]
    fn refused(result: Result<BuiltIndex, Error>, path: &Path, found: &str) {
        for error in [result.expect_err("refused"), IndexBuilder::check_output(path).expect_err("refused")] {
            assert!(error.to_string().contains(found), "{error}");
        }
    }
    let file = made.folder.path().join("model");
    refused(save(&file), &file, "expected an index to replace, or nothing, found a file");
    fs::write(made.file("notes.txt"), "mine").expect("written");
    refused(save(&made.index()), &made.index(), "found one with `notes.txt` in it, which would be lost");
    fs::remove_file(made.file("notes.txt")).expect("removed");
    fs::remove_file(made.file("manifest.json")).expect("removed");
    refused(save(&made.index()), &made.index(), "found a folder with other files in it");
    fs::write(made.file("manifest.json"), "{\"kind\": \"other\", \"contents\": {\"files\": {}}}").expect("written");
    refused(save(&made.index()), &made.index(), "found a folder with other files in it");
    assert_eq!(names(&made.index()).len(), 4, "nothing was lost");
    let nowhere = made.folder.path().join("no/index");
    assert_eq!(save(&nowhere).unwrap_err().kind(), Some(ErrorKind::Io));
    assert_eq!(names(made.folder.path()), ["empty", "index", "model"], "nothing else is left");
}

#[test]
fn what_cannot_be_saved_leaves_the_old_index() {
    let made = make();
    let tab = vec![Title { id: "a\tb".to_owned(), title: "red".to_owned() }];
    for error in [
        Searcher::encode(&made.model, tab.clone()).expect_err("a tab"),
        made.save(tab, &made.index()).expect_err("a tab"),
    ] {
        assert!(error.to_string().starts_with("expected an id and a title without tab"), "{error}");
    }
    let mut builder = IndexBuilder::new(&made.model, &made.index()).expect("begun");
    let long = (0..5000).map(|i| Title { id: format!("{i}\t"), title: "red".to_owned() });
    assert!(long.map(|title| builder.add(title)).any(|added| added.is_err()));
    assert_eq!(fault(builder.finish()), IndexFault::GivenUp);
    // An index without a title that can be found would take its place.
    let unknown = vec![Title { id: "x".to_owned(), title: "жжж".to_owned() }];
    assert_eq!(fault(made.save(unknown.clone(), &made.index())), IndexFault::NoneKnown { titles: 1 });
    let shards = [1, 2].map(|number| made.folder.path().join(number.to_string()));
    for (number, path) in (1..).zip(&shards) {
        let mut shard =
            IndexBuilder::new(&made.model, path).expect("begun").of_shard(Shard { number, of: 2, titles: 2 });
        shard.add(unknown[0].clone()).expect("left out");
        assert_eq!(shard.finish().expect("a shard may be empty").left_out, 1);
    }
    assert_eq!(fault(join_indexes(&shards, &made.index())), IndexFault::NoneKnown { titles: 2 });
    for path in shards {
        std::fs::remove_dir_all(path).expect("removed");
    }
    // Nor does one that is given up.
    let mut builder = IndexBuilder::new(&made.model, &made.index()).expect("begun");
    assert_eq!(made.save(titles(), &made.index()).unwrap_err().kind(), Some(ErrorKind::Busy));
    builder.add(titles().remove(0)).expect("added");
    drop(builder);
    assert_eq!(made.open().expect("the old one").len(), 5);
    assert_eq!(names(made.folder.path()), ["index", "model"], "nothing else is left");
}

#[test]
fn an_index_that_is_replaced_while_it_is_opened_is_the_old_or_the_new_one() {
    let made = make();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..40 {
                let titles = if round % 2 == 0 { titles().split_off(5) } else { titles() };
                made.save(titles, &made.index()).expect("replaced");
            }
        });
        while !writer.is_finished() {
            // Without the exchange of folders there is a moment without a folder.
            match made.open() {
                Ok(searcher) => assert!([2, 5].contains(&searcher.len())),
                Err(error) if cfg!(target_os = "linux") => panic!("{error}"),
                Err(_) => {}
            }
        }
    });
    assert_eq!(names(made.folder.path()), ["index", "model"]);
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
        assert!(outcome.as_ref().map_or_else(|error| error.kind() == Some(ErrorKind::Busy), |_| true), "{outcome:?}");
    }
    made.open().expect("whole");
    assert_eq!(names(made.folder.path()), ["index", "model"]);
}

#[test]
fn what_is_no_index() {
    let made = make();
    assert_eq!(fault(Searcher::open(&made.folder.path().join("model"))), IndexFault::NotAFolder);
    assert_eq!(fault(Searcher::open(made.folder.path())), IndexFault::NoManifest);
    let error = Searcher::open(&made.folder.path().join("none")).expect_err("an error");
    assert!(error.to_string().contains("none: cannot open"), "{error}");
    fs::write(made.file("manifest.json"), vec![b' '; (1 << 20) + 1]).expect("written");
    assert_eq!(made.fault(), IndexFault::ManifestTooLarge { limit: 1 << 20, found: (1 << 20) + 1 });
    fs::remove_file(made.file("manifest.json")).expect("removed");
    fs::create_dir(made.file("manifest.json")).expect("made");
    assert_eq!(made.fault(), IndexFault::NoManifest);
}

#[test]
fn a_manifest_that_is_none() {
    let made = make();
    let good = fs::read_to_string(made.file("manifest.json")).expect("a manifest");
    let with = |text: &str| {
        fs::write(made.file("manifest.json"), text).expect("written");
        made.fault()
    };
    let deep = "[".repeat(500_000);
    for bad in ["", "{", "null", "7", "{}", "\u{fffd}", &deep, &good[..good.len() / 2], &good.replace("files", "fires")]
    {
        assert!(matches!(with(bad), IndexFault::BadManifest { .. }), "{bad:.40}");
    }
    for count in ["-1", "0.5", "99999999999999999999999", "\"5\"", "null"] {
        let text = good.replace("\"titles\": 5", &format!("\"titles\": {count}"));
        assert!(matches!(with(&text), IndexFault::BadManifest { .. }), "{count}");
    }
    // A newer version may look different, so only its number counts.
    let newer = with("{\"format\": 3, \"kind\": \"index\", \"contents\": 5}");
    assert_eq!(newer, IndexFault::Version { expected: 2, found: 3 });
    assert_eq!(with(&good.replace("\"index\"", "\"model\"")), IndexFault::Kind { found: "model".to_owned() });
    for (from, to) in [
        ("\"left_out\": 2", "\"left_out\": 3"),
        ("\"titles\": 5", "\"titles\": 4"),
        ("\"version\": \"", "\"version\": \"1"),
    ] {
        assert!(matches!(with(&good.replace(from, to)), IndexFault::Fingerprint { .. }), "{to}");
    }
}

#[test]
fn a_file_that_is_missing_cut_or_grown() {
    for name in ["model.safetensors", "titles.tsv", "vectors.npy"] {
        let made = make();
        let good = fs::read(made.file(name)).expect("a file");
        let expected = good.len() as u64;
        for found in [0, 1, expected - 1, expected + 1, 2 * expected] {
            let mut bytes = good.clone();
            bytes.resize(found as usize, b'x');
            fs::write(made.file(name), bytes).expect("written");
            assert_eq!(made.fault(), IndexFault::Length { name: name.to_owned(), expected, found });
        }
        fs::remove_file(made.file(name)).expect("removed");
        assert_eq!(made.fault(), IndexFault::MissingFile { name: name.to_owned() });
        fs::create_dir(made.file(name)).expect("made");
        assert_eq!(made.fault(), IndexFault::MissingFile { name: name.to_owned() });
        made.forge(|text| text.replace(name, &name.replace('.', "-")));
        assert_eq!(made.fault(), IndexFault::NotListed { name: name.to_owned() });
    }
}

#[test]
fn bits_flipped_at_random() {
    let made = make();
    let mut stream = rng::stream(1, "flips", 0);
    for name in ["titles.tsv", "vectors.npy", "model.safetensors", "manifest.json"] {
        let good = fs::read(made.file(name)).expect("a file");
        for _ in 0..100 {
            let mut bytes = good.clone();
            bytes[stream.random_range(0..good.len())] ^= 1 << stream.random_range(0..8);
            fs::write(made.file(name), bytes).expect("written");
            match (name, made.open()) {
                ("titles.tsv" | "vectors.npy", opened) => {
                    // The header of the vectors has only one form and is checked first.
                    assert!(matches!(fault(opened), IndexFault::Checksum { .. } | IndexFault::VectorHeader { .. }));
                }
                // A space may become a tab in the JSON; fingerprints cover everything that matters.
                (_, Ok(searcher)) => assert_eq!(searcher.len(), 5),
                (_, Err(error)) => assert!(!error.to_string().is_empty()),
            }
        }
        fs::write(made.file(name), good).expect("written");
    }
    made.open().expect("whole again");
}

#[test]
fn the_model_of_another_index() {
    let made = make();
    let old = fs::read(made.file("model.safetensors")).expect("a model");
    let other = model_bytes(2);
    made.forge_file("model.safetensors", &other);
    assert!(matches!(made.fault(), IndexFault::OtherModel { .. }));
    // A valid model with a changed weight.
    let mut changed = old.clone();
    // The low byte of a number, far from both ends.
    changed[(old.len() / 2) & !3] ^= 1;
    fs::write(made.file("model.safetensors"), &changed).expect("written");
    made.forge(|text| text.replace(&format!("\"bytes\": {},", other.len()), &format!("\"bytes\": {},", old.len())));
    match made.open() {
        Err(Error::Shared(fault)) if fault.kind() == ErrorKind::Damaged => {}
        other => panic!("{:?}", other.map(|_| ()).map_err(|error| error.to_string())),
    }
}

#[test]
fn counts_that_do_not_fit() {
    for count in [0u64, 4, 6, u64::MAX] {
        let made = make();
        made.forge(|text| text.replace("\"titles\": 5", &format!("\"titles\": {count}")));
        let name = "titles.tsv".to_owned();
        assert_eq!(made.fault(), IndexFault::TitleCount { name, expected: count, found: 5 });
    }
    for dimension in [0, 5, usize::MAX] {
        let made = make();
        made.forge(|text| text.replace("\"dimension\": 6", &format!("\"dimension\": {dimension}")));
        assert_eq!(made.fault(), IndexFault::Dimension { expected: 6, found: dimension });
    }
    let made = make();
    made.forge(|text| text.replace("\"bytes\": 248,", "\"bytes\": 18446744073709551615,"));
    assert!(matches!(made.fault(), IndexFault::Length { .. }));
}

#[test]
fn titles_that_are_none() {
    let made = make();
    let name = || "titles.tsv".to_owned();
    made.forge_file("titles.tsv", b"id\ttitle\na\tb\xff\n");
    assert_eq!(made.fault(), IndexFault::NotUtf8 { name: name(), line: 2 });
    made.forge_file("titles.tsv", b"id\ttitle\na\tb\nc\n");
    assert_eq!(
        made.fault(),
        IndexFault::BadLine { name: name(), line: 3, expected: TitleLine::Title { fields: 0 }, found: "c".to_owned() }
    );
    made.forge_file("titles.tsv", b"id\ttitle\na\tb\n");
    assert_eq!(made.fault(), IndexFault::TitleCount { name: name(), expected: 5, found: 1 });
}

#[test]
fn vectors_that_are_none() {
    let good = fs::read(make().file("vectors.npy")).expect("vectors");
    let first = 128;
    for bad in [f32::NAN, f32::INFINITY, 7.0] {
        let made = make();
        let mut bytes = good.clone();
        bytes[first + 4 * 6..][..4].copy_from_slice(&bad.to_le_bytes());
        made.forge_file("vectors.npy", &bytes);
        let expected = match bad.is_finite() {
            true => "found length 7.",
            false => "expected finite numbers, found ",
        };
        let fault = made.fault();
        assert!(matches!(&fault, IndexFault::Vectors(fault) if fault.to_string().contains(expected)), "{fault}");
        assert!(fault.to_string().contains("in vector 1 (counted from 0)"), "{fault}");
    }
    let text = String::from_utf8_lossy(&good[..first]).into_owned();
    assert!(text.contains("'shape': (5, 6)"), "{text}");
    let replaced = |from: &[u8], to: &[u8]| {
        let at = good.windows(from.len()).position(|part| part == from).expect("it");
        [&good[..at], to, &good[at + from.len()..]].concat()
    };
    for (bytes, expected) in [
        (
            replaced(b"(5, 6)", b"(6, 5)"),
            "expected the header {'descr': '<f4', 'fortran_order': False, 'shape': (5, 6), }",
        ),
        (replaced(b"<f4", b">f4"), "found `{'descr': '>f4', 'fortran_order': False, 'shape': (5, 6), }`"),
        (replaced(b"False", b"True "), "found `{'descr': '<f4', 'fortran_order': True , 'shape': (5, 6), }`"),
        (good[..good.len() - 4].to_vec(), "with 5 vectors of 6 numbers, found a file of 244 bytes"),
        (good[..40].to_vec(), "with 5 vectors of 6 numbers, found a file of 40 bytes"),
        (Vec::new(), "with 5 vectors of 6 numbers, found a file of 0 bytes"),
    ] {
        let made = make();
        made.forge_file("vectors.npy", &bytes);
        let fault = made.fault().to_string();
        assert!(fault.contains(expected), "{fault}");
    }
}

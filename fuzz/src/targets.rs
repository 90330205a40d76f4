//! A fuzz target for each kind of input from outside.

use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};

use clickvec::internals::clicks::ClickReader;
use clickvec::model::{Model, Side};
use clickvec::tables::read_titles;
use clickvec::train::Weighting;
use clickvec_eval::ranker::{self, Corpus, RankerSpec, Resources, System};
use clickvec_eval::read_queries;
use clickvec_eval::trec::{read_qrels, read_run};
use clickvec_eval::update::State;
use clickvec_eval::{TestSetFiles, read_test_set};
use clickvec_index::Index;
use clickvec_lab::SYSTEMS;
use clickvec_lab::simulate;
use clickvec_lab::table::{self, Plan};
use clickvec_logs::tables::{LogTable, Next, Options, Record};
use clickvec_tables::files;
use clickvec_transformer::Transformer;
use xxhash_rust::xxh3::xxh3_128;

use crate::repaired;
use crate::served::{changed, changes, config, copy, described, engine, http, requests};
use crate::tiny;
use crate::training::{checkpoint, scores, teacher};

/// Reads hostile bytes.
pub type Target = fn(&[u8]);

/// All targets, with the names of their corpora.
pub const TARGETS: &[(&str, Target)] = &[
    ("beir", beir),
    ("cache", cache),
    ("changes", changes),
    ("checkpoint", checkpoint),
    ("clicks", clicks),
    ("compressed", compressed),
    ("config", config),
    ("engine", engine),
    ("http", http),
    ("index", index),
    ("judged", judged),
    ("log", log),
    ("model", model),
    ("parquet", parquet),
    ("qrels", qrels),
    ("ranker", ranker),
    ("requests", requests),
    ("run", run),
    ("scores", scores),
    ("sheet", sheet),
    ("simulation", simulation),
    ("skip-thought", skip_thought),
    ("spec", spec),
    ("state", state),
    ("teacher", teacher),
    ("text", text),
    ("texts", texts),
    ("titles", titles),
    ("topics", topics),
    ("transformer", transformer),
    ("vectors", vectors),
];

/// A folder of this process, removed by `fuzz/run`.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| tempfile::Builder::new().prefix("clickvec-fuzz-").tempdir().unwrap().keep())
}

/// A file with these bytes.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// The contents of a frozen file of the repository.
pub fn frozen(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/frozen").join(name)
}

/// Prints nothing of a panic, and lets it be caught.
pub fn quiet() {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| ())));
}

/// Checks that a message is short and contains no characters that control a terminal.
pub fn told<T, E: std::fmt::Display>(result: Result<T, E>) -> Option<T> {
    result
        .map_err(|error| {
            let message = error.to_string();
            assert!(message.len() < 20_000 && !message.contains('\u{1b}'), "{message:?}");
        })
        .ok()
}

fn clicks(data: &[u8]) {
    let path = file("clicks", data);
    for field in ["title", "title+body"] {
        let Some(mut reader) = told(ClickReader::open(&path, field, Weighting::Log)) else { continue };
        while let Some(Some(click)) = told(reader.next()) {
            assert!(click.weight.is_finite() && click.weight >= 0.0);
        }
    }
}

fn judged(data: &[u8]) {
    let judged = &file("judged", data);
    told(read_test_set(&TestSetFiles { judged, topics: None, titles: None, field: "title" }));
}

fn titles(data: &[u8]) {
    let path = file("titles", data);
    for field in ["title", "text+title"] {
        told(read_titles(&path, field));
    }
}

/// The first byte picks the file of the folder.
fn beir(data: &[u8]) {
    let Some((first, data)) = data.split_first() else { return };
    let judged = &folder().join("beir");
    std::fs::create_dir_all(judged.join("qrels")).unwrap();
    let parts: [(&str, &[u8]); 3] = [
        ("queries.jsonl", b"{\"_id\":\"q\",\"text\":\"red shoes\"}\n"),
        ("corpus.jsonl", b"{\"_id\":\"d\",\"title\":\"Shoes\",\"text\":\"in red\"}\n"),
        ("qrels/test.tsv", b"query-id\tcorpus-id\tscore\nq\td\t1\n"),
    ];
    for (number, (name, good)) in parts.iter().enumerate() {
        let bytes = if number == usize::from(*first) % parts.len() { data } else { good };
        std::fs::write(judged.join(name), bytes).unwrap();
    }
    for field in ["title", "text+title"] {
        told(read_test_set(&TestSetFiles { judged, topics: None, titles: None, field }));
    }
}

/// The first byte picks the file of the folder; the second how it changes.
fn transformer(data: &[u8]) {
    let [first, second, data @ ..] = data else { return };
    let path = &folder().join("transformer");
    tiny::write(path);
    let name = ["config.json", "tokenizer.json", "model.safetensors"][usize::from(*first) % 3];
    let good = std::fs::read(path.join(name)).unwrap();
    std::fs::write(path.join(name), changed(&good, *second, data)).unwrap();
    let Some(transformer) = told(Transformer::load(path)) else { return };
    let vectors = transformer.encode(Side::Query, &["oak table, chairs", "", "\u{4e1c} cafe\u{301} \u{0}zz"]);
    assert_eq!(vectors.len(), 3 * transformer.dimension());
}

fn state(data: &[u8]) {
    let path = file("shop.update.json", data);
    if let Some(Some(state)) = told(State::read(&path)) {
        state.write(&path).unwrap();
        assert!(State::read(&path).unwrap().as_ref() == Some(&state));
    }
}

fn qrels(data: &[u8]) {
    told(read_qrels(data, Path::new("qrels")));
}

fn run(data: &[u8]) {
    told(read_run(data, Path::new("run")));
}

fn topics(data: &[u8]) {
    told(read_queries(&file("topics", data)));
}

fn compressed(data: &[u8]) {
    let Some(reader) = told(files::open(&file("compressed", data))) else { return };
    // A few bytes may decompress to as much as there is disk, so only stream them.
    let _ = std::io::copy(&mut reader.take(16 << 20), &mut std::io::sink());
}

fn model(data: &[u8]) {
    let path = folder().join("model");
    let Some(model) = repaired::file(&path, data, || Model::load(&path)) else { return };
    if model.dimension() < 10_000 {
        let vector = model.embedder(Side::Query).embed(&["red shoes", ""]).to_vec();
        assert_eq!(vector.len(), 2 * model.dimension());
    }
}

fn ranker(data: &[u8]) {
    let path = folder().join("ranker");
    let Some(stored) = repaired::file(&path, data, || ranker::load_with(&path, &SYSTEMS)) else { return };
    assert!(stored.score("red shoes", &["shoes in red", ""]).len() == 2);
}

/// The first byte says which file of the folder it is; from 128 on it is what says which shard an index is.
fn index(data: &[u8]) {
    let Some((first, data)) = data.split_first() else { return };
    if *first >= 128 {
        return shard(data);
    }
    let (folder, good) = (folder().join("index"), frozen("format-1/index"));
    static COPIED: OnceLock<()> = OnceLock::new();
    COPIED.get_or_init(|| copy(&good, &folder, "", &mut Vec::new()));
    let names = ["manifest.json", "model.safetensors", "titles.tsv", "vectors.npy"];
    let file = usize::from(*first) % names.len();
    for (number, name) in names.iter().enumerate() {
        let bytes = if number == file { data.to_vec() } else { std::fs::read(good.join(name)).unwrap() };
        // A new file: the old one may be mapped.
        std::fs::remove_file(folder.join(name)).unwrap();
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    // The manifest has the checksums of files and its own.
    let manifest = folder.join("manifest.json");
    let bytes = std::fs::read(&manifest).unwrap();
    repaired::file(&manifest, &bytes, || Index::open(&folder).map(drop));
}

/// What says which part of an index a folder is.
fn shard(data: &[u8]) {
    let (folder, good) = (folder().join("shard"), frozen("format-1/shards/1"));
    copy(&good, &folder, "", &mut Vec::new());
    std::fs::write(folder.join("shard.json"), data).unwrap();
    let manifest = described(&std::fs::read(good.join("manifest.json")).unwrap(), "shard.json", data);
    let opened = repaired::file(&folder.join("manifest.json"), &manifest, || Index::open(&folder));
    if let Some(searcher) = opened {
        let _ = (searcher.facts(), searcher.files());
    }
}

fn trained(spec: &str, name: &str, file: &Path) {
    let spec: RankerSpec = spec.parse().unwrap();
    let system = System::named(&spec.name, &SYSTEMS).unwrap();
    let corpus = Corpus::default();
    let resources = Resources { corpus: &corpus, files: &[(name.to_owned(), file.to_owned())] };
    told(system.train(&system.values(&spec).unwrap(), &resources, &mut |_| ()));
}

/// Text, binary or `.npy`, with a file of texts.
fn vectors(data: &[u8]) {
    trained("vectors", "file", &file("vectors.txt", data));
    file("vectors.npy.txt", b"red\nblue\n");
    trained("vectors", "file", &file("vectors.npy", data));
}

/// The first byte picks the file of the folder.
fn skip_thought(data: &[u8]) {
    let Some((first, data)) = data.split_first() else { return };
    let folder = folder().join("skip-thought");
    std::fs::create_dir_all(&folder).unwrap();
    let names = ["dictionary.txt", "utable.npy", "uni_skip.npz"];
    for (number, name) in names.iter().enumerate() {
        let good = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/skip-thought").join(format!("{number}-{name}"));
        let good = std::fs::read(good).unwrap();
        let bytes = if number == usize::from(*first) % names.len() { data } else { &good[1..] };
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    trained("skip-thought:bi=0", "encoder", &folder);
}

/// Judged titles.
fn sheet(data: &[u8]) {
    if let Err(message) = clickvec_cli::fuzzing::sheet(&file("sheet.csv", data)) {
        assert!(!message.is_empty() && message.len() < 20_000, "{message:?}");
    }
}

/// Raw logs in every format that is recognised by its bytes.
fn log(data: &[u8]) {
    let path = file("log", data);
    rows(&path, &Options::default());
    rows(&path, &Options { judgments: true, short_rows: true, ..Options::default() });
}

fn rows(path: &Path, options: &Options) {
    let Ok(mut table) = LogTable::open(path, options) else { return };
    let mut record = Record::default();
    for _ in 0..100_000 {
        match table.next(&mut record) {
            Ok(Next::End) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// A log in Parquet. The crate that reads it may panic, which is caught; what is not caught still ends the fuzzer.
fn parquet(data: &[u8]) {
    quiet();
    rows(&file("log.parquet", data), &Options::default());
}

/// What people type.
fn text(data: &[u8]) {
    static MODEL: OnceLock<Model> = OnceLock::new();
    let model = MODEL.get_or_init(|| Model::load(&frozen("format-1/clsm.safetensors")).unwrap());
    let text = String::from_utf8_lossy(data);
    let vector = model.embedder(Side::Query).embed(&[&text]).to_vec();
    assert!(vector.iter().all(|x| x.is_finite()));
}

/// Texts in a file, one a line, as commands read them: none is lost.
fn texts(data: &[u8]) {
    let path = file("texts", data);
    let Ok((texts, bad)) = clickvec_cli::fuzzing::texts(&path) else { return };
    let compressed = data.starts_with(&[0x1f, 0x8b])
        || data.get(1..4).is_some_and(|more| more[1..] == [0x4d, 0x18])
        || data.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    if !compressed {
        let lines = data.split_inclusive(|&byte| byte == b'\n').count();
        assert_eq!(texts + bad, lines);
    }
}

/// What `clickvec lab table` is asked for.
fn spec(data: &[u8]) {
    if let Err(message) = clickvec_cli::fuzzing::spec(&file("spec.toml", data)) {
        assert!(!message.is_empty() && message.len() < 20_000, "{message:?}");
    }
}

/// The truth in a folder that a simulation might replace, next to a file that may not be lost unless the truth names it.
fn simulation(data: &[u8]) {
    let folder = &folder().join("simulation");
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("truth.json"), data).unwrap();
    std::fs::write(folder.join("clicks.tsv"), "query\ttitle\tcount\n").unwrap();
    if told(simulate::check_output(folder, None)).is_some() {
        assert!(data.windows(10).any(|window| window == b"clicks.tsv" || window.contains(&b'\\')));
    }
}

/// A finished point in the folder that a table keeps. The first byte says which, and whether its checksum is mended.
fn cache(data: &[u8]) {
    static KEPT: OnceLock<(Plan, Vec<PathBuf>)> = OnceLock::new();
    let Some((first, data)) = data.split_first() else { return };
    let (kept, program) = (&folder().join("kept"), &file("program", b"clickvec"));
    let options = &table::Options { cache: kept, program };
    let go_on = &mut |_: table::Event<'_>| ControlFlow::Continue(());
    let (plan, points) = KEPT.get_or_init(|| {
        let judged = b"query\ttitle\tgrade\nred shoes\tshoes\t1\nred shoes\tred hat\t0\nsofa\tsofa\t2\nsofa\that\t0\n";
        let points = ["bm25", "bm25:b=0"].map(|point| point.parse().unwrap()).to_vec();
        let (topics, clicks, titles) = (None, None, None);
        let field = "title".to_owned();
        let data =
            table::Data { judged: file("kept.tsv", judged), topics, clicks, titles, field, weighting: Weighting::Log };
        let source = table::Source::Ranker(points);
        let entries = vec![table::Entry { name: "BM25".to_owned(), field: None, seeds: None, source }];
        let plan = Plan { data, folds: 2, seed: 1, seeds: 1, full: false, entries };
        table::make(&plan, options, go_on).unwrap();
        let files = std::fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path());
        let mut points: Vec<PathBuf> =
            files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
        points.sort();
        assert_eq!(points.len(), 2);
        (plan, points)
    });
    let mut bytes = data.to_vec();
    if first & 2 == 0 {
        bytes = format!("{{\"checksum\":\"{:032x}\",\"value\":", xxh3_128(data)).into_bytes();
        bytes.extend(data);
        bytes.push(b'}');
    }
    std::fs::write(&points[usize::from(first & 1)], bytes).unwrap();
    let made = told(table::make(plan, options, go_on)).expect("what is damaged is made again");
    assert!(made.rows[0].outcome.is_ok());
}

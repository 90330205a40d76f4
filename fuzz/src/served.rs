//! Targets for the search service and for what only it reads of an index.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clickvec::model::{Model, Side};
use clickvec::tables::Title;
use clickvec_index::IndexBuilder;
use clickvec_index::{Filter, Index, Mode, Request};
use clickvec_serve::{Config, Server, Tokens, fuzzing};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use crate::repaired;
use crate::targets::{file, folder, frozen};

/// A token of those who may reload.
const TOKEN: &str = "a-token-for-administration";

/// Makes an index with words, fields, lists and canaries. [`changes`] has the other parts.
fn make(path: &Path) {
    let model = Model::load(&frozen("format-1/lstm.safetensors")).unwrap();
    let mut builder = IndexBuilder::with_fields(&model, path, &["brand".to_owned()]).unwrap();
    for (number, line) in fs::read_to_string(frozen("format-1/titles.tsv")).unwrap().lines().enumerate().skip(1) {
        let (id, title) = line.split_once('\t').unwrap();
        let title = title.split('\t').next().unwrap_or_default();
        let title = Title { id: id.to_owned(), title: title.to_owned() };
        builder.add_with_fields(title, &[format!("b{}", number % 3)]).unwrap();
    }
    clickvec_index::fuzzing::finish_with_lists(builder, &model).unwrap();
}

/// The service that is asked; it never ends.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let index = folder().join("served.index");
        make(&index);
        let mut config = Config::new(vec![("shop".to_owned(), index)]);
        config.listen.set_port(0);
        config.limits.watch = std::time::Duration::ZERO;
        config.limits.idle = std::time::Duration::from_secs(5);
        config.tokens = Tokens::read(&file("tokens", format!("admin {TOKEN}").as_bytes())).unwrap();
        config.record = Some(folder().join("record"));
        // As the corpus has it.
        config.hosts = vec!["x".to_owned()];
        Server::start(config, std::io::sink()).unwrap()
    })
}

/// Sends bytes, and looks at the first answer. There may be none, if the bytes are no request.
fn answered(bytes: &[u8], is_whole: bool) -> Option<u16> {
    let answer = fuzzing::feed(server(), bytes, is_whole);
    if answer.is_empty() {
        return None;
    }
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head");
    let head = std::str::from_utf8(&answer[..end]).expect("a head in UTF-8");
    let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)).expect("a status");
    let status: u16 = status.parse().expect("a status");
    assert!(status != 500, "{}", String::from_utf8_lossy(&answer));
    Some(status)
}

/// Whatever a client may send.
pub fn http(data: &[u8]) {
    answered(data, false);
}

/// A request for one of the routes: the first byte says which, the rest is its body or what follows the `?`.
pub fn requests(data: &[u8]) {
    let Some((first, data)) = data.split_first() else { return };
    const POSTED: [&str; 7] =
        ["/search", "/admin/rollback", "/explain", "/v1/embeddings", "/click", "/judge", "/admin/reload"];
    let head = format!("Host: x\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n");
    let request = match POSTED.get(usize::from(*first) % (POSTED.len() + 1)) {
        Some(path) => {
            let length = data.len();
            let head = format!(
                "POST {path} HTTP/1.1\r\n{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
            );
            [head.as_bytes(), data].concat()
        }
        None => {
            let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"=&+%_-.".contains(byte);
            let coded = |byte: &u8| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
            let query: String = data.iter().map(coded).collect();
            format!("GET /search?{query} HTTP/1.1\r\n{head}\r\n").into_bytes()
        }
    };
    let status = answered(&request, true);
    // The head is bounded, and so is a body.
    assert!(status.is_some(), "no answer");
}

/// Makes a folder of records with this file alone.
fn record(name: &str, data: &[u8]) -> PathBuf {
    let path = folder().join("some-record");
    let _ = fs::remove_dir_all(&path);
    fs::create_dir(&path).unwrap();
    fs::write(path.join(name), data).unwrap();
    path
}

/// What a service is told by files. The first byte says by which.
pub fn config(data: &[u8]) {
    let Some((first, data)) = data.split_first() else { return };
    let short = |message: String| assert!(message.len() < 20_000 && !message.contains('\u{1b}'), "{message:?}");
    match first % 4 {
        0 => drop(Tokens::read(&file("some.tokens", data)).map_err(|error| short(error.to_string()))),
        1 => drop(fuzzing::records(&record("judged.tsv", data)).map_err(|error| short(error.to_string()))),
        2 => drop(clickvec_cli::fuzzing::canaries(&file("canaries.tsv", data)).map_err(short)),
        _ => {
            let record = record("clicks.jsonl", data);
            if fuzzing::records(&record).is_ok() {
                // Whole lines stay in place, the rest goes into a file beside, and no byte is lost.
                let clicks = fs::read(record.join("clicks.jsonl")).unwrap();
                assert!(clicks.is_empty() || clicks.ends_with(b"\n"));
                let beside = fs::read_dir(&record).unwrap().map(|entry| entry.unwrap().path());
                let damaged = beside.filter(|path| path.extension().is_some_and(|extension| extension == "damaged"));
                assert!([clicks, damaged.flat_map(|path| fs::read(path).unwrap()).collect()].concat() == data);
            }
        }
    }
}

/// A file of an index that only the service reads. The first byte says which; the second whether the rest takes its place or
/// says which bytes change, each in two bytes for its place and one for what changes in it.
pub fn engine(data: &[u8]) {
    static GOOD: OnceLock<(Vec<String>, Value)> = OnceLock::new();
    let [first, second, data @ ..] = data else { return };
    let path = &folder().join("changed.index");
    let manifest = path.join("manifest.json");
    let (names, good) = GOOD.get_or_init(|| {
        make(path);
        let good: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
        let parts = good["contents"]["parts"].as_object().unwrap();
        let mut names: Vec<String> =
            parts.values().flat_map(|part| part["files"].as_object().unwrap().keys().cloned()).collect();
        names.retain(|name| name != "model.safetensors");
        names.sort();
        for name in &names {
            fs::copy(path.join(name), folder().join(name.replace('/', "-"))).unwrap();
        }
        (names, good)
    });
    let name = &names[usize::from(*first) % names.len()];
    let kept = fs::read(folder().join(name.replace('/', "-"))).unwrap();
    let bytes = changed(&kept, *second, data);
    replace(&path.join(name), &bytes);
    let mut told = good.clone();
    tell(&mut told, name, &bytes);
    if let Some(engine) = repaired::file(&manifest, &serde_json::to_vec(&told).unwrap(), || Index::open(path)) {
        look(&engine);
    }
    replace(&path.join(name), &kept);
}

/// The folder of an update.
const UPDATE: &str = "changes-000001";

/// A file of an index that fuses three and was updated, in whose folder is another index. The bytes are as in [`engine`].
pub fn changes(data: &[u8]) {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let [first, second, data @ ..] = data else { return };
    let (good, path) = (&frozen("format-1/three"), &folder().join("updated.index"));
    let names = NAMES.get_or_init(|| {
        let mut names = Vec::new();
        copy(good, path, "", &mut names);
        names.retain(|name| !["manifest.json", "model.safetensors"].contains(&name.as_str()));
        names.sort();
        names
    });
    let kept = |name: &str| fs::read(good.join(name)).unwrap();
    let read = |name: &str| fs::read(path.join(name)).unwrap();
    let name = names[usize::from(*first) % names.len()].as_str();
    let (outer, inner, list) = ("manifest.json", format!("{UPDATE}/manifest.json"), format!("{UPDATE}.json"));
    let bytes = changed(&kept(name), *second, data);
    replace(&path.join(name), &bytes);
    // From the inside to the outside: the manifest of the update, the list that has its fingerprint, and the manifest of the index.
    if let Some(of_update) = name.strip_prefix(&format!("{UPDATE}/")) {
        let told = if name == inner { bytes.clone() } else { described(&kept(&inner), of_update, &bytes) };
        repaired::file(&path.join(&inner), &told, || Index::open(path));
        if let (Some(old), Some(new)) = (fingerprint(&kept(&inner)), fingerprint(&read(&inner))) {
            let told = String::from_utf8(kept(&list)).unwrap().replace(&old, &new);
            replace(&path.join(&list), told.as_bytes());
        }
    }
    let told = described(&described(&kept(outer), name, &bytes), &list, &read(&list));
    if let Some(engine) = repaired::file(&path.join(outer), &told, || Index::open(path)) {
        look(&engine);
    }
    for name in [name, &inner, &list, outer] {
        replace(&path.join(name), &kept(name));
    }
}

/// Copies a folder with the folders in it, and lists its files with `prefix` before their names.
pub fn copy(from: &Path, to: &Path, prefix: &str, names: &mut Vec<String>) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let target = to.join(&name);
        if entry.path().is_dir() {
            copy(&entry.path(), &target, &format!("{prefix}{name}/"), names);
        } else {
            fs::copy(entry.path(), target).unwrap();
            names.push(format!("{prefix}{name}"));
        }
    }
}

/// The bytes of a file after a change: `how` says whether `data` takes their place or says which of them change.
pub fn changed(kept: &[u8], how: u8, data: &[u8]) -> Vec<u8> {
    if how % 2 == 0 {
        return data.to_vec();
    }
    data.chunks_exact(3).fold(kept.to_vec(), |mut bytes, change| {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(place) {
            *byte ^= change[2];
        }
        bytes
    })
}

/// Puts another file in the place of one that may be mapped: that one must not change.
fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Writes the length and the checksum of a file into a manifest, if it has the file.
fn tell(manifest: &mut Value, name: &str, bytes: &[u8]) {
    for part in manifest["contents"]["parts"].as_object_mut().unwrap().values_mut() {
        if let Some(file) = part["files"].get_mut(name) {
            file["bytes"] = bytes.len().into();
            file["xxh3"] = format!("{:032x}", xxh3_128(bytes)).into();
        }
    }
}

/// A manifest with the length and the checksum of a file.
pub fn described(manifest: &[u8], name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut manifest: Value = serde_json::from_slice(manifest).unwrap();
    tell(&mut manifest, name, bytes);
    serde_json::to_vec(&manifest).unwrap()
}

/// The fingerprint that a manifest gives, if it is one.
fn fingerprint(manifest: &[u8]) -> Option<String> {
    Some(serde_json::from_slice::<Value>(manifest).ok()?.get("fingerprint")?.as_str()?.to_owned())
}

/// Asks everything; what is damaged must be an error.
fn look(engine: &Index) {
    let _ = engine.check();
    let is = |value: &str| format!("brand={value}").parse::<Filter>().unwrap();
    for filters in [Vec::new(), vec![is("b1")], vec!["brand:0..2".parse().unwrap()]] {
        for mode in Mode::all() {
            let request = Request::new("red shoes with kit", mode).with_k(5).with_filters(filters.clone());
            if let Ok(answer) = engine.search(&request) {
                assert!(answer.hits.len() <= 5);
            }
        }
    }
    let ids: BTreeMap<String, String> = engine
        .search(&Request::new("white", Mode::Fused))
        .map(|answer| answer.hits.into_iter().map(|hit| (hit.id, hit.title)).collect())
        .unwrap_or_default();
    for (id, _) in ids.iter().take(2) {
        let _ = engine.get(id);
        let _ = engine.explain("white", id);
    }
    let _ = engine.embed(&["white"], Side::Title);
}

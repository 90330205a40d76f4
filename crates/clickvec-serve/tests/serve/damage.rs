//! Indexes that were damaged before the service started.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clickvec_index::{Document, Updater};

use crate::harness::{ADMIN, SHOES, Service, with_admin, write_index, write_whole_index};

/// All files of an index, by their names in it.
fn files(path: &Path) -> Vec<String> {
    let (mut names, mut folders) = (Vec::new(), vec![PathBuf::new()]);
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

/// An index with an update, so that it has every kind of file.
fn write_updated_index(path: &Path) {
    write_whole_index(path, &SHOES);
    let mut updater = Updater::open(path).unwrap();
    let new = Document { id: "t7".to_owned(), title: "Leather sofa, brown".to_owned(), ..Document::default() };
    updater.put(&new).unwrap();
    updater.delete("t5");
    updater.commit().unwrap();
}

/// Changes a byte near the end of a file, where numbers and texts are. It is replaced and not written over, since a process may have it mapped.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let place = bytes.len().saturating_sub(2);
    bytes[place] ^= 0x10;
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Waits until something holds.
#[track_caller]
fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "expected {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn files_of(service: &Service) -> String {
    service.get("/indexes").is(200)["indexes"][0]["current"]["files"].as_str().unwrap().to_owned()
}

#[test]
fn an_index_is_read_as_a_whole_after_the_start() {
    let service = Service::with(|config, _| write_updated_index(&config.indexes[0].1));
    until("the index to be read", || files_of(&service) == "sound");
    service.get("/health/ready").is(200);
    let figures = service.get("/metrics").text();
    assert!(figures.contains("clickvec_index_checked{index=\"shop\"} 1"), "{figures}");
    assert!(figures.contains("clickvec_index_damaged{index=\"shop\"} 0"), "{figures}");
    let log = service.stop();
    assert!(log.contains("\"event\":\"check\"") && log.contains("\"result\":\"sound\""), "{log}");
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn a_damaged_byte_in_any_file_stops_the_answers_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    write_updated_index(&folder.path().join("index"));
    let names: Vec<String> = files(&folder.path().join("index"));
    assert!(names.len() > 30, "{names:?}");
    let full = |name: &&String| fs::metadata(folder.path().join("index").join(name)).unwrap().len() > 0;
    let names: Vec<&String> = names.iter().filter(full).collect();
    let started: usize = std::thread::scope(|scope| {
        let some = names.chunks(names.len().div_ceil(6));
        let count = |names: &[&String]| names.iter().filter(|name| is_refused_later(name)).count();
        let threads: Vec<_> = some.map(|names| scope.spawn(move || count(names))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(started > 10, "{started}");
}

/// Starts a service of an index with a damaged file. Returns whether it started, which it does if nothing reads the damaged place before the first answer.
fn is_refused_later(name: &str) -> bool {
    let started = Service::try_with(|config, _| {
        write_updated_index(&config.indexes[0].1);
        damage(&config.indexes[0].1.join(name));
    });
    let short = Path::new(name).file_name().unwrap().to_str().unwrap();
    let service = match started {
        Ok(service) => service,
        Err(error) => {
            let error = error.to_string();
            assert!(error.contains(short), "{name}: {error}");
            return false;
        }
    };
    until(name, || service.get("/health/ready").status == 503);
    service.get("/health/ready").refuses(503, name);
    service.get("/health/live").is(200);
    for query in ["/search?q=sofa", "/search?q=sofa&mode=words"] {
        service.get(query).refuses(503, name);
    }
    service.post("/v1/embeddings", r#"{"input":"sofa","model":"shop"}"#).refuses(503, name);
    service.post("/explain", r#"{"query":"sofa","id":"t1"}"#).refuses(503, name);
    assert_eq!(files_of(&service), "damaged");
    assert!(service.get("/metrics").text().contains("clickvec_index_damaged{index=\"shop\"} 1"), "{name}");
    let log = service.stop();
    assert!(log.contains("\"event\":\"check\"") && log.contains(short), "{name}: {log}");
    true
}

/// Changes the answer to the first query that an index keeps, with checksums that fit.
fn change_a_canary(path: &Path, change: impl Fn(&mut serde_json::Value)) {
    let mut canaries: serde_json::Value =
        serde_json::from_slice(&fs::read(path.join("canaries.json")).unwrap()).unwrap();
    change(&mut canaries[0]);
    fs::remove_file(path.join("canaries.json")).unwrap();
    fs::write(path.join("canaries.json"), canaries.to_string()).unwrap();
    clickvec_index::put_part(path, "canaries", "json", &["canaries.json"]).unwrap();
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn an_index_that_answers_otherwise_than_it_keeps_is_refused() {
    let add = |score: &mut serde_json::Value| *score = (score.as_f64().unwrap() + 0.1).into();
    let changes: [&dyn Fn(&mut serde_json::Value); 4] = [
        &|canary| add(&mut canary["vectors"][0]),
        &|canary| add(&mut canary["words"][0]),
        &|canary| drop(canary["vectors"].as_array_mut().unwrap().pop()),
        &|canary| canary["query"] = "zebra".into(),
    ];
    for change in changes {
        let service = with_admin(|config| write_whole_index(&config.indexes[0].1, &SHOES));
        let reload = || service.ask("POST", "/admin/reload", &[ADMIN], b"");
        write_whole_index(&service.index(), &SHOES[1..]);
        change_a_canary(&service.index(), change);
        reload().refuses(409, "as when the index was made");
        assert_eq!(service.get("/search?q=sofa").is(200)["total"], 6);
        // What changes nothing is taken.
        write_whole_index(&service.index(), &SHOES[1..]);
        change_a_canary(&service.index(), |_| ());
        assert_eq!(reload().is(200)["indexes"][0]["result"], "swapped");
        // It starts, and no more than that.
        let started = Service::with(|config, _| {
            write_whole_index(&config.indexes[0].1, &SHOES);
            change_a_canary(&config.indexes[0].1, change);
        });
        until("the answers to be compared", || started.get("/health/ready").status == 503);
        started.get("/search?q=sofa").refuses(503, "other answers than it keeps");
    }
}

/// The files of a copy are others than those that the service has read, though their index says that they are the same.
#[test]
fn a_copy_with_an_update_is_read_as_a_whole_before_it_is_taken() {
    let service = with_admin(|config| config.limits.watch = Duration::ZERO);
    let copy = || {
        let (from, to) = (service.index(), service.path("copy"));
        let _ = fs::remove_dir_all(&to);
        for name in files(&from) {
            fs::create_dir_all(to.join(&name).parent().unwrap()).unwrap();
            fs::copy(from.join(&name), to.join(&name)).unwrap();
        }
        let mut updater = Updater::open(&to).unwrap();
        updater.put(&Document { id: "t9".to_owned(), title: "Sofa".to_owned(), ..Document::default() }).unwrap();
        updater.commit().unwrap();
        to
    };
    let exchange = |copy: &Path| {
        fs::rename(service.index(), service.path("old")).unwrap();
        fs::rename(copy, service.index()).unwrap();
        let reply = service.ask("POST", "/admin/reload", &[ADMIN], b"");
        fs::rename(service.index(), service.path("new")).unwrap();
        fs::rename(service.path("old"), service.index()).unwrap();
        fs::remove_dir_all(service.path("new")).unwrap();
        reply
    };
    let shared: Vec<String> = files(&service.index()).into_iter().filter(|name| name != "manifest.json").collect();
    for name in shared {
        let copy = copy();
        damage(&copy.join(&name));
        exchange(&copy).refuses(409, &name);
    }
    exchange(&copy()).is(200);
}

#[test]
fn a_sound_index_takes_the_place_of_a_damaged_one() {
    let service = with_admin(|config| damage(&config.indexes[0].1.join("vectors.npy")));
    until("the damage to be found", || service.get("/health/ready").status == 503);
    let reload = || service.ask("POST", "/admin/reload", &[ADMIN], b"");
    reload().refuses(409, "vectors.npy");
    service.get("/search?q=sofa").refuses(503, "`vectors.npy`");
    // The same index again, with the same fingerprint.
    write_index(&service.index(), &SHOES);
    assert_eq!(reload().is(200)["indexes"][0]["result"], "swapped");
    service.get("/health/ready").is(200);
    service.get("/search?q=sofa").is(200);
    assert_eq!(files_of(&service), "sound");
    service.get("/search?q=sofa&generation=previous").refuses(503, "`vectors.npy`");
    service.ask("POST", "/admin/rollback", &[ADMIN], b"").refuses(409, "damaged");
}

#[test]
fn only_the_damaged_one_of_several_indexes_answers_no_more() {
    let service = Service::with(|config, folder| {
        let other = folder.join("other.index");
        write_index(&other, &SHOES[..3]);
        damage(&other.join("vectors.npy"));
        config.indexes.push(("other".to_owned(), other));
    });
    until("the damage to be found", || service.get("/health/ready").status == 503);
    service.get("/health/ready").refuses(503, "`other`");
    service.get("/search?q=sofa&index=other").refuses(503, "`vectors.npy`");
    service.get("/search?q=sofa").is(200);
}

#[test]
fn an_index_that_is_replaced_while_it_is_read_is_no_damage() {
    let service = Service::with(|config, _| config.limits.watch = Duration::from_millis(10));
    for round in 0..20 {
        write_index(&service.index(), &SHOES[..2 + round % 4]);
        service.get("/health/ready").is(200);
    }
    until("the last index", || service.get("/search?q=sofa").is(200)["total"] == 5 && files_of(&service) == "sound");
    let log = service.stop();
    assert!(!log.contains("damaged"), "{log}");
}

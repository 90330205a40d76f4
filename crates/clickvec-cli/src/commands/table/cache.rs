//! What is finished already: a file for each grid point, under a hash of all that it follows from.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow, bail};
use clickvec::eval::{Judgments, Scores};
use clickvec::math::Level;
use clickvec::model::Model;
use clickvec::train::written_paths;
use clickvec::{Error, files};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// A system with one set of parameters, trained and scored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Point {
    /// Its parameters, as they were asked for.
    pub(super) parameters: String,
    /// Of each query's judged titles.
    pub(super) scores: Scores,
    /// Of the model that it stands on, which may be other points' too.
    pub(super) training: Training,
    pub(super) score_seconds: f64,
    /// What it takes on disk once it is saved.
    pub(super) bytes: u64,
}

/// How a model was trained, kept beside it while and after that happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Training {
    pub(super) seconds: f64,
    /// Mean loss of a pair in each epoch, where there are epochs.
    pub(super) losses: Vec<f64>,
    /// The most memory that the process had meanwhile, where that is known.
    pub(super) peak_bytes: Option<u64>,
    /// Whether the files that it read were looked at once it was done, and were still those of the model's name.
    #[serde(default)]
    pub(super) checked: bool,
}

/// The folder of finished points.
pub(super) struct Cache {
    folder: PathBuf,
    /// Hash of the program, and the level of its vector instructions.
    program: String,
    /// Of files that were hashed already.
    hashes: HashMap<PathBuf, Hashed>,
    /// Held as long as the table is made: two at once would wait for each other's models.
    _lock: File,
}

/// A file or a folder, as it was when its bytes were hashed.
struct Hashed {
    hash: String,
    stamps: Vec<Stamp>,
}

/// What changes with a file: its length, and when it was written.
type Stamp = (PathBuf, u64, SystemTime);

impl Cache {
    /// Makes the folder, and keeps other processes out.
    pub(super) fn open(folder: &Path) -> Result<Cache> {
        files::create_folder(&folder.join("models"))?;
        let path = folder.join("lock");
        let lock = File::create(&path).map_err(|source| Error::io(&path, "make", source))?;
        if lock.try_lock().is_err() {
            bail!(
                "{}: another process makes a table there; wait for it or name another folder with --cache",
                folder.display()
            );
        }
        let mut cache =
            Cache { folder: folder.to_owned(), program: String::new(), hashes: HashMap::new(), _lock: lock };
        let program = std::env::current_exe().context("cannot find the program itself")?;
        cache.program = format!("{} {}", cache.hash_of(&program)?, Level::current().name());
        Ok(cache)
    }

    /// The hash of a file's bytes; of a folder's, file by file in the order of their names. It is the one from the first
    /// look: see [`Cache::refuse_changed`].
    pub(super) fn hash_of(&mut self, path: &Path) -> Result<String> {
        if let Some(known) = self.hashes.get(path) {
            return Ok(known.hash.clone());
        }
        let files = self.files_of(path)?;
        let stamps = stamps(&files)?;
        let hash = hash(path, &files)?;
        self.hashes.insert(path.to_owned(), Hashed { hash: hash.clone(), stamps });
        Ok(hash)
    }

    /// That files which were hashed are still what they were: what was read from them meanwhile follows from their hashes.
    pub(super) fn refuse_changed(&self, files: &[(&str, Option<&Path>)]) -> Result<()> {
        for path in files.iter().filter_map(|(_, file)| *file) {
            let Some(known) = self.hashes.get(path) else { continue };
            let files = self.files_of(path)?;
            if stamps(&files)? != known.stamps && hash(path, &files)? != known.hash {
                return Err(changed(path));
            }
        }
        Ok(())
    }

    /// A file; of a folder those in it and below it, but for the cache's own.
    fn files_of(&self, path: &Path) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        match path.is_dir() {
            true => {
                let mut above = self.folder.canonicalize().into_iter().collect();
                add_files(path, &mut above, &mut files).map_err(|source| Error::io(path, "read", source))?;
            }
            false => files.push(path.to_owned()),
        }
        Ok(files)
    }

    /// The name of what follows from the program, from files, each under what it serves as, and from `more`.
    pub(super) fn key(&mut self, files: &[(&str, Option<&Path>)], more: &[&str]) -> Result<String> {
        let mut text = self.program.clone();
        for (role, file) in files {
            if let Some(file) = file {
                let hash = self.hash_of(file)?;
                let _ = write!(text, "\n{role} {hash}");
            }
        }
        for part in more {
            let _ = write!(text, "\n{part}");
        }
        Ok(format!("{:032x}", xxh3_128(text.as_bytes())))
    }

    /// Where the model of this name is.
    pub(super) fn model(&self, key: &str) -> PathBuf {
        self.folder.join("models").join(format!("{key}.safetensors"))
    }

    /// The neural model of this name, if there is one; one that is damaged is removed, so that it is trained anew, and so is
    /// one whose table was killed before it knew whether the log had changed.
    pub(super) fn load_model(&self, key: &str) -> Result<Option<Model>> {
        let path = self.model(key);
        if !path.exists() {
            return Ok(None);
        }
        if !self.training(key).checked {
            self.remove_model(key)?;
            return Ok(None);
        }
        match Model::load(&path) {
            Ok(model) => Ok(Some(model)),
            Err(Error::File { .. }) => {
                std::fs::remove_file(&path).map_err(|source| Error::io(&path, "remove", source))?;
                self.put_training(key, &Training::default())?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a model, or what there is of it.
    pub(super) fn remove_model(&self, key: &str) -> Result<()> {
        let path = self.model(key);
        for path in written_paths(&path).iter().chain([&path.with_extension("json")]) {
            match std::fs::remove_file(path) {
                Err(source) if source.kind() != ErrorKind::NotFound => {
                    return Err(Error::io(path, "remove", source).into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    /// The finished point of this name, if there is one and it fits the judgments; one that is damaged is made anew.
    pub(super) fn get(&self, key: &str, judgments: &Judgments) -> Option<Point> {
        let bytes = std::fs::read(self.file(key)).ok()?;
        let point: Point = serde_json::from_slice(&bytes).ok()?;
        let fits = point.scores.len() == judgments.queries.len()
            && point.scores.iter().zip(&judgments.queries).all(|(scores, query)| scores.len() == query.titles.len());
        fits.then_some(point)
    }

    /// How the model of this name was trained, as far as is known.
    pub(super) fn training(&self, key: &str) -> Training {
        let bytes = std::fs::read(self.model(key).with_extension("json")).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Keeps how a model was trained.
    pub(super) fn put_training(&self, key: &str, training: &Training) -> Result<()> {
        write_json(&self.model(key).with_extension("json"), training)
    }

    /// Keeps a finished point.
    pub(super) fn put(&self, key: &str, point: &Point) -> Result<()> {
        write_json(&self.file(key), point)
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let bytes = serde_json::to_vec(value).map_err(|error| Error::io(path, "write", error.into()))?;
    Ok(files::write_bytes_atomically(path, &bytes)?)
}

/// That a file is another than it was.
pub(super) fn changed(path: &Path) -> anyhow::Error {
    anyhow!(
        "{}: expected it to stay as it is while the table is made, found it changed; make the table again",
        path.display()
    )
}

/// Of each file.
pub(super) fn stamps(files: &[PathBuf]) -> Result<Vec<Stamp>> {
    let stamp = |file: &PathBuf| -> std::io::Result<Stamp> {
        let metadata = file.metadata()?;
        Ok((file.clone(), metadata.len(), metadata.modified()?))
    };
    files.iter().map(|file| Ok(stamp(file).map_err(|source| Error::io(file, "read", source))?)).collect()
}

/// Adds every file in a folder, and in folders in it, in the order of their names. A folder of `above` is left out: a link
/// to one goes round in a circle.
fn add_files(folder: &Path, above: &mut Vec<PathBuf>, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let itself = folder.canonicalize()?;
    if above.contains(&itself) {
        return Ok(());
    }
    above.push(itself);
    let mut entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    entries.sort();
    for entry in entries {
        match entry.is_dir() {
            true => add_files(&entry, above, files)?,
            false if entry.is_file() => files.push(entry),
            false => {}
        }
    }
    above.pop();
    Ok(())
}

/// Hashes the bytes of a file, or those of the files of a folder with their names.
fn hash(path: &Path, files: &[PathBuf]) -> Result<String> {
    let mut hash = Xxh3::new();
    let mut buffer = vec![0; 1 << 16];
    for file in files {
        if let Ok(name) = file.strip_prefix(path) {
            hash.update(name.as_os_str().as_encoded_bytes());
        }
        let failed = |source| Error::io(file, "read", source);
        let mut bytes = File::open(file).map_err(failed)?;
        loop {
            match bytes.read(&mut buffer).map_err(failed)? {
                0 => break,
                read => hash.update(&buffer[..read]),
            }
        }
    }
    Ok(format!("{:032x}", hash.digest128()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_program_file_role_or_parameter_is_another_point() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (name, bytes) in [("judged", "a"), ("same", "a"), ("other", "b")] {
            std::fs::write(path(name), bytes).unwrap();
        }
        let mut cache = Cache::open(&path("cache")).unwrap();
        let mut key = |program: &str, files: &[(&str, Option<&str>)], more: &[&str]| {
            cache.program = program.to_owned();
            let files: Vec<(&str, Option<PathBuf>)> =
                files.iter().map(|(role, name)| (*role, name.map(path))).collect();
            let files: Vec<(&str, Option<&Path>)> = files.iter().map(|(role, path)| (*role, path.as_deref())).collect();
            cache.key(&files, more).unwrap()
        };
        let judged = [("judged", Some("judged"))];
        let first = key("1 avx2", &judged, &["title", "bm25", "k1=0.9"]);
        // What a file is called does not matter, only what is in it.
        assert_eq!(first, key("1 avx2", &[("judged", Some("same")), ("clicks", None)], &["title", "bm25", "k1=0.9"]));
        let all = [
            key("2 avx2", &judged, &["title", "bm25", "k1=0.9"]),
            key("1 plain", &judged, &["title", "bm25", "k1=0.9"]),
            key("1 avx2", &[("judged", Some("other"))], &["title", "bm25", "k1=0.9"]),
            key("1 avx2", &[("clicks", Some("judged"))], &["title", "bm25", "k1=0.9"]),
            key("1 avx2", &[judged[0], ("clicks", Some("judged"))], &["title", "bm25", "k1=0.9"]),
            key("1 avx2", &judged, &["title", "bm25", "k1=1"]),
            key("1 avx2", &judged, &["body", "bm25", "k1=0.9"]),
            key("1 avx2", &judged, &["title", "bm25"]),
            first,
        ];
        let distinct: std::collections::HashSet<&String> = all.iter().collect();
        assert_eq!(distinct.len(), all.len(), "{all:?}");
    }

    #[test]
    fn this_program_and_what_lies_in_a_folder_count() {
        let folder = tempfile::tempdir().unwrap();
        let mut cache = Cache::open(&folder.path().join("cache")).unwrap();
        let program = cache.hash_of(&std::env::current_exe().unwrap()).unwrap();
        assert!(cache.program.starts_with(&program), "{}", cache.program);
        assert!(cache.program.ends_with(Level::current().name()), "{}", cache.program);
        let encoder = |name: &str, files: &[(&str, &str)]| {
            let encoder = folder.path().join(name);
            std::fs::create_dir(&encoder).unwrap();
            files.iter().for_each(|(file, bytes)| std::fs::write(encoder.join(file), bytes).unwrap());
            encoder
        };
        let all = [
            encoder("a", &[("x", "1"), ("y", "2")]),
            encoder("b", &[("x", "1"), ("y", "3")]),
            encoder("c", &[("x", "1"), ("z", "2")]),
            encoder("d", &[("x", "1")]),
        ];
        let hashes: std::collections::HashSet<String> = all.iter().map(|path| cache.hash_of(path).unwrap()).collect();
        assert_eq!(hashes.len(), 4);
        let again = encoder("e", &[("y", "2"), ("x", "1")]);
        assert_eq!(cache.hash_of(&again).unwrap(), cache.hash_of(&all[0]).unwrap());
        // What lies deeper counts too, but not the cache itself.
        let [deep, deeper] = ["f", "g"].map(|name| encoder(name, &[("x", "1"), ("y", "2")]));
        for (folder, text) in [(&deep, "3"), (&deeper, "4")] {
            std::fs::create_dir(folder.join("below")).unwrap();
            std::fs::write(folder.join("below/z"), text).unwrap();
        }
        let hashes = [&all[0], &deep, &deeper].map(|path| cache.hash_of(path).unwrap());
        assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2], "{hashes:?}");
        let with_cache = folder.path();
        cache.hash_of(with_cache).unwrap();
        std::fs::write(with_cache.join("cache/models/x"), "new").unwrap();
        cache.refuse_changed(&[("load", Some(with_cache))]).unwrap();
        std::fs::write(deeper.join("below/z"), "5").unwrap();
        cache.refuse_changed(&[("load", Some(with_cache))]).unwrap_err();
    }

    #[test]
    fn a_file_that_changes_is_told_and_one_that_is_written_alike_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let clicks = folder.path().join("clicks.tsv");
        std::fs::write(&clicks, "a").unwrap();
        let mut cache = Cache::open(&folder.path().join("cache")).unwrap();
        let files = [("clicks", Some(clicks.as_path())), ("titles", None)];
        cache.key(&files, &[]).unwrap();
        cache.refuse_changed(&files).unwrap();
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        let write = |text: &str| {
            std::fs::write(&clicks, text).unwrap();
            File::options().write(true).open(&clicks).unwrap().set_modified(later).unwrap();
        };
        write("a");
        cache.refuse_changed(&files).unwrap();
        write("b");
        let error = cache.refuse_changed(&files).unwrap_err().to_string();
        assert!(error.contains("clicks.tsv: expected it to stay as it is"), "{error}");
        std::fs::remove_file(&clicks).unwrap();
        cache.refuse_changed(&files).unwrap_err();
    }
}

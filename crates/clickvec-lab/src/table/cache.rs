//! Finished work on disk: a file for each point, named after a hash of everything that it depends on, with a checksum
//! of its contents.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::{Point, TrainingFacts};
use clickvec::internals::math::Level;
use clickvec::model::Model;
use clickvec::train::written_paths;
use clickvec_eval::Judgments;
use clickvec_eval::internals::stored_fingerprint;
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error as Shared, ErrorKind as Kind, files};
use clickvec_tables::{Error, Result};

/// The folder of finished points.
pub(super) struct Cache {
    folder: PathBuf,
    /// The hash of the program, with the level of its vector instructions.
    program: String,
    /// The hashes of files so far.
    hashes: HashMap<PathBuf, Hashed>,
    /// Files that were found damaged and have not been reported yet.
    damaged: Vec<PathBuf>,
    /// A lock that is held while the table is made. Two tables at once would wait for each other's models.
    _lock: File,
}

/// Refuses a folder of something else, whose files would be mixed with those of the table. `lock` is a file that every table
/// leaves.
fn refuse_others(folder: &Path, lock: &Path) -> Result<()> {
    let other = folder.read_dir().ok().and_then(|mut entries| entries.next()?.ok());
    match other {
        Some(other) if !lock.exists() => {
            let found = shortened(&other.file_name().to_string_lossy());
            let found = format!("one with `{found}` and no file `lock`");
            Err(Shared::expected(Kind::Occupied, "a new folder or that of an earlier table", found)
                .help("name another one")
                .at(folder))
        }
        _ => Ok(()),
    }
}

/// Returns the error of a file that changed while a table was made of it.
pub(super) fn changed(path: &Path) -> Error {
    Shared::expected(Kind::Busy, "it to stay as it is while the table is made", "it changed")
        .help("make the table again")
        .at(path)
}

/// A file or a folder at the time its bytes were hashed.
struct Hashed {
    hash: String,
    stamps: Vec<Stamp>,
}

/// Facts that change when a file changes: its length, and the time it was written.
type Stamp = (PathBuf, u64, SystemTime);

impl Cache {
    /// Opens the cache in a folder, which is created if needed and locked against other processes. `program` is the file of this
    /// program.
    pub(super) fn open(folder: &Path, program: &Path) -> Result<Cache> {
        let (models, path) = (folder.join("models"), folder.join("lock"));
        refuse_others(folder, &path)?;
        files::create_folder(&models)?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|source| Error::io(&path, "make", source))?;
        if lock.try_lock().is_err() {
            let error = Shared::new(Kind::Busy, "another process makes a table there");
            return Err(error.help("wait for it or name another folder").at(folder));
        }
        // No other process writes here, so files with temporary names are from tables that were killed.
        for folder in [folder, &models] {
            remove_temporary(folder);
        }
        let mut cache = Cache {
            folder: folder.to_owned(),
            program: String::new(),
            hashes: HashMap::new(),
            damaged: Vec::new(),
            _lock: lock,
        };
        cache.program = format!("{} {}", cache.hash_of(program)?, Level::current().name());
        Ok(cache)
    }

    /// Returns the hash of a file's bytes, or of the files in a folder in the order of their names. Later calls return the first
    /// hash; see [`Cache::refuse_changed`].
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

    /// Checks that hashed files have not changed, so that what was read from them belongs to their hashes.
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

    /// Lists the file itself, or all files in and below a folder except for the cache's own.
    fn files_of(&self, path: &Path) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        if path.is_dir() {
            let mut above = self.folder.canonicalize().into_iter().collect();
            add_files(path, &mut above, &mut files).map_err(|source| Error::io(path, "read", source))?;
        } else {
            files.push(path.to_owned())
        }
        Ok(files)
    }

    /// Returns the name of a result that depends on the program, on files, each with its role, and on `more`.
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

    /// Returns the path of the model with this name.
    pub(super) fn model(&self, key: &str) -> PathBuf {
        self.folder.join("models").join(format!("{key}.safetensors"))
    }

    /// Returns whether the file of this name is the result of its training, as far as can be seen without loading it. Otherwise
    /// it is removed, to be made again: because it is damaged, or because its table was killed before it could check that its
    /// inputs had not changed.
    fn has_model(&mut self, key: &str) -> Result<bool> {
        let path = self.model(key);
        if !path.exists() {
            return Ok(false);
        }
        let Some(expected) = self.training(key).fingerprint else {
            self.remove_model(key)?;
            return Ok(false);
        };
        if stored_fingerprint(&path).is_ok_and(|found| found == expected) {
            return Ok(true);
        }
        self.discard_model(key)?;
        Ok(false)
    }

    /// Loads the file of this name with `load`, if it is whole. A damaged file is removed, to be made again.
    pub(super) fn load<T>(&mut self, key: &str, load: impl FnOnce(&Path) -> Result<T>) -> Result<Option<T>> {
        if !self.has_model(key)? {
            return Ok(None);
        }
        match load(&self.model(key)) {
            Ok(loaded) => Ok(Some(loaded)),
            Err(error) if error.kind().concerns_contents() => {
                self.discard_model(key)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Loads the model with this name, if there is one.
    pub(super) fn load_model(&mut self, key: &str) -> Result<Option<Model>> {
        self.load(key, Model::load)
    }

    /// Removes a damaged or incomplete model and notes that it was damaged.
    pub(super) fn discard_model(&mut self, key: &str) -> Result<()> {
        self.damaged.push(self.model(key));
        self.remove_model(key)
    }

    /// Takes the files that were found damaged since the last call.
    pub(super) fn take_damaged(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.damaged)
    }

    /// Removes a model, complete or not.
    pub(super) fn remove_model(&self, key: &str) -> Result<()> {
        let path = self.model(key);
        for path in written_paths(&path).iter().chain([&path.with_extension("json")]) {
            match std::fs::remove_file(path) {
                Err(source) if source.kind() != ErrorKind::NotFound => {
                    return Err(Error::io(path, "remove", source));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    /// Returns the finished point with this name, if there is one and it fits the judgments. A damaged one is made again.
    pub(super) fn get(&mut self, key: &str, judgments: &Judgments) -> Option<Point> {
        let point: Point = self.read(&self.file(key))?;
        let fits = point.scores.len() == judgments.queries.len()
            && point.scores.iter().zip(&judgments.queries).all(|(scores, query)| scores.len() == query.titles.len());
        fits.then_some(point)
    }

    /// Returns the facts of the training of the model with this name.
    pub(super) fn training(&mut self, key: &str) -> TrainingFacts {
        self.read(&self.model(key).with_extension("json")).unwrap_or_default()
    }

    /// Stores facts about the training of a model.
    pub(super) fn put_training(&self, key: &str, training: &TrainingFacts) -> Result<()> {
        write(&self.model(key).with_extension("json"), training)
    }

    /// Stores facts about the training of a model whose file is whole and whose inputs have not changed.
    pub(super) fn finish_training(&self, key: &str, training: TrainingFacts) -> Result<()> {
        let fingerprint = Some(stored_fingerprint(&self.model(key))?);
        self.put_training(key, &TrainingFacts { fingerprint, ..training })
    }

    /// Stores a finished point.
    pub(super) fn put(&self, key: &str, point: &Point) -> Result<()> {
        write(&self.file(key), point)
    }

    /// Reads a file that [`write`] wrote. `None` if there is no such file, or if it is damaged, which is noted.
    fn read<T: DeserializeOwned>(&mut self, path: &Path) -> Option<T> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(_) => Vec::new(),
        };
        let value = checked(&bytes).and_then(|value| serde_json::from_slice(value).ok());
        if value.is_none() {
            self.damaged.push(path.to_owned());
        }
        value
    }
}

/// The beginning of a file; the checksum and the value follow.
const HEAD: &str = "{\"checksum\":\"";
const MIDDLE: &str = "\",\"value\":";
const TAIL: &str = "}";

/// Writes a value as JSON with its checksum.
fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    let value = serde_json::to_string(value).map_err(|error| Error::io(path, "write", error.into()))?;
    let checksum = xxh3_128(value.as_bytes());
    files::write_bytes_atomically(path, format!("{HEAD}{checksum:032x}{MIDDLE}{value}{TAIL}").as_bytes())
}

/// Checks a value written by [`write`], and returns it if its checksum is right.
fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let (checksum, rest) = bytes.strip_prefix(HEAD.as_bytes())?.split_at_checked(32)?;
    let value = rest.strip_prefix(MIDDLE.as_bytes())?.strip_suffix(TAIL.as_bytes())?;
    (checksum == format!("{:032x}", xxh3_128(value)).as_bytes()).then_some(value)
}

/// Removes the files of killed processes in a folder that no process is writing to. Files that cannot be removed stay.
fn remove_temporary(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if files::is_temporary(&entry.file_name().to_string_lossy()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Returns the stamp of each file.
pub(super) fn stamps(files: &[PathBuf]) -> Result<Vec<Stamp>> {
    let stamp = |file: &PathBuf| -> std::io::Result<Stamp> {
        let metadata = file.metadata()?;
        Ok((file.clone(), metadata.len(), metadata.modified()?))
    };
    files.iter().map(|file| stamp(file).map_err(|source| Error::io(file, "read", source))).collect()
}

/// Adds every file in a folder and below, in the order of their names. Folders in `above` are left out, because a link
/// to one of them makes a circle.
fn add_files(folder: &Path, above: &mut Vec<PathBuf>, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let itself = folder.canonicalize()?;
    if above.contains(&itself) {
        return Ok(());
    }
    above.push(itself);
    let mut entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            add_files(&entry, above, files)?;
        } else if entry.is_file() {
            files.push(entry);
        }
    }
    above.pop();
    Ok(())
}

/// Hashes the bytes of a file, or those of a folder's files with their names.
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
mod tests;

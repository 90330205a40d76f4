//! What is finished already: a file for each grid point, under a hash of all that it follows from.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clickvec::eval::{Judgments, Scores};
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
    /// Training took so long; 0 where the training of another point served.
    pub(super) train_seconds: f64,
    pub(super) score_seconds: f64,
    /// What it takes on disk once it is saved.
    pub(super) bytes: u64,
    /// The most memory that a training process had, where one was started.
    #[serde(default)]
    pub(super) peak_bytes: Option<u64>,
    /// Loss of each epoch.
    #[serde(default)]
    pub(super) losses: Vec<f64>,
}

/// The folder of finished points.
pub(super) struct Cache {
    folder: PathBuf,
    /// Of the program's version and of the data that all systems see.
    base: String,
    /// Of files that were hashed already.
    hashes: HashMap<PathBuf, String>,
}

impl Cache {
    /// Makes the folder; `files` are the data that every system sees.
    pub(super) fn open(folder: &Path, files: &[&Path]) -> Result<Cache> {
        files::create_folder(&folder.join("models"))?;
        let mut cache = Cache { folder: folder.to_owned(), base: String::new(), hashes: HashMap::new() };
        let mut base = env!("CARGO_PKG_VERSION").to_owned();
        for file in files {
            base.push(' ');
            base.push_str(&cache.hash_of(file)?);
        }
        cache.base = base;
        Ok(cache)
    }

    /// The hash of a file's bytes; of a folder's, file by file in the order of their names.
    pub(super) fn hash_of(&mut self, path: &Path) -> Result<String> {
        if let Some(hash) = self.hashes.get(path) {
            return Ok(hash.clone());
        }
        let mut hash = Xxh3::new();
        add_files(path, &mut hash)?;
        let hash = format!("{:032x}", hash.digest128());
        self.hashes.insert(path.to_owned(), hash.clone());
        Ok(hash)
    }

    /// The name of what follows from the data and from `more`.
    pub(super) fn key(&self, more: &[&str]) -> String {
        let mut text = self.base.clone();
        for part in more {
            text.push('\n');
            text.push_str(part);
        }
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }

    /// Where the model of this name is.
    pub(super) fn model(&self, key: &str) -> PathBuf {
        self.folder.join("models").join(format!("{key}.safetensors"))
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

    /// Keeps a finished point.
    pub(super) fn put(&self, key: &str, point: &Point) -> Result<()> {
        let path = self.file(key);
        let bytes = serde_json::to_vec(point).map_err(|error| Error::io(&path, "write", error.into()))?;
        Ok(files::write_bytes_atomically(&path, &bytes)?)
    }
}

/// Hashes a file's bytes, or those of every file in a folder with their names.
fn add_files(path: &Path, hash: &mut Xxh3) -> Result<()> {
    let failed = |source| Error::io(path, "read", source);
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(failed)?;
        let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
        files.sort();
        for file in files.iter().filter(|file| file.is_file()) {
            hash.update(file.file_name().unwrap_or_default().as_encoded_bytes());
            add_files(file, hash)?;
        }
        return Ok(());
    }
    let mut file = std::fs::File::open(path).map_err(failed)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(()),
            read => hash.update(&buffer[..read]),
        }
    }
}

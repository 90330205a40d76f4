//! The folder of intermediate files beside the output. An interrupted build leaves it, and the same build resumes from it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use clickvec_tables::files::{self, Claim};
use clickvec_tables::shown::shown;
use clickvec_tables::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// The file of the build's inputs.
const INPUTS: &str = "inputs.json";

/// The inputs of a build: equal inputs give equal results.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Inputs {
    pub(crate) version: String,
    pub(crate) settings: Vec<String>,
    pub(crate) files: Vec<InputFile>,
}

/// A file that is read, with what changes when it does.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct InputFile {
    path: PathBuf,
    bytes: u64,
    /// The nanoseconds from 1970 to its last change.
    changed: u128,
}

impl InputFile {
    pub(crate) fn new(path: &Path) -> Result<InputFile> {
        let failed = |source| Error::io(path, "read", source);
        let path = path.canonicalize().map_err(failed)?;
        let metadata = path.metadata().map_err(failed)?;
        let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let changed = since.map_or(0, |since| since.as_nanos());
        Ok(InputFile { path, bytes: metadata.len(), changed })
    }
}

/// The state of a work folder before a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing.
    Nothing,
    /// An interrupted build of the same inputs.
    Same,
    /// An interrupted build of other inputs.
    Other,
}

/// The folder of a build, which no other build uses meanwhile.
pub(crate) struct Work {
    folder: PathBuf,
    /// Whether an error leaves the folder, because making its files took long.
    keeps: bool,
    _claim: Claim,
}

impl Work {
    /// Opens or creates the folder of an output, and removes what other inputs have left there.
    ///
    /// # Errors
    ///
    /// Another build uses it; something else has its name; it cannot be written.
    pub(crate) fn open(output: &Path, inputs: &Inputs) -> Result<(Work, Before)> {
        let folder = folder_beside(output);
        let claim = Claim::new(&folder)?;
        let before = before(&folder, inputs)?;
        if before == Before::Other {
            remove(&folder)?;
        }
        if before != Before::Same {
            files::create_folder(&folder)?;
            files::write_bytes_atomically(&folder.join(INPUTS), &serde_json::to_vec(inputs).map_err(json_error)?)?;
        }
        Ok((Work { folder, keeps: before == Before::Same, _claim: claim }, before))
    }

    /// Returns the path of a file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Sets whether the folder stays if the build does not end.
    pub(crate) fn keep(&mut self, keeps: bool) {
        self.keeps = keeps;
    }

    /// Removes the folder.
    pub(crate) fn remove(mut self) -> Result<()> {
        self.keeps = true;
        remove(&self.folder)
    }

    /// Writes a value into a file, as JSON.
    pub(crate) fn write(&self, name: &str, value: &impl Serialize) -> Result<()> {
        files::write_bytes_atomically(&self.file(name), &serde_json::to_vec(value).map_err(json_error)?)
    }

    /// Reads a file that [`Work::write`] wrote; `None` if there is no such file.
    pub(crate) fn read<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Option<T> {
        serde_json::from_slice(&std::fs::read(self.file(name)).ok()?).ok()
    }
}

impl Drop for Work {
    /// Removes the folder, unless another build is to resume from it.
    fn drop(&mut self) {
        if !self.keeps {
            let _ = remove(&self.folder);
        }
    }
}

/// Returns the folder of intermediate files of an output.
pub fn folder_beside(output: &Path) -> PathBuf {
    // `shop/` names the same folder as `shop`.
    let mut name: OsString = output.components().as_path().as_os_str().to_owned();
    name.push(".work");
    PathBuf::from(name)
}

fn before(folder: &Path, inputs: &Inputs) -> Result<Before> {
    let Ok(mut entries) = folder.read_dir() else {
        return if folder.exists() { Err(occupied(folder, "a file")) } else { Ok(Before::Nothing) };
    };
    match std::fs::read(folder.join(INPUTS)).ok().map(|bytes| serde_json::from_slice::<Inputs>(&bytes)) {
        Some(Ok(found)) if found == *inputs => Ok(Before::Same),
        Some(_) => Ok(Before::Other),
        None if entries.next().is_none() => Ok(Before::Nothing),
        None => Err(occupied(folder, "a folder of other files")),
    }
}

fn occupied(folder: &Path, found: &'static str) -> Error {
    let error = Error::expected(ErrorKind::Occupied, "the folder of an interrupted build, or nothing", found);
    error.help("name another output, or move it").at(folder)
}

fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(source) if folder.exists() => Err(Error::io(folder, "remove", source)),
        _ => Ok(()),
    }
}

fn json_error(source: serde_json::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot write the state of the build: {}", shown(Path::new(&source.to_string()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_inputs_go_on_and_others_start_afresh() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("shop/");
        let inputs =
            |settings: &str| Inputs { version: "1".to_owned(), settings: vec![settings.to_owned()], files: Vec::new() };
        let before = |settings: &str, keep: bool| {
            let (mut work, before) = Work::open(&output, &inputs(settings)).unwrap();
            if keep {
                work.keep(true);
            }
            before
        };
        assert_eq!(before("a", false), Before::Nothing);
        assert_eq!(before("a", true), Before::Nothing, "nothing was left");
        assert_eq!(before("a", true), Before::Same);
        assert_eq!(before("b", false), Before::Other);
        assert!(!folder_beside(&output).exists());
        // Files that are not ours stay.
        std::fs::create_dir(folder_beside(&output)).unwrap();
        std::fs::write(folder_beside(&output).join("mine"), "").unwrap();
        assert!(Work::open(&output, &inputs("a")).is_err());
        assert!(folder_beside(&output).join("mine").exists());
    }
}

//! The folder of an export, which replaces an earlier export as a whole.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clickvec_tables::files::{self, Claim, TemporaryFolder, check_replaceable_folder};
use clickvec_tables::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::json_file;

/// The file that says that a folder is an export. Files such as `load.sh` have names that others use too.
pub(super) const MARK: &str = "export.json";

#[derive(Serialize, Deserialize)]
struct Mark {
    form: String,
    files: Vec<String>,
}

/// An export that is written beside its place, under a temporary name. If dropped before it is published, it is removed.
pub(super) struct ExportFolder {
    path: PathBuf,
    target: PathBuf,
    mark: Mark,
    temporary: TemporaryFolder,
    _claim: Claim,
}

impl ExportFolder {
    /// Starts an export to `path`, where nothing may be but an earlier export to the same form.
    pub(super) fn new(path: &Path, form: &str) -> Result<ExportFolder> {
        let target = files::resolved(path);
        check(&target, form)?;
        let claim = Claim::new(&target)?;
        files::remove_abandoned(&target);
        let temporary = TemporaryFolder::new(&target).map_err(|source| Error::io(path, "write", source))?;
        let mark = Mark { form: form.to_owned(), files: Vec::new() };
        Ok(ExportFolder { path: path.to_owned(), target, mark, temporary, _claim: claim })
    }

    /// Creates a file.
    pub(super) fn create(&mut self, name: &str) -> Result<BufWriter<File>> {
        self.mark.files.push(name.to_owned());
        let file = File::create_new(self.temporary.path().join(name));
        Ok(BufWriter::with_capacity(1 << 18, file.map_err(|source| self.failed(source))?))
    }

    /// Writes a whole file.
    pub(super) fn write(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut file = self.create(name)?;
        io::Write::write_all(&mut file, bytes)
            .and_then(|()| io::Write::flush(&mut file))
            .map_err(|source| self.failed(source))
    }

    /// Returns the error of a write. It names the folder, because the temporary name would tell a user nothing.
    pub(super) fn failed(&self, source: io::Error) -> Error {
        Error::io(&self.path, "write", source)
    }

    /// Moves the export to its place in one step. All files must be flushed.
    pub(super) fn publish(mut self) -> Result<()> {
        let mark = serde_json::to_vec(&self.mark).map_err(|error| self.failed(error.into()))?;
        self.write(MARK, &[&mark[..], b"\n"].concat())?;
        for name in &self.mark.files {
            let synced = File::open(self.temporary.path().join(name)).and_then(|file| file.sync_all());
            synced.map_err(|source| self.failed(source))?;
        }
        // Much may have changed since the first check.
        check(&self.target, &self.mark.form)?;
        let ExportFolder { path, target, temporary, .. } = self;
        temporary.publish(&target).map_err(|source| Error::io(&path, "write", source))
    }
}

/// Refuses a place with anything in it, except an earlier export to the same form.
fn check(target: &Path, form: &str) -> Result<()> {
    check_replaceable_folder(target, "an export to this form", |folder| {
        let mark: Mark = json_file::mark(&folder.join(MARK))?;
        let names: HashSet<String> = mark.files.into_iter().chain([MARK.to_owned()]).collect();
        (mark.form == form).then_some(names)
    })
}

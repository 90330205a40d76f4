//! The folder of an export, which replaces an earlier export to the same form.

use std::collections::HashSet;
use std::path::Path;

use clickvec_tables::Result;
use clickvec_tables::files::PendingFolder;
use clickvec_tables::json::read_mark;
use serde::{Deserialize, Serialize};

/// The file that says that a folder is an export. Files such as `load.sh` have names that others use too.
pub(super) const MARK: &str = "export.json";

#[derive(Serialize, Deserialize)]
struct Mark {
    form: String,
    files: Vec<String>,
}

/// Begins an export to `path`.
pub(super) fn begin(path: &Path, form: &str) -> Result<PendingFolder> {
    let form = form.to_owned();
    PendingFolder::new(path, "an export to this form", move |folder| {
        let mark: Mark = read_mark(&folder.join(MARK))?;
        let names: HashSet<String> = mark.files.into_iter().chain([MARK.to_owned()]).collect();
        (mark.form == form).then_some(names)
    })
}

/// Moves an export to its path. All files must be flushed.
pub(super) fn publish(folder: PendingFolder, form: &str) -> Result<()> {
    let mark = Mark { form: form.to_owned(), files: folder.names()? };
    let mark = serde_json::to_vec(&mark).map_err(|error| folder.failed(error.into()))?;
    folder.write(MARK, &[&mark, b"\n"])?;
    folder.publish()
}

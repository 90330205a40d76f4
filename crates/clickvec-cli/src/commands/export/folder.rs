//! The folder of an export: whether it may be written, and the mark that says so the next time.

use std::path::Path;

use anyhow::{Result, bail};
use clickvec::internals::files::{Pending, TEMPORARY_PREFIX, create_folder, folder_of, write_bytes_atomically};
use serde::{Deserialize, Serialize};

use crate::{json_file, output};

/// Written before anything else. Files such as `load.sh` have names that others use too, so names alone do not say whose they are.
pub(super) const MARK: &str = "export.json";

#[derive(Serialize, Deserialize)]
struct Mark {
    form: String,
}

/// Refuses a folder with anything in it, except an earlier export to the same form.
pub(super) fn refuse_others(folder: &Path, form: &str, files: &[&str]) -> Result<()> {
    let Ok(entries) = folder.read_dir() else { return Ok(()) };
    let earlier = json_file::mark(&folder.join(MARK)).map(|Mark { form }| form);
    for entry in entries {
        let name = entry.map_err(|source| clickvec::Error::io(folder, "read", source))?.file_name();
        if name == MARK || name.to_string_lossy().starts_with(TEMPORARY_PREFIX) {
            continue;
        }
        let (shown, is_ours) = (folder.display(), files.iter().any(|file| name == *file));
        let name = output::printable(&name.to_string_lossy()).to_string();
        match &earlier {
            Some(earlier) if earlier == form && is_ours => {}
            Some(earlier) if earlier != form => {
                bail!("{shown}: expected a new folder, found an export to {earlier}; name another output")
            }
            Some(_) => bail!(
                "{shown}: expected a new folder or that of an earlier export, found one with `{name}` in it; name another output"
            ),
            None => bail!(
                "{shown}: expected a new folder or that of an earlier export, found one with `{name}` and no `{MARK}` in it; name \
                 another output"
            ),
        }
    }
    Ok(())
}

/// Makes the folder and marks it.
pub(super) fn begin(folder: &Path, form: &str) -> Result<()> {
    create_folder(folder)?;
    let mark = serde_json::to_vec(&Mark { form: form.to_owned() })?;
    Ok(write_bytes_atomically(&folder.join(MARK), &[&mark[..], b"\n"].concat())?)
}

/// What loads or reads the other files of an export, and is written after them.
const LAST: [&str; 4] = ["load.sh", "load.sql", "encode.py", "encode.mjs"];

/// Removes what an earlier export wrote last, since it would load files of two exports if this one were killed half-way.
pub(super) fn withdraw(folder: &Path) -> Result<()> {
    for name in LAST {
        let path = folder.join(name);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(clickvec::Error::io(&path, "remove", source).into());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Puts the first file of an export into its place.
pub(super) fn publish(file: Pending, path: &Path) -> Result<()> {
    let file = file.seal()?;
    withdraw(&folder_of(path))?;
    Ok(file.publish()?)
}

/// Removes a folder that has nothing but the mark.
pub(super) fn remove_if_empty(folder: &Path) {
    let Ok(entries) = folder.read_dir() else { return };
    if entries.flatten().all(|entry| entry.file_name() == MARK) {
        let _ = std::fs::remove_file(folder.join(MARK));
        let _ = std::fs::remove_dir(folder);
    }
}

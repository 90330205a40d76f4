//! Checks before the work of a command that its outputs can be written, and that nothing is lost by that.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec_index::MANIFEST;
use clickvec_tables::files::{self, Found};

use crate::input::{members_of, same_file};

/// Checks that files can be written: their folders exist and are writable, no two are the same file, none is among the files that are
/// `read`, and none is in an index.
pub(crate) fn check<'a>(
    written: impl IntoIterator<Item = &'a PathBuf>,
    read: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<()> {
    let (written, read): (Vec<_>, Vec<_>) = (written.into_iter().collect(), read.into_iter().collect());
    for (number, output) in written.iter().enumerate() {
        // A device or a pipe does not keep what is written to it.
        ensure!(
            Found::is_special(output) || !written[..number].iter().any(|other| same_output(other, output)),
            "expected a file of its own for each output, found `{}` twice; name another file",
            output.display()
        );
        ensure!(
            output.as_path() != Path::new("-"),
            "expected a file to write, found `-`; give it another name, or write `./-` if it is to have this one"
        );
        refuse_overwriting(output, read.iter().copied())?;
        files::check_writable(output)?;
    }
    Ok(())
}

/// Refuses an output that is one of the files that are `read`, a member of a fusion among them, or that would be in an index.
pub(crate) fn refuse_overwriting<'a>(output: &Path, read: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    // What is not there yet is no input, and members are read from the files of fusions.
    if output.exists() {
        for read in read {
            ensure!(
                !same_file(read, output) && !members_of(read).iter().any(|member| same_file(member, output)),
                "expected an output that is not an input, found `{}`; name another file",
                output.display()
            );
        }
    }
    refuse_in_index(output)
}

/// Refuses an output in the folder of an index: replacing one of its files would damage it, and a file of something else would
/// go with it when the index is replaced.
pub(crate) fn refuse_in_index(output: &Path) -> Result<()> {
    refuse_inside(output, files::folder_of(&files::resolved(output)))
}

/// [`refuse_in_index`] for a folder, which may not be an index either.
pub(crate) fn refuse_folder_in_index(output: &Path) -> Result<()> {
    refuse_inside(output, files::resolved(output))
}

fn refuse_inside(output: &Path, folder: PathBuf) -> Result<()> {
    #[derive(serde::Deserialize)]
    struct Manifest {
        kind: String,
        #[serde(rename = "fingerprint")]
        _fingerprint: String,
    }
    let is_index = |folder: &&Path| {
        clickvec_tables::json::read_mark(&folder.join(MANIFEST)).is_some_and(|Manifest { kind, .. }| kind == "index")
    };
    let folder = folder.canonicalize().unwrap_or(folder);
    // The words of an index, and its shards, are in folders of their own.
    if let Some(index) = folder.ancestors().take(3).find(is_index) {
        bail!("expected an output outside the index {}, found `{}`; name another", index.display(), output.display());
    }
    Ok(())
}

/// Returns whether two paths lead to the same file, whether or not it exists.
fn same_output(a: &Path, b: &Path) -> bool {
    let full = |path: &Path| {
        let path = files::resolved(path);
        let folder = files::folder_of(&path).canonicalize().unwrap_or_else(|_| files::folder_of(&path));
        folder.join(path.file_name().unwrap_or_default())
    };
    full(a) == full(b)
}

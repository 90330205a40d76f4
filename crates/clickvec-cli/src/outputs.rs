//! Checks before the work of a command that its outputs can be written, and that nothing is lost by that.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec_index::MANIFEST;
use clickvec_tables::files::{self, Found};
use clickvec_tables::shown::listed;
use clickvec_tables::table::is_tensors;

use crate::input::{members_of, same_file};
use crate::output::path;

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

/// What a command writes to a file, and so may replace there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Model,
    /// A table whose header begins like this.
    Table(&'static str),
    Page,
    Markdown,
    JsonVectors,
    Npy,
    Word2vec,
    Parquet,
}

/// Refuses to replace a file of another kind: most likely it is not the one that the user meant. An empty file is of any kind.
pub(crate) fn refuse_other(output: &Path, kind: Kind) -> Result<()> {
    if !output.is_file() {
        return Ok(());
    }
    let head = files::first_bytes::<64>(output)?;
    let (is_it, name) = match kind {
        Kind::Model => (is_tensors(&head), "a model".to_owned()),
        Kind::Table(header) => (head.starts_with(header.as_bytes()), listed_columns(header)),
        Kind::Page => (head.starts_with(b"<!doctype html>"), "a page".to_owned()),
        Kind::Markdown => (head.starts_with(b"# ") || head.starts_with(b"| "), "a table in Markdown".to_owned()),
        Kind::JsonVectors => {
            let is_it = head.starts_with(b"{\"text\":") || head.starts_with(b"{\"id\":");
            (is_it, "texts with vectors as JSON lines".to_owned())
        }
        Kind::Npy => (head.starts_with(b"\x93NUMPY"), "an array of NumPy".to_owned()),
        Kind::Word2vec => (has_two_numbers(&head), "vectors of word2vec".to_owned()),
        Kind::Parquet => (head.starts_with(b"PAR1"), "a Parquet file".to_owned()),
    };
    ensure!(
        is_it || head.is_empty(),
        "{}: expected {name} to replace, found another file; name another output, or delete this one",
        path(output)
    );
    Ok(())
}

/// Returns whether the first line has two numbers, as that of word2vec's text format.
fn has_two_numbers(head: &[u8]) -> bool {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut numbers = line.split(|&byte| byte == b' ');
    let mut is_number = || numbers.next().is_some_and(|word| !word.is_empty() && word.iter().all(u8::is_ascii_digit));
    is_number() && is_number() && numbers.next().is_none()
}

fn listed_columns(header: &str) -> String {
    let names: Vec<&str> = header.trim_end().split('\t').collect();
    format!("a table with the columns {}", listed(&names, names.len()))
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

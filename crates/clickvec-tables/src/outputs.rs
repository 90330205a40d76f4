//! Checks before long work that its outputs can be written, and that nothing is lost by that.

use std::path::{Path, PathBuf};

use crate::files::{Found, check_writable, first_bytes, folder_of, is_same_file, resolved};
use crate::shown::{listed, shown};
use crate::table::is_tensors;
use crate::{Error, ErrorKind, Result};

/// The file that an index lists its parts in.
pub const INDEX_MANIFEST: &str = "manifest.json";

/// Checks that files can be written: their folders exist and are writable, no two are the same file, none is among the files that are
/// `read`, and none is in an index.
pub fn check<'a>(
    written: impl IntoIterator<Item = &'a PathBuf>,
    read: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<()> {
    let (written, read): (Vec<_>, Vec<_>) = (written.into_iter().collect(), read.into_iter().collect());
    for (number, output) in written.iter().enumerate() {
        // A device or a pipe does not keep what is written to it.
        if !Found::is_special(output) && written[..number].iter().any(|other| same_output(other, output)) {
            let found = format!("`{}` twice", output.display());
            let error = Error::expected(ErrorKind::Setting, "a file of its own for each output", found);
            return Err(error.help("name another file"));
        }
        if output.as_path() == Path::new("-") {
            let error = Error::expected(ErrorKind::Setting, "a file to write", "`-`");
            return Err(error.help("give it another name, or write `./-` if it is to have this one"));
        }
        refuse_overwriting(output, read.iter().copied())?;
        check_writable(output)?;
    }
    Ok(())
}

/// Refuses an output that is one of the files that are `read`, or that would be in an index.
pub fn refuse_overwriting<'a>(output: &Path, read: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    // What is not there yet is no input.
    if output.exists() && read.into_iter().any(|read| is_read_from(read, output)) {
        let found = format!("`{}`", output.display());
        return Err(
            Error::expected(ErrorKind::Occupied, "an output that is not an input", found).help("name another file")
        );
    }
    refuse_in_index(output)
}

/// What a command writes to a file, and so may replace there.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A model.
    Model,
    /// A table whose header begins like this.
    Table(&'static str),
    /// A page of HTML.
    Page,
    /// A table in Markdown.
    Markdown,
    /// Texts with vectors as JSON lines.
    JsonVectors,
    /// An array of NumPy.
    Npy,
    /// Vectors of word2vec.
    Word2vec,
    /// A Parquet file.
    Parquet,
}

/// Refuses to replace a file of another kind: most likely it is not the one that the user meant. An empty file is of any kind.
pub fn refuse_other(output: &Path, kind: Kind) -> Result<()> {
    if !output.is_file() {
        return Ok(());
    }
    let head = first_bytes::<64>(output)?;
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
    if is_it || head.is_empty() {
        return Ok(());
    }
    let error = Error::expected(ErrorKind::Occupied, format!("{name} to replace"), "another file");
    Err(error.help("name another output, or delete this one").at(output))
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
pub fn refuse_in_index(output: &Path) -> Result<()> {
    refuse_inside(output, folder_of(&resolved(output)))
}

/// [`refuse_in_index`] for a folder, which may not be an index either.
pub fn refuse_folder_in_index(output: &Path) -> Result<()> {
    refuse_inside(output, resolved(output))
}

fn refuse_inside(output: &Path, folder: PathBuf) -> Result<()> {
    #[derive(serde::Deserialize)]
    struct Manifest {
        kind: String,
        #[serde(rename = "fingerprint")]
        _fingerprint: String,
    }
    let is_index = |folder: &&Path| {
        crate::json::read_mark(&folder.join(INDEX_MANIFEST)).is_some_and(|Manifest { kind, .. }| kind == "index")
    };
    let folder = folder.canonicalize().unwrap_or(folder);
    // The words of an index, and its shards, are in folders of their own.
    if let Some(index) = folder.ancestors().take(3).find(is_index) {
        let (index, found) = (index.display(), format!("`{}`", output.display()));
        let error = Error::expected(ErrorKind::Occupied, format!("an output outside the index {index}"), found);
        return Err(error.help("name another"));
    }
    Ok(())
}

/// Returns whether two paths lead to the same file, whether or not it exists.
fn same_output(a: &Path, b: &Path) -> bool {
    let full = |path: &Path| {
        let path = resolved(path);
        let folder = folder_of(&path).canonicalize().unwrap_or_else(|_| folder_of(&path));
        folder.join(path.file_name().unwrap_or_default())
    };
    full(a) == full(b)
}

/// Refuses a file that is there twice. `what` says what each is.
pub fn refuse_repeated(read: &[PathBuf], what: &str) -> Result<()> {
    let is_repeated = |(number, file): (usize, &PathBuf)| read[..number].iter().any(|other| is_read_from(other, file));
    let Some((_, file)) = read.iter().enumerate().find(|&file| is_repeated(file)) else { return Ok(()) };
    let found = format!("`{}` again", shown(file));
    Err(Error::expected(ErrorKind::Setting, format!("each {what} once"), found))
}

/// Returns whether two paths name the same existing file, or the first is a folder whose titles are in the second.
pub fn is_read_from(a: &Path, b: &Path) -> bool {
    let is_corpus = |b: &Path| b.file_name().is_some_and(|name| name.to_string_lossy().starts_with("corpus.jsonl"));
    let is_in_it = || {
        let (Ok(a), Ok(b)) = (a.canonicalize(), b.canonicalize()) else { return false };
        b.parent() == Some(&a) && is_corpus(&b)
    };
    is_same_file(a, b) || is_in_it()
}

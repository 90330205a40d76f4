//! A teacher's vectors or scores, in any form.

use std::path::Path;

use anyhow::Result;
use clickvec::internals::files;
use clickvec::internals::tables::{self, TableReader};
use clickvec::train::Teacher;

/// The teacher of a file: a table of scores; or vectors, of which Parquet is read here, every other form by the library.
pub(crate) fn open<'a>(path: &'a Path, field: &'a str) -> Result<Teacher<'a>> {
    if has_scores(path) {
        return Ok(Teacher::score_file(path, field));
    }
    if !is_parquet(path) {
        return Ok(Teacher::file(path));
    }
    #[cfg(feature = "parquet")]
    return Ok(Teacher::results(super::parquet::Rows::open(path)?));
    #[cfg(not(feature = "parquet"))]
    anyhow::bail!(
        "{}: this program was built without Parquet; build it with `--features parquet`, or give JSON lines",
        path.display()
    )
}

/// Whether a file is a table of scores: its header has the columns query and score. A pipe is not looked into.
pub(crate) fn has_scores(path: &Path) -> bool {
    path.is_file()
        && TableReader::open(path).is_ok_and(|table| ["query", "score"].iter().all(|name| table.column(name).is_some()))
}

/// Whether a file begins with Parquet's magic bytes. Always false for a pipe: Parquet is read from its end, which a pipe
/// does not allow.
pub(crate) fn is_parquet(path: &Path) -> bool {
    files::first_bytes::<4>(path).is_ok_and(|head| tables::is_parquet(&head))
}

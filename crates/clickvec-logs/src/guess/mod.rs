//! Guesses of the kind of a table and the roles of its columns.

mod columns;
mod kind;

use std::path::Path;

use clickvec_tables::files;
use clickvec_tables::table::is_parquet;

pub use columns::{GRADE, GuessedColumns, has, role_name};
use kind::by_columns;
pub use kind::{Kind, by_first_line, is_query};

use crate::Result;
use crate::columns::is_header;
use crate::tables::{LogTable, Options};

/// The header of a table, with guesses from it.
pub struct Header {
    /// The likely kind of the table.
    pub kind: Kind,
    /// The form of the table: `json`, `parquet`, `tsv` or `csv`.
    pub format: &'static str,
    /// Whether the first row has the names of the columns.
    pub is_named: bool,
    /// The names of all columns.
    pub names: Vec<String>,
    /// The columns with a role.
    pub columns: GuessedColumns,
}

/// Guesses the kind and columns of a table from its header alone; `None` without a header. A pipe is left alone: it cannot be
/// read twice.
pub fn header(path: &Path) -> Option<Header> {
    let line = path.is_file().then(|| first_line(path).ok())??;
    table(path, &line).ok().filter(|header| header.is_named)
}

/// Guesses the kind and columns of a table whose first line is `line`.
///
/// # Errors
///
/// Those of opening it.
pub fn table(path: &Path, line: &str) -> Result<Header> {
    let format = match line.chars().next() {
        Some('{') => "json",
        _ if is_parquet(line.as_bytes()) => "parquet",
        _ if line.contains('\t') => "tsv",
        _ => "csv",
    };
    let table = LogTable::open(path, &Options::default())?;
    let (names, paths) = (table.names().to_vec(), table.paths());
    let columns = GuessedColumns::guess(&paths);
    // A dump has the columns of its documents in `_source`.
    let in_source = paths.iter().filter_map(|path| path.strip_prefix("_source.")).filter(|path| !path.contains('.'));
    let all: Vec<String> = names.iter().cloned().chain(in_source.map(str::to_owned)).collect();
    let kind = by_columns(&all, &columns, format == "tsv");
    Ok(Header { kind, format, is_named: format == "json" || is_header(&names), names, columns })
}

/// Returns the first line that is not blank, unpacked and without blanks around it. Bytes that are not UTF-8 are U+FFFD.
///
/// # Errors
///
/// The file cannot be opened or unpacked.
pub fn first_line(path: &Path) -> Result<String> {
    Ok(files::first_line(files::open(path)?, path)?.0.trim().to_owned())
}

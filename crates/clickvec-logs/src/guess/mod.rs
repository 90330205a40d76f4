//! What a table seems to be, and which of its columns is what.

mod columns;
mod kind;

use std::path::Path;

use clickvec_tables::files;

pub use columns::{GRADE, GuessedColumns, has, role_name};
pub use kind::{Kind, by_columns, by_first_line};

use crate::Result;
use crate::columns::is_header;
use crate::tables::{LogTable, Options};

/// What the header of a table says.
pub struct Header {
    /// What the table seems to be.
    pub kind: Kind,
    /// The names of all columns.
    pub names: Vec<String>,
    /// Those with a role.
    pub columns: GuessedColumns,
}

/// Returns what a table seems to be by its header alone; `None` without one. A pipe is left alone: it cannot be read twice.
pub fn header(path: &Path) -> Option<Header> {
    let line = path.is_file().then(|| first_line(path).ok())??;
    let table = LogTable::open(path, &Options::default()).ok()?;
    let names = table.names().to_vec();
    let columns = GuessedColumns::guess(&table.paths());
    let kind = by_columns(&names, &columns, line.contains('\t'));
    is_header(&names).then_some(Header { kind, names, columns })
}

/// Returns the first line that is not blank, unpacked and without blanks around it. Bytes that are not UTF-8 are U+FFFD.
///
/// # Errors
///
/// The file cannot be opened or unpacked.
pub fn first_line(path: &Path) -> Result<String> {
    Ok(files::first_line(files::open(path)?, path)?.0.trim().to_owned())
}

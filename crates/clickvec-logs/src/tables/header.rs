//! Finding the columns of a log in its header.

use std::path::Path;

use super::record::Lines;
use crate::columns::{self, Columns, ROLES, Role};
use crate::error::{Error, InputTable, Result, TableFault};

/// Rows of separated values, and the fields to read from them.
pub(super) struct Rows {
    pub(super) lines: Lines,
    /// The header, which is skipped if it occurs again.
    pub(super) header: Vec<u8>,
    pub(super) columns: usize,
    pub(super) wanted: Vec<(usize, Role)>,
    pub(super) short_rows: bool,
}

/// The roles in a file, and the names of its columns.
pub(super) struct Columned {
    pub(super) has: [bool; ROLES],
    pub(super) names: Vec<String>,
    /// Column and role, ordered by column.
    pub(super) wanted: Vec<(usize, Role)>,
}

/// Finds the columns of all roles. Names are compared after trimming, ignoring ASCII case.
///
/// # Errors
///
/// [`TableFault::MissingColumn`] for a column that was named by the user, [`TableFault::DuplicateColumn`].
pub(super) fn find_columns(path: &Path, names: Vec<String>, columns: &Columns) -> Result<Columned> {
    let mut found = Columned { has: [false; ROLES], names, wanted: Vec::new() };
    for role in columns::ALL {
        let is = |name: &str| found.names.iter().any(|other| other.trim().eq_ignore_ascii_case(name.trim()));
        let Some(name) = columns.names_of(role).find(|name| is(name)).or(columns.of(role)) else { continue };
        let mut places =
            found.names.iter().enumerate().filter(|(_, other)| other.trim().eq_ignore_ascii_case(name.trim()));
        match (places.next(), places.next()) {
            (Some((place, _)), None) => {
                found.has[role as usize] = true;
                found.wanted.push((place, role));
            }
            (Some(_), Some(_)) => {
                return Err(Error::table(path, TableFault::DuplicateColumn { column: name.to_owned() }));
            }
            (None, _) if columns.is_named(role) => {
                let fault = TableFault::MissingColumn {
                    column: name.to_owned(),
                    found: found.names.clone(),
                    role,
                    of: InputTable::Log,
                };
                return Err(Error::table(path, fault));
            }
            (None, _) => {}
        }
    }
    found.wanted.sort_by_key(|&(place, role)| (place, role as usize));
    Ok(found)
}

//! Titles with the columns that an index stores.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use clickvec::Error;
use clickvec::internals::tables::{Line, TableReader, repeated_in_field};
use clickvec::tables::{Skipped, TableFault, Title};

use crate::input;

/// Checks that a table has the columns `stored`.
pub(crate) fn check(path: &Path, stored: &[String]) -> Result<()> {
    if !stored.is_empty() {
        let mut table = TableReader::open(path)?;
        stored.iter().try_for_each(|name| table.require(name).map(drop))?;
    }
    Ok(())
}

/// Refuses a field of several columns that names one of them twice.
pub(crate) fn refuse_repeated(path: &Path, field: &str) -> Result<(), Error> {
    let fault = repeated_in_field(field);
    fault.map_or(Ok(()), |fault| Err(Error::Table { path: path.to_owned(), line: None, fault }))
}

/// Passes on the titles of a table with the values of the columns `stored`. It must not be empty.
pub(crate) fn each_document<E: Into<anyhow::Error>>(
    path: &Path,
    field: &str,
    stored: &[String],
    mut each: impl FnMut(Title, &[&str]) -> Result<(), E>,
) -> Result<()> {
    if stored.is_empty() {
        let mut failed = None;
        let read = input::each_title(path, field, |title| {
            each(title, &[]).map_err(|error| {
                failed = Some(error.into());
                Error::Cancelled
            })
        });
        return match failed {
            Some(error) => Err(error),
            None => read,
        };
    }
    let mut table = TableReader::open(path)?;
    let id = table.require("id")?;
    let texts = match table.column(field) {
        Some(_) => vec![table.require(field)?],
        None => {
            refuse_repeated(path, field)?;
            field.split('+').map(|name| table.require(name.trim())).collect::<Result<_, _>>()?
        }
    };
    let columns = stored.iter().map(|name| table.require(name)).collect::<Result<Vec<_>, _>>()?;
    let (mut lines, mut skipped, mut values) = (HashMap::<Box<str>, u64>::new(), Skipped::default(), Vec::new());
    while let Some(line) = table.next()? {
        let row = match line {
            Line::Broken { line, fault } => {
                skipped.add(line, fault);
                continue;
            }
            Line::Whole(row) => row,
        };
        let found = row.get(id).unwrap_or_default();
        if found.trim().is_empty() {
            skipped.add(row.line, TableFault::EmptyId { column: "id" });
            continue;
        }
        if let Some(&first_line) = lines.get(found) {
            let fault = TableFault::DuplicateId { id: found.to_owned(), first_line };
            return Err(Error::Table { path: path.to_owned(), line: Some(row.line), fault }.into());
        }
        lines.insert(found.into(), row.line);
        let parts = texts.iter().filter_map(|&text| row.get(text)).filter(|text| !text.trim().is_empty());
        let title = parts.collect::<Vec<_>>().join(" ");
        values.clear();
        values.extend(columns.iter().map(|&column| row.get(column).unwrap_or_default().to_owned()));
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        each(Title { id: found.to_owned(), title }, &values).map_err(Into::into)?;
    }
    input::note_titles(path, lines.len() as u64, &skipped, 0)
}

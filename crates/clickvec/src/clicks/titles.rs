//! The collection that is searched.

use std::collections::HashMap;
use std::path::Path;

use super::tsv::{Line, TableReader};
use super::{Skipped, shown};
use crate::Result;
use crate::error::TableFault;

/// One document of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title {
    /// Its name in results.
    pub id: String,
    /// Its text.
    pub title: String,
}

/// Reads a collection: columns `id` and `field` ([`super::TITLE`], as a rule). Broken lines are skipped and counted.
///
/// # Errors
///
/// Those of [`TableReader::open`] and [`TableReader::require`]; [`crate::Error::ReadAt`] if reading fails; [`crate::Error::Table`]
/// with [`TableFault::DuplicateId`] if two lines have the same id, because a result could then mean either.
pub fn read_titles(path: &Path, field: &str) -> Result<(Vec<Title>, Skipped)> {
    titles_of(TableReader::open(path)?, field)
}

fn titles_of(mut table: TableReader, field: &str) -> Result<(Vec<Title>, Skipped)> {
    let id = table.require("id")?;
    let title = table.require(field)?;
    let (mut titles, mut lines, mut skipped) = (Vec::new(), Vec::new(), Skipped::default());
    while let Some(line) = table.next()? {
        match line {
            Line::Broken { line, fault } => skipped.add(line, fault),
            Line::Whole(row) => {
                titles.push(Title { id: row.required(id).to_owned(), title: row.required(title).to_owned() });
                lines.push(row.line);
            }
        }
    }
    refuse_duplicates(&table, &titles, &lines)?;
    Ok((titles, skipped))
}

fn refuse_duplicates(table: &TableReader, titles: &[Title], lines: &[u64]) -> Result<()> {
    let mut first_lines = HashMap::with_capacity(titles.len());
    for (title, &line) in titles.iter().zip(lines) {
        if let Some(first_line) = first_lines.insert(title.id.as_str(), line) {
            let fault = TableFault::DuplicateId { id: shown(&title.id), first_line };
            return Err(table.fault(Some(line), fault));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(bytes: &'static [u8]) -> TableReader {
        TableReader::from_reader(Path::new("t.tsv"), Box::new(bytes)).unwrap()
    }

    #[test]
    fn titles_skip_broken_lines() {
        let (titles, skipped) = titles_of(table(b"title\tid\nRed shoes\t7\nbroken\nBlue\t8\n"), "title").unwrap();
        assert_eq!(titles.len(), 2);
        assert_eq!(titles[0], Title { id: "7".to_owned(), title: "Red shoes".to_owned() });
        assert_eq!((skipped.count, skipped.first[0].line), (1, 3));
    }

    #[test]
    fn an_id_that_stands_twice_names_both_lines() {
        let error = titles_of(table(b"id\ttitle\n7\ta\n8\tb\n7\tc\n"), "title").unwrap_err();
        assert_eq!(
            error.to_string(),
            "t.tsv:4: expected a new id, found `7`, which stands in line 2 already; ids must be unique"
        );
    }
}

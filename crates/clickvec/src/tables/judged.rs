//! Reading judged titles from a table. Grades are parsed elsewhere.

use super::field::Field;
use super::tsv::{Line, TableReader};
use crate::{Error, Result};

/// A judged pair, which lives as long as the call that gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JudgedRow<'a> {
    /// The line, counted from 1.
    pub line: u64,
    /// The query.
    pub query: &'a str,
    /// The query's id, if the table has one.
    pub query_id: Option<&'a str>,
    /// The title that was judged.
    pub title: &'a str,
    /// The title's id, if the table has one.
    pub title_id: Option<&'a str>,
    /// The grade, as it is written.
    pub grade: &'a str,
}

/// Reads judged pairs from an open table with the columns `query`, `field` (usually [`super::TITLE`]) and `grade`, and
/// optionally `query_id` and `title_id`.
///
/// # Errors
///
/// Those of [`TableReader::require`] and `on_row`; `ErrorKind::Io` if reading fails; `ErrorKind::Table` at the first
/// broken line, because a test set that silently lost a line would give other results.
pub fn judged_of(
    mut table: TableReader,
    field: &str,
    mut on_row: impl FnMut(JudgedRow<'_>) -> Result<()>,
) -> Result<()> {
    let query = table.require("query")?;
    let mut title = Field::require(&mut table, field)?;
    let grade = table.require("grade")?;
    let query_id = table.optional("query_id")?;
    let title_id = table.optional("title_id")?;
    let path = table.path().to_owned();
    while let Some(line) = table.next()? {
        match line {
            Line::Broken { line, fault } => {
                return Err(Error::Table { path, line: Some(line), fault });
            }
            Line::Whole(row) => on_row(JudgedRow {
                line: row.line,
                query: row.required(query),
                query_id: query_id.map(|column| row.required(column)),
                title: title.of(&row),
                title_id: title_id.map(|column| row.required(column)),
                grade: row.required(grade),
            })?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn table(bytes: &'static [u8]) -> TableReader {
        TableReader::from_reader(Path::new("t.tsv"), Box::new(bytes)).unwrap()
    }

    #[test]
    fn judged_rows_carry_what_the_table_has() {
        let mut rows = 0;
        let result = judged_of(table(b"query\tquery_id\tgrade\ttitle\nshoes\tq1\t4\tRed shoes\n"), "title", |row| {
            rows += 1;
            let expected = JudgedRow {
                line: 2,
                query: "shoes",
                query_id: Some("q1"),
                title: "Red shoes",
                title_id: None,
                grade: "4",
            };
            assert_eq!(row, expected);
            Ok(())
        });
        result.unwrap();
        assert_eq!(rows, 1);
    }

    #[test]
    fn columns_are_joined_where_none_has_the_whole_name() {
        let titles = |bytes, field| {
            let mut titles = Vec::new();
            judged_of(table(bytes), field, |row| {
                titles.push(row.title.to_owned());
                Ok(())
            })
            .map(|()| titles)
        };
        let bytes = b"query\ttitle\ttext\tgrade\nq\ta\tb c\t1\nr\t \td\t1\ns\te\t\t1\n";
        assert_eq!(titles(bytes, "title+text").unwrap(), ["a b c", "d", "e"]);
        assert_eq!(titles(bytes, "Text + title").unwrap(), ["b c a", "d", "e"]);
        assert_eq!(titles(b"query\ta+b\ta\tb\tgrade\nq\t1\t2\t3\t4\n", "a+b").unwrap(), ["1"]);
        let error = titles(bytes, "title+body").unwrap_err().to_string();
        assert!(error.contains("expected a column `body` in the header"), "{error}");
    }

    #[test]
    fn a_broken_judged_line_is_an_error() {
        let error = judged_of(table(b"query\ttitle\tgrade\na\tb\t1\na\tb\n"), "title", |_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "t.tsv:3: expected at least 3 columns, found 2; see docs/reference/tables.md");
    }
}

//! Ids and texts of titles in one string. A search looks at only a few of them.

use clickvec::error::{Error, IndexFault, Result, TitleLine};
use clickvec::internals::error::shortened;

/// The header, as in a table of titles (docs/reference/tables.md). More columns may follow.
pub(crate) const HEADER: &str = "id\ttitle\n";

/// Titles by position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Titles {
    /// A table: the header, then for each title `id`, a tab, `title`, possibly more fields, and a line end.
    table: String,
    /// The start of each title's line, and the end of the last one.
    starts: Vec<usize>,
}

/// Appends a title's line to a table. `rest` is what follows the title: a tab and a value for each stored field.
pub(crate) fn write_line(table: &mut String, id: &str, title: &str, rest: &str) -> Result<()> {
    for field in [id, title] {
        if field.contains(['\t', '\n']) {
            return Err(Error::BadTitle { found: shortened(field) });
        }
    }
    table.extend([id, "\t", title, rest, "\n"]);
    Ok(())
}

impl Titles {
    /// The titles in a table that [`write_line`] wrote. `name` is for messages.
    pub(crate) fn parse(table: Vec<u8>, name: &str) -> Result<Titles, IndexFault> {
        let table = String::from_utf8(table).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            IndexFault::NotUtf8 { name: name.to_owned(), line: 1 + memchr::memchr_iter(b'\n', before).count() }
        })?;
        // The whole line from its start on: there may be too little of it, or too much.
        let bad = |line, start: usize, expected| {
            let found = shortened(table[start..].split('\n').next().unwrap_or_default());
            IndexFault::BadLine { name: name.to_owned(), line, expected, found }
        };
        let header = table.split_inclusive('\n').next().unwrap_or_default();
        if header != HEADER && !header.strip_prefix("id\ttitle\t").is_some_and(|more| more.ends_with('\n')) {
            return Err(bad(1, 0, TitleLine::Header));
        }
        let (first, fields) = (header.len(), header.matches('\t').count());
        let bad = |starts: &[usize]| {
            let start = starts.last().copied().unwrap_or(first);
            bad(starts.len() + 1, start, TitleLine::Title { fields: fields - 1 })
        };
        let mut starts = vec![first];
        let mut tabs = 0;
        for found in memchr::memchr2_iter(b'\t', b'\n', &table.as_bytes()[first..]) {
            match table.as_bytes()[first + found] {
                b'\t' if tabs < fields => tabs += 1,
                b'\n' if tabs == fields => {
                    tabs = 0;
                    starts.push(first + found + 1);
                }
                _ => return Err(bad(&starts)),
            }
        }
        if starts.last() != Some(&table.len()) {
            return Err(bad(&starts));
        }
        Ok(Titles { table, starts })
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The names of the stored fields.
    pub(crate) fn fields(&self) -> Vec<String> {
        let header = self.table.split('\n').next().unwrap_or_default();
        header.split('\t').skip(2).map(str::to_owned).collect()
    }

    /// What follows a title in its line.
    pub(crate) fn rest(&self, position: usize) -> Option<&str> {
        let line = self.table.get(*self.starts.get(position)?..self.starts.get(position + 1)? - 1)?;
        let tabs = memchr::memchr_iter(b'\t', line.as_bytes()).nth(1);
        Some(tabs.map_or("", |tab| &line[tab..]))
    }

    /// The id and the text of a title.
    pub(crate) fn get(&self, position: usize) -> Option<(&str, &str)> {
        let line = self.table.get(*self.starts.get(position)?..self.starts.get(position + 1)? - 1)?;
        let (id, rest) = line.split_once('\t')?;
        Some((id, rest.split_once('\t').map_or(rest, |(title, _)| title)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_columns_may_follow() {
        let titles = Titles::parse(b"id\ttitle\tbrand\n7\tred\tA\n8\t\t\n".to_vec(), "t").unwrap();
        assert_eq!((titles.len(), titles.get(0), titles.get(1)), (2, Some(("7", "red")), Some(("8", ""))));
    }

    #[test]
    fn what_a_table_cannot_hold() {
        for (id, title) in [("a\tb", "c"), ("a", "b\tc"), ("a", "b\n")] {
            let mut table = String::new();
            assert!(write_line(&mut table, id, title, "").is_err() && table.is_empty());
        }
    }

    #[test]
    fn a_table_that_is_none() {
        let fault = |table: &[u8]| Titles::parse(table.to_vec(), "t").unwrap_err();
        let bad = |line, found: &str, expected| {
            let found = shortened(found);
            IndexFault::BadLine { name: "t".to_owned(), line, expected, found }
        };
        let title = |line, found: &str, fields| bad(line, found, TitleLine::Title { fields });
        assert_eq!(fault(b"id\ttitle\na\tb\xff\n"), IndexFault::NotUtf8 { name: "t".to_owned(), line: 2 });
        assert_eq!(fault(b""), bad(1, "", TitleLine::Header));
        assert_eq!(fault(b"id\ttitle"), bad(1, "id\ttitle", TitleLine::Header));
        assert_eq!(fault(b"id\ttitle\tbrand"), bad(1, "id\ttitle\tbrand", TitleLine::Header));
        assert_eq!(fault(b"id\ttitle\na\tb"), title(2, "a\tb", 0));
        assert_eq!(fault(b"id\ttitle\na\tb\n\n"), title(3, "", 0));
        assert_eq!(fault(b"id\ttitle\na\tb\nc\n"), title(3, "c", 0));
        assert_eq!(fault(b"id\ttitle\na\tb\tc\n"), title(2, "a\tb\tc", 0));
        assert_eq!(fault(b"id\ttitle\tbrand\na\tb\n"), title(2, "a\tb", 1));
        assert_eq!(fault(b"id\ttitle\na\tb\nc"), title(3, "c", 0));
    }
}

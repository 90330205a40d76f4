//! Ids and texts of titles, packed: one string for all, since who searches looks at a few of them.

use crate::error::{Error, IndexFault, Result, shortened};
use crate::tables::Title;

/// As in a table of titles (docs/reference/tables.md).
const HEADER: &str = "id\ttitle\n";

/// Titles by position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Titles {
    /// A table: the header, then `id`, a tab, `title` and a line end for each.
    table: String,
    /// Where each title's line begins, and where the last one ends.
    starts: Vec<usize>,
}

impl Titles {
    pub(super) fn new(titles: &[Title]) -> Result<Titles> {
        let mut table = HEADER.to_owned();
        let mut starts = vec![table.len()];
        for Title { id, title } in titles {
            for field in [id, title] {
                if field.contains(['\t', '\n']) {
                    return Err(Error::BadTitle { found: shortened(field) });
                }
            }
            table.extend([id, "\t", title, "\n"]);
            starts.push(table.len());
        }
        Ok(Titles { table, starts })
    }

    /// Takes a table that [`Titles::table`] gave; `name` is for messages.
    pub(super) fn parse(table: Vec<u8>, name: &str) -> Result<Titles, IndexFault> {
        let table = String::from_utf8(table).map_err(|_| IndexFault::NotUtf8 { name: name.to_owned() })?;
        let bad = |line| IndexFault::BadLine { name: name.to_owned(), line };
        let rows = table.strip_prefix(HEADER).ok_or_else(|| bad(1))?;
        let mut starts = vec![HEADER.len()];
        let mut tab = None;
        for found in memchr::memchr2_iter(b'\t', b'\n', rows.as_bytes()) {
            // In each line one tab, then the end.
            match (rows.as_bytes()[found], tab) {
                (b'\t', None) => tab = Some(found),
                (b'\n', Some(_)) => {
                    tab = None;
                    starts.push(HEADER.len() + found + 1);
                }
                _ => return Err(bad(starts.len() + 1)),
            }
        }
        if starts.last() != Some(&table.len()) {
            return Err(bad(starts.len() + 1));
        }
        Ok(Titles { table, starts })
    }

    pub(super) fn table(&self) -> &str {
        &self.table
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Id and text of one title.
    pub(super) fn get(&self, position: usize) -> Option<(&str, &str)> {
        let line = self.table.get(*self.starts.get(position)?..self.starts.get(position + 1)? - 1)?;
        line.split_once('\t')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(pairs: &[(&str, &str)]) -> Vec<Title> {
        pairs.iter().map(|&(id, title)| Title { id: id.to_owned(), title: title.to_owned() }).collect()
    }

    #[test]
    fn there_and_back() {
        for pairs in [&[][..], &[("", "")], &[("7", "Röhre, 2 in.\r"), ("", "b"), ("c", "")]] {
            let packed = Titles::new(&titles(pairs)).unwrap();
            assert_eq!(packed.len(), pairs.len());
            for (position, pair) in pairs.iter().enumerate() {
                assert_eq!(packed.get(position), Some(*pair));
            }
            assert_eq!(packed.get(pairs.len()), None);
            assert_eq!(Titles::parse(packed.table().as_bytes().to_vec(), "t").unwrap(), packed);
        }
    }

    #[test]
    fn what_a_table_cannot_hold() {
        for (id, title) in [("a\tb", "c"), ("a", "b\tc"), ("a", "b\n")] {
            assert!(matches!(Titles::new(&titles(&[(id, title)])), Err(Error::BadTitle { .. })));
        }
    }

    #[test]
    fn a_table_that_is_none() {
        let fault = |table: &[u8]| Titles::parse(table.to_vec(), "t").unwrap_err();
        let bad = |line| IndexFault::BadLine { name: "t".to_owned(), line };
        assert_eq!(fault(b"id\ttitle\na\tb\xff\n"), IndexFault::NotUtf8 { name: "t".to_owned() });
        assert_eq!(fault(b""), bad(1));
        assert_eq!(fault(b"id\ttitle"), bad(1));
        assert_eq!(fault(b"id\ttitle\na\tb"), bad(2));
        assert_eq!(fault(b"id\ttitle\na\tb\n\n"), bad(3));
        assert_eq!(fault(b"id\ttitle\na\tb\nc\n"), bad(3));
        assert_eq!(fault(b"id\ttitle\na\tb\tc\n"), bad(2));
        assert_eq!(fault(b"id\ttitle\na\tb\nc"), bad(3));
    }
}

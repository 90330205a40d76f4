//! The titles of a segment: a table of lines, and where each line begins.

use clickvec::internals::index::Shared;

use crate::answer::Document;

/// TitleLines by position.
pub(crate) struct TitleLines {
    /// The table: the header, then for each title `id`, a tab, `title`, the stored fields, a line end.
    table: Shared<u8>,
    /// Where each line begins, and where the last one ends.
    starts: Shared<u64>,
    /// The names of the stored fields.
    fields: Vec<String>,
}

/// A title's line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    /// The values of the stored fields with a tab before each.
    rest: &'a str,
}

impl<'a> Line<'a> {
    /// The values of the stored fields.
    pub(crate) fn values(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.rest.split('\t').skip(1)
    }
}

impl TitleLines {
    /// The titles in a table. `starts` may be missing; the table is then read.
    pub(crate) fn new(table: Shared<u8>, starts: Option<Shared<u64>>) -> Option<TitleLines> {
        let end = memchr_line(&table)?;
        let header = std::str::from_utf8(&table[..end]).ok()?;
        let names = header.strip_prefix("id\ttitle")?;
        let fields = names.split('\t').skip(1).map(str::to_owned).collect();
        let starts = starts.unwrap_or_else(|| {
            let ends = table.iter().enumerate().filter(|&(_, &byte)| byte == b'\n');
            ends.map(|(place, _)| place as u64 + 1).collect::<Vec<u64>>().into()
        });
        Some(TitleLines { table, starts, fields })
    }

    /// Where each line begins, and where the last one ends.
    pub(crate) fn starts(&self) -> &[u64] {
        &self.starts
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The names of the stored fields.
    pub(crate) fn fields(&self) -> &[String] {
        &self.fields
    }

    /// The line of a title; `None` if there is none, or if the files are damaged.
    pub(crate) fn get(&self, position: u32) -> Option<Line<'_>> {
        let line = std::str::from_utf8(self.bytes(position)?.strip_suffix(b"\n")?).ok()?;
        let (id, rest) = line.split_once('\t')?;
        let (title, rest) = rest.split_at(rest.find('\t').unwrap_or(rest.len()));
        Some(Line { id, title, rest })
    }

    /// What is at the place of a title's line, whatever it is.
    pub(crate) fn bytes(&self, position: u32) -> Option<&[u8]> {
        let at = |place: usize| usize::try_from(*self.starts.get(place)?).ok();
        self.table.get(at(position as usize)?..at(position as usize + 1)?)
    }

    /// A title with its stored fields.
    pub(crate) fn document(&self, position: u32) -> Option<Document> {
        let line = self.get(position)?;
        let fields = self.fields.iter().cloned().zip(line.values().map(str::to_owned)).collect();
        Some(Document { id: line.id.to_owned(), title: line.title.to_owned(), fields })
    }
}

fn memchr_line(table: &[u8]) -> Option<usize> {
    table.iter().position(|&byte| byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(table: &str) -> Option<TitleLines> {
        TitleLines::new(table.as_bytes().to_vec().into(), None)
    }

    #[test]
    fn lines_and_fields() {
        let titles = titles("id\ttitle\tbrand\tprice\n7\tred shoe\tacme\t12\n8\t\t\t\n").unwrap();
        assert_eq!((titles.len(), titles.fields()), (2, &["brand".to_owned(), "price".to_owned()][..]));
        let line = titles.get(0).unwrap();
        assert_eq!((line.id, line.title, line.values().collect::<Vec<_>>()), ("7", "red shoe", vec!["acme", "12"]));
        let document = titles.document(1).unwrap();
        assert_eq!((document.id.as_str(), document.title.as_str(), document.fields["price"].as_str()), ("8", "", ""));
        assert!(titles.get(2).is_none() && titles.get(u32::MAX).is_none());
    }

    #[test]
    fn tables_that_are_none() {
        for table in ["", "id\ttitle", "name\ttitle\n"] {
            assert!(titles(table).is_none(), "{table}");
        }
        let wrong = TitleLines::new(b"id\ttitle\na\tb\n".to_vec().into(), Some(vec![9u64, 3, 99].into())).unwrap();
        assert!((0..4).all(|position| wrong.get(position).is_none()));
    }
}

//! The titles of a segment: a table of lines, and where each line begins.

use std::path::Path;

use clickvec::internals::index::Shared;
use clickvec::internals::text::words;
use clickvec_tables::shown::shortened;

use crate::answer::Document;
use crate::error::{Error, ErrorKind, Result, malformed};
use crate::folder::Folder;
use crate::map::Map;

/// The table of the titles.
pub(crate) const TITLES_FILE: &str = "titles.tsv";
/// The file of the start of each line.
pub(crate) const OFFSETS_FILE: &str = "titles.offsets";
/// The header, as in a table of titles (docs/reference/tables.md). More columns may follow.
pub(crate) const HEADER: &str = "id\ttitle\n";

/// Appends a title's line to a table. `rest` is the rest of the line: a tab and a value for each stored field.
pub(crate) fn write_line(table: &mut String, id: &str, title: &str, rest: &str) -> Result<()> {
    match [id, title].into_iter().find(|field| field.contains(['\t', '\n'])) {
        None => table.extend([id, "\t", title, rest, "\n"]),
        Some(found) => return Err(bad_title(found)),
    }
    Ok(())
}

/// Creates the error of a text that no line of a table can hold.
pub(crate) fn bad_title(found: &str) -> Error {
    let (expected, found) = ("an id and a title without tab and line end", format!("`{}`", shortened(found)));
    Error::expected(ErrorKind::Malformed, expected, found).help("leave such characters out")
}

/// The titles of a segment by position.
pub(crate) struct TitleLines {
    /// The table: the header, then for each title `id`, a tab, `title`, the stored fields, a line end.
    table: Shared<u8>,
    /// The start of each line, and the end of the last one.
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
    /// Returns the values of the stored fields.
    pub(crate) fn values(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.rest.split('\t').skip(1)
    }
}

/// The longest word of a query, in bytes. A longer one may be thousands of terms.
const LONGEST_WORD: usize = 64;

/// Returns queries of two or three words each, from titles that are spread over all segments.
pub(crate) fn queries(segments: &[&TitleLines], count: usize) -> Vec<String> {
    let len: usize = segments.iter().map(|titles| titles.len()).sum();
    let count = count.min(len);
    let query = |number: usize| {
        let mut position = (number as u128 * len as u128 / count as u128) as usize;
        let mut rest = segments.iter();
        let titles = rest.find(|titles| {
            let is_here = position < titles.len();
            position -= if is_here { 0 } else { titles.len() };
            is_here
        });
        let mut words = words(titles.map_or("", |titles| titles.text(position as u32)));
        words.retain(|word| word.len() <= LONGEST_WORD);
        let (taken, first) = (2 + number % 2, number % words.len().max(1));
        words.iter().cycle().skip(first).take(taken.min(words.len())).map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    (0..count).map(query).filter(|query| !query.is_empty()).collect()
}

impl TitleLines {
    /// Opens the titles of a segment, as many as the manifest says.
    pub(crate) fn open(folder: &Folder) -> Result<TitleLines> {
        let path = folder.path().join(TITLES_FILE);
        let titles = TitleLines::new(folder.numbers(TITLES_FILE)?, folder.numbers(OFFSETS_FILE)?, &path)?;
        let (expected, found) = (folder.about().titles, titles.len() as u64);
        if found == expected {
            return Ok(titles);
        }
        Err(malformed(&path, format!("{expected} titles, as the manifest says"), found.to_string()))
    }

    /// Maps a table that was just written, and finds its lines.
    pub(crate) fn map_table(path: &Path) -> Result<TitleLines> {
        TitleLines::from_table(Map::open(path)?.all().unwrap_or_else(|| Vec::new().into()), path)
    }

    /// Finds the lines of a table. `path` is for messages.
    pub(crate) fn from_table(table: Shared<u8>, path: &Path) -> Result<TitleLines> {
        let starts = memchr::memchr_iter(b'\n', &table).map(|end| end as u64 + 1).collect::<Vec<u64>>();
        TitleLines::new(table, starts.into(), path)
    }

    fn new(table: Shared<u8>, starts: Shared<u64>, path: &Path) -> Result<TitleLines> {
        let first = table.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let names = std::str::from_utf8(first).ok().and_then(|header| header.strip_prefix(HEADER.trim_end()));
        let Some(names) =
            names.filter(|names| first.len() < table.len() && (names.is_empty() || names.starts_with('\t')))
        else {
            let found = String::from_utf8_lossy(&first[..first.len().min(1000)]).into_owned();
            let expected = "a table with the columns `id` and `title` first";
            return Err(malformed(path, expected, format!("the line `{}`", shortened(&found))));
        };
        let fields = names.split('\t').skip(1).map(str::to_owned).collect();
        Ok(TitleLines { table, starts, fields })
    }

    /// Returns the start of each line, and the end of the last one.
    pub(crate) fn starts(&self) -> &[u64] {
        &self.starts
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns the texts of all titles.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|position| self.text(position))
    }

    /// Returns the text of a title, empty if its line is damaged.
    pub(crate) fn text(&self, position: u32) -> &str {
        self.get(position).map_or("", |line| line.title)
    }

    /// Returns the names of the stored fields.
    pub(crate) fn fields(&self) -> &[String] {
        &self.fields
    }

    /// Returns the line of a title; `None` if there is none, or if the files are damaged.
    pub(crate) fn get(&self, position: u32) -> Option<Line<'_>> {
        let line = std::str::from_utf8(self.bytes(position)?.strip_suffix(b"\n")?).ok()?;
        let (id, rest) = line.split_once('\t')?;
        let (title, rest) = rest.split_at(rest.find('\t').unwrap_or(rest.len()));
        Some(Line { id, title, rest })
    }

    /// Returns the bytes at the place of a title's line, unchecked.
    pub(crate) fn bytes(&self, position: u32) -> Option<&[u8]> {
        let at = |line: usize| usize::try_from(*self.starts.get(line)?).ok();
        self.table.get(at(position as usize)?..at(position as usize + 1)?)
    }

    /// Returns the title of a line with its stored fields.
    pub(crate) fn document(&self, line: Line<'_>) -> Document {
        let fields = self.fields.iter().cloned().zip(line.values().map(str::to_owned)).collect();
        Document { id: line.id.to_owned(), title: line.title.to_owned(), fields }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(table: &str) -> Result<TitleLines> {
        TitleLines::from_table(table.as_bytes().to_vec().into(), Path::new("titles.tsv"))
    }

    #[test]
    fn lines_and_fields() {
        let titles = titles("id\ttitle\tbrand\tprice\n7\tred shoe\tacme\t12\n8\t\t\t\n").unwrap();
        assert_eq!((titles.len(), titles.fields()), (2, &["brand".to_owned(), "price".to_owned()][..]));
        let line = titles.get(0).unwrap();
        assert_eq!((line.id, line.title, line.values().collect::<Vec<_>>()), ("7", "red shoe", vec!["acme", "12"]));
        let document = titles.document(titles.get(1).unwrap());
        assert_eq!((document.id.as_str(), document.title.as_str(), document.fields["price"].as_str()), ("8", "", ""));
        assert!(titles.get(2).is_none() && titles.get(u32::MAX).is_none());
    }

    #[test]
    fn what_a_table_cannot_hold() {
        for (id, title) in [("a\tb", "c"), ("a", "b\tc"), ("a", "b\n")] {
            let mut table = String::new();
            assert!(write_line(&mut table, id, title, "").is_err() && table.is_empty());
        }
    }

    #[test]
    fn tables_that_are_none() {
        for table in ["", "id\ttitle", "name\ttitle\n", "id\ttitles\n"] {
            assert!(titles(table).is_err(), "{table}");
        }
        let wrong =
            TitleLines::new(b"id\ttitle\na\tb\n".to_vec().into(), vec![9u64, 3, 99].into(), Path::new("t")).unwrap();
        assert!((0..4).all(|position| wrong.get(position).is_none()));
    }
}

//! Reading the collection to search, in any form.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use super::beir::{self, Document, JsonLines};
use super::field::{self, Field};
use super::tsv::{Line, TableReader};
use super::{Skipped, UniqueIds};
use crate::error::{TableFault, TestSetFault, shortened};
use crate::memory::reserve;
use crate::{Error, Result, files};

/// The corpus of a BEIR folder.
pub const CORPUS: &str = "corpus.jsonl";

/// A title of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title {
    /// The id, which results use.
    pub id: String,
    /// The text.
    pub title: String,
}

/// A collection in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TitleFile {
    /// The file that was read.
    pub path: PathBuf,
    /// The titles, in the order of the file.
    pub titles: Vec<Title>,
    /// The broken lines, which were left out.
    pub skipped: Skipped,
    /// The number of documents in a BEIR corpus without a title, whose text is used instead.
    pub untitled: u64,
}

/// The figures of a collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TitlesSummary {
    /// The file that was read.
    pub path: PathBuf,
    /// The number of titles.
    pub titles: u64,
    /// The broken lines, which were left out.
    pub skipped: Skipped,
    /// The number of documents in a BEIR corpus without a title, whose text is used instead.
    pub untitled: u64,
}

/// The titles of a collection: a table with the columns `id` and `field` (usually [`super::TITLE`]); or a BEIR corpus,
/// JSON lines with `_id` and `field`; or a folder with a `corpus.jsonl`. In a corpus, `text` replaces a missing title.
/// Broken lines are skipped and counted.
///
/// # Errors
///
/// Those of [`for_each_title`].
pub fn read_titles(path: &Path, field: &str) -> Result<TitleFile> {
    let (path, reader) = open(path)?;
    titles_of(&path, reader, field)
}

/// The summary of a collection, in any form that [`read_titles`] reads, after its titles were passed to `each`, one after
/// the other. Memory holds only some 40 bytes for each title, to check that ids are unique.
///
/// # Errors
///
/// What `each` returns; [`Error::Io`] and [`Error::Table`] for a file that is not a table or lacks a column;
/// [`Error::TestSet`] for a folder without a corpus; [`Error::ReadAt`] if reading fails; [`Error::Table`] with
/// [`TableFault::DuplicateId`] if two lines have the same id, because a result could then mean either.
pub fn for_each_title(path: &Path, field: &str, each: impl FnMut(Title) -> Result<()>) -> Result<TitlesSummary> {
    let (path, reader) = open(path)?;
    for_each_of(&path, reader, field, each)
}

fn titles_of(path: &Path, reader: Box<dyn BufRead + Send>, field: &str) -> Result<TitleFile> {
    let mut titles = Vec::new();
    let push = |title| {
        reserve(&mut titles, 1, "titles")?;
        titles.push(title);
        Ok(())
    };
    let TitlesSummary { path, skipped, untitled, .. } = for_each_of(path, reader, field, push)?;
    Ok(TitleFile { path, titles, skipped, untitled })
}

fn for_each_of(
    path: &Path,
    reader: Box<dyn BufRead + Send>,
    field: &str,
    mut each: impl FnMut(Title) -> Result<()>,
) -> Result<TitlesSummary> {
    let mut read = TitlesSummary { path: path.to_owned(), ..TitlesSummary::default() };
    let mut ids = UniqueIds::default();
    each_title(path, reader, field, |found| {
        let (id, title) = match found.document {
            Ok(document) => document,
            Err(fault) => {
                read.skipped.add(found.line, fault);
                return Ok(());
            }
        };
        if let Some(first_line) = ids.add(id, found.line) {
            let fault = TableFault::DuplicateId { id: shortened(id), first_line };
            return Err(Error::Table { path: path.to_owned(), line: Some(found.line), fault });
        }
        read.titles += 1;
        read.untitled += u64::from(found.untitled);
        each(Title { id: id.to_owned(), title: title.to_owned() })
    })?;
    Ok(read)
}

/// A line of a collection.
pub struct FoundTitle<'a> {
    /// The line, counted from 1.
    pub line: u64,
    /// The id and the text, or what is wrong.
    pub document: Result<(&'a str, &'a str), TableFault>,
    /// Whether the text replaces a missing title.
    pub untitled: bool,
}

/// The file with the titles: the path itself, or the corpus of a BEIR folder.
///
/// # Errors
///
/// [`Error::TestSet`] for a folder without a corpus.
pub fn titles_file(path: &Path) -> Result<PathBuf> {
    match path.is_dir() {
        false => Ok(path.to_owned()),
        true => beir_file(path, CORPUS),
    }
}

/// A collection that is opened, and its path, which for a BEIR folder is that of the corpus.
pub fn open(path: &Path) -> Result<(PathBuf, Box<dyn BufRead + Send>)> {
    let path = titles_file(path)?;
    let reader = files::open(&path)?;
    Ok((path, reader))
}

/// A file of a BEIR folder, which may be compressed.
pub fn beir_file(folder: &Path, name: &'static str) -> Result<PathBuf> {
    let endings = ["", ".gz", ".zst"];
    let there = endings.iter().map(|ending| folder.join(format!("{name}{ending}"))).find(|path| path.exists());
    let missing = || Error::TestSet { path: folder.to_owned(), fault: TestSetFault::NotBeir { missing: name } };
    there.ok_or_else(missing)
}

/// Passes on every line of a collection, valid or broken, one at a time. `path` is for messages.
pub fn each_title(
    path: &Path,
    reader: Box<dyn BufRead + Send>,
    field: &str,
    mut each: impl FnMut(FoundTitle<'_>) -> Result<()>,
) -> Result<()> {
    let (first, reader) = files::first_line(reader, path)?;
    if first.trim_start().starts_with('{') {
        let mut lines = JsonLines::new(path, reader);
        while let Some(line) = lines.next()? {
            let document = line.object.and_then(|object| beir::document(&object, field));
            let (document, untitled) = match &document {
                Ok(Document { id, text, untitled }) => (Ok((id.as_str(), text.as_str())), *untitled),
                // The same for every line, so none could be read.
                Err(fault @ TableFault::RepeatedInField { .. }) => {
                    return Err(Error::Table { path: path.to_owned(), line: None, fault: fault.clone() });
                }
                Err(fault) => (Err(fault.clone()), false),
            };
            each(FoundTitle { line: line.line, document, untitled })?;
        }
        return Ok(());
    }
    let mut table = TableReader::from_reader(path, reader)?;
    let has_texts = table.column(field).is_some() || field::names(field).all(|name| table.column(name).is_some());
    if table.column("id").is_none() && !has_texts {
        let title = field::names(field).collect::<Vec<_>>().join("<TAB>");
        let fault = TableFault::NoTitlesHeader { column: "id", title, found: table.header().to_vec() };
        return Err(Error::Table { path: path.to_owned(), line: None, fault });
    }
    let id = table.require("id")?;
    let mut title = Field::require(&mut table, field)?;
    while let Some(line) = table.next()? {
        let (line, document) = match line {
            Line::Broken { line, fault } => (line, Err(fault)),
            // Without an id nothing could refer to it.
            Line::Whole(row) if row.required(id).trim().is_empty() => {
                (row.line, Err(TableFault::EmptyId { column: "id" }))
            }
            Line::Whole(row) => (row.line, Ok((row.required(id), title.of(&row)))),
        };
        each(FoundTitle { line, document, untitled: false })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &'static [u8], field: &str) -> Result<TitleFile> {
        titles_of(Path::new("t.tsv"), Box::new(bytes), field)
    }

    fn title(id: &str, title: &str) -> Title {
        Title { id: id.to_owned(), title: title.to_owned() }
    }

    #[test]
    fn titles_skip_broken_lines() {
        let TitleFile { titles, skipped, .. } = read(b"title\tid\nRed shoes\t7\nbroken\nBlue\t8\n", "title").unwrap();
        assert_eq!(titles, [title("7", "Red shoes"), title("8", "Blue")]);
        assert_eq!((skipped.count, skipped.first[0].line), (1, 3));
    }

    #[test]
    fn a_collection_without_a_header_is_told_what_it_lacks() {
        let error = read(b"0\tA title\n1\tAnother\n", "title").unwrap_err().to_string();
        assert!(error.starts_with("t.tsv: expected a column `id` in the header, found `0`, `A title`;"), "{error}");
        assert!(error.ends_with("put the line id<TAB>title before it"), "{error}");
    }

    #[test]
    fn a_row_without_an_id_is_broken() {
        let TitleFile { titles, skipped, .. } = read(b"id\ttitle\n7\ta\n\tb\n \tc\n8\td\n", "title").unwrap();
        assert_eq!(titles, [title("7", "a"), title("8", "d")]);
        assert_eq!((skipped.count, skipped.first[0].line), (2, 3));
        let message = skipped.first[0].reason.to_string();
        assert!(message.starts_with("expected an id in column `id`, found nothing"), "{message}");
    }

    #[test]
    fn several_columns_are_joined() {
        let joined = read(b"text\tid\ttitle\nred\t7\tShoes\n\t8\tHats\n", "title+text").unwrap();
        assert_eq!(joined.titles, [title("7", "Shoes red"), title("8", "Hats")]);
        let error = read(b"0\tA title\n", "title+text").unwrap_err().to_string();
        assert!(error.ends_with("put the line id<TAB>title<TAB>text before it"), "{error}");
        let corpus = b"{\"_id\":\"7\",\"title\":\"A\",\"text\":\"b\"}\n{\"_id\":\"8\",\"text\":\"c\"}\n";
        let joined = read(corpus, "title+text").unwrap();
        assert_eq!((&joined.titles[..], joined.untitled), (&[title("7", "A b"), title("8", "c")][..], 0));
    }

    #[test]
    fn a_corpus_is_read_like_a_table() {
        let bytes = b"\n{\"_id\":\"7\",\"title\":\"Red shoes\",\"text\":\"red\"}\r\n{\"_id\":\n{\"_id\":\"8\",\"text\":\"blue\"}";
        let TitleFile { titles, skipped, untitled, .. } = read(bytes, "title").unwrap();
        assert_eq!(titles, [title("7", "Red shoes"), title("8", "blue")]);
        assert_eq!((skipped.count, skipped.first[0].line, untitled), (1, 3, 1));
        assert_eq!(read(bytes, "text").unwrap().titles, [title("7", "red"), title("8", "blue")]);
    }

    #[test]
    fn an_id_that_stands_twice_names_both_lines() {
        let expected = "t.tsv:4: expected a new id, found `7`, which line 2 has already; ids must be unique";
        let error = read(b"id\ttitle\n7\ta\n8\tb\n7\tc\n", "title").unwrap_err();
        assert_eq!(error.to_string(), expected);
        let json = b"\n{\"_id\":7,\"text\":\"a\"}\n{\"_id\":8,\"text\":\"a\"}\n{\"_id\":\"7\",\"text\":\"b\"}\n";
        assert_eq!(read(json, "title").unwrap_err().to_string(), expected);
    }
}

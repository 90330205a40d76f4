//! Reading the collection to search, in any form.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::memory::reserve;
use crate::table::Skipped;
use crate::titles::{CORPUS, TitleReader, Titles, beir_file, repeated_id};
use crate::{Error, Result, UniqueIds};

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
    /// The titles, in the order of the file.
    pub titles: Vec<Title>,
    /// Its figures.
    pub summary: TitlesSummary,
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
    /// The number of texts in which HTML entities were decoded.
    pub with_entities: u64,
    /// The number of titles that mean nothing, such as `null`, by what they say. They are read as empty.
    pub null_texts: BTreeMap<&'static str, u64>,
}

/// Reads the titles of a collection in any format: a table with the columns `id` and `field` (usually [`crate::titles::TITLE`]), or a BEIR
/// corpus or its folder, where `text` replaces a missing title. Broken rows are skipped and counted.
///
/// # Errors
///
/// Those of [`for_each_title`].
pub fn read_titles(titles: impl Into<Titles>, field: &str) -> Result<TitleFile> {
    collected(TitleReader::open(&titles.into(), field, &[])?)
}

/// Passes on the titles of a collection, in any form that [`read_titles`] reads, one after the other. Memory holds only some 40
/// bytes for each title, to check that ids are unique. Returns the figures of the collection.
///
/// # Errors
///
/// What `each` returns; those of [`TitleReader::open`] and [`TitleReader::next`]; if two rows have the same id, because a result
/// could then mean either.
pub fn for_each_title<E: From<Error>>(
    titles: impl Into<Titles>,
    field: &str,
    mut each: impl FnMut(Title) -> Result<(), E>,
) -> Result<TitlesSummary, E> {
    for_each_document(&titles.into(), field, &[], |title, _| each(title))
}

/// [`for_each_title`], with the values of the columns `stored`.
///
/// # Errors
///
/// Those of [`for_each_title`].
pub fn for_each_document<E: From<Error>>(
    titles: &Titles,
    field: &str,
    stored: &[String],
    each: impl FnMut(Title, &[&str]) -> Result<(), E>,
) -> Result<TitlesSummary, E> {
    each_of(TitleReader::open(titles, field, stored)?, each)
}

fn collected(reader: TitleReader) -> Result<TitleFile> {
    let mut titles = Vec::new();
    let push = |title, _: &[&str]| -> Result<()> {
        reserve(&mut titles, 1, "titles")?;
        titles.push(title);
        Ok(())
    };
    let summary = each_of(reader, push)?;
    Ok(TitleFile { titles, summary })
}

fn each_of<E: From<Error>>(
    mut reader: TitleReader,
    mut each: impl FnMut(Title, &[&str]) -> Result<(), E>,
) -> Result<TitlesSummary, E> {
    let path = reader.path().to_owned();
    let mut read = TitlesSummary { skipped: Skipped::new(&path), path, ..TitlesSummary::default() };
    let mut ids = UniqueIds::default();
    while let Some(found) = reader.next()? {
        let (id, title) = match found.title {
            Ok(title) => title,
            Err(fault) => {
                read.skipped.add(found.line, fault);
                continue;
            }
        };
        if let Some(first) = ids.add(id, found.line) {
            return Err(repeated_id(&read.path, id, first, found.line).into());
        }
        read.titles += 1;
        read.untitled += u64::from(found.untitled);
        read.with_entities += u64::from(found.with_entities);
        if let Some(null) = found.null {
            *read.null_texts.entry(null).or_default() += 1;
        }
        let title = Title { id: id.to_owned(), title: title.to_owned() };
        let values: Vec<_> = reader.stored().collect();
        let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
        each(title, &values)?;
    }
    Ok(read)
}

/// Returns the file with the titles: the path itself, or the corpus of a BEIR folder.
///
/// # Errors
///
/// [`crate::ErrorKind::Malformed`] for a folder without a corpus.
pub fn titles_file(path: &Path) -> Result<PathBuf> {
    if path.is_dir() { beir_file(path, CORPUS) } else { Ok(path.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Options, Table};

    fn read(bytes: &'static [u8], field: &str) -> Result<TitleFile> {
        let path = Path::new("t.tsv");
        let table = Table::read(path, Box::new(bytes), &Options::default())?;
        collected(TitleReader::from_table(table, &path.into(), field, &[])?)
    }

    fn title(id: &str, title: &str) -> Title {
        Title { id: id.to_owned(), title: title.to_owned() }
    }

    #[test]
    fn titles_skip_broken_lines() {
        let TitleFile { titles, summary: TitlesSummary { skipped, .. } } =
            read(b"title\tid\nRed shoes\t7\nbroken\nBlue\t8\n", "title").unwrap();
        assert_eq!(titles, [title("7", "Red shoes"), title("8", "Blue")]);
        assert_eq!((skipped.count, skipped.first[0].line), (1, 3));
    }

    #[test]
    fn a_collection_without_a_header_is_told_what_it_lacks() {
        let error = read(b"0\tA title\n1\tAnother\n", "title").unwrap_err().to_string();
        assert!(
            error.starts_with("t.tsv: expected a column `id` in the header, found 2 columns whose names are not shown"),
            "{error}"
        );
        assert!(error.ends_with("put the line id<TAB>title before it"), "{error}");
    }

    #[test]
    fn a_row_without_an_id_is_broken() {
        let TitleFile { titles, summary: TitlesSummary { skipped, .. } } =
            read(b"id\ttitle\n7\ta\n\tb\n \tc\n8\td\n", "title").unwrap();
        assert_eq!(titles, [title("7", "a"), title("8", "d")]);
        assert_eq!((skipped.count, skipped.first[0].line), (2, 3));
        let message = skipped.first[0].reason.to_string();
        assert!(message == "expected an id, found nothing", "{message}");
    }

    #[test]
    fn several_columns_are_joined() {
        let joined = read(b"text\tid\ttitle\nred\t7\tShoes\n\t8\tHats\n", "title+text").unwrap();
        assert_eq!(joined.titles, [title("7", "Shoes red"), title("8", "Hats")]);
        let error = read(b"0\tA title\n", "title+text").unwrap_err().to_string();
        assert!(error.ends_with("put the line id<TAB>title<TAB>text before it"), "{error}");
        let corpus = b"{\"_id\":\"7\",\"title\":\"A\",\"text\":\"b\"}\n{\"_id\":\"8\",\"text\":\"c\"}\n";
        let joined = read(corpus, "title+text").unwrap();
        assert_eq!((&joined.titles[..], joined.summary.untitled), (&[title("7", "A b"), title("8", "c")][..], 0));
    }

    #[test]
    fn a_title_that_means_nothing_is_empty() {
        let bytes = b"id\ttitle\tbrand\n1\tNULL\tAcme\n2\t(not set)\t\\N\n3\tNone of these\tnan\n4\tnull\tBolt\n";
        let TitleFile { titles, summary: TitlesSummary { null_texts, .. } } = read(bytes, "title").unwrap();
        assert_eq!(titles, [title("1", ""), title("2", ""), title("3", "None of these"), title("4", "")]);
        assert_eq!(null_texts.into_iter().collect::<Vec<_>>(), [("(not set)", 1), ("null", 2)]);
        let joined = read(bytes, "title+brand").unwrap().titles;
        assert_eq!(joined, [title("1", "Acme"), title("2", ""), title("3", "None of these"), title("4", "Bolt")]);
        let corpus = read(b"{\"_id\":\"7\",\"title\":\"NULL\",\"text\":\"blue\"}", "title").unwrap();
        assert_eq!((&corpus.titles[..], corpus.summary.untitled), (&[title("7", "blue")][..], 1));
    }

    #[test]
    fn a_corpus_is_read_like_a_table() {
        let bytes = b"\n{\"_id\":\"7\",\"title\":\"Red shoes\",\"text\":\"red\"}\r\n{\"_id\":\n{\"_id\":\"8\",\"text\":\"blue\"}";
        let TitleFile { titles, summary: TitlesSummary { skipped, untitled, .. } } = read(bytes, "title").unwrap();
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

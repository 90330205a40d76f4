//! Tables of titles, in any format: a column of ids, one or several of texts, and columns to store.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::shown::{is_in_memory, line_or_row, shortened};
use crate::table::{Field, Next, Options, Record, RowFault, Table, field_names, shown_names};
use crate::text::{decode_entities, null_text};
use crate::{Error, ErrorKind, Result};

/// The column of ids, unless another is named.
pub const ID: &str = "id";
/// The column of texts, unless another is named.
pub const TITLE: &str = "title";
/// The corpus of a BEIR folder.
pub const CORPUS: &str = "corpus.jsonl";
/// The column of ids of a BEIR corpus.
pub const BEIR_ID: &str = "_id";
/// The column of a BEIR corpus that replaces a missing title.
pub const BEIR_TEXT: &str = "text";

/// A file of titles, and the names of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Titles {
    /// The file, or a BEIR folder.
    pub path: PathBuf,
    /// The column of ids; `None`: [`ID`], or `_id` as in a BEIR corpus.
    pub id: Option<String>,
    /// The column of texts, where it is another than the field that is read everywhere else.
    pub text: Option<String>,
}

impl From<&Path> for Titles {
    fn from(path: &Path) -> Titles {
        Titles { path: path.to_owned(), id: None, text: None }
    }
}

impl From<&PathBuf> for Titles {
    fn from(path: &PathBuf) -> Titles {
        Titles::from(path.as_path())
    }
}

impl From<&Titles> for Titles {
    fn from(titles: &Titles) -> Titles {
        titles.clone()
    }
}

/// Returns a file of a BEIR folder, which may be compressed.
///
/// # Errors
///
/// [`ErrorKind::Malformed`] if there is none.
pub fn beir_file(folder: &Path, name: &str) -> Result<PathBuf> {
    let mut paths = ["", ".gz", ".zst"].iter().map(|ending| folder.join(format!("{name}{ending}")));
    paths.find(|path| path.exists()).ok_or_else(|| not_beir(folder, name))
}

/// Creates the error of a folder that lacks a file of BEIR.
pub fn not_beir(folder: &Path, missing: &str) -> Error {
    let expected = "a file, or a BEIR folder with `queries.jsonl`, `corpus.jsonl` and `qrels/test.tsv`";
    Error::expected(ErrorKind::Malformed, expected, format!("a folder without `{missing}`"))
        .help("see docs/reference/tables.md")
        .at(folder)
}

/// The advice for titles without a column of ids.
const NAME_COLUMNS: &str = "see docs/reference/tables.md; `columns` names the columns of titles";

/// A reader of titles.
pub struct TitleReader {
    table: Table,
    record: Record,
    id: usize,
    text: Field,
    /// The column that replaces a missing title.
    replacement: Option<usize>,
    stored: Vec<usize>,
    joined: String,
    /// A text with HTML entities decoded, and without the characters that would end a field or a line.
    plain: String,
}

/// A row of a table of titles.
#[derive(Debug)]
pub struct FoundTitle<'a> {
    /// The line, counted from 1.
    pub line: u64,
    /// The id and the text, or why the row is left out.
    pub title: Result<(&'a str, &'a str), RowFault>,
    /// Whether the text of a BEIR corpus replaces a missing title.
    pub untitled: bool,
    /// Whether HTML entities in the text were decoded.
    pub with_entities: bool,
    /// What stands in the place of a title, such as `null`. The text is empty then.
    pub null: Option<&'static str>,
    /// Whether the row is left out because it has no id or no text, which says nothing of the rest of the table.
    pub lacking: bool,
}

impl TitleReader {
    /// Opens a file of titles. `field` names the column of texts, or several joined by `+`; `stored` names more columns.
    ///
    /// In a BEIR corpus, `text` replaces a missing title.
    ///
    /// # Errors
    ///
    /// Those of [`Table::open`]; [`ErrorKind::Malformed`] for a folder without a corpus and for a missing column;
    /// [`ErrorKind::Setting`] for a field that names a column twice.
    pub fn open(titles: &Titles, field: &str, stored: &[String]) -> Result<TitleReader> {
        let path = if titles.path.is_dir() { beir_file(&titles.path, CORPUS)? } else { titles.path.clone() };
        TitleReader::from_table(Table::open(&path, &Options::default())?, titles, field, stored)
    }

    /// [`TitleReader::open`] for a table that is already open.
    ///
    /// # Errors
    ///
    /// Those of [`TitleReader::open`].
    pub fn from_table(mut table: Table, titles: &Titles, field: &str, stored: &[String]) -> Result<TitleReader> {
        let field = titles.text.as_deref().unwrap_or(field);
        let id = titles.id.as_deref().unwrap_or(ID);
        let is_corpus = titles.id.is_none() && !table.has(ID) && table.has(BEIR_ID);
        let has_texts = table.has(field) || field_names(field).all(|name| table.has(name));
        if !is_corpus && !table.has(id) && !has_texts && table.has_header() {
            return Err(without_header(&table, id, field));
        }
        let id = table.require(if is_corpus { BEIR_ID } else { id });
        // A table in memory has the names that its owner gave.
        let advised = |error: Error| error.help(NAME_COLUMNS).settings(&["columns"]);
        let id = id.map_err(|error| if is_in_memory(table.path()) { error } else { advised(error) })?;
        let (text, replacement) = if is_corpus && field.eq_ignore_ascii_case(TITLE) {
            (Field::maybe(&mut table, field)?, Some(table.maybe(BEIR_TEXT)?))
        } else {
            (Field::require(&mut table, field)?, None)
        };
        let stored = stored.iter().map(|name| table.require(name)).collect::<Result<_>>()?;
        let (record, joined, plain) = (Record::default(), String::new(), String::new());
        Ok(TitleReader { table, record, id, text, replacement, stored, joined, plain })
    }

    /// Returns the path of the table.
    pub fn path(&self) -> &Path {
        self.table.path()
    }

    /// Reads the next row; `None` at the end.
    ///
    /// # Errors
    ///
    /// Those of [`Table::next`].
    #[allow(clippy::should_implement_trait, reason = "a title borrows from the reader, which no Iterator can express")]
    pub fn next(&mut self) -> Result<Option<FoundTitle<'_>>> {
        let fault = match self.table.next(&mut self.record)? {
            Next::End => return Ok(None),
            Next::Header => Some(RowFault::repeated_header()),
            Next::Broken(fault) => Some(fault),
            Next::Row => None,
        };
        let line = self.record.line;
        let left_out = |fault, lacking| {
            let title = Err(fault);
            Ok(Some(FoundTitle { line, title, untitled: false, with_entities: false, null: None, lacking }))
        };
        if let Some(fault) = fault {
            return left_out(fault, false);
        }
        let id = self.record.get(self.id).unwrap_or_default().trim();
        if id.is_empty() || id.contains(['\t', '\n', '\r']) {
            // Without an id nothing could refer to the title.
            let found = if id.is_empty() { "nothing" } else { "one with a tab or a line end" };
            return left_out(RowFault::expected("bad id", "an id", found), id.is_empty());
        }
        let text = self.text.text(&self.record, &mut self.joined);
        let replacement = self.replacement.and_then(|column| self.record.get(column));
        let is_missing = text.trim().is_empty() || null_text(text).is_some();
        let untitled = self.replacement.is_some() && is_missing;
        let text = if untitled { replacement.unwrap_or_default() } else { text };
        if self.table.object().is_some() && !self.text.is_in(&self.record) && replacement.is_none() {
            return left_out(RowFault::expected("no text", "a text", "nothing"), true);
        }
        let decoded = decode_entities(text);
        let with_entities = matches!(decoded, Cow::Owned(_));
        let null = null_text(&decoded);
        let text = match (plain(&decoded), &decoded) {
            _ if null.is_some() => "",
            (Cow::Borrowed(_), Cow::Borrowed(_)) => text,
            (changed, _) => {
                self.plain = changed.into_owned();
                &self.plain
            }
        };
        Ok(Some(FoundTitle { line, title: Ok((id, text)), untitled, with_entities, null, lacking: false }))
    }

    /// Returns the values of the stored columns in the current row.
    pub fn stored(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.stored.iter().map(|&column| plain(self.record.get(column).unwrap_or_default()))
    }
}

/// Returns a text in which blanks replace the characters that would end a field or a line.
fn plain(text: &str) -> Cow<'_, str> {
    let ends = ['\t', '\n', '\r'];
    if text.contains(ends) { Cow::Owned(text.replace(ends, " ")) } else { Cow::Borrowed(text) }
}

/// Creates the error of an id that stands in the line or row `first` already.
pub fn repeated_id(path: &Path, id: &str, first: u64, line: u64) -> Error {
    let found = format!("`{}`, which {} has already", shortened(id), line_or_row(path, first));
    Error::expected(ErrorKind::Malformed, "a new id", found).help("ids must be unique").at_line(path, line)
}

/// Creates the error of a collection whose first line is no header.
fn without_header(table: &Table, id: &str, field: &str) -> Error {
    let title = field_names(field).collect::<Vec<_>>().join("<TAB>");
    let help = format!("{NAME_COLUMNS}; where the first line is a document, put the line {id}<TAB>{title} before it");
    let expected = format!("a column `{}` in the header", shortened(id));
    Error::expected(ErrorKind::Malformed, expected, shown_names(table.names()))
        .help(help)
        .settings(&["columns"])
        .at(table.path())
}

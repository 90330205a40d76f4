//! Topics: the texts of queries that TREC qrels identify by number, in the forms that are in use.

mod markup;
mod tagged;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use super::judgments::empty_id;
use super::trec::{fields_of, read_lines};
use clickvec_tables::shown::shortened;
use clickvec_tables::table::{Options, Record, RowFault, Table, has_column};
use clickvec_tables::{Error, ErrorKind, Result, decoded, files, null_text};

/// The possible names of the id column in a table of topics.
const ID_COLUMNS: [&str; 3] = ["query_id", "qid", "id"];
/// Characters that end a field or a line of a table.
const ENDS: [char; 3] = ['\t', '\n', '\r'];
/// The name of the text column.
const TEXT_COLUMN: &str = "query";

/// The columns of BEIR's queries.
const BEIR_COLUMNS: [&str; 2] = ["_id", "text"];

/// A query and its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// The id in qrels and runs.
    pub id: String,
    /// The text of the query.
    pub text: String,
}

/// The counts of a file of topics that its reader has to mention.
#[derive(Debug, Default)]
pub(crate) struct TopicCounts {
    /// Texts whose HTML entities were decoded.
    pub(crate) with_entities: u64,
    /// Repeated headers, which were left out.
    pub(crate) headers: u64,
}

/// Reads the topics in a file: a table of `id`, tab, `query`, with or without a header; TREC topics between `<top>` and `</top>`,
/// or `<topic>` and `</topic>`, with their `<query>` or else `<title>`; or JSON lines with `_id` and `text`, as in BEIR, or with these
/// names. The first line that is not blank decides the form.
///
/// # Errors
///
/// Those of [`files::open`]; [`ErrorKind::Io`] if reading fails; [`ErrorKind::Malformed`] for a broken line or topic and for a
/// repeated id; [`ErrorKind::Empty`] if there are no topics.
pub(crate) fn read_topics(path: &Path, counts: &mut TopicCounts) -> Result<Vec<Topic>> {
    let (first, reader) = files::first_line(files::open(path)?, path)?;
    topics_of(path, &first, reader, counts)
}

/// Reads the topics in an opened file. `first` is its first line, which `reader` still returns.
pub(super) fn topics_of(
    path: &Path,
    first: &str,
    reader: Box<dyn BufRead + Send>,
    counts: &mut TopicCounts,
) -> Result<Vec<Topic>> {
    let mut topics = Topics { path, topics: Vec::new(), lines: HashMap::new(), counts };
    match first.trim_start().chars().next() {
        Some('<') => topics.tagged(reader)?,
        Some('{') => topics.table(reader, json_columns(first))?,
        _ => match header(first) {
            Some(columns) => topics.table(reader, columns)?,
            None => topics.lines(reader)?,
        },
    }
    if topics.topics.is_empty() {
        return Err(no_topics(path));
    }
    Ok(topics.topics)
}

/// Returns the error of a file without topics.
pub(super) fn no_topics(path: &Path) -> Error {
    Error::expected(ErrorKind::Empty, "topics", "none").help("see docs/reference/tables.md").at(path)
}

/// Returns whether a line is the header of a table of topics.
pub(super) fn is_table(line: &str) -> bool {
    header(line).is_some()
}

/// Returns the names of id and text in the objects of JSON lines, by the first.
fn json_columns(first: &str) -> [&'static str; 2] {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(first).unwrap_or_default();
    let id = ID_COLUMNS.into_iter().find(|id| object.contains_key(*id) && object.contains_key(TEXT_COLUMN));
    id.map_or(BEIR_COLUMNS, |id| [id, TEXT_COLUMN])
}

/// Returns the names of id and text, if the line is a header.
fn header(line: &str) -> Option<[&'static str; 2]> {
    let has = |name: &&str| has_column(line, name);
    let id = ID_COLUMNS.into_iter().find(has)?;
    has(&TEXT_COLUMN).then_some([id, TEXT_COLUMN])
}

fn no_text() -> RowFault {
    RowFault::expected("no text", "a text", "nothing")
}

struct Topics<'p> {
    path: &'p Path,
    topics: Vec<Topic>,
    /// The first line of each id.
    lines: HashMap<String, u64>,
    counts: &'p mut TopicCounts,
}

impl Topics<'_> {
    fn add(&mut self, line: u64, id: &str, text: &str) -> Result<(), RowFault> {
        if id.is_empty() {
            return Err(empty_id(ID_COLUMNS[0]));
        }
        // It may be a query of a person, so it is not shown.
        if id.contains(char::is_whitespace) {
            let found = "one with it; is it a query? Name the columns in a first line, query_id<TAB>query";
            return Err(RowFault::expected("bad id", "an id without white space", found));
        }
        if text.trim().is_empty() || null_text(text).is_some() {
            return Err(no_text());
        }
        if let Some(first) = self.lines.insert(id.to_owned(), line) {
            let found = format!("`{}`, which line {first} has already; ids must be unique", shortened(id));
            return Err(RowFault::expected("repeated id", "a new id", found));
        }
        self.topics.push(Topic { id: id.to_owned(), text: text.to_owned() });
        Ok(())
    }

    fn table(&mut self, reader: Box<dyn BufRead + Send>, [id, text]: [&str; 2]) -> Result<()> {
        let mut table = Table::reopen(self.path, reader, &Options::default())?;
        let [id, text] = [table.require(id)?, table.require(text)?];
        let mut record = Record::default();
        while table.next_row(&mut record)? {
            let [id, text] = [id, text].map(|column| record.get(column).map(|field| field.trim().replace(ENDS, " ")));
            let added = match text {
                Some(text) => {
                    let text = decoded(&text, &mut self.counts.with_entities);
                    self.add(record.line, &id.unwrap_or_default(), &text)
                }
                None => Err(no_text()),
            };
            added.map_err(|fault| fault.at_line(self.path, record.line))?;
        }
        self.counts.headers += table.repeated_headers();
        Ok(())
    }

    fn lines(&mut self, reader: impl BufRead) -> Result<()> {
        let path = self.path;
        read_lines(reader, path, |line, text| {
            let [id, query] = fields_of(text.split('\t'), "id, a tab, query")?;
            let query = decoded(query.trim(), &mut self.counts.with_entities);
            self.add(line, id.trim(), &query)
        })?;
        Ok(())
    }
}

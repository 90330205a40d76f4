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
use clickvec_tables::table::{Options, Record, RowFault, Table};
use clickvec_tables::{Error, ErrorKind, Result, files};

/// The possible names of the id column in a table of topics.
const ID_COLUMNS: [&str; 3] = ["query_id", "qid", "id"];
/// What would end a field or a line of a table.
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

/// The topics in a file: a table of `id`, tab, `query`, with or without a header; TREC topics between `<top>` and
/// `</top>`, or `<topic>` and `</topic>`, with their `<query>` or else `<title>`; or JSON lines with `_id` and `text`,
/// as in BEIR. The first line that is not blank tells the form.
///
/// # Errors
///
/// Those of [`files::open`]; [`ErrorKind::Io`] if reading fails; [`ErrorKind::Malformed`] for a broken line or topic and for a
/// repeated id; [`ErrorKind::Empty`] if there are no topics.
pub(crate) fn read_topics(path: &Path) -> Result<Vec<Topic>> {
    let (first, reader) = files::first_line(files::open(path)?, path)?;
    topics_of(path, &first, reader)
}

/// The topics in an opened file, whose first line was looked at.
pub(super) fn topics_of(path: &Path, first: &str, reader: Box<dyn BufRead + Send>) -> Result<Vec<Topic>> {
    let mut topics = Topics { path, topics: Vec::new(), lines: HashMap::new() };
    match first.trim_start().chars().next() {
        Some('<') => topics.tagged(reader)?,
        Some('{') => topics.table(reader, BEIR_COLUMNS)?,
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

/// Whether a line is the header of a table of topics.
pub(super) fn is_table(line: &str) -> bool {
    header(line).is_some()
}

/// The names of id and text, if the line is a header.
fn header(line: &str) -> Option<[&'static str; 2]> {
    let has = |name: &&str| line.split('\t').any(|found| found.trim().eq_ignore_ascii_case(name));
    let id = ID_COLUMNS.into_iter().find(has)?;
    has(&TEXT_COLUMN).then_some([id, TEXT_COLUMN])
}

struct Topics<'p> {
    path: &'p Path,
    topics: Vec<Topic>,
    /// The first line of each id.
    lines: HashMap<String, u64>,
}

impl Topics<'_> {
    fn add(&mut self, line: u64, id: &str, text: &str) -> Result<(), RowFault> {
        if id.is_empty() {
            return Err(empty_id(ID_COLUMNS[0]));
        }
        if let Some(first) = self.lines.insert(id.to_owned(), line) {
            let found = format!("`{}`, which line {first} has already; ids must be unique", shortened(id));
            return Err(RowFault::expected("repeated id", "a new id", found));
        }
        self.topics.push(Topic { id: id.to_owned(), text: text.to_owned() });
        Ok(())
    }

    fn table(&mut self, reader: Box<dyn BufRead + Send>, [id, text]: [&str; 2]) -> Result<()> {
        let mut table = Table::read(self.path, reader, &Options::default())?;
        let [id, text] = [table.require(id)?, table.require(text)?];
        let mut record = Record::default();
        while table.next_row(&mut record)? {
            let [id, text] = [id, text].map(|column| record.get(column).map(|field| field.trim().replace(ENDS, " ")));
            let added = match text {
                Some(text) => self.add(record.line, &id.unwrap_or_default(), &text),
                None => Err(RowFault::expected("no text", "a text", "nothing")),
            };
            added.map_err(|fault| fault.at_line(self.path, record.line))?;
        }
        Ok(())
    }

    fn lines(&mut self, reader: impl BufRead) -> Result<()> {
        let path = self.path;
        read_lines(reader, path, |line, text| {
            let [id, query] = fields_of(text.split('\t'), "id, a tab, query")?;
            self.add(line, id.trim(), query.trim())
        })?;
        Ok(())
    }
}

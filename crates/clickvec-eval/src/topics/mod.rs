//! Topics: the texts of queries that TREC qrels identify by number, in the forms that are in use.

mod markup;
mod tagged;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use super::trec::{fields_of, read_lines};
use clickvec::error::{Error, Result, TableFault, TestSetFault};
use clickvec::internals::error::shortened;
use clickvec::internals::tables::{JsonLine, JsonLines, Line, TableReader, beir_query};
use clickvec_tables::files;

/// The possible names of the id column in a table of topics.
const ID_COLUMNS: [&str; 3] = ["query_id", "qid", "id"];
/// The name of the text column.
const TEXT_COLUMN: &str = "query";

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
/// Those of [`files::open`]; [`Error::ReadAt`] and [`Error::Io`] if reading fails; [`Error::Table`] for a broken line
/// or topic and for a repeated id; [`Error::TestSet`] if there are no topics.
pub(crate) fn read_topics(path: &Path) -> Result<Vec<Topic>> {
    let (first, reader) = files::first_line(files::open(path)?, path)?;
    topics_of(path, &first, reader)
}

/// The topics in an opened file, whose first line was looked at.
pub(super) fn topics_of(path: &Path, first: &str, reader: Box<dyn BufRead + Send>) -> Result<Vec<Topic>> {
    let mut topics = Topics { path, topics: Vec::new(), lines: HashMap::new() };
    match first.trim_start().chars().next() {
        Some('<') => topics.tagged(reader)?,
        Some('{') => topics.json(reader)?,
        _ => match header(first) {
            Some(columns) => topics.table(reader, columns)?,
            None => topics.lines(reader)?,
        },
    }
    if topics.topics.is_empty() {
        return Err(Error::TestSet { path: path.to_owned(), fault: TestSetFault::NoTopic });
    }
    Ok(topics.topics)
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
    fn fault(&self, line: u64, fault: TableFault) -> Error {
        Error::Table { path: self.path.to_owned(), line: Some(line), fault }
    }

    fn add(&mut self, line: u64, id: &str, text: &str) -> Result<(), TableFault> {
        if id.is_empty() {
            return Err(TableFault::EmptyId { column: ID_COLUMNS[0] });
        }
        if let Some(first_line) = self.lines.insert(id.to_owned(), line) {
            return Err(TableFault::DuplicateId { id: shortened(id), first_line });
        }
        self.topics.push(Topic { id: id.to_owned(), text: text.to_owned() });
        Ok(())
    }

    fn table(&mut self, reader: Box<dyn BufRead + Send>, [id, text]: [&str; 2]) -> Result<()> {
        let mut table = TableReader::from_reader(self.path, reader)?;
        let [id, text] = [table.require(id)?, table.require(text)?];
        while let Some(line) = table.next()? {
            let (line, added) = match line {
                Line::Broken { line, fault } => (line, Err(fault)),
                Line::Whole(row) => {
                    let [id, text] = [id, text].map(|column| row.get(column).unwrap_or_default().trim());
                    (row.line, self.add(row.line, id, text))
                }
            };
            added.map_err(|fault| self.fault(line, fault))?;
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

    fn json(&mut self, reader: Box<dyn BufRead + Send>) -> Result<()> {
        let mut lines = JsonLines::new(self.path, reader);
        while let Some(JsonLine { line, object }) = lines.next_line()? {
            let added = object.and_then(|object| beir_query(&object)).and_then(|(id, text)| self.add(line, &id, &text));
            added.map_err(|fault| self.fault(line, fault))?;
        }
        Ok(())
    }
}

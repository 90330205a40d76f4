//! Where texts come from: lines, or the rows of a table. A table is recognised by its first line.

use std::io::{BufRead, Cursor, Read as _};
use std::path::Path;

use anyhow::{Result, ensure};
use clickvec::model::Side;
use clickvec_tables::files;
use clickvec_tables::shown::listed;
use clickvec_tables::table::{Header, Next, Options, Record, RowFault, Table, Width, header, is_parquet};

use super::{Args, Format};
use crate::console;
use clickvec_tools::header::refuse_array;
use clickvec_tools::inputs::Lines;

/// The bytes of the first line that say whether a file is a table.
const FIRST_BYTES: u64 = 1 << 20;
/// The column of ids that a recognised table may have.
const ID: &str = "id";
/// The number of names of a header that a message shows.
const SHOWN_NAMES: usize = 20;

/// Some texts, and as many ids or none.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) texts: Vec<String>,
    pub(super) ids: Vec<String>,
}

/// The source of texts.
pub(super) enum Texts {
    /// Every line is a text.
    Lines(Lines),
    /// Every row has one.
    Rows(Box<Rows>),
}

/// The rows of a table.
pub(super) struct Rows {
    table: Table,
    text: usize,
    id: Option<usize>,
    record: Record,
}

impl Texts {
    /// Opens what the command line names.
    pub(super) fn open(args: &Args) -> Result<Texts> {
        if args.lines {
            return Ok(Texts::Lines(Lines::open(&args.texts)?));
        }
        let is_named = args.text_column.is_some();
        let (mut has_id, mut source) = (false, None);
        // Parquet is not a stream, so it is recognised and opened elsewhere.
        if !is_parquet(&files::first_bytes::<4>(&args.texts)?) {
            let mut reader = files::open(&args.texts)?;
            let first = first_line(&mut reader, &args.texts)?;
            refuse_array(&first, &args.texts)?;
            if first.is_empty() && args.texts != Path::new("-") {
                console::note(format_args!("warning: {}: empty, so no vector is written", console::path(&args.texts)));
            }
            let header = std::str::from_utf8(&first).ok().and_then(|first| header(&args.texts, first));
            if let (Some(header), false) = (&header, is_named) {
                say_table(header, args)?;
            }
            let reader: Box<dyn BufRead + Send> = Box::new(Cursor::new(first.clone()).chain(reader));
            if header.is_none() && !is_named {
                if first.trim_ascii().contains(&b'\t') {
                    let path = console::input(&args.texts);
                    console::note(format_args!("{path}: each line is a text, with its tabs; a table needs a header"));
                }
                return Ok(Texts::Lines(Lines::read(reader, &args.texts)));
            }
            // Formats without ids have a vector for each row, in the same order.
            has_id = args.format() == Format::Jsonl && header.is_some_and(|header| header.has(ID));
            source = Some(reader);
        }
        let options = Options { width: Width::Header, ..Options::default() };
        let mut table = match source {
            Some(source) => Table::reopen(&args.texts, source, &options)?,
            None => Table::open(&args.texts, &options)?,
        };
        let text = table.require(args.text_column.as_deref().unwrap_or(usual_column(args)));
        let text = text
            .map_err(|error| error.help("`--text-column` names another, and `--lines` takes every line as a text"))?;
        let id = if has_id { Some(table.require(ID)?) } else { None };
        Ok(Texts::Rows(Box::new(Rows { table, text, id, record: Record::default() })))
    }

    /// Takes at most `most` texts, and at least one if there are any.
    pub(super) fn next_batch(&mut self, most: usize, batch: &mut Batch) -> Result<()> {
        batch.texts.clear();
        batch.ids.clear();
        match self {
            Texts::Lines(lines) => Ok(lines.next_batch(most, &mut batch.texts)?),
            Texts::Rows(rows) => rows.next_batch(most, batch),
        }
    }
}

impl Rows {
    fn next_batch(&mut self, most: usize, batch: &mut Batch) -> Result<()> {
        while batch.texts.len() < most {
            match self.table.next(&mut self.record)? {
                Next::End => break,
                Next::Header => {}
                // A row that is left out would shift all that come after it.
                Next::Broken(fault) => return Err(fault.at_line(self.table.path(), self.record.line).into()),
                Next::Row => {
                    let Some(text) = self.record.get(self.text) else {
                        let fault = RowFault::expected("text", "a text", "nothing");
                        return Err(fault.at_line(self.table.path(), self.record.line).into());
                    };
                    batch.texts.push(text.replace(['\n', '\r'], " "));
                    let id = self.id.map(|id| self.record.get(id).unwrap_or_default().trim().to_owned());
                    batch.ids.extend(id);
                }
            }
        }
        Ok(())
    }
}

/// Reads the first line, with its end, blank or not. No more is waited for, as the library's reader of a first line would behind a blank
/// one: a client may send one text and wait for its vector.
fn first_line(reader: &mut impl BufRead, path: &Path) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    let read = reader.take(FIRST_BYTES).read_until(b'\n', &mut line);
    read.map_err(|source| clickvec_tables::Error::read_at(path, 1, source))?;
    Ok(line)
}

/// Returns the column of texts, unless another is named.
fn usual_column(args: &Args) -> &'static str {
    match args.side {
        Side::Query => "query",
        Side::Title => "title",
    }
}

/// Says that the first line was taken for the header of a table. An error if it may be a text, which would be lost: more cannot
/// be read before that is known, because a client may send one text and wait for its vector.
fn say_table(header: &Header, args: &Args) -> Result<()> {
    let path = console::input(&args.texts);
    let names = listed(&header.names, SHOWN_NAMES);
    ensure!(
        !header.is_ambiguous,
        "{path}: expected texts, one a line, or a table, found a first line that may be either, {names}; `--lines` takes every \
         line as a text, `--text-column` names the column of a table"
    );
    // If the column is missing, an error names the options.
    let usual = usual_column(args);
    if header.has(usual) {
        console::note(format_args!(
            "{path}: a table with {names}; texts come from its column `{usual}`, and `--lines` takes every line as a text"
        ));
    }
    Ok(())
}

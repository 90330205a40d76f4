//! Where texts come from: lines, or the rows of a table.

use std::path::PathBuf;

use anyhow::{Result, anyhow, ensure};
use clickvec_logs::columns::{self, Role};
use clickvec_logs::error::TableFault;
use clickvec_logs::table::{Next, Options, Record, Table};

use super::{Args, SideFlag};
use crate::input::Lines;
use crate::output;

/// Some texts, and as many ids or none.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) texts: Vec<String>,
    pub(super) ids: Vec<String>,
}

/// The source of texts.
pub(super) enum Texts {
    /// Every line is a text.
    Lines {
        lines: Lines,
        /// Whether the next line is the first.
        is_first: bool,
    },
    /// Every row has one.
    Rows(Box<Rows>),
}

/// The rows of a table.
pub(super) struct Rows {
    path: PathBuf,
    table: Table,
    options: Options,
    record: Record,
}

impl Texts {
    /// Opens what the command line names.
    pub(super) fn open(args: &Args) -> Result<Texts> {
        if args.text_column.is_none() && args.id_column.is_none() {
            return Ok(Texts::Lines { lines: Lines::open(&args.texts)?, is_first: true });
        }
        let mut options = Options::default();
        columns::ALL.into_iter().for_each(|role| options.columns.leave_out(role));
        let usual = match args.side {
            SideFlag::Query => "query",
            SideFlag::Title => "title",
        };
        options.columns.name(Role::Title, args.text_column.as_deref().unwrap_or(usual));
        if let Some(id) = &args.id_column {
            options.columns.name(Role::Item, id.as_str());
        }
        let table = Table::open(&args.texts, &options).map_err(told)?;
        Ok(Texts::Rows(Box::new(Rows { path: args.texts.clone(), table, options, record: Record::default() })))
    }

    /// Takes at most `most` texts, and at least one if there are any.
    pub(super) fn next_batch(&mut self, most: usize, batch: &mut Batch) -> Result<()> {
        batch.texts.clear();
        batch.ids.clear();
        match self {
            Texts::Lines { lines, is_first } => {
                lines.next_batch(most, &mut batch.texts)?;
                if std::mem::take(is_first) {
                    refuse_header(batch.texts.first())?;
                }
                Ok(())
            }
            Texts::Rows(rows) => rows.next_batch(most, batch),
        }
    }
}

impl Rows {
    fn next_batch(&mut self, most: usize, batch: &mut Batch) -> Result<()> {
        while batch.texts.len() < most {
            match self.table.next(&mut self.record).map_err(told)? {
                Next::End => {
                    self.table.check_named(&self.options.columns).map_err(told)?;
                    break;
                }
                Next::Header | Next::Other => {}
                // A row that is left out would shift all that come after it.
                Next::Broken(fault) => {
                    return Err(anyhow!("{}:{}: {fault}", output::path(&self.path), self.record.line));
                }
                Next::Row => {
                    let text = self.record.get(Role::Title).unwrap_or_default();
                    batch.texts.push(text.replace(['\n', '\r'], " "));
                    if self.options.columns.is_named(Role::Item) {
                        batch.ids.push(self.record.get(Role::Item).unwrap_or_default().trim().to_owned());
                    }
                }
            }
        }
        Ok(())
    }
}

/// Refuses a table where lines of text are expected: its header and its ids would be embedded.
fn refuse_header(first: Option<&String>) -> Result<()> {
    let names: Vec<String> = first.map_or("", String::as_str).split('\t').map(str::to_owned).collect();
    ensure!(
        names.len() < 2 || !columns::is_header(&names),
        "expected a text on each line, found a table with the columns {}; name the one to embed with `--text-column`, and \
         that of ids with `--id-column`",
        names.iter().map(|name| format!("`{}`", output::printable(name.trim()))).collect::<Vec<_>>().join(", ")
    );
    Ok(())
}

/// An error, and the option that names a missing column.
fn told(error: clickvec_logs::Error) -> anyhow::Error {
    let option = match &error {
        clickvec_logs::Error::Table { fault: TableFault::MissingColumn { role: Role::Item, .. }, .. } => {
            "; `--id-column` names it"
        }
        clickvec_logs::Error::Table { fault: TableFault::MissingColumn { .. }, .. } => "; `--text-column` names it",
        clickvec_logs::Error::Table { fault: TableFault::NoParquet, .. } => {
            "; build the program with `cargo build --release --features parquet`"
        }
        _ => return error.into(),
    };
    anyhow!("{error}{option}")
}

//! Titles that have a rank of their own for a query, or that it never finds: a small table, read anew when it changes.

use std::collections::HashMap;
use std::path::Path;

use clickvec::train::{Accents, TextConfig, Tokens};
use clickvec_index::Pin;
use clickvec_tables::table::{Options, Record, Table};
use clickvec_tables::{Error, ErrorKind};

use crate::error::Result;
use crate::fault::quoted;

/// The most rows of the table.
const MOST_ROWS: usize = 100_000;
/// The value of the column `rank` for a title that is never found.
const BLOCK: &str = "block";

/// The pins of each query.
#[derive(Debug, Default)]
pub(crate) struct Pins(HashMap<String, Vec<Pin>>);

impl Pins {
    /// Reads a table with the columns `query`, `id` and `rank`, which is counted from 1 or is `block`.
    ///
    /// # Errors
    ///
    /// If it cannot be read, lacks a column, has another rank, or more than 100,000 rows.
    pub(crate) fn read(path: &Path) -> Result<Pins> {
        let mut rows = Table::open(path, &Options::default())?;
        let [query, id, rank] = [rows.require("query")?, rows.require("id")?, rows.require("rank")?];
        let (mut pins, mut count, mut record) = (Pins::default(), 0, Record::default());
        while rows.next_row(&mut record)? {
            let field = |column| record.get(column).unwrap_or_default();
            let malformed = |expected: String, found: String| {
                Error::expected(ErrorKind::Malformed, expected, found).at_line(path, record.line)
            };
            count += 1;
            if count > MOST_ROWS {
                return Err(malformed(format!("at most {MOST_ROWS} rows"), "more".to_owned()));
            }
            let rank = match field(rank) {
                BLOCK => None,
                number => match number.parse::<usize>() {
                    Ok(number) if number > 0 => Some(number),
                    _ => {
                        let expected = format!("a rank, counted from 1, or `{BLOCK}`");
                        return Err(malformed(expected, quoted(number)));
                    }
                },
            };
            pins.0.entry(normal(field(query))).or_default().push(Pin::new(field(id), rank));
        }
        Ok(pins)
    }

    /// Returns the pins of a query. Neither case, accents nor signs tell queries apart.
    pub(crate) fn get(&self, query: &str) -> Vec<Pin> {
        if self.0.is_empty() { Vec::new() } else { self.0.get(&normal(query)).cloned().unwrap_or_default() }
    }

    /// Returns the number of queries with pins.
    pub(crate) fn queries(&self) -> usize {
        self.0.len()
    }
}

/// Returns a query as it is compared: its words without case and accents.
pub(crate) fn normal(query: &str) -> String {
    TextConfig { accents: Accents::Fold, tokens: Tokens::Words }.words(query).join(" ")
}

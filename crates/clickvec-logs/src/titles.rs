//! Titles of items.

use std::collections::HashMap;

use clickvec::tables::titles_file;
use clickvec_tables::table::{Next, Record, Table};
use clickvec_tables::titles::{BEIR_ID, BEIR_TEXT, ID, TITLE, Titles};

use crate::Result;
use crate::error::{lacks as lacks_column, too_large};
use crate::report::SideTable;
use crate::tables::Options;
use crate::text;

/// The bytes that a title takes in addition to its texts.
const TITLE_BYTES: usize = 64;

/// Titles by item.
pub(crate) struct TitleTexts {
    by_item: HashMap<Box<str>, Box<str>>,
    bytes: usize,
    /// The figures of the table.
    pub(crate) table: SideTable,
}

impl TitleTexts {
    /// Reads a table of titles, or a BEIR corpus or its folder, where the text replaces a
    /// missing title. If an item has several titles, the first counts.
    pub(crate) fn read(titles: &Titles, options: &Options, budget: usize, max_bad: f64) -> Result<TitleTexts> {
        let path = &titles_file(&titles.path)?;
        let mut table = Table::open(path, &options.table())?;
        let lacks = |column: &str, table: &Table| {
            lacks_column(path, column, table.names()).help("a table of titles has the columns id and title")
        };
        let (id, text) = (titles.id.as_deref().unwrap_or(ID), titles.text.as_deref().unwrap_or(TITLE));
        let is_corpus = !table.has(id) && table.has(BEIR_ID);
        let id = table.column(if is_corpus { BEIR_ID } else { id })?.ok_or_else(|| lacks(id, &table))?;
        let text = match table.column(text)? {
            None if !is_corpus => return Err(lacks(text, &table)),
            column => column,
        };
        // The documents of a corpus need not have titles.
        let replacement = if is_corpus { table.column(BEIR_TEXT)? } else { None };
        let mut titles = TitleTexts { by_item: HashMap::new(), bytes: 0, table: SideTable::new(path) };
        let (mut record, mut title) = (Record::default(), String::new());
        loop {
            match table.next(&mut record)? {
                Next::End => break,
                Next::Header => titles.table.rows += 1,
                Next::Broken(fault) => titles.table.broken(record.line, &fault),
                Next::Row => {
                    titles.table.rows += 1;
                    let field =
                        |column: Option<usize>| column.and_then(|column| record.get(column)).unwrap_or_default();
                    text::clean(field(text), false, &mut title);
                    if title.is_empty() {
                        text::clean(field(replacement), false, &mut title);
                    }
                    let item = field(Some(id)).trim();
                    if item.is_empty() || title.is_empty() {
                        titles.table.empty += 1;
                        continue;
                    }
                    if let Some(first) = titles.by_item.get(item) {
                        titles.table.repeated += 1;
                        titles.table.contradicting += u64::from(**first != *title);
                        continue;
                    }
                    titles.bytes += item.len() + title.len() + TITLE_BYTES;
                    if titles.bytes > budget {
                        return Err(too_large(path, budget));
                    }
                    titles.by_item.insert(item.into(), title.as_str().into());
                }
            }
        }
        titles.table.judge(max_bad)?;
        Ok(titles)
    }

    /// The title of an item.
    #[inline]
    pub(crate) fn get(&self, item: &str) -> Option<&str> {
        self.by_item.get(item).map(|title| &**title)
    }

    /// The memory that they take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of items with a title.
    pub(crate) fn len(&self) -> usize {
        self.by_item.len()
    }
}

//! Titles of items.

use std::collections::HashMap;
use std::path::Path;

use clickvec::tables::titles_file;
use clickvec_tables::table::{Next, Record, Table};

use crate::Result;
use crate::columns::Role;
use crate::error::{lacks as lacks_column, too_large};
use crate::report::SideTable;
use crate::tables::Options;
use crate::text;

/// The bytes that a title takes in addition to its texts.
const TITLE_BYTES: usize = 64;

/// The id of a document of BEIR.
const BEIR_ID: &str = "_id";

/// Titles by item.
pub(crate) struct TitleTexts {
    by_item: HashMap<Box<str>, Box<str>>,
    bytes: usize,
    /// The figures of the table.
    pub(crate) table: SideTable,
}

impl TitleTexts {
    /// Reads a table with the columns that `options` name, or a BEIR corpus or its folder, where the text replaces a
    /// missing title. If an item has several titles, the first counts.
    pub(crate) fn read(path: &Path, options: Options, budget: usize, max_bad: f64) -> Result<TitleTexts> {
        let path = &titles_file(path)?;
        let mut table = Table::open(path, &options.of_table())?;
        let lacks = |role: Role, table: &Table| {
            let error = lacks_column(path, options.columns.of(role).unwrap_or_default(), table.names());
            error.help("a table of titles has the columns id and title")
        };
        let [id, text] = [Role::Item, Role::Title].map(|role| options.columns.of(role).unwrap_or(role.name()));
        let is_corpus = !table.has(id) && table.has(BEIR_ID);
        let id = table.column(if is_corpus { BEIR_ID } else { id })?.ok_or_else(|| lacks(Role::Item, &table))?;
        let text = match table.column(text)? {
            None if !is_corpus => return Err(lacks(Role::Title, &table)),
            text => text,
        };
        // The documents of a corpus need not have titles.
        let replacement = if is_corpus { table.column("text")? } else { None };
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

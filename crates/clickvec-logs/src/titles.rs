//! Titles of items.

use std::collections::HashMap;
use std::path::Path;

use clickvec::tables::titles_file;

use crate::columns::Role;
use crate::error::{Error, InputTable, Result, TableFault};
use crate::report::SideTable;
use crate::tables::{LogTable, Next, Options, Record};
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
    pub(crate) fn read(path: &Path, mut options: Options, budget: usize, max_bad: f64) -> Result<TitleTexts> {
        options.columns.name_else(Role::Item, BEIR_ID);
        let mut ids = options.columns.clone();
        ids.forget(Role::Title);
        // The role of queries is not used in a table of titles, so the text can take it.
        options.columns.leave_out(Role::Query);
        options.columns.name_else(Role::Query, "text");
        let path = &titles_file(path).map_err(Error::File)?;
        let mut table = LogTable::open(path, &options).map_err(|error| error.in_table(InputTable::Titles))?;
        let names = |name: &str| table.names().iter().any(|other| other == name);
        let is_corpus = names(BEIR_ID) && !names("id");
        let mut titles = TitleTexts { by_item: HashMap::new(), bytes: 0, table: SideTable::new(path) };
        let (mut record, mut title) = (Record::default(), String::new());
        loop {
            match table.next(&mut record)? {
                Next::End => break,
                Next::Header | Next::Other => titles.table.rows += 1,
                Next::Broken(fault) => titles.table.broken(record.line, &fault),
                Next::Row => {
                    titles.table.rows += 1;
                    text::clean(record.get(Role::Title).unwrap_or_default(), false, &mut title);
                    if is_corpus && title.is_empty() {
                        text::clean(record.get(Role::Query).unwrap_or_default(), false, &mut title);
                    }
                    let item = record.get(Role::Item).unwrap_or_default().trim();
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
                        return Err(Error::table(path, TableFault::TooLarge { megabytes: budget >> 20 }));
                    }
                    titles.by_item.insert(item.into(), title.as_str().into());
                }
            }
        }
        // The documents of a corpus need not have titles.
        table
            .check_named(if is_corpus { &ids } else { &options.columns })
            .map_err(|error| error.in_table(InputTable::Titles))?;
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

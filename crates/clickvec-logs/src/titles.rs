//! Titles of items.

use std::collections::HashMap;

use clickvec::tables::titles_file;
use clickvec_tables::table::Table;
use clickvec_tables::titles::{TITLE, TitleReader, Titles};

use crate::Result;
use crate::error::too_large;
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
        let table = Table::open(path, &options.table())?;
        let mut reader = TitleReader::from_table(table, titles, TITLE, &[])?;
        let mut titles = TitleTexts { by_item: HashMap::new(), bytes: 0, table: SideTable::new(path) };
        let mut title = String::new();
        while let Some(found) = reader.next()? {
            let (item, text) = match found.title {
                Ok(found) => found,
                Err(fault) if !found.lacking && !fault.is_repeated_header() => {
                    titles.table.broken(found.line, &fault);
                    continue;
                }
                Err(fault) => {
                    titles.table.rows += 1;
                    titles.table.empty += u64::from(found.lacking);
                    titles.table.headers += u64::from(fault.is_repeated_header());
                    continue;
                }
            };
            titles.table.rows += 1;
            titles.table.with_entities += u64::from(found.with_entities);
            if let Some(null) = found.null {
                *titles.table.null_texts.entry(null).or_default() += 1;
            }
            text::clean(text, false, &mut title);
            if title.is_empty() {
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
        titles.table.judge(max_bad)?;
        Ok(titles)
    }

    /// Returns the title of an item.
    #[inline]
    pub(crate) fn get(&self, item: &str) -> Option<&str> {
        self.by_item.get(item).map(|title| &**title)
    }

    /// Returns the memory that they take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of items with a title.
    pub(crate) fn len(&self) -> usize {
        self.by_item.len()
    }
}

//! Tables in memory: their owner passes on the rows, one by one.
//!
//! Such a table has a path of its own, which no file can have, so that whatever reads a table by its path reads this one, too:
//!
//! ```
//! use clickvec_tables::table::{MemoryTable, Next, Options, Record, Rows, Table};
//!
//! struct Titles(Vec<String>, std::vec::IntoIter<[&'static str; 2]>);
//!
//! impl Rows for Titles {
//!     fn names(&self) -> &[String] {
//!         &self.0
//!     }
//!
//!     fn next(&mut self, columns: &[usize], record: &mut Record) -> clickvec_tables::Result<bool> {
//!         let Some(row) = self.1.next() else { return Ok(false) };
//!         columns.iter().enumerate().for_each(|(field, &column)| record.push(field, row[column]));
//!         Ok(true)
//!     }
//! }
//!
//! let open = || Box::new(Titles(vec!["id".into(), "title".into()], vec![["7", "Shoes, red"]].into_iter())) as Box<dyn Rows>;
//! let titles = MemoryTable::new("titles", move || Ok(open()));
//! let mut table = Table::open(titles.path(), &Options::default())?;
//! let title = table.require("title")?;
//! let mut record = Record::default();
//! assert_eq!(table.next(&mut record)?, Next::Row);
//! assert_eq!((record.line, record.get(title)), (1, Some("Shoes, red")));
//! assert_eq!(table.require("sku").unwrap_err().to_string(), "titles: expected a column `sku`, found `id`, `title`");
//! # Ok::<(), clickvec_tables::Error>(())
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::format::MAX_LINE_BYTES;
use super::record::{Next, Record, RowFault};
use crate::shown::{is_in_memory, path_in_memory};
use crate::{Error, ErrorKind, Result};

/// The rows of a table in memory.
pub trait Rows: Send {
    /// Returns the names of all columns.
    fn names(&self) -> &[String];

    /// Reads the next row: pushes the field of each of `columns` into the record, numbered from 0 in this order. A missing field is
    /// not pushed, and one that is neither a text nor a number is refused. Returns false at the end.
    ///
    /// # Errors
    ///
    /// Why the row cannot be read.
    fn next(&mut self, columns: &[usize], record: &mut Record) -> Result<bool>;
}

/// A table in memory that is read by its path, like a file, as long as this value lives.
pub struct MemoryTable {
    path: PathBuf,
}

/// How a table in memory is opened.
type Open = dyn Fn() -> Result<Box<dyn Rows>> + Send + Sync;

struct Registered {
    open: Arc<Open>,
    /// Whether that can be done only once.
    is_once: bool,
}

/// The tables in memory by their paths.
static TABLES: Mutex<BTreeMap<PathBuf, Registered>> = Mutex::new(BTreeMap::new());

fn tables() -> MutexGuard<'static, BTreeMap<PathBuf, Registered>> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryTable {
    /// Creates a table that messages call `name`. `open` returns its rows from the first one on, each time the table is read.
    pub fn new(name: &str, open: impl Fn() -> Result<Box<dyn Rows>> + Send + Sync + 'static) -> MemoryTable {
        MemoryTable::register(name, Arc::new(open), false)
    }

    /// Creates a table whose rows can be had only once, like those of a pipe.
    pub fn once(name: &str, rows: Box<dyn Rows>) -> MemoryTable {
        let rows = Mutex::new(Some(rows));
        let open = move || {
            let rows = rows.lock().unwrap_or_else(PoisonError::into_inner).take();
            rows.ok_or_else(|| Error::new(ErrorKind::Io, "the rows were read before, and can be read only once"))
        };
        MemoryTable::register(name, Arc::new(open), true)
    }

    fn register(name: &str, open: Arc<Open>, is_once: bool) -> MemoryTable {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let path = path_in_memory(NUMBER.fetch_add(1, Ordering::Relaxed), name);
        tables().insert(path.clone(), Registered { open, is_once });
        MemoryTable { path }
    }

    /// Returns the path by which the table is read.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for MemoryTable {
    fn drop(&mut self) {
        let removed = tables().remove(&self.path);
        // The rows are dropped after the lock, because that may run any code.
        drop(removed);
    }
}

/// Returns whether the rows at a path are in memory and can be read only once.
pub fn is_once(path: &Path) -> bool {
    is_in_memory(path) && tables().get(path).is_some_and(|table| table.is_once)
}

pub(super) struct Reader {
    rows: Box<dyn Rows>,
    columns: Vec<usize>,
    /// Whether each column is only looked at.
    watched: Vec<bool>,
    row: u64,
}

impl Reader {
    /// Opens the table at a path; `None` if it is not in memory.
    pub(super) fn open(path: &Path) -> Result<Option<Reader>> {
        if !is_in_memory(path) {
            return Ok(None);
        }
        let open = tables().get(path).map(|table| Arc::clone(&table.open));
        let Some(open) = open else { return Ok(None) };
        Ok(Some(Reader {
            rows: open().map_err(|error| error.at(path))?,
            columns: Vec::new(),
            watched: Vec::new(),
            row: 0,
        }))
    }

    pub(super) fn names(&self) -> &[String] {
        self.rows.names()
    }

    pub(super) fn select(&mut self, column: usize, is_watched: bool) {
        self.columns.push(column);
        self.watched.push(is_watched);
    }

    /// Reads the next row; `path` is for messages.
    pub(super) fn next(&mut self, path: &Path, record: &mut Record) -> Result<Next> {
        record.clear(self.columns.len());
        self.row += 1;
        record.line = self.row;
        if !self.rows.next(&self.columns, record).map_err(|error| error.at_line(path, self.row))? {
            return Ok(Next::End);
        }
        if let Some((field, found)) = record.refused.iter().find(|(field, _)| !self.watched[*field]) {
            let expected = format!("texts or numbers in column `{}`", self.rows.names()[self.columns[*field]]);
            return Err(Error::expected(ErrorKind::Malformed, expected, found.clone()).at_line(path, self.row));
        }
        Ok(if record.text.len() > MAX_LINE_BYTES {
            Next::Broken(RowFault::too_long(MAX_LINE_BYTES))
        } else {
            Next::Row
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Options, Table};

    /// A column of numbers, counted down.
    struct Numbers(Vec<String>, usize);

    fn numbers() -> Box<dyn Rows> {
        Box::new(Numbers(vec!["Number".to_owned(), "number 2".to_owned()], 3))
    }

    impl Rows for Numbers {
        fn names(&self) -> &[String] {
            &self.0
        }

        fn next(&mut self, columns: &[usize], record: &mut Record) -> Result<bool> {
            let Some(left) = self.1.checked_sub(1) else { return Ok(false) };
            self.1 = left;
            if left == 0 {
                return Err(Error::expected(ErrorKind::Malformed, "a number", "`x`"));
            }
            for (field, column) in columns.iter().enumerate().filter(|(_, column)| **column == 0) {
                record.push(field, &(column + left).to_string());
            }
            Ok(true)
        }
    }

    #[test]
    fn rows_are_counted_in_messages() {
        let memory = MemoryTable::new("numbers", || Ok(numbers()));
        for _ in 0..2 {
            let mut table = Table::open(memory.path(), &Options::default()).unwrap();
            let columns = [table.require("number 2").unwrap(), table.require("number").unwrap()];
            let mut record = Record::default();
            for expected in [(1, None, Some("2")), (2, None, Some("1"))] {
                assert!(table.next_row(&mut record).unwrap());
                assert_eq!((record.line, record.get(columns[0]), record.get(columns[1])), expected);
            }
            let error = table.next_row(&mut record).unwrap_err();
            assert_eq!(error.to_string(), "numbers, row 3: expected a number, found `x`");
        }
    }

    #[test]
    fn rows_that_can_be_had_once_are_read_once() {
        let memory = MemoryTable::once("numbers", numbers());
        let path = memory.path().to_owned();
        let open = || Table::open(&path, &Options::default());
        assert!(is_once(&path) && open().is_ok());
        assert!(open().is_err_and(|error| error.to_string().starts_with("numbers: the rows were read before")));
        drop(memory);
        assert!(!is_once(&path) && open().is_err_and(|error| error.kind() == ErrorKind::Io));
    }
}

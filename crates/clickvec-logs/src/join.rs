//! Finding the query of a click by an id or by the visit.

use std::collections::HashMap;
use std::path::Path;

use crate::columns::Role;
use crate::error::too_large;
use crate::report::SideTable;
use crate::tables::{LogTable, Next, Options, Record};
use crate::text::clean_query;
use crate::time::Time;
use crate::{Error, Result};

/// The bytes that a search takes in addition to its texts.
const SEARCH_BYTES: usize = 80;

/// Searches by key.
pub(crate) struct Searches {
    /// Time and query for each key, in the order of the log; ordered by time after [`Searches::sort`].
    by_key: HashMap<Box<str>, Vec<(Time, Box<str>)>>,
    bytes: usize,
    budget: usize,
    by_time: bool,
    /// Searches with the key of an earlier one, where only one counts.
    pub(crate) repeated: u64,
    /// Repeated searches with another query than the first.
    pub(crate) contradicting: u64,
}

impl Searches {
    /// Returns the memory that it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Creates an empty collection of at most `budget` bytes. With `by_time`, a click belongs to the last search before it.
    pub(crate) fn new(budget: usize, by_time: bool) -> Searches {
        Searches { by_key: HashMap::new(), bytes: 0, budget, by_time, repeated: 0, contradicting: 0 }
    }

    /// Adds a search. `path` is for messages.
    pub(crate) fn add(&mut self, path: &Path, key: &str, time: Option<Time>, query: &str) -> Result<()> {
        self.bytes += key.len() + query.len() + SEARCH_BYTES;
        if self.bytes > self.budget {
            return Err(too_large(path, self.budget));
        }
        let time = time.unwrap_or(Time(i64::MIN));
        match self.by_key.get_mut(key) {
            Some(searches) => {
                if !self.by_time {
                    self.repeated += 1;
                    self.contradicting += u64::from(!is_same_query(&searches[0].1, query));
                }
                searches.push((time, query.into()));
            }
            None => drop(self.by_key.insert(key.into(), vec![(time, query.into())])),
        }
        Ok(())
    }

    /// Sorts the searches; call it after the last one was added.
    pub(crate) fn sort(&mut self) {
        self.by_key.values_mut().for_each(|searches| searches.sort_by_key(|&(time, _)| time));
    }

    /// Returns the query before a click with this key at this time.
    pub(crate) fn find(&self, key: &str, time: Option<Time>) -> Option<&str> {
        let searches = self.by_key.get(key)?;
        if !self.by_time {
            return searches.first().map(|(_, query)| &**query);
        }
        let before = searches.partition_point(|&(asked, _)| asked <= time.unwrap_or(Time(i64::MAX)));
        searches[..before].last().map(|(_, query)| &**query)
    }

    /// Reads a table of queries with the columns `query_id` and `query`.
    pub(crate) fn read(
        path: &Path,
        mut options: Options,
        budget: usize,
        max_bad: f64,
    ) -> Result<(Searches, SideTable)> {
        if !options.columns.is_named(Role::Key) {
            options.columns.name(Role::Key, Role::Key.name());
        }
        let advise = |error: Error| {
            let is_lacking = error.what_was_expected().is_some_and(|expected| expected.starts_with("a column `"));
            if is_lacking { error.help("a table of queries has the columns query_id and query") } else { error }
        };
        let mut table = LogTable::open(path, &options).map_err(advise)?;
        table.require(Role::Key, &options.columns).map_err(advise)?;
        table.require(Role::Query, &options.columns).map_err(advise)?;
        let mut read = SideTable::new(path);
        let mut searches = Searches::new(budget, false);
        let mut record = Record::default();
        loop {
            match table.next(&mut record).map_err(advise)? {
                Next::End => break,
                Next::Other => read.rows += 1,
                Next::Header => {
                    read.rows += 1;
                    read.headers += 1;
                }
                Next::Broken(fault) => read.broken(record.line, &fault),
                Next::Row => {
                    read.rows += 1;
                    let field = |role| record.get(role).map(str::trim).filter(|field| !field.is_empty());
                    match (field(Role::Key), field(Role::Query)) {
                        (Some(key), Some(query)) => match searches.find(key, None) {
                            None => searches.add(path, key, None, query)?,
                            Some(first) => {
                                read.repeated += 1;
                                read.contradicting += u64::from(!is_same_query(first, query));
                            }
                        },
                        _ => read.empty += 1,
                    }
                }
            }
        }
        read.judge(max_bad)?;
        Ok((searches, read))
    }
}

/// Returns whether two queries are the same once they are cleaned, with small letters only.
fn is_same_query(a: &str, b: &str) -> bool {
    let cleaned = |query: &str| {
        let mut out = String::new();
        clean_query(query, true, &mut out);
        out
    };
    a == b || cleaned(a) == cleaned(b)
}

//! Who asked what in a row.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::columns::Role;
use crate::table::Record;
use crate::time::Time;
use crate::user::user;

/// Who asked what in a row, for those who count queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    /// A hash of who.
    pub(super) user: u64,
    /// Days since 1970, if the row says when.
    pub(super) day: Option<i32>,
    /// A hash of the query and of when or in which visit it was asked.
    pub(super) query: u64,
}

/// A hash of who asked; `None` if nobody knows.
#[inline]
pub(super) fn who(record: &Record) -> Option<u64> {
    Some(xxh3_64(user(record.get(Role::User)?)?.as_bytes()))
}

/// Who asked what, if somebody knows who. `time` is the row's.
#[inline]
pub(super) fn asked(record: &Record, time: Option<Time>) -> Option<Asked> {
    let user = who(record)?;
    let own = record.get(Role::Query).filter(|query| !query.trim().is_empty());
    let query = own.or(record.get(Role::Key)).unwrap_or_default();
    let visit = record.get(Role::Time).or(record.get(Role::Session)).unwrap_or_default();
    let query = xxh3_64_with_seed(query.as_bytes(), xxh3_64(visit.as_bytes()));
    // A time in microseconds has a day of 28 bits.
    Some(Asked { user, day: time.map(|time| time.day() as i32), query })
}

//! The user and query of a row.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::columns::Role;
use crate::tables::Record;
use crate::time::Time;
use crate::user::user;

/// The user and query of a row, for counting queries of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UserQuery {
    /// A hash of the user.
    pub(super) user: u64,
    /// Days since 1970, if the row has a time.
    pub(super) day: Option<i32>,
    /// A hash of the query and its time or visit.
    pub(super) query: u64,
}

/// Returns a hash of the user; `None` if the row has none.
#[inline]
pub(super) fn who(record: &Record) -> Option<u64> {
    Some(xxh3_64(user(record.get(Role::User)?)?.as_bytes()))
}

/// Returns the user and query of a row, if the user is known. `time` is the row's time.
#[inline]
pub(super) fn user_query(record: &Record, time: Option<Time>) -> Option<UserQuery> {
    let user = who(record)?;
    let own = record.get(Role::Query).filter(|query| !query.trim().is_empty());
    let query = own.or(record.get(Role::Key)).unwrap_or_default();
    let visit = record.get(Role::Time).or(record.get(Role::Session)).unwrap_or_default();
    let query = xxh3_64_with_seed(query.as_bytes(), xxh3_64(visit.as_bytes()));
    // The day of a time in microseconds has 28 bits.
    Some(UserQuery { user, day: time.map(|time| time.day() as i32), query })
}

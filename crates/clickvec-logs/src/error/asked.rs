//! Requests that cannot be fulfilled, and why nothing is left.

use std::path::PathBuf;

use crate::columns::Role;

/// The need for a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// For leaving out queries of few users.
    MinUsers,
    /// For leaving out users with too many queries in the whole log.
    MaxQueries,
    /// For leaving out users with too many queries in a day.
    MaxQueriesPerDay,
    /// For splitting by time.
    ValidationAfter,
    /// For correcting position bias.
    PositionBias,
    /// For marking queries of few users.
    Private,
}

impl Need {
    fn what(self) -> &'static str {
        match self {
            Need::MinUsers => "a least number of users",
            Need::MaxQueries => "a limit of queries for each user",
            Need::MaxQueriesPerDay => "a limit of queries for each user and day",
            Need::ValidationAfter => "a split by time",
            Need::PositionBias => "the correction of position bias",
            Need::Private => "a private table",
        }
    }
}

/// A reason why rows are not in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// They are broken.
    Broken,
    /// The title was shown and not clicked.
    NotClicked,
    /// The user is a robot.
    Robots,
    /// They have no query.
    WithoutQuery,
    /// The search that they belong to is missing.
    WithoutSearch,
    /// They have no item and no title.
    WithoutItem,
    /// Their item has no title.
    WithoutTitle,
    /// Their count is 0.
    CountZero,
    /// Their event is not known.
    OtherEvents,
    /// Fewer users than this clicked for the query.
    FewUsers(usize),
    /// The pair has fewer clicks than this.
    FewClicks(u64),
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Reason::Broken => "broken",
            Reason::NotClicked => "not clicked",
            Reason::Robots => "of robots",
            Reason::WithoutQuery => "without a query",
            Reason::WithoutSearch => "without their search",
            Reason::WithoutItem => "without an item or title",
            Reason::WithoutTitle => "of items without a title",
            Reason::CountZero => "with a count of 0",
            Reason::OtherEvents => "of no known event",
            Reason::FewUsers(least) => return write!(f, "clicks of queries with fewer than {least} users"),
            Reason::FewClicks(least) => return write!(f, "clicks of pairs with fewer than {least}"),
        })
    }
}

pub(super) fn left(rows: u64, reasons: &[(Reason, u64)]) -> String {
    if reasons.is_empty() {
        return "the log has no rows".to_owned();
    }
    let reasons: Vec<String> = reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    format!("of {rows} rows: {}", reasons.join(", "))
}

/// A request that cannot be fulfilled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Asked {
    /// The request needs a column that is missing.
    #[error("{} needs {}, found none", need.what(), role.what())]
    NeedsColumn {
        /// The request.
        need: Need,
        /// The role of the missing column.
        role: Role,
    },
    /// The columns for a click model are there, but they have nothing to fit it to.
    #[error(
        "to correct position bias, expected rows of titles that were shown, clicked or not, at several positions; found {0}"
    )]
    NoPositions(String),
    /// The columns say which item was clicked, but nothing gives its title.
    #[error("expected a title for each item, found only items")]
    NoTitles,
    /// A log that must be read twice comes from a pipe.
    #[error("{what} is read twice, so it cannot come from standard input; name a file")]
    ReadTwice {
        /// The name of the input.
        what: &'static str,
    },
    /// A preset needs the table of queries.
    #[error("a log of `{preset}` has only the ids of queries; expected a table of their texts, found none")]
    PresetNeedsQueries {
        /// The preset.
        preset: &'static str,
    },
    /// A preset with known columns was given a header.
    #[error("a log of `{preset}` has fixed columns; expected no header of your own, found one")]
    PresetHeader {
        /// The preset.
        preset: &'static str,
    },
    /// An output is a file that the shell has opened.
    #[error(
        "{}: expected a file, a pipe or standard output, found a redirection to a file; name the file itself",
        clickvec::internals::error::shown(path)
    )]
    Redirection {
        /// The output.
        path: PathBuf,
    },
    /// The titles of one query do not fit in memory.
    #[error("expected the titles of one query to fit into {megabytes} MB of memory, found more")]
    QueryTooLarge {
        /// The limit.
        megabytes: usize,
    },
    /// A preset with a fixed format was given another.
    #[error("a log of `{preset}` is {expected}, found the format `{found}`")]
    PresetFormat {
        /// The preset.
        preset: &'static str,
        /// The preset's format.
        expected: &'static str,
        /// The format that was requested.
        found: &'static str,
    },
}

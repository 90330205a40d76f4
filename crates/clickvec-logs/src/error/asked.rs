//! What cannot be had, and why nothing is left.

use std::path::PathBuf;

use crate::columns::Role;

/// What a column is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// To leave out queries of few users.
    MinUsers,
    /// To leave out who asks too much in the whole log.
    MaxQueries,
    /// To leave out who asks too much in a day.
    MaxQueriesPerDay,
    /// To split by time.
    ValidationAfter,
    /// To correct position bias.
    PositionBias,
}

impl Need {
    fn what(self) -> &'static str {
        match self {
            Need::MinUsers => "a least number of users",
            Need::MaxQueries => "a limit of queries for each user",
            Need::MaxQueriesPerDay => "a limit of queries for each user and day",
            Need::ValidationAfter => "a split by time",
            Need::PositionBias => "the correction of position bias",
        }
    }
}

/// What became of rows of which nothing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// They are broken.
    Broken,
    /// Shown, not clicked.
    NotClicked,
    /// Of robots.
    Robots,
    /// Without a query.
    WithoutQuery,
    /// Without the search that they belong to.
    WithoutSearch,
    /// Without an item or title.
    WithoutItem,
    /// Of items without a title.
    WithoutTitle,
    /// With a count of 0.
    CountZero,
    /// Of no known event.
    OtherEvents,
    /// Clicks of queries of fewer users than this.
    FewUsers(usize),
    /// Clicks of pairs with fewer clicks than this.
    FewClicks(u64),
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Reason::Broken => "broken",
            Reason::NotClicked => "not clicked",
            Reason::Robots => "of robots",
            Reason::WithoutQuery => "without a query",
            Reason::WithoutSearch => "without the search that they belong to",
            Reason::WithoutItem => "without an item or title",
            Reason::WithoutTitle => "of items without a title",
            Reason::CountZero => "with a count of 0",
            Reason::OtherEvents => "of no known event",
            Reason::FewUsers(least) => return write!(f, "clicks of queries of fewer than {least} users"),
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

/// What cannot be done as it was asked for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Asked {
    /// A column is needed for what was asked for.
    #[error("{} needs {}, found none", need.what(), role.what())]
    NeedsColumn {
        /// What was asked for.
        need: Need,
        /// What the column should say.
        role: Role,
    },
    /// The log has columns, but nothing to fit in them.
    #[error(
        "to correct position bias, expected rows of titles that were shown, clicked or not, at several positions; found {0}"
    )]
    NoPositions(String),
    /// The columns say which item was clicked, and nothing says what it is called.
    #[error("expected a title for each item, found only items")]
    NoTitles,
    /// A log that is read twice comes from a pipe.
    #[error("{what} is read twice, so it cannot come from standard input; name a file")]
    ReadTwice {
        /// What.
        what: &'static str,
    },
    /// A preset needs the table of queries.
    #[error("a log of `{preset}` has only the numbers of queries: expected a table of their texts, found none")]
    PresetNeedsQueries {
        /// The preset.
        preset: &'static str,
    },
    /// A preset knows its columns.
    #[error("a log of `{preset}` has columns that are known: expected no header of your own, found one")]
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
    /// One query has more titles than memory allows.
    #[error("expected the titles of one query to fit into {megabytes} MB of memory, found more")]
    QueryTooLarge {
        /// The bound.
        megabytes: usize,
    },
    /// A preset fixes the format.
    #[error("a log of `{preset}` is {expected}, found the format `{found}` asked for")]
    PresetFormat {
        /// The preset.
        preset: &'static str,
        /// Its format.
        expected: &'static str,
        /// What was asked for.
        found: &'static str,
    },
}

//! Faults of the files of a test set.

use std::fmt;

use super::listed;

/// A fault of a test set of several files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TestSetFault {
    /// A BEIR folder lacks a file.
    #[error(
        "expected a file, or a BEIR folder with `queries.jsonl`, `corpus.jsonl` and `qrels/test.tsv`, found a folder \
         without `{missing}`; see docs/reference/tables.md"
    )]
    NotBeir {
        /// The missing file.
        missing: &'static str,
    },
    /// A BEIR folder has several files of judgments, and none is named `test.tsv`.
    #[error(
        "expected `test.tsv`, or one file of judgments, found {}; name one of them instead of the folder",
        listed(found, SHOWN_NAMES)
    )]
    SeveralQrels {
        /// The names of the files.
        found: Vec<String>,
    },
    /// Qrels were given without the texts of their queries.
    #[error("expected the texts of the queries, which TREC qrels do not have, found none")]
    NoTopics,
    /// Qrels were given without the texts of their titles.
    #[error("expected the texts of the titles, which TREC qrels do not have, found none")]
    NoTitles,
    /// Topics were given for judged titles that include their queries.
    #[error(
        "expected a file of topics with TREC qrels only, found {found}, which has the texts of its queries; leave the topics out"
    )]
    IdleTopics {
        /// What the judged titles are.
        found: JudgedWithTexts,
    },
    /// There are no judgments.
    #[error(
        "expected judged titles {}, found none; see docs/reference/tables.md",
        if *is_table { "below the header" } else { "whose texts are there" }
    )]
    NothingJudged {
        /// Whether the judged titles are a table, so that they have their texts with them.
        is_table: bool,
    },
    /// A collection has no titles.
    #[error("expected titles below the header, found none; see docs/reference/tables.md")]
    NoTitle,
    /// A file of topics has no topics.
    #[error("expected topics, found none; see docs/reference/tables.md")]
    NoTopic,
    /// A run is of other queries or titles.
    #[error(
        "expected a run with ids of the judged {}, such as {expected}, found none of them, but {}",
        if expected.title.is_some() { "queries and titles" } else { "queries" },
        found.as_ref().map_or("an empty run".to_owned(), RunIds::to_string)
    )]
    OtherRun {
        /// Ids of the first judged title.
        expected: RunIds,
        /// The first ids of the run; `None` if it is empty.
        found: Option<RunIds>,
    },
    /// A run has a title that is not in the collection.
    #[error(
        "expected titles of the collection, found `{title}` for query `{query}`; name the collection that was searched"
    )]
    OtherTitle {
        /// The title's id, shortened.
        title: String,
        /// The query's id, shortened.
        query: String,
    },
    /// The topics are too long to be kept in memory.
    #[error("expected topics of at most {limit} bytes, found more; is this a file of topics?")]
    TopicsTooLong {
        /// The limit.
        limit: usize,
    },
}

/// Judged titles that have the texts of their queries with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JudgedWithTexts {
    /// A table.
    #[error("a table")]
    Table,
    /// A BEIR folder.
    #[error("a BEIR folder")]
    Beir,
}

/// Ids in a run. Both are shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunIds {
    /// The id of a query.
    pub query: String,
    /// The id of a title; `None` if only queries matter.
    pub title: Option<String>,
}

impl fmt::Display for RunIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.title {
            Some(title) => write!(f, "title `{title}` of query `{}`", self.query),
            None => write!(f, "query `{}`", self.query),
        }
    }
}

/// How many names a message shows.
const SHOWN_NAMES: usize = 10;

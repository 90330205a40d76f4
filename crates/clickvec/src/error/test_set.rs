//! Faults of the files of a test set.

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
        found: &'static str,
    },
    /// There are no judgments.
    #[error("expected judged titles {place}, found none; see docs/reference/tables.md")]
    NothingJudged {
        /// Where judgments were expected.
        place: &'static str,
    },
    /// A collection has no titles.
    #[error("expected titles below the header, found none; see docs/reference/tables.md")]
    NoTitle,
    /// A file of topics has no topics.
    #[error("expected topics, found none; see docs/reference/tables.md")]
    NoTopic,
    /// A run is of other queries or titles.
    #[error("expected a run with ids of {of}, found none of them")]
    OtherRun {
        /// What the ids are of.
        of: &'static str,
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

/// How many names a message shows.
const SHOWN_NAMES: usize = 10;

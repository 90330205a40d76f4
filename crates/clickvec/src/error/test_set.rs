//! What can be wrong with the files that a test set is made of, as a whole.

use super::listed;

/// What can be wrong with a test set of several files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TestSetFault {
    /// A BEIR folder lacks a file.
    #[error(
        "expected a file, or a BEIR folder with `queries.jsonl`, `corpus.jsonl` and `qrels/test.tsv`, found a folder \
         without `{missing}`; see docs/reference/tables.md"
    )]
    NotBeir {
        /// The file.
        missing: &'static str,
    },
    /// A BEIR folder has several qrels, and none of them is the test set.
    #[error(
        "expected `test.tsv`, or one file of judgments, found {}; name one of them instead of the folder",
        listed(found, SHOWN_NAMES)
    )]
    SeveralQrels {
        /// Their names.
        found: Vec<String>,
    },
    /// Qrels name queries by number.
    #[error("expected the texts of the queries beside TREC qrels, found none")]
    NoTopics,
    /// Qrels name titles by number.
    #[error("expected the texts of the titles beside TREC qrels, found none")]
    NoTitles,
    /// Topics beside judged titles that have their queries.
    #[error(
        "expected a file of topics with TREC qrels only, found {found}, which has the texts of its queries; leave the topics out"
    )]
    IdleTopics {
        /// What the judged titles are.
        found: &'static str,
    },
    /// There is nothing that was judged.
    #[error("expected judged titles {place}, found none; see docs/reference/tables.md")]
    NothingJudged {
        /// Where they should be.
        place: &'static str,
    },
    /// A collection without a title.
    #[error("expected titles below the header, found none; see docs/reference/tables.md")]
    NoTitle,
    /// A file of topics without any.
    #[error("expected topics, found none; see docs/reference/tables.md")]
    NoTopic,
    /// Topics that would fill the memory.
    #[error("expected topics of at most {limit} bytes, found more; is this a file of topics?")]
    TopicsTooLong {
        /// The bound.
        limit: usize,
    },
}

/// How many names a message repeats.
const SHOWN_NAMES: usize = 10;

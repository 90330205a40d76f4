//! What an update tells of its queries while it runs.

use super::LearntBefore;

/// A notice about the queries of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The old model has learnt these clicks before.
    LearntBefore(LearntBefore),
    /// The state is that of another model, so that the test begins anew.
    OtherModel,
    /// The newest day is in the test already.
    CountedBefore,
    /// There are too few queries with judged titles to decide.
    FewJudged {
        /// The number of queries.
        queries: usize,
    },
}

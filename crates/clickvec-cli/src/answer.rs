//! How a command ended.

/// How a command ended that could be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Done.
    Done,
    /// Done, and there is nothing that was asked for.
    No,
    /// Not done, and the parser of the command line has said why.
    Misused,
}

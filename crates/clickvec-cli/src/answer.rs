//! How a command ended.

/// The end of a command that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The command did its work.
    Done,
    /// The command did its work, and the answer is no or empty.
    No,
    /// The command line was wrong, and its parser has said why.
    Misused,
    /// A signal asked to stop. The exit status says so.
    Stopped(u8),
}

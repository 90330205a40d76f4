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
    /// Stopped half-way because somebody asked for it, with the exit status that says so.
    Stopped(u8),
}

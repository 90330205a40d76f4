//! `clickvec completions`: a script that lets the shell complete commands and flags.

use anyhow::Result;

use crate::answer::Answer;
use crate::output;

/// Print a completion script for a shell.
///
/// For bash, for example: `clickvec completions bash > ~/.local/share/bash-completion/completions/clickvec`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which shell.
    shell: clap_complete::Shell,
}

/// Prints the script for `command`, the whole program.
pub(crate) fn run(args: Args, command: &mut clap::Command) -> Result<Answer> {
    // Into memory first: the generator panics where a pipe is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "clickvec", &mut script);
    output::print(String::from_utf8_lossy(&script))?;
    Ok(Answer::Done)
}

//! `clickvec completions`: a script that lets the shell complete commands and flags.

use anyhow::Result;
use clap::CommandFactory;

use super::{Answer, Cli};
use crate::output;

/// Print a completion script for a shell.
///
/// For bash, for example: `clickvec completions bash > ~/.local/share/bash-completion/completions/clickvec`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which shell.
    shell: clap_complete::Shell,
}

/// Prints the script.
pub(crate) fn run(args: Args) -> Result<Answer> {
    // Into memory first: the generator panics where a pipe is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "clickvec", &mut script);
    output::print(String::from_utf8_lossy(&script))?;
    Ok(Answer::Done)
}

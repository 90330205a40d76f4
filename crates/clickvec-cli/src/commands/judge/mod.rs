//! `clickvec judge`: grades by people, from a sheet of the best titles of several systems.

mod page;
mod pool;
mod queries;
mod read;
mod systems;

#[cfg(fuzzing)]
pub(crate) use read::rows as sheet_rows;

use anyhow::Result;
use clap::Subcommand;

use crate::answer::Answer;

/// Have people judge the best titles of several systems, without saying which system found them.
///
/// `pool` writes a sheet of queries with titles, as a table and as a page to fill in by keyboard. `read` turns filled sheets
/// into judged titles for `evaluate --judged`, and says how well two judges agree.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Pool(Box<pool::Args>),
    Read(read::Args),
}

/// Runs the part that was named.
pub(crate) fn run(args: Args) -> Result<Answer> {
    match args.command {
        Command::Pool(args) => pool::run(&args),
        Command::Read(args) => read::run(&args),
    }
}

/// A row of a sheet: a query and a title to grade.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    query: String,
    id: String,
    title: String,
}

//! `clickvec judge`: grades by people, from a sheet of the best titles of several systems.

mod page;
mod pool;
mod queries;
mod read;
mod systems;

#[cfg(fuzzing)]
pub(crate) use read::rows as sheet_rows;

use std::path::Path;

use anyhow::Result;
use clap::Subcommand;
use clickvec_tables::table::{Options, Table, Width};

use crate::answer::Answer;

/// The column of a sheet that people fill in.
const GRADE: &str = "grade";
/// The header of sheets and of judged titles.
const HEADER: &str = "query\ttitle_id\ttitle\tgrade\n";

/// Opens a table whose rows must be as wide as its header.
fn open_table(path: &Path) -> Result<Table> {
    Ok(Table::open(path, &Options { width: Width::Header, ..Options::default() })?)
}

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

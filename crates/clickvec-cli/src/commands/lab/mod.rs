//! `clickvec lab`: the papers' systems, tables and figures, and click logs with known truth.

mod claims;
mod context;
mod errors;
mod neighbours;
mod simulate;
mod table;
mod topics;
mod watch;

use anyhow::Result;

use crate::answer::Answer;

/// Reproduce the papers: their other systems, tables of many systems, figures, and click logs with known truth.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Table(Box<table::Args>),
    Simulate(simulate::Args),
    Topics(topics::Args),
    Context(context::Args),
    Neighbours(neighbours::Args),
    Claims(claims::Args),
    Errors(errors::Args),
}

/// Runs the subcommand.
pub(crate) fn run(args: Args) -> Result<Answer> {
    match args.what {
        What::Table(args) => table::run(&args),
        What::Simulate(args) => simulate::run(args),
        What::Topics(args) => topics::run(&args),
        What::Context(args) => context::run(&args),
        What::Neighbours(args) => neighbours::run(&args),
        What::Claims(args) => claims::run(&args),
        What::Errors(args) => errors::run(&args),
    }
}

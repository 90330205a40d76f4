//! `clickvec explain`: what a model sees in texts.

pub(super) mod arguments;
mod heat;
mod keywords;
mod marks;
mod matches;
pub(super) mod models;
mod pictures;
pub(super) mod printer;
mod rank;

use anyhow::Result;

use crate::answer::Answer;

/// Show what a model sees: why a title matches a query, which words are keywords, why a title ranks above another.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Match(matches::Args),
    Keywords(keywords::Args),
    Rank(rank::Args),
}

/// Runs the subcommand.
pub(crate) fn run(args: Args) -> Result<Answer> {
    match args.what {
        What::Match(args) => matches::run(&args),
        What::Keywords(args) => keywords::run(&args),
        What::Rank(args) => rank::run(&args),
    }
}

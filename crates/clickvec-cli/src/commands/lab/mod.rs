//! `clickvec lab`: the papers' systems, tables and figures, and click logs with known truth.

mod claims;
mod context;
mod errors;
mod neighbours;
mod simulate;
mod table;
mod topics;
mod watch;

use std::path::PathBuf;

use anyhow::Result;
use clickvec::train::Weighting;

use super::evaluate;
use crate::answer::Answer;
use crate::numbers::choice;

/// Reproduce the papers: their other systems, tables of many systems, figures, and click logs with known truth.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Evaluate(Box<EvaluateArgs>),
    Table(table::Args),
    Simulate(simulate::Args),
    Topics(topics::Args),
    Context(context::Args),
    Neighbours(neighbours::Args),
    Claims(claims::Args),
    Errors(errors::Args),
}

/// Measure how well systems rank judged titles, as `clickvec evaluate` does, with all systems of the papers.
#[derive(clap::Args)]
#[command(after_long_help = evaluate::rankers(&clickvec_lab::SYSTEMS))]
struct EvaluateArgs {
    #[command(flatten)]
    evaluate: evaluate::Args,

    /// The folder of a Skip-Thought encoder in its original form, for the ranker `skip-thought`.
    #[arg(long, value_name = "FOLDER")]
    load: Option<PathBuf>,

    /// How the column count of the log becomes the weight of a pair for rankers, multiplied by the column weight: log, ln(1 +
    /// count); linear; none; or binary, one click for each pair whatever the two columns say.
    #[arg(long, value_name = "HOW", requires = "clicks", default_value = "log", value_parser = choice::<Weighting>)]
    weighting: Weighting,
}

/// Runs the subcommand.
pub(crate) fn run(args: Args) -> Result<Answer> {
    match args.what {
        What::Evaluate(args) => {
            let EvaluateArgs { mut evaluate, load, weighting } = *args;
            evaluate.systems = &clickvec_lab::SYSTEMS;
            evaluate.load = load;
            evaluate.weighting = weighting;
            evaluate::run(evaluate)
        }
        What::Table(args) => table::run(args),
        What::Simulate(args) => simulate::run(args),
        What::Topics(args) => topics::run(&args),
        What::Context(args) => context::run(&args),
        What::Neighbours(args) => neighbours::run(&args),
        What::Claims(args) => claims::run(&args),
        What::Errors(args) => errors::run(&args),
    }
}

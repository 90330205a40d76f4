//! The command line, with one file for each command: it parses its `Args` and runs.
//!
//! All commands follow one pattern:
//!
//! * What a command works on, such as an index or a model, is its first argument and not an option.
//! * The options that most runs need come first. Those that few need have `hide_short_help`, so that `-h` is one screen; if there
//!   are many, `help_heading` groups them in `--help`.
//! * Results go to standard output, as one JSON object a line with `--json`; everything else goes to standard error.
//! * `--output` (`-o`) names what is written. Nothing is replaced that the command reads, or that is not of its kind.
//! * Values are checked by value parsers, whose messages say what was expected.

mod build;
mod compare;
mod completions;
mod demo;
mod embed;
mod evaluate;
mod explain;
mod export;
mod index;
mod inspect;
#[cfg(feature = "serve")]
mod judge;
mod lab;
mod man;
mod prepare;
mod search;
#[cfg(feature = "serve")]
mod serve;
mod train;
mod update;
mod welcome;

use std::ffi::OsString;

use anyhow::{Context, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clickvec::Error;
use clickvec::internals::math::Level;

use crate::answer::Answer;
use crate::ranks;
#[cfg(all(fuzzing, feature = "serve"))]
pub(crate) use serve::canaries;

/// An environment variable that lowers the instruction level, to compare levels or to reproduce another machine's
/// results.
const LEVEL_VARIABLE: &str = "CLICKVEC_LEVEL";

/// Learn sentence vectors from a search engine's click log, judge them, and search with them.
#[derive(Parser)]
#[command(name = "clickvec", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    /// Threads to use; 0 means one for each core.
    #[arg(long, global = true, display_order = 1000, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1024))]
    threads: u16,

    /// The options of the command.
    #[arg(skip)]
    options: Vec<String>,
}

impl Cli {
    /// The arguments of a command line, the first of which is the program's name.
    pub(crate) fn from_arguments(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
        let mut command = with_negative_numbers(Cli::command());
        let mut matches = command.try_get_matches_from_mut(arguments)?;
        let options = options(&command, &matches);
        let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))?;
        Ok(Cli { options, ..cli })
    }
}

/// Returns the options of the command that was typed.
fn options(command: &clap::Command, matches: &clap::ArgMatches) -> Vec<String> {
    match matches.subcommand().and_then(|(name, matches)| Some((command.find_subcommand(name)?, matches))) {
        Some((command, matches)) => options(command, matches),
        None => command.get_arguments().filter_map(|option| option.get_long()).map(str::to_owned).collect(),
    }
}

/// The command, for whose options `-1` is a value: they say what they expected. Otherwise it would be an unknown option.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let takes_value = |option: &clap::Arg| !option.is_positional() && option.get_action().takes_values();
    let with = |option: clap::Arg| if takes_value(&option) { option.allow_negative_numbers(true) } else { option };
    command.mut_args(with).mut_subcommands(with_negative_numbers)
}

const AFTER_HELP: &str = "\
Exit status: 0 success, 1 the answer is no (such as a search without results), 2 error;
130 stopped by Ctrl-C, 143 by SIGTERM.
Environment: CLICKVEC_LEVEL=plain|avx2|avx512 limits vector instructions to this level.";

#[derive(Subcommand)]
enum Command {
    Build(Box<build::Args>),
    Search(search::Args),
    #[cfg(feature = "serve")]
    Serve(Box<serve::Args>),
    Update(Box<update::Args>),
    Evaluate(Box<evaluate::Args>),
    #[cfg(feature = "serve")]
    Judge(judge::Args),
    Compare(compare::Args),
    Explain(Box<explain::Args>),
    Prepare(Box<prepare::Args>),
    Train(Box<train::Args>),
    Index(index::Args),
    Embed(embed::Args),
    Export(export::Args),
    Inspect(inspect::Args),
    Demo(demo::Args),
    Lab(lab::Args),
    #[command(hide = true)]
    Completions(completions::Args),
    #[command(hide = true)]
    Man(man::Args),
}

/// Applies the environment and the global flags, then runs the command.
pub(crate) fn run(cli: Cli) -> Result<Answer> {
    limit_level()?;
    start_threads(usize::from(cli.threads))?;
    dispatch(cli.command).map_err(|mut error| {
        if let Some(error) = error.downcast_mut::<Error>() {
            error.name_settings(|setting| {
                let option = setting.replace('_', "-");
                if cli.options.contains(&option) {
                    return Some(format!("--{option}"));
                }
                // Other commands read logs as `prepare` does, with fewer options.
                let command = Cli::command();
                let prepare = command.find_subcommand("prepare")?;
                let is_there = prepare.get_arguments().any(|argument| argument.get_long() == Some(&*option));
                is_there.then(|| format!("prepare --{option}"))
            });
        }
        error
    })
}

fn dispatch(command: Option<Command>) -> Result<Answer> {
    if ranks::get().is_some() && !matches!(command, Some(Command::Train(_))) {
        return Err(ranks::refuse());
    }
    match command {
        None => welcome::run(),
        Some(Command::Build(args)) => build::run(*args),
        Some(Command::Demo(args)) => demo::run(args),
        Some(Command::Prepare(args)) => prepare::run(*args),
        Some(Command::Train(args)) => train::run(*args),
        Some(Command::Update(args)) => update::run(*args),
        #[cfg(feature = "serve")]
        Some(Command::Judge(args)) => judge::run(args),
        Some(Command::Compare(args)) => compare::run(args),
        Some(Command::Evaluate(args)) => evaluate::run(*args),
        Some(Command::Embed(args)) => embed::run(args),
        Some(Command::Index(args)) => index::run(args),
        Some(Command::Search(args)) => search::run(args),
        #[cfg(feature = "serve")]
        Some(Command::Serve(args)) => serve::run(*args),
        Some(Command::Inspect(args)) => inspect::run(args),
        Some(Command::Explain(args)) => explain::run(*args),
        Some(Command::Export(args)) => export::run(args),
        Some(Command::Lab(args)) => lab::run(args),
        Some(Command::Completions(args)) => completions::run(args, &mut Cli::command()),
        Some(Command::Man(args)) => man::run(args, Cli::command()),
    }
}

fn limit_level() -> Result<()> {
    let Some(name) = std::env::var_os(LEVEL_VARIABLE).filter(|name| !name.is_empty()) else {
        return Ok(());
    };
    let level: Level = name.to_string_lossy().parse().context(LEVEL_VARIABLE)?;
    Level::limit(level);
    Ok(())
}

fn start_threads(threads: usize) -> Result<()> {
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build_global().with_context(|| format!("cannot start {threads} threads; ask for fewer with `--threads`"))
}

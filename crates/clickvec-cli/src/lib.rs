//! The program `clickvec`: reads the command line, calls the library, prints. [`main`] is all that it offers; it is a library
//! so that fuzz targets reach what it reads.

mod advice;
mod answer;
mod commands;
#[cfg(fuzzing)]
pub mod fuzzing;
mod input;
mod interrupt;
mod metrics;
mod output;
mod page;
mod progress;
mod stored;
mod superscripts;
mod table;
mod test_set;
mod titles;
mod weighting;

use std::process::ExitCode;

use clap::Parser;

use answer::Answer;
use commands::Cli;

/// Does what the command line says.
pub fn main() -> ExitCode {
    #[cfg(feature = "parquet")]
    hush_parquet();
    let answer = match Cli::try_parse() {
        Ok(cli) => commands::run(cli),
        Err(usage) => output::usage(&usage),
    };
    match answer {
        Ok(Answer::Done) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Ok(Answer::Misused) => ExitCode::from(2),
        Ok(Answer::Stopped(status)) => ExitCode::from(status),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            ExitCode::from(2)
        }
    }
}

/// The crate for Parquet panics on some damaged files. That is caught where they are read, and told as an error.
#[cfg(feature = "parquet")]
fn hush_parquet() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains("/parquet-")) {
            tell(panic);
        }
    }));
}

//! The program `clickvec`: reads the command line, calls the library, prints. It is a library so that fuzz targets reach what
//! it reads, and so that the Python module ([`embedded`]) has the program inside and reads settings as it does.

mod advice;
mod answer;
mod commands;
pub mod embedded;
#[cfg(fuzzing)]
pub mod fuzzing;
mod input;
mod interrupt;
mod metrics;
mod output;
mod page;
mod program;
mod progress;
mod stored;
mod superscripts;
mod table;
mod test_set;
mod titles;
mod weighting;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use answer::Answer;
use commands::Cli;

/// Does what the command line says.
pub fn main() -> ExitCode {
    ExitCode::from(status(std::env::args_os().collect()))
}

/// Does what these arguments say, the first of which is the program's name, and returns the exit status.
fn status(arguments: Vec<OsString>) -> u8 {
    #[cfg(feature = "parquet")]
    hush_parquet();
    let answer = match Cli::try_parse_from(arguments) {
        Ok(cli) => commands::run(cli),
        Err(usage) => output::usage(&usage),
    };
    match answer {
        Ok(Answer::Done) => 0,
        Ok(Answer::No) => 1,
        Ok(Answer::Misused) => 2,
        Ok(Answer::Stopped(status)) => status,
        Err(error) if output::is_broken_pipe(&error) => 0,
        Err(error) => {
            output::complain(&error);
            2
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

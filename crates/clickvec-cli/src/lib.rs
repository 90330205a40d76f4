//! The program `clickvec`: reads the command line, calls the library, prints. It is a library so that fuzz targets reach what
//! it reads, and so that the Python module has the program inside.

mod answer;
mod closed;
mod commands;
mod console;
#[cfg(fuzzing)]
pub mod fuzzing;
mod interrupt;
mod numbers;
mod program;
mod progress;
mod ranks;
mod run;
mod settings;
mod titles;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clickvec::train::Ranks;
use clickvec_report::{report, superscripts};
use clickvec_tables::outputs as output_files;

/// Does what the command line says.
pub fn main() -> ExitCode {
    interrupt::survive_file_size_limits();
    ExitCode::from(run::status(std::env::args_os().collect()))
}

/// Does what the command line says as one of several ranks, and returns the exit status. They divide `train`, and only the first prints.
pub fn run_as(ranks: Arc<dyn Ranks>) -> u8 {
    interrupt::survive_file_size_limits();
    ranks::set(ranks);
    run::status(std::env::args_os().collect())
}

/// Runs the program inside another one with these arguments, the first of which is its name, and returns the exit status. Its code is
/// in the file `program`, which `lab table` keeps its results by.
pub fn run(arguments: Vec<OsString>, program: PathBuf) -> u8 {
    program::set(program, arguments.first().cloned().unwrap_or_default());
    run::status(arguments)
}

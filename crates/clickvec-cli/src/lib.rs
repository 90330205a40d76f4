//! The program `clickvec`: reads the command line, calls the library, prints. It is a library so that fuzz targets reach what
//! it reads, and so that the Python module ([`embedded`]) has the program inside and reads settings as it does.

mod advice;
mod answer;
mod commands;
pub mod embedded;
mod fused;
#[cfg(fuzzing)]
pub mod fuzzing;
mod header;
mod input;
mod interrupt;
mod json_file;
mod metrics;
mod numbers;
mod output;
mod program;
mod progress;
mod run;
mod test_set;
mod titles;
#[cfg(feature = "parquet")]
mod vectors_parquet;
mod weighting;

use std::process::ExitCode;

use clickvec_report::{aligned, page, report, superscripts};

/// Does what the command line says.
pub fn main() -> ExitCode {
    interrupt::survive_file_size_limits();
    ExitCode::from(run::status(std::env::args_os().collect()))
}

//! One run of the program, from its arguments to its exit status.

use std::ffi::OsString;

use clap::Parser as _;

use crate::answer::Answer;
use crate::commands::{self, Cli};
use crate::output;

/// Does what these arguments say, the first of which is the program's name, and returns the exit status.
pub(crate) fn status(arguments: Vec<OsString>) -> u8 {
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

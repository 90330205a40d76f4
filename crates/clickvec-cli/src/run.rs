//! One run of the program, from its arguments to its exit status.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use clickvec::internals::math::OutOfMemory;

use crate::answer::Answer;
use crate::closed::is_output_closed;
use crate::commands::{self, Cli};
use crate::console;

/// Does what these arguments say, the first of which is the program's name, and returns the exit status.
pub(crate) fn status(arguments: Vec<OsString>) -> u8 {
    if is_output_closed() {
        console::note(
            "error: standard output: expected an open file, found it closed; `>/dev/null` drops what is printed",
        );
        return 2;
    }
    match attempt(arguments) {
        Ok(status) => status,
        Err(error) if console::is_broken_pipe(&error) => 0,
        Err(error) => {
            console::complain(&error);
            2
        }
    }
}

/// Does what these arguments say, and returns the exit status.
fn attempt(arguments: Vec<OsString>) -> Result<u8> {
    static ONCE: Once = Once::new();
    ONCE.call_once(hook);
    let answer = match Cli::from_arguments(arguments) {
        Ok(cli) => match catch_unwind(AssertUnwindSafe(|| commands::run(cli))) {
            Ok(answer) => answer,
            // It was told as it happened.
            Err(_) if LACKED_MEMORY.load(Ordering::Relaxed) => return Ok(2),
            Err(panic) => resume_unwind(panic),
        },
        Err(usage) => console::usage(&usage),
    };
    Ok(match answer? {
        Answer::Done => 0,
        Answer::No => 1,
        Answer::Misused => 2,
        Answer::Stopped(status) => status,
    })
}

/// Whether the program lacked memory for a large table of numbers.
static LACKED_MEMORY: AtomicBool = AtomicBool::new(false);

/// Sets the hook that reports panics. Two kinds of panic are no faults of the program:
///
/// * The library can do nothing without memory for its numbers. Listing what called what takes more of it, and if there is none,
///   waits for itself for ever.
/// * The crates for Parquet panic on some damaged files. That is caught where they are read, and told as an error.
fn hook() {
    let tell = take_hook();
    set_hook(Box::new(move |panic| {
        let is_in = |name: &str| panic.location().is_some_and(|location| location.file().contains(name));
        if let Some(lacking) = panic.payload().downcast_ref::<OutOfMemory>() {
            LACKED_MEMORY.store(true, Ordering::Relaxed);
            console::complain(&anyhow::anyhow!("{lacking}"));
        } else if !is_in("/parquet-") && !is_in("/arrow-") {
            tell(panic);
        }
    }));
}

//! One run of the program, from its arguments to its exit status.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use clickvec::internals::math::OutOfMemory;

use crate::answer::Answer;
use crate::commands::{self, Cli};
use crate::output;

/// Does what these arguments say, the first of which is the program's name, and returns the exit status.
pub(crate) fn status(arguments: Vec<OsString>) -> u8 {
    static ONCE: Once = Once::new();
    ONCE.call_once(hook);
    let answer = match Cli::of(arguments) {
        Ok(cli) => match catch_unwind(AssertUnwindSafe(|| commands::run(cli))) {
            Ok(answer) => answer,
            // It was told as it happened.
            Err(_) if LACKED_MEMORY.load(Ordering::Relaxed) => return 2,
            Err(panic) => resume_unwind(panic),
        },
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
            output::complain(&anyhow::anyhow!("{lacking}"));
        } else if !is_in("/parquet-") && !is_in("/arrow-") {
            tell(panic);
        }
    }));
}

//! Ctrl-C and SIGTERM during training: the first asks the program to stop, a second ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The exit status of a program that a signal ended is this plus the signal: 130 for Ctrl-C, 143 for SIGTERM.
const BY_SIGNAL: i32 = 128;

/// Whether somebody asked to stop.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    /// The first signal; 0 if there was none.
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Starts watching: the first signal is then only noted.
    pub(crate) fn watch() -> Result<Interrupt> {
        let (signal, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for number in [SIGINT, SIGTERM] {
            // The order matters: the first signal finds the flag unset and sets it, and a second ends the program.
            flag::register_conditional_shutdown(number, BY_SIGNAL + number, Arc::clone(&asked))
                .and_then(|_| flag::register(number, Arc::clone(&asked)))
                .and_then(|_| flag::register_usize(number, Arc::clone(&signal), number as usize))
                .context("cannot watch for Ctrl-C")?;
        }
        Ok(Interrupt { signal })
    }

    /// The exit status to stop with, if somebody asked to stop.
    pub(crate) fn status(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => Some((BY_SIGNAL as usize + signal) as u8),
        }
    }
}

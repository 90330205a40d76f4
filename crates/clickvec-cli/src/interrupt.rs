//! Ctrl-C and SIGTERM while a model is being trained: the first is a request to stop, a second ends the program at once.
//! And while there is a temporary folder, which goes with the program.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The exit status of a program that a signal ended is this plus the signal: 130 for Ctrl-C, 143 for SIGTERM.
const BY_SIGNAL: i32 = 128;

/// How often it is checked whether a signal came: less than a user notices.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A write beyond the limit for the size of a file becomes an error like any other, in place of a signal that ends the program.
pub(crate) fn survive_file_size_limits() {
    #[cfg(unix)]
    {
        // A handler that only sets a flag. Without one, which is possible only if the system refuses it, the program ends as before.
        let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
    }
}

/// From now on the first signal removes `folder` and ends the program, a second one ends it at once.
pub(crate) fn remove_folder_on_signal(folder: PathBuf) -> Result<Interrupt> {
    let interrupt = Interrupt::watch()?;
    let watched = interrupt.clone();
    std::thread::spawn(move || {
        let Some(status) = watched.wait_while(|| true) else { return };
        // Other threads may still write to it: what came meanwhile is removed too.
        let gone = || std::fs::remove_dir_all(&folder).is_ok() || !folder.exists();
        let _ = (0..10).any(|_| gone());
        std::process::exit(i32::from(status));
    });
    Ok(interrupt)
}

/// Whether a signal asked the program to stop.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    /// The first signal; 0 if there was none.
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Starts watching: the first signal is then only noted.
    pub(crate) fn watch() -> Result<Interrupt> {
        let (signal, has_come) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for number in [SIGINT, SIGTERM] {
            // The order matters: the first signal finds the flag unset and sets it, and a second ends the program.
            flag::register_conditional_shutdown(number, BY_SIGNAL + number, Arc::clone(&has_come))
                .and_then(|_| flag::register(number, Arc::clone(&has_come)))
                .and_then(|_| flag::register_usize(number, Arc::clone(&signal), number as usize))
                .context("cannot watch for Ctrl-C")?;
        }
        Ok(Interrupt { signal })
    }

    /// Waits for a signal as long as `go_on` returns true, which is asked now and then. Returns the exit status to stop with, if one came.
    pub(crate) fn wait_while(&self, mut go_on: impl FnMut() -> bool) -> Option<u8> {
        while self.status().is_none() && go_on() {
            std::thread::sleep(POLL_INTERVAL);
        }
        self.status()
    }

    /// Waits for the thread of [`remove_folder_on_signal`] to end the program, if a signal came: what failed meanwhile may have
    /// failed because the folder is gone.
    pub(crate) fn give_way(&self) {
        while self.status().is_some() {
            std::thread::park();
        }
    }

    /// Returns the exit status to stop with, if a signal came.
    pub(crate) fn status(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => Some((BY_SIGNAL as usize + signal) as u8),
        }
    }
}

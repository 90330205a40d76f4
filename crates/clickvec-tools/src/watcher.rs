//! Who watches the work.

use clickvec_tables::{Error, Result};

/// Who watches the work: a program, or a caller of a function.
pub trait Watcher {
    /// Takes a note for the reader, such as what a collection is.
    fn note(&self, text: String);

    /// Takes a warning, such as what was left out.
    fn warn(&self, text: String);

    /// Shows how far a step is: `done` of so many `units`, if their number is known.
    fn show(&self, step: &str, units: &'static str, done: u64, of: Option<u64>);

    /// Returns whether the work should stop.
    fn is_stopped(&self) -> bool;

    /// Shows how far a step is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Interrupted`](clickvec_tables::ErrorKind::Interrupted) if the work should stop.
    fn progress(&self, step: &str, units: &'static str, done: u64, of: Option<u64>) -> Result<()> {
        self.show(step, units, done, of);
        if self.is_stopped() { Err(Error::interrupted()) } else { Ok(()) }
    }

    /// [`Watcher::progress`] for work that can be watched, but not told to stop.
    ///
    /// # Panics
    ///
    /// With the error, if the work should stop: it unwinds.
    fn progress_or_unwind(&self, step: &str, units: &'static str, done: u64, of: u64) {
        if let Err(stop) = self.progress(step, units, done, Some(of)) {
            std::panic::resume_unwind(Box::new(stop));
        }
    }
}

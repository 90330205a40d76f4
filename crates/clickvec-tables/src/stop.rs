//! A flag by which the work of a thread is told to stop.
//!
//! Whoever may interrupt work does it [`Stop::during`] a flag. Long loops look at it: those of functions with errors return
//! [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted), the others unwind.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, Result};

thread_local! {
    static OF_THREAD: Cell<Stop> = const { Cell::new(Stop::NEVER) };
}

/// The flag of some work.
#[derive(Debug, Clone, Copy)]
pub struct Stop(Option<&'static AtomicBool>);

impl Stop {
    /// That of work which is never told to stop.
    pub const NEVER: Stop = Stop(None);

    /// Creates it from a flag.
    pub fn new(flag: &'static AtomicBool) -> Stop {
        Stop(Some(flag))
    }

    /// Returns that of the work which this thread does.
    pub fn of_thread() -> Stop {
        OF_THREAD.get()
    }

    /// Does work that looks at this flag, on this thread.
    pub fn during<T>(self, work: impl FnOnce() -> T) -> T {
        /// Puts back what was there before, also if the work unwinds.
        struct Before(Stop);
        impl Drop for Before {
            fn drop(&mut self) {
                OF_THREAD.set(self.0);
            }
        }
        let _before = Before(OF_THREAD.replace(self));
        work()
    }

    /// Returns whether the work should stop.
    pub fn is_set(self) -> bool {
        self.0.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Fails if the work should stop.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted).
    pub fn check(self) -> Result<()> {
        if self.is_set() { Err(Error::interrupted()) } else { Ok(()) }
    }

    /// Unwinds if the work should stop, where there is no way to return an error.
    ///
    /// # Panics
    ///
    /// With the error, without a message.
    pub fn unwind_if_set(self) {
        if let Err(stop) = self.check() {
            std::panic::resume_unwind(Box::new(stop));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_looks_at_the_flag_of_its_work() {
        static OUTER: AtomicBool = AtomicBool::new(false);
        static INNER: AtomicBool = AtomicBool::new(true);
        let is_set = || Stop::of_thread().check().is_err();
        assert!(!is_set());
        Stop::new(&OUTER).during(|| {
            Stop::new(&INNER).during(|| assert!(is_set()));
            let unwound = std::panic::catch_unwind(|| Stop::new(&INNER).during(|| Stop::of_thread().unwind_if_set()));
            assert!(unwound.is_err_and(|payload| payload.is::<Error>()));
            assert!(!is_set());
            OUTER.store(true, Ordering::Relaxed);
            assert!(is_set());
            assert!(std::thread::scope(|scope| scope.spawn(is_set).join().is_ok_and(|is_set| !is_set)));
        });
        assert!(!is_set());
    }
}

//! Processor time. Unlike wall time, it does not depend on what else the machine does.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// A clock of this process's processor time, over all threads.
pub(super) struct ProcessorClock(Timespec);

impl ProcessorClock {
    /// Starts at zero.
    pub(super) fn start() -> ProcessorClock {
        ProcessorClock(clock_gettime(ClockId::ProcessCPUTime))
    }

    /// Returns the seconds since the start.
    pub(super) fn seconds(&self) -> f64 {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        (now.tv_sec - self.0.tv_sec) as f64 + (now.tv_nsec - self.0.tv_nsec) as f64 * 1e-9
    }
}

//! Memory that large answers leave behind, given back to the system.
#![allow(unsafe_code, reason = "a function of the C library that takes no pointer")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How often memory is given back.
pub(crate) const EVERY: Duration = Duration::from_secs(5);
/// Fewer bytes of answers are not worth the time, in which other threads may wait for memory.
const WORTH_IT: usize = 16 << 20;

/// The bytes of large answers since memory was last given back.
#[derive(Default)]
pub(crate) struct Used(AtomicUsize);

impl Used {
    pub(crate) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Gives free memory back if there may be much of it. `is_all` says that no answer is still on its way; otherwise the next call does
    /// so too.
    pub(crate) fn give_back(&self, is_all: bool) {
        if self.0.load(Ordering::Relaxed) >= WORTH_IT {
            if is_all {
                self.0.store(0, Ordering::Relaxed);
            }
            trim();
        }
    }
}

/// Gives free memory back: the allocator of the GNU C library keeps what threads have used and freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn trim() {
    // SAFETY: it may be called at any time, by any thread.
    unsafe { libc::malloc_trim(0) };
}

/// Does nothing: other allocators give memory back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}

//! Memory that large requests and answers leave behind, given back to the system.
#![allow(unsafe_code, reason = "a function of the C library that takes no pointer")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How often memory is given back.
pub(crate) const EVERY: Duration = Duration::from_secs(5);
/// Fewer bytes are not worth the time, in which other threads may wait for memory.
const WORTH_IT: usize = 16 << 20;

/// The bytes of large requests and answers since memory was last given back.
#[derive(Default)]
pub(crate) struct Used {
    bytes: AtomicUsize,
    /// Those of them that were there at the last look.
    seen: AtomicUsize,
}

impl Used {
    pub(crate) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Gives free memory back if there may be much of it.
    pub(crate) fn give_back(&self, is_waiting: bool) {
        if self.is_much(is_waiting) {
            trim();
        }
    }

    /// Returns whether there may be much free memory. If some of it may still be in use, the next call says so too: if there was a large
    /// request since the last call, or `is_waiting` says that an answer is still on its way.
    fn is_much(&self, is_waiting: bool) -> bool {
        let bytes = self.bytes.load(Ordering::Relaxed);
        if self.seen.swap(bytes, Ordering::Relaxed) == bytes && !is_waiting {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.seen.store(0, Ordering::Relaxed);
        }
        bytes >= WORTH_IT
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_until_nothing_large_is_on_its_way() {
        let used = Used::default();
        let looks = |is_waiting: [bool; 4]| is_waiting.map(|is_waiting| used.is_much(is_waiting));
        used.add(WORTH_IT - 1);
        assert_eq!(looks([false; 4]), [false; 4]);
        used.add(WORTH_IT);
        assert_eq!(looks([false; 4]), [true, true, false, false]);
        used.add(WORTH_IT);
        assert_eq!(looks([true, true, true, false]), [true; 4]);
        assert_eq!(looks([false; 4]), [false; 4]);
    }
}

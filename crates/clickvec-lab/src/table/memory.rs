//! Peak memory of a training: the growth of the process's anonymous memory, where Linux reports it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time between two measurements. A shorter peak may go unnoticed.
const EVERY: Duration = Duration::from_millis(2);

/// A measurement of the process's anonymous memory for as long as it lives, in its own thread. The system's own peak
/// counts all memory, including pages of mapped files.
pub(super) struct PeakMemory {
    before: u64,
    peak: Arc<AtomicU64>,
    done: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

impl PeakMemory {
    /// Begins a measurement; `None` if the system does not report memory.
    pub(super) fn begin() -> Option<PeakMemory> {
        let before = anonymous_bytes()?;
        let (peak, done) = (Arc::new(AtomicU64::new(before)), Arc::new(AtomicBool::new(false)));
        let (seen, stop) = (Arc::clone(&peak), Arc::clone(&done));
        let watcher = std::thread::Builder::new().spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                seen.fetch_max(anonymous_bytes().unwrap_or(0), Ordering::Relaxed);
                std::thread::sleep(EVERY);
            }
        });
        Some(PeakMemory { before, peak, done, watcher: Some(watcher.ok()?) })
    }

    /// Returns the largest growth since the start, in bytes.
    pub(super) fn gained(&self) -> u64 {
        let now = anonymous_bytes().unwrap_or(0);
        self.peak.load(Ordering::Relaxed).max(now).saturating_sub(self.before)
    }
}

impl Drop for PeakMemory {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}

fn anonymous_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_given_back_was_seen_and_what_was_there_before_is_not_counted() {
        const BYTES: usize = 256 << 20;
        let filled = |byte: u8| std::hint::black_box(vec![byte; BYTES]);
        let before = filled(1);
        let memory = PeakMemory::begin().unwrap();
        let own = filled(2);
        let most = memory.gained();
        // Other tests allocate and free memory at the same time, but far less.
        let near = |bytes: u64| (BYTES as u64 / 2..BYTES as u64 * 3 / 2).contains(&bytes);
        assert!(near(most), "{most}");
        std::thread::sleep(10 * EVERY);
        drop(own);
        drop(before);
        assert!(near(memory.gained()), "{}", memory.gained());
    }
}

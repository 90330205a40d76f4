//! Working memory shared by many threads: each takes a piece for itself and gives it back.

use std::fmt::{self, Debug, Formatter};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Pieces that wait for their next use. There are as many as threads ever work at the same time.
///
/// The piece that was given back last is taken first, because it is most likely in the cache. Pieces are boxed, because
/// a large one would be copied each time it is taken and given back.
pub struct Pool<T> {
    idle: Mutex<Vec<Box<T>>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { idle: Mutex::new(Vec::new()) }
    }
}

impl<T> Debug for Pool<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

impl<T> Pool<T> {
    /// Lets `work` use a piece that is not in use. If none is idle, `make` makes one.
    ///
    /// Threads do not wait for each other: the lock is held only while taking and giving back. A piece is lost if
    /// `work` panics.
    pub fn with<R>(&self, make: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let mut piece = taken.unwrap_or_else(|| Box::new(make()));
        let result = work(&mut piece);
        let mut idle = idle();
        // A burst of threads leaves no more memory behind than the processors can use.
        if idle.len() < most_idle() {
            idle.push(piece);
        }
        result
    }
}

/// Returns twice the number of processors, because a thread may be interrupted while it has a piece.
fn most_idle() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| 2 * std::thread::available_parallelism().map_or(1, usize::from))
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_piece_is_used_again_and_never_by_two_at_once() {
        let (pool, made) = (Pool::default(), AtomicUsize::new(0));
        let make = || made.fetch_add(1, Ordering::SeqCst);
        assert_eq!(pool.with(make, |piece| *piece), 0);
        assert_eq!(pool.with(make, |piece| *piece), 0);
        pool.with(make, |outer| pool.with(make, |inner| assert_ne!(outer, inner)));
        assert_eq!(made.load(Ordering::SeqCst), 2);
        // All threads work at the same time, and not all their pieces are kept.
        let threads = most_idle() + 3;
        let barrier = Barrier::new(threads);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| pool.with(make, |_| barrier.wait()));
            }
        });
        assert_eq!(made.load(Ordering::SeqCst), threads);
        assert_eq!(pool.idle.lock().unwrap().len(), most_idle());
    }
}

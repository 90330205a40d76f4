//! Working memory that many threads share: each takes a piece of its own and gives it back.

use std::fmt::{self, Debug, Formatter};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Pieces that wait for their next use. As many are made as threads ever work at the same time.
///
/// The piece that was given back last is taken first: its memory is the nearest. Boxed, because a large piece would be
/// copied each time that it is taken and given back.
pub(crate) struct Pool<T> {
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
    /// Lets `work` use a piece that nobody else uses, made by `make` if none is idle.
    ///
    /// Nothing waits: the lock is held for the moment of taking and giving back. A piece is lost if `work` panics.
    pub(crate) fn with<R>(&self, make: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let mut piece = taken.unwrap_or_else(|| Box::new(make()));
        let result = work(&mut piece);
        let mut idle = idle();
        // A burst of threads leaves no more memory behind than the processor can use again.
        if idle.len() < most_idle() {
            idle.push(piece);
        }
        result
    }
}

/// Twice the processors: a thread may be interrupted while it has a piece.
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
        // All threads work at the same time; not all their pieces are kept.
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

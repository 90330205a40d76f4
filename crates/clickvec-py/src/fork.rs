//! Forks: `os.fork` waits for short work to end, so that the new process finds no lock locked by a thread that it lacks.
//!
//! Python calls [`before_fork`] and [`after_fork`], which `clickvec/__init__.py` registers with `os.register_at_fork`.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

/// Who works, and who wants to fork.
struct Work {
    /// How much short work is under way.
    under_way: usize,
    /// The threads that wait to fork. No work begins meanwhile, or busy threads would keep them waiting for ever.
    forking: usize,
    /// The process of these threads.
    process: u32,
}

static WORK: Mutex<Work> = Mutex::new(Work { under_way: 0, forking: 0, process: 0 });
/// Told when the last work has ended, and when a fork is over.
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// Held by the thread that forks, so that nothing begins between the wait and the fork.
    static HELD: RefCell<Option<MutexGuard<'static, Work>>> = const { RefCell::new(None) };
    /// The passes of this thread. Only its first one waits for those who fork, since these wait for it.
    static PASSES: Cell<usize> = const { Cell::new(0) };
}

/// While it is there, no process is forked. A thread that has it must not wait for the interpreter's lock.
pub(crate) struct Pass {
    /// It counts the passes of its thread.
    not_send: PhantomData<*const ()>,
}

impl Pass {
    pub(crate) fn new() -> Pass {
        if PASSES.get() == 0 {
            let mut work = lock();
            while work.forking > 0 {
                work = wait(work);
            }
            work.under_way += 1;
        }
        PASSES.set(PASSES.get() + 1);
        Pass { not_send: PhantomData }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        PASSES.set(PASSES.get() - 1);
        if PASSES.get() > 0 {
            return;
        }
        let mut work = lock();
        work.under_way -= 1;
        if work.under_way == 0 {
            CHANGED.notify_all();
        }
    }
}

fn lock() -> MutexGuard<'static, Work> {
    WORK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait(work: MutexGuard<'static, Work>) -> MutexGuard<'static, Work> {
    CHANGED.wait(work).unwrap_or_else(PoisonError::into_inner)
}

/// Waits for short work, and lets none begin until [`after_fork`].
#[pyfunction]
pub(crate) fn before_fork(py: Python<'_>) {
    // Without the interpreter's lock, or work that wants it back would never end.
    py.detach(|| {
        let mut work = lock();
        work.forking += 1;
        while work.under_way > 0 {
            work = wait(work);
        }
        work.forking -= 1;
        work.process = std::process::id();
        HELD.with_borrow_mut(|held| *held = Some(work));
    });
}

/// Lets work begin again, in either process.
#[pyfunction]
pub(crate) fn after_fork() {
    if let Some(mut work) = HELD.take()
        && work.process != std::process::id()
    {
        // Other threads that wanted to fork are not in the new process.
        work.forking = 0;
    }
    CHANGED.notify_all();
}

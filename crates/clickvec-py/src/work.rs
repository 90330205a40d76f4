//! Work without the interpreter's lock, on threads of our own.
//!
//! Rayon's global threads do not exist in a process that was forked, and a call that waits for them never returns. So all work
//! is done on a pool that belongs to the process: a forked one starts its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clickvec_tables::Stop;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{error, fork};

/// The threads of the process with this id, and how many there are to be.
struct Threads {
    process: u32,
    wanted: usize,
    pool: Option<Arc<ThreadPool>>,
}

static THREADS: Mutex<Threads> = Mutex::new(Threads { process: 0, wanted: 0, pool: None });

/// The threads of this process. Only with [`fork::Pass`], so that no fork happens meanwhile.
fn threads() -> Result<Arc<ThreadPool>, rayon::ThreadPoolBuildError> {
    let _pass = fork::Pass::new();
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if threads.process != process {
        // Its threads are not here: waiting for their end would never end.
        std::mem::forget(threads.pool.take());
        threads.process = process;
    }
    if let Some(pool) = &threads.pool {
        return Ok(Arc::clone(pool));
    }
    let builder = ThreadPoolBuilder::new().thread_name(|number| format!("clickvec-{number}"));
    let pool = Arc::new(builder.num_threads(threads.wanted).build()?);
    threads.pool = Some(Arc::clone(&pool));
    Ok(pool)
}

/// As the program's `--threads`: a million of them would stop the machine.
const MOST_THREADS: usize = 1024;

/// Uses this many threads from now on; 0 means one for each processor.
#[pyfunction]
pub(crate) fn set_threads(py: Python<'_>, threads: usize) -> PyResult<()> {
    if threads > MOST_THREADS {
        return Err(error::invalid(format!("expected 0 to {MOST_THREADS} threads, found {threads}")));
    }
    py.detach(|| {
        let _pass = fork::Pass::new();
        let mut current = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        // Who says so before each batch keeps the threads.
        if current.wanted != threads && current.process == std::process::id() {
            current.pool = None;
        }
        current.wanted = threads;
    });
    Ok(())
}

/// Lets `work` run on all threads. A panic becomes an exception.
///
/// A fork waits for it to end, because it may hold locks that the new process would find locked for ever. So it must not
/// call Python.
pub(crate) fn short<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let done = py.detach(|| {
        let _pass = fork::Pass::new();
        on_threads(work)
    });
    result(py, done)
}

/// How long work may take between two looks for Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// [`short`] work on parts of `items`, in order, with a look for Ctrl-C after each. The first part has `first` items; the next is
/// larger, up to `most`, while that takes little time, because what is large keeps all threads busy. `done` gets each
/// result, on this thread, which has the interpreter's lock.
pub(crate) fn in_parts<T: Sync, R: Send, E: Send>(
    py: Python<'_>,
    items: &[T],
    (first, most): (usize, usize),
    mut work: impl FnMut(&[T]) -> Result<R, E> + Send,
    mut done: impl FnMut(R) -> PyResult<()>,
) -> PyResult<Result<(), E>> {
    let (mut rest, mut size) = (items, first);
    while !rest.is_empty() {
        let (part, later) = rest.split_at(size.min(rest.len()));
        let begun = Instant::now();
        match short(py, || work(part))? {
            Ok(result) => done(result)?,
            Err(error) => return Ok(Err(error)),
        }
        py.check_signals()?;
        match begun.elapsed() {
            time if time < SIGNAL_INTERVAL => size = (2 * size).min(most),
            time if time > 2 * SIGNAL_INTERVAL => size = (size / 2).max(1),
            _ => {}
        }
        rest = later;
    }
    Ok(Ok(()))
}

/// [`short`] for work that stays on this thread.
pub(crate) fn alone<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let done = py.detach(|| {
        let _pass = fork::Pass::new();
        catch_unwind(AssertUnwindSafe(work)).map_err(Failed::Panicked)
    });
    result(py, done)
}

/// [`short`] for work that may take hours or call Python: no fork waits for it. It must share nothing that is locked with what
/// a forked process would use.
pub(crate) fn long<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let done = py.detach(|| on_threads(work));
    result(py, done)
}

/// Why work was not done.
pub(crate) enum Failed {
    /// It panicked.
    Panicked(Box<dyn std::any::Any + Send>),
    /// There are no threads for it.
    NoThreads(rayon::ThreadPoolBuildError),
}

/// Runs `work` on the threads of this process. The thread may do it in the middle of other work, whose flag is not its own.
pub(crate) fn on_threads<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Failed> {
    let threads = threads().map_err(Failed::NoThreads)?;
    catch_unwind(AssertUnwindSafe(|| threads.install(|| Stop::NEVER.during(work)))).map_err(Failed::Panicked)
}

/// What was done, or the exception for what happened.
pub(crate) fn result<T>(py: Python<'_>, done: Result<T, Failed>) -> PyResult<T> {
    done.map_err(|failed| match failed {
        Failed::Panicked(panic) => error::panicked(py, &*panic),
        Failed::NoThreads(why) => error::told(py, &format!("cannot start threads: {why}; ask for fewer")),
    })
}

//! Work on other threads while the calling thread serves it: it pulls rows from Python's iterators, calls Python's
//! callbacks, and looks for Ctrl-C, which Python tells only the first thread.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clickvec_tables::Stop;
use clickvec_tables::table::MemoryTable;
use clickvec_tools::Watcher;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::table::{Batch, BatchRows, Source};
use crate::work::{self, Failed};
use crate::{error, json};

/// How often the calling thread looks for Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// The shortest time between two events of progress within a step, so that telling them costs nothing.
pub(crate) const TOLD_EVERY: Duration = Duration::from_millis(100);

/// What the work asks of the calling thread.
enum Request {
    /// More rows; `None` if none are left.
    Rows(Sender<Option<Batch>>),
    /// To tell Python of an event, and to say when that is done.
    Tell(Value, Sender<()>),
}

/// The side of the work.
pub(crate) struct Caller {
    requests: Sender<Request>,
    stop: &'static AtomicBool,
    /// When progress was told last.
    told: Cell<Instant>,
}

impl Caller {
    /// Returns the table whose rows the calling thread pulls. It can be read once.
    pub(crate) fn table(&self, name: &str, names: Vec<String>) -> MemoryTable {
        let (requests, stop) = (self.requests.clone(), self.stop);
        let next = move || {
            let (answer, answered) = channel();
            let stopped = || clickvec_tables::Error::interrupted();
            if stop.load(Ordering::Relaxed) || requests.send(Request::Rows(answer)).is_err() {
                return Err(stopped());
            }
            // Fails if an iterator raised an exception.
            answered.recv().map_err(|_| stopped())
        };
        MemoryTable::once(name, Box::new(BatchRows::new(names.into(), next)))
    }

    /// Tells Python of an event.
    pub(crate) fn tell(&self, event: Value) {
        let (answer, answered) = channel();
        if !self.is_stopped() && self.requests.send(Request::Tell(event, answer)).is_ok() {
            // Fails if the calling thread stops.
            let _ = answered.recv();
        }
    }

    /// Shows how far a step is. Breaks if the work should stop.
    pub(crate) fn at(&self, step: &str, units: &'static str, done: u64, of: Option<u64>) -> ControlFlow<()> {
        if self.progress(step, units, done, of).is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Unwinds if the work should stop: a way out of work that can be watched, but not told to stop.
    pub(crate) fn unwind_if_stopped(&self) {
        if self.is_stopped() {
            std::panic::resume_unwind(Box::new("interrupted"));
        }
    }
}

impl Watcher for Caller {
    fn note(&self, text: String) {
        self.tell(json!({"event": "note", "text": text}));
    }

    /// Makes a warning of Python.
    fn warn(&self, text: String) {
        self.tell(json!({"event": "warning", "text": text.strip_prefix("warning: ").unwrap_or(&text)}));
    }

    /// Tells it, unless something was just told.
    fn show(&self, step: &str, units: &'static str, done: u64, of: Option<u64>) {
        if self.told.get().elapsed() >= TOLD_EVERY {
            self.told.set(Instant::now());
            self.tell(json!({"event": "progress", "step": step, "unit": units, "done": done, "of": of}));
        }
    }

    /// Whether the work should stop: Ctrl-C was pressed, or an iterator or a callback raised an exception.
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Does `work` on all threads. `rows` are what it pulls; `tell` gets every event.
///
/// # Errors
/// Those of the work; what Python raised, Ctrl-C included. Then the work has stopped.
pub(crate) fn serve<T: Send>(
    py: Python<'_>,
    mut rows: Option<Source<'_>>,
    tell: &Bound<'_, PyAny>,
    work: impl FnOnce(Caller) -> clickvec::Result<T> + Send,
) -> PyResult<T> {
    let (requests, received) = channel();
    // Only this thread receives, but the interpreter's lock is let go meanwhile.
    let received = Mutex::new(received);
    // A flag for each training costs a byte, and spares a count of those who hold it.
    let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let caller = Caller { requests, stop, told: Cell::new(Instant::now()) };
    let mut raised = None;
    let done = std::thread::scope(|scope| {
        let worker = scope.spawn(|| work::on_threads(move || Stop::new(stop).during(|| work(caller))));
        while let Some(request) = next(py, &received) {
            let served = match request {
                Ok(Request::Rows(answer)) => match rows.as_mut().map_or(Ok(None), Source::pull) {
                    Ok(found) => {
                        let _ = answer.send(found);
                        py.check_signals()
                    }
                    Err(error) => Err(error),
                },
                Ok(Request::Tell(event, answer)) => {
                    json::to_python(py, &event).and_then(|event| tell.call1((event,))).map(|_| {
                        // Fails if the work has ended meanwhile.
                        let _ = answer.send(());
                    })
                }
                Err(RecvTimeoutError::Timeout) => py.check_signals(),
                Err(RecvTimeoutError::Disconnected) => Ok(()),
            };
            if let Err(error) = served {
                // The work hears of it at its next event; whatever it still asks for is left unanswered.
                raised.get_or_insert(error);
                stop.store(true, Ordering::Relaxed);
            }
        }
        py.detach(|| worker.join().unwrap_or_else(|panic| Err(Failed::Panicked(panic))))
    });
    match raised {
        Some(error) => Err(error),
        None => work::result(py, done)?.map_err(|fault| error::raise(py, &fault)),
    }
}

/// The next request; `None` when the work has ended.
fn next(py: Python<'_>, received: &Mutex<Receiver<Request>>) -> Option<Result<Request, RecvTimeoutError>> {
    match py.detach(|| received.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNAL_INTERVAL)) {
        Err(RecvTimeoutError::Disconnected) => None,
        other => Some(other),
    }
}

//! Training on other threads while the calling thread serves it: it pulls pairs from Python's iterators, calls Python's
//! callbacks, and looks for Ctrl-C, which Python tells only the first thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use serde_json::Value;

use crate::clicks::{Pair, Pairs};
use crate::work::{self, Failed};

/// How often the calling thread looks for Ctrl-C.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What the work asks of the calling thread.
enum Request {
    /// More pairs; none are left if the answer is empty.
    Pairs(Sender<Vec<Pair>>),
    /// To tell Python of an event, and to say when that is done.
    Tell(Value, Sender<()>),
}

/// The side of the work.
pub(crate) struct Caller {
    requests: Sender<Request>,
    stop: &'static AtomicBool,
}

impl Caller {
    /// The next pairs; empty at the end, and when the work should stop.
    pub(crate) fn pairs(&self) -> Vec<Pair> {
        let (answer, answered) = channel();
        if self.is_stopped() || self.requests.send(Request::Pairs(answer)).is_err() {
            return Vec::new();
        }
        answered.recv().unwrap_or_default()
    }

    /// Tells Python of an event.
    pub(crate) fn tell(&self, event: Value) {
        let (answer, answered) = channel();
        if !self.is_stopped() && self.requests.send(Request::Tell(event, answer)).is_ok() {
            // Fails if the calling thread stops.
            let _ = answered.recv();
        }
    }

    /// Whether the work should stop: Ctrl-C was pressed, or an iterator or a callback raised an exception.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Does `work` on all threads. `pairs` are what it learns from; `tell` gets every event.
///
/// # Errors
/// What Python raised, Ctrl-C included. Then the work has stopped.
pub(crate) fn serve<T: Send>(
    py: Python<'_>,
    mut pairs: Option<Pairs<'_>>,
    tell: &dyn Fn(&Value) -> PyResult<()>,
    work: impl FnOnce(Caller) -> T + Send,
) -> PyResult<T> {
    let (requests, received) = channel();
    // Only this thread receives, but the interpreter's lock is let go meanwhile.
    let received = Mutex::new(received);
    // A flag for each training costs a byte, and spares a count of those who hold it.
    let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let caller = Caller { requests, stop };
    let mut raised = None;
    let done = std::thread::scope(|scope| {
        let worker = scope.spawn(|| work::on_threads(move || work(caller)));
        while let Some(request) = next(py, &received) {
            let served = match request {
                Ok(Request::Pairs(answer)) => match pairs.as_mut().map_or(Ok(Vec::new()), Pairs::pull) {
                    Ok(found) => {
                        let _ = answer.send(found);
                        py.check_signals()
                    }
                    Err(error) => Err(error),
                },
                Ok(Request::Tell(event, answer)) => tell(&event).map(|()| {
                    // Fails if the work has ended meanwhile.
                    let _ = answer.send(());
                }),
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
        None => work::result(py, done),
    }
}

/// The next request; `None` when the work has ended.
fn next(py: Python<'_>, received: &Mutex<Receiver<Request>>) -> Option<Result<Request, RecvTimeoutError>> {
    match py.detach(|| received.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK_AGAIN)) {
        Err(RecvTimeoutError::Disconnected) => None,
        other => Some(other),
    }
}

//! The threads that compute, and the queue in front of them.
//!
//! The queue is bounded in texts, so a batch counts as its texts. When it is full, a text of those that wait is chosen at
//! random and its request is turned away: who waits longest is not favoured, since its client has most likely gone. A
//! request that waits too long is turned away too.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::fault::{Fault, FaultKind};
use crate::limits::Limits;
use crate::metrics::{Metrics, Shed};

/// The states of a task.
const WAITS: u8 = 0;
const RUNS: u8 = 1;
const LEFT: u8 = 2;

/// How much of the measured time of a text comes from the last request.
const NEWEST: f64 = 0.05;
/// Nobody is told to wait longer.
const LONGEST: Duration = Duration::from_secs(60);

/// The threads that compute.
pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    most: usize,
    workers: usize,
    wait: Duration,
    request: Duration,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    texts: usize,
    /// The measured time of a text on a worker, in seconds.
    seconds: f64,
    closed: bool,
}

struct Waiting {
    texts: usize,
    state: Arc<AtomicU8>,
    task: Box<dyn Task>,
}

/// What a worker does.
trait Task: Send {
    fn run(self: Box<Self>);
    fn refuse(self: Box<Self>, fault: Fault);
    fn is_abandoned(&self) -> bool;
}

struct Asked<W, T> {
    work: W,
    entered: Instant,
    reply: oneshot::Sender<Result<(T, Duration), Fault>>,
}

impl<T: Send, W: FnOnce() -> T + Send> Task for Asked<W, T> {
    fn run(self: Box<Self>) {
        let Asked { work, entered, reply } = *self;
        let waited = entered.elapsed();
        let done = catch_unwind(AssertUnwindSafe(work)).map(|done| (done, waited));
        // Whoever asked may have gone.
        let _ = reply.send(done.map_err(|_| Fault::internal(&"a fault in the program")));
    }

    fn refuse(self: Box<Self>, fault: Fault) {
        let _ = self.reply.send(Err(fault));
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }
}

impl Workers {
    pub(crate) fn start(limits: &Limits, metrics: Arc<Metrics>) -> std::io::Result<Workers> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            most: limits.queue,
            workers: limits.workers,
            wait: limits.wait,
            request: limits.request,
            metrics,
        });
        let workers = Workers { shared, threads: Mutex::default() };
        for number in 0..limits.workers {
            let shared = Arc::clone(&workers.shared);
            let thread = std::thread::Builder::new().name(format!("worker {number}")).spawn(move || shared.work())?;
            workers.threads.lock().expect("no holder panics").push(thread);
        }
        Ok(workers)
    }

    /// Runs `work` on a worker and returns what it gives, and how long it waited. `started` is when the request came.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        texts: usize,
        started: Instant,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(T, Duration), Fault> {
        let (reply, mut answer) = oneshot::channel();
        let state = Arc::new(AtomicU8::new(WAITS));
        let task = Box::new(Asked { work, entered: Instant::now(), reply });
        self.shared.enter(Waiting { texts, state: Arc::clone(&state), task });
        let gone = || Err(Fault::internal(&"a worker that ended"));
        if let Ok(answer) = tokio::time::timeout(self.shared.wait, &mut answer).await {
            return answer.unwrap_or_else(|_| gone());
        }
        if state.compare_exchange(WAITS, LEFT, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            self.shared.metrics.shed(Shed::Waited);
            return Err(self.shared.turned_away("a worker within the time to wait", "none was free"));
        }
        let end = started + self.shared.request;
        match tokio::time::timeout_at(end.into(), answer).await {
            Ok(answer) => answer.unwrap_or_else(|_| gone()),
            Err(_) => Err(late(self.shared.request)),
        }
    }

    /// The number of texts that wait.
    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.shared.lock().texts
    }

    /// Ends the threads, once they are done with what they have.
    pub(crate) fn stop(&self) {
        self.shared.lock().closed = true;
        self.shared.wake.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().expect("no holder panics"));
        for thread in threads {
            let _ = thread.join();
        }
    }
}

/// The fault of a request that was not done in time.
pub(crate) fn late(limit: Duration) -> Fault {
    let expected = format!("to answer within {} s", limit.as_secs_f64());
    Fault::new(FaultKind::Late, expected, "that it takes longer").help("ask for fewer texts or titles at once")
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no holder panics")
    }

    /// Lets a task wait, and turns others or itself away while there are too many.
    fn enter(&self, waiting: Waiting) {
        let mut queue = self.lock();
        queue.texts += waiting.texts;
        queue.waiting.push_back(waiting);
        if queue.texts > self.most {
            let Queue { waiting, texts, .. } = &mut *queue;
            waiting.retain(|waiting| {
                let stays = !waiting.is_gone();
                *texts -= if stays { 0 } else { waiting.texts };
                stays
            });
        }
        let mut victims = Vec::new();
        while queue.texts > self.most {
            let place = fastrand::usize(..queue.texts);
            let victim = queue.victim(place);
            queue.texts -= victim.texts;
            victims.push(victim);
        }
        self.metrics.waiting.set(queue.texts as i64);
        drop(queue);
        self.wake.notify_one();
        for victim in victims {
            if victim.state.compare_exchange(WAITS, LEFT, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                self.metrics.shed(Shed::Victim);
                victim.task.refuse(self.turned_away("room in the queue", "that it is full"));
            }
        }
    }

    /// Takes tasks until the queue is closed and empty.
    fn work(&self) {
        let mut queue = self.lock();
        loop {
            let Some(Waiting { texts, state, task }) = queue.waiting.pop_front() else {
                if queue.closed {
                    return;
                }
                queue = self.wake.wait(queue).expect("no holder panics");
                continue;
            };
            queue.texts -= texts;
            self.metrics.waiting.set(queue.texts as i64);
            drop(queue);
            let is_ours = state.compare_exchange(WAITS, RUNS, Ordering::AcqRel, Ordering::Acquire).is_ok();
            let mut seconds = None;
            if is_ours && !task.is_abandoned() {
                self.metrics.busy.inc();
                let start = Instant::now();
                task.run();
                seconds = Some(start.elapsed().as_secs_f64() / texts.max(1) as f64);
                self.metrics.busy.dec();
            }
            queue = self.lock();
            if let Some(seconds) = seconds {
                let is_first = queue.seconds == 0.0;
                queue.seconds = if is_first { seconds } else { queue.seconds + NEWEST * (seconds - queue.seconds) };
            }
        }
    }

    /// The fault of a request that is turned away, with the time until what waits now will be done.
    fn turned_away(&self, expected: &str, found: &str) -> Fault {
        let queue = self.lock();
        let until = queue.seconds * queue.texts as f64 / self.workers as f64;
        let wait = Duration::from_secs_f64(until.min(LONGEST.as_secs_f64()));
        Fault::new(FaultKind::Overloaded, expected, found)
            .help("try again after the time that Retry-After says")
            .after(wait)
    }
}

impl Waiting {
    fn is_gone(&self) -> bool {
        self.task.is_abandoned() || self.state.load(Ordering::Acquire) == LEFT
    }
}

impl Queue {
    /// Takes out the task that has the text at a place.
    fn victim(&mut self, place: usize) -> Waiting {
        let mut before = 0;
        let at = self.waiting.iter().position(|waiting| {
            before += waiting.texts;
            place < before
        });
        self.waiting.remove(at.unwrap_or(self.waiting.len() - 1)).expect("a place in the queue")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(change: impl FnOnce(&mut Limits)) -> Arc<Workers> {
        let mut limits = Limits { workers: 1, ..Limits::default() };
        change(&mut limits);
        Arc::new(Workers::start(&limits, Arc::new(Metrics::new())).unwrap())
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
    }

    /// A task that holds the only worker until the sender is dropped.
    fn hold(runtime: &tokio::runtime::Runtime, workers: &Arc<Workers>) -> std::sync::mpsc::Sender<()> {
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let (begun, begins) = std::sync::mpsc::channel();
        let workers = Arc::clone(workers);
        runtime.spawn(async move {
            let work = move || {
                begun.send(()).unwrap();
                let _ = held.recv();
            };
            let _ = workers.run(1, Instant::now(), work).await;
        });
        begins.recv().unwrap();
        hold
    }

    #[test]
    fn work_is_done_and_a_panic_is_a_fault() {
        let (workers, runtime) = (start(|_| ()), runtime());
        runtime.block_on(async {
            assert_eq!(workers.run(1, Instant::now(), || 6 * 7).await.unwrap().0, 42);
            let fault = workers.run(1, Instant::now(), || -> u8 { panic!("on purpose") }).await.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Internal);
            assert_eq!(workers.run(1, Instant::now(), || 1).await.unwrap().0, 1, "the worker lives on");
        });
        workers.stop();
    }

    #[test]
    fn a_full_queue_turns_one_away_and_a_batch_as_its_texts() {
        let (workers, runtime) = (start(|limits| (limits.queue, limits.batch) = (4, 4)), runtime());
        let hold = hold(&runtime, &workers);
        let asked: Vec<_> = (0..6)
            .map(|_| {
                let workers = Arc::clone(&workers);
                runtime.spawn(async move { workers.run(2, Instant::now(), || ()).await })
            })
            .collect();
        while workers.waiting() < 4 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(workers.waiting(), 4, "never more than the bound");
        drop(hold);
        let answers: Vec<_> = asked.into_iter().map(|asked| runtime.block_on(asked).unwrap()).collect();
        let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
        assert_eq!(refused.len(), 4, "two batches of two texts have room");
        assert!(refused.iter().all(|fault| fault.kind == FaultKind::Overloaded && fault.retry_after.is_some()));
        workers.stop();
    }

    #[test]
    fn who_waits_too_long_is_turned_away_and_who_runs_too_long_is_late() {
        let short = |limits: &mut Limits| {
            (limits.wait, limits.request) = (Duration::from_millis(40), Duration::from_millis(80));
        };
        let (workers, runtime) = (start(short), runtime());
        let held = hold(&runtime, &workers);
        let waited = runtime.block_on(workers.run(1, Instant::now(), || ())).unwrap_err();
        assert_eq!(waited.kind, FaultKind::Overloaded);
        drop(held);
        let slow = || std::thread::sleep(Duration::from_millis(200));
        let fault = runtime.block_on(workers.run(1, Instant::now(), slow)).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Late);
        workers.stop();
    }

    #[test]
    fn a_victim_is_chosen_by_its_texts() {
        let mut queue = Queue::default();
        for texts in [1, 3, 1] {
            let (reply, _) = oneshot::channel::<Result<((), Duration), Fault>>();
            let task = Box::new(Asked { work: || (), entered: Instant::now(), reply });
            queue.waiting.push_back(Waiting { texts, state: Arc::default(), task });
        }
        assert_eq!(queue.victim(3).texts, 3);
        assert_eq!(queue.victim(1).texts, 1);
    }
}

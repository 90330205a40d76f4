//! The work of requests: a bounded queue, and as many at once as there are cores.
//!
//! Both are semaphores. The queue is bounded in texts, so a batch counts as its texts. A request that finds it full, or that
//! waits too long, is turned away at once with the time to come again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::time::{timeout, timeout_at};

use crate::fault::Fault;
use crate::limits::Limits;
use crate::metrics::Metrics;

/// The weight of the last request in the measured time of a text.
const NEWEST: f64 = 0.05;
/// The longest time that Retry-After gives.
const LONGEST: Duration = Duration::from_secs(60);

/// The queue and the workers.
pub(crate) struct Workers {
    /// Texts that may still enter the queue.
    queue: Arc<Semaphore>,
    most: usize,
    /// Requests that may still start.
    free: Arc<Semaphore>,
    workers: usize,
    wait: Duration,
    request: Duration,
    /// The measured seconds of a text, as bits.
    seconds: Arc<AtomicU64>,
    metrics: Arc<Metrics>,
}

impl Workers {
    pub(crate) fn new(limits: &Limits, metrics: Arc<Metrics>) -> Workers {
        Workers {
            queue: Arc::new(Semaphore::new(limits.queue)),
            most: limits.queue,
            free: Arc::new(Semaphore::new(limits.workers)),
            workers: limits.workers,
            wait: limits.wait,
            request: limits.request,
            seconds: Arc::default(),
            metrics,
        }
    }

    /// Runs `work` on a thread of its own. Returns its result, and the time that it waited. `started` is when the request came.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        texts: usize,
        started: Instant,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(T, Duration), Fault> {
        let entered = Instant::now();
        let share = u32::try_from(texts).unwrap_or(u32::MAX);
        let Ok(room) = self.queue.try_acquire_many(share) else {
            self.metrics.shed("full");
            return Err(self.turned_away("room in the queue", "that it is full"));
        };
        let Ok(worker) = timeout(self.wait, Arc::clone(&self.free).acquire_owned()).await else {
            self.metrics.shed("waited");
            return Err(self.turned_away("a worker within the time to wait", "none was free"));
        };
        drop(room);
        let waited = entered.elapsed();
        let seconds = Arc::clone(&self.seconds);
        let task = tokio::task::spawn_blocking(move || {
            // It ends with the work, also when the client has gone.
            let _worker = worker;
            let begun = Instant::now();
            let done = work();
            let measured = begun.elapsed().as_secs_f64() / texts.max(1) as f64;
            let before = f64::from_bits(seconds.load(Ordering::Relaxed));
            let mean = if before == 0.0 { measured } else { before + NEWEST * (measured - before) };
            seconds.store(mean.to_bits(), Ordering::Relaxed);
            done
        });
        let done = timeout_at((started + self.request).into(), task).await.map_err(|_| Fault::late())??;
        Ok((done, waited))
    }

    /// Returns the number of texts that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.most - self.queue.available_permits()
    }

    /// Returns the number of workers that compute.
    pub(crate) fn busy(&self) -> usize {
        self.workers - self.free.available_permits()
    }

    /// Creates the fault of a request that is turned away, with the time until what waits now will be done.
    fn turned_away(&self, expected: &str, found: &str) -> Fault {
        let seconds = f64::from_bits(self.seconds.load(Ordering::Relaxed));
        let until = seconds * self.waiting() as f64 / self.workers as f64;
        Fault::overloaded(expected, found, Duration::from_secs_f64(until.min(LONGEST.as_secs_f64())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Kind;

    fn workers(change: impl FnOnce(&mut Limits)) -> Arc<Workers> {
        let mut limits = Limits { workers: 1, ..Limits::default() };
        change(&mut limits);
        Arc::new(Workers::new(&limits, Arc::new(Metrics::default())))
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
    }

    /// Holds the only worker until the sender is dropped.
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
        let workers = workers(|_| ());
        runtime().block_on(async {
            assert_eq!(workers.run(1, Instant::now(), || 6 * 7).await.unwrap().0, 42);
            let fault = workers.run(1, Instant::now(), || -> u8 { panic!("on purpose") }).await.unwrap_err();
            assert_eq!(fault.kind, Kind::INTERNAL);
            assert_eq!(workers.run(1, Instant::now(), || 1).await.unwrap().0, 1, "the worker is free again");
        });
    }

    #[test]
    fn a_full_queue_turns_away_and_a_batch_counts_as_its_texts() {
        let (workers, runtime) = (workers(|limits| (limits.queue, limits.batch) = (4, 4)), runtime());
        let hold = hold(&runtime, &workers);
        let ask = |_| {
            let workers = Arc::clone(&workers);
            runtime.spawn(async move { workers.run(2, Instant::now(), || ()).await })
        };
        let tasks: Vec<_> = (0..6).map(ask).collect();
        while tasks.iter().filter(|task| task.is_finished()).count() < 4 {
            std::thread::yield_now();
        }
        assert_eq!((workers.waiting(), workers.busy()), (4, 1), "never more than the bound");
        drop(hold);
        let answers: Vec<_> = tasks.into_iter().map(|task| runtime.block_on(task).unwrap()).collect();
        let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
        assert_eq!(refused.len(), 4, "two batches of two texts have room");
        assert!(refused.iter().all(|fault| fault.kind == Kind::OVERLOADED && fault.retry_after.is_some()));
    }

    #[test]
    fn a_long_wait_is_turned_away_and_a_long_run_is_late() {
        let short = |limits: &mut Limits| {
            (limits.wait, limits.request) = (Duration::from_millis(40), Duration::from_millis(80));
        };
        let (workers, runtime) = (workers(short), runtime());
        let held = hold(&runtime, &workers);
        let waited = runtime.block_on(workers.run(1, Instant::now(), || ())).unwrap_err();
        assert_eq!(waited.kind, Kind::OVERLOADED);
        drop(held);
        while workers.busy() > 0 {
            std::thread::yield_now();
        }
        let slow = || std::thread::sleep(Duration::from_millis(200));
        let fault = runtime.block_on(workers.run(1, Instant::now(), slow)).unwrap_err();
        assert_eq!(fault.kind, Kind::LATE);
    }
}

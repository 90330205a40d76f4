//! The permits of connections: as many as the limit, and a few more, so that questions about health get through.
//!
//! A connection past the limit gets one of the few. Questions after health and figures are answered there. Another request
//! waits there for one of the many, until its time is over or a newer connection needs the permit that it has. For each that waits,
//! the connection that has been idle longest has to go.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::fault::Fault;
use crate::limits::Limits;

/// The number of permits past the limit.
pub(crate) const SPARE: usize = 32;
/// The time that Retry-After gives to a connection without a permit.
const COME_AGAIN: Duration = Duration::from_secs(1);

/// A connection that has been idle for less than this time keeps its permit: its next request may be on its way.
const SHORT_PAUSE: Duration = Duration::from_secs(1);

/// All permits.
pub(crate) struct Permits {
    regular: Arc<Semaphore>,
    spare: Arc<Semaphore>,
    most: usize,
    wait: Duration,
    guests: Mutex<Guests>,
    /// The connections between two requests, those that have been so longest first.
    idle: Mutex<BTreeMap<u64, Idle>>,
    pauses: AtomicU64,
}

/// A connection between two requests.
struct Idle {
    since: Instant,
    leave: watch::Sender<bool>,
}

/// The connections with a spare permit, oldest first, with the senders that tell them to leave it.
#[derive(Default)]
struct Guests {
    waiting: VecDeque<(u64, watch::Sender<bool>)>,
    next: u64,
}

/// The permit of a connection. It is free again when this is dropped.
pub(crate) struct Permit {
    permits: Arc<Permits>,
    held: Mutex<Held>,
    /// Whether a newer connection needs it.
    leave: watch::Receiver<bool>,
    number: u64,
    /// What tells the connection that it has been idle too long, and the number of its present pause.
    idles_too_long: watch::Sender<bool>,
    pause: AtomicU64,
}

/// The permit of a connection: one of the many, or one of the few.
struct Held {
    is_spare: bool,
    _permit: OwnedSemaphorePermit,
}

impl Permits {
    pub(crate) fn new(limits: &Limits) -> Arc<Permits> {
        Arc::new(Permits {
            regular: Arc::new(Semaphore::new(limits.connections)),
            spare: Arc::new(Semaphore::new(SPARE)),
            most: limits.connections,
            wait: limits.wait,
            guests: Mutex::default(),
            idle: Mutex::default(),
            pauses: AtomicU64::new(0),
        })
    }

    /// Returns a permit for the next connection. If there is none, the oldest connection past the limit has to leave.
    pub(crate) async fn next(self: &Arc<Permits>) -> Permit {
        if let Ok(permit) = Arc::clone(&self.regular).try_acquire_owned() {
            let (_, leave) = watch::channel(false);
            return self.permit(false, permit, leave, 0);
        }
        let permit = match Arc::clone(&self.spare).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                if let Some((_, oldest)) = self.guests.lock().expect("no holder panics").waiting.pop_front() {
                    let _ = oldest.send(true);
                }
                Arc::clone(&self.spare).acquire_owned().await.expect("never closed")
            }
        };
        let (tell, leave) = watch::channel(false);
        let mut guests = self.guests.lock().expect("no holder panics");
        guests.next += 1;
        let number = guests.next;
        guests.waiting.push_back((number, tell));
        drop(guests);
        self.permit(true, permit, leave, number)
    }

    /// Waits until all permits are free.
    pub(crate) async fn all_free(&self) {
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        let _ = self.regular.acquire_many(all).await;
        let _ = self.spare.acquire_many(SPARE as u32).await;
    }

    fn permit(
        self: &Arc<Permits>,
        is_spare: bool,
        permit: OwnedSemaphorePermit,
        leave: watch::Receiver<bool>,
        number: u64,
    ) -> Permit {
        let held = Mutex::new(Held { is_spare, _permit: permit });
        let idles_too_long = watch::channel(false).0;
        Permit { permits: Arc::clone(self), held, leave, number, idles_too_long, pause: AtomicU64::new(0) }
    }

    /// Has the connection leave that has been idle longest, unless that is a short pause.
    fn end_an_idle_one(&self) {
        let mut idle = self.idle.lock().expect("no holder panics");
        if idle.first_key_value().is_some_and(|(_, first)| first.since.elapsed() >= SHORT_PAUSE)
            && let Some((_, first)) = idle.pop_first()
        {
            let _ = first.leave.send(true);
        }
    }

    /// Removes a connection from those that may have to leave.
    fn forget(&self, number: u64) {
        self.guests.lock().expect("no holder panics").waiting.retain(|(known, _)| *known != number);
    }
}

impl Permit {
    /// Returns whether it is one of the few past the limit.
    pub(crate) fn is_spare(&self) -> bool {
        self.held.lock().expect("no holder panics").is_spare
    }

    /// Waits for one of the many permits, if it has none.
    pub(crate) async fn admit(&self) -> Result<(), Fault> {
        if !self.is_spare() {
            return Ok(());
        }
        self.permits.end_an_idle_one();
        let permit = tokio::select! {
            permit = Arc::clone(&self.permits.regular).acquire_owned() => permit.ok(),
            () = self.must_leave() => None,
            () = tokio::time::sleep(self.permits.wait) => None,
        };
        let Some(permit) = permit else {
            return Err(Fault::overloaded(
                format!("one of {} connections", self.permits.most),
                "all taken",
                COME_AGAIN,
            ));
        };
        *self.held.lock().expect("no holder panics") = Held { is_spare: false, _permit: permit };
        self.permits.forget(self.number);
        Ok(())
    }

    /// Notes that the connection waits for its next request.
    pub(crate) fn idle(&self) {
        if self.is_spare() {
            return;
        }
        let pause = 1 + self.permits.pauses.fetch_add(1, Ordering::Relaxed);
        self.pause.store(pause, Ordering::Relaxed);
        let idle = Idle { since: Instant::now(), leave: self.idles_too_long.clone() };
        self.permits.idle.lock().expect("no holder panics").insert(pause, idle);
    }

    /// Notes that a request has come.
    pub(crate) fn busy(&self) {
        let pause = self.pause.swap(0, Ordering::Relaxed);
        self.permits.idle.lock().expect("no holder panics").remove(&pause);
    }

    /// Waits until the connection has been idle too long for one that waits for a permit.
    pub(crate) async fn idles_too_long(&self) {
        let mut leave = self.idles_too_long.subscribe();
        if leave.wait_for(|leave| *leave).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until a newer connection needs this permit.
    pub(crate) async fn must_leave(&self) {
        let mut leave = self.leave.clone();
        // Without the sender it never has to leave.
        if leave.wait_for(|leave| *leave).await.is_err() || !self.is_spare() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.busy();
        self.permits.forget(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn the_oldest_past_the_limit_leaves_for_a_newer_one() {
        let limits = Limits { connections: 2, wait: Duration::from_secs(20), ..Limits::default() };
        let permits = Permits::new(&limits);
        runtime().block_on(async {
            let regular = [permits.next().await, permits.next().await];
            assert!(regular.iter().all(|permit| !permit.is_spare()));
            let mut spare = VecDeque::new();
            for _ in 0..SPARE {
                spare.push_back(permits.next().await);
            }
            assert!(spare.iter().all(Permit::is_spare));
            let oldest = spare.pop_front().unwrap();
            let (newer, refused) = tokio::join!(permits.next(), async {
                let refused = oldest.admit().await.unwrap_err();
                drop(oldest);
                refused
            });
            assert!(
                newer.is_spare() && refused.kind == crate::fault::Kind::OVERLOADED && refused.retry_after.is_some()
            );
            // One of the many becomes free: who waits gets it, and does not have to leave any more.
            let waits = spare.pop_front().unwrap();
            let ((), admitted) = tokio::join!(async { drop(regular) }, waits.admit());
            admitted.unwrap();
            assert!(!waits.is_spare());
            let left = permits.guests.lock().unwrap().waiting.len();
            assert_eq!(left, SPARE - 1);
            drop((waits, spare, newer));
            tokio::time::timeout(Duration::from_secs(5), permits.all_free()).await.unwrap();
            assert!(permits.guests.lock().unwrap().waiting.is_empty());
        });
    }

    #[test]
    fn the_connection_that_is_idle_longest_goes_for_one_that_waits() {
        let permits = Permits::new(&Limits { connections: 2, wait: Duration::from_secs(20), ..Limits::default() });
        runtime().block_on(async {
            let (idle, busy) = (permits.next().await, permits.next().await);
            idle.idle();
            busy.idle();
            busy.busy();
            let late = permits.next().await;
            assert!(late.is_spare());
            tokio::time::sleep(SHORT_PAUSE).await;
            let leaves = async {
                idle.idles_too_long().await;
                drop(idle);
            };
            let ((), admitted) = tokio::join!(leaves, late.admit());
            admitted.unwrap();
            // The other is not idle, and a pause of no length counts for nothing.
            late.idle();
            let third = permits.next().await;
            assert!(tokio::time::timeout(Duration::from_millis(50), third.admit()).await.is_err());
            let stays = tokio::time::timeout(Duration::from_millis(50), busy.idles_too_long()).await;
            assert!(stays.is_err());
            drop((busy, late, third));
            assert!(permits.idle.lock().unwrap().is_empty());
        });
    }

    #[test]
    fn who_waits_too_long_is_told_when_to_come_again() {
        let permits = Permits::new(&Limits { connections: 1, wait: Duration::from_millis(10), ..Limits::default() });
        runtime().block_on(async {
            let first = permits.next().await;
            first.admit().await.unwrap();
            let fault = permits.next().await.admit().await.unwrap_err();
            assert!(fault.message().starts_with("expected one of 1 connections"), "{}", fault.message());
        });
    }
}

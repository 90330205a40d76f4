//! The permits of connections: as many as the limit, and a few more, so that questions about health get through.
//!
//! A connection past the limit gets one of the few. Questions after health and figures are answered there. Another request
//! waits there for one of the many, until its time is over or a newer connection needs the permit that it has.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::fault::Fault;
use crate::limits::Limits;

/// The number of permits past the limit.
pub(crate) const SPARE: usize = 32;
/// The time that Retry-After gives to a connection without a permit.
const COME_AGAIN: Duration = Duration::from_secs(1);

/// All permits.
pub(crate) struct Permits {
    regular: Arc<Semaphore>,
    spare: Arc<Semaphore>,
    most: usize,
    wait: Duration,
    guests: Mutex<Guests>,
}

/// The connections with a spare permit, oldest first, with what tells them to leave it.
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
}

/// What a connection has: one of the many, or one of the few.
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
        Permit { permits: Arc::clone(self), held, leave, number }
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

//! The places of connections: as many as the limit, and a few more, so that questions about health get through.
//!
//! A connection past the limit gets one of the few. Questions after health and figures are answered there. Another request
//! waits there for one of the many, until its time is over or a newer connection needs the place that it has.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::fault::Fault;
use crate::limits::Limits;

/// The number of places past the limit.
pub(crate) const SPARE: usize = 32;
/// The time that Retry-After gives to a connection without a place.
const COME_AGAIN: Duration = Duration::from_secs(1);

/// All places.
pub(crate) struct Places {
    regular: Arc<Semaphore>,
    spare: Arc<Semaphore>,
    most: usize,
    wait: Duration,
    guests: Mutex<Guests>,
}

/// The connections with a spare place, oldest first, with what tells them to leave it.
#[derive(Default)]
struct Guests {
    waiting: VecDeque<(u64, watch::Sender<bool>)>,
    next: u64,
}

/// The place of a connection. It is free again when this is dropped.
pub(crate) struct Place {
    places: Arc<Places>,
    held: Mutex<Held>,
    /// Whether a newer connection needs it.
    leave: watch::Receiver<bool>,
    number: u64,
}

/// What a connection has.
enum Held {
    /// One of the many.
    Regular { _permit: OwnedSemaphorePermit },
    /// One of the few.
    Spare { _permit: OwnedSemaphorePermit },
    /// Neither, for fuzzing: it is not counted.
    #[cfg(fuzzing)]
    Uncounted,
}

impl Places {
    pub(crate) fn new(limits: &Limits) -> Arc<Places> {
        Arc::new(Places {
            regular: Arc::new(Semaphore::new(limits.connections)),
            spare: Arc::new(Semaphore::new(SPARE)),
            most: limits.connections,
            wait: limits.wait,
            guests: Mutex::default(),
        })
    }

    /// Returns a place for the next connection. If there is none, the oldest connection past the limit has to leave.
    pub(crate) async fn next(self: &Arc<Places>) -> Place {
        if let Ok(permit) = Arc::clone(&self.regular).try_acquire_owned() {
            let (_, leave) = watch::channel(false);
            return self.place(Held::Regular { _permit: permit }, leave, 0);
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
        self.place(Held::Spare { _permit: permit }, leave, number)
    }

    /// Waits until all places are free.
    pub(crate) async fn all_free(&self) {
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        let _ = self.regular.acquire_many(all).await;
        let _ = self.spare.acquire_many(SPARE as u32).await;
    }

    fn place(self: &Arc<Places>, held: Held, leave: watch::Receiver<bool>, number: u64) -> Place {
        Place { places: Arc::clone(self), held: Mutex::new(held), leave, number }
    }

    /// Removes a connection from those that may have to leave.
    fn forget(&self, number: u64) {
        self.guests.lock().expect("no holder panics").waiting.retain(|(known, _)| *known != number);
    }
}

impl Place {
    /// Returns a place that is not counted.
    #[cfg(fuzzing)]
    pub(crate) fn uncounted(limits: &Limits) -> Place {
        Places::new(limits).place(Held::Uncounted, watch::channel(false).1, 0)
    }

    /// Whether it is one of the few past the limit.
    pub(crate) fn is_spare(&self) -> bool {
        matches!(*self.held.lock().expect("no holder panics"), Held::Spare { .. })
    }

    /// Waits for one of the many places, if it has none.
    pub(crate) async fn admit(&self) -> Result<(), Fault> {
        if !self.is_spare() {
            return Ok(());
        }
        let permit = tokio::select! {
            permit = Arc::clone(&self.places.regular).acquire_owned() => permit.ok(),
            () = self.must_leave() => None,
            () = tokio::time::sleep(self.places.wait) => None,
        };
        let Some(permit) = permit else {
            return Err(Fault::overloaded(format!("one of {} connections", self.places.most), "all taken", COME_AGAIN));
        };
        *self.held.lock().expect("no holder panics") = Held::Regular { _permit: permit };
        self.places.forget(self.number);
        Ok(())
    }

    /// Waits until a newer connection needs this place.
    pub(crate) async fn must_leave(&self) {
        let mut leave = self.leave.clone();
        // Without the sender it never has to leave.
        if leave.wait_for(|leave| *leave).await.is_err() || !self.is_spare() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.forget(self.number);
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
        let places = Places::new(&limits);
        runtime().block_on(async {
            let regular = [places.next().await, places.next().await];
            assert!(regular.iter().all(|place| !place.is_spare()));
            let mut spare = VecDeque::new();
            for _ in 0..SPARE {
                spare.push_back(places.next().await);
            }
            assert!(spare.iter().all(Place::is_spare));
            let oldest = spare.pop_front().unwrap();
            let (newer, refused) = tokio::join!(places.next(), async {
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
            let left = places.guests.lock().unwrap().waiting.len();
            assert_eq!(left, SPARE - 1);
            drop((waits, spare, newer));
            tokio::time::timeout(Duration::from_secs(5), places.all_free()).await.unwrap();
            assert!(places.guests.lock().unwrap().waiting.is_empty());
        });
    }

    #[test]
    fn who_waits_too_long_is_told_when_to_come_again() {
        let places = Places::new(&Limits { connections: 1, wait: Duration::from_millis(10), ..Limits::default() });
        runtime().block_on(async {
            let first = places.next().await;
            first.admit().await.unwrap();
            let fault = places.next().await.admit().await.unwrap_err();
            assert!(fault.message().starts_with("expected one of 1 connections"), "{}", fault.message());
        });
    }
}

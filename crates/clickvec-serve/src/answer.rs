//! The answer that a route gives, and how it is written.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http_body::{Frame, SizeHint};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::generation::Generation;
use crate::memory::{EVERY, Used};

/// A stage of the work and its time.
pub(crate) type Stage = (&'static str, Duration);

/// The facts of an answer for the log and the figures.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// The stages of the work and their times.
    pub(crate) stages: Vec<Stage>,
    /// The number of texts in the request.
    pub(crate) texts: usize,
    pub(crate) index: Option<String>,
    pub(crate) generation: Option<u64>,
    /// The queries, if the log may have them.
    pub(crate) query: Option<String>,
}

impl Record {
    /// Creates the record of texts that a generation of an index reads.
    pub(crate) fn new(generation: &Generation, texts: usize) -> Record {
        Record { texts, index: Some(generation.name.clone()), generation: Some(generation.number), ..Record::default() }
    }
}

/// An answer, and its record for the log.
pub(crate) struct Recorded(pub(crate) Value, pub(crate) Record);

impl IntoResponse for Recorded {
    fn into_response(self) -> Response {
        (Extension(self.1), Json(self.0)).into_response()
    }
}

/// Answers are handed to a connection in pieces of this size. Smaller ones are not counted.
const PIECE: usize = 64 * 1024;
/// The bytes of a permit.
const UNIT: usize = 1024;

/// The bound on the bytes of all large answers that clients have not taken yet, and the memory that they and large requests leave behind.
pub(crate) struct Outgoing {
    room: Arc<Semaphore>,
    units: usize,
    used: Used,
}

impl Outgoing {
    pub(crate) fn new(bytes: usize) -> Outgoing {
        let units = bytes.div_ceil(UNIT).clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Outgoing { room: Arc::new(Semaphore::new(units)), units, used: Used::default() }
    }

    /// Returns a body that holds its share of the bound until the connection has taken its last piece; `None` if there is no
    /// room for it.
    pub(crate) fn admit(&self, rest: Bytes) -> Option<Body> {
        if rest.len() <= PIECE {
            return Some(rest.into());
        }
        self.used.add(rest.len());
        // A single answer above the bound must be possible.
        let units = rest.len().div_ceil(UNIT).min(self.units) as u32;
        let room = Arc::clone(&self.room).try_acquire_many_owned(units).ok()?;
        Some(Body::new(Pieces { rest, _room: room }))
    }
}

impl Outgoing {
    /// Counts the bytes of a request's body so far, of which `more` are new.
    pub(crate) fn received(&self, more: usize, so_far: usize) {
        if so_far > PIECE {
            self.used.add(more);
        }
    }

    /// Gives memory that requests, which take `longest`, and answers have left back to the system, now and then, for ever.
    pub(crate) async fn give_back_memory(&self, longest: Duration) {
        let every = EVERY.max(longest);
        loop {
            tokio::time::sleep(every).await;
            let is_waiting = self.room.available_permits() < self.units;
            tokio::task::block_in_place(|| self.used.give_back(is_waiting));
        }
    }
}

/// A body in pieces. hyper asks for the next one when the client has taken most of the one before.
struct Pieces {
    rest: Bytes,
    _room: OwnedSemaphorePermit,
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let size = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(size);
        Poll::Ready((size > 0).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_answers_share_a_bound_and_small_ones_do_not_count() {
        let outgoing = Outgoing::new(4 * PIECE);
        let body = |size: usize| Bytes::from(vec![b'x'; size]);
        let first = outgoing.admit(body(3 * PIECE)).unwrap();
        assert!(outgoing.admit(body(2 * PIECE)).is_none());
        assert!(outgoing.admit(body(PIECE)).is_some());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let bytes = runtime.block_on(axum::body::to_bytes(first, usize::MAX)).unwrap();
        assert_eq!(bytes.len(), 3 * PIECE);
        assert!(outgoing.admit(body(100 * PIECE)).is_some(), "one above the bound, alone");
    }
}

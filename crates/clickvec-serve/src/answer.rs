//! The answer that a route gives, and how it is written.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http_body::{Body as _, Frame, SizeHint};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fault::Fault;
use crate::generation::{Generation, Slot};

/// A stage of the work and its time.
pub(crate) type Stage = (&'static str, Duration);

/// What the log and the figures say of an answer.
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
    pub(crate) fn new(slot: &Slot, generation: &Generation, texts: usize) -> Record {
        Record { texts, index: Some(slot.name.clone()), generation: Some(generation.number), ..Record::default() }
    }
}

/// Returns a value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<Vec<u8>, Fault> {
    serde_json::to_vec(value).map_err(|error| Fault::internal(&error))
}

/// Returns an answer of text that is JSON already.
pub(crate) fn json_response(body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

/// A value as JSON, and what the log says of it.
pub(crate) struct Recorded<T>(pub(crate) T, pub(crate) Record);

impl<T: Serialize> IntoResponse for Recorded<T> {
    fn into_response(self) -> Response {
        (Extension(self.1), Json(self.0)).into_response()
    }
}

/// Answers are handed to a connection in pieces of this size. Smaller ones are not counted.
const PIECE: usize = 64 * 1024;
/// The bytes of a permit.
const UNIT: usize = 1024;

/// The bound on the bytes of all large answers that clients have not taken yet.
pub(crate) struct Outgoing {
    room: Arc<Semaphore>,
    units: usize,
}

impl Outgoing {
    pub(crate) fn new(bytes: usize) -> Outgoing {
        let units = bytes.div_ceil(UNIT).clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Outgoing { room: Arc::new(Semaphore::new(units)), units }
    }

    /// Returns a body that holds its share of the bound until the connection has taken its last piece; `None` if there is no
    /// room for it.
    pub(crate) fn admit(&self, body: Body) -> Option<Body> {
        let bytes = body.size_hint().exact().unwrap_or(0) as usize;
        if bytes <= PIECE {
            return Some(body);
        }
        // A single answer above the bound must be possible.
        let units = bytes.div_ceil(UNIT).min(self.units) as u32;
        let room = Arc::clone(&self.room).try_acquire_many_owned(units).ok()?;
        Some(Body::new(Pieces { body, rest: Bytes::new(), left: bytes as u64, _room: room }))
    }
}

/// A body in pieces. hyper asks for the next one when the client has taken most of the one before.
struct Pieces {
    body: Body,
    rest: Bytes,
    left: u64,
    _room: OwnedSemaphorePermit,
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
                end => return Poll::Ready(end),
            }
        }
        let size = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(size);
        self.left -= size as u64;
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_answers_share_a_bound_and_small_ones_do_not_count() {
        let outgoing = Outgoing::new(4 * PIECE);
        let body = |size: usize| Body::from(vec![b'x'; size]);
        let first = outgoing.admit(body(3 * PIECE)).unwrap();
        assert!(outgoing.admit(body(2 * PIECE)).is_none());
        assert!(outgoing.admit(body(PIECE)).is_some());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let bytes = runtime.block_on(axum::body::to_bytes(first, usize::MAX)).unwrap();
        assert_eq!(bytes.len(), 3 * PIECE);
        assert!(outgoing.admit(body(100 * PIECE)).is_some(), "one above the bound, alone");
    }
}

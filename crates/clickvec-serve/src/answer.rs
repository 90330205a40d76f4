//! The answer that a route gives, and how it is written.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use http_body::{Body as _, Frame, SizeHint};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// An answer, and what the log says of it.
pub(crate) struct Answer {
    content_type: &'static str,
    body: Bytes,
    headers: Vec<(&'static str, &'static str)>,
    pub(crate) record: Record,
}

/// What the log and the figures say of an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// The stages of the work and their times.
    pub(crate) stages: Vec<(&'static str, Duration)>,
    /// The number of texts in the request.
    pub(crate) texts: usize,
    pub(crate) index: Option<String>,
    pub(crate) generation: Option<u64>,
    /// The queries, if the log may have them.
    pub(crate) query: Option<String>,
}

impl Answer {
    pub(crate) fn new(content_type: &'static str, body: impl Into<Bytes>) -> Answer {
        Answer { content_type, body: body.into(), headers: Vec::new(), record: Record::default() }
    }

    /// Creates an answer of text that is JSON already.
    pub(crate) fn json(body: impl Into<Bytes>) -> Answer {
        Answer::new("application/json", body)
    }

    /// Creates an answer of a value without anything that JSON lacks.
    pub(crate) fn of(value: &impl Serialize) -> Answer {
        Answer::json(serde_json::to_vec(value).expect("strings and numbers are JSON"))
    }

    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Answer {
        self.headers.push((name, value));
        self
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = Response::new(self.body.into());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        for (name, value) in self.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        response.extensions_mut().insert(self.record);
        response
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

//! The accept loop, and one connection: how long its client may take, and how it ends.
//!
//! hyper reads HTTP; what it does not do is here: no more connections than there are places, an end for clients that send nothing,
//! send the head of a request byte by byte, or do not read their answer.

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::dispatch::respond;
use crate::limits::Limits;
use crate::places::{Place, Places};
use crate::service::Service;

/// The bytes of the head of a request, at most; hyper answers 431 to more.
const HEAD: usize = 64 * 1024;
/// The headers of a request, at most.
const HEADERS: usize = 100;
/// When the system has no more files for connections, it is asked again after this time.
const NO_FILES: Duration = Duration::from_millis(50);
/// How long a client may take to hear that a newer one needs its place.
const TO_LEAVE: Duration = Duration::from_millis(100);
/// The same for one that has asked nothing so far. If its request is there by then, it is read and refused.
const TO_ASK: Duration = Duration::from_millis(2);

/// When the service ends, the rest of a request's head must come in this time.
const TO_FINISH: Duration = Duration::from_secs(1);

/// Takes connections until the service stops, then waits for those that are open, but not for ever.
pub(crate) async fn accept(service: Arc<Service>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    let places = Places::new(&service.limits);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(_) => {
                    tokio::time::sleep(NO_FILES).await;
                    continue;
                }
            },
            _ = stop.changed() => break,
        };
        let place = tokio::select! {
            place = places.next() => place,
            _ = stop.changed() => break,
        };
        // Answers are written in one piece; waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        let (service, stop) = (Arc::clone(&service), stop.clone());
        tokio::spawn(async move {
            service.metrics.connections.inc();
            connection(&service, stream, peer, Arc::new(place), stop).await;
            service.metrics.connections.dec();
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(service.limits.drain, places.all_free()).await;
}

/// Answers the requests of one connection, one after the other.
pub(crate) async fn connection<S: AsyncRead + AsyncWrite + Unpin>(
    service: &Arc<Service>,
    stream: S,
    peer: SocketAddr,
    place: Arc<Place>,
    mut stop: watch::Receiver<bool>,
) {
    let state = Arc::new(Activity::new());
    let io = TokioIo::new(Watched { stream, state: Arc::clone(&state) });
    let of_requests = (Arc::clone(&state), Arc::clone(service), Arc::clone(&place));
    let answer = service_fn(move |request| {
        let (state, service, place) = of_requests.clone();
        async move {
            state.begin();
            let response = respond(service, peer.ip(), &place, request).await;
            state.end();
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    let mut http = http1::Builder::new();
    http.max_headers(HEADERS).max_buf_size(HEAD).header_read_timeout(None);
    let mut connection = pin!(http.serve_connection(io, answer));
    let limits = &service.limits;
    let tick = (limits.headers.min(limits.idle) / 4).clamp(Duration::from_millis(5), Duration::from_secs(1));
    let mut ending: Option<Instant> = None;
    loop {
        tokio::select! {
            // What a client did wrong is its own affair.
            _ = connection.as_mut() => return,
            _ = tokio::time::sleep(tick) => {
                let is_late = ending.is_some_and(|since| since.elapsed() >= TO_FINISH);
                if state.is_over(limits) || is_late && state.is_half_asked() {
                    return;
                }
            },
            _ = stop.changed(), if ending.is_none() => {
                ending = Some(Instant::now());
                if state.is_silent() {
                    return;
                }
                connection.as_mut().graceful_shutdown();
            }
            () = place.must_leave() => {
                // A request that waits here is refused now, which takes no time, and so is one that was not read yet. Whoever says
                // nothing just leaves.
                let is_running = state.is_running();
                if is_running {
                    connection.as_mut().graceful_shutdown();
                }
                let _ = tokio::time::timeout(if is_running { TO_LEAVE } else { TO_ASK }, connection).await;
                return;
            }
        }
    }
}

/// What a connection does, in milliseconds since it began.
struct Activity {
    began: Instant,
    /// Requests that are being answered.
    running: AtomicUsize,
    /// When the last answer was given; 0 before the first.
    answered: AtomicU64,
    /// When the first byte came that may be of the next request; 0 if none came yet.
    heard: AtomicU64,
    /// When a byte of an answer was last taken by the client's side.
    written: AtomicU64,
}

impl Activity {
    fn new() -> Activity {
        let [answered, heard, written] = [0; 3].map(AtomicU64::new);
        Activity { began: Instant::now(), running: AtomicUsize::new(0), answered, heard, written }
    }

    fn now(&self) -> u64 {
        (self.began.elapsed().as_millis() as u64).max(1)
    }

    fn begin(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
        self.heard.store(0, Ordering::Relaxed);
    }

    fn end(&self) {
        self.answered.store(self.now(), Ordering::Relaxed);
        self.heard.store(0, Ordering::Relaxed);
        self.running.fetch_sub(1, Ordering::Relaxed);
    }

    fn heard(&self) {
        let _ = self.heard.compare_exchange(0, self.now(), Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether a request is being answered.
    fn is_running(&self) -> bool {
        self.running.load(Ordering::Relaxed) > 0
    }

    /// Whether a part of a request's head has come, and no more.
    fn is_half_asked(&self) -> bool {
        !self.is_running() && self.heard.load(Ordering::Relaxed) != 0
    }

    /// Whether nothing was asked yet.
    fn is_silent(&self) -> bool {
        !self.is_running() && self.heard.load(Ordering::Relaxed) == 0 && self.answered.load(Ordering::Relaxed) == 0
    }

    /// Whether the client has had its time: for the head of a request from its first byte on, for the first request from
    /// the connection's beginning on, and otherwise for doing nothing.
    fn is_over(&self, limits: &Limits) -> bool {
        if self.is_running() {
            return false;
        }
        let (answered, heard) = (self.answered.load(Ordering::Relaxed), self.heard.load(Ordering::Relaxed));
        let (since, limit) = match (answered, heard) {
            (0, _) => (0, limits.headers),
            (answered, 0) => (answered.max(self.written.load(Ordering::Relaxed)), limits.idle),
            (_, heard) => (heard, limits.headers),
        };
        Duration::from_millis(self.now().saturating_sub(since)) >= limit
    }
}

/// A connection that notes when bytes come and go.
struct Watched<S> {
    stream: S,
    state: Arc<Activity>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.state.heard();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if polled.is_ready() {
            self.state.written.store(self.state.now(), Ordering::Relaxed);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        if polled.is_ready() {
            self.state.written.store(self.state.now(), Ordering::Relaxed);
        }
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

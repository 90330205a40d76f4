//! The accept loop, and one connection: how long its client may take, and how it ends.
//!
//! hyper reads HTTP and ends connections whose next request does not come in time; a stream with a time-out ends those that do
//! not take their answer. The bound on connections is in [`Permits`].

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_io_timeout::TimeoutStream;
use tower::Service as _;

use crate::clock::while_dated;
use crate::front::Peer;
use crate::limits::Limits;
use crate::permits::{Permit, Permits};
use crate::service::Service;

/// The bytes of the head of a request, at most; hyper answers 431 to more.
const HEAD: usize = 64 * 1024;
/// The headers of a request, at most.
const HEADERS: usize = 100;
/// When the system has no more files for connections, the next attempt comes after this time.
const NO_FILES: Duration = Duration::from_millis(50);
/// The time for a client to hear that a newer one needs its permit.
const TO_LEAVE: Duration = Duration::from_millis(100);
/// The same for a client without a request so far. If its request is there by then, it is read and refused.
const TO_ASK: Duration = Duration::from_millis(2);
/// When the service ends, the rest of a request's head must come in this time.
const TO_FINISH: Duration = Duration::from_secs(1);

/// Takes connections until the service stops, then waits for those that are open, but not for ever.
pub(crate) async fn accept(
    service: Arc<Service>,
    router: Router,
    listener: TcpListener,
    mut stop: watch::Receiver<bool>,
) {
    let permits = Permits::new(&service.config.limits);
    let owner = Arc::clone(&service);
    let giving_back = tokio::spawn(async move { owner.outgoing.give_back_memory(owner.config.limits.request).await });
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
        let permit = tokio::select! {
            permit = permits.next() => permit,
            _ = stop.changed() => break,
        };
        // Answers are written in one piece; waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        let (service, router, stop) = (Arc::clone(&service), router.clone(), stop.clone());
        tokio::spawn(async move {
            service.metrics.connected();
            let served = serve(&service.config.limits, router, stream, peer, Arc::new(permit), stop);
            if !while_dated(served).await {
                let reason = "the clock is not in the years 1970 to 9999; connections are closed until it is set";
                service.log.event("clock", json!({"reason": reason}));
            }
            service.metrics.disconnected();
        });
    }
    drop(listener);
    giving_back.abort();
    let _ = tokio::time::timeout(service.config.limits.drain, permits.all_free()).await;
}

/// Answers the requests of one connection, one after the other.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite>(
    limits: &Limits,
    router: Router,
    stream: S,
    peer: SocketAddr,
    permit: Arc<Permit>,
    mut stop: watch::Receiver<bool>,
) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.idle));
    let peer = Peer { address: peer.ip(), permit: Arc::clone(&permit) };
    permit.idle();
    let running = AtomicBool::new(false);
    let is_running = &running;
    let answer = service_fn(move |request: Request<Incoming>| {
        let (mut router, peer) = (router.clone(), peer.clone());
        let permit = Arc::clone(&peer.permit);
        async move {
            is_running.store(true, Ordering::Relaxed);
            peer.permit.busy();
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            let response = router.call(request).await;
            is_running.store(false, Ordering::Relaxed);
            permit.idle();
            response
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.idle).max_headers(HEADERS).max_buf_size(HEAD);
    let mut connection = pin!(http.serve_connection(TokioIo::new(Box::pin(stream)), answer));
    // What a client did wrong is its own affair.
    tokio::select! {
        _ = connection.as_mut() => {}
        _ = stop.changed() => {
            connection.as_mut().graceful_shutdown();
            let ended = tokio::time::timeout(TO_FINISH, connection.as_mut()).await;
            if ended.is_err() && running.load(Ordering::Relaxed) {
                let _ = connection.await;
            }
        }
        () = permit.idles_too_long() => {
            // It has sent nothing for a while, unless its next request arrives just now, which is answered.
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(limits.request, connection).await;
        }
        () = permit.must_leave() => {
            // A request that waits here is refused now, which takes no time, and so is one that was not read yet. A client that
            // has sent nothing just leaves.
            let is_running = running.load(Ordering::Relaxed);
            if is_running {
                connection.as_mut().graceful_shutdown();
            }
            let _ = tokio::time::timeout(if is_running { TO_LEAVE } else { TO_ASK }, connection).await;
        }
    }
}

//! What comes from outside, without sockets, for fuzz targets.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::clicks::Clicks;
use crate::connection::serve;
use crate::error::Result;
use crate::judgments::Judgments;
use crate::permits::Permit;
use crate::routes::router;
use crate::server::Server;

/// No answer may take longer.
const PATIENCE: Duration = Duration::from_secs(15);

/// Returns what a client gets that sends these bytes and no more. If they are whole requests, the last of which closes the connection, it
/// then waits; otherwise it says that no more will come, which a service may take for a client that has gone.
///
/// # Panics
///
/// If the service takes too long, or the system has no sockets.
pub fn feed(server: &Server, bytes: &[u8], is_whole: bool) -> Vec<u8> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
    });
    let (mut near, far) = UnixStream::pair().expect("a pair of sockets");
    far.set_nonblocking(true).expect("a socket");
    let mut writes = near.try_clone().expect("a socket");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // The service may have heard enough.
            let _ = writes.write_all(bytes);
            if !is_whole {
                let _ = writes.shutdown(std::net::Shutdown::Write);
            }
        });
        let answer = scope.spawn(move || {
            let mut answer = Vec::new();
            let _ = near.read_to_end(&mut answer);
            answer
        });
        runtime.block_on(async {
            let far = tokio::net::UnixStream::from_std(far).expect("a socket");
            let (_stop, stopped) = watch::channel(false);
            let limits = &server.service().limits;
            let permit = Arc::new(Permit::uncounted(limits));
            let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
            let connection = serve(limits, router(server.service()), far, peer, permit, stopped);
            let done = tokio::time::timeout(PATIENCE, connection).await;
            done.expect("a connection that ends");
        });
        answer.join().expect("no holder panics")
    })
}

/// Reads a table of judgments.
///
/// # Errors
///
/// What a service would say that starts with it.
pub fn judgments(path: &Path) -> Result<()> {
    Judgments::open(path).map(drop)
}

/// Opens a log of clicks and mends it.
///
/// # Errors
///
/// What a service would say that starts with it.
pub fn clicks(path: &Path) -> Result<()> {
    let (clicks, thread) = Clicks::open(path, 1 << 20)?;
    clicks.end();
    thread.join().expect("a log that ends");
    Ok(())
}

//! Input from outside, without sockets, for fuzz targets.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::connection::serve;
use crate::error::Result;
use crate::log::Log;
use crate::permits::Permits;
use crate::records::Records;
use crate::routes::router;
use crate::server::Server;

/// No answer may take longer.
const PATIENCE: Duration = Duration::from_secs(15);

/// Returns the answer to a client that sends these bytes and no more. If they are complete requests, the last of which closes the
/// connection, the client then waits; otherwise it says that no more will come, which a service may take for a client that has
/// gone.
///
/// # Panics
///
/// If the service takes too long, or the system has no sockets.
pub fn feed(server: &Server, bytes: &[u8], is_complete: bool) -> Vec<u8> {
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
            if !is_complete {
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
            let limits = &server.service().config.limits;
            let permit = Arc::new(Permits::new(limits).next().await);
            let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
            let connection = serve(limits, router(server.service()), far, peer, permit, stopped);
            let done = tokio::time::timeout(PATIENCE, connection).await;
            done.expect("a connection that ends");
        });
        answer.join().expect("no holder panics")
    })
}

/// Opens a folder of records, and mends its logs of clicks.
///
/// # Errors
///
/// Those of a service that starts with it.
///
/// # Panics
///
/// If the log does not end.
pub fn records(folder: &Path) -> Result<()> {
    let (records, threads) = Records::open(folder, true, 1 << 20, Log::nowhere())?;
    records.end();
    threads.into_iter().for_each(|thread| thread.join().expect("a log that ends"));
    Ok(())
}

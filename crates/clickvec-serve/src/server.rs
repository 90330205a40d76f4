//! A service that runs: its threads, its indexes under watch, and its end.

use std::collections::HashSet;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwap;
use clickvec_tables::{Error, ErrorKind};
use serde_json::json;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;

use crate::answer::Outgoing;
use crate::clients::Clients;
use crate::clock;
use crate::config::Config;
use crate::connection::accept;
use crate::error::{Result, no_threads, setting};
use crate::fault::quoted;
use crate::generation::{Cause, Reloaded, Slot};
use crate::hosts::Hosts;
use crate::limits::Limits;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::openapi::described;
use crate::permits::SPARE;
use crate::pins::Pins;
use crate::records::Records;
use crate::routes::router;
use crate::service::Service;
use crate::suggestions::Suggestions;
use crate::workers::Workers;

/// Threads that read and write; the work is done by the workers.
const THREADS: usize = 2;
/// Threads that accept, watch, check, and write the log, clicks and judgments.
const OTHER_THREADS: usize = 7;
/// Files besides the connections: indexes while they are opened, logs, clicks and judgments.
const OTHER_FILES: usize = 64;
/// Room for at least this many clients to arrive at once.
const FEW_CLIENTS: usize = 128;
/// A name of an index is at most this long.
const NAME: usize = 64;
/// The time between two checks of a waiting thread whether the service stops.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
/// The shortest pause between two checks of folders.
const SHORTEST: Duration = Duration::from_millis(1);

/// A service that runs. If it is dropped, it stops as after [`Server::stop`].
pub struct Server {
    service: Arc<Service>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
    writers: Vec<JoinHandle<()>>,
}

/// Starts this many threads at once and ends them. Where there is no room for them, tokio panics and does not say so.
fn try_threads(count: usize) -> std::io::Result<()> {
    let mut waiting = Vec::with_capacity(count);
    for _ in 0..count {
        let (go, end) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().spawn(move || end.recv().ok())?;
        waiting.push((go, thread));
    }
    for (go, thread) in waiting {
        drop(go);
        // It only waits.
        let _ = thread.join();
    }
    Ok(())
}

/// Raises the number of files that this program may open as far as it is allowed to, and lowers the number of connections to those that
/// there are files for. Returns the limit if it did the latter.
#[cfg(unix)]
fn fit_to_files(limits: &mut Limits) -> Result<Option<u64>> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // It stays as it is where the system refuses.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let Some(files) = getrlimit(Resource::Nofile).current else { return Ok(None) };
    let room = usize::try_from(files).unwrap_or(usize::MAX).saturating_sub(SPARE + OTHER_FILES);
    if room == 0 {
        let expected = format!("at least {} files that may be open", SPARE + OTHER_FILES + 1);
        return Err(setting(expected, files.to_string()).help("raise the limit with `ulimit -n`"));
    }
    let is_lowered = room < limits.connections;
    limits.connections = limits.connections.min(room);
    Ok(is_lowered.then_some(files))
}

/// Does nothing: there is no such limit.
#[cfg(not(unix))]
fn fit_to_files(_: &mut Limits) -> Result<Option<u64>> {
    Ok(None)
}

impl Server {
    /// Opens the indexes and answers requests from now on, on threads of its own. It writes its log to `log`, one JSON object a line.
    ///
    /// # Errors
    ///
    /// If a setting is wrong, the address is taken, an index cannot be opened or fails its test, or a file cannot be written.
    pub fn start(mut config: Config, log: impl Write + Send + 'static) -> Result<Server> {
        check(&config)?;
        clock::check()?;
        let few_files = fit_to_files(&mut config.limits)?;
        let hosts = Hosts::new(&config.hosts, !config.listen.ip().is_loopback())?;
        try_threads(THREADS + config.limits.workers + OTHER_THREADS).map_err(no_threads)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("connections")
            .enable_all()
            .build()
            .map_err(no_threads)?;
        let listen = |source: io::Error| {
            let message = format!("cannot listen: {source}");
            Error::new(ErrorKind::Io, message).within(config.listen.to_string()).caused_by(source)
        };
        let listener = runtime.block_on(async { bind(config.listen, config.limits.connections) }).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let canaries: Arc<[_]> = config.canaries.as_slice().into();
        // Before they are opened: an index that is replaced meanwhile has changed.
        let seen: Vec<_> = config.indexes.iter().map(|(_, path)| stamps(path)).collect();
        let seen_pins = config.pins.as_deref().and_then(stamp);
        let pins = config.pins.as_deref().map(Pins::read).transpose()?.unwrap_or_default();
        let open = |(name, path): &(String, PathBuf)| Slot::open(name, path, Arc::clone(&canaries));
        let slots = config.indexes.iter().map(open).collect::<Result<Vec<Slot>>>()?;
        let rotate = config.limits.clicks as u64;
        let (log, log_writer) = Log::new(log).map_err(no_threads)?;
        if let Some(files) = few_files {
            let reason = format!("only {files} files may be open");
            log.event("limits", json!({"connections": config.limits.connections, "reason": reason}));
        }
        let records = config
            .record
            .as_deref()
            .map(|folder| Records::open(folder, config.ubi, rotate, log.clone()))
            .transpose()?;
        let (records, click_writers) = records.unzip();
        let metrics = Arc::new(Metrics::default());
        let workers = Workers::new(&config.limits, Arc::clone(&metrics));
        let service = Arc::new(Service {
            openapi: described(&config.limits).into(),
            outgoing: Outgoing::new(config.limits.answers),
            clients: Clients::new(config.limits.client_rate, config.limits.batch),
            slots,
            workers,
            metrics,
            log,
            records,
            hosts,
            pins: ArcSwap::from_pointee(pins),
            suggestions: Suggestions::new(&config.queries),
            config,
            stopping: AtomicBool::new(false),
        });
        service.slots.iter().for_each(|slot| service.update_metrics(slot));
        let (stop, stopped) = watch::channel(false);
        let mut server = Server { service, address, stop, threads: Vec::new(), writers: vec![log_writer] };
        server.writers.extend(click_writers.into_iter().flatten());
        let service = Arc::clone(&server.service);
        server.thread("accept", move || {
            let router = router(&service);
            runtime.block_on(accept(service, router, listener, stopped));
            runtime.shutdown_timeout(SIGNAL_INTERVAL);
        })?;
        let every = server.service.config.limits.watch;
        if !every.is_zero() {
            let service = Arc::clone(&server.service);
            server.thread("watch", move || watch_files(&service, seen, seen_pins, every))?;
        }
        server.tell_start();
        let service = Arc::clone(&server.service);
        // Detached: it may take minutes, and what it leaves behind does no harm.
        let read = move || service.slots.iter().for_each(|slot| service.read(slot));
        std::thread::Builder::new().name("check".to_owned()).spawn(read).map_err(no_threads)?;
        Ok(server)
    }

    fn thread(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<()> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(no_threads)?;
        self.threads.push(thread);
        Ok(())
    }

    fn tell_start(&self) {
        for slot in &self.service.slots {
            let generation = slot.current();
            let facts = generation.index.facts();
            let (titles, model, fingerprint) = (facts.titles, &facts.model.fingerprint, &facts.fingerprint);
            let event = json!({"index": slot.name, "titles": titles, "model": model, "fingerprint": fingerprint});
            self.service.log.event("index", event);
        }
        self.service.log.event("start", json!({"address": self.address.to_string()}));
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    #[cfg(fuzzing)]
    pub(crate) fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Reloads all indexes and the table of pins. What does not fit is refused, which the log says, and the old one stays.
    pub fn reload(&self) {
        let _ = self.service.reload_pins();
        for slot in &self.service.slots {
            // The log and the figures have it.
            let _ = self.service.reload(slot, Cause::Requested);
        }
    }

    /// Takes no new connection, finishes what runs within the time for that, and ends all threads.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if self.service.stopping.swap(true, Ordering::Relaxed) {
            return;
        }
        self.service.log.event("stop", json!({}));
        let _ = self.stop.send(true);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if let Some(records) = &self.service.records {
            records.end();
        }
        self.service.log.event("end", json!({}));
        // A reader that takes nothing keeps the log's thread for ever, which then ends with the program.
        let by = Instant::now() + self.service.config.limits.drain;
        self.service.log.end(by);
        for writer in self.writers.drain(..) {
            while !writer.is_finished() && Instant::now() < by {
                std::thread::sleep(SIGNAL_INTERVAL);
            }
            if writer.is_finished() {
                let _ = writer.join();
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Listens on an address. As many clients may arrive at once as may be connected: each of those beyond the system's room tries
/// again after a second. The standard library has room for 128.
fn bind(address: SocketAddr, connections: usize) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Elsewhere it means that two may listen on one address.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(u32::try_from(connections.max(FEW_CLIENTS)).unwrap_or(u32::MAX))
}

fn check(config: &Config) -> Result<()> {
    config.limits.check()?;
    if !config.listen.ip().is_loopback() && !config.public {
        let expected = "a loopback address such as 127.0.0.1";
        let found = "one that others can reach, where tokens and queries would go unencrypted";
        let help = "set `public` if something in front of it speaks TLS";
        return Err(setting(expected, found).help(help).settings(&["public"]).within(config.listen.to_string()));
    }
    if config.indexes.is_empty() {
        return Err(setting("an index to serve", "none"));
    }
    let mut names = HashSet::new();
    for (name, _) in &config.indexes {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > NAME || !name.chars().all(is_plain) {
            let expected = format!("a name of letters, digits, `-`, `_` and `.`, at most {NAME}");
            return Err(setting(expected, quoted(name)).help("NAME=INDEX names an index"));
        }
        if !names.insert(name) {
            let found = format!("{} twice", quoted(name));
            return Err(setting("a name of its own for each index", found).help("NAME=INDEX names an index"));
        }
    }
    Ok(())
}

/// The most checks of a folder that keeps changing before it is reloaded. `index` and `update` write whole files at any time.
const LOOKS: u32 = 5;

/// Reloads an index when its folder is not as it was `seen` and stays as it is for a moment, or has kept changing for [`LOOKS`].
/// Reads the table of pins anew when it is another.
fn watch_files(service: &Service, mut seen: Vec<Option<Stamps>>, mut seen_pins: Option<Stamp>, every: Duration) {
    let every = every.max(SHORTEST);
    // The stamps of folders to reload once they have stopped changing, and the number of checks of each.
    let mut pending: Vec<Option<(Stamps, u32)>> = vec![None; seen.len()];
    let mut waited = Duration::ZERO;
    while !service.is_stopping() {
        std::thread::sleep(SIGNAL_INTERVAL.min(every));
        waited += SIGNAL_INTERVAL.min(every);
        if waited < every {
            continue;
        }
        waited = Duration::ZERO;
        let pins = service.config.pins.as_deref().and_then(stamp);
        if pins != seen_pins {
            // The log has it.
            let _ = service.reload_pins();
            seen_pins = pins;
        }
        for (number, slot) in service.slots.iter().enumerate() {
            let Some(now) = stamps(slot.path()).filter(|now| seen[number].as_ref() != Some(now)) else {
                pending[number] = None;
                continue;
            };
            match pending[number].take() {
                Some((before, looks)) if before == now || looks >= LOOKS => {
                    // Whether it is taken or refused, it is not tried again before it changes again.
                    let _: Result<Reloaded> = service.reload(slot, Cause::Noticed);
                    (seen[number], pending[number]) = (Some(now), None);
                }
                before => pending[number] = Some((now, 1 + before.map_or(0, |(_, looks)| looks))),
            }
        }
    }
}

/// The stamps of the manifests of an index and of those that it links to.
type Stamps = Vec<Option<Stamp>>;

/// Returns the stamps of the index in a folder; `None` without a manifest, as in the moment when another takes its place.
fn stamps(index: &Path) -> Option<Stamps> {
    let stamps: Stamps = clickvec_index::manifests(index).iter().map(|file| stamp(file)).collect();
    stamps[0].is_some().then_some(stamps)
}

/// The properties of a file that change when another takes its name.
type Stamp = (Option<SystemTime>, u64, u64);

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let number = 0;
    Some((metadata.modified().ok(), metadata.len(), number))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn many_clients_may_arrive_at_once() {
        let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap().trim().parse::<usize>().unwrap();
        let clients = 300.min(most);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(async { bind(([127, 0, 0, 1], 0).into(), clients) }).unwrap();
        let address = listener.local_addr().unwrap();
        // They are never accepted. One without room would wait for a second.
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(500)).unwrap();
        assert_eq!((0..clients).map(connect).collect::<Vec<_>>().len(), clients);
    }
}

//! A structured log: one JSON object a line, written by a thread of its own so that a slow reader delays no request.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::clock::now;

/// Lines that may wait for the writer; further ones are counted and dropped.
const WAITING: usize = 8192;

/// The time between two checks whether a writer has gone on.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(10);

/// The log of a service. Its clones write to one place.
#[derive(Clone)]
pub(crate) struct Log {
    /// `None` is the end.
    lines: SyncSender<Option<Map<String, Value>>>,
    dropped: Arc<AtomicU64>,
}

impl Log {
    /// Creates a log that writes to `sink`. The thread ends after [`Log::end`].
    pub(crate) fn new(mut sink: impl Write + Send + 'static) -> std::io::Result<(Log, JoinHandle<()>)> {
        let (lines, received) = sync_channel(WAITING);
        let writer = std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            in_groups(&received, |lines| write(&mut sink, &lines));
        })?;
        Ok((Log { lines, dropped: Arc::new(AtomicU64::new(0)) }, writer))
    }

    /// Creates a log that drops everything.
    pub(crate) fn nowhere() -> Log {
        Log { lines: sync_channel(0).0, dropped: Arc::default() }
    }

    /// Writes an event with those of its fields that are not null.
    pub(crate) fn event(&self, name: &str, mut fields: Value) {
        fields["time"] = now().into();
        fields["event"] = name.into();
        let Value::Object(mut line) = fields else { return };
        line.retain(|_, value| !value.is_null());
        if let Err(TrySendError::Full(_)) = self.lines.try_send(Some(line)) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Events that were dropped since their reader was too slow.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Ends the log after the lines so far, unless its reader takes nothing until then.
    pub(crate) fn end(&self, by: Instant) {
        while let Err(TrySendError::Full(_)) = self.lines.try_send(None) {
            if Instant::now() >= by {
                return;
            }
            std::thread::sleep(SIGNAL_INTERVAL);
        }
    }
}

fn write(sink: &mut impl Write, lines: &[Map<String, Value>]) {
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line).expect("a map of strings is JSON");
        bytes.push(b'\n');
    }
    // A log that cannot be written is no reason to stop answering.
    let _ = sink.write_all(&bytes).and_then(|()| sink.flush());
}

/// Takes the items sent, as many as there are at a time, up to a `None`.
pub(crate) fn in_groups<T>(received: &Receiver<Option<T>>, mut take: impl FnMut(Vec<T>)) {
    while let Ok(first) = received.recv() {
        let group: Vec<Option<T>> = std::iter::once(first).chain(received.try_iter().take(WAITING)).collect();
        let is_last = group.iter().any(Option::is_none);
        take(group.into_iter().flatten().collect());
        if is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use serde_json::json;

    use super::*;

    /// A reader that takes nothing.
    struct Stuck {
        /// Until its other end is dropped.
        release: Receiver<()>,
        /// Hears of each write as it begins.
        begun: Sender<()>,
    }

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.begun.send(());
            let _ = self.release.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_takes_nothing_does_not_keep_the_service_from_its_end() {
        let (let_go, release) = sync_channel(0);
        let (begun, writes) = channel();
        let (log, writer) = Log::new(Stuck { release, begun }).unwrap();
        log.event("line", json!({}));
        // From here on it takes no line.
        writes.recv_timeout(Duration::from_secs(60)).unwrap();
        while log.dropped() == 0 {
            log.event("line", json!({}));
        }
        let begun = Instant::now();
        log.end(begun + Duration::from_millis(50));
        assert!((50..10_000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
        assert!(!writer.is_finished());
        // A reader that goes on gets it all, and the end.
        drop(let_go);
        log.end(Instant::now() + Duration::from_secs(60));
        writer.join().unwrap();
    }
}

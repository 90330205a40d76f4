//! A structured log: one JSON object a line, written by a thread of its own so that a slow reader delays no request.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

/// Lines that may wait for the writer; further ones are counted and dropped.
const WAITING: usize = 8192;

/// How often it is looked whether a writer has gone on.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The log of a service. Its clones write to one place.
#[derive(Clone)]
pub(crate) struct Log {
    lines: SyncSender<Line>,
    dropped: Arc<AtomicU64>,
}

enum Line {
    Event(Map<String, Value>),
    End,
}

impl Log {
    /// Creates a log that writes to `sink`. The thread ends after [`Log::end`].
    pub(crate) fn new(sink: Box<dyn Write + Send>) -> std::io::Result<(Log, JoinHandle<()>)> {
        let (lines, received) = sync_channel(WAITING);
        let writer = std::thread::Builder::new().name("log".to_owned()).spawn(move || write(sink, &received))?;
        Ok((Log { lines, dropped: Arc::new(AtomicU64::new(0)) }, writer))
    }

    /// Writes an event with its fields, after the time.
    pub(crate) fn event<const N: usize>(&self, name: &str, fields: [(&str, Value); N]) {
        let mut line = Map::new();
        line.insert("time".to_owned(), now().into());
        line.insert("event".to_owned(), name.into());
        line.extend(
            fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.to_owned(), value)),
        );
        if let Err(TrySendError::Full(_)) = self.lines.try_send(Line::Event(line)) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Events that were dropped since their reader was too slow.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Ends the log after what it has so far, unless its reader takes nothing until then.
    pub(crate) fn end(&self, by: Instant) {
        while let Err(TrySendError::Full(_)) = self.lines.try_send(Line::End) {
            if Instant::now() >= by {
                return;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

/// Returns the time, UTC, to a millisecond.
pub(crate) fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

fn write(mut sink: Box<dyn Write + Send>, received: &Receiver<Line>) {
    while let Ok(first) = received.recv() {
        let mut next = Some(first);
        let mut bytes = Vec::new();
        while let Some(line) = next {
            match line {
                Line::Event(line) => {
                    serde_json::to_writer(&mut bytes, &line).expect("a map of strings is JSON");
                    bytes.push(b'\n');
                }
                Line::End => {
                    let _ = sink.write_all(&bytes).and_then(|()| sink.flush());
                    return;
                }
            }
            next = received.try_recv().ok();
        }
        // A log that cannot be written is no reason to stop answering.
        let _ = sink.write_all(&bytes).and_then(|()| sink.flush());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

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
        let (log, writer) = Log::new(Box::new(Stuck { release, begun })).unwrap();
        log.event("line", []);
        // From here on it takes no line.
        writes.recv_timeout(Duration::from_secs(60)).unwrap();
        while log.dropped() == 0 {
            log.event("line", []);
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

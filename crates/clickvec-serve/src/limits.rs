//! How much a client may ask for, how much may wait, and for how long.

use std::sync::OnceLock;
use std::time::Duration;

use crate::error::{Error, LimitFault, Result};

/// The limits of a service. [`Limits::check`] refuses those that contradict each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Connections that are open at the same time. Those past the limit are told of health and figures; other requests on them
    /// wait for a place, at most as long as for a worker.
    pub connections: usize,
    /// Texts that wait for a worker at the same time. A batch counts as its texts.
    pub queue: usize,
    /// Threads that compute; each works on one request at a time.
    pub workers: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Characters of a text.
    pub text: usize,
    /// Texts of a request.
    pub batch: usize,
    /// Titles of an answer.
    pub results: usize,
    /// Titles of all answers to a batch: its queries times the titles of each.
    pub batch_results: usize,
    /// How deep pages go: the first title of a page plus its length.
    pub depth: usize,
    /// How long a request may wait for a worker.
    pub wait: Duration,
    /// How long a request may take in all.
    pub request: Duration,
    /// How long a client may take to send the head of a request.
    pub headers: Duration,
    /// How long a connection may do nothing.
    pub idle: Duration,
    /// How long running requests may take when the service stops.
    pub drain: Duration,
    /// Texts a second that one client may ask for; 0 is no limit.
    pub client_rate: f64,
}

/// The processors that this program may use. Asked once: every use of the defaults would read the files of its control group.
fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 1024,
            queue: 2048,
            workers: processors(),
            body: 1 << 20,
            text: 8192,
            batch: 1024,
            results: 1000,
            batch_results: 16_384,
            depth: 10_000,
            wait: Duration::from_secs(1),
            request: Duration::from_secs(2),
            headers: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            drain: Duration::from_secs(10),
            client_rate: 0.0,
        }
    }
}

impl Limits {
    /// Checks that every limit lets something through, and that none contradicts another.
    ///
    /// # Errors
    ///
    /// [`Error::Limits`].
    pub fn check(&self) -> Result<()> {
        let counts = [
            ("connections", self.connections),
            ("queue", self.queue),
            ("workers", self.workers),
            ("body", self.body),
            ("text", self.text),
            ("batch", self.batch),
            ("results", self.results),
            ("batch_results", self.batch_results),
        ];
        if let Some((limit, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(Error::Limits { limit, fault: LimitFault::Zero(limit) });
        }
        let times = [("wait", self.wait), ("request", self.request), ("headers", self.headers), ("idle", self.idle)];
        if let Some((limit, _)) = times.into_iter().find(|(_, time)| time.is_zero()) {
            return Err(Error::Limits { limit, fault: LimitFault::NoTime(limit) });
        }
        let &Limits { queue, body, text, batch, results, batch_results, depth, wait, request, client_rate, .. } = self;
        let (limit, fault) = if batch > queue {
            ("queue", LimitFault::Queue { batch, queue })
        } else if text > body {
            ("body", LimitFault::Body { text, body })
        } else if results > depth {
            ("depth", LimitFault::Depth { results, depth })
        } else if results > batch_results {
            ("batch_results", LimitFault::BatchResults { results, batch_results })
        } else if wait > request {
            ("wait", LimitFault::Wait { request, wait })
        } else if !(client_rate >= 0.0 && client_rate.is_finite()) {
            ("client_rate", LimitFault::ClientRate(client_rate))
        } else {
            return Ok(());
        };
        Err(Error::Limits { limit, fault })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_do_not_contradict_each_other() {
        Limits::default().check().unwrap();
    }

    #[test]
    fn each_contradiction_is_refused_by_name() {
        type Change = fn(&mut Limits);
        let cases: [(&str, Change); 11] = [
            ("connections", |of| of.connections = 0),
            ("workers", |of| of.workers = 0),
            ("queue", |of| of.queue = of.batch - 1),
            ("body", |of| of.body = of.text - 1),
            ("depth", |of| of.depth = of.results - 1),
            ("batch_results", |of| of.batch_results = of.results - 1),
            ("batch_results", |of| of.batch_results = 0),
            ("wait", |of| of.wait = of.request * 2),
            ("headers", |of| of.headers = Duration::ZERO),
            ("client_rate", |of| of.client_rate = -1.0),
            ("client_rate", |of| of.client_rate = f64::NAN),
        ];
        for (name, change) in cases {
            let mut limits = Limits::default();
            change(&mut limits);
            match limits.check() {
                Err(Error::Limits { limit, .. }) => assert_eq!(limit, name),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}

//! Limits of requests, queues and times.

use std::sync::OnceLock;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Result, setting};

/// The limits of a service. [`Limits::check`] refuses those that contradict each other. serde reads times as seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Connections that are open at the same time. Those past the limit get answers about health and figures; other requests on
    /// them wait for a place, at most as long as for a worker.
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
    /// The depth of pages: the first title of a page plus its length.
    pub depth: usize,
    /// The longest wait of a request for a worker.
    #[serde(serialize_with = "as_seconds", deserialize_with = "from_seconds")]
    pub wait: Duration,
    /// The longest time of a request in all.
    #[serde(serialize_with = "as_seconds", deserialize_with = "from_seconds")]
    pub request: Duration,
    /// The longest time for the head of a client's next request, and for taking a part of an answer.
    #[serde(serialize_with = "as_seconds", deserialize_with = "from_seconds")]
    pub idle: Duration,
    /// The longest time of running requests when the service stops.
    #[serde(serialize_with = "as_seconds", deserialize_with = "from_seconds")]
    pub drain: Duration,
    /// Texts a second of one client; 0 is no limit.
    pub client_rate: f64,
    /// Bytes of large answers that clients have not taken yet, in all.
    pub answers: usize,
    /// Bytes of the log of clicks at which a new one is begun. Each day (UTC) begins a new one too.
    pub clicks: usize,
    /// The time between two checks whether a folder has changed; 0 is never.
    #[serde(serialize_with = "as_seconds", deserialize_with = "from_seconds")]
    pub watch: Duration,
}

/// The longest time that a limit may have.
const DAY: Duration = Duration::from_secs(86_400);

/// Returns the processors that this program may use. Asked once: every use of the defaults would read the files of its control group.
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
            idle: Duration::from_secs(20),
            drain: Duration::from_secs(10),
            client_rate: 0.0,
            answers: 256 << 20,
            clicks: 64 << 20,
            watch: Duration::from_secs(2),
        }
    }
}

impl Limits {
    /// Checks that every limit lets something through, and that none contradicts another.
    ///
    /// # Errors
    ///
    /// The name of the limit, and what it contradicts.
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
            ("answers", self.answers),
            ("clicks", self.clicks),
        ];
        if let Some((limit, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(setting("1 or more", "0").within(limit));
        }
        let most = [
            ("connections", self.connections, 1_000_000),
            ("workers", self.workers, 1024),
            ("queue", self.queue, 1 << 31),
        ];
        if let Some((limit, found, most)) = most.into_iter().find(|(_, found, most)| found > most) {
            return Err(setting(format!("at most {most}"), found.to_string()).within(limit));
        }
        let times = [("wait", self.wait), ("request", self.request), ("idle", self.idle)];
        if let Some((limit, _)) = times.into_iter().find(|(_, time)| time.is_zero()) {
            return Err(setting("a time above 0 s", "0 s").within(limit));
        }
        let pairs = [
            ("queue", self.queue, "batch", self.batch),
            ("body", self.body, "text", self.text),
            ("depth", self.depth, "results", self.results),
            ("batch_results", self.batch_results, "results", self.results),
        ];
        if let Some((limit, found, other, least)) = pairs.into_iter().find(|(_, found, _, least)| found < least) {
            let expected = format!("at least the limit `{other}`, which is {least}");
            return Err(setting(expected, found.to_string()).within(limit));
        }
        if self.wait > self.request {
            let expected = format!("at most the limit `request`, which is {:?}", self.request);
            return Err(setting(expected, format!("{:?}", self.wait)).within("wait"));
        }
        if !(self.client_rate >= 0.0 && self.client_rate.is_finite()) {
            return Err(setting("0 or more texts a second", self.client_rate.to_string()).within("client_rate"));
        }
        Ok(())
    }
}

fn as_seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

fn from_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| *time <= DAY);
    time.ok_or_else(|| serde::de::Error::custom(format!("expected seconds from 0 to 86400, found {seconds}")))
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
        let cases: [(&str, Change); 13] = [
            ("connections", |of| of.connections = 0),
            ("workers", |of| of.workers = 0),
            ("workers", |of| of.workers = 1025),
            ("queue", |of| of.queue = usize::MAX),
            ("queue", |of| of.queue = of.batch - 1),
            ("body", |of| of.body = of.text - 1),
            ("depth", |of| of.depth = of.results - 1),
            ("batch_results", |of| of.batch_results = of.results - 1),
            ("batch_results", |of| of.batch_results = 0),
            ("wait", |of| of.wait = of.request * 2),
            ("idle", |of| of.idle = Duration::ZERO),
            ("client_rate", |of| of.client_rate = -1.0),
            ("client_rate", |of| of.client_rate = f64::NAN),
        ];
        for (name, change) in cases {
            let mut limits = Limits::default();
            change(&mut limits);
            let error = limits.check().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name}: expected ")), "{error}");
        }
    }
}

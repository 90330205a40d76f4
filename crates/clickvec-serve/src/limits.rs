//! Limits of requests, queues and times.

use std::sync::OnceLock;
use std::time::Duration;

use clickvec::fields;
use clickvec::internals::fields::{self, Rule};
use serde::{Deserialize, Deserializer, Serializer};

use crate::error::{Result, setting};

/// The bounds of a limit that lets nothing through if it is 0.
const COUNT: Rule = Rule::AtLeast(1.0);

fields! {
    /// The limits of a service. [`Limits::check`] refuses those that contradict each other. serde reads times as seconds.
    pub struct Limits {
        /// Connections that are open at the same time. Those past the limit get answers about health and figures; other requests on
        /// them wait for a place, at most as long as for a worker.
        pub connections: usize = 1024 where Rule::Within(1.0, 1e6),
        /// Texts that wait for a worker at the same time. A batch counts as its texts.
        pub queue: usize = 2048 where Rule::Within(1.0, 2_147_483_648.0),
        /// Threads that compute; each works on one request at a time.
        pub workers: usize = (processors()) where Rule::Within(1.0, 1024.0),
        /// Bytes of a request's body.
        pub body: usize = (1 << 20) where COUNT,
        /// Characters of a text.
        pub text: usize = 8192 where COUNT,
        /// Texts of a request.
        pub batch: usize = 1024 where COUNT,
        /// Titles of an answer.
        pub results: usize = 1000 where COUNT,
        /// Titles of all answers to a batch: its queries times the titles of each.
        pub batch_results: usize = 16_384 where COUNT,
        /// The depth of pages: the first title of a page plus its length.
        pub depth: usize = 10_000,
        /// The longest wait of a request for a worker.
        #[serde(serialize_with = "as_seconds", deserialize_with = "from_seconds")]
        pub wait: Duration = (Duration::from_secs(1)) where Rule::Above0,
        /// The longest time of a request in all.
        #[serde(serialize_with = "as_seconds", deserialize_with = "from_seconds")]
        pub request: Duration = (Duration::from_secs(2)) where Rule::Above0,
        /// The longest time for the head of a client's next request, and for taking a part of an answer.
        #[serde(serialize_with = "as_seconds", deserialize_with = "from_seconds")]
        pub idle: Duration = (Duration::from_secs(20)) where Rule::Above0,
        /// The longest time of running requests when the service stops.
        #[serde(serialize_with = "as_seconds", deserialize_with = "from_seconds")]
        pub drain: Duration = (Duration::from_secs(10)),
        /// Texts a second of one client; 0 is no limit.
        pub client_rate: f64 = 0.0 where Rule::AtLeast(0.0),
        /// Bytes of large answers that clients have not taken yet, in all.
        pub answers: usize = (256 << 20) where COUNT,
        /// Bytes of the log of clicks at which a new one is begun. Each day (UTC) begins a new one too.
        pub clicks: usize = (64 << 20) where COUNT,
        /// The time between two checks whether a folder has changed; 0 is never.
        #[serde(serialize_with = "as_seconds", deserialize_with = "from_seconds")]
        pub watch: Duration = (Duration::from_secs(2)),
    }
}

/// The longest time that a limit may have.
const DAY: Duration = Duration::from_secs(86_400);

/// Returns the processors that this program may use. Asked once: every use of the defaults would read the files of its control group.
fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

impl Limits {
    /// Checks that every limit lets something through, and that none contradicts another.
    ///
    /// # Errors
    ///
    /// The name of the limit, and what it contradicts.
    pub fn check(&self) -> Result<()> {
        fields::check("", &fields::json(self), Limits::FIELDS)?;
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

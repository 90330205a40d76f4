//! Figures for Prometheus, in its text form.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

/// The name of a figure, and its meaning. Names of counters end with `_total`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Figure(&'static str, &'static str);

const REQUESTS: Figure = Figure("clickvec_requests_total", "Requests by route and status.");
const REQUEST_SECONDS: Figure =
    Figure("clickvec_request_seconds", "Time from a request's head to its answer, by route.");
const STAGE_SECONDS: Figure = Figure("clickvec_stage_seconds", "Time of each stage of an answer, as in Server-Timing.");
const SHED: Figure = Figure("clickvec_shed_total", "Requests turned away, by reason.");
const RELOADS: Figure = Figure("clickvec_reloads_total", "Reloads by index and result.");
const EVENTS: Figure = Figure("clickvec_events_total", "Clicks, shown titles and judgments that were recorded.");
const CONNECTIONS: Figure = Figure("clickvec_connections", "Connections that are open.");
const QUEUE: Figure = Figure("clickvec_queue_texts", "Texts that wait for a worker.");
const BUSY: Figure = Figure("clickvec_busy_workers", "Workers that compute.");
const DROPPED: Figure = Figure("clickvec_log_dropped_total", "Events that the log's reader was too slow for.");
const TITLES: Figure = Figure("clickvec_titles", "Titles that can be found.");
const GENERATION: Figure = Figure("clickvec_generation", "The number of the generation that answers.");
const CHECKED: Figure =
    Figure("clickvec_index_checked", "1 if all files of the index were read and are as they were written.");
const DAMAGED: Figure =
    Figure("clickvec_index_damaged", "1 if a file of the index is damaged, so that it answers nothing.");

/// Times are counted in so many buckets: up to 1 µs, then up to twice as much each, to 8 s. Longer ones are in none.
const BUCKETS: usize = 24;

/// The figures of one service, each by its labels.
#[derive(Default)]
pub(crate) struct Metrics {
    numbers: Mutex<BTreeMap<(Figure, String), u64>>,
    times: Mutex<BTreeMap<(Figure, String), Times>>,
}

#[derive(Default)]
struct Times {
    buckets: [u64; BUCKETS],
    count: u64,
    seconds: f64,
}

impl Metrics {
    pub(crate) fn answered(&self, route: &str, status: u16, time: Duration) {
        self.add(REQUESTS, labels(&[("route", route), ("status", &status.to_string())]), 1);
        self.observe(REQUEST_SECONDS, labels(&[("route", route)]), time);
    }

    pub(crate) fn stage(&self, stage: &str, time: Duration) {
        self.observe(STAGE_SECONDS, labels(&[("stage", stage)]), time);
    }

    /// Counts a request that was turned away.
    pub(crate) fn shed(&self, reason: &'static str) {
        self.add(SHED, labels(&[("reason", reason)]), 1);
    }

    pub(crate) fn reloaded(&self, index: &str, result: &str) {
        self.add(RELOADS, labels(&[("index", index), ("result", result)]), 1);
    }

    pub(crate) fn recorded(&self, kind: &str, number: usize) {
        self.add(EVENTS, labels(&[("kind", kind)]), number as u64);
    }

    pub(crate) fn connected(&self) {
        self.add(CONNECTIONS, String::new(), 1);
    }

    pub(crate) fn disconnected(&self) {
        self.update(CONNECTIONS, String::new(), |number| *number -= 1);
    }

    /// Sets the figures that are only known when they are read.
    pub(crate) fn load(&self, waiting: usize, busy: usize, dropped: u64) {
        for (figure, number) in [(QUEUE, waiting as u64), (BUSY, busy as u64), (DROPPED, dropped)] {
            self.set(figure, String::new(), number);
        }
    }

    pub(crate) fn serves(&self, index: &str, generation: u64, titles: u64, is_checked: bool, is_damaged: bool) {
        let numbers =
            [(GENERATION, generation), (TITLES, titles), (CHECKED, is_checked.into()), (DAMAGED, is_damaged.into())];
        for (figure, number) in numbers {
            self.set(figure, labels(&[("index", index)]), number);
        }
    }

    fn add(&self, figure: Figure, labels: String, more: u64) {
        self.update(figure, labels, |number| *number += more);
    }

    fn set(&self, figure: Figure, labels: String, now: u64) {
        self.update(figure, labels, |number| *number = now);
    }

    fn update(&self, figure: Figure, labels: String, change: impl FnOnce(&mut u64)) {
        change(self.numbers.lock().expect("no holder panics").entry((figure, labels)).or_default());
    }

    fn observe(&self, figure: Figure, labels: String, time: Duration) {
        let mut times = self.times.lock().expect("no holder panics");
        let times = times.entry((figure, labels)).or_default();
        let seconds = time.as_secs_f64();
        if let Some(bucket) = (0..BUCKETS).find(|&bucket| seconds <= bound(bucket)) {
            times.buckets[bucket] += 1;
        }
        times.count += 1;
        times.seconds += seconds;
    }

    /// Returns all figures in Prometheus' text form.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut before = None;
        let mut head = |text: &mut String, figure: Figure, kind: &str| {
            let Figure(name, help) = figure;
            if before.replace(figure) != Some(figure) {
                *text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
            }
        };
        for ((figure, labels), number) in &*self.numbers.lock().expect("no holder panics") {
            head(&mut text, *figure, if figure.0.ends_with("_total") { "counter" } else { "gauge" });
            let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
            text += &format!("{}{labels} {number}\n", figure.0);
        }
        for ((figure, labels), Times { buckets, count, seconds }) in &*self.times.lock().expect("no holder panics") {
            let Figure(name, _) = figure;
            head(&mut text, *figure, "histogram");
            let mut below = 0;
            for (bucket, number) in buckets.iter().enumerate() {
                below += number;
                text += &format!("{name}_bucket{{{labels},le=\"{}\"}} {below}\n", bound(bucket));
            }
            text += &format!("{name}_bucket{{{labels},le=\"+Inf\"}} {count}\n");
            text += &format!("{name}_sum{{{labels}}} {seconds}\n{name}_count{{{labels}}} {count}\n");
        }
        text
    }
}

/// Returns labels in Prometheus' text form.
fn labels(labels: &[(&str, &str)]) -> String {
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect::<Vec<_>>().join(",")
}

/// Returns the longest time of a bucket, in seconds.
fn bound(bucket: usize) -> f64 {
    1e-6 * (1_u64 << bucket) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_in_the_form_of_prometheus() {
        let metrics = Metrics::default();
        metrics.answered("/search", 200, Duration::from_micros(3));
        metrics.answered("/search", 200, Duration::from_secs(9));
        metrics.answered("/search", 422, Duration::from_micros(1));
        metrics.connected();
        let text = metrics.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..8],
            [
                "# HELP clickvec_connections Connections that are open.",
                "# TYPE clickvec_connections gauge",
                "clickvec_connections 1",
                "# HELP clickvec_requests_total Requests by route and status.",
                "# TYPE clickvec_requests_total counter",
                "clickvec_requests_total{route=\"/search\",status=\"200\"} 2",
                "clickvec_requests_total{route=\"/search\",status=\"422\"} 1",
                "# HELP clickvec_request_seconds Time from a request's head to its answer, by route.",
            ]
        );
        for line in [
            "# TYPE clickvec_request_seconds histogram",
            "clickvec_request_seconds_bucket{route=\"/search\",le=\"0.000001\"} 1",
            "clickvec_request_seconds_bucket{route=\"/search\",le=\"0.000004\"} 2",
            "clickvec_request_seconds_bucket{route=\"/search\",le=\"8.388608\"} 2",
            "clickvec_request_seconds_bucket{route=\"/search\",le=\"+Inf\"} 3",
            "clickvec_request_seconds_count{route=\"/search\"} 3",
        ] {
            assert!(lines.contains(&line), "{line}\n{text}");
        }
    }

    #[test]
    fn values_of_labels_are_escaped() {
        let metrics = Metrics::default();
        metrics.serves("a\"b\\c\nd", 1, 2, true, false);
        let text = metrics.text();
        assert!(text.contains(r#"clickvec_titles{index="a\"b\\c\nd"} 2"#), "{text}");
    }
}

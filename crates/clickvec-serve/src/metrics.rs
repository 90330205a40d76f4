//! Figures for Prometheus.

use std::time::Duration;

use prometheus::{
    Encoder as _, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
    exponential_buckets,
};

/// The figures of one service, in a registry of its own.
pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    seconds: HistogramVec,
    stages: HistogramVec,
    shed: IntCounterVec,
    reloads: IntCounterVec,
    events: IntCounterVec,
    /// Connections that are open.
    pub(crate) connections: IntGauge,
    /// Texts that wait for a worker.
    pub(crate) waiting: IntGauge,
    /// Workers that compute.
    pub(crate) busy: IntGauge,
    titles: IntGaugeVec,
    generation: IntGaugeVec,
    checked: IntGaugeVec,
    damaged: IntGaugeVec,
}

/// Why a request was turned away.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shed {
    /// The queue was full.
    Full,
    /// It waited too long.
    Waited,
    /// Its client asked for more than its share.
    Client,
    /// There was no place for its connection.
    Permit,
    /// Clients had not taken too many bytes of other answers.
    Answers,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let registry = Registry::new();
        // From 1 µs to 8 s, each twice the one before.
        let buckets = exponential_buckets(1e-6, 2.0, 24).expect("a start and a factor above 0");
        let histogram = |name: &str, help: &str, label: &str| {
            let made = HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets.clone()), &[label]);
            register(&registry, made.expect("a valid name"))
        };
        let counter = |name: &str, help: &str, labels: &[&str]| {
            register(&registry, IntCounterVec::new(Opts::new(name, help), labels).expect("a valid name"))
        };
        let gauge = |name: &str, help: &str| register(&registry, IntGauge::new(name, help).expect("a valid name"));
        let gauges = |name: &str, help: &str| {
            register(&registry, IntGaugeVec::new(Opts::new(name, help), &["index"]).expect("a valid name"))
        };
        Metrics {
            requests: counter("clickvec_requests_total", "Requests by route and status.", &["route", "status"]),
            seconds: histogram(
                "clickvec_request_seconds",
                "Time from a request's head to its answer, by route.",
                "route",
            ),
            stages: histogram(
                "clickvec_stage_seconds",
                "Time of each stage of an answer, as in Server-Timing.",
                "stage",
            ),
            shed: counter("clickvec_shed_total", "Requests turned away, by reason.", &["reason"]),
            reloads: counter("clickvec_reloads_total", "Reloads by index and result.", &["index", "result"]),
            events: counter("clickvec_events_total", "Clicks, shown titles and judgments that were kept.", &["kind"]),
            connections: gauge("clickvec_connections", "Connections that are open."),
            waiting: gauge("clickvec_queue_texts", "Texts that wait for a worker."),
            busy: gauge("clickvec_busy_workers", "Workers that compute."),
            titles: gauges("clickvec_titles", "Titles that can be found."),
            generation: gauges("clickvec_generation", "The number of the generation that answers."),
            checked: gauges(
                "clickvec_index_checked",
                "1 if all files of the index were read and are as they were written.",
            ),
            damaged: gauges(
                "clickvec_index_damaged",
                "1 if a file of the index is damaged, so that it answers nothing.",
            ),
            registry,
        }
    }

    pub(crate) fn answered(&self, route: &str, status: u16, time: Duration) {
        self.requests.with_label_values(&[route, &status.to_string()]).inc();
        self.seconds.with_label_values(&[route]).observe(time.as_secs_f64());
    }

    pub(crate) fn stage(&self, stage: &str, time: Duration) {
        self.stages.with_label_values(&[stage]).observe(time.as_secs_f64());
    }

    pub(crate) fn shed(&self, why: Shed) {
        let reason = match why {
            Shed::Full => "full",
            Shed::Waited => "waited",
            Shed::Client => "client",
            Shed::Permit => "connections",
            Shed::Answers => "answers",
        };
        self.shed.with_label_values(&[reason]).inc();
    }

    pub(crate) fn reloaded(&self, index: &str, result: &str) {
        self.reloads.with_label_values(&[index, result]).inc();
    }

    pub(crate) fn wrote(&self, kind: &str, number: usize) {
        self.events.with_label_values(&[kind]).inc_by(number as u64);
    }

    pub(crate) fn serves(&self, index: &str, generation: u64, titles: u64) {
        let clamped = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        self.generation.with_label_values(&[index]).set(clamped(generation));
        self.titles.with_label_values(&[index]).set(clamped(titles));
    }

    pub(crate) fn files(&self, index: &str, is_checked: bool, is_damaged: bool) {
        self.checked.with_label_values(&[index]).set(is_checked.into());
        self.damaged.with_label_values(&[index]).set(is_damaged.into());
    }

    /// Returns all figures in Prometheus' text form.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text).expect("memory can be written");
        text
    }
}

fn register<C: prometheus::core::Collector + Clone + 'static>(registry: &Registry, collector: C) -> C {
    registry.register(Box::new(collector.clone())).expect("each name is used once");
    collector
}

//! What the service says of itself: its indexes, its health, its figures.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;

use crate::answer::Answer;
use crate::fault::{Fault, Kind};
use crate::generation::Generation;
use crate::service::Service;

#[derive(Serialize)]
struct Indexes<'a> {
    indexes: Vec<Index<'a>>,
    keeps_clicks: bool,
    keeps_judgments: bool,
}

#[derive(Serialize)]
struct Index<'a> {
    name: &'a str,
    current: Version,
    previous: Option<Version>,
}

#[derive(Serialize)]
struct Version {
    generation: u64,
    opened: String,
    files: &'static str,
    facts: serde_json::Value,
}

fn version(generation: &Generation) -> Version {
    let facts = serde_json::to_value(generation.index.facts()).expect("facts are JSON");
    let files = generation.files().name();
    Version { generation: generation.number, opened: generation.opened.clone(), files, facts }
}

/// The indexes and their facts.
pub(super) async fn indexes(State(service): State<Arc<Service>>) -> Answer {
    let mut indexes = Vec::with_capacity(service.slots.len());
    for slot in &service.slots {
        let pair = slot.pair();
        let previous = pair.previous.as_deref().map(version);
        indexes.push(Index { name: &slot.name, current: version(&pair.current), previous });
    }
    let (keeps_clicks, keeps_judgments) = (service.clicks.is_some(), service.judgments.is_some());
    Answer::of(&Indexes { indexes, keeps_clicks, keeps_judgments })
}

/// The program runs.
pub(super) async fn live() -> Answer {
    Answer::json(r#"{"status":"live"}"#)
}

/// The indexes answer, and the service does not stop.
pub(super) async fn ready(State(service): State<Arc<Service>>) -> Result<Answer, Fault> {
    if service.is_stopping() {
        return Err(Fault::new(Kind::UNAVAILABLE, "a service that takes requests", "one that stops"));
    }
    service.check_indexes()?;
    Ok(Answer::json(r#"{"status":"ready"}"#))
}

/// The figures for Prometheus.
pub(super) async fn metrics(State(service): State<Arc<Service>>) -> Answer {
    service.metrics.waiting.set(service.workers.waiting() as i64);
    service.metrics.busy.set(service.workers.busy() as i64);
    let mut text = service.metrics.text();
    let dropped = service.log.dropped();
    text.extend_from_slice(
        format!(
            "# HELP clickvec_log_dropped_total Events that the log's reader was too slow for.\n\
             # TYPE clickvec_log_dropped_total counter\nclickvec_log_dropped_total {dropped}\n"
        )
        .as_bytes(),
    );
    Answer::new("text/plain; version=0.0.4; charset=utf-8", text)
}

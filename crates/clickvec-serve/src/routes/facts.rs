//! What the service says of itself: its indexes, its health, its figures.

use serde::Serialize;

use crate::call::Answer;
use crate::fault::{Fault, FaultKind};
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
    current: Told,
    previous: Option<Told>,
}

#[derive(Serialize)]
struct Told {
    generation: u64,
    opened: String,
    files: &'static str,
    facts: serde_json::Value,
}

fn told(generation: &Generation) -> Told {
    let facts = serde_json::to_value(generation.engine.facts()).expect("facts are JSON");
    let files = generation.files().name();
    Told { generation: generation.number, opened: generation.opened.clone(), files, facts }
}

/// The indexes and their facts.
pub(super) fn indexes(service: &Service) -> Answer {
    let mut indexes = Vec::with_capacity(service.slots.len());
    for slot in &service.slots {
        let pair = slot.pair();
        let previous = pair.previous.as_deref().map(told);
        indexes.push(Index { name: &slot.name, current: told(&pair.current), previous });
    }
    let told =
        Indexes { indexes, keeps_clicks: service.clicks.is_some(), keeps_judgments: service.judgments.is_some() };
    Answer::json(serde_json::to_vec(&told).expect("facts are JSON"))
}

/// The program runs.
pub(super) fn live() -> Answer {
    Answer::json(b"{\"status\":\"live\"}".to_vec())
}

/// The indexes answer, and the service does not stop.
pub(super) fn ready(service: &Service) -> Result<Answer, Fault> {
    if service.is_stopping() {
        return Err(Fault::new(FaultKind::Unavailable, "a service that takes requests", "one that stops"));
    }
    service.check_indexes()?;
    Ok(Answer::json(b"{\"status\":\"ready\"}".to_vec()))
}

/// The figures for Prometheus.
pub(super) fn metrics(service: &Service) -> Answer {
    let mut text = service.metrics.text();
    let dropped = service.log.dropped();
    text.extend_from_slice(
        format!(
            "# HELP clickvec_log_dropped_total Events that the log's reader was too slow for.\n\
             # TYPE clickvec_log_dropped_total counter\nclickvec_log_dropped_total {dropped}\n"
        )
        .as_bytes(),
    );
    Answer::of("text/plain; version=0.0.4; charset=utf-8", text)
}

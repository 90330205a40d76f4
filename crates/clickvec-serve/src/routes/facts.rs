//! The facts of the service: its indexes, its health, its figures.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::fault::{Fault, Kind, json_response};
use crate::generation::{Generation, Slot};
use crate::service::Service;

fn version(generation: &Generation) -> Value {
    json!({
        "generation": generation.number,
        "opened": generation.opened,
        "files": generation.files().name(),
        "facts": generation.index.facts(),
    })
}

/// Lists the indexes and their facts.
pub(super) async fn indexes(State(service): State<Arc<Service>>) -> Json<Value> {
    let index = |slot: &Slot| {
        let pair = slot.pair();
        json!({"name": slot.name, "current": version(&pair.current), "previous": pair.previous.as_deref().map(version)})
    };
    let indexes: Vec<Value> = service.slots.iter().map(index).collect();
    Json(json!({"indexes": indexes, "records": service.records.is_some()}))
}

/// Answers that the program runs.
pub(super) async fn live() -> Response {
    json_response(r#"{"status":"live"}"#)
}

/// Answers whether the indexes answer and the service does not stop.
pub(super) async fn ready(State(service): State<Arc<Service>>) -> Result<Response, Fault> {
    if service.is_stopping() {
        return Err(Fault::new(Kind::UNAVAILABLE, "a service that takes requests", "one that stops"));
    }
    service.check_indexes()?;
    Ok(json_response(r#"{"status":"ready"}"#))
}

/// Returns the figures for Prometheus.
pub(super) async fn metrics(State(service): State<Arc<Service>>) -> impl IntoResponse {
    service.metrics.load(service.workers.waiting(), service.workers.busy(), service.log.dropped());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], service.metrics.text())
}

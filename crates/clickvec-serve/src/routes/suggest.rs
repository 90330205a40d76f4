//! `GET /suggest`: what people may want to type.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use clickvec_index::{Mode, Request};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::Record;
use crate::clients::Caller;
use crate::fault::Fault;
use crate::request::AddressQuery;
use crate::service::Service;

/// The most queries of an answer; it has fewer titles.
const QUERIES: usize = 10;
/// The most queries for something typed.
const QUERIES_TYPED: usize = 5;
/// The most titles.
const TITLES: usize = 3;

/// What is typed so far.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Typed {
    query: String,
    index: Option<String>,
}

/// Suggests frequent queries and titles. Nothing typed gives the most frequent queries.
pub(super) async fn suggest(
    State(service): State<Arc<Service>>,
    caller: Caller,
    AddressQuery(Typed { query, index }): AddressQuery<Typed>,
) -> Result<Response, Fault> {
    service.check_text("q", &query)?;
    let generation = service.generation(index.as_deref(), None)?;
    let record = Record::new(&generation, 1);
    let end = caller.started + service.config.limits.request;
    let state = Arc::clone(&service);
    let work = move || {
        let is_empty = query.trim().is_empty();
        let queries = state.suggestions.find(&query, if is_empty { QUERIES } else { QUERIES_TYPED });
        let request = Request::new(query.as_str(), Mode::Fused).with_k(TITLES).with_deadline(end);
        let titles: Vec<Value> = if is_empty {
            Vec::new()
        } else {
            generation
                .index
                .search(&request)?
                .hits
                .into_iter()
                .map(|hit| json!({"id": hit.id, "title": hit.title}))
                .collect()
        };
        Ok((serde_json::to_vec(&json!({"queries": queries, "titles": titles}))?, Vec::new()))
    };
    service.work(&caller, record, work).await
}

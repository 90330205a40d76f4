//! `POST /embed`: the vectors of texts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::Response;
use clickvec::model::Side;
use serde::{Deserialize, Serialize};

use crate::answer::{Record, json};
use crate::clients::Caller;
use crate::fault::{Fault, quoted};
use crate::generation::Generation;
use crate::request::JsonBody;
use crate::service::{Service, to_fault};
use crate::workers::late;

/// So many texts are encoded on the worker itself before it looks at the time again. More would go to the threads of a
/// pool that all workers share.
const AT_ONCE: usize = 32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `texts`")]
pub(super) struct EmbedRequest {
    texts: Vec<String>,
    side: Option<String>,
    index: Option<String>,
    generation: Option<String>,
}

#[derive(Serialize)]
struct Embedded<'a> {
    index: &'a str,
    generation: u64,
    model: &'a str,
    side: Side,
    dimension: usize,
    vectors: Vec<&'a [f32]>,
}

/// Embeds texts.
pub(super) async fn embed(
    State(service): State<Arc<Service>>,
    caller: Caller,
    JsonBody(EmbedRequest { texts, side, index, generation }): JsonBody<EmbedRequest>,
) -> Result<Response, Fault> {
    service.check_texts("texts", &texts)?;
    let side = match side.as_deref() {
        None | Some("query") => Side::Query,
        Some("title") => Side::Title,
        Some(other) => return Err(Fault::field("side", "a side, query or title", quoted(other))),
    };
    let slot = service.slot(index.as_deref())?;
    let generation = service.generation(slot, generation.as_deref())?;
    let (name, record) = (slot.name.clone(), Record::new(slot, &generation, texts.len()));
    let (end, limit) = (caller.started + service.limits.request, service.limits.request);
    let work = move || {
        let began = Instant::now();
        let vectors = embed_texts(&generation, &texts, side, end, limit)?;
        let facts = generation.index.facts();
        let dimension = facts.model.dimension;
        let embedded = Embedded {
            index: &name,
            generation: generation.number,
            model: &facts.model.fingerprint,
            side,
            dimension,
            vectors: vectors.chunks_exact(dimension).collect(),
        };
        Ok((json(&embedded)?, vec![("encode", began.elapsed())]))
    };
    service.work(&caller, record, work).await
}

/// Returns the vectors of texts, one after the other, unless time runs out.
pub(super) fn embed_texts(
    generation: &Generation,
    texts: &[String],
    side: Side,
    end: Instant,
    limit: Duration,
) -> Result<Vec<f32>, Fault> {
    let mut vectors = Vec::with_capacity(texts.len() * generation.index.facts().model.dimension);
    for texts in texts.chunks(AT_ONCE) {
        if Instant::now() >= end {
            return Err(late(limit));
        }
        vectors.extend(generation.index.embed(texts, side).map_err(|error| to_fault(&error))?);
    }
    Ok(vectors)
}

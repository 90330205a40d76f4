//! `POST /embed`: the vectors of texts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use clickvec::model::Side;
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Record};
use crate::fault::Fault;
use crate::generation::Generation;
use crate::request::{Asker, JsonBody, named};
use crate::service::{Service, fault_of};
use crate::workers::late;

/// So many texts are encoded on the worker itself before it looks at the time again. More would go to the threads of a
/// pool that all workers share.
const AT_ONCE: usize = 32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `texts`")]
pub(super) struct Asked {
    texts: Vec<String>,
    #[serde(default, deserialize_with = "named")]
    side: Tower,
    index: Option<String>,
    generation: Option<String>,
}

/// The tower that reads the texts.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Tower {
    #[default]
    Query,
    Title,
}

impl From<Tower> for Side {
    fn from(tower: Tower) -> Side {
        match tower {
            Tower::Query => Side::Query,
            Tower::Title => Side::Title,
        }
    }
}

#[derive(Serialize)]
struct Embedded<'a> {
    index: &'a str,
    generation: u64,
    model: &'a str,
    side: Tower,
    dimension: usize,
    vectors: Vec<&'a [f32]>,
}

/// Embeds texts.
pub(super) async fn embed(
    State(service): State<Arc<Service>>,
    asker: Asker,
    JsonBody(Asked { texts, side, index, generation }): JsonBody<Asked>,
) -> Result<Answer, Fault> {
    service.check_texts("texts", &texts)?;
    let slot = service.slot(index.as_deref())?;
    let generation = service.generation(slot, generation.as_deref())?;
    let (name, number, count) = (slot.name.clone(), generation.number, texts.len());
    let (end, limit) = (asker.started + service.limits.request, service.limits.request);
    let work = move || {
        let began = Instant::now();
        let vectors = vectors_of(&generation, &texts, side.into(), end, limit)?;
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
        let body = serde_json::to_vec(&embedded).map_err(|error| Fault::internal(&error))?;
        Ok((body, began.elapsed()))
    };
    let ((body, encode), waited) = service.work(&asker, count, work).await?;
    let mut answer = Answer::json(body);
    answer.record = Record {
        stages: vec![("queue", waited), ("encode", encode)],
        texts: count,
        generation: Some(number),
        index: Some(slot.name.clone()),
        query: None,
    };
    Ok(answer)
}

/// The vectors of texts, one after the other, unless time runs out.
pub(super) fn vectors_of(
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
        vectors.extend(generation.index.embed(texts, side).map_err(|error| fault_of(&error))?);
    }
    Ok(vectors)
}

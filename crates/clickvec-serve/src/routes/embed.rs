//! `POST /embed`: the vectors of texts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clickvec::model::Side;
use serde::{Deserialize, Serialize};

use crate::call::{Answer, Call, named};
use crate::fault::Fault;
use crate::generation::Generation;
use crate::service::{Asker, Service, fault_of};
use crate::workers::late;

/// So many texts are encoded on the worker itself before it looks at the time again. More would go to the threads of a
/// pool that all workers share.
const AT_ONCE: usize = 32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `texts`")]
struct Asked {
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
pub(super) async fn answer(service: &Arc<Service>, call: &Call, asker: &Asker<'_>) -> Result<Answer, Fault> {
    let Asked { texts, side, index, generation } = call.json()?;
    service.check_texts("texts", &texts)?;
    let slot = service.slot(index.as_deref())?;
    let generation = service.generation(slot, generation.as_deref())?;
    let (name, number, count) = (slot.name.clone(), generation.number, texts.len());
    let (end, limit) = (asker.started + service.limits.request, service.limits.request);
    let work = move || {
        let began = Instant::now();
        let vectors = embed(&generation, &texts, side.into(), end, limit)?;
        let facts = generation.engine.facts();
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
    let ((body, encode), waited) = service.work(asker, count, work).await?;
    let mut answer = Answer::json(body);
    answer.stages = vec![("queue", waited), ("encode", encode)];
    (answer.texts, answer.generation, answer.index) = (count, Some(number), Some(slot.name.clone()));
    Ok(answer)
}

/// The vectors of texts, one after the other, unless time runs out.
pub(super) fn embed(
    generation: &Generation,
    texts: &[String],
    side: Side,
    end: Instant,
    limit: Duration,
) -> Result<Vec<f32>, Fault> {
    let mut vectors = Vec::with_capacity(texts.len() * generation.engine.facts().model.dimension);
    for texts in texts.chunks(AT_ONCE) {
        if Instant::now() >= end {
            return Err(late(limit));
        }
        vectors.extend(generation.engine.embed(texts, side).map_err(|error| fault_of(&error))?);
    }
    Ok(vectors)
}

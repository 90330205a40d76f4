//! `POST /v1/embeddings` and `GET /v1/models`, in the form of OpenAI's, so that clients for those work here.
//!
//! A model is `NAME:query` or `NAME:title`, one of the two towers of an index; `NAME` alone is `NAME:query`.

use std::sync::Arc;

use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clickvec::model::Side;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::embed::vectors_of;
use crate::answer::{Answer, Record};
use crate::fault::{Fault, Kind, quoted};
use crate::generation::Slot;
use crate::request::{AnyJsonBody, Asker, Whole};
use crate::service::Service;

/// What clients send. Fields that say nothing here, such as `user`, are passed over, and so are versions in the address.
#[derive(Deserialize)]
#[serde(expecting = "an object with `input` and `model`")]
pub(super) struct Asked {
    input: Value,
    model: String,
    encoding_format: Option<String>,
    dimensions: Option<Whole>,
}

#[derive(Serialize)]
struct Embeddings<'a> {
    object: &'static str,
    data: Vec<Embedding>,
    model: &'a str,
    usage: Usage,
}

#[derive(Serialize)]
struct Embedding {
    object: &'static str,
    index: usize,
    embedding: Numbers,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Numbers {
    Floats(Vec<f32>),
    Base64(String),
}

#[derive(Serialize)]
struct Usage {
    prompt_tokens: usize,
    total_tokens: usize,
}

#[derive(Serialize)]
struct Models {
    object: &'static str,
    data: Vec<Model>,
}

#[derive(Serialize)]
struct Model {
    id: String,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
}

/// Embeds texts.
pub(super) async fn embeddings(
    State(service): State<Arc<Service>>,
    asker: Asker,
    AnyJsonBody(Asked { input, model, encoding_format, dimensions }): AnyJsonBody<Asked>,
) -> Result<Answer, Fault> {
    let (slot, side) = model_of(&service, &model)?;
    let texts = texts_of(input)?;
    service.check_texts("input", &texts)?;
    let is_base64 = match encoding_format.as_deref() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            return Err(Fault::field("encoding_format", "an encoding_format, float or base64", quoted(other)));
        }
    };
    let generation = service.generation(slot, None)?;
    let dimension = generation.index.facts().model.dimension;
    if let Some(Whole(asked)) = dimensions.filter(|asked| asked.0 != dimension) {
        let expected = format!("{dimension} dimensions, as the model has them");
        return Err(Fault::field("dimensions", expected, asked.to_string()).help("leave it out"));
    }
    let (number, count) = (generation.number, texts.len());
    let (end, limit) = (asker.started + service.limits.request, service.limits.request);
    let work = move || {
        let vectors = vectors_of(&generation, &texts, side, end, limit)?;
        // The words that were read are what comes nearest to tokens.
        let words = texts.iter().map(|text| clickvec::internals::text::words(text).len()).sum();
        let data = vectors.chunks_exact(dimension).enumerate();
        let data =
            data.map(|(index, vector)| Embedding { object: "embedding", index, embedding: numbers(vector, is_base64) });
        let body = Embeddings {
            object: "list",
            data: data.collect(),
            model: &model,
            usage: Usage { prompt_tokens: words, total_tokens: words },
        };
        serde_json::to_vec(&body).map_err(|error| Fault::internal(&error))
    };
    let (body, waited) = service.work(&asker, count, work).await?;
    let mut answer = Answer::json(body);
    answer.record = Record {
        stages: vec![("queue", waited)],
        texts: count,
        generation: Some(number),
        index: Some(slot.name.clone()),
        query: None,
    };
    Ok(answer)
}

fn numbers(vector: &[f32], is_base64: bool) -> Numbers {
    if !is_base64 {
        return Numbers::Floats(vector.to_vec());
    }
    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    Numbers::Base64(STANDARD.encode(bytes))
}

/// The index and the side that a model's name means.
fn model_of<'s>(service: &'s Service, model: &str) -> Result<(&'s Slot, Side), Fault> {
    let (name, side) = match model.rsplit_once(':') {
        Some((name, "query")) => (name, Side::Query),
        Some((name, "title")) => (name, Side::Title),
        _ => (model, Side::Query),
    };
    service.slots.iter().find(|slot| slot.name == name).map(|slot| (slot, side)).ok_or_else(|| {
        let names: Vec<&str> = service.slots.iter().map(|slot| slot.name.as_str()).collect();
        let expected = format!("a model, {}, alone or with :query or :title", names.join(" or "));
        Fault::new(Kind::NOT_FOUND, expected, quoted(model)).help("/v1/models lists them").param("model")
    })
}

/// A text or several. Numbers of tokens mean nothing to a model that has none.
fn texts_of(input: Value) -> Result<Vec<String>, Fault> {
    let fault = |found: &str| Fault::field("input", "a text or a list of texts", found);
    match input {
        Value::String(text) => Ok(vec![text]),
        Value::Array(texts) => {
            let text = |text| match text {
                Value::String(text) => Ok(text),
                Value::Number(_) | Value::Array(_) => {
                    Err(fault("numbers of tokens").help("send texts: this model has no tokens"))
                }
                _ => Err(fault("something else in the list")),
            };
            texts.into_iter().map(text).collect()
        }
        _ => Err(fault("something else")),
    }
}

/// Lists the models: each index by its name, and with each side.
pub(super) async fn models(State(service): State<Arc<Service>>) -> Answer {
    let of_slot = |slot: &Slot| {
        let (name, made) = (slot.name.clone(), slot.current().index.facts().made.unwrap_or(0));
        let model =
            move |end: &str| Model { id: format!("{name}{end}"), object: "model", created: made, owned_by: "clickvec" };
        ["", ":query", ":title"].map(model)
    };
    let data = service.slots.iter().flat_map(of_slot).collect();
    Answer::of(&Models { object: "list", data })
}

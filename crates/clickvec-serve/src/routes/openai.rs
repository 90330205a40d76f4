//! `POST /v1/embeddings` and `GET /v1/models`, in the form of OpenAI's, so that clients for those work here: the vectors of texts.
//!
//! A model is `NAME:query` or `NAME:title`, one of the two towers of an index; `NAME` alone is `NAME:query`.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clickvec::model::Side;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::Record;
use crate::clients::Caller;
use crate::fault::{Fault, Kind, quoted};
use crate::generation::Slot;
use crate::request::{AnyJsonBody, WholeNumber};
use crate::service::Service;

/// At most this many texts are encoded on the worker itself between two checks of the time. More would go to the threads of a
/// pool that all workers share.
const AT_ONCE: usize = 32;

/// A request of a client. Fields that mean nothing here, such as `user`, are ignored, and so are versions in the address.
#[derive(Deserialize)]
#[serde(expecting = "an object with `input` and `model`")]
pub(super) struct EmbeddingsRequest {
    input: Input,
    model: String,
    encoding_format: Option<String>,
    dimensions: Option<WholeNumber>,
}

/// A text or several. Numbers of tokens mean nothing to a model that has none.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a text or a list of texts, since numbers of tokens mean nothing to this model; LangChain's \
                 OpenAIEmbeddings sends texts with check_embedding_ctx_length=False"
)]
enum Input {
    One(String),
    Several(Vec<String>),
}

#[derive(Serialize)]
struct Embeddings<'a> {
    object: &'static str,
    data: Vec<Embedding>,
    model: &'a str,
    usage: Value,
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

/// Embeds texts.
pub(super) async fn embeddings(
    State(service): State<Arc<Service>>,
    caller: Caller,
    AnyJsonBody(EmbeddingsRequest { input, model, encoding_format, dimensions }): AnyJsonBody<EmbeddingsRequest>,
) -> Result<Response, Fault> {
    let (name, side) = find_model(&service, &model)?;
    let texts = match input {
        Input::One(text) => vec![text],
        Input::Several(texts) => texts,
    };
    service.check_texts("input", &texts)?;
    let is_base64 = match encoding_format.as_deref() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            return Err(Fault::field("encoding_format", "an encoding_format, float or base64", quoted(other)));
        }
    };
    let generation = service.generation(Some(name), None)?;
    let dimension = generation.index.facts().model.dimension;
    if let Some(WholeNumber(found)) = dimensions.filter(|found| found.0 != dimension) {
        let expected = format!("{dimension} dimensions, as the model has them");
        return Err(Fault::field("dimensions", expected, found.to_string()).help("leave it out"));
    }
    let record = Record::new(&generation, texts.len());
    let end = caller.started + service.config.limits.request;
    let work = move || {
        let began = Instant::now();
        let mut vectors = Vec::with_capacity(texts.len() * dimension);
        for texts in texts.chunks(AT_ONCE) {
            if Instant::now() >= end {
                return Err(Fault::late());
            }
            vectors.extend(generation.index.embed(texts, side));
        }
        let stages = vec![("encode", began.elapsed())];
        // The words that were read are what comes nearest to tokens.
        let words: usize = texts.iter().map(|text| clickvec::internals::text::words(text).len()).sum();
        let data = vectors.chunks_exact(dimension).enumerate();
        let data =
            data.map(|(index, vector)| Embedding { object: "embedding", index, embedding: numbers(vector, is_base64) });
        let body = Embeddings {
            object: "list",
            data: data.collect(),
            model: &model,
            usage: json!({"prompt_tokens": words, "total_tokens": words}),
        };
        Ok((serde_json::to_vec(&body)?, stages))
    };
    service.work(&caller, record, work).await
}

fn numbers(vector: &[f32], is_base64: bool) -> Numbers {
    if !is_base64 {
        return Numbers::Floats(vector.to_vec());
    }
    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    Numbers::Base64(STANDARD.encode(bytes))
}

/// Returns the name of the index and the side that a model's name means.
fn find_model<'m>(service: &Service, model: &'m str) -> Result<(&'m str, Side), Fault> {
    let (name, side) = match model.rsplit_once(':') {
        Some((name, "query")) => (name, Side::Query),
        Some((name, "title")) => (name, Side::Title),
        _ => (model, Side::Query),
    };
    service.slots.iter().any(|slot| slot.name == name).then_some((name, side)).ok_or_else(|| {
        let names: Vec<&str> = service.slots.iter().map(|slot| slot.name.as_str()).collect();
        let expected = format!("a model, {}, alone or with :query or :title", names.join(" or "));
        Fault::new(Kind::NOT_FOUND, expected, quoted(model)).help("/v1/models lists them").param("model")
    })
}

/// Describes a model.
fn description(slot: &Slot, id: &str) -> Value {
    let created = slot.current().index.facts().made.unwrap_or(0);
    json!({"id": id, "object": "model", "created": created, "owned_by": "clickvec"})
}

/// Lists the models: each index by its name, and with each side.
pub(super) async fn models(State(service): State<Arc<Service>>) -> Json<Value> {
    let towers =
        |slot: &Slot| ["", ":query", ":title"].map(|tower| description(slot, &format!("{}{tower}", slot.name)));
    let models: Vec<Value> = service.slots.iter().flat_map(towers).collect();
    Json(json!({"object": "list", "data": models}))
}

/// Describes the model with this name.
pub(super) async fn model(State(service): State<Arc<Service>>, Path(id): Path<String>) -> Result<Json<Value>, Fault> {
    let (name, _) = find_model(&service, &id)?;
    Ok(Json(description(service.slot(Some(name))?, &id)))
}

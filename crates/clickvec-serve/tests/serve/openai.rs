//! The form of OpenAI's API.

use clickvec::model::Side;
use serde_json::{Value, json};

use crate::harness::Service;

fn ask(service: &Service, body: Value) -> Value {
    service.post("/v1/embeddings", body.to_string()).is(200)
}

#[test]
fn vectors_are_those_of_the_model_as_numbers_and_in_base64() {
    let service = Service::start();
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let index = clickvec_index::Index::open(&service.index()).unwrap();
    let dimension = index.facts().model.dimension;
    for (model, side) in [("shop", Side::Query), ("shop:query", Side::Query), ("shop:title", Side::Title)] {
        let texts = ["leather sofa", "lamp"];
        let vectors = index.embed(&texts, side);
        let vectors: Vec<Value> =
            vectors.chunks_exact(dimension).map(|vector| read(&serde_json::to_string(vector).unwrap())).collect();
        let answer = ask(&service, json!({"input": texts, "model": model}));
        for (row, entry) in answer["data"].as_array().unwrap().iter().enumerate() {
            assert_eq!((&entry["index"], &entry["embedding"]), (&json!(row), &vectors[row]));
        }
        assert_eq!((&answer["model"], &answer["usage"]["total_tokens"]), (&json!(model), &json!(3)));
        let coded = ask(&service, json!({"input": "lamp", "model": model, "encoding_format": "base64", "user": "me"}));
        let bytes = base64(coded["data"][0]["embedding"].as_str().unwrap());
        let numbers: Vec<f32> = bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
        assert_eq!(numbers, serde_json::from_value::<Vec<f32>>(vectors[1].clone()).unwrap());
    }
}

#[test]
fn models_are_listed_and_others_are_not_found() {
    let service = Service::start();
    let models = service.get("/v1/models").is(200);
    let ids: Vec<&str> = models["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["shop", "shop:query", "shop:title"]);
    for (model, id) in models["data"].as_array().unwrap().iter().zip(ids) {
        assert_eq!(service.get(&format!("/v1/models/{id}")).is(200), *model);
    }
    service.get("/v1/models/other").refuses(404, "/v1/models");
    for model in ["text-embedding-3-small", "shop:both", "", ":query", "shop:query:title"] {
        let reply = service.post("/v1/embeddings", json!({"input": "a", "model": model}).to_string());
        reply.refuses(404, "/v1/models");
        assert_eq!(reply.json()["error"]["param"], "model");
    }
}

#[test]
fn what_is_no_text_is_refused() {
    let service = Service::start();
    let refused = |body: Value, text: &str| service.post("/v1/embeddings", body.to_string()).refuses(422, text);
    refused(json!({"input": [1, 2], "model": "shop"}), "tokens");
    refused(json!({"input": [[1], [2]], "model": "shop"}), "tokens");
    refused(json!({"input": [], "model": "shop"}), "1 to 1024");
    refused(json!({"input": null, "model": "shop"}), "a text");
    refused(json!({"input": "a"}), "model");
    refused(json!({"input": "a", "model": "shop", "encoding_format": "int8"}), "int8");
    refused(json!({"input": "a", "model": "shop", "dimensions": 3}), "dimensions");
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<u32> =
        text.bytes().filter_map(|byte| DIGITS.iter().position(|&digit| digit == byte)).map(|at| at as u32).collect();
    let bytes = |four: &[u32]| {
        let all = four.iter().enumerate().fold(0, |all, (place, bits)| all | bits << (18 - 6 * place));
        all.to_be_bytes()[1..four.len()].to_vec()
    };
    bits.chunks(4).flat_map(bytes).collect()
}

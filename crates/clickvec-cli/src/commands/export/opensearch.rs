//! OpenSearch: an index template, lines for `_bulk`, and a hybrid search of words and vectors with a search pipeline.
//!
//! The forms are those of its documentation (index templates; k-NN vectors; the processors `normalization-processor` and
//! `score-ranker-processor`).

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use clickvec::internals::files::Pending;
use clickvec::model::Model;
use clickvec::ranker::FusionMethod;
use serde::Serialize;
use serde_json::{Value, json};

use super::folder;
use super::fusion::Weights;
use super::titles::{Counts, ExportedTitles};

#[derive(Serialize)]
struct Action<'a> {
    index: Place<'a>,
}

#[derive(Serialize)]
struct Place<'a> {
    _index: &'a str,
    _id: &'a str,
}

#[derive(Serialize)]
struct Document<'a> {
    title: &'a str,
    embedding: &'a [f32],
}

/// Writes lines for `_bulk`: what to do, then the document.
pub(super) fn write(path: &Path, index: &str, titles: ExportedTitles<'_>) -> Result<Counts> {
    let mut file = Pending::new(path)?;
    let out = file.writer();
    let dimension = titles.model.dimension();
    let counts = titles.each(path, |titles, vectors| {
        for (title, embedding) in titles.iter().zip(vectors.chunks_exact(dimension)) {
            serde_json::to_writer(&mut *out, &Action { index: Place { _index: index, _id: &title.id } })?;
            out.write_all(b"\n")?;
            serde_json::to_writer(&mut *out, &Document { title: &title.title, embedding })?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })?;
    folder::publish(file, path)?;
    Ok(counts)
}

/// The body of `PUT /_index_template/NAME`.
pub(super) fn template(name: &str, model: &Model) -> String {
    pretty(&json!({
        "index_patterns": [name],
        "template": {
            "settings": {"index": {"knn": true, "search": {"default_pipeline": format!("{name}_hybrid")}}},
            "mappings": {
                "_meta": {"clickvec_model": model.fingerprint()},
                "properties": {
                    "title": {"type": "text"},
                    "embedding": {
                        "type": "knn_vector",
                        "dimension": model.dimension(),
                        "space_type": "innerproduct",
                        "method": {"name": "hnsw", "engine": "faiss"},
                    },
                },
            },
        },
    }))
}

/// The body of `PUT /_search/pipeline/NAME_hybrid`, with the method and the weights of the fusion: words first.
pub(super) fn pipeline(fusion: Option<&Weights>) -> String {
    let equal = Weights { method: FusionMethod::MinMax, words: 0.5, vectors: 0.5, fitted_on: None };
    let Weights { method, words, vectors, fitted_on } = fusion.unwrap_or(&equal);
    let weights = json!({"weights": [words, vectors]});
    let normalized = |technique: &str| {
        json!({
            "normalization-processor": {
                "normalization": {"technique": technique},
                "combination": {"technique": "arithmetic_mean", "parameters": weights},
            }
        })
    };
    let processor = match method {
        FusionMethod::Linear => unreachable!("refused when the report was read"),
        FusionMethod::MinMax => normalized("min_max"),
        FusionMethod::ZScore => normalized("z_score"),
        FusionMethod::ReciprocalRank { k } => json!({
            "score-ranker-processor": {
                "combination": {"technique": "rrf", "rank_constant": k.round().max(1.0) as u64, "parameters": weights},
            }
        }),
    };
    let description = match (fusion, fitted_on) {
        (None, _) => "words and clickvec's vectors with equal weights; no fusion was given".to_owned(),
        (Some(_), None) => "words and clickvec's vectors with given weights".to_owned(),
        (Some(_), Some(queries)) => format!("words and clickvec's vectors, weights fitted on {queries} queries"),
    };
    pretty(&json!({"description": description, "phase_results_processors": [processor]}))
}

/// The body of a search, with the places of the query's text and vector.
pub(super) fn query(model: &Model) -> String {
    let zeros = vec![0.0f32; model.dimension()];
    pretty(&json!({
        "_source": ["title"],
        "size": 10,
        "query": {
            "hybrid": {
                "queries": [
                    {"match": {"title": {"query": "THE QUERY'S TEXT"}}},
                    {"knn": {"embedding": {"vector": zeros, "k": 100}}},
                ]
            }
        },
    }))
}

/// The script that loads the documents.
pub(super) fn script(name: &str) -> String {
    format!(
        r#"#!/usr/bin/env bash
# Loads the documents into OpenSearch 2.19 or later, in this folder: bash load.sh [http://localhost:9200]
set -euo pipefail
url="${{1:-http://localhost:9200}}"
send() {{ curl --fail-with-body -sS -X "$1" -H "Content-Type: application/$4" --data-binary "$3" "$url$2" && echo; }}
send PUT /_search/pipeline/{name}_hybrid @pipeline.json json
send PUT /_index_template/{name} @template.json json
# _bulk takes some megabytes at once; a document is two lines.
trap 'rm -f .part.*' EXIT
rm -f .part.*
split -l 2000 -a 6 bulk.jsonl .part.
for part in .part.*; do
    answer=$(send POST '/_bulk?filter_path=errors,items.*.error' "@$part" x-ndjson) || {{ printf '%s\n' "$answer" >&2; exit 1; }}
    # The request may be fine and a document not.
    case $answer in
        *'"errors":true'*) printf 'not all documents were taken: %.2000s\n' "$answer" >&2; exit 1 ;;
    esac
done
send POST /{name}/_refresh '' json
"#
    )
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

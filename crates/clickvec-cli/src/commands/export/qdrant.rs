//! Qdrant: batches of points for its HTTP interface.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use clickvec::internals::files::Pending;
use clickvec::model::Model;
use serde::Serialize;
use serde_json::json;

use super::folder;
use super::titles::{Counts, ExportedTitles};

/// The points of a batch, as Qdrant's documentation advises for loading many.
const POINTS: usize = 256;

/// The body of `PUT /collections/NAME/points`.
#[derive(Serialize)]
struct Body<'a> {
    points: Vec<Point<'a>>,
}

#[derive(Serialize)]
struct Point<'a> {
    /// Qdrant's ids are numbers, so a title's own id is in the payload.
    id: u64,
    vector: &'a [f32],
    payload: Payload<'a>,
}

#[derive(Serialize)]
struct Payload<'a> {
    id: &'a str,
    title: &'a str,
}

/// Writes batches of points, one a line.
pub(super) fn write(path: &Path, titles: ExportedTitles<'_>) -> Result<Counts> {
    let mut file = Pending::new(path)?;
    let out = file.writer();
    let dimension = titles.model.dimension();
    let mut next = 0;
    let counts = titles.each(path, |titles, vectors| {
        for (titles, vectors) in titles.chunks(POINTS).zip(vectors.chunks(POINTS * dimension)) {
            let points = titles.iter().zip(vectors.chunks_exact(dimension)).zip(next..);
            let points = points.map(|((title, vector), id)| {
                let payload = Payload { id: &title.id, title: &title.title };
                Point { id, vector, payload }
            });
            serde_json::to_writer(&mut *out, &Body { points: points.collect() })?;
            out.write_all(b"\n")?;
            next += titles.len() as u64;
        }
        Ok(())
    })?;
    folder::publish(file, path)?;
    Ok(counts)
}

/// The body of `PUT /collections/NAME`. Nothing is indexed while points are loaded.
pub(super) fn collection(model: &Model) -> String {
    let body = json!({
        "vectors": {"size": model.dimension(), "distance": "Dot"},
        "optimizers_config": {"indexing_threshold": 0},
    });
    format!("{body}\n")
}

/// The script that loads the points.
pub(super) fn script(name: &str) -> String {
    format!(
        r#"#!/usr/bin/env bash
# Loads the points into Qdrant, in this folder: bash load.sh [http://localhost:6333]
set -euo pipefail
url="${{1:-http://localhost:6333}}/collections/{name}"
put() {{ curl --fail-with-body -sS -X "$1" -H 'Content-Type: application/json' --data-binary "$2" "$url$3"; echo; }}
put PUT @collection.json ''
while IFS= read -r points; do
    printf '%s' "$points" | put PUT @- '/points?wait=true' >/dev/null
done < points.jsonl
# From now on Qdrant builds its graph.
put PATCH '{{"optimizers_config": {{"indexing_threshold": 10000}}}}' ''
"#
    )
}

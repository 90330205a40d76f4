//! The fusion of words and vectors in a report of `evaluate --json`.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use clickvec::ranker::{FusionMethod, RECIPROCAL_RANK_K, RankerSpec};
use serde::Deserialize;

use crate::{json_file, output};

/// A fusion of two systems.
pub(super) struct Weights {
    pub(super) method: FusionMethod,
    pub(super) words: f64,
    pub(super) vectors: f64,
    /// The number of queries that the weights were fitted on, if they were.
    pub(super) fitted_on: Option<u64>,
}

#[derive(Deserialize)]
struct Report {
    systems: Vec<ReportedSystem>,
}

#[derive(Deserialize)]
struct ReportedSystem {
    fusion: Option<Fusion>,
}

#[derive(Deserialize)]
struct Fusion {
    method: String,
    members: Vec<Member>,
    fitted_on: Option<u64>,
}

#[derive(Deserialize)]
struct Member {
    name: String,
    weight: f64,
}

/// Reads the fusion of BM25 and `model` from a report.
pub(super) fn read(path: &Path, model: &Path) -> Result<Weights> {
    let shown = path.display();
    let report: Report = json_file::report(path)?;
    let fusions: Vec<Fusion> = report.systems.into_iter().filter_map(|system| system.fusion).collect();
    let [fusion] = &fusions[..] else {
        bail!("{shown}: expected one fusion, found {}; evaluate with one `--fusion`", fusions.len());
    };
    let is_words = |member: &&Member| member.name == "bm25" || member.name.starts_with("bm25:");
    let own = model.file_stem().unwrap_or_default().to_string_lossy();
    let is_model = |member: &&Member| member.name == own || Path::new(&member.name) == model;
    let (words, vectors) = (fusion.members.iter().find(is_words), fusion.members.iter().find(is_model));
    let (Some(words), Some(vectors), 2) = (words, vectors, fusion.members.len()) else {
        let names: Vec<_> = fusion.members.iter().map(|member| output::printable(&member.name)).collect();
        bail!("{shown}: expected a fusion of bm25 and {}, found {}", output::printable(&own), names.join(", "));
    };
    let is_on = |spec: &RankerSpec| ["stem", "split"].iter().any(|name| spec.get(name) == Some(1.0));
    if words.name.parse().is_ok_and(|spec| is_on(&spec)) {
        output::note(format_args!(
            "warning: {shown}: the weights were fitted with `{}`, and the template compares words as OpenSearch does by default; \
             give its field `title` an analyzer that does something similar (`minimal_english`, `word_delimiter_graph`)",
            output::printable(&words.name)
        ));
    }
    let sum = words.weight + vectors.weight;
    for weight in [words.weight, vectors.weight, sum] {
        ensure!(weight.is_finite() && weight >= 0.0, "{shown}: expected weights of 0 or more, found {weight}");
    }
    ensure!(sum > 0.0, "{shown}: expected a weight above 0, found none");
    let method = match fusion.method.as_str() {
        "linear" => bail!(
            "{shown}: expected a fusion that OpenSearch can do, which normalises all scores, found `linear`; \
             evaluate with `--fusion min-max`"
        ),
        "min-max" => FusionMethod::MinMax,
        "z-score" => FusionMethod::ZScore,
        "reciprocal-rank" => FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K },
        other => bail!(
            "{shown}: expected the method min-max, z-score or reciprocal-rank, found `{}`",
            output::printable(other)
        ),
    };
    // There they must add up to 1, and only their ratio matters.
    let (words, vectors) = (words.weight / sum, vectors.weight / sum);
    Ok(Weights { method, words, vectors, fitted_on: fusion.fitted_on })
}

//! What is in a model.

use std::path::Path;

use clickvec::model::Model;
use clickvec_tables::Result;
use serde_json::{Value, json};

use super::facts::Facts;

/// The number of trigrams shown: the most frequent ones.
const SHOWN_TRIGRAMS: usize = 12;

/// Loads a model, which checks it, and describes it.
pub(super) fn facts(path: &Path) -> Result<Facts> {
    let model = Model::load(path)?;
    let tensors = model.tensors().map(
        |(name, rows, columns)| json!({ "name": name, "rows": rows, "columns": columns, "parameters": rows * columns }),
    );
    let trigrams = model.dictionary().trigrams();
    let first = trigrams.iter().take(SHOWN_TRIGRAMS).map(|trigram| trigram.chars().iter().collect::<String>());
    let words = model.dictionary().words().len();
    // Through text, so that a number keeps its shortest form.
    let training = serde_json::to_string(model.training()).and_then(|text| serde_json::from_str(&text));
    let mut training: Value = training.unwrap_or_default();
    // Files omit the usual rule.
    training["config"]["text"] = json!(model.training().config.text);
    let mut facts = Facts::default();
    facts.add("fingerprint", model.fingerprint());
    facts.add("encoder", model.encoder_config());
    facts.add("shared_towers", model.shared_towers());
    facts.add("dimension", model.dimension());
    facts.add("parameters", model.tensors().map(|(_, rows, columns)| rows * columns).sum::<usize>());
    facts.add("trigrams", trigrams.len());
    facts.add("first_trigrams", first.collect::<Vec<_>>());
    if words > 0 {
        facts.add("words", words);
    }
    facts.add("training", training);
    facts.add("tensors", tensors.collect::<Vec<_>>());
    Ok(facts)
}

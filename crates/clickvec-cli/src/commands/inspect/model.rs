//! What is in a model.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use clickvec::encoder::EncoderConfig;
use clickvec::model::Model;
use serde::Serialize;
use serde_json::Value;

use super::{Details, facts};
use crate::{aligned, output};

/// The number of trigrams shown: the most frequent ones.
const SHOWN_TRIGRAMS: usize = 12;

/// What is in a model.
#[derive(Serialize)]
struct Report<'a> {
    encoder: &'a EncoderConfig,
    shared_towers: bool,
    dimension: usize,
    parameters: usize,
    trigrams: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<usize>,
    first_trigrams: Vec<String>,
    tensors: Vec<TensorReport>,
    training: Value,
    fingerprint: &'a str,
}

#[derive(Serialize)]
struct TensorReport {
    name: String,
    rows: usize,
    columns: usize,
    parameters: usize,
}

/// Loads a model, which checks it, and describes it.
pub(super) fn details(path: &Path) -> Result<Details> {
    let model = Model::load(path)?;
    let report = report(&model)?;
    Details::new(text(&report), &report)
}

fn report(model: &Model) -> Result<Report<'_>> {
    let tensors: Vec<TensorReport> = model
        .tensors()
        .map(|(name, rows, columns)| TensorReport { name, rows, columns, parameters: rows * columns })
        .collect();
    let trigrams = model.dictionary().trigrams();
    // Parsed from text, so that a number keeps its shortest form: 0.1 and not 0.10000000149.
    let mut training: Value = serde_json::from_str(&serde_json::to_string(model.training())?)?;
    // The file omits these if they have their default values.
    training["config"]["loss"] = serde_json::to_value(model.training().config.loss)?;
    training["config"]["tail"] = serde_json::to_value(model.training().config.tail)?;
    training["config"]["field"] = serde_json::to_value(&model.training().config.field)?;
    Ok(Report {
        encoder: model.encoder_config(),
        shared_towers: model.shared_towers(),
        dimension: model.dimension(),
        parameters: tensors.iter().map(|tensor| tensor.parameters).sum(),
        trigrams: trigrams.len(),
        words: Some(model.dictionary().words().len()).filter(|&words| words > 0),
        first_trigrams: trigrams.iter().take(SHOWN_TRIGRAMS).map(|trigram| trigram.chars().iter().collect()).collect(),
        tensors,
        training,
        fingerprint: model.fingerprint(),
    })
}

fn text(report: &Report<'_>) -> String {
    let towers =
        if report.shared_towers { "one, shared by queries and titles" } else { "one for queries, one for titles" };
    let mut rows = vec![
        ("fingerprint", report.fingerprint.to_owned()),
        ("encoder", report.encoder.to_string()),
        ("towers", towers.to_owned()),
        ("dimension", report.dimension.to_string()),
        ("parameters", output::count(report.parameters as u64)),
        ("trigrams", format!("{}: {} …", output::count(report.trigrams as u64), trigrams(&report.first_trigrams))),
    ];
    if let Some(words) = report.words {
        rows.push(("words", format!("{} whole words are features too", output::count(words as u64))));
    }
    let mut text = facts(&rows);
    let mut tensors = aligned::plain();
    tensors.set_header(["tensor", "rows", "columns", "parameters"]);
    for tensor in &report.tensors {
        let [rows, columns, parameters] =
            [tensor.rows, tensor.columns, tensor.parameters].map(|size| output::count(size as u64));
        tensors.add_row([output::printable(&tensor.name).into_owned(), rows, columns, parameters]);
    }
    aligned::align_right(&mut tensors, 1..4);
    let _ = writeln!(text, "\n{}\n\ntraining", aligned::show(&mut tensors));
    let mut lines = Vec::new();
    flatten("", &report.training, &mut lines);
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in lines {
        let _ = writeln!(text, "  {:<width$}  {}", output::printable(&name), output::printable(&value));
    }
    text
}

fn trigrams(first: &[String]) -> String {
    first.iter().map(|trigram| output::printable(trigram).into_owned()).collect::<Vec<_>>().join(" ")
}

/// Nested settings as `name.name value` lines.
fn flatten(prefix: &str, value: &Value, lines: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = match prefix {
                    // Most of the record is settings, so they need no prefix.
                    "" if name == "config" => String::new(),
                    "" => name.clone(),
                    outer => format!("{outer}.{name}"),
                };
                flatten(&name, value, lines);
            }
        }
        Value::Null => lines.push((prefix.to_owned(), "none".to_owned())),
        Value::String(text) => lines.push((prefix.to_owned(), text.clone())),
        other => lines.push((prefix.to_owned(), other.to_string())),
    }
}

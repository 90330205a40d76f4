//! `clickvec inspect`: what is in a model or an index.

mod card;
mod ranker;
mod verify;

pub(super) use ranker::method_name;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clickvec::encoder::EncoderConfig;
use clickvec::model::Model;
use clickvec_eval::ranker::FileKind;
use clickvec_index::IndexSummary;
use clickvec_index::searcher::Searcher;
use serde::Serialize;
use serde_json::Value;

use crate::answer::Answer;
use crate::{aligned, output};

/// The number of trigrams shown: the most frequent ones.
const SHOWN_TRIGRAMS: usize = 12;

/// Show what is in a model (encoder, sizes, dictionary, training settings, fingerprint), in an index, or in a ranker or fusion of
/// `evaluate --save-rankers`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The model that `clickvec train` wrote, the index of `clickvec index`, or a ranker or fusion.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,

    /// Print a model card: a page in Markdown with what the model has learnt from, its settings and its limits.
    #[arg(long, conflicts_with = "json")]
    card: bool,

    /// Read all files of an index, compare their checksums, and repeat the queries whose answers it keeps. Each file
    /// that has changed is named, and the exit status is then 1. A search reads only what it needs, and may miss damage.
    #[arg(long, conflicts_with = "card")]
    verify: bool,

    /// A report of `evaluate --json`, whose figures and tests the card shows.
    #[arg(long, value_name = "FILE", requires = "card")]
    evaluated: Option<PathBuf>,
}

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "output::json_path")]
    file: &'a Path,
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

#[derive(Serialize)]
struct IndexReport<'a> {
    #[serde(serialize_with = "output::json_path")]
    index: &'a Path,
    encoder: &'a EncoderConfig,
    #[serde(flatten)]
    summary: IndexSummary,
    /// How it is searched by words and by both, if it has words.
    #[serde(skip_serializing_if = "Option::is_none")]
    searches: Option<clickvec_index::Choices>,
}

/// Loads the model or the index, which checks it, and prints what is in it.
pub(crate) fn run(args: Args) -> Result<Answer> {
    if args.verify {
        return verify::run(&args.file, args.json);
    }
    if args.file.is_dir() && !args.card {
        return run_index(&args);
    }
    match FileKind::of(&args.file) {
        Ok(FileKind::Fusion) if !args.card => return ranker::fusion(&args.file, args.json),
        Ok(FileKind::Ranker) if !args.card => return ranker::ranker(&args.file, args.json),
        // Anything else has its own error.
        _ => {}
    }
    let evaluated = args.evaluated.as_deref().map(card::read).transpose()?;
    let model = Model::load(&args.file)?;
    let report = report(&args.file, &model)?;
    if let Some(doubt) = evaluated.as_ref().and_then(|evaluated| evaluated.lacks(&args.file)) {
        output::note(format_args!("warning: {doubt}"));
    }
    let mut out = output::stdout();
    if args.json {
        output::json_line(&mut out, &report)?;
    } else if args.card {
        let mut settings = Vec::new();
        flatten("", &report.training["config"], &mut settings);
        output::written(write!(out, "{}", card::card(&args.file, &model, &settings, evaluated.as_ref())))?;
    } else {
        output::written(write!(out, "{}", text(&report)))?;
    }
    output::written(out.flush())?;
    Ok(Answer::Done)
}

/// What a card says of the report `path`.
#[cfg(fuzzing)]
pub(crate) fn evaluation_of_report(path: &Path) -> Result<String> {
    Ok(card::evaluation(&card::read(path)?))
}

fn run_index(args: &Args) -> Result<Answer> {
    let searcher = Searcher::open(&args.file)?;
    let summary = searcher.summary().context("an index that was opened says what it is")?.clone();
    let has_words = summary.parts.contains_key("words");
    let report = IndexReport {
        index: &args.file,
        encoder: searcher.model().encoder_config(),
        summary,
        searches: has_words.then(|| crate::fused::choices(&args.file)).transpose()?,
    };
    let mut out = output::stdout();
    if args.json {
        output::json_line(&mut out, &report)?;
    } else {
        output::written(write!(out, "{}", index_text(&report)))?;
    }
    output::written(out.flush())?;
    Ok(Answer::Done)
}

/// How an index is searched by words and by both.
fn searches(report: &IndexReport<'_>) -> Vec<(&'static str, String)> {
    let Some(clickvec_index::Choices { has_fusion, fusion, bm25, analysis, .. }) = &report.searches else {
        return Vec::new();
    };
    let words = format!("BM25 with k1 {} and b {}, compared by `{analysis}`", bm25.k1, bm25.b);
    let trigrams = fusion.trigrams.map_or_else(String::new, |weight| format!(", trigrams {weight:.3}"));
    let fitted = if *has_fusion { "" } else { "; not fitted: used by `serve` and by `search --mode both`" };
    let method = ranker::method_name(fusion.method).0;
    let teacher = fusion.teacher.map_or_else(String::new, |weight| format!(", teacher {weight:.3}"));
    let (vectors, words_weight) = (fusion.vectors, fusion.words);
    let fused = format!("{method} of vectors {vectors:.3}, words {words_weight:.3}{trigrams}{teacher}{fitted}");
    vec![("words", words), ("fusion", fused)]
}

fn index_text(report: &IndexReport<'_>) -> String {
    let summary = &report.summary;
    let rows = [
        ("index", output::path(report.index)),
        ("fingerprint", summary.fingerprint.clone()),
        ("written by", format!("clickvec {}", output::printable(&summary.version))),
        ("titles", output::count(summary.titles)),
        ("left out", format!("{}, of unknown words", output::counted(summary.left_out, "title"))),
        ("field", output::printable(&summary.field).into_owned()),
        ("shard", summary.shard.map_or_else(|| "no".to_owned(), |shard| shard.to_string())),
        ("dimension", summary.dimension.to_string()),
        ("model", summary.model.clone()),
        ("encoder", report.encoder.to_string()),
    ];
    let rows: Vec<_> = rows.into_iter().chain(searches(report)).collect();
    let mut text = facts(&rows);
    let mut files = aligned::plain();
    files.set_header(["file", "bytes"]);
    for (name, bytes) in &summary.files {
        files.add_row([output::printable(name).into_owned(), output::count(*bytes)]);
    }
    aligned::align_right(&mut files, 1..2);
    let _ = writeln!(text, "\n{}", aligned::show(&mut files));
    text
}

/// One line for each fact.
fn facts(facts: &[(&str, String)]) -> String {
    facts.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name:<12} {value}");
        text
    })
}

fn report<'a>(file: &'a Path, model: &'a Model) -> Result<Report<'a>> {
    let tensors: Vec<TensorReport> = model
        .tensors()
        .map(|(name, rows, columns)| TensorReport { name, rows, columns, parameters: rows * columns })
        .collect();
    let trigrams = model.dictionary().trigrams();
    // Parsed from text, so that a number keeps its shortest form: 0.1 and not 0.10000000149.
    let mut training: Value = serde_json::from_str(&serde_json::to_string(model.training())?)?;
    // The file omits these if they have their default values.
    training["config"]["precision"] = serde_json::to_value(model.training().config.precision)?;
    training["config"]["loss"] = serde_json::to_value(model.training().config.loss)?;
    training["config"]["tail"] = serde_json::to_value(model.training().config.tail)?;
    training["config"]["field"] = serde_json::to_value(&model.training().config.field)?;
    Ok(Report {
        file,
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
    let mut of_model = vec![
        ("model", output::path(report.file)),
        ("fingerprint", report.fingerprint.to_owned()),
        ("encoder", report.encoder.to_string()),
        ("towers", towers.to_owned()),
        ("dimension", report.dimension.to_string()),
        ("parameters", output::count(report.parameters as u64)),
        ("trigrams", format!("{}: {} …", output::count(report.trigrams as u64), trigrams(&report.first_trigrams))),
    ];
    if let Some(words) = report.words {
        of_model.push(("words", format!("{} whole words are features too", output::count(words as u64))));
    }
    let mut text = facts(&of_model);
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

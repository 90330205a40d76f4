//! `clickvec export`: the titles of an index with their vectors in the form that another system loads, and the encoders as ONNX.
//!
//! A form is a [template]; those that the program knows are in the folder `forms`.

mod agreement;
mod features;
mod folder;
#[cfg(feature = "onnx")]
mod onnx;
mod rows;
mod template;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clickvec::model::Model;
use clickvec_index::{FusionMethod, Index, Part, RECIPROCAL_RANK_K};
use serde::Serialize;

use self::folder::MARK;
use self::rows::Globals;
use self::template::{Each, Template};
use crate::answer::Answer;
use crate::console;
use crate::output_files::{self, Kind};

/// Write the titles of an index with their vectors in a form that another system loads, with the scripts and settings to
/// search them.
///
/// Vectors have length 1, so the inner product is the score of a search by vectors. A form is a template: --print-template shows
/// one, and --template takes yours. `--to onnx` writes the encoders themselves, of an index or a model. docs/how-to/export.md
/// shows each form step by step.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The index that `clickvec index` wrote; with --to onnx also a model.
    #[arg(value_name = "INDEX", required_unless_present = "print_template")]
    index: Option<PathBuf>,

    /// The form.
    #[arg(long, value_name = "FORM", value_parser = PossibleValuesParser::new(possible_forms()), required_unless_present = "template")]
    to: Option<String>,

    /// The name of the table, collection or index in the other system.
    #[arg(long, value_name = "NAME", default_value = "titles", value_parser = name)]
    name: String,

    /// svmrank: the judged titles to write features of, with the titles of the index as the collection.
    #[arg(long, value_name = "FILE", required_if_eq("to", "svmrank"))]
    judged: Option<PathBuf>,

    /// Where to write: a folder, or a file for parquet.
    #[arg(long, short, value_name = "OUTPUT", required_unless_present = "print_template")]
    output: Option<PathBuf>,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,

    /// A form of your own, in place of --to.
    #[arg(long, value_name = "FILE", conflicts_with = "to", hide_short_help = true)]
    template: Option<PathBuf>,

    /// Print the template of --to, for you to change.
    #[arg(long, requires = "to", conflicts_with_all = ["index", "template"], hide_short_help = true)]
    print_template: bool,
}

/// A form that is a template.
struct Form {
    name: &'static str,
    help: &'static str,
    template: &'static str,
}

const FORMS: [Form; 5] = [
    Form {
        name: "pgvector",
        help: "PostgreSQL with pgvector: a table as CSV and the SQL that loads it",
        template: include_str!("forms/pgvector.jinja"),
    },
    Form {
        name: "qdrant",
        help: "Qdrant: batches of points for its HTTP interface, and a script that loads them",
        template: include_str!("forms/qdrant.jinja"),
    },
    Form {
        name: "opensearch",
        help: "OpenSearch: an index template, lines for _bulk, and a hybrid search whose pipeline has the index's weights",
        template: include_str!("forms/opensearch.jinja"),
    },
    Form {
        name: "elasticsearch",
        help: "Elasticsearch: an index, lines for _bulk, and a search by words and vectors, fused by reciprocal ranks",
        template: include_str!("forms/elasticsearch.jinja"),
    },
    Form {
        name: "svmrank",
        help: "Features of judged titles for learning to rank, in SVMrank's form, which LightGBM and XGBoost read too",
        template: include_str!("forms/svmrank.jinja"),
    },
];

const PARQUET: &str = "parquet";
const ONNX: &str = "onnx";

/// Returns the values of `--to`.
fn possible_forms() -> Vec<PossibleValue> {
    let forms = FORMS.map(|form| PossibleValue::new(form.name).help(form.help));
    let others = [
        (
            PARQUET,
            "Apache Parquet with the columns id, title and vector. Only in a program built with `--features parquet`",
        ),
        (ONNX, "The encoders as ONNX graphs, with code in Python and JavaScript that turns texts into their inputs"),
    ];
    forms.into_iter().chain(others.map(|(name, help)| PossibleValue::new(name).help(help))).collect()
}

/// Parses a name that needs no quotes in any of the systems.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(is_plain) && text.len() <= 48 {
        Ok(text.to_owned())
    } else {
        Err("expected at most 48 lowercase letters, digits and `_`, a letter first".to_owned())
    }
}

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "console::json_path")]
    output: &'a Path,
    /// Not for ONNX.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    dimension: usize,
    model: &'a str,
    /// The share of the first ten titles of the index that the other system's search finds too.
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement: Option<f64>,
}

/// Writes the export.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let to = args.to.as_deref();
    if args.print_template {
        let form = FORMS.iter().find(|form| Some(form.name) == to);
        let form =
            form.with_context(|| format!("expected a form with a template, found {}", to.unwrap_or_default()))?;
        console::print(form.template)?;
        return Ok(Answer::Done);
    }
    let source = args.index.as_deref().context("expected an index")?;
    let output = args.output.as_deref().context("expected an output")?;
    if to == Some(ONNX) {
        let model = if source.is_dir() { Index::open(source)?.model().clone() } else { Model::load(source)? };
        refuse_inputs(output, &args)?;
        let folder = folder::begin(output, ONNX)?;
        onnx::write(&folder, &model)?;
        folder::publish(folder, ONNX)?;
        return say(&args, output, &model, None, None);
    }
    ensure!(
        source.is_dir() || !source.is_file(),
        "{}: expected an index, found a file; make one with `clickvec index`",
        console::path(source)
    );
    let index = Index::open(source)?;
    let model = index.model();
    let rows = if to == Some(PARQUET) {
        output_files::refuse_overwriting(output, &args.index)?;
        output_files::refuse_other(output, Kind::Parquet)?;
        rows::write_parquet(output, &index)?
    } else {
        write_template(&args, output, &index)?
    };
    let agreement = match to {
        Some("opensearch") => {
            let WordsAndVectors { kind, words, vectors, .. } = fusion(&index, false)?;
            agreement::agreement(&index, kind, words, vectors)?
        }
        Some("elasticsearch") => {
            let kind = FusionMethod::ReciprocalRank { k: RECIPROCAL_RANK_K };
            agreement::agreement(&index, kind, 1.0, 1.0)?
        }
        _ => None,
    };
    say(&args, output, model, Some(rows), agreement)
}

/// Renders all files of a form.
fn write_template(args: &Args, output: &Path, index: &Index) -> Result<u64> {
    let form = args.to.as_deref().and_then(|name| FORMS.iter().find(|form| form.name == name));
    let (path, text) = match (&args.template, form) {
        (Some(path), _) => {
            let text =
                std::fs::read_to_string(path).map_err(|source| clickvec_tables::Error::io(path, "read", source))?;
            (path.clone(), text)
        }
        (None, Some(form)) => (PathBuf::from(form.name), form.template.to_owned()),
        (None, None) => bail!("expected a form, found none"),
    };
    let globals = Globals::new(&args.name, index, fusion(index, true)?)?;
    let template = Template::parse(&path, &text, &globals)?;
    let has = |each: &[Each]| template.files.iter().any(|file| each.contains(&file.each));
    ensure!(
        has(&[Each::Query]) == args.judged.is_some(),
        if args.judged.is_some() {
            "expected no `--judged`, because no file of the form is made of judged queries; leave it out"
        } else {
            "expected `--judged`, because the form is made of judged queries; name judged titles"
        }
    );
    refuse_inputs(output, args)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let folder = folder::begin(output, &name)?;
    let mut rows = rows::write(&template, &folder, index)?;
    if let Some(judged) = &args.judged {
        rows += features::write(&template, &folder, index, judged)?;
    }
    for file in template.files.iter().filter(|file| file.each == Each::Export) {
        let text = template.render(file, minijinja::context! {})?;
        folder.write(&file.name, &[text.as_bytes()])?;
    }
    folder::publish(folder, &name)?;
    Ok(rows)
}

/// A fusion of words and vectors, which other systems have.
#[derive(Serialize)]
struct WordsAndVectors {
    method: &'static str,
    #[serde(skip)]
    kind: FusionMethod,
    words: f64,
    vectors: f64,
    /// The constant k of reciprocal ranks.
    rank_constant: Option<u64>,
    custom: bool,
}

/// Returns the fusion of an index, or equal weights if other systems cannot do it. `warns` prints what is lost.
fn fusion(index: &Index, warns: bool) -> Result<WordsAndVectors> {
    let (fusion, analysis) = (index.fusion(), index.fusion().analysis);
    let kind = FusionMethod::MinMax;
    let equal =
        WordsAndVectors { method: "min-max", kind, words: 0.5, vectors: 0.5, rank_constant: None, custom: false };
    let warn = |text: std::fmt::Arguments<'_>| {
        if warns {
            console::note(text);
        }
    };
    if !fusion.custom {
        return Ok(equal);
    }
    let method = fusion.method.name();
    let k = if let FusionMethod::ReciprocalRank { k } = fusion.method { Some(k) } else { None };
    if fusion.method == FusionMethod::Linear || fusion.weights.iter().count() > 2 {
        warn(format_args!(
            "warning: expected a fusion of words and vectors that normalises scores, found {method} with {} parts; the export has \
             min-max with equal weights",
            fusion.weights.iter().count()
        ));
        return Ok(equal);
    }
    if analysis.stem || analysis.split {
        warn(format_args!(
            "warning: the weights were chosen for words compared by `{analysis}`, and other systems compare words in another way; \
             choose an analyzer that does something similar"
        ));
    }
    // Elsewhere they must add up to 1, and only their ratio matters.
    let [words, vectors] = [Part::Words, Part::Vectors].map(|part| fusion.weight(part));
    let sum = words + vectors;
    let rank_constant = k.map(|k| k.round().max(1.0) as u64);
    let kind = fusion.method;
    Ok(WordsAndVectors { method, kind, words: words / sum, vectors: vectors / sum, rank_constant, custom: true })
}

/// Refuses to replace a folder that contains a file which is read.
fn refuse_inputs(output: &Path, args: &Args) -> Result<()> {
    let read = || args.index.iter().chain(&args.judged).chain(&args.template);
    for entry in output.read_dir().into_iter().flatten().flatten() {
        output_files::refuse_overwriting(&entry.path(), read())?;
    }
    Ok(output_files::refuse_folder_in_index(output)?)
}

/// A program without ONNX.
#[cfg(not(feature = "onnx"))]
mod onnx {
    pub(super) fn write(_: &clickvec_tables::files::PendingFolder, _: &clickvec::model::Model) -> anyhow::Result<()> {
        anyhow::bail!(
            "expected another form than onnx, which this program was built without; build it with `cargo build --release \
             --features onnx`"
        )
    }
}

fn say(
    args: &Args,
    output: &Path,
    model: &Model,
    rows: Option<u64>,
    agreement: Option<(usize, f64)>,
) -> Result<Answer> {
    if args.json {
        let report = Report {
            output,
            rows,
            dimension: model.dimension(),
            model: model.fingerprint(),
            agreement: agreement.map(|(_, share)| share),
        };
        console::json_lines([&report])?;
        return Ok(Answer::Done);
    }
    let what = rows.map_or_else(|| model.encoder_config().to_string(), |rows| console::counted(rows, "row"));
    console::note(format_args!("{}: written; {what}", console::path(output)));
    if let Some((queries, share)) = agreement {
        console::note(format_args!(
            "for {} queries made from titles, its search as the documentation describes it, computed here, finds {:.1} % of the \
             index's first ten titles",
            console::count(queries),
            100.0 * share
        ));
    }
    Ok(Answer::Done)
}

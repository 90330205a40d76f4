//! `clickvec export`: titles with their vectors in the forms that other systems load, and the encoders as ONNX.

mod features;
mod folder;
mod fusion;
#[cfg(feature = "onnx")]
mod onnx;
mod opensearch;
#[cfg(feature = "parquet")]
mod parquet;
mod pgvector;
mod qdrant;
mod titles;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use clickvec::internals::files::write_bytes_atomically;
use clickvec::model::Model;
use serde::Serialize;

use self::titles::{Counts, ExportedTitles};
use crate::answer::Answer;
use crate::titles::TitleColumns;
use crate::{input, output};

/// Write titles and their vectors in a form that another system loads, with the scripts and settings to search them.
///
/// Titles are left out if the model knows none of their words, because their vectors would mean nothing. Vectors have length
/// 1, so the inner product is the score of `search`. `--to onnx` writes the encoders themselves, without titles.
/// docs/how-to/export.md shows each form step by step.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The form.
    #[arg(long, value_enum, value_name = "FORM")]
    to: Form,

    /// The model that `clickvec train` wrote.
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,

    /// The titles: a table with the columns id and title, or a BEIR corpus, also as .gz or .zst; `-` is standard input.
    #[arg(long, value_name = "FILE", required_if_eq_any(OF_TITLES.map(|form| ("to", form))))]
    titles: Option<PathBuf>,

    #[command(flatten)]
    title_columns: TitleColumns,

    /// The column with the texts, such as `body`; `title+text` joins two [default: the one that the model learnt from].
    #[arg(long, value_name = "COLUMN")]
    field: Option<String>,

    /// The name of the table, collection or index in the other system.
    #[arg(long, value_name = "NAME", default_value = NAME, value_parser = name)]
    name: String,

    /// parquet: one column of numbers for each dimension, which every reader reads fast, instead of a list of fixed size.
    #[arg(long)]
    flat: bool,

    /// opensearch: the report of `evaluate --json` with a fusion of BM25 and this model, whose method and weights the search
    /// pipeline gets [default: min-max with equal weights].
    #[arg(long, value_name = "FILE")]
    fusion: Option<PathBuf>,

    /// svmrank: the judged titles to write features of, with the titles as the collection.
    #[arg(long, value_name = "FILE", required_if_eq("to", "svmrank"))]
    judged: Option<PathBuf>,

    /// Where to write: a folder, or a file for parquet.
    #[arg(long, short, value_name = "OUTPUT")]
    output: PathBuf,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The name in the other system, unless another is given.
const NAME: &str = "titles";
/// The forms whose other system has names.
const NAMED: [Form; 3] = [Form::Pgvector, Form::Qdrant, Form::Opensearch];
/// The forms that have titles.
const OF_TITLES: [&str; 5] = ["parquet", "pgvector", "qdrant", "opensearch", "svmrank"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Apache Parquet with the columns id, title and vector. Only in a program built with `--features parquet`.
    Parquet,
    /// PostgreSQL with pgvector: a stream for COPY and the SQL that loads it.
    Pgvector,
    /// Qdrant: batches of points for its HTTP interface, and a script that loads them.
    Qdrant,
    /// OpenSearch: an index template, lines for _bulk, and a hybrid search whose pipeline has fitted weights.
    Opensearch,
    /// Features of judged titles for learning to rank, in SVMrank's form, which LightGBM and XGBoost read too.
    Svmrank,
    /// The encoders as ONNX graphs, with code in Python and JavaScript that turns texts into their inputs.
    Onnx,
}

impl Form {
    /// The files that its folder may have.
    fn files(self) -> &'static [&'static str] {
        match self {
            Form::Parquet => &[],
            Form::Pgvector => &["titles.copy", "load.sql"],
            Form::Qdrant => &["points.jsonl", "collection.json", "load.sh"],
            Form::Opensearch => &["bulk.jsonl", "template.json", "pipeline.json", "query.json", "load.sh"],
            Form::Svmrank => &["features.txt", "groups.txt", "names.txt"],
            Form::Onnx => &onnx::FILES,
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// A name that needs no quotes in any of the systems.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(is_plain) && text.len() <= 48 {
        true => Ok(text.to_owned()),
        false => Err("expected at most 48 lowercase letters, digits and `_`, a letter first".to_owned()),
    }
}

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "output::json_path")]
    output: &'a Path,
    /// Not for ONNX.
    #[serde(flatten)]
    counts: Option<Counts>,
    dimension: usize,
    model: &'a str,
}

/// Writes the export. If that fails before a file is whole, no new folder stays.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let (output, was_there) = (args.output.clone(), args.output.exists());
    let answer = write(args);
    if answer.is_err() && !was_there {
        folder::remove_if_empty(&output);
    }
    answer
}

/// Reads the fusion with a model called `model` in the report `path`.
#[cfg(fuzzing)]
pub(crate) fn fusion_of_report(path: &Path) -> Result<()> {
    fusion::read(path, Path::new("model.safetensors")).map(drop)
}

fn write(args: Args) -> Result<Answer> {
    check(&args)?;
    let model = Model::load(&args.model)?;
    let fusion = args.fusion.as_deref().map(|path| fusion::read(path, &args.model)).transpose()?;
    let Some(titles) = &args.titles else {
        onnx::write(&args.output, &model)?;
        return say(&args, &model, None);
    };
    let field = args.title_columns.field_for(args.field.as_deref(), &model.training().config.field);
    let table = args.title_columns.table(titles, &field)?;
    let titles = ExportedTitles { model: &model, table: table.path(), field: &field };
    if !matches!(args.to, Form::Parquet | Form::Svmrank) {
        folder::begin(&args.output, &args.to.name())?;
    }
    let at = |name: &str| args.output.join(name);
    let name = args.name.as_str();
    // What loads the rows is written after them, so that it is there only if they are.
    let (counts, files) = match args.to {
        Form::Parquet => (parquet(&args, titles)?, Vec::new()),
        Form::Svmrank => (features::write(&args, &model, table.path(), &field)?, Vec::new()),
        Form::Pgvector => {
            (pgvector::write(&at("titles.copy"), titles)?, vec![("load.sql", pgvector::sql(name, &model))])
        }
        Form::Qdrant => (
            qdrant::write(&at("points.jsonl"), titles)?,
            vec![("collection.json", qdrant::collection(&model)), ("load.sh", qdrant::script(name))],
        ),
        Form::Opensearch => (
            opensearch::write(&at("bulk.jsonl"), name, titles)?,
            vec![
                ("template.json", opensearch::template(name, &model)),
                ("pipeline.json", opensearch::pipeline(fusion.as_ref())),
                ("query.json", opensearch::query(&model)),
                ("load.sh", opensearch::script(name)),
            ],
        ),
        Form::Onnx => unreachable!("it has no titles"),
    };
    for (file, text) in files {
        write_bytes_atomically(&at(file), text.as_bytes())?;
    }
    say(&args, &model, Some(counts))
}

/// Checks combinations that the parser of flags cannot express, and that nothing that is read is replaced.
fn check(args: &Args) -> Result<()> {
    for (flag, given, form) in [
        ("--flat", args.flat, Form::Parquet),
        ("--fusion", args.fusion.is_some(), Form::Opensearch),
        ("--judged", args.judged.is_some(), Form::Svmrank),
    ] {
        ensure!(
            !given || args.to == form,
            "`{flag}` belongs to --to {}; found --to {}: leave one of the two out",
            form.name(),
            args.to.name()
        );
    }
    ensure!(
        args.name == NAME || NAMED.contains(&args.to),
        "`--name` belongs to --to {}; found --to {}: leave one of the two out",
        NAMED.map(Form::name).join(", "),
        args.to.name()
    );
    args.title_columns.refuse_field(args.field.as_deref())?;
    let field = args.field.as_ref().map(|_| "--field");
    if let (Form::Onnx, Some(flag)) = (args.to, field.or(args.title_columns.given())) {
        bail!("expected no `{flag}` with --to onnx, which exports the encoders; leave it out, or name another form");
    }
    ensure!(
        args.to != Form::Onnx || args.titles.is_none(),
        "expected no `--titles` with --to onnx, which exports the encoders; leave it out, or name another form"
    );
    let read = [&args.model].into_iter().chain(&args.titles).chain(&args.fusion).chain(&args.judged);
    match args.to {
        Form::Parquet => input::refuse_overwriting(&args.output, read)?,
        _ if args.output.is_file() => {
            bail!("{}: expected a folder to write, found a file; name another output", args.output.display())
        }
        _ => {
            for file in args.to.files().iter().chain([&folder::MARK]) {
                input::refuse_overwriting(&args.output.join(file), read.clone())?;
            }
            folder::refuse_others(&args.output, &args.to.name(), args.to.files())?;
        }
    }
    Ok(())
}

/// What a program without ONNX says of it.
#[cfg(not(feature = "onnx"))]
mod onnx {
    pub(super) const FILES: [&str; 0] = [];

    pub(super) fn write(_output: &std::path::Path, _model: &clickvec::model::Model) -> anyhow::Result<()> {
        anyhow::bail!(
            "expected another form than onnx, which this program was built without; build it with `cargo build --release \
             --features onnx`"
        )
    }
}

#[cfg(feature = "parquet")]
fn parquet(args: &Args, titles: ExportedTitles<'_>) -> Result<Counts> {
    parquet::write(&args.output, args.flat, titles)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_args: &Args, _titles: ExportedTitles<'_>) -> Result<Counts> {
    bail!(
        "expected another form than parquet, which this program was built without; build it with `cargo build --release \
         --features parquet`"
    )
}

fn say(args: &Args, model: &Model, counts: Option<Counts>) -> Result<Answer> {
    if args.json {
        let mut out = output::stdout();
        let (dimension, fingerprint) = (model.dimension(), model.fingerprint());
        let report = Report { output: &args.output, counts, dimension, model: fingerprint };
        output::json_line(&mut out, &report)?;
        output::written(out.flush())?;
        return Ok(Answer::Done);
    }
    let path = args.output.display();
    let Some(Counts { rows, left_out }) = counts else {
        output::note(format_args!("{path}: written; {}", model.encoder_config()));
        return Ok(Answer::Done);
    };
    output::note(format_args!("{path}: written; {}", output::counted(rows, "row")));
    if left_out > 0 {
        let strange = output::counted(left_out, "title");
        output::note(format_args!("left out {strange}: the model knows none of their words"));
    }
    Ok(Answer::Done)
}

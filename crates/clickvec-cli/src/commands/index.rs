//! `clickvec index`: encodes titles once, for all searches to come.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clickvec::collection::Collection;
use clickvec::model::Model;
use clickvec::tables::TITLE;
use serde::Serialize;

use super::search;
use crate::answer::Answer;
use crate::output;

/// Encode titles once and keep their vectors for `search --index`.
///
/// An index is a folder with a copy of the model, the titles and their vectors. It is written beside the output and put
/// there in one step, so that a search finds the old one or the new one, whole.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The model that `clickvec train` wrote.
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,

    /// What will be searched: a table with the columns id and title, or a BEIR corpus; also .gz and .zst; `-` is
    /// standard input.
    #[arg(long, value_name = "FILE")]
    titles: PathBuf,

    /// The column that is searched in the place of the title, as `body`; `title+text` joins two.
    #[arg(long, value_name = "COLUMN", default_value = TITLE)]
    field: String,

    /// The folder to write; an index that is there is replaced, nothing else ever is.
    #[arg(long, short, value_name = "INDEX")]
    output: PathBuf,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What programs read.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "output::json_path")]
    index: &'a Path,
    titles: usize,
    left_out: usize,
    dimension: usize,
    model: &'a str,
    fingerprint: &'a str,
}

/// Encodes and writes.
pub(crate) fn run(args: Args) -> Result<Answer> {
    Collection::check_output(&args.output)?;
    let model = Model::load(&args.model)?;
    let collection = search::encode(&model, &args.titles, &args.field)?;
    let fingerprint = collection.save(&model, &args.output)?;
    if args.json {
        let mut out = output::stdout();
        let report = Report {
            index: &args.output,
            titles: collection.len(),
            left_out: collection.left_out(),
            dimension: model.dimension(),
            model: model.fingerprint(),
            fingerprint: &fingerprint,
        };
        output::json_line(&mut out, &report)?;
        output::written(out.flush())?;
    } else {
        let titles = output::counted(collection.len() as u64, "title");
        output::note(format_args!("{}: written; {titles}, fingerprint {fingerprint}", args.output.display()));
    }
    Ok(Answer::Done)
}

//! `clickvec export`: the titles of an index with their vectors in the form that another system loads, and the encoders as ONNX.
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clickvec_tools::export::{Export, Exported, FORMS, To, form, name};
use serde::Serialize;

use crate::answer::Answer;
use crate::console;
use crate::progress::Watch;

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

/// Returns the values of `--to`.
fn possible_forms() -> Vec<PossibleValue> {
    FORMS.iter().map(|form| PossibleValue::new(form.name).help(form.help)).collect()
}

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(serialize_with = "console::json_path")]
    output: &'a Path,
    #[serde(flatten)]
    exported: &'a Exported,
}

/// Writes the export.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let known = args.to.as_deref().map(form).transpose()?;
    if args.print_template {
        let name = args.to.as_deref().unwrap_or_default();
        let template = known.and_then(|form| form.template);
        console::print(template.with_context(|| format!("expected a form with a template, found {name}"))?)?;
        return Ok(Answer::Done);
    }
    let to = match (known, &args.template) {
        (Some(form), _) => To::Form(form),
        (None, template) => To::Template(template.as_deref().context("expected a form, found none")?),
    };
    let source = args.index.as_deref().context("expected an index")?;
    let output = args.output.as_deref().context("expected an output")?;
    let export = Export { source, output, to, name: &args.name, judged: args.judged.as_deref() };
    let exported = export.write(&Watch::default())?;
    if args.json {
        console::json_lines([Report { output, exported: &exported }])?;
        return Ok(Answer::Done);
    }
    let Exported { rows, agreement, agreement_queries, encoder, .. } = &exported;
    let what = rows.map_or_else(|| encoder.clone(), |rows| console::counted(rows, "row"));
    console::note(format_args!("{}: written; {what}", console::path(output)));
    if let Some(share) = agreement {
        console::note(format_args!(
            "the exported search, computed here for {} queries made from titles, finds {:.1} % of the index's first ten titles",
            console::count(*agreement_queries),
            100.0 * share
        ));
    }
    Ok(Answer::Done)
}

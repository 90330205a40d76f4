//! `clickvec lab context`: a word in different contexts (CLSM paper, table 2).

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clickvec::encoder::EncoderConfig;
use clickvec::explain::Explainer;
use clickvec::internals::encoder::Reading;
use clickvec_lab::explain::{Context, context_report, contexts};
use serde::Serialize;

use crate::answer::Answer;
use crate::commands::explain::{self, Form, OneModel, SideFlag, page};
use crate::output;

/// Compare a word in different contexts, for a CLSM: is `office` a room or software?
///
/// Compares the window features of the word in the first text with those in every other text, and shows the most
/// similar texts first.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: OneModel,

    /// The word.
    #[arg(value_name = "WORD")]
    word: String,

    /// Texts that contain the word; the first one is compared with all others.
    #[arg(value_name = "CONTEXT", required_unless_present = "file")]
    contexts: Vec<String>,

    /// More texts, one a line; those without the word are left out; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Whether the model reads them as queries or as titles.
    #[arg(long, value_enum, default_value_t = SideFlag::Query)]
    side: SideFlag,

    /// How many texts to show.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = crate::numbers::at_least_one::<usize>)]
    top: usize,

    #[command(flatten)]
    form: Form,
}

#[derive(Serialize)]
struct Line<'a> {
    word: &'a str,
    #[serde(flatten)]
    context: &'a Context,
}

/// Shows the contexts. The answer is no if there is only one.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.model.files().chain(&args.file))?;
    let word = &explain::one_word(&args.word)?;
    let model = args.model.load()?;
    let windows = |config: &EncoderConfig| config.description().reading == Reading::Windows;
    if !windows(model.model.encoder_config()) {
        bail!(
            "expected a clsm, because only a clsm has windows of words, found {}; train one with `--encoder clsm`",
            model.title()
        );
    }
    let texts = explain::texts(&args.contexts, args.file.as_deref())?;
    let explainer = Explainer::new(&model.model);
    let mut found = contexts(&explainer, args.side.side(), word, &texts).expect("an encoder with windows");
    ensure!(!found.is_empty(), "expected texts with the word `{}`, found none", output::printable(word));
    // Those of a file may be anything; whoever types a text means it.
    if let Some(without) = args.contexts.iter().find(|text| found.iter().all(|context| context.text != **text)) {
        bail!(
            "expected texts with the word `{}`, found `{}`; leave it out, or give the texts as lines of `--file`",
            output::printable(word),
            output::printable(without)
        );
    }
    found[1..].sort_by(|a, b| b.cosine.total_cmp(&a.cosine));
    found.truncate(args.top.saturating_add(1));
    let report = context_report(word, &found);
    if args.form.json {
        output::json_lines(found.iter().map(|context| Line { word, context }))?;
    } else if found.len() == 1 {
        output::note(format_args!(
            "expected other texts with the word `{}` to compare with this one, found none: {}",
            output::printable(word),
            output::printable(&found[0].text)
        ));
    } else {
        output::print(report.to_text())?;
    }
    args.form.write_page(|| page::page(&format!("{word} in contexts"), false, &report.to_markup()))?;
    Ok(if found.len() > 1 { Answer::Done } else { Answer::No })
}

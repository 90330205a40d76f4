//! `clickvec lab claims`: tests of what the LSTM paper says about keywords.

use std::path::PathBuf;

use anyhow::Result;
use clickvec::explain::Explainer;
use clickvec::internals::encoder::Reading;
use clickvec_lab::explain::{KeywordClaims, keyword_claims};
use clickvec_report::report::Report;
use serde::Serialize;

use crate::answer::Answer;
use crate::commands::explain::keywords::NO_STATES;
use crate::commands::explain::{self, KeywordFlags, Models, SideFlag};
use crate::output;

/// Test over many texts what the LSTM paper says about keywords: that removing one changes the vector more than removing
/// another word (partly true by construction), and that input gates close at the other words.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    models: Models,

    /// The texts.
    #[arg(value_name = "TEXT", required_unless_present = "file")]
    texts: Vec<String>,

    /// More texts, one a line; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Whether the model reads them as queries or as titles.
    #[arg(long, value_enum, default_value_t = SideFlag::Query)]
    side: SideFlag,

    #[command(flatten)]
    keywords: KeywordFlags,

    /// Print JSON, one object a line.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    model: &'a str,
    encoder: String,
    threshold: f32,
    #[serde(flatten)]
    claims: KeywordClaims,
}

/// Tests the claims. The answer is no if no model has texts to test them on.
pub(super) fn run(args: &Args) -> Result<Answer> {
    let models = args.models.load()?;
    let texts = explain::texts(&args.texts, args.file.as_deref())?;
    let options = &args.keywords.options();
    let (mut lines, mut report) = (Vec::new(), Report::default());
    for model in &models {
        let Some(claims) = keyword_claims(&Explainer::new(&model.model), args.side.side(), &texts, options) else {
            let why = match model.description().reading {
                Reading::Bag => NO_STATES,
                _ => "nothing to test; expected at least two texts with a keyword and another word",
            };
            output::note(format_args!("{}: {why}", model.title()));
            continue;
        };
        claims.report(&mut report, &model.title(), texts.len(), model.state());
        let encoder = model.model.encoder_config().to_string();
        lines.push(Line { model: &model.name, encoder, threshold: options.threshold, claims });
    }
    if args.json {
        output::json_lines(&lines)?;
    } else {
        output::print(report.to_text())?;
    }
    Ok(if lines.is_empty() { Answer::No } else { Answer::Done })
}

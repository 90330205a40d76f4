//! `clickvec lab claims`: tests of what the LSTM paper says about keywords.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clickvec::explain::{Explainer, KeywordOptions};
use clickvec::internals::encoder::Reading;
use clickvec_lab::explain::{Contrast, KeywordClaims, keyword_claims};
use serde::Serialize;

use crate::answer::Answer;
use crate::commands::explain::keywords::NO_STATES;
use crate::commands::explain::{self, KeywordFlags, Models, NamedModel, SideFlag};
use crate::metrics::probability;
use crate::{aligned, output};

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
    texts: usize,
    keywords: usize,
    others: usize,
    removal: JsonContrast,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_gate: Option<JsonContrast>,
}

#[derive(Serialize)]
struct JsonContrast {
    keywords: f64,
    others: f64,
    p: f64,
}

/// Tests the claims. The answer is no if no model has texts to test them on.
pub(super) fn run(args: &Args) -> Result<Answer> {
    let models = args.models.load()?;
    let texts = explain::texts(&args.texts, args.file.as_deref())?;
    let options = &args.keywords.options();
    let mut out = output::stdout();
    let mut any = false;
    for (number, model) in models.iter().enumerate() {
        let Some(claims) = keyword_claims(&Explainer::new(&model.model), args.side.side(), &texts, options) else {
            let why = match model.description().reading {
                Reading::Bag => NO_STATES,
                _ => "nothing to test; expected at least two texts with a keyword and another word",
            };
            output::note(format_args!("{}: {why}", model.title()));
            continue;
        };
        any = true;
        if args.json {
            output::json_line(&mut out, &json(model, &claims, options))?;
        } else {
            let gap = if number > 0 { "\n" } else { "" };
            output::written(write!(out, "{gap}{}", shown(model, texts.len(), &claims)))?;
        }
    }
    output::written(out.flush())?;
    Ok(if any { Answer::Done } else { Answer::No })
}

fn json<'a>(model: &'a NamedModel, claims: &KeywordClaims, options: &KeywordOptions) -> Line<'a> {
    let contrast = |Contrast { keywords, others, p }: Contrast| JsonContrast { keywords, others, p };
    Line {
        model: &model.name,
        encoder: model.model.encoder_config().to_string(),
        threshold: options.threshold,
        texts: claims.texts,
        keywords: claims.keywords,
        others: claims.others,
        removal: contrast(claims.removal),
        input_gate: claims.input_gate.map(contrast),
    }
}

fn shown(model: &NamedModel, texts: usize, claims: &KeywordClaims) -> String {
    let mut rows = aligned::plain();
    rows.set_header(["", "at keywords", "at other words", "difference", "p"]);
    let mut add = |name: &str, contrast: Contrast| {
        let Contrast { keywords, others, p } = contrast;
        let difference = format!("{:+.3}", keywords - others);
        rows.add_row([name.to_owned(), format!("{keywords:.3}"), format!("{others:.3}"), difference, probability(p)]);
    };
    add("change of the vector without it (1 - cosine)", claims.removal);
    if let Some(gate) = claims.input_gate {
        add("mean input gate", gate);
    }
    aligned::align_right(&mut rows, 1..5);
    format!(
        "{}\n{} of {} have a keyword and another word and are compared; {} and {} in all texts\n\n{}\n\n\
         p: paired t-test over the compared texts. Part of the first difference is by construction: keywords are the words\n\
         that activate the most active {}s.\n",
        model.title(),
        output::count(claims.texts as u64),
        output::counted(texts as u64, "text"),
        output::counted(claims.keywords as u64, "keyword"),
        output::counted(claims.others as u64, "other word"),
        aligned::show(&mut rows),
        model.state()
    )
}

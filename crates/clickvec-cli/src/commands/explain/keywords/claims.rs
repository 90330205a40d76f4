//! Tests of what the LSTM paper says about keywords, on one's own texts.

use std::io::Write as _;

use anyhow::Result;
use clickvec::explain::{Explainer, KeywordOptions};
use clickvec::internals::encoder::Reading;
use clickvec_lab::explain::{Contrast, KeywordClaims, keyword_claims};
use serde::Serialize;

use super::{Args, NamedModel};
use crate::answer::Answer;
use crate::commands::evaluate::probability;
use crate::{aligned, output};

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
pub(super) fn run(args: &Args, models: &[NamedModel], texts: &[String], options: &KeywordOptions) -> Result<Answer> {
    let mut out = output::stdout();
    let mut any = false;
    for (number, model) in models.iter().enumerate() {
        let Some(claims) = keyword_claims(&Explainer::new(&model.model), args.side.side(), texts, options) else {
            let why = match model.description().reading {
                Reading::Bag => super::NO_STATES,
                _ => "nothing to test; expected at least two texts with a keyword and another word",
            };
            output::note(format_args!("{}: {why}", model.title()));
            continue;
        };
        any = true;
        if args.form.json {
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

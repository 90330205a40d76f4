//! `clickvec lab claims`: tests of what the LSTM paper says about keywords.

use anyhow::Result;
use clickvec::explain::{Explainer, KeywordOptions};
use clickvec::internals::encoder::Reading;
use clickvec_lab::explain::keyword_claims;

use crate::answer::Answer;
use crate::commands::explain::arguments::{KeywordFlags, ModelAndTexts};
use crate::commands::explain::models::NO_STATES;
use crate::console;

/// Test over many texts what the LSTM paper says about keywords: that removing one changes the vector more than removing
/// another word (partly true by construction), and that input gates close at the other words.
#[derive(clap::Args)]
#[command(mut_arg("file", |file| file.required(true)))]
pub(super) struct Args {
    #[command(flatten)]
    shared: ModelAndTexts,

    #[command(flatten)]
    keyword: KeywordFlags,
}

/// Tests the claims. The answer is no if there are no texts to test them on.
pub(super) fn run(args: &Args) -> Result<Answer> {
    let mut printer = args.shared.printer()?;
    let model = args.shared.load()?;
    let texts = args.shared.texts(&[])?;
    let options = args.keyword.over(KeywordOptions::default());
    let Some(claims) = keyword_claims(&Explainer::new(&model.model), args.shared.side, &texts, &options) else {
        let why = match model.description().reading {
            Reading::Bag => NO_STATES,
            _ => "nothing to test; expected at least two texts with a keyword and another word",
        };
        console::note(format_args!("{}: {why}", model.title()));
        return Ok(Answer::No);
    };
    printer.line(&model.explained(&options, claims))?;
    printer.report(&claims.report(&model.title(), texts.len(), model.state()))?;
    printer.finish("Claims about keywords")?;
    Ok(Answer::Done)
}

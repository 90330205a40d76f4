//! `clickvec lab context`: a word in different contexts (CLSM paper, table 2).

use anyhow::{Result, bail, ensure};
use clickvec::explain::Explainer;
use clickvec::internals::encoder::Reading;
use clickvec_lab::explain::{context_report, contexts};

use crate::answer::Answer;
use crate::commands::explain::arguments::{ModelAndTexts, one_word};
use crate::console;

/// Compare a word in different contexts, for a CLSM: is `office` a room or software?
///
/// Compares the window features of the word in the first text with those in every other text, and shows the most
/// similar texts first. Lines of `--file` without the word are left out.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    shared: ModelAndTexts,

    /// The word.
    #[arg(value_name = "WORD")]
    word: String,

    /// Texts that contain the word; the first one is compared with all others.
    #[arg(value_name = "CONTEXT", required_unless_present = "file")]
    contexts: Vec<String>,
}

/// Shows the contexts. The answer is no if there is only one.
pub(super) fn run(args: &Args) -> Result<Answer> {
    let mut printer = args.shared.printer()?;
    let word = &one_word(&args.word)?;
    let model = args.shared.load()?;
    // Before the texts are read: the encoder is the first thing that can be wrong.
    if model.description().reading != Reading::Windows {
        bail!(
            "expected a clsm, because only a clsm has windows of words, found {}; train one with `--encoder clsm`",
            model.title()
        );
    }
    let texts = args.shared.texts(&args.contexts)?;
    let explainer = Explainer::new(&model.model);
    let mut found = contexts(&explainer, args.shared.side, word, &texts).expect("an encoder with windows");
    ensure!(!found.is_empty(), "expected texts with the word `{}`, found none", console::printable(word));
    // Lines of a file may be anything; a text on the command line is meant.
    if let Some(without) = args.contexts.iter().find(|text| found.iter().all(|context| context.text != **text)) {
        bail!(
            "expected texts with the word `{}`, found `{}`; leave it out, or give the texts as lines of `--file`",
            console::printable(word),
            console::printable(without)
        );
    }
    found[1..].sort_by(|a, b| b.cosine.total_cmp(&a.cosine));
    found.iter().try_for_each(|context| printer.line(context))?;
    if let [alone] = &found[..] {
        console::note(format_args!(
            "expected other texts with the word `{}` to compare with this one, found none: {}",
            console::printable(word),
            console::printable(&alone.text)
        ));
    } else {
        printer.report(&context_report(&found))?;
    }
    printer.finish(&format!("{word} in contexts"))?;
    Ok(if found.len() > 1 { Answer::Done } else { Answer::No })
}

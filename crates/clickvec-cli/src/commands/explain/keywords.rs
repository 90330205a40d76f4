//! `clickvec explain keywords`: which words of a text a model keeps (LSTM paper, tables I, II; CLSM paper, table 3).

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clickvec::encoder::Direction;
use clickvec::explain::{DirectionCounts, Evidence, Explainer, KeywordOptions, Keywords, TextView};
use maud::{Markup, html};
use serde::Serialize;

use super::json::{self, JsonText};
use super::{Form, KeywordFlags, Models, Named, SideFlag, page, sections};
use crate::answer::Answer;
use crate::{output, table};

/// Show which words of a text a model keeps.
///
/// For an LSTM or RNN: of the 10 most active cells, how many each word changes by more than the threshold; a word with 4
/// or more, in each direction that counts it, is a keyword. The word that is read first changes all of them and shows
/// `-`. For a CLSM: the words that win the five most active units of the maximum.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    models: Models,

    /// Texts to look at.
    #[arg(value_name = "TEXT", required_unless_present = "file")]
    texts: Vec<String>,

    /// More texts, one a line; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Which half of the model reads them.
    #[arg(long, value_enum, default_value_t = SideFlag::Query)]
    side: SideFlag,

    #[command(flatten)]
    keywords: KeywordFlags,

    #[command(flatten)]
    form: Form,
}

/// A text as a model sees it.
struct Seen {
    view: TextView,
    /// `None` for a model that reads bags of words.
    keywords: Option<Keywords>,
}

#[derive(Serialize)]
struct Line<'a> {
    model: &'a str,
    encoder: String,
    threshold: f32,
    #[serde(flatten)]
    text: JsonText<'a>,
}

/// Shows the keywords; no, if no model has any states at words.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.models.files().chain(&args.file))?;
    let models = args.models.load()?;
    let mut texts = args.texts.clone();
    if let Some(file) = &args.file {
        texts.extend(super::lines(file)?);
    }
    let options = args.keywords.options();
    let look = |model: &Named| -> Vec<Seen> {
        let views = Explainer::new(&model.model).texts(args.side.side(), &texts);
        views.into_iter().map(|view| Seen { keywords: view.keywords(&options), view }).collect()
    };
    let seen: Vec<Vec<Seen>> = models.iter().map(look).collect();
    let mut out = output::stdout();
    for (number, text) in texts.iter().enumerate() {
        for (model, seen) in models.iter().zip(&seen) {
            let seen = &seen[number];
            if args.form.json {
                let text = json::text(&seen.view, seen.keywords.as_ref(), None, false);
                let encoder = model.model.encoder_config().to_string();
                output::json_line(&mut out, &Line { model: &model.name, encoder, threshold: options.threshold, text })?;
            } else {
                let head = if models.len() > 1 { format!("{}: ", model.name) } else { String::new() };
                output::written(writeln!(out, "{head}{}", output::printable(text)))?;
                output::written(writeln!(out, "{}", shown(seen, &options)))?;
            }
        }
    }
    output::written(out.flush())?;
    args.form.write_page(|| page_of(&models, &seen, &options))?;
    let any = seen.iter().flatten().any(|seen| seen.keywords.is_some());
    Ok(if any { Answer::Done } else { Answer::No })
}

/// What a row of counts is called.
pub(super) fn row_name(counts: &DirectionCounts) -> String {
    match counts.direction {
        Direction::Forward => format!("cells of {}, left to right", counts.cells.len()),
        Direction::Backward => format!("cells of {}, right to left", counts.cells.len()),
    }
}

/// Why there are no keywords.
pub(super) const NO_STATES: &str = "no keywords: this model reads a bag of words and has no state at a word";

/// Cells of the tables for one text: words in columns.
fn shown(seen: &Seen, options: &KeywordOptions) -> String {
    let Some(keywords) = &seen.keywords else { return format!("{NO_STATES}\n") };
    if seen.view.words.is_empty() {
        return "no words\n".to_owned();
    }
    let mut lines = table::plain();
    let mark = |place: usize, word: &str| match keywords.is_keyword[place] {
        true => format!("*{word}*"),
        false => word.to_owned(),
    };
    let words = seen.view.words.iter().enumerate().map(|(place, word)| mark(place, &word.text));
    lines.set_header(std::iter::once(String::new()).chain(words));
    match &keywords.evidence {
        Evidence::Changes(directions) => {
            for counts in directions {
                let numbers = counts.counts().map(|count| count.map_or("-".to_owned(), |count| count.to_string()));
                lines.add_row(std::iter::once(row_name(counts)).chain(numbers));
            }
        }
        Evidence::Winners(winners) => {
            let won = |place| winners.iter().filter(|winner| winner.word == place).count().to_string();
            let head = format!("units won of the {} most active", winners.len());
            lines.add_row(std::iter::once(head).chain((0..seen.view.words.len()).map(won)));
        }
    }
    if !keywords.input_gate.is_empty() {
        let gates = keywords.input_gate.iter().map(|gate| format!("{gate:.2}"));
        lines.add_row(std::iter::once("mean input gate".to_owned()).chain(gates));
    }
    table::align_right(&mut lines, 1..seen.view.words.len() + 1);
    let mut text = table::show(&mut lines);
    if matches!(keywords.evidence, Evidence::Changes(_)) {
        let _ = write!(
            text,
            "\n*keyword*: at least {} cells, changed by more than {} of their mean activation",
            options.at_least, options.threshold
        );
    }
    let unknown: Vec<&str> = seen.view.words.iter().filter(|word| !word.known).map(|word| word.text.as_str()).collect();
    if !unknown.is_empty() {
        let _ = write!(text, "\nunknown to the model: {}", unknown.join(" "));
    }
    text.push('\n');
    text
}

fn page_of(models: &[Named], seen: &[Vec<Seen>], options: &KeywordOptions) -> Markup {
    let heat = seen.iter().flatten().any(|seen| sections::has_heat(&seen.view));
    let body = html! {
        p {
            "Of the " (options.cells) " most active cells, how many each word changes by more than " (options.threshold)
            " of their mean activation. A word with at least " (options.at_least) " in each direction that counts it is a keyword, and underlined."
        }
        @for number in 0..seen.first().map_or(0, Vec::len) {
            h2.text { (seen[0][number].view.text) }
            @for (model, seen) in models.iter().zip(seen) {
                @let seen = &seen[number];
                h3 { (model.name) " (" (model.model.encoder_config()) ")" }
                @if let Some(keywords) = &seen.keywords {
                    p { (sections::text(&seen.view, Some(keywords))) }
                    (sections::counts_table(&seen.view, keywords))
                    @let range = sections::common_range([&seen.view]);
                    @let active = sections::activation_range([&seen.view]);
                    (sections::active_cells(&seen.view, keywords, seen.view.words.len(), active))
                    details {
                        summary { "all states" }
                        (super::heat::legend(range))
                        (sections::heat_maps(&seen.view, seen.view.words.len(), range))
                    }
                } @else {
                    p { (NO_STATES) }
                }
            }
        }
    };
    page::page("Keywords", heat, body)
}

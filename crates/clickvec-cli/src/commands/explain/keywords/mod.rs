//! `clickvec explain keywords`: which words of a text a model keeps (LSTM paper, tables I, II, IX, X; CLSM paper, tables 3
//! and 8).

mod claims;
mod first;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clickvec::encoder::Direction;
use clickvec::explain::{DirectionCounts, Evidence, Explainer, KeywordOptions, Keywords, TextView};
use maud::{Markup, html};
use serde::Serialize;

use super::json::{self, JsonText};
use super::sections::{self, Shown};
use super::{Form, KeywordFlags, Models, Named, SideFlag, page};
use crate::answer::Answer;
use crate::{output, table};

/// Show which words of a text a model keeps.
///
/// For an LSTM or RNN: of the 10 most active cells, how many each word changes by more than the threshold; a word with 4
/// or more, in each direction that counts it, is a keyword. The word that is read first changes all of them and shows
/// `-`. For a CLSM: the words that win the five most active units of the maximum.
///
/// With `--search` each text is a query, and the title that a search ranks first is shown next to it, with the keywords
/// of both.
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

    /// Show next to each query the title that a search ranks first, with the keywords of both (CLSM paper, table 8).
    #[arg(long, conflicts_with = "side")]
    search: bool,

    /// Without an index: the titles to search, a table with the columns id and title.
    #[arg(long, value_name = "FILE", requires = "search", conflicts_with = "index")]
    titles: Option<PathBuf>,

    /// Test over all texts what the LSTM paper says of keywords: that leaving one out turns the vector further than leaving
    /// out another word, and that input gates close for the others.
    #[arg(long, conflicts_with_all = ["search", "html"])]
    claims: bool,

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

/// Shows the keywords; no, if no text has a word that a model with states at words could keep.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.models.files().chain(&args.file).chain(&args.titles))?;
    ensure!(
        !args.search || args.titles.is_some() || args.models.index.is_some(),
        "`--search` needs titles: expected `--index INDEX`, or `--titles FILE` for the models"
    );
    let models = args.models.load()?;
    let texts = super::texts(&args.texts, args.file.as_deref())?;
    let options = args.keywords.options();
    if args.search {
        return first::run(args, &models, &texts, &options);
    }
    if args.claims {
        return claims::run(args, &models, &texts, &options);
    }
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
    let any = seen.iter().flatten().any(|seen| seen.keywords.is_some() && !seen.view.words.is_empty());
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

/// What is said of a text without words.
pub(super) const NO_WORDS: &str = "no keywords: the text has no word";

/// Cells of the tables for one text: words in columns.
fn shown(seen: &Seen, options: &KeywordOptions) -> String {
    if seen.view.words.is_empty() {
        return format!("{NO_WORDS}\n");
    }
    let Some(keywords) = &seen.keywords else { return format!("{NO_STATES}\n") };
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
                let number = |count: usize| format!("{}{count}", if count >= options.at_least { "*" } else { "" });
                let numbers = counts.counts().map(|count| count.map_or("-".to_owned(), number));
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
            "\n*{}: at least {} cells, changed by more than {} of their mean activation; *keyword*: in each direction that counts it",
            options.at_least, options.at_least, options.threshold
        );
    }
    if seen.view.cut > 0 {
        let _ = write!(text, "\nand {} more words, which the model leaves out", output::count(seen.view.cut as u64));
    }
    let unknown: Vec<&str> = seen.view.words.iter().filter(|word| !word.known).map(|word| word.text.as_str()).collect();
    if !unknown.is_empty() {
        let _ = write!(text, "\nunknown to the model: {}", unknown.join(" "));
    }
    text.push('\n');
    text
}

fn page_of(models: &[Named], seen: &[Vec<Seen>], options: &KeywordOptions) -> String {
    let heat = seen.iter().flatten().any(|seen| sections::has_heat(&seen.view));
    let body = html! {
        (what_is_counted(models, options))
        @for number in 0..seen.first().map_or(0, Vec::len) {
            h2.text { (seen[0][number].view.text) }
            @for (model, seen) in models.iter().zip(seen) {
                @let seen = &seen[number];
                h3 { (model.title()) }
                @if seen.view.words.is_empty() {
                    p { (NO_WORDS) }
                } @else if let Some(keywords) = &seen.keywords {
                    p.pair { (sections::text(&seen.view, Some(keywords))) }
                    div.wide { table { (sections::words_row(&seen.view)) (sections::counts_rows("", &seen.view, keywords, options.at_least)) } }
                    details {
                        summary { "word by word" }
                        (sections::inside(&[Shown { name: "", view: &seen.view, keywords: Some(keywords) }]))
                    }
                } @else {
                    p { (NO_STATES) }
                }
            }
        }
    };
    page::page("Keywords", heat, &body)
}

/// What makes a word a keyword, for the kinds of models that there are.
fn what_is_counted(models: &[Named], options: &KeywordOptions) -> Markup {
    let remembers = |named: &Named| named.model.encoder_config().is_recurrent();
    html! {
        @if models.iter().any(remembers) {
            p.note {
                "Of the " (options.cells) " most active cells after the last word, how many each word changes by more than "
                (options.threshold) " of their mean activation. A word with at least " (options.at_least)
                " in each direction that counts it is a keyword, and underlined. The word that is read first changes all of them: -."
            }
        }
        @if models.iter().any(|named| named.model.encoder_config().kind() == "clsm") {
            p.note { "Of a CLSM, the words that win one of the " (options.units) " most active units of the maximum are keywords." }
        }
    }
}

//! `clickvec explain keywords`: which words of a text a model keeps (LSTM paper, tables I, II, IX, X; CLSM paper,
//! tables 3 and 8).

mod first;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clickvec::encoder::Direction;
use clickvec::explain::{DirectionCounts, Evidence, Explainer, KeywordOptions, Keywords, TextView};
use clickvec::internals::encoder::Reading;
use maud::{Markup, html};
use serde::Serialize;

use super::json::JsonText;
use super::models::{one_of_each_kind, states};
use super::sections::{self, Shown};
use super::{Form, KeywordFlags, Models, NamedModel, SideFlag, page};
use crate::answer::Answer;
use crate::{aligned, output};

/// Show the keywords of a text: the words that a model keeps.
///
/// For an LSTM or RNN, the table counts how many of the 10 most active cells each word changes by more than the
/// threshold. A word that changes 4 or more, in each direction that counts it, is a keyword. The word that is read
/// first changes all cells, so it has no count (`-`). For a CLSM, keywords are the words that win the five most active
/// max-pooling units.
///
/// With `--search`, each text is a query, shown next to the title of the index that a search by vectors ranks first, with the
/// keywords of both.
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

    /// Show each query with the title that a search ranks first, and the keywords of both (CLSM paper, table 8).
    #[arg(long, conflicts_with = "side")]
    search: bool,

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

/// Shows the keywords. The answer is no if no text has words, or if no model has states word by word.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.models.files().chain(&args.file))?;
    if let Some(file) = args.models.files().find(|path| args.search && !path.is_dir()) {
        bail!("{}: expected an index for `--search`, found a file; `clickvec index` makes one", output::path(file));
    }
    let models = args.models.load()?;
    let texts = super::texts(&args.texts, args.file.as_deref())?;
    let options = args.keywords.options();
    if args.search {
        return first::run(args, &models, &texts, &options);
    }
    let look = |model: &NamedModel| -> Vec<Seen> {
        let views = Explainer::new(&model.model).texts(args.side.side(), &texts);
        views.into_iter().map(|view| Seen { keywords: view.keywords(&options), view }).collect()
    };
    let seen: Vec<Vec<Seen>> = models.iter().map(look).collect();
    let mut out = output::stdout();
    for (number, text) in texts.iter().enumerate() {
        for (model, seen) in models.iter().zip(&seen) {
            let seen = &seen[number];
            if args.form.json {
                let text = JsonText::new(&seen.view, seen.keywords.as_ref(), None);
                let encoder = model.model.encoder_config().to_string();
                output::json_line(&mut out, &Line { model: &model.name, encoder, threshold: options.threshold, text })?;
            } else {
                let head = if models.len() > 1 { format!("{}: ", model.name) } else { String::new() };
                output::written(writeln!(out, "{head}{}", super::given(text)))?;
                output::written(writeln!(out, "{}", shown(seen, model.state(), &options)))?;
            }
        }
    }
    output::written(out.flush())?;
    args.form.write_page(|| page_of(&models, &seen, &options))?;
    let any = seen.iter().flatten().any(|seen| seen.keywords.is_some() && !seen.view.words.is_empty());
    Ok(if any { Answer::Done } else { Answer::No })
}

/// The name of a row of counts.
pub(super) fn row_name(counts: &DirectionCounts, unit: &str) -> String {
    match counts.direction {
        Direction::Forward => format!("{unit}s of {}, left to right", counts.cells.len()),
        Direction::Backward => format!("{unit}s of {}, right to left", counts.cells.len()),
    }
}

/// Why there are no keywords.
pub(in super::super) const NO_STATES: &str =
    "no keywords: this model reads a bag of words, so it has no states word by word";

/// The message for a text without words.
pub(super) const NO_WORDS: &str = "no keywords: the text has no words";

/// The table of one text, with words in columns.
fn shown(seen: &Seen, unit: &str, options: &KeywordOptions) -> String {
    if seen.view.words.is_empty() {
        return format!("{NO_WORDS}\n");
    }
    let Some(keywords) = &seen.keywords else { return format!("{NO_STATES}\n") };
    let mut lines = aligned::plain();
    let mark = |place: usize, word: &str| {
        if keywords.is_keyword[place] { format!("*{word}*") } else { word.to_owned() }
    };
    let words = seen.view.words.iter().enumerate().map(|(place, word)| mark(place, &word.shown()));
    lines.set_header(std::iter::once(String::new()).chain(words));
    match &keywords.evidence {
        Evidence::Changes(directions) => {
            for counts in directions {
                let number = |count: usize| format!("{}{count}", if count >= options.at_least { "*" } else { "" });
                let numbers = counts.counts().map(|count| count.map_or("-".to_owned(), number));
                lines.add_row(std::iter::once(row_name(counts, unit)).chain(numbers));
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
    aligned::align_right(&mut lines, 1..seen.view.words.len() + 1);
    let mut text = aligned::show(&mut lines);
    if matches!(keywords.evidence, Evidence::Changes(_)) {
        let _ = write!(
            text,
            "\n*: at least {} {unit}s changed by more than {} of their mean activation\n*word*: a keyword, which has a * in each direction that counts it",
            options.at_least, options.threshold
        );
    }
    if seen.view.cut > 0 {
        let _ = write!(text, "\nand {} more words, which the model does not read", output::count(seen.view.cut as u64));
    }
    let unknown: Vec<_> = seen.view.words.iter().filter(|word| !word.known).map(|word| word.shown()).collect();
    if !unknown.is_empty() {
        let _ = write!(text, "\nunknown to the model: {}", unknown.join(" "));
    }
    text.push('\n');
    text
}

fn page_of(models: &[NamedModel], seen: &[Vec<Seen>], options: &KeywordOptions) -> String {
    let heat = seen.iter().flatten().any(|seen| sections::has_heat(&seen.view));
    let body = html! {
        (what_is_counted(models, options))
        @for number in 0..seen.first().map_or(0, Vec::len) {
            h2.text { (sections::given(&seen[0][number].view.text)) }
            @for (model, seen) in models.iter().zip(seen) {
                @let seen = &seen[number];
                h3 { (model.title()) }
                @if seen.view.words.is_empty() {
                    p { (NO_WORDS) }
                } @else if let Some(keywords) = &seen.keywords {
                    p.pair { (sections::text(&seen.view, Some(keywords))) }
                    div.wide { table { (sections::words_row(&seen.view)) (sections::counts_rows("", model.state(), &seen.view, keywords, options.at_least)) } }
                    details {
                        summary { "inside the model, word by word" }
                        (sections::inside(&[Shown { name: "", view: &seen.view, keywords: Some(keywords) }], model.state()))
                    }
                } @else {
                    p { (NO_STATES) }
                }
            }
        }
    };
    page::page("Keywords", heat, &body)
}

/// What makes a word a keyword, for each kind of model on the page.
fn what_is_counted(models: &[NamedModel], options: &KeywordOptions) -> Markup {
    html! {
        @if models.iter().any(|named| named.description().reading == Reading::WordByWord) {
            p.note {
                "Counts: of the " (options.cells) " " (states(models)) " that are most active after the last word, how many each word changes by more than "
                (options.threshold) " of their mean activation. A word with a count of at least " (options.at_least)
                " in each direction that counts it is a keyword and underlined. The word that is read first changes all of them, so it has no count (-)."
            }
        }
        @for config in one_of_each_kind(models, |of| of.reading == Reading::Windows) {
            p.note { "For a " (config.kind().to_uppercase()) ", keywords are the words that win at least one of the " (options.units) " most active max-pooling units." }
        }
    }
}

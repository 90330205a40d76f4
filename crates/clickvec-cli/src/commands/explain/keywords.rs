//! `clickvec explain keywords`: which words of a text a model keeps (LSTM paper, tables I, II, IX, X; CLSM paper,
//! tables 3 and 8).

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clickvec::encoder::Direction;
use clickvec::explain::{DirectionCounts, Evidence, Explainer, KeywordOptions, Keywords, TextReport, TextView};
use clickvec::internals::encoder::Reading;
use clickvec::model::Side;
use clickvec_index::{Hit, Index, Part, Request};
use maud::html;
use serde::Serialize;

use super::models::{one_of_each_kind, states};
use super::pictures::{self, Shown};
use super::{Form, KeywordFlags, Models, NamedModel, SideFlag, marks, page};
use crate::answer::Answer;
use crate::output;
use crate::report::{Cell, Column, Report, Table};

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

/// A line of JSON.
#[derive(Serialize)]
struct Line<'a, T> {
    model: &'a str,
    encoder: String,
    threshold: f32,
    #[serde(flatten)]
    shown: T,
}

/// A query with the title that a search ranks first.
#[derive(Serialize)]
struct Ranked<'a> {
    query: TextReport<'a>,
    first: Option<First<'a>>,
}

#[derive(Serialize)]
struct First<'a> {
    id: &'a str,
    score: f32,
    title: TextReport<'a>,
}

/// Shows the keywords. The answer is no if no text has words or nothing is found, or if no model has states word by word.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.models.files().chain(&args.file))?;
    if let Some(file) = args.models.files().find(|path| args.search && !path.is_dir()) {
        bail!("{}: expected an index for `--search`, found a file; `clickvec index` makes one", output::path(file));
    }
    let models = args.models.load()?;
    let texts = super::texts(&args.texts, args.file.as_deref())?;
    let options = args.keywords.options();
    let mut report = Report::default();
    let (mut lines, mut any) = (Vec::new(), false);
    for model in &models {
        any |= if args.search {
            search(model, &texts, &options, &mut report, &mut lines)?
        } else {
            look(args, model, models.len() > 1, &texts, &options, &mut report, &mut lines)?
        };
    }
    report.note(what_is_counted(&models, &options));
    let mut out = output::stdout();
    output::written(if args.form.json { out.write_all(&lines) } else { write!(out, "{}", report.to_text()) })?;
    output::written(out.flush())?;
    let title = if args.search { "Queries and the titles ranked first" } else { "Keywords" };
    args.form.write_page(|| page::page(title, !args.search, &report.to_markup()))?;
    Ok(if any { Answer::Done } else { Answer::No })
}

impl Seen {
    fn new(view: TextView, options: &KeywordOptions) -> Seen {
        Seen { keywords: view.keywords(options), view }
    }

    fn json(&self) -> TextReport<'_> {
        let keywords = self.keywords.as_ref();
        self.view.report(keywords, None).with_evidence(keywords)
    }

    fn marked(&self) -> Cell {
        marks::text(&self.view, self.keywords.as_ref())
    }
}

fn add_line(lines: &mut Vec<u8>, model: &NamedModel, options: &KeywordOptions, shown: impl Serialize) -> Result<()> {
    let encoder = model.model.encoder_config().to_string();
    output::json_line(lines, &Line { model: &model.name, encoder, threshold: options.threshold, shown })
}

/// Adds the keywords of texts; returns whether any text has words that can be keywords.
fn look(
    args: &Args,
    model: &NamedModel,
    is_one_of_several: bool,
    texts: &[String],
    options: &KeywordOptions,
    report: &mut Report,
    lines: &mut Vec<u8>,
) -> Result<bool> {
    if is_one_of_several {
        report.heading(2, model.title());
    }
    let views = Explainer::new(&model.model).texts(args.side.side(), texts);
    let mut any = false;
    for seen in views.into_iter().map(|view| Seen::new(view, options)) {
        add_line(lines, model, options, seen.json())?;
        report.subject("", &seen.view.text);
        match &seen.keywords {
            _ if seen.view.words.is_empty() => report.paragraph(NO_WORDS),
            None => report.paragraph(NO_STATES),
            Some(keywords) => {
                any = true;
                report.table(counts(&seen.view, keywords, model.state(), options));
                if seen.view.cut > 0 {
                    let more = output::count(seen.view.cut as u64);
                    report.note(format!("and {more} more words, which the model does not read"));
                }
                if args.form.html.is_some() {
                    let text = Shown { name: "", view: &seen.view, keywords: Some(keywords) };
                    let inside = pictures::inside(&[text], model.state());
                    report.picture(html! { details { summary { "inside the model, word by word" } (inside) } });
                }
            }
        }
    }
    Ok(any)
}

/// Adds queries next to the titles that a search ranks first (CLSM paper, table 8); returns whether it finds any.
fn search(
    model: &NamedModel,
    queries: &[String],
    options: &KeywordOptions,
    report: &mut Report,
    lines: &mut Vec<u8>,
) -> Result<bool> {
    report.heading(2, model.title());
    let explainer = Explainer::new(&model.model);
    let requests: Vec<Request> = queries.iter().map(|query| Request::new(query, Part::Vectors).with_k(1)).collect();
    let answers = Index::open(&model.path)?.search_all(&requests)?;
    let mut table = Table::new([Column::long("query"), Column::number("score"), Column::long("title ranked first")]);
    let mut any = false;
    for (query, answer) in queries.iter().zip(&answers) {
        let query = Seen::new(explainer.text(Side::Query, query), options);
        let title = |hit: &Hit| Seen::new(explainer.text(Side::Title, &hit.title), options);
        let first = answer.hits.first().map(|hit| (hit, title(hit)));
        let json = first.as_ref().map(|(hit, title)| First { id: &hit.id, score: hit.score, title: title.json() });
        add_line(lines, model, options, Ranked { query: query.json(), first: json })?;
        table.add(match &first {
            Some((hit, title)) => [query.marked(), format!("{:.3}", hit.score).into(), title.marked()],
            None if query.view.words.is_empty() => {
                [query.marked(), "".into(), "nothing: the query has no words".into()]
            }
            None => [query.marked(), "".into(), "nothing: the model knows no word of the query".into()],
        });
        any |= first.is_some();
    }
    report.table(table);
    Ok(any)
}

/// The message for a model without states word by word.
pub(in super::super) const NO_STATES: &str =
    "no keywords: this model reads a bag of words, so it has no states word by word";

/// The message for a text without words.
const NO_WORDS: &str = "no keywords: the text has no words";

/// Returns how many cells, or `unit`s, each word changed, or how many units it won, with words in columns.
fn counts(view: &TextView, keywords: &Keywords, unit: &str, options: &KeywordOptions) -> Table {
    let words = view.words.iter().zip(&keywords.is_keyword);
    let words = words.map(|(word, &is_keyword)| Column::number(marks::word(word, is_keyword)));
    let mut table = Table::new(std::iter::once(Column::text("")).chain(words));
    let mut add = |name: String, cells: Vec<Cell>| table.add(std::iter::once(name.into()).chain(cells));
    match &keywords.evidence {
        Evidence::Changes(directions) => {
            let cell = |count: Option<usize>| match count {
                None => "-".into(),
                Some(count) if count >= options.at_least => Cell::Strong(count.to_string()),
                Some(count) => count.to_string().into(),
            };
            for of in directions {
                add(row_name(of, unit), of.counts().map(cell).collect());
            }
        }
        Evidence::Winners(winners) => {
            let won = |position| winners.iter().filter(|winner| winner.word == position).count().to_string().into();
            let name = format!("units won of the {} most active", winners.len());
            add(name, (0..view.words.len()).map(won).collect());
        }
    }
    if !keywords.input_gate.is_empty() {
        let gates = keywords.input_gate.iter().map(|gate| format!("{gate:.2}").into());
        add("mean input gate".to_owned(), gates.collect());
    }
    table
}

fn row_name(counts: &DirectionCounts, unit: &str) -> String {
    let way = if counts.direction == Direction::Forward { "left to right" } else { "right to left" };
    format!("{unit}s of {}, {way}", counts.cells.len())
}

/// Returns what makes a word a keyword, for each kind of model.
fn what_is_counted(models: &[NamedModel], options: &KeywordOptions) -> String {
    let mut lines = Vec::new();
    if models.iter().any(|named| named.description().reading == Reading::WordByWord) {
        let (least, cells, threshold, states) = (options.at_least, options.cells, options.threshold, states(models));
        lines.push(format!(
            "*word* (underlined on a page): a keyword: it changes at least {least} of the {cells} most active {states},\n   \
             in each direction that counts it, by more than {threshold} of their mean activation;\n   \
             the word that is read first changes all of them (-)"
        ));
    }
    for config in one_of_each_kind(models, |of| of.reading == Reading::Windows) {
        let (kind, units) = (config.kind(), options.units);
        lines.push(format!(
            "*word* (underlined on a page): a keyword of a {kind}: it wins at least one of the {units} most active max-pooling units"
        ));
    }
    lines.join("\n")
}

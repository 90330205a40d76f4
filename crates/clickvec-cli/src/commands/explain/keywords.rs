//! `clickvec explain keywords`: which words of a text a model keeps (LSTM paper, tables I, II, IX, X; CLSM paper,
//! tables 3 and 8).

use anyhow::{Result, bail};
use clickvec::encoder::Direction;
use clickvec::explain::{DirectionCounts, Evidence, Explainer, KeywordOptions, Keywords, TextReport, TextView};
use clickvec::model::Side;
use clickvec_index::{Hit, Index, Part, Request};
use maud::html;
use serde::Serialize;

use super::arguments::{KeywordFlags, ModelAndTexts};
use super::marks;
use super::models::{NO_STATES, NamedModel, definition};
use super::pictures::{self, Shown};
use super::printer::Printer;
use crate::answer::Answer;
use crate::console;
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
    shared: ModelAndTexts,

    /// The texts.
    #[arg(value_name = "TEXT", required_unless_present = "file")]
    texts: Vec<String>,

    /// Show each query with the title that a search ranks first, and the keywords of both (CLSM paper, table 8).
    #[arg(long, conflicts_with = "side")]
    search: bool,

    #[command(flatten)]
    keyword: KeywordFlags,
}

/// A text as a model sees it.
struct Seen {
    view: TextView,
    /// `None` for a model that reads bags of words.
    keywords: Option<Keywords>,
}

/// A query with the title that a search ranks first.
#[derive(Serialize)]
struct FirstTitle<'a> {
    query: TextReport<'a>,
    first: Option<ScoredTitle<'a>>,
}

#[derive(Serialize)]
struct ScoredTitle<'a> {
    id: &'a str,
    score: f32,
    title: TextReport<'a>,
}

/// Shows the keywords. The answer is no if no text has words or nothing is found, or if the model has no states word by word.
pub(super) fn run(args: &Args) -> Result<Answer> {
    let mut printer = args.shared.printer()?;
    let path = &args.shared.model;
    if args.search && !path.is_dir() {
        bail!("{}: expected an index for `--search`, found a file; `clickvec index` makes one", console::path(path));
    }
    let model = args.shared.load()?;
    let texts = args.shared.texts(&args.texts)?;
    let options = args.keyword.over(KeywordOptions::default());
    let (title, any) = if args.search {
        ("Queries and the titles ranked first", search(&model, &texts, &options, &mut printer)?)
    } else {
        ("Keywords", look(args.shared.side, &model, &texts, &options, &mut printer)?)
    };
    printer.legend(&definition(&[model], &options).join("\n"))?;
    printer.finish(title)?;
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

/// Shows the keywords of texts; returns whether any text has words that can be keywords.
fn look(
    side: Side,
    model: &NamedModel,
    texts: &[String],
    options: &KeywordOptions,
    printer: &mut Printer<'_>,
) -> Result<bool> {
    let mut any = false;
    for view in Explainer::new(&model.model).texts(side, texts) {
        let seen = Seen::new(view, options);
        printer.line(&model.explained(options, seen.json()))?;
        let mut report = Report::default();
        report.subject("", &seen.view.text);
        match &seen.keywords {
            _ if seen.view.words.is_empty() => report.paragraph("no keywords: the text has no words"),
            None => report.paragraph(NO_STATES),
            Some(keywords) => {
                any = true;
                report.table(counts(&seen.view, keywords, model.state(), options));
                if seen.view.cut > 0 {
                    let more = console::count(seen.view.cut as u64);
                    report.note(format!("and {more} more words, which the model does not read"));
                }
                let text = Shown { name: "", view: &seen.view, keywords: Some(keywords) };
                if let Some(inside) = printer.has_page().then(|| pictures::inside(&[text], model.state())).flatten() {
                    report.picture(html! { details { summary { "inside the model, word by word" } (inside) } });
                }
            }
        }
        printer.report(&report)?;
    }
    Ok(any)
}

/// Shows queries next to the titles that a search ranks first (CLSM paper, table 8); returns whether it finds any.
fn search(model: &NamedModel, queries: &[String], options: &KeywordOptions, printer: &mut Printer<'_>) -> Result<bool> {
    let mut report = Report::default();
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
        let json =
            first.as_ref().map(|(hit, title)| ScoredTitle { id: &hit.id, score: hit.score, title: title.json() });
        printer.line(&model.explained(options, FirstTitle { query: query.json(), first: json }))?;
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
    printer.report(&report)?;
    Ok(any)
}

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
            for counts in directions {
                add(row_name(counts, unit), counts.counts().map(cell).collect());
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

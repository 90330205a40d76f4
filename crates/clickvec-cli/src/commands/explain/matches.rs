//! `clickvec explain match`: why a title matches a query.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clickvec::explain::{
    Evidence, Explainer, KeywordOptions, Keywords, Match, MatchReport, SharedUnit, TextView, Word, WordShares,
};
use clickvec::tables::{Skipped, TITLE};
use clickvec_tables::table::{self, MAX_GRADE, Next, Options, Record, RowFault, parse_grade};
use serde::Serialize;

use super::arguments::KeywordFlags;
use super::marks;
use super::models::{Explained, NamedModel, definition, what_is_missing};
use super::pictures::{self, Shown};
use super::printer::Form;
use crate::answer::Answer;
use crate::console;
use crate::progress::Watch;
use crate::report::{Cell, Column, Report, Table};
use clickvec_tools::inputs;

/// The number of pairs of words that are named next to the score.
const PAIRS: usize = 3;
/// The number of cells that are shown, those with the largest shares.
const UNITS: usize = 10;

/// Show why a title matches a query: what each word and each cell adds to the score, and the keywords of both texts.
///
/// Several models are shown side by side.
///
/// The score is the cosine of the two vectors, and the shares of the cells sum to it. A word has two shares. `along` is
/// how far the vector moves towards the other text while the word is read: these sum to the score and depend on the
/// order of the words. `without` is how much the score falls when the word is removed: these do not sum to the score.
#[derive(clap::Args)]
#[command(override_usage = "clickvec explain match [OPTIONS] MODEL QUERY TITLE\n       \
    clickvec explain match [OPTIONS] MODEL --pairs FILE")]
pub(super) struct Args {
    /// A model that `clickvec train` wrote, or an index that has one.
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// The query.
    #[arg(value_name = "QUERY", requires = "title")]
    query: Option<String>,

    /// The title.
    #[arg(value_name = "TITLE")]
    title: Option<String>,

    /// Another model or index to show next to it; may be repeated.
    #[arg(long, value_name = "MODEL")]
    compare: Vec<PathBuf>,

    /// Explain the pairs of a table with the columns query and title; the column grade is shown next to the scores. Judged titles are
    /// such a table.
    #[arg(long, value_name = "FILE", conflicts_with = "query")]
    pairs: Option<PathBuf>,

    /// The number of pairs of the file to explain; 0 means all.
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "query")]
    limit: usize,

    /// With `--json`: also print the states at every word.
    #[arg(long, requires = "json")]
    states: bool,

    #[command(flatten)]
    keyword: KeywordFlags,

    #[command(flatten)]
    form: Form,
}

/// A query and a title, with a human grade if there is one.
#[derive(Serialize)]
struct Pair {
    query: String,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    grade: Option<u8>,
}

/// A pair as one model sees it.
struct Seen<'a> {
    model: &'a NamedModel,
    found: Match,
    keywords: [Option<Keywords>; 2],
}

#[derive(Serialize)]
struct JsonPair<'a> {
    #[serde(flatten)]
    pair: &'a Pair,
    models: Vec<Explained<'a, MatchReport<'a>>>,
}

/// Explains the pairs.
pub(super) fn run(args: &Args) -> Result<Answer> {
    let files = || std::iter::once(&args.model).chain(&args.compare);
    let mut printer = args.form.printer(files().chain(&args.pairs))?;
    let mut models = files().map(|path| NamedModel::load(path)).collect::<Result<Vec<_>>>()?;
    // Models whose files have the same name are called by their paths.
    let names: Vec<String> = models.iter().map(|named| named.name.clone()).collect();
    for named in &mut models {
        if names.iter().filter(|&name| *name == named.name).count() > 1 {
            named.name = named.path.display().to_string();
        }
    }
    let options = args.keyword.over(KeywordOptions::default());
    for pair in &args.pairs()? {
        let seen: Vec<Seen<'_>> = models.iter().map(|model| Seen::new(model, pair, &options)).collect();
        let models = seen.iter().map(|seen| seen.explained(&options, args.states)).collect();
        printer.line(&JsonPair { pair, models })?;
        printer.report(&report(pair, &seen, printer.has_page()))?;
    }
    let mut legend = vec![
        "along: how far the vector moves towards the other text while the word is read; these sum to the score"
            .to_owned(),
        "without: how much the score falls when the word is removed; these do not sum to it".to_owned(),
    ];
    legend.extend(definition(&models, &options));
    legend.extend(what_is_missing(&models));
    printer.legend(&legend.join("\n"))?;
    printer.finish("Why these texts match")?;
    Ok(Answer::Done)
}

impl Args {
    /// Returns the pairs to explain.
    fn pairs(&self) -> Result<Vec<Pair>> {
        match (&self.query, &self.title, &self.pairs) {
            (Some(query), Some(title), _) => Ok(vec![Pair { query: query.clone(), title: title.clone(), grade: None }]),
            (_, _, Some(path)) => read_pairs(path, if self.limit == 0 { usize::MAX } else { self.limit }),
            _ => bail!(
                "expected a query and a title, or `--pairs FILE`, found neither; see `clickvec explain match --help`"
            ),
        }
    }
}

/// Reads the first pairs of a table, at most so many.
fn read_pairs(path: &Path, limit: usize) -> Result<Vec<Pair>> {
    let mut rows = table::Table::open(path, &Options::default())?;
    let (query, title, grade) = (rows.require("query")?, rows.require(TITLE)?, rows.column("grade")?);
    let (mut pairs, mut skipped, mut record) = (Vec::new(), Skipped::default(), Record::default());
    while pairs.len() < limit {
        match rows.next(&mut record)? {
            Next::Row => {
                let text = |column| record.get(column).unwrap_or_default().to_owned();
                let field = grade.and_then(|grade| record.get(grade)).unwrap_or_default().trim();
                match parse_grade(field, MAX_GRADE) {
                    None if !field.is_empty() => {
                        let expected = format!("a grade from 0 to {MAX_GRADE}");
                        let found = format!("`{}`", console::printable(field));
                        skipped.add(record.line, RowFault::expected("grade", expected, found));
                    }
                    grade => pairs.push(Pair { query: text(query), title: text(title), grade }),
                }
            }
            Next::Broken(fault) => skipped.add(record.line, fault),
            Next::Header => skipped.add(record.line, RowFault::repeated_header()),
            Next::End => break,
        }
    }
    inputs::note_skipped(path, &skipped, &Watch::default());
    ensure!(!pairs.is_empty(), "{}: expected pairs below the header, found none", path.display());
    Ok(pairs)
}

impl<'a> Seen<'a> {
    fn new(model: &'a NamedModel, pair: &Pair, options: &KeywordOptions) -> Seen<'a> {
        let found = Explainer::new(&model.model).explain(&pair.query, &pair.title);
        let keywords = [found.query.keywords(options), found.title.keywords(options)];
        Seen { model, found, keywords }
    }

    fn explained(&self, options: &KeywordOptions, states: bool) -> Explained<'_, MatchReport<'_>> {
        let mut report = self.found.report(self.keywords.each_ref().map(Option::as_ref), UNITS);
        if states {
            report.query.states = Some(&self.found.query.panels);
            report.title.states = Some(&self.found.title.panels);
        }
        self.model.explained(options, report)
    }

    /// Returns the units with a positive product, largest first; for a CLSM, its max-pooling units.
    fn shared(&self) -> Vec<&SharedUnit> {
        let units = if self.is_maximum() { &self.found.maximum } else { &self.found.shared };
        units.iter().filter(|unit| unit.product > 0.0).take(UNITS).collect()
    }

    /// Returns whether [`Seen::shared`] gives max-pooling units.
    fn is_maximum(&self) -> bool {
        !self.found.maximum.is_empty()
    }

    /// Returns the query and the title, each with its shares and keywords.
    fn sides(&self) -> [Half<'_>; 2] {
        let [query, title] = &self.keywords;
        [
            Half { name: "query", view: &self.found.query, shares: &self.found.query_words, keywords: query.as_ref() },
            Half { name: "title", view: &self.found.title, shares: &self.found.title_words, keywords: title.as_ref() },
        ]
    }
}

/// One text of a pair as a model sees it.
#[derive(Clone, Copy)]
struct Half<'a> {
    name: &'static str,
    view: &'a TextView,
    shares: &'a WordShares,
    /// `None` for a model that reads bags of words.
    keywords: Option<&'a Keywords>,
}

impl Half<'_> {
    fn is_keyword(&self, position: usize) -> bool {
        self.keywords.is_some_and(|keywords| keywords.is_keyword[position])
    }

    fn has_gates(&self) -> bool {
        self.keywords.is_some_and(|keywords| !keywords.input_gate.is_empty())
    }

    /// Returns the count of a word: `7`, or `7/-` for a bidirectional model; empty for bags of words.
    fn cells(&self, position: usize) -> String {
        match self.keywords.map(|keywords| &keywords.evidence) {
            Some(Evidence::Changes(directions)) => {
                let counts = directions.iter().map(|direction| &direction.assigned[position]);
                let count =
                    |cells: &Option<Vec<usize>>| cells.as_ref().map_or("-".into(), |cells| cells.len().to_string());
                counts.map(count).collect::<Vec<_>>().join("/")
            }
            Some(Evidence::Winners(winners)) => {
                winners.iter().filter(|winner| winner.word == position).count().to_string()
            }
            None => String::new(),
        }
    }

    /// Returns what [`Half::cells`] counts.
    fn cells_title(&self, model: &NamedModel) -> String {
        match self.keywords.map(|keywords| &keywords.evidence) {
            Some(Evidence::Winners(_)) => "units won".to_owned(),
            _ => format!("{}s", model.state()),
        }
    }
}

/// Returns a pair as all models see it, with pictures if there is a page for them.
fn report(pair: &Pair, seen: &[Seen<'_>], has_page: bool) -> Report {
    let mut report = Report::default();
    report.subject("query", &pair.query);
    report.line("title", &pair.title);
    if let Some(grade) = pair.grade {
        report.line("grade", &grade.to_string());
    }
    if seen.len() > 1 {
        report.table(scores(seen));
        report.table(words_side_by_side(seen));
    }
    for one in seen {
        if seen.len() > 1 {
            report.heading(3, one.model.title());
        } else {
            report.line("model", &one.model.title());
        }
        let through = one.found.named_pairs(PAIRS).join(", ");
        let through = if through.is_empty() { through } else { format!("  mostly through {through}") };
        report.line("score", &format!("{:.3}{through}", one.found.score));
        for line in nothing(&one.found).into_iter().chain(beyond(&one.found)) {
            report.paragraph(line);
        }
        report.table(words(one));
        add_units(&mut report, one);
        let texts = one.sides().map(|half| Shown { name: half.name, view: half.view, keywords: half.keywords });
        if let Some(inside) = has_page.then(|| pictures::inside(&texts, one.model.state())).flatten() {
            report.picture(inside);
        }
    }
    report
}

/// Returns the scores of several models.
fn scores(seen: &[Seen<'_>]) -> Table {
    let [model, encoder] = ["model", "encoder"].map(Column::text);
    let mut table = Table::new([model, Column::number("score"), Column::long("mostly through"), encoder]);
    for seen in seen {
        table.add([
            seen.model.name.as_str().into(),
            format!("{:.3}", seen.found.score).into(),
            seen.found.named_pairs(PAIRS).join(", ").into(),
            seen.model.model.encoder_config().to_string().into(),
        ]);
    }
    table
}

/// Tables V–VIII of the LSTM paper: for each model the counts of the words; here also their shares.
fn words_side_by_side(seen: &[Seen<'_>]) -> Table {
    let model_columns = |seen: &Seen<'_>| [seen.model.name.clone(), "along".to_owned()].map(Column::number);
    let columns = [Column::text(""), Column::text("word")];
    let mut table = Table::new(columns.into_iter().chain(seen.iter().flat_map(model_columns)));
    for side in 0..2 {
        let halves: Vec<Half<'_>> = seen.iter().map(|seen| seen.sides()[side]).collect();
        for (number, (word, positions)) in rows(&halves).into_iter().enumerate() {
            let name = halves.first().filter(|_| number == 0).map_or("", |half| half.name);
            let cells = |(half, position): (&Half<'_>, Option<usize>)| -> [Cell; 2] {
                let Some(position) = position else { return ["".into(), "".into()] };
                let (count, along) = (half.cells(position), format!("{:+.3}", half.shares.along[position]));
                [if half.is_keyword(position) { Cell::Strong(count) } else { count.into() }, along.into()]
            };
            let cells = halves.iter().zip(positions).flat_map(cells);
            table.add([name.into(), marks::word(word, false).into()].into_iter().chain(cells));
        }
    }
    table
}

/// Returns the words of both texts as one model sees them, without columns for which this model has no values.
fn words(seen: &Seen<'_>) -> Table {
    let sides = seen.sides();
    let has_states = sides.iter().any(|half| half.keywords.is_some());
    let has_gates = sides.iter().any(Half::has_gates);
    let all = sides.iter().flat_map(|half| half.shares.along.iter().chain(&half.shares.without));
    let largest = all.fold(0.0f64, |largest, share| largest.max(share.abs()));
    let mut columns = vec![Column::text(""), Column::text("word")];
    columns.extend(has_states.then(|| Column::number(sides[0].cells_title(seen.model))));
    columns.extend(has_gates.then(|| Column::number("input gate")));
    columns.extend([Column::share("along", largest), Column::share("without", largest)]);
    let mut table = Table::new(columns);
    for half in &sides {
        for (position, word) in half.view.words.iter().enumerate() {
            let name = if position == 0 { half.name } else { "" };
            let mut row: Vec<Cell> = vec![name.into(), marks::word(word, half.is_keyword(position)).into()];
            row.extend(has_states.then(|| half.cells(position).into()));
            let gate = half.keywords.and_then(|keywords| keywords.input_gate.get(position));
            row.extend(has_gates.then(|| gate.map_or(String::new(), |gate| format!("{gate:.2}")).into()));
            row.extend([half.shares.along[position], half.shares.without[position]].map(Cell::share));
            table.add(row);
        }
    }
    table
}

fn add_units(report: &mut Report, seen: &Seen<'_>) {
    let (shared, found) = (seen.shared(), &seen.found);
    let largest = shared.iter().fold(0.0f64, |largest, unit| largest.max(unit.product));
    let (unit, product) =
        if seen.is_maximum() { ("max-pooling unit", "product") } else { (seen.model.unit(), "share") };
    let has_words = shared.iter().any(|unit| unit.query_word.is_some());
    let mut columns = vec![Column::number(unit), Column::share(product, largest)];
    columns.extend(["query", "title"].map(Column::number));
    columns.extend(["query word", "title word"].into_iter().filter(|_| has_words).map(Column::text));
    let mut table = Table::new(columns);
    for unit in &shared {
        let mut row: Vec<Cell> = vec![(unit.unit + 1).to_string().into(), Cell::share(unit.product)];
        row.extend([unit.query, unit.title].map(|value| format!("{value:+.3}").into()));
        let words = [(&found.query, unit.query_word), (&found.title, unit.title_word)];
        row.extend(words.into_iter().filter(|_| has_words).map(|(view, position)| word_at(view, position).into()));
        table.add(row);
    }
    report.table(table);
    let (sum, dimensions) = (found.units.iter().sum::<f64>(), found.units.len());
    if seen.is_maximum() {
        let largest = found.shared.iter().filter(|unit| unit.product > 0.0).take(PAIRS);
        let largest: Vec<String> = largest.map(|unit| format!("{} {:+.3}", unit.unit + 1, unit.product)).collect();
        let largest = if largest.is_empty() { "none".to_owned() } else { largest.join(", ") };
        report.note(format!(
            "These products do not sum to the score. The shares of the vectors' {dimensions} dimensions do ({sum:.3}); largest: {largest}."
        ));
    } else if !shared.is_empty() {
        let shown: f64 = shared.iter().map(|unit| unit.product).sum();
        report.note(format!(
            "These {} of {dimensions} dimensions add up to {shown:.3}; all of them add up to the score, {sum:.3}.",
            shared.len()
        ));
    }
}

/// Returns why the shares mean nothing, if that is so.
fn nothing(found: &Match) -> Option<String> {
    [("query", &found.query), ("title", &found.title)].into_iter().find_map(|(side, view)| {
        if view.words.is_empty() {
            Some(format!("the {side} has no words, so its vector and the score are zero"))
        } else if view.words.iter().all(|word| !word.known) {
            Some(format!("the model knows none of the {side}'s words, so the score means nothing"))
        } else {
            None
        }
    })
}

/// Returns a note for each text that is longer than the model reads.
fn beyond(found: &Match) -> impl Iterator<Item = String> {
    [("query", &found.query), ("title", &found.title)].into_iter().filter_map(|(side, view)| {
        let tail = view.words.last().filter(|word| word.parts > 1);
        match (tail, view.cut) {
            (Some(tail), _) => {
                let parts = console::count(tail.parts as u64);
                Some(format!("the model reads the last {parts} words of the {side} as one word"))
            }
            (None, 0) => None,
            (None, cut) => {
                let read = console::count(view.words.len() as u64);
                let cut = console::count(cut as u64);
                Some(format!("the model reads only the first {read} words of the {side}; it ignores {cut} more"))
            }
        }
    })
}

/// Returns the words of a text as several models read it, each with its position in what each model read. Models may read different
/// numbers of words, and some of them a merged tail.
fn rows<'a>(halves: &[Half<'a>]) -> Vec<(&'a Word, Vec<Option<usize>>)> {
    let alone = |half: &Half<'_>| half.view.words.iter().take_while(|word| word.parts == 1).count();
    let Some(longest) = halves.iter().max_by_key(|half| alone(half)) else { return Vec::new() };
    let position_in =
        |position: usize| halves.iter().map(|half| (position < alone(half)).then_some(position)).collect();
    let mut rows: Vec<(&Word, Vec<Option<usize>>)> = longest.view.words[..alone(longest)]
        .iter()
        .enumerate()
        .map(|(position, word)| (word, position_in(position)))
        .collect();
    for half in halves {
        let tails = half.view.words.iter().filter(|word| word.parts > 1);
        for tail in tails {
            if rows.iter().all(|(word, _)| *word != tail) {
                let positions =
                    halves.iter().map(|half| half.view.words.iter().position(|word| word == tail)).collect();
                rows.push((tail, positions));
            }
        }
    }
    rows
}

fn word_at(view: &TextView, position: Option<usize>) -> String {
    position.and_then(|position| view.words.get(position)).map_or(String::new(), |word| word.shown().into_owned())
}

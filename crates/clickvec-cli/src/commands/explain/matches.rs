//! `clickvec explain match`: why a title matches a query.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clickvec::encoder::{EncoderConfig, State};
use clickvec::explain::{
    Evidence, Explainer, KeywordOptions, Keywords, Match, MatchReport, SharedUnit, TextView, Word, WordShares,
};
use clickvec::internals::encoder::Reading;
use clickvec::tables::{Skipped, TITLE};
use clickvec_tables::table::{self, Next, Options, Record, RowFault};
use serde::Serialize;

use super::models::{one_of_each_kind, states};
use super::pictures::{self, Shown};
use super::{Form, KeywordFlags, Models, NamedModel, marks, page};
use crate::answer::Answer;
use crate::report::{Cell, Column, Report, Table};
use crate::{input, output};

/// How many pairs of words are named next to the score.
const PAIRS: usize = 3;

/// Show why a title matches a query: what each word and each cell adds to the score, and the keywords of both texts.
///
/// Several models are shown side by side, next to a human grade if there is one.
///
/// The score is the cosine of the two vectors, and the shares of the cells sum to it. A word has two shares. `along` is
/// how far the vector moves towards the other text while the word is read: these sum to the score and depend on the
/// order of the words. `without` is how much the score falls when the word is removed: these do not sum to the score.
#[derive(clap::Args)]
#[command(override_usage = "clickvec explain match [OPTIONS] MODEL QUERY TITLE\n       \
    clickvec explain match [OPTIONS] MODEL --judged FILE\n       \
    clickvec explain match [OPTIONS] MODEL --pairs FILE")]
pub(super) struct Args {
    #[command(flatten)]
    models: Models,

    /// The query.
    #[arg(value_name = "QUERY", requires = "title")]
    query: Option<String>,

    /// The title.
    #[arg(value_name = "TITLE")]
    title: Option<String>,

    /// Explain the pairs of a table of judged titles, with the columns query, title and grade.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "pairs"])]
    judged: Option<PathBuf>,

    /// Explain the pairs of a table with the columns query and title.
    #[arg(long, value_name = "FILE", conflicts_with = "query")]
    pairs: Option<PathBuf>,

    /// A human grade of the pair, 0 to 10, to show next to the scores; with `--judged` it comes from the file.
    #[arg(long, value_name = "GRADE", requires = "query", value_parser = clap::value_parser!(u8).range(0..=10))]
    grade: Option<u8>,

    /// How many pairs of a file to explain; 0 means all.
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "query")]
    limit: usize,

    /// How many cells to show, those with the largest shares.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = crate::numbers::at_least_one::<usize>)]
    top: usize,

    /// With `--json`: also print the states at every word.
    #[arg(long, requires = "json")]
    states: bool,

    #[command(flatten)]
    keywords: KeywordFlags,

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
struct Seen {
    found: Match,
    keywords: [Option<Keywords>; 2],
}

#[derive(Serialize)]
struct JsonPair<'a> {
    #[serde(flatten)]
    pair: &'a Pair,
    threshold: f32,
    models: Vec<JsonMatch<'a>>,
}

#[derive(Serialize)]
struct JsonMatch<'a> {
    model: &'a str,
    encoder: String,
    #[serde(flatten)]
    report: MatchReport<'a>,
}

/// Explains the pairs.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.models.files().chain(&args.judged).chain(&args.pairs))?;
    let models = args.models.load()?;
    let pairs = args.pairs()?;
    let options = args.keywords.options();
    let look = |model: &NamedModel, pair: &Pair| -> Seen {
        let found = Explainer::new(&model.model).explain(&pair.query, &pair.title);
        let keywords = [found.query.keywords(&options), found.title.keywords(&options)];
        Seen { found, keywords }
    };
    let mut legend = Report::default();
    legend.note(meaning(&models, &options));
    let mut out = output::stdout();
    let (mut shown, mut has_heat) = (vec![legend.to_markup()], false);
    for (number, pair) in pairs.iter().enumerate() {
        let seen: Vec<Seen> = models.iter().map(|model| look(model, pair)).collect();
        let mut report = Report::default();
        add_pair(&mut report, pair, &models, &seen, args);
        if args.form.json {
            let models = models.iter().zip(&seen).map(|(model, seen)| args.json(model, seen)).collect();
            output::json_line(&mut out, &JsonPair { pair, threshold: options.threshold, models })?;
        } else {
            let gap = if number > 0 { "\n" } else { "" };
            output::written(write!(out, "{gap}{}", report.to_text()))?;
        }
        if args.form.html.is_some() {
            has_heat |= seen.iter().any(|seen| pictures::has_heat(&seen.found.query));
            shown.push(report.to_markup());
        }
    }
    if !args.form.json {
        output::written(write!(out, "\n{}", legend.to_text()))?;
    }
    output::written(out.flush())?;
    args.form.write_page(|| {
        page::page("Why these texts match", has_heat, &maud::html! { @for part in &shown { (part) } })
    })?;
    Ok(Answer::Done)
}

impl Args {
    fn json<'a>(&self, model: &'a NamedModel, seen: &'a Seen) -> JsonMatch<'a> {
        let mut report = seen.found.report(seen.keywords.each_ref().map(Option::as_ref), self.top);
        if self.states {
            report.query.states = Some(&seen.found.query.panels);
            report.title.states = Some(&seen.found.title.panels);
        }
        JsonMatch { model: &model.name, encoder: model.model.encoder_config().to_string(), report }
    }

    /// Returns the pairs to explain.
    fn pairs(&self) -> Result<Vec<Pair>> {
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let pairs: Vec<Pair> = match (&self.query, &self.title, &self.judged, &self.pairs) {
            (Some(query), Some(title), None, None) => {
                vec![Pair { query: query.clone(), title: title.clone(), grade: self.grade }]
            }
            (None, None, Some(judged), None) => {
                let judgments = input::judgments(judged, TITLE)?;
                let pairs = judgments.queries.iter().flat_map(|query| {
                    let pair = |title: &clickvec_eval::JudgedTitle| Pair {
                        query: query.text.clone(),
                        title: title.text.clone(),
                        grade: Some(title.grade),
                    };
                    query.titles.iter().map(pair).collect::<Vec<_>>()
                });
                pairs.take(limit).collect()
            }
            (None, None, None, Some(path)) => {
                let mut rows = table::Table::open(path, &Options::default())?;
                let (query, title) = (rows.require("query")?, rows.require(TITLE)?);
                let (mut pairs, mut skipped, mut record) = (Vec::new(), Skipped::default(), Record::default());
                while pairs.len() < limit {
                    match rows.next(&mut record)? {
                        Next::Row => pairs.push(Pair {
                            query: record.get(query).unwrap_or_default().to_owned(),
                            title: record.get(title).unwrap_or_default().to_owned(),
                            grade: None,
                        }),
                        Next::Broken(fault) => skipped.add(record.line, fault),
                        Next::Header => skipped.add(record.line, RowFault::header_again()),
                        Next::End => break,
                    }
                }
                input::note_skipped(path, &skipped);
                ensure!(!pairs.is_empty(), "{}: expected pairs below the header, found none", path.display());
                pairs
            }
            _ => bail!(
                "expected a query and a title, or `--judged FILE`, or `--pairs FILE`, found none of them; see \
                 `clickvec explain match --help`"
            ),
        };
        Ok(pairs)
    }
}

impl Seen {
    /// Returns the units with a positive product, largest first; for a CLSM, its max-pooling units.
    fn shared(&self, top: usize) -> Vec<&SharedUnit> {
        let units = if self.is_maximum() { &self.found.maximum } else { &self.found.shared };
        units.iter().filter(|unit| unit.product > 0.0).take(top).collect()
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
                let count = |counts: &clickvec::explain::DirectionCounts| {
                    counts.assigned[position].as_ref().map_or("-".to_owned(), |cells| cells.len().to_string())
                };
                directions.iter().map(count).collect::<Vec<_>>().join("/")
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

/// Adds a pair as all models see it.
fn add_pair(report: &mut Report, pair: &Pair, models: &[NamedModel], seen: &[Seen], args: &Args) {
    report.subject("query", &pair.query);
    report.line("title", &pair.title);
    if let Some(grade) = pair.grade {
        report.line("grade", &grade.to_string());
    }
    if models.len() > 1 {
        report.table(scores(models, seen));
        report.table(words_side_by_side(models, seen));
    }
    for (model, seen) in models.iter().zip(seen) {
        if models.len() > 1 {
            report.heading(3, model.title());
        } else {
            report.line("model", &model.title());
        }
        let through = pairs_of_words(&seen.found, PAIRS).join(", ");
        let through = if through.is_empty() { through } else { format!("  mostly through {through}") };
        report.line("score", &format!("{:.3}{through}", seen.found.score));
        for line in nothing(&seen.found).into_iter().chain(beyond(&seen.found)) {
            report.paragraph(line);
        }
        report.table(words(seen, model));
        add_units(report, model, seen, args.top);
        if args.form.html.is_some() {
            let texts = seen.sides().map(|of| Shown { name: of.name, view: of.view, keywords: of.keywords });
            report.picture(pictures::inside(&texts, model.state()));
        }
    }
}

/// Returns the scores of several models.
fn scores(models: &[NamedModel], seen: &[Seen]) -> Table {
    let columns = ["model", "encoder"].map(Column::text);
    let [model, encoder] = columns;
    let mut table = Table::new([model, Column::number("score"), Column::long("mostly through"), encoder]);
    for (model, seen) in models.iter().zip(seen) {
        table.add([
            model.name.as_str().into(),
            format!("{:.3}", seen.found.score).into(),
            pairs_of_words(&seen.found, PAIRS).join(", ").into(),
            model.model.encoder_config().to_string().into(),
        ]);
    }
    table
}

/// Tables V–VIII of the LSTM paper: for each model the counts of the words; here also their shares.
fn words_side_by_side(models: &[NamedModel], seen: &[Seen]) -> Table {
    let model_columns = |model: &NamedModel| [model.name.clone(), "along".to_owned()].map(Column::number);
    let columns = [Column::text(""), Column::text("word")];
    let mut table = Table::new(columns.into_iter().chain(models.iter().flat_map(model_columns)));
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
fn words(seen: &Seen, model: &NamedModel) -> Table {
    let sides = seen.sides();
    let has_states = sides.iter().any(|half| half.keywords.is_some());
    let has_gates = sides.iter().any(Half::has_gates);
    let all = sides.iter().flat_map(|half| half.shares.along.iter().chain(&half.shares.without));
    let largest = all.fold(0.0f64, |largest, share| largest.max(share.abs()));
    let mut columns = vec![Column::text(""), Column::text("word")];
    columns.extend(has_states.then(|| Column::number(sides[0].cells_title(model))));
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

fn add_units(report: &mut Report, model: &NamedModel, seen: &Seen, top: usize) {
    let (shared, found) = (seen.shared(top), &seen.found);
    let largest = shared.iter().fold(0.0f64, |largest, unit| largest.max(unit.product));
    let (unit, product) = if seen.is_maximum() { ("max-pooling unit", "product") } else { (model.unit(), "share") };
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
                let parts = output::count(tail.parts as u64);
                Some(format!("the model reads the last {parts} words of the {side} as one word"))
            }
            (None, 0) => None,
            (None, cut) => {
                let read = output::count(view.words.len() as u64);
                let cut = output::count(cut as u64);
                Some(format!("the model reads only the first {read} words of the {side}; it ignores {cut} more"))
            }
        }
    })
}

/// Returns the pairs of words that add most to the score, at most so many, largest share first: `chicago 0.42`, `hotels ↔ rooms
/// 0.12`. Adds up shares of the same two words at different positions.
pub(in super::super) fn pairs_of_words(found: &Match, most: usize) -> Vec<String> {
    let mut shares: Vec<(&Word, &Word, f64)> = Vec::new();
    for pair in found.word_pairs() {
        let (query, title) = (&found.query.words[pair.query_word], &found.title.words[pair.title_word]);
        // What the model does not know is no reason.
        if !(query.known && title.known) {
            continue;
        }
        match shares.iter_mut().find(|(first, second, _)| *first == query && *second == title) {
            Some((_, _, share)) => *share += pair.share,
            None => shares.push((query, title, pair.share)),
        }
    }
    shares.sort_by(|a, b| b.2.total_cmp(&a.2));
    let shown = shares.into_iter().filter(|(_, _, share)| *share >= 0.005).take(most);
    let named = shown.map(|(query, title, share)| {
        if query == title {
            format!("{} {share:.2}", query.shown())
        } else {
            format!("{} ↔ {} {share:.2}", query.shown(), title.shown())
        }
    });
    named.collect()
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

/// Returns what the columns mean, once for all pairs.
fn meaning(models: &[NamedModel], options: &KeywordOptions) -> String {
    let mut lines = vec![
        "along: how far the vector moves towards the other text while the word is read; these sum to the score"
            .to_owned(),
        "without: how much the score falls when the word is removed; these do not sum to it".to_owned(),
    ];
    if models.iter().any(|named| named.description().reading == Reading::WordByWord) {
        let (least, cells, threshold, states) = (options.at_least, options.cells, options.threshold, states(models));
        lines.push(format!(
            "* (bold on a page): a keyword: it changes at least {least} of the {cells} most active {states}\n   \
             by more than {threshold} of their mean activation; the word that is read first changes all of them (-)"
        ));
    }
    if models.iter().any(|named| named.model.encoder_config().projection().is_some()) {
        lines.push("A dimension of a projection mixes all cells, so it has no words of its own.".to_owned());
    }
    for config in one_of_each_kind(models, |of| of.reading == Reading::Windows) {
        let (kind, units) = (a_kind(config), options.units);
        lines.push(format!(
            "* (bold on a page): a keyword of {kind}: it wins at least one of the {units} most active max-pooling units"
        ));
    }
    for config in one_of_each_kind(models, |of| of.reading == Reading::WordByWord && of.gates.is_empty()) {
        lines.push(format!("{} has no gates, so there is no input gate to show.", capitalized(&a_kind(config))));
    }
    for config in one_of_each_kind(models, |of| !of.gates.is_empty() && !of.gates.contains(&State::InputGate)) {
        let names: Vec<String> = config.description().gates.iter().map(|gate| format!("the {gate}")).collect();
        let kind = capitalized(&a_kind(config));
        lines.push(format!("{kind} has no input gate: its page shows {}.", names.join(" and ")));
    }
    for config in one_of_each_kind(models, |of| of.reading == Reading::Bag) {
        let kind = capitalized(&a_kind(config));
        lines.push(format!("{kind} reads a bag of words, so it has no states word by word."));
    }
    lines.join("\n")
}

/// Returns the kind of an encoder with its article, which depends on how its letters are read: `an lstm`.
fn a_kind(config: &EncoderConfig) -> String {
    let article = if config.kind().starts_with(['l', 'r']) { "an" } else { "a" };
    format!("{article} {}", config.kind())
}

/// Returns a sentence's beginning, in letters from a to z.
fn capitalized(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

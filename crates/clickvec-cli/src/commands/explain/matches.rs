//! `clickvec explain match`: why a title matches a query.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clickvec::explain::{Evidence, Explainer, KeywordOptions, Keywords, Match, SharedUnit, TextView, WordShares};
use clickvec::internals::tables::{Line, TableReader};
use clickvec::tables::{Skipped, TITLE};
use maud::{Markup, html};
use serde::Serialize;

use super::json::{self, JsonMatch};
use super::{Form, KeywordFlags, Models, Named, heat, page, sections};
use crate::answer::Answer;
use crate::{input, output, table};

/// Show why a title matches a query: what each word and each cell brings to the score, and the keywords of both.
///
/// The score is the cosine of the two vectors. Cells share it out exactly. A word's share has two definitions: `along` is
/// how far the vector moves towards the other text while the word is read (sums to the score, depends on the order);
/// `without` is how much the score falls when the word is left out (does not sum to the score).
#[derive(clap::Args)]
#[command(override_usage = "clickvec explain match --model MODEL [OPTIONS] QUERY TITLE\n       \
    clickvec explain match --model MODEL [OPTIONS] --judged FILE\n       \
    clickvec explain match --model MODEL [OPTIONS] --pairs FILE")]
pub(super) struct Args {
    #[command(flatten)]
    models: Models,

    /// The query.
    #[arg(value_name = "QUERY", requires = "title")]
    query: Option<String>,

    /// The title.
    #[arg(value_name = "TITLE")]
    title: Option<String>,

    /// Explain every pair of a test set, a table with the columns query, title and grade.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "pairs"])]
    judged: Option<PathBuf>,

    /// Explain every pair of a table with the columns query and title.
    #[arg(long, value_name = "FILE", conflicts_with = "query")]
    pairs: Option<PathBuf>,

    /// What a person says of the pair, 0 to 4, to stand beside the scores; `--judged` has it.
    #[arg(long, value_name = "GRADE", requires = "query", value_parser = clap::value_parser!(u8).range(0..=4))]
    grade: Option<u8>,

    /// How many pairs of a file to explain; 0 means all.
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,

    /// How many cells to show, those that bring most.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = super::at_least_one)]
    top: usize,

    /// JSON only: the states of every word as well.
    #[arg(long, requires = "json")]
    states: bool,

    #[command(flatten)]
    keywords: KeywordFlags,

    #[command(flatten)]
    form: Form,
}

/// A query and a title, and perhaps what a person says of them.
struct Pair {
    query: String,
    title: String,
    grade: Option<u8>,
}

/// A pair as a model sees it.
struct Seen {
    found: Match,
    keywords: [Option<Keywords>; 2],
}

#[derive(Serialize)]
struct JsonPair<'a> {
    query: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    grade: Option<u8>,
    threshold: f32,
    models: Vec<JsonMatch<'a>>,
}

/// Explains the pairs.
pub(super) fn run(args: &Args) -> Result<Answer> {
    args.form.check(args.models.files().chain(&args.judged).chain(&args.pairs))?;
    let models = args.models.load()?;
    let pairs = args.pairs()?;
    let options = args.keywords.options();
    let look = |model: &Named, pair: &Pair| -> Seen {
        let found = Explainer::new(&model.model).explain(&pair.query, &pair.title);
        let keywords = [found.query.keywords(&options), found.title.keywords(&options)];
        Seen { found, keywords }
    };
    let mut out = output::stdout();
    let mut explained = Vec::new();
    for (number, pair) in pairs.iter().enumerate() {
        let seen: Vec<Seen> = models.iter().map(|model| look(model, pair)).collect();
        if args.form.json {
            let models = models.iter().zip(&seen).map(|(model, seen)| {
                let keywords = [seen.keywords[0].as_ref(), seen.keywords[1].as_ref()];
                let encoder = model.model.encoder_config().to_string();
                json::of_match(&model.name, encoder, &seen.found, keywords, args.states, args.top)
            });
            let line = JsonPair {
                query: &pair.query,
                title: &pair.title,
                grade: pair.grade,
                threshold: options.threshold,
                models: models.collect(),
            };
            output::json_line(&mut out, &line)?;
        } else {
            let gap = if number > 0 { "\n" } else { "" };
            output::written(write!(out, "{gap}{}", shown(pair, &models, &seen, args.top, &options)))?;
        }
        if args.form.html.is_some() {
            explained.push(seen);
        }
    }
    output::written(out.flush())?;
    args.form.write_page(|| page_of(&pairs, &models, &explained, args.top))?;
    Ok(Answer::Done)
}

impl Args {
    /// What to explain.
    fn pairs(&self) -> Result<Vec<Pair>> {
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let pairs: Vec<Pair> = match (&self.query, &self.title, &self.judged, &self.pairs) {
            (Some(query), Some(title), None, None) => {
                vec![Pair { query: query.clone(), title: title.clone(), grade: self.grade }]
            }
            (None, None, Some(judged), None) => {
                let judgments = input::judgments(judged, TITLE)?;
                let pairs = judgments.queries.iter().flat_map(|query| {
                    let pair = |title: &clickvec::eval::JudgedTitle| Pair {
                        query: query.text.clone(),
                        title: title.text.clone(),
                        grade: Some(title.grade),
                    };
                    query.titles.iter().map(pair).collect::<Vec<_>>()
                });
                pairs.take(limit).collect()
            }
            (None, None, None, Some(path)) => {
                let mut rows = TableReader::open(path)?;
                let (query, title) = (rows.require("query")?, rows.require(TITLE)?);
                let (mut pairs, mut skipped) = (Vec::new(), Skipped::default());
                while pairs.len() < limit
                    && let Some(line) = rows.next()?
                {
                    match line {
                        Line::Whole(row) => pairs.push(Pair {
                            query: row.get(query).unwrap_or_default().to_owned(),
                            title: row.get(title).unwrap_or_default().to_owned(),
                            grade: None,
                        }),
                        Line::Broken { line, fault } => skipped.add(line, fault),
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

/// A pair in words.
fn shown(pair: &Pair, models: &[Named], seen: &[Seen], top: usize, options: &KeywordOptions) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "query  {}", output::printable(&pair.query));
    let _ = writeln!(text, "title  {}", output::printable(&pair.title));
    if let Some(grade) = pair.grade {
        let _ = writeln!(text, "grade  {grade}");
    }
    for (model, seen) in models.iter().zip(seen) {
        let found = &seen.found;
        let _ = writeln!(text, "\n{}: {}", model.name, model.model.encoder_config());
        let _ = writeln!(text, "score  {:.3}", found.score);
        if let Some(why) = nothing(found) {
            let _ = writeln!(text, "{why}");
        }
        let mut words = table::plain();
        words.set_header(["", "word", "keyword", "cells", "input gate", "along", "without"]);
        let sides = [
            ("query", &found.query, &found.query_words, &seen.keywords[0]),
            ("title", &found.title, &found.title_words, &seen.keywords[1]),
        ];
        for (side, view, shares, keywords) in sides {
            for (place, row) in word_rows(view, shares, keywords.as_ref()).into_iter().enumerate() {
                let side = if place == 0 { side } else { "" };
                words.add_row(std::iter::once(side.to_owned()).chain(row));
            }
        }
        table::align_right(&mut words, 3..7);
        let _ = writeln!(text, "\n{}", table::show(&mut words));
        let shared = if found.maximum.is_empty() { &found.shared } else { &found.maximum };
        let shared: Vec<&SharedUnit> = shared.iter().filter(|unit| unit.product > 0.0).take(top).collect();
        if !shared.is_empty() {
            let _ = writeln!(text, "\n{}", units_table(found, &shared));
        }
        let sum: f64 = found.units.iter().sum();
        let _ = writeln!(
            text,
            "The {} numbers of the vectors share out {sum:.3}; {} shown.",
            found.units.len(),
            shared.len()
        );
    }
    let _ = writeln!(
        text,
        "along: how far the vector moves towards the other text at the word; sums to the score\n\
         without: how much the score falls without the word; does not sum to it"
    );
    if seen.iter().any(|seen| matches!(seen.keywords[0].as_ref().map(|k| &k.evidence), Some(Evidence::Changes(_)))) {
        let _ = writeln!(
            text,
            "keyword: changes at least {} of the {} most active cells by more than {} of their mean activation",
            options.at_least, options.cells, options.threshold
        );
    }
    text
}

/// Why there is nothing to share out.
fn nothing(found: &Match) -> Option<String> {
    [("query", &found.query), ("title", &found.title)].into_iter().find_map(|(side, view)| {
        if view.words.is_empty() {
            Some(format!("the {side} has no word: its vector is zero, and so is the score"))
        } else if view.words.iter().all(|word| !word.known) {
            Some(format!("the model knows none of the {side}'s words: the score says nothing"))
        } else {
            None
        }
    })
}

/// Word, keyword, cells, input gate, along, without.
fn word_rows(view: &TextView, shares: &WordShares, keywords: Option<&Keywords>) -> Vec<[String; 6]> {
    let row = |place: usize| {
        let word = &view.words[place];
        let name = if word.known { word.text.clone() } else { format!("{} (unknown)", word.text) };
        let is_keyword = keywords.is_some_and(|keywords| keywords.is_keyword[place]);
        let gate = keywords.and_then(|keywords| keywords.input_gate.get(place));
        [
            name,
            if is_keyword { "*".to_owned() } else { String::new() },
            keywords.map_or(String::new(), |keywords| cells_of(keywords, place)),
            gate.map_or(String::new(), |gate| format!("{gate:.2}")),
            format!("{:+.3}", shares.along[place]),
            format!("{:+.3}", shares.without[place]),
        ]
    };
    (0..view.words.len()).map(row).collect()
}

/// `7`, of a bidirectional model `7/-`.
fn cells_of(keywords: &Keywords, place: usize) -> String {
    match &keywords.evidence {
        Evidence::Changes(directions) => {
            let count = |counts: &clickvec::explain::DirectionCounts| {
                counts.assigned[place].as_ref().map_or("-".to_owned(), |cells| cells.len().to_string())
            };
            directions.iter().map(count).collect::<Vec<_>>().join("/")
        }
        Evidence::Winners(winners) => winners.iter().filter(|winner| winner.word == place).count().to_string(),
    }
}

/// What the units of a table are.
fn unit_title(found: &Match) -> &'static str {
    if found.maximum.is_empty() { "share" } else { "product" }
}

fn units_table(found: &Match, shared: &[&SharedUnit]) -> String {
    let mut units = table::plain();
    let unit = if found.maximum.is_empty() { "cell" } else { "unit of the maximum" };
    let words = shared.iter().any(|unit| unit.query_word.is_some());
    let mut header = vec![unit, unit_title(found), "query", "title"];
    if words {
        header.extend(["query word", "title word"]);
    }
    units.set_header(header);
    for unit in shared {
        let mut row = vec![
            (unit.unit + 1).to_string(),
            format!("{:+.3}", unit.product),
            format!("{:+.3}", unit.query),
            format!("{:+.3}", unit.title),
        ];
        if words {
            row.extend([word_at(&found.query, unit.query_word), word_at(&found.title, unit.title_word)]);
        }
        units.add_row(row);
    }
    table::align_right(&mut units, 1..4);
    table::show(&mut units)
}

fn word_at(view: &TextView, place: Option<usize>) -> String {
    place.and_then(|place| view.words.get(place)).map_or(String::new(), |word| word.text.clone())
}

fn page_of(pairs: &[Pair], models: &[Named], explained: &[Vec<Seen>], top: usize) -> Markup {
    let heat = explained.iter().flatten().any(|seen| sections::has_heat(&seen.found.query));
    let body = html! {
        p.soft {
            "Underlined words are keywords. A word's share " i { "along" } " is how far the vector moves towards the other text "
            "while the word is read: these shares sum to the score and depend on the order. The share " i { "without" }
            " is how much the score falls when the word is left out: these do not sum to the score."
        }
        @for (pair, seen) in pairs.iter().zip(explained) {
            h2.text { (pair.query) }
            p.text { "against the title " b { (pair.title) } @if let Some(grade) = pair.grade { ", grade " (grade) } }
            @if models.len() > 1 {
                table {
                    tr { @for model in models { th { (model.name) } } @if pair.grade.is_some() { th { "grade" } } }
                    tr {
                        @for seen in seen { td.n { (format!("{:.3}", seen.found.score)) } }
                        @if let Some(grade) = pair.grade { td.n { (grade) } }
                    }
                }
            }
            @for (model, seen) in models.iter().zip(seen) {
                (section(model, seen, top))
            }
        }
    };
    page::page("Why these texts match", heat, body)
}

/// A pair as one model sees it.
fn section(model: &Named, seen: &Seen, top: usize) -> Markup {
    let found = &seen.found;
    let range = sections::common_range([&found.query, &found.title]);
    let active = sections::activation_range([&found.query, &found.title]);
    let columns = found.query.words.len().max(found.title.words.len());
    let shared = if found.maximum.is_empty() { &found.shared } else { &found.maximum };
    let shared: Vec<&SharedUnit> = shared.iter().filter(|unit| unit.product > 0.0).take(top).collect();
    let sides = [
        ("Query", &found.query, &found.query_words, &seen.keywords[0]),
        ("Title", &found.title, &found.title_words, &seen.keywords[1]),
    ];
    let all = sides.iter().flat_map(|(_, _, shares, _)| shares.along.iter().chain(&shares.without));
    let largest = all.fold(0.0f64, |largest, share| largest.max(share.abs()));
    html! {
        h3 { (model.name) " (" (model.model.encoder_config()) "): score " (format!("{:.3}", found.score)) }
        @if let Some(why) = nothing(found) { p { (why) } }
        @for (side, view, shares, keywords) in sides {
            p { span.soft { (side) ": " } (sections::text(view, keywords.as_ref())) }
            div.wide {
                table {
                    tr {
                        th { "word" } th.n { "cells" } th.n { "input gate" }
                        th.n colspan="2" { "along" } th.n colspan="2" { "without" }
                    }
                    @for (place, [word, _, cells, gate, _, _]) in word_rows(view, shares, keywords.as_ref()).into_iter().enumerate() {
                        tr {
                            td { @if keywords.as_ref().is_some_and(|k| k.is_keyword[place]) { b.key { (word) } } @else { (word) } }
                            td.n { (cells) }
                            td.n { (gate) }
                            (page::share(shares.along[place], largest))
                            (page::share(shares.without[place], largest))
                        }
                    }
                }
            }
        }
        @if !shared.is_empty() {
            h3 { @if found.maximum.is_empty() { "What both texts share" } @else { "Units of the maximum that both activate" } }
            div.wide {
                table {
                    tr {
                        th.n { @if found.maximum.is_empty() { "cell" } @else { "unit" } }
                        th.n { (unit_title(found)) } th.n { "query" } th.n { "title" } th { "query word" } th { "title word" }
                    }
                    @for unit in &shared {
                        tr {
                            td.n { (unit.unit + 1) }
                            td.n { (format!("{:+.3}", unit.product)) }
                            td.n { (format!("{:+.3}", unit.query)) }
                            td.n { (format!("{:+.3}", unit.title)) }
                            td { (word_at(&found.query, unit.query_word)) }
                            td { (word_at(&found.title, unit.title_word)) }
                        }
                    }
                }
            }
        }
        @if sections::has_heat(&found.query) {
            h3 { "Inside, word by word" }
            div.common { (heat::legend(range)) }
            @for (side, view, _, keywords) in sides {
                p.soft { (side) ": one row a cell, one column a word; nothing where the text has ended" }
                @if let Some(keywords) = keywords { (sections::active_cells(view, keywords, columns, active)) }
                (sections::heat_maps(view, columns, range))
            }
        }
    }
}

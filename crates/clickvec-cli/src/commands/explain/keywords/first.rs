//! Queries next to the title that a search ranks first, with the keywords of both (CLSM paper, table 8).

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::Result;
use clickvec::explain::{Explainer, KeywordOptions, Keywords, TextView, Word};
use clickvec::internals::encoder::Reading;
use clickvec::model::Side;
use clickvec_index::{Engine, Mode, Request};
use maud::html;
use serde::Serialize;

use super::{Args, NamedModel, Seen, what_is_counted};
use crate::answer::Answer;
use crate::commands::explain::json::JsonText;
use crate::commands::explain::{given, page, sections};
use crate::{aligned, output};

/// A query with the title that is ranked first.
struct Row {
    query: Seen,
    /// `None` if nothing was found.
    first: Option<First>,
}

struct First {
    id: String,
    score: f32,
    title: Seen,
}

#[derive(Serialize)]
struct Line<'a> {
    model: &'a str,
    encoder: String,
    threshold: f32,
    query: JsonText<'a>,
    first: Option<JsonFirst<'a>>,
}

#[derive(Serialize)]
struct JsonFirst<'a> {
    id: &'a str,
    score: f32,
    title: JsonText<'a>,
}

/// Shows the queries and their titles. The answer is no if no title was found.
pub(super) fn run(args: &Args, models: &[NamedModel], queries: &[String], options: &KeywordOptions) -> Result<Answer> {
    let mut out = output::stdout();
    let mut all: Vec<Vec<Row>> = Vec::new();
    for model in models {
        let index = Engine::open(&model.path)?;
        let rows = rows(model, &index, queries, options)?;
        if args.form.json {
            for row in &rows {
                output::json_line(&mut out, &json(model, row, options))?;
            }
        } else {
            let gap = if all.is_empty() { "" } else { "\n" };
            output::written(write!(out, "{gap}{}", shown(model, &rows, options)))?;
        }
        all.push(rows);
    }
    output::written(out.flush())?;
    args.form.write_page(|| page_of(models, &all, options))?;
    let any = all.iter().flatten().any(|row| row.first.is_some());
    Ok(if any { Answer::Done } else { Answer::No })
}

fn rows(model: &NamedModel, index: &Engine, queries: &[String], options: &KeywordOptions) -> Result<Vec<Row>> {
    let explainer = Explainer::new(&model.model);
    let seen = |view: TextView| Seen { keywords: view.keywords(options), view };
    let requests: Vec<Request> = queries.iter().map(|query| Request::new(query, Mode::Vectors).with_k(1)).collect();
    let answers = index.search_all(&requests)?;
    let row = |(query, answer): (&String, &clickvec_index::Answer)| Row {
        query: seen(explainer.text(Side::Query, query)),
        first: answer.hits.first().map(|hit| First {
            id: hit.id.clone(),
            score: hit.score,
            title: seen(explainer.text(Side::Title, &hit.title)),
        }),
    };
    Ok(queries.iter().zip(&answers).map(row).collect())
}

fn json<'a>(model: &'a NamedModel, row: &'a Row, options: &KeywordOptions) -> Line<'a> {
    let text = |seen: &'a Seen| JsonText::new(&seen.view, seen.keywords.as_ref(), None);
    Line {
        model: &model.name,
        encoder: model.model.encoder_config().to_string(),
        threshold: options.threshold,
        query: text(&row.query),
        first: row.first.as_ref().map(|first| JsonFirst {
            id: &first.id,
            score: first.score,
            title: text(&first.title),
        }),
    }
}

/// The words of a text, keywords between asterisks.
fn marked(seen: &Seen) -> String {
    let is_keyword =
        |place: usize| seen.keywords.as_ref().is_some_and(|keywords: &Keywords| keywords.is_keyword[place]);
    if seen.view.words.is_empty() {
        return given(&seen.view.text).into_owned();
    }
    let word = |(place, word): (usize, &Word)| {
        if is_keyword(place) { format!("*{}*", word.shown()) } else { word.shown().into_owned() }
    };
    seen.view.words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

/// Why a search found nothing.
fn nothing(query: &Seen) -> &'static str {
    if query.view.words.is_empty() {
        "nothing: the query has no words"
    } else {
        "nothing: the model knows no word of the query"
    }
}

fn shown(model: &NamedModel, rows: &[Row], options: &KeywordOptions) -> String {
    let mut lines = aligned::plain();
    lines.set_header(["query", "score", "title ranked first"]);
    for row in rows {
        let (score, title) = match &row.first {
            Some(first) => (format!("{:.3}", first.score), marked(&first.title)),
            None => (String::new(), nothing(&row.query).to_owned()),
        };
        lines.add_row([marked(&row.query), score, title]);
    }
    aligned::align_right(&mut lines, 1..2);
    let mut text = format!("{}\n\n{}\n", model.title(), aligned::show(&mut lines));
    let _ = match model.description().reading {
        Reading::WordByWord => writeln!(
            text,
            "\n*keyword*: changes at least {} of the {} most active {}s by more than {} of their mean activation",
            options.at_least,
            options.cells,
            model.state(),
            options.threshold
        ),
        Reading::Windows => {
            writeln!(text, "\n*keyword*: wins at least one of the {} most active max-pooling units", options.units)
        }
        Reading::Bag => writeln!(text, "\n{}", super::NO_STATES),
    };
    text
}

fn page_of(models: &[NamedModel], all: &[Vec<Row>], options: &KeywordOptions) -> String {
    let body = html! {
        (what_is_counted(models, options))
        @for (model, rows) in models.iter().zip(all) {
            h2 { (model.title()) }
            div.wide {
                table {
                    thead { tr { th { "query" } th.n { "score" } th { "title ranked first" } } }
                    tbody {
                        @for row in rows {
                            tr {
                                td.long { (sections::text(&row.query.view, row.query.keywords.as_ref())) }
                                @match &row.first {
                                    Some(first) => {
                                        td.n { (format!("{:.3}", first.score)) }
                                        td.long { (sections::text(&first.title.view, first.title.keywords.as_ref())) }
                                    }
                                    None => { td {} td.long.soft { (nothing(&row.query)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    page::page("Queries and the titles ranked first", false, &body)
}

//! Prints answers as text, as JSON or as a TREC run.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use clickvec_eval::trec::{RunLine, write_run_lines};
use serde::Serialize;

use super::Args;
use super::outcome::{Outcome, Shown};
use crate::console;

/// The tag of the runs of --trec.
const TAG: &str = "clickvec";
/// The name of standard output in errors.
const STANDARD_OUTPUT: &str = "standard output";

/// Prints answers.
pub(super) struct Printer {
    form: Form,
    /// The ids of the queries, if they have any.
    ids: Vec<String>,
}

/// The form of answers.
enum Form {
    Text {
        /// Whether results show which query they belong to.
        several: bool,
        first: bool,
    },
    Json,
    Trec {
        /// The number of queries that were answered.
        queries: usize,
        /// The number of lines that were written.
        lines: u64,
    },
}

/// The answer as JSON.
#[derive(Serialize)]
struct JsonAnswer<'a> {
    /// `None` if a line of standard input is not valid text.
    query: Option<&'a str>,
    /// What was searched for, if words were corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    corrected: Option<&'a str>,
    /// Whether no title is likely to be a good match.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    weak: bool,
    results: &'a [Shown],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Printer {
    /// Prints in the form that the options name, with these ids of queries.
    pub(super) fn new(args: &Args, ids: Vec<String>) -> Printer {
        let form = if args.json {
            Form::Json
        } else if args.trec {
            Form::Trec { queries: 0, lines: 0 }
        } else {
            Form::Text { several: args.queries.len() != 1, first: true }
        };
        Printer { form, ids }
    }

    /// Prints the titles that were found for a query.
    pub(super) fn print(&mut self, query: &str, answer: &Outcome, out: &mut impl Write) -> Result<()> {
        let found = &answer.results[..];
        match &mut self.form {
            Form::Json => {
                let Outcome { weak, corrected, .. } = answer;
                let (query, corrected) = (Some(query), corrected.as_deref());
                console::json_line(out, &JsonAnswer { query, corrected, weak: *weak, results: found, error: None })
            }
            Form::Text { several, first } => {
                let gap = if *first { "" } else { "\n" };
                *first = false;
                let heading = several.then(|| format!("{gap}{}\n", console::printable(query)));
                console::written(print_text(&heading.unwrap_or_default(), found, out))
            }
            Form::Trec { queries, lines } => {
                let id = self.ids.get(*queries).cloned().unwrap_or_else(|| (*queries + 1).to_string());
                *queries += 1;
                let line = |found: &Shown| RunLine {
                    query_id: id.clone(),
                    title_id: found.id.clone(),
                    rank: found.rank as u64,
                    score: f64::from(found.score),
                };
                let run: Vec<RunLine> = found.iter().map(line).collect();
                let mut text = Vec::new();
                write_run_lines(&mut text, Path::new(STANDARD_OUTPUT), TAG, *lines + 1, &run)?;
                *lines += run.len() as u64;
                console::written(out.write_all(&text))
            }
        }
    }

    /// Prints the answer to a bad line for programs. People have read the error already. In a run, the line still counts as a
    /// query.
    pub(super) fn print_bad(&mut self, error: &clickvec_tables::Error, out: &mut impl Write) -> Result<()> {
        match &mut self.form {
            Form::Text { .. } => Ok(()),
            Form::Json => {
                let answer = JsonAnswer {
                    query: None,
                    corrected: None,
                    weak: false,
                    results: &[],
                    error: Some(error.to_string()),
                };
                console::json_line(out, &answer)
            }
            Form::Trec { queries, .. } => {
                *queries += 1;
                Ok(())
            }
        }
    }
}

/// The width of the column of ids. Longer ones move their titles to the right.
const WIDEST_ID: usize = 60;

/// One line for each title: rank, score, id, title.
fn print_text(heading: &str, found: &[Shown], out: &mut impl Write) -> io::Result<()> {
    write!(out, "{heading}")?;
    let rank_width = found.last().map_or(1, |found| found.rank.to_string().len());
    let id_width = found.iter().map(|found| found.id.chars().count()).max().unwrap_or(0).min(WIDEST_ID);
    // Sums of reciprocal ranks are small.
    let digits = if found.iter().all(|found| found.score.abs() < 0.1) { 5 } else { 3 };
    let score_width = digits + 3;
    for Shown { rank, id, title, score, .. } in found {
        let (id, text) = (console::printable(id), console::printable(title));
        writeln!(out, "{rank:>rank_width$}  {score:>score_width$.digits$}  {id:<id_width$}  {text}")?;
    }
    Ok(())
}

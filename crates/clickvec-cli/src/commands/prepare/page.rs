//! The report as a self-contained HTML page.

use clickvec_logs::Report;
use clickvec_logs::report::{Histogram, PositionReport};
use maud::{Markup, html};

use super::args::Args;
use super::report::{counts, facts_of, label, left_out, pictures};
use crate::{output, page};

const STYLE: &str = include_str!("page.css");

/// The whole page.
pub(super) fn page(args: &Args, report: &Report) -> String {
    let mut facts = facts_of(report);
    facts.push((args.output.display().to_string(), counts(&report.training)));
    if let (Some(path), Some(written)) = (args.validation(), &report.validation) {
        facts.push((path.display().to_string(), counts(written)));
    }
    let left = left_out(report);
    let body = html! {
        h1 { "What was in the log" }
        (pairs(&facts))
        @if !report.first_broken.is_empty() {
            h2 { "The first broken rows" }
            ul {
                @for row in &report.first_broken {
                    li { code { (output::printable(&format!("{}:{}", row.path, row.line))) } ": " (output::printable(&row.reason)) }
                }
            }
        }
        @if !left.is_empty() { h2 { "Left out" } (pairs(&left)) }
        @for (name, histogram) in pictures(report) { h2 { (capitalised(name)) } (picture(histogram)) }
        @if let Some(positions) = &report.positions { (curve(positions)) }
    };
    page::page("clickvec prepare", STYLE, &body)
}

fn pairs(rows: &[(String, String)]) -> Markup {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|(name, value)| [name, value].map(|cell| output::printable(cell).into_owned()).to_vec())
        .collect();
    page::table(&[], 2, &rows)
}

fn picture(histogram: &Histogram) -> Markup {
    let most = histogram.bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    html! {
        table.bars {
            @for part in &histogram.bars {
                tr {
                    th scope="row" { (label(part)) }
                    td { div { (bar(part.count as f64 / most as f64)) (output::count(part.count)) } }
                }
            }
        }
    }
}

/// A bar of `share` of the most that there is room for.
fn bar(share: f64) -> Markup {
    html! { i style=(format!("--share: {share:.4}")) {} }
}

/// How often each position is looked at, with two standard errors on each side.
fn curve(report: &PositionReport) -> Markup {
    let most = report.positions.iter().filter_map(|position| position.examination).fold(1.0, f64::max);
    let at = |value: f64| value.clamp(0.0, most) / most;
    let known =
        report.positions.iter().filter_map(|position| Some((position, position.examination?, position.attraction?)));
    html! {
        h2 { "How often a position is looked at" }
        p {
            "Relative to position " (report.reference) "; lines are two standard errors to each side. A click weighs 1 divided by \
             this, at most " (report.clip) ", times its position's attraction (clicks of those who look, relative to position "
            (report.reference) "), at most 1, to the power of " (report.trust) ". What the log cannot compare is left out, and \
             weighs 1."
        }
        table.bars {
            thead { tr { th { "position" } th {} th { "looked at" } th { "attraction" } th { "weight" } } }
            @for (position, examination, attraction) in known {
                @let error = 2.0 * position.standard_error.unwrap_or(0.0);
                @let (low, high) = (at(examination - error), at(examination + error));
                tr {
                    th scope="row" { (position.position) }
                    td { div.whole { (bar(at(examination))) b style=(format!("--low: {low:.4}; --high: {high:.4}")) {} } }
                    td.n { (format!("{examination:.3}")) }
                    td.n { (format!("{attraction:.2}")) }
                    td.n { (format!("{:.2}", position.weight)) }
                }
            }
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

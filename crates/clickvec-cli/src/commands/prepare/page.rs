//! The report as a self-contained HTML page.

use clickvec_logs::Report;
use clickvec_logs::report::{Histogram, PositionReport};
use maud::{Markup, html};

use super::args::Args;
use super::report::{counts, facts_of, label, left_out, pictures};
use crate::{output, page};

const STYLE: &str = "body { max-width: 48rem; } svg text { fill: currentColor; } svg rect { fill: var(--a); } .error { stroke: var(--b); }";

const ROW: usize = 22;
const LABEL: usize = 90;
const BAR: usize = 420;

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
        @for (name, histogram) in pictures(report) { h2 { (capitalised(name)) } (picture(name, histogram)) }
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

fn picture(name: &str, histogram: &Histogram) -> Markup {
    let most = histogram.bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    let length = |count: u64| count as f64 / most as f64 * BAR as f64;
    html! {
        (svg(LABEL + BAR + 110, histogram.bars.len() * ROW, name, &html! {
            @for (place, bar) in histogram.bars.iter().enumerate() {
                (row_label(place, &label(bar)))
                (row_bar(place, length(bar.count)))
                (text_at(place, LABEL as f64 + length(bar.count) + 6.0, &output::count(bar.count)))
            }
        }))
    }
}

fn svg(width: usize, height: usize, name: &str, contents: &Markup) -> Markup {
    html! {
        svg width=(width) height=(height) viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(name) { (contents) }
    }
}

fn row_label(place: usize, text: &str) -> Markup {
    html! { text x=(LABEL - 8) y=(place * ROW + 16) text-anchor="end" { (text) } }
}

fn row_bar(place: usize, length: f64) -> Markup {
    html! { rect x=(LABEL) y=(place * ROW + 3) width=(format!("{length:.1}")) height=(ROW - 6) {} }
}

fn text_at(place: usize, x: f64, text: &str) -> Markup {
    html! { text x=(format!("{x:.1}")) y=(place * ROW + 16) { (text) } }
}

/// How often each position is looked at, with two standard errors on each side.
fn curve(report: &PositionReport) -> Markup {
    let most = report.positions.iter().filter_map(|position| position.examination).fold(1.0, f64::max);
    let at = |value: f64| value.clamp(0.0, most) / most * BAR as f64;
    let known = report.positions.iter().enumerate();
    let known =
        known.filter_map(|(place, position)| Some((place, position, position.examination?, position.attraction?)));
    html! {
        h2 { "How often a position is looked at" }
        p {
            "Relative to position " (report.reference) "; lines are two standard errors to each side. A click weighs 1 divided by \
             this, at most " (report.clip) ", times its position's attraction (clicks of those who look, relative to position "
            (report.reference) "), at most 1, to the power of " (report.trust) ". What the log cannot compare is left out, and \
             weighs 1."
        }
        (svg(LABEL + BAR + 290, report.positions.len() * ROW, "examination by position", &html! {
            @for (place, position, examination, attraction) in known {
                @let error = 2.0 * position.standard_error.unwrap_or(0.0);
                @let line = [examination - error, examination + error].map(|end| format!("{:.1}", LABEL as f64 + at(end)));
                @let middle = place * ROW + 11;
                (row_label(place, &position.position.to_string()))
                (row_bar(place, at(examination)))
                line.error x1=(line[0]) x2=(line[1]) y1=(middle) y2=(middle) {}
                (text_at(place, (LABEL + BAR + 8) as f64, &format!(
                    "{examination:.3}, attraction {attraction:.2}, weight {:.2}", position.weight
                )))
            }
        }))
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

//! The report as one page that needs nothing else.

use std::fmt::Write as _;

use clickvec_logs::Report;
use clickvec_logs::report::{Histogram, PositionReport};

use super::args::Args;
use super::report::{counts, facts_of, label, left_out, pictures};
use crate::output;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#222;background:#fff}\
h1{font-size:1.5em}h2{font-size:1.1em;margin-top:2em}table{border-collapse:collapse}\
td,th{padding:.15em 1.2em .15em 0;text-align:left;vertical-align:top;font-variant-numeric:tabular-nums}\
th{border-bottom:1px solid #999}td.n,th.n{text-align:right}code{font-size:.9em}\
svg text{font:13px system-ui,sans-serif;fill:currentColor}svg rect{fill:#3b6ea5}svg .error{stroke:#222}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}svg rect{fill:#7fb0e6}svg .error{stroke:#ddd}}";

const ROW: usize = 22;
const LABEL: usize = 90;
const BAR: usize = 420;

/// The whole page.
pub(super) fn page(args: &Args, report: &Report) -> String {
    let mut page = String::new();
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>clickvec prepare</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\n\
         <h1>What was in the log</h1>\n"
    );
    let mut facts = facts_of(report);
    facts.push((args.output.display().to_string(), counts(&report.training)));
    if let (Some(path), Some(written)) = (args.validation(), &report.validation) {
        facts.push((path.display().to_string(), counts(written)));
    }
    pairs(&mut page, "", &facts);
    if !report.first_broken.is_empty() {
        page.push_str("<h2>The first broken rows</h2>\n<ul>\n");
        for row in &report.first_broken {
            let place = format!("{}:{}", row.path, row.line);
            let _ = writeln!(page, "<li><code>{}</code>: {}</li>", escaped(&place), escaped(&row.reason));
        }
        page.push_str("</ul>\n");
    }
    let left = left_out(report);
    if !left.is_empty() {
        pairs(&mut page, "Left out", &left);
    }
    for (name, histogram) in pictures(report) {
        let _ = writeln!(page, "<h2>{}</h2>", escaped(&capitalised(name)));
        picture(&mut page, name, histogram);
    }
    if let Some(positions) = &report.positions {
        curve(&mut page, positions);
    }
    page.push_str("</body></html>\n");
    page
}

fn pairs(page: &mut String, title: &str, rows: &[(String, String)]) {
    if !title.is_empty() {
        let _ = writeln!(page, "<h2>{}</h2>", escaped(title));
    }
    page.push_str("<table>\n");
    for (name, value) in rows {
        let _ = writeln!(page, "<tr><td>{}</td><td>{}</td></tr>", escaped(name), escaped(value));
    }
    page.push_str("</table>\n");
}

fn picture(page: &mut String, name: &str, histogram: &Histogram) {
    let most = histogram.bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    let (width, height) = (LABEL + BAR + 110, histogram.bars.len() * ROW);
    let _ = writeln!(page, "<svg width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">", escaped(name));
    for (place, bar) in histogram.bars.iter().enumerate() {
        let (y, text_y) = (place * ROW + 3, place * ROW + 16);
        let length = bar.count as f64 / most as f64 * BAR as f64;
        let _ = writeln!(
            page,
            "<text x=\"{}\" y=\"{text_y}\" text-anchor=\"end\">{}</text><rect x=\"{LABEL}\" y=\"{y}\" width=\"{length:.1}\" \
             height=\"{}\"/><text x=\"{:.1}\" y=\"{text_y}\">{}</text>",
            LABEL - 8,
            label(bar),
            ROW - 6,
            LABEL as f64 + length + 6.0,
            output::count(bar.count)
        );
    }
    page.push_str("</svg>\n");
}

/// How often each position is looked at, with two standard errors on each side.
fn curve(page: &mut String, report: &PositionReport) {
    let _ = writeln!(
        page,
        "<h2>How often a position is looked at</h2>\n<p>Of position {}'s; lines are two standard errors to each side. A \
         click weighs 1 divided by this, at most {}, times its position's attraction (clicks of those who look, of position {}'s), at \
         most 1, to the power of {}. What the log cannot compare is left out, and weighs 1.</p>",
        report.reference, report.clip, report.reference, report.trust
    );
    let (width, height) = (LABEL + BAR + 290, report.positions.len() * ROW);
    let most = report.positions.iter().filter_map(|position| position.examination).fold(1.0, f64::max);
    let _ = writeln!(
        page,
        "<svg width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"examination by position\">"
    );
    for (place, position) in report.positions.iter().enumerate() {
        let at = |value: f64| LABEL as f64 + value.clamp(0.0, most) / most * BAR as f64;
        let (y, text_y) = (place * ROW + 3, place * ROW + 16);
        let (Some(examination), Some(attraction)) = (position.examination, position.attraction) else { continue };
        let error = position.standard_error.unwrap_or(0.0);
        let (from, to) = (examination - 2.0 * error, examination + 2.0 * error);
        let _ = writeln!(
            page,
            "<text x=\"{}\" y=\"{text_y}\" text-anchor=\"end\">{}</text><rect x=\"{LABEL}\" y=\"{y}\" width=\"{:.1}\" \
             height=\"{}\"/><line class=\"error\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{}\" y2=\"{}\"/>\
             <text x=\"{}\" y=\"{text_y}\">{:.3}, attraction {:.2}, weight {:.2}</text>",
            LABEL - 8,
            position.position,
            at(examination) - LABEL as f64,
            ROW - 6,
            at(from),
            at(to),
            y + 8,
            y + 8,
            LABEL + BAR + 8,
            examination,
            attraction,
            position.weight
        );
    }
    page.push_str("</svg>\n");
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn escaped(text: &str) -> String {
    output::printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

//! The report as one HTML page, which needs nothing else: no script, no font, no picture.

use std::fmt::Write as _;

use clickvec::eval::{Comparison, Correction, Evaluation, Metric, Verdict, beaten};

use super::next::Next;
use super::searches::{Found, Search};
use super::{OfKind, Report};
use crate::commands::evaluate::{difference, probability};
use crate::superscripts::letter;
use crate::{output, progress};

/// A title of this grade or less is not what was meant.
const MOST_WRONG: u8 = 1;
const PAGE: &str = include_str!("page.html");

/// The whole page.
pub(super) fn page(report: &Report, next: &Next) -> String {
    let [lexical, .., learnt] = report.systems.as_slice() else { return String::new() };
    let one = |system: &Evaluation| format!("{:.2}", system.mean.get(Metric::Ndcg1));
    let time = std::time::Duration::try_from_secs_f64(report.seconds).unwrap_or_default();
    let steps = report.steps.iter().fold(String::new(), |mut rows, (name, seconds)| {
        let _ = writeln!(rows, "<tr><td>{}</td><td class=n>{seconds:.1} s</td></tr>", escaped(name));
        rows
    });
    let commands = |all: &[(&str, String)]| {
        all.iter().fold(String::new(), |mut text, (what, command)| {
            let _ = writeln!(text, "<p>{}</p><pre>{}</pre>", escaped(what), escaped(command));
            text
        })
    };
    let kept = match next.kept.is_empty() {
        true => String::new(),
        false => format!("<h2>With the log and the models that were kept</h2>\n{}", commands(&next.kept)),
    };
    let best = report.systems.iter().map(|system| system.mean.get(Metric::Ndcg1)).fold(0.0, f64::max);
    let figures = [learnt, lexical].map(|system| {
        let class = if system.mean.get(Metric::Ndcg1) >= best { " class=best" } else { "" };
        format!("<div{class}><b>{}</b>{}, NDCG@1</div>\n", one(system), label(&system.name))
    });
    PAGE.replace("{{pairs}}", &output::count(report.pairs))
        .replace("{{titles}}", &output::count(report.titles))
        .replace("{{queries}}", &output::count(report.queries as u64))
        .replace("{{time}}", &progress::duration(time))
        .replace("{{validation}}", &output::count(report.validation as u64))
        .replace("{{figures}}", &figures.concat())
        .replace("{{systems}}", &systems(&report.systems, &report.tests))
        .replace("{{tests}}", &tests(&report.tests))
        .replace("{{kinds}}", &report.kinds.iter().map(kind).collect::<String>())
        .replace("{{searches}}", &report.searches.iter().map(search).collect::<String>())
        .replace("{{steps}}", &steps)
        .replace("{{kept}}", &kept)
        .replace("{{next}}", &commands(&next.own))
        .replace("{{version}}", env!("CARGO_PKG_VERSION"))
}

fn systems(systems: &[Evaluation], tests: &[Comparison]) -> String {
    let mut rows = String::new();
    for (place, system) in systems.iter().enumerate() {
        let _ = write!(rows, "<tr><td>{}</td><td class=name>{}</td>", letter(place), label(&system.name));
        for metric in Metric::NDCG {
            let beaten = beaten(place, metric, systems, tests, Correction::None);
            let better: Vec<String> = beaten.into_iter().map(letter).collect();
            let _ = write!(rows, "<td class=n>{:.3}<sup>{}</sup></td>", system.mean.get(metric), better.join(" "));
        }
        rows.push_str("</tr>\n");
    }
    rows
}

fn tests(tests: &[Comparison]) -> String {
    let mut rows = String::new();
    for test in tests.iter().filter(|test| test.metric == Metric::Ndcg1) {
        let shown = test.verdict(Correction::None) != Verdict::NotShown;
        let verdict = if shown { "" } else { " (not significant)" };
        let (a, b, p) = (label(&test.a), label(&test.b), escaped(&probability(test.test.p)));
        let _ = writeln!(
            rows,
            "<tr><td>{b} − {a}</td><td class=n>{}</td><td class=n>{p}</td><td>{verdict}</td></tr>",
            difference(-test.test.difference)
        );
    }
    rows
}

fn kind(kind: &OfKind) -> String {
    let mut bars = String::new();
    for system in &kind.systems {
        let value = system.mean.get(Metric::Ndcg1);
        let (name, width) = (label(&system.name), 100.0 * value);
        let _ = write!(
            bars,
            "<div class=row><span>{name}</span><div class=track><div class=\"bar {}\" style=\"width:{width:.1}%\"></div>\
             </div><b>{value:.2}</b></div>",
            escaped(&system.name)
        );
    }
    let (name, about, example) = (kind.name, escaped(kind.about), escaped(&kind.example));
    format!("<article><h3>{name}</h3><p>{about}</p><p class=query>{example}</p>{bars}</article>\n")
}

fn search(search: &Search) -> String {
    let bm25 = match search.bm25.len() {
        0 => "<p>nothing: no title has a word of it</p>".to_owned(),
        shown if search.bm25_equals > shown => {
            let equals = output::count(search.bm25_equals as u64);
            format!("{}<p>{equals} titles have the first one’s score</p>", list(&search.bm25))
        }
        _ => list(&search.bm25),
    };
    format!(
        "<article><p class=kind>{}</p><p class=query>{}</p><div class=two><div><h4>LSTM</h4>{}</div>\
         <div><h4>BM25</h4>{bm25}</div></div></article>\n",
        search.kind,
        escaped(&search.query),
        list(&search.lstm)
    )
}

fn list(found: &[Found]) -> String {
    let item = |found: &Found| {
        let (title, why, grade) = (escaped(&found.title), escaped(&found.why), found.grade);
        let class = if grade <= MOST_WRONG { " class=wrong" } else { "" };
        format!("<li>{title}<small><b{class}>grade {grade}</b>: {why}</small></li>")
    };
    format!("<ol>{}</ol>", found.iter().map(item).collect::<String>())
}

/// What the page calls a system.
fn label(name: &str) -> String {
    escaped(&name.to_uppercase())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

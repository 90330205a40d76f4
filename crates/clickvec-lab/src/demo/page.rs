//! The report as a self-contained HTML page, without scripts, fonts or images.

use std::time::Duration;

use clickvec_eval::{Comparison, Correction, Evaluation, Metric, Verdict, beaten};
use clickvec_report::numbers::{difference, probability};
use clickvec_report::page;
use clickvec_report::report::{Column, Table};
use clickvec_report::superscripts::letter;
use clickvec_tables::shown::{count, duration};
use maud::{Markup, html};

use super::searches::{Found, Search};
use super::{KindReport, Next, Report};

/// The highest grade of a title that is not what was meant.
const MOST_WRONG: u8 = 1;
const STYLE: &str = include_str!("page.css");

/// Returns the whole page.
pub(super) fn page(report: &Report, seconds: f64, next: &Next) -> String {
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let mut steps = Table::new([Column::text(""), Column::number("")]);
    for (name, seconds) in &report.steps {
        steps.add([name.as_str().into(), format!("{seconds:.1} s").into()]);
    }
    let body = html! {
        h1 { "What a search engine’s clicks can teach" }
        p.lead {
            "clickvec invented a search engine with users who click, and learnt from their clicks which titles answer a query. "
            (count(report.validation as u64)) " judged queries (validation) chose the best epoch of each model. Then the \
             models were judged on " (count(report.queries as u64)) " other queries, which nobody had typed before."
        }
        (figures(report, &duration(time)))

        h2 { "Three systems, judged" }
        p {
            "NDCG says how good the first 1, 3 or 10 titles are, from 0 to 1. BM25 matches words. DSSM and LSTM learn from the \
             clicks; DSSM ignores the order of words. The figures average equally many queries of six kinds, and several kinds are \
             made so that matching words must fail; real users type far fewer of those. Each system was trained once, with one \
             seed."
        }
        (systems(&report.systems, &report.tests))
        p {
            "A small letter names a system that this one significantly beats (paired t-test over queries, p < 0.05, not corrected \
             for the number of tests)."
        }
        (tests(&report.tests))

        h2 { "What makes a query hard" }
        p { "NDCG@1 by kind of query, with one query of each kind." }
        div.grid { @for one in &report.kinds { (kind(one)) } }

        h2 { "Searches among " (count(report.titles)) " titles" }
        p {
            "The first judged query of four kinds, not picked by hand. Below each result are its true grade, from 0 (something \
             else) to 4 (exactly what was meant), and why it was found: for the LSTM, the pairs of words that add most to its \
             score; for BM25, what each word adds."
        }
        @for one in &report.searches { (search(one)) }
        @if !next.folder.is_empty() {
            h2 { "Go on with the log and the models that were kept" }
            (commands(&next.folder))
        }
        h2 { "Now with your own files" }
        p {
            "They may be TSV, CSV or JSON lines. " code { "clickvec inspect FILE" } " says how a file is read."
        }
        (commands(&next.own))
        h2 { "How long it took" }
        (steps.to_markup())
        footer {
            "This invented world is far easier than a real one: it shows what each system can do at all, not what it will do for \
             you. clickvec " (env!("CARGO_PKG_VERSION")) "."
        }
    };
    page::page("clickvec demo", STYLE, &body)
}

/// Returns the key figures: NDCG of the last system and of the first, pairs, and time.
fn figures(report: &Report, time: &str) -> Markup {
    let ndcg = |system: &Evaluation| system.mean.get(Metric::Ndcg(1));
    let best = report.systems.iter().map(ndcg).fold(0.0, f64::max);
    let both = report.systems.last().into_iter().chain(report.systems.first());
    html! {
        div.figures {
            @for system in both {
                div.best[ndcg(system) >= best] { b { (format!("{:.2}", ndcg(system))) } (label(&system.name)) ", NDCG@1" }
            }
            div { b { (count(report.pairs)) } "pairs of query and title" }
            div { b { (time) } "for everything" }
        }
    }
}

fn systems(systems: &[Evaluation], tests: &[Comparison]) -> Markup {
    let marks = |number: usize, metric: Metric| -> Vec<String> {
        beaten(number, metric, systems, tests, Correction::None).into_iter().map(letter).collect()
    };
    html! {
        div.wide {
            table {
                tr { th {} th { "system" } @for name in ["NDCG@1", "NDCG@3", "NDCG@10"] { th.n { (name) sup {} } } }
                @for (number, system) in systems.iter().enumerate() {
                    tr {
                        td { (letter(number)) }
                        td.name { (label(&system.name)) }
                        @for metric in Metric::NDCG {
                            td.n { (format!("{:.3}", system.mean.get(metric))) sup { (marks(number, metric).join(" ")) } }
                        }
                    }
                }
            }
        }
    }
}

fn tests(tests: &[Comparison]) -> Markup {
    let numbers = ["NDCG@1", "p", ""].map(Column::number);
    let mut table = Table::new([Column::text("difference")].into_iter().chain(numbers));
    for test in tests.iter().filter(|test| test.metric == Metric::Ndcg(1)) {
        let is_shown = test.verdict(Correction::None) != Verdict::NotShown;
        table.add([
            format!("{} − {}", label(&test.b), label(&test.a)).into(),
            difference(-test.test.difference).into(),
            probability(test.test.p).into(),
            if is_shown { "" } else { "(not significant)" }.into(),
        ]);
    }
    table.to_markup()
}

fn kind(kind: &KindReport) -> Markup {
    html! {
        article {
            h3 { (kind.name) }
            p { (kind.about) }
            p.query { (kind.example) }
            @for system in &kind.systems {
                @let value = system.mean.get(Metric::Ndcg(1));
                div.row {
                    span { (label(&system.name)) }
                    div.track { div class=(format!("bar {}", system.name)) style=(format!("width:{:.1}%", 100.0 * value)) {} }
                    b { (format!("{value:.2}")) }
                }
            }
        }
    }
}

fn search(search: &Search) -> Markup {
    let shown = search.bm25.len();
    html! {
        article {
            p.kind { (search.kind) }
            p.query { (search.query) }
            div.two {
                div { h4 { "LSTM" } (list(&search.lstm)) }
                div {
                    h4 { "BM25" }
                    @if shown == 0 { p { "nothing: no title has any of these words" } } @else { (list(&search.bm25)) }
                    @if shown > 0 && search.bm25_equals > shown {
                        p { (count(search.bm25_equals as u64)) " titles share the first one’s score" }
                    }
                }
            }
        }
    }
}

fn list(found: &[Found]) -> Markup {
    html! {
        ol {
            @for Found { title, why, grade, .. } in found {
                li { (title) small { b.wrong[*grade <= MOST_WRONG] { "grade " (grade) } ": " (why.within(usize::MAX)) } }
            }
        }
    }
}

fn commands(all: &[(&str, String)]) -> Markup {
    html! { @for (what, command) in all { p { (what) } pre { (command) } } }
}

/// Returns the name of a system on the page.
fn label(name: &str) -> String {
    name.to_uppercase()
}

//! The queries on which a model is worse than BM25, as a page.

use clickvec_eval::Judgments;
use maud::{Markup, html};

use super::{Group, METRIC, advice, detail};
use crate::commands::explain::page as frame;

/// The page.
pub(super) fn page(
    name: &str,
    groups: &[Group<'_>],
    judgments: &Judgments,
    examples: usize,
    learnt_titles: bool,
) -> String {
    let body = html! {
        div.wide {
            table {
                tr {
                    th { "group" } th.n { "queries" } th.n { (name) } th.n { "bm25" } th.n { "difference" } th.n { "p" }
                    th.n { "worse than bm25" }
                }
                @for group in groups {
                    @let (model, other) = (group.mean(|outcome| outcome.model), group.mean(|outcome| outcome.other));
                    tr {
                        td { a href={ "#" (group.difficulty.name().replace(' ', "-")) } { (group.difficulty.name()) } }
                        td.n { (group.outcomes.len()) }
                        td.n { (format!("{model:.3}")) }
                        td.n { (format!("{other:.3}")) }
                        td.n { (format!("{:+.3}", model - other)) }
                        td.n { (group.p()) }
                        td.n { (group.behind()) }
                    }
                }
            }
        }
        p.note {
            "Mean " (METRIC.heading()) " of each group; a query may be in several groups. p: paired t-test over the queries of a "
            "group, not corrected for the number of groups"
            @if groups.iter().any(Group::is_chosen_by_failure) { "; the queries of “shared word” are chosen because the model fails, so it has none" }
            ". Below: the title that the model ranks first, and the title with the best grade, "
            "each with its grade."
        }
        @for group in groups {
            h2 id=(group.difficulty.name().replace(' ', "-")) { (group.difficulty.name()) }
            @if group.behind() == 0 { p.soft { "The model is not worse than BM25 on any of these queries." } }
            @else { p.note { (with_code(advice(group.difficulty, learnt_titles))) } }
            @for outcome in group.worst(examples) {
                @let query = &judgments.queries[outcome.query];
                @let detail = detail(group.difficulty, outcome, query);
                h3.text { (query.text) " " span.soft { (format!("{:.2}, bm25 {:.2}", outcome.model, outcome.other)) } }
                @if !detail.is_empty() { p { (detail) } }
                @let is_best = query.titles[outcome.first].grade == query.titles[outcome.best].grade;
                @for (what, place) in [("first", outcome.first), ("best", outcome.best)].into_iter().take(if is_best { 1 } else { 2 }) {
                    p.pair {
                        span.soft { (what) ", " (query.titles[place].grade) }
                        span.text { (query.titles[place].text) }
                    }
                }
                @if is_best { p.soft { "No title is better; the order of the others is worse than BM25’s." } }
            }
        }
    };
    frame::page(&format!("Where {name} is worse than BM25"), false, &body)
}

/// Text in which what is between backticks is code.
fn with_code(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split('`').enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

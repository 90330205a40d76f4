//! The ranking of titles as a page.

use maud::{Markup, html};

use super::super::page as frame;
use super::text::why;
use super::{Placed, Ranked};
use crate::output;

/// The page.
pub(super) fn page(ranked: &Ranked) -> String {
    let titles = &ranked.titles;
    let parts = titles.iter().flat_map(|placed| placed.shares.iter().flatten());
    let largest = parts.fold(0.0f64, |largest, share| largest.max(share.adds.abs()));
    let gaps = ranked.gaps();
    let body = html! {
        p.pair { span.soft { "query" } b.text { (ranked.query) } }
        p.soft { (ranked.model) "; " (output::counted(ranked.of as u64, "title")) }
        p.note {
            @for line in ranked.sum_of().lines() { (line) "." br; }
            "What a word adds to the cosine is its share " i { "along" }
            ": how far the query’s vector moves towards the title while the word is read. Bars of negative parts are hollow."
        }
        @for (place, placed) in titles.iter().enumerate() {
            h2.text { (placed.rank) ". " (placed.title.title) }
            p.soft { (placed.title.id) }
            div.wide {
                table {
                    tr { th { "sum" } td.n { b { (ranked.signed(placed.sum())) } } td {} }
                    @for (part, of) in ranked.parts.iter().enumerate() {
                        tr {
                            td { (of.kind.name()) }
                            @match placed.shares[part] {
                                Some(share) => (frame::share_as(&ranked.signed(share.adds), share.adds, largest)),
                                None => { td.n { "–" } td.soft { "not found" } }
                            }
                        }
                    }
                }
            }
            (by_word(placed, &ranked.words))
            @if let Some(gap) = gaps.get(place) { p { (why(ranked, gap)) } }
        }
    };
    frame::page("Why this order", false, &body)
}

fn by_word(placed: &Placed, words: &[String]) -> Markup {
    html! {
        div.wide {
            table {
                tr { th { "word of the query" } @for word in words { th.n { (word) } } th.n { "total" } }
                tr {
                    td { "BM25" }
                    @for part in &placed.lexical { td.n { (format!("{part:.2}")) } }
                    td.n { (format!("{:.2}", placed.bm25)) }
                }
                tr {
                    td { "cosine of vectors (along)" }
                    @for place in 0..words.len() { td.n { (format!("{:+.3}", placed.along(place))) } }
                    td.n { (format!("{:.3}", placed.cosine())) }
                }
                @for (name, cosine) in [("trigrams", placed.trigrams), ("the teacher's vectors", placed.teacher)] {
                    @if let Some(cosine) = cosine {
                        tr {
                            td { "cosine of " (name) }
                            @for _ in words { td.n {} }
                            td.n { (format!("{cosine:.3}")) }
                        }
                    }
                }
            }
        }
    }
}

//! Matches as a page.

use clickvec::explain::KeywordOptions;
use maud::{Markup, html};

use super::super::sections::{self, Shown};
use super::super::{page as frame, sections::words_row};
use super::{Half, NamedModel, Pair, Seen, beyond, nothing, pairs_of_words, word_at};

/// How many pairs of words are named next to the score.
const PAIRS: usize = 3;

/// All pairs as all models see them.
pub(super) fn page(
    pairs: &[Pair],
    models: &[NamedModel],
    explained: &[Vec<Seen>],
    top: usize,
    options: &KeywordOptions,
) -> String {
    let heat = explained.iter().flatten().flat_map(|seen| [&seen.found.query, &seen.found.title]);
    let body = html! {
        p.note {
            @if explained.iter().flatten().flat_map(|seen| &seen.keywords).any(Option::is_some) { "Underlined words are keywords. " }
            "A word’s share " i { "along" } " is how far the vector moves towards the other text "
            "while the word is read: these shares sum to the score and depend on the order of the words. Its share "
            i { "without" } " is how much the score falls when the word is removed: these do not sum to the score. "
            "Bars of negative shares are hollow."
        }
        @for (pair, seen) in pairs.iter().zip(explained) {
            section {
                h2.text { (sections::given(&pair.query)) }
                p.pair { span.soft { "title" } span.text { (sections::given(&pair.title)) } }
                @if let Some(grade) = pair.grade { p.pair { span.soft { "grade" } (grade) } }
                @if models.len() > 1 { (side_by_side(pair, models, seen, options)) }
                @for (model, seen) in models.iter().zip(seen) { (of_model(model, seen, top)) }
            }
        }
    };
    frame::page("Why these texts match", heat.into_iter().any(sections::has_heat), &body)
}

/// Tables V–VIII of the LSTM paper: the models' scores next to the grade, then a row of counts for each model.
fn side_by_side(pair: &Pair, models: &[NamedModel], seen: &[Seen], options: &KeywordOptions) -> Markup {
    html! {
        div.wide {
            table {
                tr { th {} @for model in models { th.n { (model.name) } } @if pair.grade.is_some() { th.n { "grade" } } }
                tr {
                    td { "score" }
                    @for seen in seen { td.n { (format!("{:.3}", seen.found.score)) } }
                    @if let Some(grade) = pair.grade { td.n { (grade) } }
                }
            }
        }
        @for side in 0..2 {
            @let halves: Vec<Half<'_>> = seen.iter().map(|seen| seen.sides()[side]).collect();
            @if let Some(longest) = halves.iter().max_by_key(|half| half.view.words.len()) {
                div.wide {
                    table {
                        (words_row(longest.view))
                        @for (model, half) in models.iter().zip(&halves) {
                            // One model may read fewer words than another, or the last of them as one.
                            @if !longest.view.words.starts_with(&half.view.words) { (words_row(half.view)) }
                            @if let Some(keywords) = half.keywords { (sections::counts_rows(&model.name, model.state(), half.view, keywords, options.at_least)) }
                            tr {
                                td { (model.name) ": along" }
                                @for share in &half.shares.along { td.n { (format!("{share:+.3}")) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A pair as one model sees it.
fn of_model(model: &NamedModel, seen: &Seen, top: usize) -> Markup {
    let found = &seen.found;
    let sides = seen.sides();
    let all = sides.iter().flat_map(|half| half.shares.along.iter().chain(&half.shares.without));
    let largest = all.fold(0.0f64, |largest, share| largest.max(share.abs()));
    let through = pairs_of_words(found, PAIRS);
    let shown: Vec<Shown<'_>> =
        sides.iter().map(|half| Shown { name: half.name, view: half.view, keywords: half.keywords }).collect();
    html! {
        h3 { (model.title()) }
        p { span.score { (format!("{:.3}", found.score)) } @if !through.is_empty() { " mostly through " }
            @for (place, pair) in through.iter().enumerate() { @if place > 0 { ", " } bdi { (pair) } }
        }
        @for line in nothing(found).into_iter().chain(beyond(found)) { p { (line) } }
        div.sides {
            @for half in sides { div { (words_table(&half, model, largest)) } }
        }
        (units(model, seen, top))
        (sections::inside(&shown, model.state()))
    }
}

fn words_table(half: &Half<'_>, model: &NamedModel, largest: f64) -> Markup {
    html! {
        p.pair { span.soft { (half.name) } (sections::text(half.view, half.keywords)) }
        div.wide {
            table {
                tr {
                    th { "word" }
                    @if half.keywords.is_some() { th.n { (half.cells_title(model)) } }
                    @if half.has_gates() { th.n { "input gate" } }
                    th.n { "along" } th {} th.n { "without" } th {}
                }
                @for (place, word) in half.view.words.iter().enumerate() {
                    tr {
                        td { (sections::word(word, half.is_keyword(place))) }
                        @if half.keywords.is_some() { td.n { (half.cells(place)) } }
                        @if half.has_gates() { td.n { (half.gate(place)) } }
                        (frame::share(half.shares.along[place], largest))
                        (frame::share(half.shares.without[place], largest))
                    }
                }
            }
        }
    }
}

fn units(model: &NamedModel, seen: &Seen, top: usize) -> Markup {
    let shared = seen.shared(top);
    if shared.is_empty() {
        return html! {};
    }
    let largest = shared.iter().fold(0.0f64, |largest, unit| largest.max(unit.product));
    let words = shared.iter().any(|unit| unit.query_word.is_some());
    html! {
        h3 {
            @if seen.is_maximum() { "Max-pooling units that both texts activate" }
            @else {
                @match model.unit() { "cell" => "Cells", "dimension" => "Dimensions", _ => "Units" }
                " that add most to the score"
            }
        }
        p.note {
            @if seen.is_maximum() { "The product of the unit’s values in the two texts, and the words that win the unit. These products do not sum to the score." }
            @else {
                "The score is the sum of " (seen.found.units.len()) " products, one for each dimension of the two vectors. These are the largest. "
                @if words { "The words are those that moved the " (model.unit()) " most." }
            }
        }
        div.wide {
            table.units {
                tr {
                    th.n { @if seen.is_maximum() { "unit" } @else { (model.unit()) } }
                    th.n { @if seen.is_maximum() { "product" } @else { "share" } } th.share {}
                    th.n { "query" } th.n { "title" }
                    @if words { th { "query word" } th { "title word" } }
                }
                @for unit in &shared {
                    tr {
                        td.n { (unit.unit + 1) }
                        (frame::share(unit.product, largest))
                        td.n { (format!("{:+.3}", unit.query)) }
                        td.n { (format!("{:+.3}", unit.title)) }
                        @if words {
                            td { (word_at(&seen.found.query, unit.query_word)) }
                            td { (word_at(&seen.found.title, unit.title_word)) }
                        }
                    }
                }
            }
        }
    }
}

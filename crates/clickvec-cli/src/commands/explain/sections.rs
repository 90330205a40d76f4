//! Parts of pages that several commands use: a text with its keywords, its heat maps, its cells over time.

use clickvec::encoder::{Direction, Quantity, State};
use clickvec::explain::{Evidence, Keywords, Panel, TextView, Word};
use maud::{Markup, html};

use super::heat::{COLUMNS, Heat, legend};
use super::page;

/// A text on a page, with its label and, if it has any, its keywords.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) name: &'a str,
    pub(super) view: &'a TextView,
    pub(super) keywords: Option<&'a Keywords>,
}

/// The range of values that panels share; symmetric around zero.
fn range<'a>(panels: impl Iterator<Item = &'a Panel>) -> (f32, f32) {
    let values = panels.flat_map(|panel| &panel.values);
    let largest = values.fold(0.0f32, |largest, value| largest.max(value.abs()));
    (-largest, largest)
}

/// Whether a text has states to draw word by word.
pub(super) fn has_heat(text: &TextView) -> bool {
    text.panels.iter().any(|panel| panel.units > 0)
}

/// A text as it was given, or a word for one that has nothing to be seen.
pub(super) fn given(text: &str) -> Markup {
    html! { @if text.trim().is_empty() { span.soft { "(empty)" } } @else { (text) } }
}

/// A text, its keywords underlined and bold.
pub(super) fn text(text: &TextView, keywords: Option<&Keywords>) -> Markup {
    html! {
        span.text {
            @if text.words.is_empty() { (given(&text.text)) }
            @for (place, word) in text.words.iter().enumerate() {
                (self::word(word, keywords.is_some_and(|keywords| keywords.is_keyword[place])))
                " "
            }
            @if text.cut > 0 { span.soft { "(and " (text.cut) " more words, which the model does not read)" } }
        }
    }
}

/// A word, which the mouse shows whole if it is a merged tail.
pub(super) fn word(word: &Word, is_keyword: bool) -> Markup {
    let whole = (word.parts > 1).then_some(word.text.as_str());
    html! {
        @if is_keyword { b.key title=[whole] { (word.shown()) } }
        @else if !word.known { s title="unknown to the model" { (word.shown()) } }
        @else if whole.is_some() { span title=[whole] { (word.shown()) } }
        @else { (word.shown()) }
    }
}

/// A panel's name: `input gate`, or `input gate, read from the end`.
fn name(quantity: Quantity) -> String {
    match quantity.direction {
        Direction::Forward => quantity.state.to_string(),
        Direction::Backward => format!("{}, read from the end", quantity.state),
    }
}

/// All states, word by word: first the most active cells (LSTM paper, fig. 6, 11, 12), then every state (fig. 4, 5,
/// 8–10). All texts are side by side and share one colour range.
/// A row is a `unit`.
pub(super) fn inside(texts: &[Shown<'_>], unit: &str) -> Markup {
    if !texts.iter().any(|text| has_heat(text.view)) {
        return html! {};
    }
    let all = range(texts.iter().flat_map(|text| &text.view.panels));
    let active = range(texts.iter().flat_map(|text| text.view.activations()));
    let mut states: Vec<Quantity> = Vec::new();
    for panel in texts.iter().flat_map(|text| &text.view.panels) {
        if !states.contains(&panel.quantity) {
            states.push(panel.quantity);
        }
    }
    // In the papers' pictures all texts have ten columns.
    let most = texts.iter().map(|text| text.view.words.len()).max().unwrap_or(0);
    let columns = |view: &TextView| view.words.len().max(most.min(COLUMNS));
    let has_cells = texts.iter().any(|text| matches!(text.keywords.map(|k| &k.evidence), Some(Evidence::Changes(_))));
    html! {
        h3 { "Inside the model, word by word" }
        p.note { "Each row is a " (unit) " and each column a word. Light means high, dark means low; columns after the end of a text stay empty." }
        p { (page::switch()) }
        @if has_cells {
            h4 { "Activation at each word of the " (unit) "s that are most active after the last word" }
            (legend(active))
            div.maps { @for text in texts { (active_units(text, unit, columns(text.view), active)) } }
        }
        h4 { "All " (unit) "s" }
        (legend(all))
        div.states {
            @for &quantity in &states {
                div {
                    h4 { (name(quantity)) }
                    div.maps {
                        @for text in texts {
                            @if let Some(panel) = text.view.panel(quantity).filter(|panel| panel.units > 0) {
                                (heat_map(text, panel, columns(text.view), all))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn heat_map(text: &Shown<'_>, panel: &Panel, columns: usize, common: (f32, f32)) -> Markup {
    let value = |row: usize, word: usize| panel.at(word)[row];
    let heat = Heat { words: &text.view.words, columns, units: (1..=panel.units).collect(), value: &value, common };
    html! {
        div {
            span.note { (text.name) }
            (heat.svg(&format!("{} of {}", name(panel.quantity), text.view.text)))
        }
    }
}

fn active_units(text: &Shown<'_>, unit: &str, columns: usize, common: (f32, f32)) -> Markup {
    let Some(Evidence::Changes(counts)) = text.keywords.map(|keywords| &keywords.evidence) else { return html! {} };
    html! {
        @for counts in counts {
            @if let Some(panel) = text.view.panel(State::Activation.read(counts.direction)).filter(|panel| panel.units > 0) {
                @let value = |row: usize, word: usize| panel.at(word)[counts.cells[row]];
                @let units = counts.cells.iter().map(|cell| cell + 1).collect();
                @let heat = Heat { words: &text.view.words, columns, units, value: &value, common };
                div {
                    span.note { (text.name) @if counts.direction == Direction::Backward { ", read from the end" } }
                    (heat.svg(&format!("most active {unit}s of {}", text.view.text)))
                }
            }
        }
    }
}

/// The table of the papers: how many cells, or `unit`s, each word changed, or how many units it won. Words are in columns; the rows'
/// names start with `head`. Counts of `at_least` or more are bold, as in the paper; those of keywords are also
/// underlined.
pub(super) fn counts_rows(head: &str, unit: &str, text: &TextView, keywords: &Keywords, at_least: usize) -> Markup {
    let named = |row: &str| if head.is_empty() { row.to_owned() } else { format!("{head}: {row}") };
    html! {
        @match &keywords.evidence {
            Evidence::Changes(directions) => @for counts in directions {
                tr {
                    td { (named(&super::keywords::row_name(counts, unit))) }
                    @for (place, count) in counts.counts().enumerate() {
                        td.n {
                            @match count {
                                None => "-",
                                Some(count) if keywords.is_keyword[place] => b.key { (count) },
                                Some(count) if count >= at_least => b { (count) },
                                Some(count) => (count),
                            }
                        }
                    }
                }
            },
            Evidence::Winners(winners) => tr {
                td { (named(&format!("units won of the {} most active", winners.len()))) }
                @for place in 0..text.words.len() {
                    @let won = winners.iter().filter(|winner| winner.word == place).count();
                    td.n { @if keywords.is_keyword[place] { b.key { (won) } } @else { (won) } }
                }
            },
        }
        @if !keywords.input_gate.is_empty() {
            tr {
                td { (named("mean input gate")) }
                @for gate in &keywords.input_gate { td.n { (format!("{gate:.2}")) } }
            }
        }
    }
}

/// A header row with the words of a text.
pub(super) fn words_row(text: &TextView) -> Markup {
    html! { tr { th {} @for word in &text.words { th.n { (self::word(word, false)) } } } }
}

//! What a model computes at each word, as heat maps.

use clickvec::encoder::{Direction, Quantity, State};
use clickvec::explain::{Evidence, Keywords, Panel, TextView};
use maud::{Markup, html};

use super::heat::{COLUMNS, Heat, legend};
use clickvec_report::explanation;

/// A text on a page, with its label and, if it has any, its keywords.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) name: &'a str,
    pub(super) view: &'a TextView,
    pub(super) keywords: Option<&'a Keywords>,
}

/// Returns the range of values that panels share; symmetric around zero.
fn range<'a>(panels: impl Iterator<Item = &'a Panel>) -> (f32, f32) {
    let values = panels.flat_map(|panel| &panel.values);
    let largest = values.fold(0.0f32, |largest, value| largest.max(value.abs()));
    (-largest, largest)
}

/// Returns a panel's name: `input gate`, or `input gate, read from the end`.
fn name(quantity: Quantity) -> String {
    match quantity.direction {
        Direction::Forward => quantity.state.to_string(),
        Direction::Backward => format!("{}, read from the end", quantity.state),
    }
}

/// Draws all states, word by word: first the most active cells (LSTM paper, fig. 6, 11, 12), then every state (fig. 4, 5,
/// 8–10). All texts are side by side and share one colour range. A row is a `unit`. `None` if there are no states word by word.
pub(super) fn inside(texts: &[Shown<'_>], unit: &str) -> Option<Markup> {
    if !texts.iter().flat_map(|text| &text.view.panels).any(|panel| panel.units > 0) {
        return None;
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
    Some(html! {
        h3 { "Inside the model, word by word" }
        p.note { "Each row is a " (unit) " and each column a word. Light means high, dark means low; columns after the end of a text stay empty." }
        p { (explanation::switch()) }
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
    })
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

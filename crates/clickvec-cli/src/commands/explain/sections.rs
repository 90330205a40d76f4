//! The parts of pages that several explanations have: a text with its keywords, its heat maps, its cells over time.

use clickvec::encoder::{Direction, State};
use clickvec::explain::{Evidence, Keywords, Panel, TextView};
use maud::{Markup, html};

use super::heat::{Heat, legend};

/// The range of colours that all panels of some texts share: as far below zero as above.
pub(super) fn common_range<'a>(texts: impl IntoIterator<Item = &'a TextView>) -> (f32, f32) {
    range(texts.into_iter().flat_map(|text| &text.panels))
}

/// That of the activations alone.
pub(super) fn activation_range<'a>(texts: impl IntoIterator<Item = &'a TextView>) -> (f32, f32) {
    range(texts.into_iter().flat_map(TextView::activations))
}

fn range<'a>(panels: impl Iterator<Item = &'a Panel>) -> (f32, f32) {
    let values = panels.flat_map(|panel| &panel.values);
    let largest = values.fold(0.0f32, |largest, value| largest.max(value.abs()));
    (-largest, largest)
}

pub(super) fn has_heat(text: &TextView) -> bool {
    !text.panels.is_empty()
}

/// A text, its keywords underlined and bold.
pub(super) fn text(text: &TextView, keywords: Option<&Keywords>) -> Markup {
    html! {
        span.text {
            @for (place, word) in text.words.iter().enumerate() {
                @if keywords.is_some_and(|keywords| keywords.is_keyword[place]) { b.key { (word.text) } }
                @else if word.known { (word.text) }
                @else { s title="unknown to the model" { (word.text) } }
                " "
            }
            @if text.cut > 0 { span.soft { "(and " (text.cut) " more words, which the model leaves out)" } }
        }
    }
}

/// Reads `input gate, backward`.
fn name(panel: &Panel) -> String {
    match panel.quantity.direction {
        Direction::Forward => panel.quantity.state.to_string(),
        Direction::Backward => format!("{}, read from the end", panel.quantity.state),
    }
}

/// All states over the words, as heat maps of so many columns.
pub(super) fn heat_maps(text: &TextView, columns: usize, common: (f32, f32)) -> Markup {
    let words: Vec<String> = text.words.iter().map(|word| word.text.clone()).collect();
    html! {
        div.panels {
            @for panel in &text.panels {
                @let units: Vec<usize> = (0..panel.units).collect();
                @let value = |row: usize, word: usize| panel.at(word)[row];
                @let heat = Heat { words: &words, columns, units: &units, value: &value, common };
                div {
                    h3 { (name(panel)) }
                    div.wide { (heat.svg(&format!("{} of {}", name(panel), text.text))) }
                    @if panel.units > 0 { div.own-legend { (legend(own(panel))) } }
                }
            }
        }
    }
}

fn own(panel: &Panel) -> (f32, f32) {
    panel.values.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)))
}

/// The most active cells over the words (LSTM paper, fig. 6).
pub(super) fn active_cells(text: &TextView, keywords: &Keywords, columns: usize, common: (f32, f32)) -> Markup {
    let Evidence::Changes(counts) = &keywords.evidence else { return html! {} };
    let words: Vec<String> = text.words.iter().map(|word| word.text.clone()).collect();
    html! {
        div.panels {
            @for counts in counts {
                @if let Some(panel) = text.panel(State::Activation.read(counts.direction)) {
                    @let value = |row: usize, word: usize| panel.at(word)[counts.cells[row]];
                    @let heat = Heat { words: &words, columns, units: &counts.cells, value: &value, common };
                    div {
                        h3 { "the most active cells, " (name(panel)) }
                        div.wide { (heat.svg(&format!("most active cells of {}", text.text))) }
                        div.common { (legend(common)) }
                    }
                }
            }
        }
    }
}

/// The table of the papers: cells that each word changed, or units that it won.
pub(super) fn counts_table(text: &TextView, keywords: &Keywords) -> Markup {
    html! {
        div.wide {
            table {
                tr { th {} @for word in &text.words { th { (word.text) } } }
                @match &keywords.evidence {
                    Evidence::Changes(directions) => @for counts in directions {
                        tr {
                            td { (super::keywords::row_name(counts)) }
                            @for (place, count) in counts.counts().enumerate() {
                                td.n {
                                    @match count {
                                        None => "-",
                                        Some(count) if keywords.is_keyword[place] => b.key { (count) },
                                        Some(count) => (count),
                                    }
                                }
                            }
                        }
                    },
                    Evidence::Winners(winners) => tr {
                        td { "units won of the " (winners.len()) " most active" }
                        @for place in 0..text.words.len() {
                            td.n { (winners.iter().filter(|winner| winner.word == place).count()) }
                        }
                    },
                }
                @if !keywords.input_gate.is_empty() {
                    tr {
                        td { "mean input gate" }
                        @for gate in &keywords.input_gate { td.n { (format!("{gate:.2}")) } }
                    }
                }
            }
        }
    }
}

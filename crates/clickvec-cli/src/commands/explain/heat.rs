//! Heat maps as SVG: units from top to bottom, words from left to right.
//!
//! Colours go from dark to light with the value, so that the picture says the same in black and white and to a
//! colour-blind reader (the scale is cividis). Where a text has ended there is nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

/// Steps of the colour scale.
const LEVELS: usize = 17;
/// Points on the scale cividis, from the smallest value to the largest.
const SCALE: [[u8; 3]; 10] = [
    [0x00, 0x22, 0x4e],
    [0x12, 0x35, 0x70],
    [0x3b, 0x49, 0x6c],
    [0x57, 0x5d, 0x6d],
    [0x70, 0x71, 0x73],
    [0x8a, 0x86, 0x78],
    [0xa5, 0x9c, 0x74],
    [0xc3, 0xb3, 0x69],
    [0xe1, 0xcc, 0x55],
    [0xfe, 0xe8, 0x38],
];
/// Width of a word, in pixels.
const WORD: usize = 26;
/// Characters of a word above its column.
const LABEL: usize = 14;
/// Room for words above the columns, and for the numbers of cells at the left.
const HEAD: usize = 84;
const LEFT: usize = 34;

/// What one heat map shows.
pub(super) struct Heat<'a> {
    pub(super) words: &'a [String],
    /// Columns, of which those beyond the words stay empty.
    pub(super) columns: usize,
    /// The number of each row's unit.
    pub(super) units: &'a [usize],
    /// Value of a row at a word.
    pub(super) value: &'a dyn Fn(usize, usize) -> f32,
    /// The range that all panels share.
    pub(super) common: (f32, f32),
}

impl Heat<'_> {
    /// The smallest and the largest value.
    fn own(&self) -> (f32, f32) {
        let values = (0..self.words.len()).flat_map(|word| (0..self.units.len()).map(move |row| (row, word)));
        values.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), (row, word)| {
            let value = (self.value)(row, word);
            (low.min(value), high.max(value))
        })
    }

    /// The picture, once in the common range and once in its own; the page's switch shows one of them.
    pub(super) fn svg(&self, title: &str) -> Markup {
        let row = if self.units.len() > 24 { 4 } else { 14 };
        let (width, height) = (LEFT + self.columns * WORD + 60, HEAD + self.units.len() * row + 4);
        let own = self.own();
        let each = if row < 8 { 16 } else { 1 };
        html! {
            svg.heat role="img" aria-label=(title) width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } {
                @for (place, word) in self.words.iter().enumerate() {
                    text.word transform={ "translate(" (LEFT + place * WORD + WORD / 2 + 4) " " (HEAD - 6) ") rotate(-55)" } {
                        (shortened(word)) title { (word) }
                    }
                }
                @for (place, unit) in self.units.iter().enumerate().step_by(each) {
                    text.unit x=(LEFT - 4) y=(HEAD + place * row + if row < 8 { 7 } else { 11 }) { (unit + 1) }
                }
                rect.empty x=(LEFT) y=(HEAD) width=(self.columns * WORD) height=(self.units.len() * row) {}
                @for (class, range) in [("common", self.common), ("own", own)] {
                    g class=(class) transform={ "translate(" (LEFT) " " (HEAD) ") scale(" (WORD) " " (row) ")" } {
                        (PreEscaped(self.paths(range)))
                    }
                }
            }
        }
    }

    /// One path for each level: squares of the same colour.
    fn paths(&self, range: (f32, f32)) -> String {
        let mut paths: BTreeMap<usize, String> = BTreeMap::new();
        for row in 0..self.units.len() {
            for word in 0..self.words.len() {
                let path = paths.entry(level((self.value)(row, word), range)).or_default();
                let _ = write!(path, "M{word} {row}h1v1h-1z");
            }
        }
        paths.into_iter().fold(String::new(), |mut all, (level, path)| {
            let _ = write!(all, "<path class=\"l{level}\" d=\"{path}\"/>");
            all
        })
    }
}

/// The colour of a value in a range.
fn level(value: f32, (low, high): (f32, f32)) -> usize {
    if high <= low {
        return LEVELS / 2;
    }
    let place = f64::from((value - low) / (high - low)).clamp(0.0, 1.0);
    (place * (LEVELS - 1) as f64).round() as usize
}

fn shortened(word: &str) -> String {
    match word.char_indices().nth(LABEL) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    }
}

/// The styles of the levels.
pub(super) fn styles() -> String {
    (0..LEVELS).fold(String::new(), |mut css, level| {
        let [r, g, b] = colour(level);
        let _ = write!(css, ".l{level}{{fill:rgb({r} {g} {b})}}");
        css
    })
}

fn colour(level: usize) -> [u8; 3] {
    let place = level as f64 * (SCALE.len() - 1) as f64 / (LEVELS - 1) as f64;
    let (below, part) = ((place as usize).min(SCALE.len() - 2), place - (place as usize).min(SCALE.len() - 2) as f64);
    std::array::from_fn(|i| {
        let (a, b) = (f64::from(SCALE[below][i]), f64::from(SCALE[below + 1][i]));
        (a + (b - a) * part).round() as u8
    })
}

/// The scale with the ends of a range.
pub(super) fn legend((low, high): (f32, f32)) -> Markup {
    html! {
        p.legend {
            span { (format!("{low:.2}")) }
            svg width="170" height="12" role="img" aria-label="colour scale" {
                @for level in 0..LEVELS { rect class={ "l" (level) } x=(level * 10) y="0" width="10" height="12" {} }
            }
            span { (format!("{high:.2}")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_value_is_lighter() {
        let lightness =
            |level| colour(level).map(f64::from).into_iter().zip([0.2, 0.7, 0.1]).map(|(x, w)| x * w).sum::<f64>();
        for level in 1..LEVELS {
            assert!(lightness(level) > lightness(level - 1), "{level}");
        }
        assert_eq!((level(-1.0, (-1.0, 1.0)), level(0.0, (-1.0, 1.0)), level(1.0, (-1.0, 1.0))), (0, 8, 16));
        assert_eq!(level(9.0, (-1.0, 1.0)), 16);
        assert_eq!(level(0.5, (0.5, 0.5)), 8, "one value only");
    }
}

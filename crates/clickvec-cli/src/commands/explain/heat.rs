//! Heat maps as SVG: units from top to bottom, words from left to right.
//!
//! Larger values are lighter, so that the picture reads the same in black and white and for a colour-blind reader (the
//! scale is cividis). Columns after the end of a text stay empty.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clickvec::explain::Word;
use clickvec_tables::shown::cut;
use maud::{Markup, PreEscaped, html};

/// Steps of the colour scale, whose colours are in page.css.
const LEVELS: usize = 17;
/// Width of a word, in pixels.
const WORD: usize = 24;
/// Characters of a word above its column.
const LABEL: usize = 14;
/// Margins: for words above the columns, for cell numbers on the left, for the end of the last word on the right.
const HEAD: usize = 84;
const LEFT: usize = 32;
const RIGHT: usize = 44;
/// A short text's picture gets as many columns as the longest text has, but at most this many.
pub(super) const COLUMNS: usize = 10;

/// What one heat map shows.
pub(super) struct Heat<'a> {
    pub(super) words: &'a [Word],
    /// The number of columns; those after the last word stay empty.
    pub(super) columns: usize,
    /// The number of each row's unit, from 1.
    pub(super) units: Vec<usize>,
    /// Value of a row at a word.
    pub(super) value: &'a dyn Fn(usize, usize) -> f32,
    /// The range that all panels share.
    pub(super) common: (f32, f32),
}

impl Heat<'_> {
    /// Returns the smallest and the largest value.
    fn own(&self) -> (f32, f32) {
        let values = (0..self.words.len()).flat_map(|word| (0..self.units.len()).map(move |row| (row, word)));
        values.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), (row, word)| {
            let value = (self.value)(row, word);
            (low.min(value), high.max(value))
        })
    }

    /// Draws the picture in the common range and in its own; the page's switch shows one of them.
    pub(super) fn svg(&self, title: &str) -> Markup {
        let row = match self.units.len() {
            ..=24 => 14,
            25..=200 => 4,
            _ => 3,
        };
        let (width, height) = (LEFT + self.columns * WORD + RIGHT, HEAD + self.units.len() * row + 4);
        let own = self.own();
        let (all, is_numbered) = (row > 8, |unit: usize| unit == 1 || unit.is_multiple_of(10));
        let units: Vec<String> = self.units.iter().map(ToString::to_string).collect();
        html! {
            div.wide {
                svg.heat role="img" aria-label=(title) width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) }
                    data-left=(LEFT) data-head=(HEAD) data-word=(WORD) data-row=(row) data-words=(self.words.len())
                    data-units=(units.join(" ")) data-low=(own.0) data-high=(own.1) data-values=(self.values(own)) {
                    @for (position, word) in self.words.iter().enumerate() {
                        text.word transform={ "translate(" (LEFT + position * WORD + WORD / 2 + 4) " " (HEAD - 6) ") rotate(-55)" } {
                            (cut(&word.shown(), LABEL)) title { (word.text) }
                        }
                    }
                    @for (position, &unit) in self.units.iter().enumerate().filter(|&(_, &unit)| all || is_numbered(unit)) {
                        text.unit x=(LEFT - 4) y=(HEAD + position * row + if all { 11 } else { 6 }) { (unit) }
                    }
                    rect.empty x=(LEFT) y=(HEAD) width=(self.columns * WORD) height=(self.units.len() * row) {}
                    @for (class, range) in [("common", self.common), ("own", own)] {
                        g class=(class) transform={ "translate(" (LEFT) " " (HEAD) ") scale(" (WORD) " " (row) ")" } {
                            (PreEscaped(self.paths(range)))
                        }
                    }
                }
            }
            div.own.legend { (scale(own)) }
        }
    }

    /// Returns one path for each colour, which draws all its squares.
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

    /// Returns the values for the page's script, row by row: two base-64 digits each, scaled from the smallest value to the
    /// largest.
    fn values(&self, (low, high): (f32, f32)) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const MOST: f32 = 4095.0;
        let mut text = String::with_capacity(2 * self.units.len() * self.words.len());
        for row in 0..self.units.len() {
            for word in 0..self.words.len() {
                let part = if high > low { ((self.value)(row, word) - low) / (high - low) } else { 0.0 };
                let step = (part * MOST).round() as usize;
                text.extend([step / 64, step % 64].map(|digit| char::from(DIGITS[digit])));
            }
        }
        text
    }
}

/// Returns the colour of a value in a range.
fn level(value: f32, (low, high): (f32, f32)) -> usize {
    if high <= low {
        return LEVELS / 2;
    }
    let position = f64::from((value - low) / (high - low)).clamp(0.0, 1.0);
    (position * (LEVELS - 1) as f64).round() as usize
}

/// Returns the scale of the range that all heat maps share.
pub(super) fn legend(range: (f32, f32)) -> Markup {
    html! { div.common.legend { (scale(range)) } }
}

/// Returns the scale with the ends of a range.
fn scale((low, high): (f32, f32)) -> Markup {
    html! {
        span { (format!("{low:.2}")) }
        svg width="136" height="10" role="img" aria-label="colour scale" {
            @for level in 0..LEVELS { rect class={ "l" (level) } x=(level * 8) y="0" width="8" height="10" {} }
        }
        span { (format!("{high:.2}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clickvec_report::explanation::STYLE;

    /// Returns the colour of a level in page.css.
    fn colour(level: usize) -> [f64; 3] {
        let (_, rest) = STYLE.split_once(&format!(".l{level} {{ fill: rgb(")).expect("a colour for each level");
        let (numbers, _) = rest.split_once(')').expect("an end");
        let mut numbers = numbers.split(' ').map(|number| number.parse().expect("a number"));
        std::array::from_fn(|_| numbers.next().expect("three numbers"))
    }

    #[test]
    fn a_larger_value_is_lighter() {
        let lightness = |level| colour(level).into_iter().zip([0.2, 0.7, 0.1]).map(|(x, w)| x * w).sum::<f64>();
        for level in 1..LEVELS {
            assert!(lightness(level) > lightness(level - 1) + 4.0, "{level}");
        }
        assert_eq!((level(-1.0, (-1.0, 1.0)), level(0.0, (-1.0, 1.0)), level(1.0, (-1.0, 1.0))), (0, 8, 16));
        assert_eq!(level(9.0, (-1.0, 1.0)), 16);
        assert_eq!(level(0.5, (0.5, 0.5)), 8, "one value only");
    }

    /// Machado, Oliveira and Fernandes 2009: what a reader without the red or the green receptor sees, full severity.
    #[test]
    fn a_colour_blind_reader_sees_the_same_order() {
        let kinds = [
            [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
            [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
            [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
        ];
        for kind in kinds {
            let seen = |level: usize| {
                let colour = colour(level);
                let part = |row: [f64; 3]| row.into_iter().zip(colour).map(|(a, b)| a * b).sum::<f64>();
                kind.map(part).into_iter().zip([0.2, 0.7, 0.1]).map(|(x, w)| x * w).sum::<f64>()
            };
            assert!((1..LEVELS).all(|level| seen(level) > seen(level - 1) + 3.0));
        }
    }

    #[test]
    fn nothing_is_drawn_after_the_end_and_the_script_gets_the_values() {
        let value = |row: usize, word: usize| [[-1.0, 1.0], [0.0, 0.5]][row][word];
        let word = |text: &str, parts| Word { text: text.to_owned(), known: true, parts };
        let words = [word("a", 1), word("<b> c d", 3)];
        let heat = Heat { words: &words, columns: 5, units: vec![3, 7], value: &value, common: (-2.0, 2.0) };
        let svg = heat.svg("two words").into_string();
        assert_eq!(svg.matches("h1v1h-1z").count(), 2 * 4, "two words of two units, in both ranges");
        assert!(svg.contains("data-units=\"3 7\"") && svg.contains("data-values=\"AA//gAv/\""), "{svg}");
        assert!(svg.contains("… (3 words)<title>&lt;b&gt; c d</title>") && !svg.contains("<b>"), "{svg}");
    }
}

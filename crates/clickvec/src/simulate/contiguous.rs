//! Running text: small documents, each about one thing, in the words of people who look for it.

use rand::RngExt as _;

use super::market::{Market, Rng};
use crate::rng;

const SENTENCES: &str = include_str!("world/sentences.txt");
/// The number of documents that are made at once.
pub(super) const DOCUMENTS: u64 = 1_000;
/// The number of sentences in a document.
const LENGTHS: std::ops::RangeInclusive<usize> = 4..=9;
/// How often the next sentence says the same in other words.
const SAME: f64 = 0.6;

/// Sentences with a gap to fill.
pub(super) struct Sentences(Vec<(&'static str, &'static str)>);

impl Sentences {
    /// The sentences of the file, which is part of the program.
    pub(super) fn new() -> Sentences {
        let lines = SENTENCES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        Sentences(
            lines.map(|line| line.split_once('*').unwrap_or_else(|| panic!("expected `*` in `{line}`"))).collect(),
        )
    }

    /// `count` documents, starting at `number · DOCUMENTS`: one sentence a line, and an empty line after each
    /// document.
    pub(super) fn documents<M: Market>(&self, market: &M, seed: u64, number: u64, count: u64) -> String {
        let mut rng = rng::stream(seed, "text", number);
        let mut text = String::new();
        (0..count).for_each(|_| self.document(market, &mut rng, &mut text));
        text
    }

    fn document<M: Market>(&self, market: &M, rng: &mut Rng, text: &mut String) {
        let mut want = market.draw(rng);
        for _ in 0..rng.random_range(LENGTHS) {
            let (before, after) = self.0[rng.random_range(0..self.0.len())];
            text.push_str(before);
            market.ask(&want, rng, text);
            text.push_str(after);
            text.push('\n');
            if !rng.random_bool(SAME) {
                want = market.near(&want, rng);
            }
        }
        text.push('\n');
    }
}

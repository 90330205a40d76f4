//! Why a title matches a query: what each dimension of the vectors and each word adds to the cosine.

use serde::Serialize;

use super::one_based::from_one;
use super::text::{Panel, changes};
use super::{Explainer, TextView, Word};
use crate::encoder::Direction;
use crate::math::score::score;
use crate::math::vector::add_scaled;
use crate::model::Side;
use crate::text::ReadWords;
use std::collections::BTreeMap;

/// A query, a title, and the shares of their cosine.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// The query.
    pub query: TextView,
    /// The title.
    pub title: TextView,
    /// The cosine of their vectors, bit for bit as in a search.
    pub score: f32,
    /// The contribution of each dimension to the cosine: the product of the two unit vectors' values. They sum to the cosine.
    pub units: Vec<f64>,
    /// The contribution of each word of the query.
    pub query_words: WordShares,
    /// The contribution of each word of the title.
    pub title_words: WordShares,
    /// All units, those that add most first, with the words that moved them if they are cells; for a CLSM see also
    /// [`Match::maximum`].
    pub shared: Vec<SharedUnit>,
    /// Max-pooling units of a CLSM that both texts activate, largest product first; empty for other encoders.
    pub maximum: Vec<SharedUnit>,
    /// See [`Match::word_pairs`].
    pairs: Vec<WordPair>,
}

/// The shares of a text's words in the cosine, by two definitions: leave-one-out, and along the sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct WordShares {
    /// The fall of the cosine when the word is removed. These do not sum to the cosine, because two words may say the same thing,
    /// or mean something only together.
    pub without: Vec<f64>,
    /// The movement of the vector towards the other text's vector while the word is read. These sum to the cosine and depend on
    /// the order of the words. For a recurrent encoder they come from the state after each word, separately for each direction.
    /// For other encoders they come from the vectors of the text's first one, two, three … words.
    pub along: Vec<f64>,
}

/// A unit with its values on both sides: a dimension of the vectors, or a max-pooling unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SharedUnit {
    /// The unit.
    #[serde(serialize_with = "from_one")]
    pub unit: usize,
    /// The product of the two sides' values.
    #[serde(rename = "share")]
    pub product: f64,
    /// The query's value.
    pub query: f32,
    /// The title's value.
    pub title: f32,
    /// The word of the query that moved the unit most towards its value, or won it; `None` if the encoder does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_word: Option<usize>,
    /// The same for the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title_word: Option<usize>,
}

/// A word of the query and a word of the title, with the units that both moved most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WordPair {
    /// The word of the query.
    pub query_word: usize,
    /// The word of the title.
    pub title_word: usize,
    /// The sum of these units' contributions to the cosine.
    pub share: f64,
}

impl Match {
    /// Returns the pairs of words that make the texts match, largest share first. Each cell counts for the query word and the title
    /// word that moved it most, also where a projection mixes the cells, so the shares sum to the cosine. Empty unless
    /// the encoder is recurrent.
    pub fn word_pairs(&self) -> Vec<WordPair> {
        let mut pairs = self.pairs.clone();
        pairs.sort_by(|a, b| b.share.total_cmp(&a.share));
        pairs
    }

    /// Returns the `most` pairs of words that add most to the score as text, largest share first: `chicago 0.42`, `hotels ↔ rooms
    /// 0.12`. Shares of the same two words at different positions are added up.
    pub fn named_pairs(&self, most: usize) -> Vec<String> {
        let mut shares: Vec<(&Word, &Word, f64)> = Vec::new();
        for pair in self.word_pairs() {
            let (query, title) = (&self.query.words[pair.query_word], &self.title.words[pair.title_word]);
            // What the model does not know is no reason.
            if !(query.known && title.known) {
                continue;
            }
            match shares.iter_mut().find(|(first, second, _)| *first == query && *second == title) {
                Some((_, _, share)) => *share += pair.share,
                None => shares.push((query, title, pair.share)),
            }
        }
        shares.sort_by(|a, b| b.2.total_cmp(&a.2));
        let shown = shares.into_iter().filter(|(_, _, share)| *share >= 0.005).take(most);
        let named = shown.map(|(query, title, share)| {
            if query == title {
                format!("{} {share:.2}", query.shown())
            } else {
                format!("{} ↔ {} {share:.2}", query.shown(), title.shown())
            }
        });
        named.collect()
    }
}

impl Explainer<'_> {
    /// Explains the match of `query` and `title`: why the title has its score.
    pub fn explain(&self, query: &str, title: &str) -> Match {
        let (query, title) = (self.text(Side::Query, query), self.text(Side::Title, title));
        let score = score(&query.vector, &title.vector);
        let units: Vec<f64> =
            query.vector.iter().zip(&title.vector).map(|(&q, &t)| f64::from(q) * f64::from(t)).collect();
        let shares = |text: &TextView, other: &TextView| WordShares {
            without: self.without(text, other),
            along: self.along(text, other),
        };
        let (query_words, title_words) = (shares(&query, &title), shares(&title, &query));
        let movers = [mover_of_units(&query), mover_of_units(&title)];
        let unit = |unit: usize| SharedUnit {
            unit,
            product: units[unit],
            query: query.vector[unit],
            title: title.vector[unit],
            query_word: movers[0].get(unit).copied(),
            title_word: movers[1].get(unit).copied(),
        };
        let mut shared: Vec<SharedUnit> = (0..units.len()).map(unit).collect();
        shared.sort_by(|a, b| b.product.total_cmp(&a.product).then(a.unit.cmp(&b.unit)));
        let maximum = shared_maximum(&query, &title);
        let pairs = match self.encoder_config().projection() {
            None => pairs_of_units(&shared),
            Some(_) => self.pairs_of_parts(&query, &title),
        };
        Match { query, title, score, units, query_words, title_words, shared, maximum, pairs }
    }

    /// Returns [`WordShares::without`] of each word.
    fn without(&self, text: &TextView, other: &TextView) -> Vec<f64> {
        let texts: Vec<ReadWords<'_>> = (0..text.words.len()).map(|word| text.without(word)).collect();
        let all = dot(&text.vector, &other.vector);
        self.unit_vectors(text.side, &texts).iter().map(|vector| all - dot(vector, &other.vector)).collect()
    }

    /// Returns [`WordShares::along`] of each word.
    fn along(&self, text: &TextView, other: &TextView) -> Vec<f64> {
        let words = text.words.len();
        if text.length == 0.0 {
            return vec![0.0; words];
        }
        let activations = text.activations();
        if text.ends_in(&activations) {
            let mut shares = vec![0.0; words];
            let mut start = 0;
            for panel in activations {
                let other = &other.vector[start..start + panel.units];
                for (share, change) in shares.iter_mut().zip(changes(panel, words)) {
                    *share += dot(&change, other) / text.length;
                }
                start += panel.units;
            }
            return shares;
        }
        let beginnings: Vec<ReadWords<'_>> = (1..words).map(|n| text.first(n)).collect();
        let mut towards = vec![0.0];
        self.read(text.side, &beginnings, |_, states| {
            towards.push(dot(states.embedding(), &other.vector) / text.length);
        });
        towards.push(dot(&text.vector, &other.vector));
        towards.windows(2).take(words).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Returns the pairs of words of texts whose cells a projection mixes. A word's part of a vector is the projection of the cells
    /// that the word moved most. The vectors are the sums of their parts, so the products of the parts sum to the cosine.
    fn pairs_of_parts(&self, query: &TextView, title: &TextView) -> Vec<WordPair> {
        let [query_parts, title_parts] = [query, title].map(|text| self.parts(text));
        let pairs = |(query_word, part): (usize, &Vec<f32>)| {
            let share =
                |(title_word, other): (usize, &Vec<f32>)| WordPair { query_word, title_word, share: dot(part, other) };
            title_parts.iter().enumerate().map(share).filter(|pair| pair.share != 0.0).collect::<Vec<_>>()
        };
        query_parts.iter().enumerate().flat_map(pairs).collect()
    }

    /// Returns the part of each word in the vector of a text that a projection makes.
    fn parts(&self, text: &TextView) -> Vec<Vec<f32>> {
        let mut parts = vec![vec![0.0; text.vector.len()]; text.words.len()];
        for panel in text.activations().into_iter().filter(|_| !text.words.is_empty() && text.length > 0.0) {
            let last = panel.at(text.words.len() - 1);
            let Some((units, projection)) = self.model.encoder(text.side).before_projection(last) else { continue };
            for (cell, (value, word)) in units.iter().zip(movers_of_cells(panel, text.words.len())).enumerate() {
                let scaled = (f64::from(*value) / text.length) as f32;
                add_scaled(&mut parts[word], scaled, projection.row(cell));
            }
        }
        parts
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

/// Returns, for each dimension of the vector, the word that moved it most towards its final value; empty unless each is a cell of a
/// recurrent encoder.
fn mover_of_units(text: &TextView) -> Vec<usize> {
    let activations = text.activations();
    if text.words.is_empty() || activations.iter().map(|panel| panel.units).sum::<usize>() != text.vector.len() {
        return Vec::new();
    }
    activations.into_iter().flat_map(|panel| movers_of_cells(panel, text.words.len())).collect()
}

/// Returns, for each cell, the word that moved it most towards its final value; the first of several.
fn movers_of_cells(panel: &Panel, words: usize) -> Vec<usize> {
    let last = match panel.quantity.direction {
        Direction::Forward => words - 1,
        Direction::Backward => 0,
    };
    let changes = changes(panel, words);
    let mover = |unit: usize| {
        let sign = panel.at(last)[unit].signum();
        let toward = |word: &usize| sign * changes[*word][unit];
        (0..words).max_by(|a, b| toward(a).total_cmp(&toward(b)).then(b.cmp(a))).unwrap_or(0)
    };
    (0..panel.units).map(mover).collect()
}

/// Returns the pairs of words that moved the same units.
fn pairs_of_units(units: &[SharedUnit]) -> Vec<WordPair> {
    let mut shares = BTreeMap::<(usize, usize), f64>::new();
    for unit in units {
        if let (Some(query), Some(title)) = (unit.query_word, unit.title_word) {
            *shares.entry((query, title)).or_default() += unit.product;
        }
    }
    let pair = |((query_word, title_word), share)| WordPair { query_word, title_word, share };
    shares.into_iter().map(pair).collect()
}

/// Returns the max-pooling units that are positive on both sides (CLSM paper, fig. 4).
fn shared_maximum(query: &TextView, title: &TextView) -> Vec<SharedUnit> {
    let (q, t) = (&query.maximum, &title.maximum);
    let both = (0..q.len().min(t.len())).filter(|&unit| q[unit] > 0.0 && t[unit] > 0.0);
    let shared = both.map(|unit| SharedUnit {
        unit,
        product: f64::from(q[unit]) * f64::from(t[unit]),
        query: q[unit],
        title: t[unit],
        query_word: Some(query.winners[unit] as usize),
        title_word: Some(title.winners[unit] as usize),
    });
    let mut shared: Vec<SharedUnit> = shared.collect();
    shared.sort_by(|a, b| b.product.total_cmp(&a.product).then(a.unit.cmp(&b.unit)));
    shared
}

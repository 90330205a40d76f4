//! The titles that a teacher knows, as the features of their words.

use std::collections::HashMap;

use crate::clicks::{ClickLog, Section, Storage, Taught};
use crate::error::Result;
use crate::memory::NoRoom;
use crate::ragged::Ragged;
use crate::rng::Permutation;
use crate::text::batch::WordFeatures as _;
use crate::text::{Feature, WordId};

/// An item of a list, and how often it is there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Item {
    pub(super) number: u32,
    pub(super) count: u32,
}

impl From<Feature> for Item {
    fn from(feature: Feature) -> Item {
        Item { number: feature.id, count: feature.count }
    }
}

/// What memory is needed for.
const WHAT: &str = "titles to fit weights to";

/// For each of `count` numbers, the lists that have it, in order.
fn transposed(lists: &Ragged<Item>, count: usize) -> Result<Ragged<Item>, NoRoom> {
    Ragged::sorted(WHAT, count, |each| {
        for (list, items) in lists.iter().enumerate() {
            items.iter().for_each(|item| each(item.number as usize, Item { number: list as u32, count: item.count }));
        }
    })
}

/// Distinct titles, and the matrix of their features in two steps: from texts to words, and from words to features.
pub(super) struct Texts<'a> {
    /// The teacher's vectors, of length 1.
    pub(super) vectors: Vec<&'a [f32]>,
    /// The words of each text.
    pub(super) words: Ragged<Item>,
    /// The features of each word.
    pub(super) features: Ragged<Item>,
    /// The texts that have each word.
    pub(super) by_word: Ragged<Item>,
    /// The words that have each feature.
    pub(super) by_feature: Ragged<Item>,
    /// s: the factor of each feature.
    pub(super) factors: Vec<f32>,
    /// 1 / n: for each text, 1 divided by the length of its features' numbers; 0 if that is 0.
    pub(super) scales: Vec<f32>,
    /// For each feature, the sum over the texts of its squared number.
    pub(super) squares: Vec<f32>,
}

impl<'a> Texts<'a> {
    /// Up to `most` titles that `taught` has vectors of, drawn with the seed, from those that are learnt without a click if there
    /// are any, otherwise from clicked ones. `None` if it has vectors of less than half of them.
    pub(super) fn of(
        log: &'a ClickLog,
        taught: &'a Taught,
        seed: u64,
        most: usize,
        storage: Storage<'_>,
    ) -> Result<Option<Texts<'a>>> {
        let sections = [Section::Titles, Section::Clicks].map(|section| log.section(section));
        let section = sections.into_iter().find(|numbers| !numbers.is_empty()).unwrap_or_default();
        let distinct = log.distinct_titles_of(section, storage)?;
        let order = Permutation::new(distinct.len() as u64, seed, "titles to start from", 0);
        let mut places = HashMap::new();
        let (mut vectors, mut words, mut features) = (Vec::new(), Ragged::default(), Ragged::default());
        let mut unknown = 0;
        for place in 0..distinct.len() as u64 {
            let [title, number] = distinct[order.at(place) as usize];
            let Some(vector) = taught.vector(title) else {
                unknown += 1;
                continue;
            };
            let mut item = |&word: &WordId| {
                let number = *places.entry(word).or_insert_with(|| {
                    features.push(log.features(word).iter().map(|&feature| Item::from(feature)));
                    features.len() as u32 - 1
                });
                Item { number, count: 1 }
            };
            words.push(log.pair(number as usize).title_words.iter().map(&mut item));
            vectors.push(vector);
            if vectors.len() == most {
                break;
            }
        }
        if vectors.len() < 2 || vectors.len() < unknown {
            return Ok(None);
        }
        Texts::new(vectors, words, features, log.dictionary().len()).map(Some)
    }

    /// Texts of these words, which have these of `count` features.
    pub(super) fn new(
        vectors: Vec<&'a [f32]>,
        words: Ragged<Item>,
        features: Ragged<Item>,
        count: usize,
    ) -> Result<Texts<'a>> {
        let (by_word, by_feature) = (transposed(&words, features.len())?, transposed(&features, count)?);
        let mut texts = Texts {
            vectors,
            words,
            features,
            by_word,
            by_feature,
            factors: Vec::new(),
            scales: Vec::new(),
            squares: vec![0.0; count],
        };
        texts.weigh();
        Ok(texts)
    }

    pub(super) fn len(&self) -> usize {
        self.vectors.len()
    }

    /// Sets the factors of features and the scales of texts.
    fn weigh(&mut self) {
        let mut holders = vec![0u32; self.by_feature.len()];
        self.each_text(|_, counts| counts.iter().for_each(|&(feature, _)| holders[feature] += 1));
        let texts = self.len() as f64;
        let factor = |&holders: &u32| if holders == 0 { 0.0 } else { (texts / f64::from(holders)).ln().sqrt() as f32 };
        self.factors = holders.iter().map(factor).collect();
        let (mut scales, mut squares) = (vec![0.0; self.len()], vec![0.0; holders.len()]);
        self.each_text(|text, counts| {
            let numbers = || counts.iter().map(|&(feature, count)| (feature, count as f32 * self.factors[feature]));
            let length = numbers().map(|(_, x)| x * x).sum::<f32>().sqrt();
            if length > 0.0 {
                scales[text] = 1.0 / length;
                numbers().for_each(|(feature, x)| squares[feature] += (x / length).powi(2));
            }
        });
        (self.scales, self.squares) = (scales, squares);
    }

    /// Calls `take` with each text and the features that it has with their counts.
    fn each_text(&self, mut take: impl FnMut(usize, &[(usize, u32)])) {
        let (mut counts, mut found) = (vec![0u32; self.by_feature.len()], Vec::new());
        for (text, words) in self.words.iter().enumerate() {
            found.clear();
            for feature in words.iter().flat_map(|word| self.features.get(word.number as usize)) {
                let count = &mut counts[feature.number as usize];
                if *count == 0 {
                    found.push((feature.number as usize, 0));
                }
                *count += feature.count;
            }
            found.iter_mut().for_each(|(feature, count)| *count = std::mem::take(&mut counts[*feature]));
            take(text, &found);
        }
    }
}

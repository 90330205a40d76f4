//! The titles that a teacher knows, as the features of their words.

use std::collections::HashSet;

use crate::clicks::{ClickLog, Section, Taught};
use crate::rng::Permutation;
use crate::text::batch::WordFeatures as _;
use crate::text::{Feature, WordId};

/// Lists of numbers, one after another.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// The end of each list.
    ends: Vec<usize>,
    /// The numbers of all lists, each with a count.
    items: Vec<Feature>,
}

impl Lists {
    pub(super) fn push(&mut self, items: impl Iterator<Item = Feature>) {
        self.items.extend(items);
        self.ends.push(self.items.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[Feature]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.items[start..end])
    }

    /// For each of `count` numbers, the lists that have it, in order.
    fn transposed(&self, count: usize) -> Lists {
        let mut ends = vec![0; count + 1];
        for item in &self.items {
            ends[item.id as usize + 1] += 1;
        }
        (0..count).for_each(|number| ends[number + 1] += ends[number]);
        let mut items = vec![Feature::default(); self.items.len()];
        // `ends` has the start of each list until its items are written.
        for (list, of_list) in self.iter().enumerate() {
            for item in of_list {
                let place = &mut ends[item.id as usize];
                items[*place] = Feature { id: list as u32, count: item.count };
                *place += 1;
            }
        }
        ends.pop();
        Lists { ends, items }
    }
}

/// Distinct titles, and the matrix of their features in two steps: from texts to words, and from words to features.
pub(super) struct Texts<'a> {
    /// The teacher's vectors, of length 1.
    pub(super) vectors: Vec<&'a [f32]>,
    /// The words of each text.
    pub(super) words: Lists,
    /// The features of each word.
    pub(super) features: Lists,
    /// The texts that have each word.
    pub(super) by_word: Lists,
    /// The words that have each feature.
    pub(super) by_feature: Lists,
    /// s: the factor of each feature.
    pub(super) factors: Vec<f32>,
    /// 1 / n: for each text, 1 divided by the length of its features' numbers; 0 if that is 0.
    pub(super) scales: Vec<f32>,
    /// For each feature, the sum over the texts of its squared number.
    pub(super) squares: Vec<f32>,
}

impl<'a> Texts<'a> {
    /// Up to `most` titles that `taught` has vectors of, drawn with the seed: titles that are learnt without a click if there are
    /// any, otherwise clicked ones.
    pub(super) fn of(log: &'a ClickLog, taught: &'a Taught, seed: u64, most: usize) -> Texts<'a> {
        let section = [Section::Titles, Section::Clicks].map(|section| log.section(section));
        let section = section.into_iter().find(|numbers| !numbers.is_empty()).unwrap_or_default();
        let order = Permutation::new(section.end - section.start, seed, "titles to start from", 0);
        let (mut seen, mut places) = (HashSet::new(), vec![u32::MAX; log.words()]);
        let (mut vectors, mut words, mut features) = (Vec::new(), Lists::default(), Lists::default());
        for place in 0..section.end - section.start {
            let pair = log.pair((section.start + order.at(place)) as usize);
            let Some(vector) = taught.vector(pair.title).filter(|_| seen.insert(pair.title)) else { continue };
            let mut number = |&word: &WordId| {
                let place = &mut places[word as usize];
                if *place == u32::MAX {
                    *place = features.len() as u32;
                    features.push(log.features(word).iter().copied());
                }
                Feature { id: *place, count: 1 }
            };
            words.push(pair.title_words.iter().map(&mut number));
            vectors.push(vector);
            if vectors.len() == most {
                break;
            }
        }
        Texts::new(vectors, words, features, log.dictionary().len())
    }

    /// Texts of these words, which have these of `count` features.
    pub(super) fn new(vectors: Vec<&'a [f32]>, words: Lists, features: Lists, count: usize) -> Texts<'a> {
        let (by_word, by_feature) = (words.transposed(features.len()), features.transposed(count));
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
        texts
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
        let features: Vec<&[Feature]> = self.features.iter().collect();
        let (mut counts, mut found) = (vec![0u32; self.by_feature.len()], Vec::new());
        for (text, words) in self.words.iter().enumerate() {
            found.clear();
            for feature in words.iter().flat_map(|word| features[word.id as usize]) {
                let count = &mut counts[feature.id as usize];
                if *count == 0 {
                    found.push((feature.id as usize, 0));
                }
                *count += feature.count;
            }
            found.iter_mut().for_each(|(feature, count)| *count = std::mem::take(&mut counts[*feature]));
            take(text, &found);
        }
    }
}

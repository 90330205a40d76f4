//! The titles that a teacher knows, as the features of their words.

use std::collections::HashMap;

use crate::clicks::{ClickLog, Storage, Taught};
use crate::ragged::Ragged;
use crate::ridge::{Design, Item};
use crate::rng::Permutation;
use crate::settings::Section;
use crate::text::WordId;
use crate::text::batch::WordFeatures as _;
use clickvec_tables::Result;

/// Distinct titles with the teacher's vectors, and their features.
pub(super) struct Texts<'a> {
    /// The teacher's vectors, of length 1.
    pub(super) vectors: Vec<&'a [f32]>,
    pub(super) design: Design,
}

impl<'a> Texts<'a> {
    /// Draws up to `most` titles that `taught` has vectors of, with the seed, from those that are learnt without a click if there
    /// are any, otherwise from clicked ones. `None` if it has vectors of less than half of them.
    pub(super) fn new(
        log: &'a ClickLog,
        taught: &'a Taught,
        seed: u64,
        most: usize,
        storage: Storage<'_>,
    ) -> Result<Option<Texts<'a>>> {
        let sections = [Section::Titles, Section::Clicks].map(|section| log.section(section));
        let section = sections.into_iter().find(|numbers| !numbers.is_empty()).unwrap_or_default();
        let distinct = log.distinct_titles_in(section, storage)?;
        let order = Permutation::new(distinct.len() as u64, seed, "titles to start from", 0);
        let mut numbers_of_words = HashMap::new();
        let (mut vectors, mut words, mut features) = (Vec::new(), Ragged::default(), Ragged::default());
        let mut unknown = 0;
        for index in 0..distinct.len() as u64 {
            let [title, number] = distinct[order.at(index) as usize];
            let Some(vector) = taught.vector(title) else {
                unknown += 1;
                continue;
            };
            let mut item = |&word: &WordId| {
                let number = *numbers_of_words.entry(word).or_insert_with(|| {
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
        Ok(Some(Texts { vectors, design: Design::new(words, features, log.dictionary().len())? }))
    }
}

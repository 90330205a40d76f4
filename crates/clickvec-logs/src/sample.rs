//! Titles without a click for the queries of a validation set.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The number of titles to keep and choose from.
const KEPT: usize = 4_096;
/// The bytes they may take.
const KEPT_BYTES: usize = 8 << 20;

/// A sample of distinct titles: those with the smallest hashes, so that it depends on nothing but the titles.
#[derive(Debug, Default)]
pub(crate) struct TitleSample {
    titles: BTreeMap<u64, Vec<u8>>,
    bytes: usize,
    /// The limit below which hashes are kept, once some had to go.
    below: Option<u64>,
}

impl TitleSample {
    /// Offers a title.
    pub(crate) fn add(&mut self, title: &[u8]) {
        let hash = xxh3_64(title);
        if self.below.is_some_and(|below| hash >= below) || self.titles.contains_key(&hash) {
            return;
        }
        self.bytes += title.len();
        self.titles.insert(hash, title.to_vec());
        while self.titles.len() > KEPT || self.bytes > KEPT_BYTES {
            let Some((last, title)) = self.titles.pop_last() else { break };
            self.bytes -= title.len();
            self.below = Some(last);
        }
    }

    /// The titles to choose from.
    pub(crate) fn finish(self) -> Vec<Vec<u8>> {
        self.titles.into_values().collect()
    }
}

/// `count` distinct titles of a sample that were not clicked for a query, or as many as there are. They depend only on
/// the query and the sample.
pub(crate) fn beside<'s>(sample: &'s [Vec<u8>], query: &[u8], clicked: &[&[u8]], count: usize) -> Vec<&'s [u8]> {
    let mut chosen: Vec<&[u8]> = Vec::new();
    // Enough draws to find all of them, unless the sample is hardly larger than `count`.
    for draw in 0..8 * count as u64 {
        if chosen.len() == count || sample.is_empty() {
            break;
        }
        let place = xxh3_64_with_seed(query, draw) % sample.len() as u64;
        let title = sample[place as usize].as_slice();
        if !clicked.contains(&title) && !chosen.contains(&title) {
            chosen.push(title);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_depends_on_the_titles_alone() {
        let titles: Vec<Vec<u8>> = (0..10_000).map(|i| format!("t{i}").into_bytes()).collect();
        let sample = |titles: &mut dyn Iterator<Item = &Vec<u8>>| {
            let mut sample = TitleSample::default();
            titles.for_each(|title| sample.add(title));
            sample.finish()
        };
        let forward = sample(&mut titles.iter());
        assert_eq!(forward.len(), KEPT);
        assert_eq!(sample(&mut titles.iter().rev().chain(&titles)), forward);
    }

    #[test]
    fn chosen_titles_differ_and_were_not_clicked() {
        let sample: Vec<Vec<u8>> = (0..30).map(|i| format!("t{i}").into_bytes()).collect();
        let clicked: [&[u8]; 2] = [b"t3", b"t4"];
        let chosen = beside(&sample, b"q", &clicked, 10);
        assert_eq!((chosen.len(), &chosen), (10, &beside(&sample, b"q", &clicked, 10)));
        assert!(chosen.iter().all(|title| !clicked.contains(title)));
        assert_ne!(chosen, beside(&sample, b"r", &clicked, 10));
        assert_eq!(beside(&sample[..1], b"q", &[], 10), ["t0".as_bytes()]);
        assert!(beside(&[], b"q", &[], 10).is_empty());
    }
}

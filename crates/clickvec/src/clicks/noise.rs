//! The probability of each title as a negative, for noise-contrastive estimation.

use super::spool::{Spool, Spooled};
use super::{ClickLog, Storage};
use crate::settings::Section;
use clickvec_tables::Result;
use rayon::prelude::*;

/// The sizes of an epoch.
pub(super) struct Epoch {
    /// The mean number of times that it has a click, and a title that is its own query.
    pub(super) clicks: f64,
    pub(super) titles: f64,
    /// The number of its pairs.
    pub(super) pairs: u64,
    /// The number of pairs in a minibatch.
    pub(super) minibatch: usize,
}

impl Epoch {
    /// Computes, for each pair of the log, the logarithm of the chance that a minibatch has its title, and stores it in
    /// `storage`. A minibatch has each title once, however many of its pairs share it, and negatives come from these. So a title
    /// with a share p of an epoch's pairs has the chance 1 − (1 − p)ⁿ: nearly n p, unless p is large.
    ///
    /// # Errors
    /// [`clickvec_tables::ErrorKind::Io`] if a temporary file cannot be written; [`clickvec_tables::ErrorKind::Memory`].
    pub(super) fn title_chances(&self, log: &ClickLog, storage: Storage<'_>) -> Result<Spooled<f32>> {
        let first_title = log.section(Section::Titles).start;
        let (mut by_title, mut chances) = (Spool::<[u64; 2]>::new(storage)?, Spool::<f32>::new(storage)?);
        for number in 0..log.section(Section::Titles).end {
            by_title.push(&[log.pair(number as usize).title, number])?;
            chances.push(&0.0)?;
        }
        let (mut by_title, mut chances) = (by_title.finish()?, chances.finish()?);
        by_title.change(|pairs| pairs.par_sort_unstable())?;
        chances.change(|chances| {
            for pairs in by_title.chunk_by(|a, b| a[0] == b[0]) {
                let clicks = pairs.iter().filter(|pair| pair[1] < first_title).count();
                let times = clicks as f64 * self.clicks + (pairs.len() - clicks) as f64 * self.titles;
                let chance = self.chance_of(times);
                pairs.iter().for_each(|pair| chances[pair[1] as usize] = chance);
            }
        })?;
        Ok(chances)
    }

    /// Returns the logarithm of the chance that a minibatch has one of the pairs that an epoch has so often.
    fn chance_of(&self, times: f64) -> f32 {
        let never = self.minibatch as f64 * (-(times / self.pairs as f64).min(1.0)).ln_1p();
        // What an epoch has never is in no minibatch, and nothing asks for it.
        (-never.exp_m1()).max(f64::from(f32::MIN_POSITIVE)).ln() as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clicks::{ClickSource, LogConfig};
    use crate::settings::TrainConfig;

    #[test]
    fn a_chance_is_that_of_any_of_a_minibatchs_pairs() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("titles.tsv");
        std::fs::write(&path, "id\ttitle\n1\tnever clicked\n2\tcommon\n").expect("written");
        // One title in half of the pairs, one in an eighth, and others in one each.
        let title = |i: u32| match i % 8 {
            0 | 2 | 4 | 6 => "common".to_owned(),
            1 => "known".to_owned(),
            _ => format!("title{i}"),
        };
        let settings = TrainConfig::default();
        let config = LogConfig { titles: &[(&path).into()], ..(&settings).into() };
        for storage in [Storage::Memory, Storage::Folder(folder.path())] {
            let clicks = ClickSource::pairs((0..800).map(|i| (format!("query{i}"), title(i), 1.0)));
            let log = ClickLog::read(clicks, storage, config).expect("a log");
            let check = |clicks: f64, titles: f64, all: [f64; 5]| {
                let pairs = (800.0 * clicks + 2.0 * titles) as u64;
                let epoch = Epoch { clicks, titles, pairs, minibatch: 4 };
                let chances = epoch.title_chances(&log, storage).expect("chances");
                assert_eq!(chances.len(), 802);
                for (pair, times) in [0, 1, 3, 800, 801].into_iter().zip(all) {
                    let expected = (1.0 - (1.0 - times / pairs as f64).powi(4)).max(f64::from(f32::MIN_POSITIVE)).ln();
                    let found = f64::from(chances[pair]);
                    assert!((found - expected).abs() < 1e-5, "{pair}: {found}, expected {expected}");
                }
            };
            check(1.0, 0.0, [400.0, 100.0, 1.0, 0.0, 400.0]);
            check(1.0, 0.5, [400.5, 100.0, 1.0, 0.5, 400.5]);
            check(0.0, 1.0, [1.0, 0.0, 0.0, 1.0, 1.0]);
        }
    }
}

//! The gain of a new model over the old one, from clicks on the old one's titles.
//!
//! Users clicked what the old model put before them, mostly its first titles. By plain nDCG of these clicks nearly every other model
//! is worse. So a click at rank r of the old model counts 1 over the probability that users look there, r^η (inverse propensity
//! scoring: Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased feedback", 2017). A title that the old model did
//! not show is unknown: it counts as much as the last two that were shown did on the days before.

use std::ops::Range;

use clickvec::index::Hit;
use serde::{Deserialize, Serialize};

use super::churn::SHOWN;
use crate::SearchQuery;

/// The largest weight of a click.
const MOST_WEIGHT: f64 = 10.0;
/// The divisor of gains, so that nearly all are between −1 and 1.
const SCALE: f64 = 4.0;
/// The last places of the titles shown.
const LAST: Range<usize> = 8..SHOWN;

/// The places of clicked titles, over all days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Places {
    queries: u64,
    /// Clicked titles.
    clicked: u64,
    /// Clicked titles that the old model has in its first ten.
    shown: u64,
    /// The sum of the weights of clicks on the last places.
    last: f64,
}

impl Places {
    /// Returns the share of the clicked titles that the old model has in its first ten; `None` without a click. If it is small, another
    /// engine made the log.
    pub(super) fn shown(&self) -> Option<f64> {
        (self.clicked > 0).then(|| self.shown as f64 / self.clicked as f64)
    }

    /// Returns the mean weight of a title on the last places.
    fn worth_of_last(&self) -> f64 {
        self.last / (self.queries * LAST.len() as u64).max(1) as f64
    }

    /// Returns whether the numbers can be those of a log.
    pub(super) fn is_sound(&self) -> bool {
        let most = MOST_WEIGHT * (self.queries.saturating_mul(LAST.len() as u64)) as f64;
        self.shown <= self.clicked && (0.0..=most).contains(&self.last)
    }
}

/// Returns the gain of each query, between −1 and 1: the difference of DCG@10, new − old, over 4. Titles with a grade were clicked.
/// `position_bias` is η, and `places` has what is known of the days before. It gets what is known of this one. The first day only tells
/// where users click, and has no gains.
pub(super) fn gains(
    queries: &[SearchQuery],
    [old, new]: [&[Vec<Hit>]; 2],
    position_bias: f64,
    places: &mut Places,
) -> Vec<f64> {
    let rank_in = |list: &[Hit], position: u32| list.iter().take(SHOWN).position(|hit| hit.position == position);
    let discount = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let weight = |rank: usize| ((rank + 1) as f64).powf(position_bias).min(MOST_WEIGHT);
    // From the days before: with that of the same day, the gains of its queries would depend on each other.
    let unknown = places.worth_of_last();
    let is_first = places.queries == 0;
    let gain = |((query, old), new): ((&SearchQuery, &Vec<Hit>), &Vec<Hit>)| {
        places.queries += 1;
        let mut gain = 0.0;
        for &(position, _) in query.judged() {
            places.clicked += 1;
            // What was clicked elsewhere did not come from the old model, so that it is unknown how often it was shown.
            let Some(was) = rank_in(old, position) else { continue };
            places.shown += 1;
            if LAST.contains(&was) {
                places.last += weight(was);
            }
            gain += weight(was) * (rank_in(new, position).map_or(0.0, discount) - discount(was));
        }
        for (rank, hit) in new.iter().take(SHOWN).enumerate() {
            if rank_in(old, hit.position).is_none() {
                gain += unknown * discount(rank);
            }
        }
        (gain / SCALE).clamp(-1.0, 1.0)
    };
    let gains = queries.iter().zip(old).zip(new).map(gain).collect();
    if is_first { Vec::new() } else { gains }
}

#[cfg(test)]
mod tests {
    use clickvec::internals::rng;
    use clickvec::tables::Title;
    use rand::{Rng, RngExt as _};

    use super::*;
    use crate::{Collection, JudgedQuery, JudgedTitle, Judgments};

    const TITLES: u32 = 15;

    /// Returns the means over many queries of the gain, and of the difference of the true DCG@10. A model ranks by relevance plus
    /// noise, and users click what the old model shows.
    fn means(old_noise: f64, new_noise: f64, position_bias: f64) -> (f64, f64) {
        let mut rng = rng::stream(1, "gains", 0);
        let title = |title: u32| Title { id: title.to_string(), title: title.to_string() };
        let none = Judgments::default();
        let mut set = Collection::new(&none, true, (0..TITLES).map(title).collect()).unwrap();
        let (mut all, mut truth) = ([Vec::new(), Vec::new()], 0.0);
        let mut judgments = none;
        for query in 0..20_000 {
            let relevance: Vec<f64> = (0..TITLES).map(|_| rng.random::<f64>().powi(2)).collect();
            let lists = [old_noise, new_noise].map(|noise| ranked(&relevance, noise, &mut rng));
            let value = |list: &[Hit]| {
                let gain = |(rank, hit): (usize, &Hit)| relevance[hit.position as usize] / ((rank + 2) as f64).log2();
                list.iter().enumerate().map(gain).sum::<f64>()
            };
            truth += value(&lists[1]) - value(&lists[0]);
            let mut clicked = Vec::new();
            for (rank, hit) in lists[0].iter().enumerate() {
                let looks = ((rank + 1) as f64).powf(-1.0);
                if rng.random_bool(looks * (0.05 + 0.95 * relevance[hit.position as usize])) {
                    let id = hit.position.to_string();
                    clicked.push(JudgedTitle { text: id.clone(), id, grade: 1 });
                }
            }
            // Titles without a click are in no log.
            if !clicked.is_empty() {
                let id = query.to_string();
                judgments.queries.push(JudgedQuery { text: id.clone(), id, titles: clicked });
                all.iter_mut().zip(lists).for_each(|(all, list)| all.push(list));
            }
        }
        let queries = set.others(&judgments, true).unwrap();
        let mut places = Places::default();
        gains(&queries, [&all[0], &all[1]], position_bias, &mut places);
        assert!(places.is_sound() && places.shown() == Some(1.0));
        let found = gains(&queries, [&all[0], &all[1]], position_bias, &mut places);
        (found.iter().sum::<f64>() / found.len() as f64, truth / 20_000.0)
    }

    fn ranked(relevance: &[f64], noise: f64, rng: &mut impl Rng) -> Vec<Hit> {
        let scored = (0..).zip(relevance).map(|(position, relevance)| {
            let score = relevance + noise * rng.random::<f64>();
            Hit { position, score: score as f32 }
        });
        let mut hits: Vec<Hit> = scored.collect();
        hits.sort_by(Hit::best_first);
        hits.truncate(SHOWN);
        hits
    }

    #[test]
    fn a_better_model_gains_although_users_saw_the_old_one() {
        for (old, new) in [(1.0, 0.3), (0.7, 0.5), (0.3, 0.3), (1.0, 1.0), (0.2, 1.0)] {
            let ((gain, truth), (plain, _)) = (means(old, new, 1.0), means(old, new, 0.0));
            println!(
                "noise {old} → {new}: true difference {truth:+.3}, gain {gain:+.3}, without correction {plain:+.3}"
            );
            if old > new {
                assert!(gain > 0.01 && truth > 0.0, "{gain} {truth}");
                assert!(plain < 0.0, "{plain}: no correction would be needed");
            } else {
                // As good, or worse: there is hardly a gain, though the two show other titles.
                assert!(gain < 0.012 && truth < 0.01, "{gain} {truth}");
            }
        }
    }

    #[test]
    fn without_a_query_there_is_no_gain() {
        let mut places = Places::default();
        assert_eq!(gains(&[], [&[], &[]], 1.0, &mut places), [0.0; 0]);
        assert_eq!((places.shown(), places.worth_of_last()), (None, 0.0));
    }
}

//! Fusions of systems whose answers are known, and the weights that are best on judged queries.

use std::collections::HashMap;

use rayon::prelude::*;

use super::weights::{FitWatch, FittedWeights, fit_weights};
use clickvec::index::Hit;
use clickvec_eval::internals::{discount, order_key};
use clickvec_eval::{Answers, EvaluateOptions, JudgedQuery, Ranking, Scores, SearchQuery, Task, Ties};
use clickvec_index::{FusionMethod, fused_shares, sum_shares};
use clickvec_tables::Result;

/// The cutoffs k of NDCG@k to which the weights for judged titles are fitted, as parameters are chosen.
const CUTOFFS: [usize; 3] = [1, 3, 10];

/// The cutoffs of nDCG@k and recall@k to which the weights of a search are fitted.
const FIRST_TITLES: usize = 10;
const MANY_TITLES: usize = 100;

/// Fuses the answers of several systems, each with a weight. Lists of fewer than `depth` titles have all that their system
/// finds ([`FusionMethod::comparable`]).
///
/// # Panics
///
/// If there is not one weight for each system, or the systems answered different tasks.
pub(super) fn fused(systems: &[&Answers], weights: &[f64], method: FusionMethod, depth: usize) -> Answers {
    let queries = 0..systems.first().map_or(0, |system| system.len());
    match systems.first() {
        Some(Answers::Lists(_)) => Answers::Lists(
            queries
                .map(|query| {
                    let lists: Vec<&[Hit]> = systems.iter().map(|system| &system.lists()[query][..]).collect();
                    fuse_hits(&lists, weights, method, depth)
                })
                .collect(),
        ),
        _ => Answers::Scores(
            queries
                .map(|query| {
                    let scores: Vec<&[f64]> = systems.iter().map(|system| &system.scores()[query][..]).collect();
                    fuse(&scores, weights, method)
                })
                .collect(),
        ),
    }
}

/// Fuses what several systems, each with a weight, found for one query into one list, best first. A system with weight 0 takes no
/// part: what it alone found is not in the list. A title that a system did not find gets nothing from it, so the result depends on
/// how long the lists are.
///
/// # Panics
/// If there is not one weight for each list.
fn fuse_hits(lists: &[&[Hit]], weights: &[f64], method: FusionMethod, depth: usize) -> Vec<Hit> {
    assert_eq!(lists.len(), weights.len(), "one weight a system");
    let taking_part = lists.iter().zip(weights).filter(|&(_, &weight)| weight > 0.0);
    let shares = taking_part.map(|(list, &weight)| fused_shares(list, weight, method, depth));
    sum_shares(&shares.collect::<Vec<_>>())
}

/// Fuses the scores that several systems, each with a weight, give the titles of one query.
///
/// Titles that no ranker tells apart have equal fused scores. A ranker that gives all titles the same score changes
/// nothing.
///
/// # Panics
/// If there is not one weight for each ranker, or if the lists have different lengths.
pub(crate) fn fuse(scores: &[&[f64]], weights: &[f64], method: FusionMethod) -> Vec<f64> {
    assert_eq!(scores.len(), weights.len(), "one weight a ranker");
    let mut fused = vec![0.0; scores.first().map_or(0, |scores| scores.len())];
    for (scores, &weight) in scores.iter().zip(weights) {
        assert_eq!(scores.len(), fused.len(), "one score a title");
        fused.iter_mut().zip(method.apply(scores)).for_each(|(sum, value)| *sum += weight * value);
    }
    fused
}

/// Returns weights, with sum 1, with which all systems count alike. For all methods but [`FusionMethod::Linear`] they are equal.
/// There, each is divided by the standard deviation of its system's scores within a query.
pub(super) fn equal_weights(systems: &[&Answers], method: FusionMethod) -> Vec<f64> {
    let answered = |system: &Answers, query: usize| match system {
        Answers::Scores(scores) => method.apply(&scores[query]),
        Answers::Lists(lists) => method.apply(&lists[query].iter().map(|hit| f64::from(hit.score)).collect::<Vec<_>>()),
    };
    let spreads = systems.iter().map(|system| spread((0..system.len()).map(|query| answered(system, query))));
    alike(spreads, method)
}

/// The standard deviation of scores within a query: the root of the variances' mean.
fn spread(per_query: impl Iterator<Item = Vec<f64>>) -> f64 {
    let variance = |scores: Vec<f64>| {
        let n = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / n;
        scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / n
    };
    // A query without titles, or with a score that is not a number, says nothing about the others.
    let variances: Vec<f64> = per_query.map(variance).filter(|variance| variance.is_finite()).collect();
    (variances.iter().sum::<f64>() / variances.len().max(1) as f64).sqrt()
}

/// The weights of systems with these standard deviations.
fn alike(spreads: impl ExactSizeIterator<Item = f64>, method: FusionMethod) -> Vec<f64> {
    let equal = vec![1.0 / spreads.len() as f64; spreads.len()];
    if method != FusionMethod::Linear {
        return equal;
    }
    // A system that tells nothing apart has no scale; its weight changes nothing.
    let units: Vec<f64> = spreads.map(|spread| if spread > 0.0 { 1.0 / spread } else { 0.0 }).collect();
    rescaled(&equal, &units)
}

/// `weights` times `units`, with sum 1. They stay as they are if all products are 0.
fn rescaled(weights: &[f64], units: &[f64]) -> Vec<f64> {
    let products: Vec<f64> = weights.iter().zip(units).map(|(weight, unit)| weight * unit).collect();
    let sum: f64 = products.iter().sum();
    if sum > 0.0 && sum.is_finite() { products.iter().map(|product| product / sum).collect() } else { weights.to_vec() }
}

/// Searches for weights that begin with those that count alike, so that a step is as large for each system.
fn fit_alike(
    alike: Vec<f64>,
    method: FusionMethod,
    objective: &mut dyn FnMut(&[f64]) -> f64,
    watch: &mut FitWatch<'_>,
) -> Result<FittedWeights> {
    let of = |weights: &[f64]| match method {
        FusionMethod::Linear => rescaled(weights, &alike),
        _ => weights.to_vec(),
    };
    let fitted = fit_weights(alike.len(), &mut |weights| objective(&of(weights)), watch)?;
    Ok(FittedWeights { weights: of(&fitted.weights), ..fitted })
}

/// Fits the weights of a fusion of systems, which gave these answers to a task: to the mean of NDCG@1, @3 and @10 of judged titles,
/// or to the mean of nDCG@10 and recall@100 of lists of up to `depth` titles each. Titles
/// without a judgment count as not relevant.
///
/// # Errors
///
/// `ErrorKind::Interrupted` if `watch` breaks.
///
/// # Panics
///
/// If the answers are not those to the task.
pub(super) fn fit_fusion(
    task: Task<'_>,
    systems: &[&Answers],
    (method, depth): (FusionMethod, usize),
    options: &EvaluateOptions,
    watch: &mut FitWatch<'_>,
) -> Result<FittedWeights> {
    let equal = equal_weights(systems, method);
    match task {
        Task::Judged(judgments) => {
            let scores: Vec<&Scores> = systems.iter().map(|system| system.scores()).collect();
            let queries = judgments.queries.par_iter().enumerate();
            let pools: Vec<JudgedPool> =
                queries.map(|(number, query)| JudgedPool::new(&scores, number, query, method, options)).collect();
            let mut objective = |weights: &[f64]| {
                let values: Vec<[f64; CUTOFFS.len()]> = pools.par_iter().map(|pool| pool.ndcg(weights)).collect();
                let mean = |at: usize| values.iter().map(|value| value[at]).sum::<f64>() / values.len().max(1) as f64;
                (0..CUTOFFS.len()).map(mean).sum::<f64>() / CUTOFFS.len() as f64
            };
            fit_alike(equal, method, &mut objective, watch)
        }
        Task::Search { queries, .. } => {
            let lists: Vec<&[Vec<Hit>]> = systems.iter().map(|system| system.lists()).collect();
            let pool = |(number, query)| FusedPool::new(&lists, number, query, (method, depth), options);
            let pools: Vec<FusedPool> = queries.par_iter().enumerate().filter_map(pool).collect();
            let mut objective = |weights: &[f64]| {
                let values: Vec<f64> = pools.par_iter().map(|pool| pool.objective(weights)).collect();
                values.iter().sum::<f64>() / values.len().max(1) as f64
            };
            fit_alike(equal, method, &mut objective, watch)
        }
    }
}

/// The judged titles of one query, ready to be weighted: what [`Task::judge`] does for each set of weights anew is
/// done once here.
struct JudgedPool {
    /// [system][title]: normalised scores.
    scores: Vec<Vec<f64>>,
    /// The gain of each title.
    gains: Vec<f64>,
    /// The discounted cumulative gain of the best ranking at each cutoff.
    ideal: [f64; CUTOFFS.len()],
    /// The order of tied titles, if it is that of their ids and not every one.
    tied: Option<Vec<usize>>,
}

impl JudgedPool {
    fn new(
        scores: &[&Scores],
        number: usize,
        query: &JudgedQuery,
        method: FusionMethod,
        options: &EvaluateOptions,
    ) -> JudgedPool {
        let pooled = |scores: &&Scores| {
            assert_eq!(scores[number].len(), query.titles.len(), "one score a title");
            method.apply(&scores[number])
        };
        let grades: Vec<u8> = query.titles.iter().map(|title| title.grade).collect();
        let by_id = || {
            let mut order: Vec<usize> = (0..query.titles.len()).collect();
            order.sort_by(|&a, &b| query.titles[b].id.cmp(&query.titles[a].id));
            let mut positions = vec![0; order.len()];
            order.iter().enumerate().for_each(|(position, &title)| positions[title] = position);
            positions
        };
        JudgedPool {
            scores: scores.iter().map(pooled).collect(),
            gains: grades.iter().map(|&grade| options.gain.value(grade)).collect(),
            ideal: CUTOFFS.map(|k| Ranking::ideal_dcg(&grades, k, options.gain)),
            tied: (options.ties == Ties::Trec).then(by_id),
        }
    }

    /// NDCG at each cutoff, to the last bit as [`Ranking::ndcg`] has it.
    fn ndcg(&self, weights: &[f64]) -> [f64; CUTOFFS.len()] {
        let mut fused = vec![0.0; self.gains.len()];
        for (scores, &weight) in self.scores.iter().zip(weights) {
            fused.iter_mut().zip(scores).for_each(|(sum, score)| *sum += weight * score);
        }
        let mut order: Vec<(f64, usize)> = fused.iter().map(|&score| order_key(score)).zip(0..).collect();
        let position = |title: usize| self.tied.as_ref().map_or(title, |positions| positions[title]);
        order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| position(a.1).cmp(&position(b.1))));
        let mut dcg = [0.0; CUTOFFS.len()];
        let mut start = 0;
        let same = |a: &(f64, usize), b: &(f64, usize)| self.tied.is_none() && a.0 == b.0;
        for group in order.chunk_by(same) {
            if start >= CUTOFFS[CUTOFFS.len() - 1] {
                break;
            }
            let mean_gain = group.iter().map(|&(_, title)| self.gains[title]).sum::<f64>() / group.len() as f64;
            for (dcg, &k) in dcg.iter_mut().zip(&CUTOFFS) {
                let positions = start..(start + group.len()).min(k).max(start);
                *dcg += mean_gain * positions.map(discount).sum::<f64>();
            }
            start += group.len();
        }
        let ndcg = |at: usize| if self.ideal[at] == 0.0 { 0.0 } else { (dcg[at] / self.ideal[at]).min(1.0) };
        std::array::from_fn(ndcg)
    }
}

/// The titles that all systems found for one query, ready to be weighted.
struct FusedPool {
    /// [system][title]: normalised scores, those of judged titles first.
    scores: Vec<Vec<f32>>,
    /// The gain of each judged title that was found, and whether it is relevant.
    judged: Vec<(f64, f64)>,
}

impl FusedPool {
    /// The pool of one query. `None` if no judged title is relevant: all weights are equally good then.
    fn new(
        lists: &[&[Vec<Hit>]],
        number: usize,
        query: &SearchQuery,
        (method, depth): (FusionMethod, usize),
        options: &EvaluateOptions,
    ) -> Option<FusedPool> {
        let ideal = Ranking::ideal_dcg(&query.grades, FIRST_TITLES, options.gain);
        if ideal == 0.0 {
            return None;
        }
        let relevant = |grade: u8| f64::from(u8::from(grade >= options.relevant_from));
        let all_relevant = query.grades.iter().map(|&grade| relevant(grade)).sum::<f64>().max(1.0);
        let mut positions: HashMap<u32, usize> = HashMap::new();
        let mut judged = Vec::new();
        for &(position, grade) in query.judged() {
            if lists.iter().any(|lists| lists[number].iter().any(|hit| hit.position == position)) {
                positions.insert(position, judged.len());
                judged.push((options.gain.value(grade) / ideal, relevant(grade) / all_relevant));
            }
        }
        for hit in lists.iter().flat_map(|lists| &lists[number]) {
            let next = positions.len();
            positions.entry(hit.position).or_insert(next);
        }
        let pooled = |lists: &&[Vec<Hit>]| {
            let mut scores = vec![0.0; positions.len()];
            for (position, score) in method.comparable(&lists[number], depth) {
                scores[positions[&position]] = score as f32;
            }
            scores
        };
        Some(FusedPool { scores: lists.iter().map(pooled).collect(), judged })
    }

    /// The mean of nDCG@10 and recall@100, averaged over all orders of tied titles.
    fn objective(&self, weights: &[f64]) -> f64 {
        let mut fused = vec![0f32; self.scores.first().map_or(0, Vec::len)];
        for (scores, &weight) in self.scores.iter().zip(weights) {
            fused.iter_mut().zip(scores).for_each(|(sum, score)| *sum += weight as f32 * score);
        }
        let mut sum = 0.0;
        for (&score, &(gain, relevance)) in fused.iter().zip(&self.judged) {
            let before: usize = fused.iter().map(|other| usize::from(*other > score)).sum();
            if before >= MANY_TITLES {
                continue;
            }
            let tied: usize = fused.iter().map(|other| usize::from(*other == score)).sum();
            let ranks = before..before + tied;
            let discounts: f64 = ranks.clone().take_while(|&position| position < FIRST_TITLES).map(discount).sum();
            let shown = ranks.end.min(MANY_TITLES) - before;
            sum += (gain * discounts + relevance * shown as f64) / tied as f64;
        }
        sum / 2.0
    }
}

#[cfg(test)]
mod tests;

//! What the rows of a table find among all titles of the collection.

use clickvec::error::Result;
use clickvec::eval::{EvaluateOptions, FullEvaluation, FullJudge, FullTestSet, Measure, search_all};
use clickvec::index::Hit;
use clickvec::ranker::Ranker;

/// The number of titles that a row finds for each query.
pub(super) const DEPTH: usize = 100;

/// What one system finds for each query, best first: the position of a title and the bits of its score.
pub(super) type Found = Vec<Vec<(u32, u32)>>;

/// The search of all titles by a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Full {
    /// Each query's values of [`Full::MEASURES`], the mean over the seeds.
    pub evaluation: FullEvaluation,
    /// For each seed, the mean of each measure.
    pub seeds: Vec<Vec<f64>>,
}

impl Full {
    /// The measures.
    pub const MEASURES: [Measure; 2] = [Measure::Ndcg(10), Measure::Recall(DEPTH as u32)];

    /// The standard deviation of a measure's mean over the seeds; `None` with a single seed.
    pub fn spread(&self, measure: usize) -> Option<f64> {
        super::seeds::deviation(self.seeds.iter().map(|seed| seed[measure]))
    }

    /// `runs` has the lists of each seed.
    pub(super) fn judged(name: &str, set: &FullTestSet, runs: &[Vec<Vec<Hit>>], options: &EvaluateOptions) -> Full {
        let evaluations: Vec<FullEvaluation> = runs
            .iter()
            .map(|lists| {
                let mut judge = FullJudge::new(&set.titles, &Full::MEASURES, options);
                judge.add(&set.queries, lists);
                judge.finish(name)
            })
            .collect();
        let seeds = evaluations.iter().map(|run| run.mean.clone()).collect();
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / runs.len() as f64;
        let mut evaluation = evaluations[0].clone();
        if runs.len() > 1 {
            for measure in 0..Full::MEASURES.len() {
                for (query, values) in evaluation.queries.iter_mut().enumerate() {
                    values[measure] = mean(&mut evaluations.iter().map(|run| run.queries[query][measure]));
                }
                evaluation.mean[measure] = mean(&mut evaluations.iter().map(|run| run.mean[measure]));
            }
        }
        Full { evaluation, seeds }
    }
}

/// What a ranker finds in the collection.
pub(super) fn search(set: &FullTestSet, ranker: &dyn Ranker) -> Result<Found> {
    let texts = set.texts();
    let candidates = ranker.candidates(&texts)?;
    let mut found = Vec::with_capacity(set.queries.len());
    search_all(candidates.as_ref(), &set.queries, DEPTH, |_, lists| -> Result<()> {
        found.extend(lists.iter().map(|hits| pack(hits)));
        Ok(())
    })?;
    Ok(found)
}

/// Hits as they are stored.
pub(super) fn pack(hits: &[Hit]) -> Vec<(u32, u32)> {
    hits.iter().map(|hit| (hit.position, hit.score.to_bits())).collect()
}

/// Hits as they were.
pub(super) fn unpack(hits: &[(u32, u32)]) -> Vec<Hit> {
    hits.iter().map(|&(position, score)| Hit { position, score: f32::from_bits(score) }).collect()
}

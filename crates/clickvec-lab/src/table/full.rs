//! Searches of all titles of the collection by the rows of a table.

use clickvec::index::Hit;
use clickvec_eval::ranker::Ranker;
use clickvec_eval::{Answers, Collection, EvaluateOptions, Evaluation, Metric, Metrics};
use clickvec_tables::Result;

/// The number of titles that a row finds for each query.
pub(super) const DEPTH: usize = 100;

/// The titles that one system finds for each query, best first: the position of a title and the bits of its score.
pub(super) type Found = Vec<Vec<(u32, u32)>>;

/// The search of all titles by a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Full {
    /// Each query's values of [`Full::METRICS`], the mean over the seeds.
    pub evaluation: Evaluation,
    /// For each seed, the means.
    pub seeds: Vec<Metrics>,
    /// For each seed, the metrics of each query.
    pub by_seed: Vec<Vec<Metrics>>,
}

impl Full {
    /// The metrics.
    pub const METRICS: [Metric; 2] = [Metric::Ndcg(10), Metric::Recall(DEPTH as u32)];

    /// Returns the standard deviation of a metric's mean over the seeds; `None` with a single seed.
    pub fn spread(&self, metric: Metric) -> Option<f64> {
        super::seeds::deviation(self.seeds.iter().map(|seed| seed.get(metric)))
    }

    /// Judges the lists of each seed in `runs`.
    pub(super) fn judged(name: &str, set: &Collection, runs: Vec<Vec<Vec<Hit>>>, options: &EvaluateOptions) -> Full {
        let task = set.task(&set.queries);
        let judge = |lists| task.judge(name, &Answers::Lists(lists), &Full::METRICS, options);
        let evaluations: Vec<Evaluation> = runs.into_iter().map(judge).collect();
        let seeds: Vec<Metrics> = evaluations.iter().map(|run| run.mean.clone()).collect();
        let by_query = |run: &Evaluation| run.queries.iter().map(|query| query.metrics.clone()).collect();
        let by_seed = evaluations.iter().map(by_query).collect();
        let mut evaluation = super::seeds::mean_over(&evaluations);
        if seeds.len() > 1 {
            evaluation.mean = Metrics::mean(&seeds);
        }
        Full { evaluation, seeds, by_seed }
    }
}

/// Searches the collection with a ranker.
pub(super) fn search(set: &Collection, ranker: &dyn Ranker) -> Result<Found> {
    let answers = set.task(&set.queries).answers(ranker, DEPTH, &mut |_| ())?;
    Ok(answers.lists().iter().map(|hits| pack(hits)).collect())
}

/// Hits as they are stored.
pub(super) fn pack(hits: &[Hit]) -> Vec<(u32, u32)> {
    hits.iter().map(|hit| (hit.position, hit.score.to_bits())).collect()
}

/// Hits as they were.
pub(super) fn unpack(hits: &[(u32, u32)]) -> Vec<Hit> {
    hits.iter().map(|&(position, score)| Hit { position, score: f32::from_bits(score) }).collect()
}

//! Judging by held-out queries while a model is trained.

use std::borrow::Cow;
use std::cell::RefCell;

use clickvec::model::Model;
use clickvec::train::{HeldOut, HeldOutCounts, Keep, Negatives, Score, TrainConfig, Validation};
use clickvec::{Error, Result};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use crate::ranker::Neural;
use crate::{Contest, HeldOutTest, Metric, Metrics, Standing, paired_t_test};

/// The fingerprint, in a model, of every judge of this kind, so that a run is only resumed by the same kind.
const FINGERPRINT: u64 = 0x6865_6c64_2d6f_7574;

/// The same for judges by the loss.
const FINGERPRINT_OF_LOSS: u64 = 0x6865_6c64_6c6f_7373;

/// The t of a paired one-sided test at the level of .05, above which an epoch is not shown to be worse than another.
const WORSE: f64 = -1.7;

/// The metrics by which epochs are compared: one of the first titles, and one of all titles found.
const COMPARED: [Metric; 2] = [HeldOutTest::DECIDES, Metric::Recall(HeldOutTest::DEPTH as u32)];

/// Judges models by the queries that training holds out.
pub(super) struct Judge {
    /// Whether the value is minus the loss of the held-out pairs, and not NDCG.
    by_loss: bool,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    test: Option<HeldOutTest>,
    counts: HeldOutCounts,
    /// The last measurements.
    last: Option<HeldOutMeans>,
    /// The last epoch.
    epoch: u32,
    failed: Option<Error>,
}

/// The mean of each measure over held-out queries, and their loss.
#[derive(Debug, Clone)]
pub struct HeldOutMeans {
    /// The means of the metrics.
    pub metrics: Metrics,
    /// The mean loss of a held-out pair, if it was measured.
    pub loss: Option<f64>,
}

/// A model compared with rankers that need no training, on held-out queries.
#[derive(Debug, Clone, Serialize)]
pub struct HeldOutSummary {
    /// The numbers of held-out queries, pairs and titles.
    #[serde(flatten)]
    pub counts: HeldOutCounts,
    /// The epoch of the model, and why it was chosen.
    pub choice: String,
    /// The comparison.
    #[serde(flatten)]
    pub report: Contest,
    /// The test of the model.
    #[serde(skip)]
    pub test: HeldOutTest,
}

impl Judge {
    /// Creates the judge of a run with these settings.
    pub(super) fn new(config: &TrainConfig) -> Judge {
        Judge { by_loss: config.keep == Keep::Loss, state: RefCell::default() }
    }

    /// Takes the queries that are held out. [`Judge::finish`] returns the error if there is one.
    pub(super) fn begin(&self, held_out: &HeldOut) {
        let mut state = self.state.borrow_mut();
        if !held_out.queries.is_empty() {
            state.counts = held_out.counts;
            match HeldOutTest::new(held_out.clone()) {
                Ok(test) => state.test = Some(test),
                Err(error) => state.failed = Some(error),
            }
        }
    }

    /// Scores a model. [`Judge::finish`] returns the error if there is one.
    pub(super) fn score(&self, model: &Model) -> Score {
        let mut state = self.state.borrow_mut();
        state.epoch = model.training().epoch;
        let mut queries = Vec::new();
        let value = match state.test.as_ref().map(|test| test.judge(&named(model))) {
            None => f64::NAN,
            Some(Ok(evaluation)) => {
                let loss = state.test.as_ref().and_then(|test| loss(test, model));
                state.last = Some(HeldOutMeans { metrics: evaluation.mean.clone(), loss });
                queries = COMPARED.map(|metric| evaluation.values(metric)).to_vec();
                if self.by_loss { loss.map_or(f64::NAN, |loss| -loss) } else { HeldOutTest::value(&evaluation) }
            }
            Some(Err(error)) => {
                state.failed.get_or_insert(error);
                f64::NAN
            }
        };
        Score { value, queries, ..Score::default() }
    }

    /// Returns the validation of a training run, scored by `judge`.
    pub(super) fn validation<'a>(&self, judge: &'a mut dyn FnMut(&Model) -> Score) -> Validation<'a> {
        if self.by_loss {
            Validation { fingerprint: FINGERPRINT_OF_LOSS, is_worse: |_, _| true, judge }
        } else {
            Validation { fingerprint: FINGERPRINT, is_worse, judge }
        }
    }

    /// Returns the last measurements.
    pub(super) fn last(&self) -> Option<HeldOutMeans> {
        self.state.borrow().last.clone()
    }

    /// Compares the model with rankers that need no training, if queries were held out.
    pub(super) fn finish<'a>(
        self,
        baselines: &[(&str, &str)],
        model: impl FnOnce() -> Result<Cow<'a, Model>>,
    ) -> Result<Option<HeldOutSummary>> {
        let State { test, counts, failed, epoch: last, .. } = self.state.into_inner();
        if let Some(failed) = failed {
            return Err(failed);
        }
        let Some(test) = test else { return Ok(None) };
        let model = model()?;
        let choice = choice(model.as_ref(), last, self.by_loss);
        let report = test.report(&named(model.as_ref()), baselines)?;
        Ok(Some(HeldOutSummary { counts, choice, report, test }))
    }
}

/// Returns whether an epoch is shown to be worse than the best one, and better by no measure.
fn is_worse(best: &[Vec<f64>], later: &[Vec<f64>]) -> bool {
    let t = |(best, later): (&Vec<f64>, &Vec<f64>)| paired_t_test(later, best).map_or(0.0, |test| test.t);
    let all: Vec<f64> = best.iter().zip(later).map(t).collect();
    all.iter().any(|&t| t < WORSE) && all.iter().all(|&t| t < -WORSE)
}

/// Returns a sentence with the epoch of a model, and why it was chosen. `last` is the last epoch of its training.
fn choice(model: &Model, last: u32, by_loss: bool) -> String {
    let record = model.training();
    let titles = record.config.titles.map_or(0, |titles| titles.epochs);
    let epoch = |epoch: u32| match epoch.checked_sub(titles) {
        None | Some(0) if titles > 0 => format!("epoch {epoch} of the titles"),
        Some(epoch) if titles > 0 => format!("epoch {epoch} of the clicks"),
        _ => format!("epoch {epoch}"),
    };
    let best = epoch(record.epoch);
    match (record.config.keep, record.epoch < last) {
        (Keep::Last, _) => format!("{best} is kept, the last, as `keep` says"),
        _ if by_loss => format!("{best} is kept, whose loss of held-out pairs is the lowest"),
        (_, false) => format!("{best} is kept, the last: no epoch before it is shown to be better"),
        (_, true) => {
            let (ndcg, recall) = (COMPARED[0].heading(), COMPARED[1].heading());
            let next = if record.epoch + 1 < last { "the epochs after it are" } else { "the epoch after it is" };
            format!("{best} is kept: {next} shown to be worse at {ndcg} or {recall} (paired test, t < {WORSE})")
        }
    }
}

/// Returns the loss of the held-out pairs, with γ and as many negatives as in training.
fn loss(test: &HeldOutTest, model: &Model) -> Option<f64> {
    let TrainConfig { loss, negatives, batch_size, .. } = model.training().config;
    let negatives = match negatives {
        Negatives::Sampled(number) => number,
        Negatives::All => batch_size - 1,
    };
    test.loss(&named(model), loss.kind, loss.gamma, negatives)
}

/// Returns a model with the name that it has in reports.
fn named(model: &Model) -> Neural<&Model> {
    Neural::new("model".to_owned(), model)
}

impl HeldOutSummary {
    /// Returns whether queries and titles have hardly a word in common, as with item numbers for titles: then the first hundred
    /// titles of BM25 and of the trigrams have less than a twentieth of the clicked ones.
    pub fn shares_no_words(&self) -> bool {
        let finds_nothing = |system: &Standing| {
            system.mean.iter().any(|(metric, mean)| matches!(metric, Metric::Recall(_)) && mean < 0.05)
        };
        self.report.systems.len() > 1 && self.report.systems[1..].iter().all(finds_nothing)
    }
}

impl Serialize for HeldOutMeans {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (metric, mean) in self.metrics.iter() {
            map.serialize_entry(&metric.to_string(), &mean)?;
        }
        if let Some(loss) = self.loss {
            map.serialize_entry("loss", &loss)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a measure of 100 queries around this level.
    fn around(level: f64, phase: usize) -> Vec<f64> {
        (0..100).map(|query| level + ((query + phase) % 10) as f64 / 10.0).collect()
    }

    #[test]
    fn an_epoch_is_worse_only_if_that_is_shown() {
        let best = [around(0.4, 0), around(0.8, 0)];
        assert!(!is_worse(&best, &[around(0.39, 3), around(0.8, 3)]), "chance");
        assert!(is_worse(&best, &[around(0.2, 3), around(0.8, 3)]));
        assert!(is_worse(&best, &[around(0.4, 3), around(0.6, 3)]), "fewer are found at all");
        assert!(!is_worse(&best, &[around(0.2, 3), around(1.0, 3)]), "more are found");
        assert!(!is_worse(&[], &[]), "nothing to compare by");
    }
}

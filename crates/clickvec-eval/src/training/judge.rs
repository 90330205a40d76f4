//! Judging by held-out queries while a model is trained.

use std::borrow::Cow;
use std::cell::RefCell;

use clickvec::model::Model;
use clickvec::train::{HeldOut, HeldOutCounts, Keep, Negatives, Score, TrainConfig, Validation};
use clickvec::{Error, Result};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use crate::ranker::Neural;
use crate::{Evaluation, HeldOutReport, HeldOutTest, Metric, Metrics};

/// What every judge of this kind is called in a model, so that a run is only resumed by the same.
const FINGERPRINT: u64 = 0x6865_6c64_2d6f_7574;

/// The same for judges by the loss.
const FINGERPRINT_OF_LOSS: u64 = 0x6865_6c64_6c6f_7373;

/// A difference in NDCG@10 between two epochs that a thousand held-out queries cannot tell from chance.
const TOLERANCE: f64 = 0.005;

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
    /// What was measured last.
    last: Option<HeldOutMeans>,
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
#[derive(Debug, Clone)]
pub struct HeldOutSummary {
    /// How many queries are held out.
    pub counts: HeldOutCounts,
    /// The comparison.
    pub report: HeldOutReport,
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
            state.counts = held_out.counts();
            match HeldOutTest::new(held_out.clone()) {
                Ok(test) => state.test = Some(test),
                Err(error) => state.failed = Some(error),
            }
        }
    }

    /// Scores a model. [`Judge::finish`] returns the error if there is one.
    pub(super) fn score(&self, model: &Model) -> Score {
        let mut state = self.state.borrow_mut();
        let value = match state.test.as_ref().map(|test| test.judge(&named(model))) {
            None => f64::NAN,
            Some(Ok(evaluation)) => {
                let loss = state.test.as_ref().and_then(|test| loss(test, model));
                state.last = Some(HeldOutMeans { metrics: evaluation.mean.clone(), loss });
                if self.by_loss { loss.map_or(f64::NAN, |loss| -loss) } else { HeldOutTest::value(&evaluation) }
            }
            Some(Err(error)) => {
                state.failed.get_or_insert(error);
                f64::NAN
            }
        };
        Score { value, figures: Vec::new() }
    }

    /// Returns the validation of a training run, scored by `judge`.
    pub(super) fn validation<'a>(&self, judge: &'a mut dyn FnMut(&Model) -> Score) -> Validation<'a> {
        if self.by_loss {
            Validation { fingerprint: FINGERPRINT_OF_LOSS, tolerance: 0.0, judge }
        } else {
            Validation { fingerprint: FINGERPRINT, tolerance: TOLERANCE, judge }
        }
    }

    /// Returns what was measured last.
    pub(super) fn last(&self) -> Option<HeldOutMeans> {
        self.state.borrow().last.clone()
    }

    /// Compares the model with rankers that need no training, if queries were held out.
    pub(super) fn finish<'a>(self, model: impl FnOnce() -> Result<Cow<'a, Model>>) -> Result<Option<HeldOutSummary>> {
        let State { test, counts, failed, .. } = self.state.into_inner();
        if let Some(failed) = failed {
            return Err(failed);
        }
        let Some(test) = test else { return Ok(None) };
        Ok(Some(HeldOutSummary { counts, report: test.report(&named(model()?.as_ref()))? }))
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
    /// titles of BM25 and of the trigrams have less than a twentieth of what was clicked.
    pub fn shares_no_words(&self) -> bool {
        let finds_nothing = |system: &Evaluation| {
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

impl Serialize for HeldOutSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct System<'a> {
            name: &'a str,
            #[serde(flatten)]
            means: HeldOutMeans,
        }
        #[derive(Serialize)]
        struct Summary<'a> {
            #[serde(flatten)]
            counts: HeldOutCounts,
            systems: Vec<System<'a>>,
            tests: &'a [crate::Comparison],
        }
        let means = |system: &Evaluation| HeldOutMeans { metrics: system.mean.clone(), loss: None };
        let systems = self.report.systems.iter().map(|system| System { name: &system.name, means: means(system) });
        Summary { counts: self.counts, systems: systems.collect(), tests: &self.report.tests }.serialize(serializer)
    }
}

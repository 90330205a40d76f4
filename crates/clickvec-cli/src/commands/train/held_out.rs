//! Judging by held-out queries while a model is trained, and the report at the end.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Write as _;

use anyhow::Result;
use clickvec::Error;
use clickvec::model::Model;
use clickvec::train::{HeldOut, Keep, Negatives, Score, TrainConfig, Validation};
use clickvec_eval::ranker::Neural;
use clickvec_eval::{Comparison, Correction, Evaluation, HeldOutReport, HeldOutTest, Metric, Metrics, Verdict};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use crate::metrics::{PairJson, difference, probability};
use crate::{aligned, output};

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
    learns_titles: bool,
    state: RefCell<Measured>,
}

#[derive(Default)]
struct Measured {
    test: Option<HeldOutTest>,
    counts: Counts,
    /// What was measured last.
    last: Option<Means>,
    failed: Option<Error>,
}

/// How many of what the queries are held out.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Counts {
    queries: u64,
    of_queries: u64,
    pairs: u64,
    titles: u64,
    of_titles: u64,
    /// Whether titles whose clicks weigh more have higher grades.
    graded: bool,
}

/// The mean of each measure, and of the loss.
#[derive(Debug, Clone)]
pub(crate) struct Means {
    metrics: Metrics,
    loss: Option<f64>,
}

/// A report with what it is about.
pub(crate) struct Judged {
    counts: Counts,
    report: HeldOutReport,
    /// Whether the model has learnt from titles too.
    learns_titles: bool,
}

impl Judge {
    /// The judge of a run with these settings.
    pub(super) fn new(config: &TrainConfig) -> Judge {
        let (by_loss, learns_titles) = (config.keep == Keep::Loss, config.titles.is_some());
        Judge { by_loss, learns_titles, state: RefCell::default() }
    }

    /// Takes the queries that are held out. What fails is kept for [`Judge::finish`].
    pub(super) fn begin(&self, held_out: &HeldOut) {
        let mut state = self.state.borrow_mut();
        if !held_out.queries.is_empty() {
            state.counts = Counts::of(held_out);
            match HeldOutTest::new(held_out.clone()) {
                Ok(test) => state.test = Some(test),
                Err(error) => state.failed = Some(error),
            }
        }
    }

    /// The score of a model. What fails is kept for [`Judge::finish`].
    pub(super) fn score(&self, model: &Model) -> Score {
        let mut state = self.state.borrow_mut();
        let value = match state.test.as_ref().map(|test| test.judge(&named(model))) {
            None => f64::NAN,
            Some(Ok(evaluation)) => {
                let loss = state.test.as_ref().and_then(|test| loss(test, model));
                state.last = Some(Means { metrics: evaluation.mean.clone(), loss });
                if self.by_loss { loss.map_or(f64::NAN, |loss| -loss) } else { HeldOutTest::value(&evaluation) }
            }
            Some(Err(error)) => {
                state.failed.get_or_insert(error);
                f64::NAN
            }
        };
        Score { value, figures: Vec::new() }
    }

    /// The validation of a training run, scored by `judge`.
    pub(super) fn validation<'a>(&self, judge: &'a mut dyn FnMut(&Model) -> Score) -> Validation<'a> {
        if self.by_loss {
            Validation { fingerprint: FINGERPRINT_OF_LOSS, tolerance: 0.0, judge }
        } else {
            Validation { fingerprint: FINGERPRINT, tolerance: TOLERANCE, judge }
        }
    }

    /// What was measured last.
    pub(super) fn last(&self) -> Option<Means> {
        self.state.borrow().last.clone()
    }

    /// The model compared with rankers that need no training, if queries were held out.
    pub(super) fn finish<'a>(self, model: impl FnOnce() -> clickvec::Result<Cow<'a, Model>>) -> Result<Option<Judged>> {
        let Judge { learns_titles, state, .. } = self;
        let Measured { test, counts, failed, .. } = state.into_inner();
        if let Some(failed) = failed {
            return Err(failed.into());
        }
        let report = test.map(|test| test.report(&named(model()?.as_ref()))).transpose()?;
        Ok(report.map(|report| Judged { counts, report, learns_titles }))
    }
}

/// The loss of the held-out pairs, with γ and as many negatives as in training.
fn loss(test: &HeldOutTest, model: &Model) -> Option<f64> {
    let TrainConfig { loss, negatives, batch_size, .. } = model.training().config;
    let negatives = match negatives {
        Negatives::Sampled(number) => number,
        Negatives::All => batch_size - 1,
    };
    test.loss(&named(model), loss.kind, loss.gamma, negatives)
}

/// A model with the name that it has in reports.
fn named(model: &Model) -> Neural<&Model> {
    Neural::new("model".to_owned(), model)
}

impl Counts {
    pub(super) fn of(held_out: &HeldOut) -> Counts {
        Counts {
            queries: held_out.queries.len() as u64,
            of_queries: held_out.of_queries,
            pairs: held_out.pairs,
            titles: held_out.titles.len() as u64,
            of_titles: held_out.of_titles,
            graded: held_out.graded,
        }
    }

    /// Says which queries are held out, or that all are learnt. `all_later`: whether all are learnt in the end.
    pub(super) fn say(&self, all_later: bool) {
        let of_queries = output::counted(self.of_queries, "query");
        if self.queries == 0 {
            let are = output::agreeing(self.of_queries, "is", "are");
            output::note(format_args!(
                "held out: nothing, since {of_queries} {are} too few to judge by; all clicks are learnt, and the last epoch is \
                 kept"
            ));
            return;
        }
        let (queries, pairs) = (output::count(self.queries), output::counted(self.pairs, "pair"));
        output::note(format_args!(
            "held out: {queries} of {of_queries} with {pairs}, to judge the model by; {}",
            if all_later { "then all clicks are learnt" } else { "`--held-out 0` learns all clicks" }
        ));
    }
}

impl Means {
    /// The end of an epoch's line.
    pub(super) fn line(&self) -> String {
        let shown = self.metrics.iter();
        let shown = shown.filter(|(metric, _)| matches!(metric, Metric::Ndcg(10) | Metric::Recall(_)));
        let line = "  held out:".to_owned();
        let line = shown.fold(line, |line, (metric, mean)| format!("{line} {} {mean:.3}", metric.heading()));
        self.loss.map_or(line.clone(), |loss| format!("{line} loss {loss:.4}"))
    }
}

impl Serialize for Means {
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

impl Judged {
    /// The report for people.
    pub(super) fn text(&self) -> String {
        let Judged { counts, report, .. } = self;
        let mut rows = aligned::plain();
        rows.set_header(
            std::iter::once("held-out queries".to_owned()).chain(HeldOutTest::METRICS.map(Metric::heading)),
        );
        for system in &report.systems {
            let means = system.mean.iter().map(|(_, mean)| format!("{mean:.3}"));
            rows.add_row(std::iter::once(system.name.clone()).chain(means));
        }
        aligned::align_right(&mut rows, 1..1 + HeldOutTest::METRICS.len());
        let mut text = format!("\n{}\n\n", aligned::show(&mut rows));
        let titles = if counts.titles == counts.of_titles {
            format!("all {}", output::counted(counts.titles, "distinct title"))
        } else {
            format!("{} of {}", output::count(counts.titles), output::counted(counts.of_titles, "title"))
        };
        let _ = writeln!(
            text,
            "{}, each searched among {titles}; a clicked title is relevant, any other is not{}",
            output::counted(counts.queries, "query"),
            if counts.graded {
                ";\na clicked title has a grade from 1 to 4, a higher one if its clicks weigh more"
            } else {
                ""
            }
        );
        for test in &report.tests {
            let Comparison { a, b, test: found, holm, .. } = test;
            let _ = writeln!(
                text,
                "{a} − {b}: {} {}, p {} (paired t-test, corrected for {} tests)",
                HeldOutTest::DECIDES.heading(),
                difference(found.difference),
                probability(*holm),
                report.tests.len()
            );
        }
        text.push_str(&self.verdict());
        text
    }

    /// Whether queries and titles have hardly a word in common, as with item numbers for titles: then the first hundred
    /// titles of BM25 and of the trigrams have less than a twentieth of what was clicked.
    fn shares_no_words(&self) -> bool {
        let finds_nothing = |system: &Evaluation| {
            system.mean.iter().any(|(metric, mean)| matches!(metric, Metric::Recall(_)) && mean < 0.05)
        };
        self.report.systems.len() > 1 && self.report.systems[1..].iter().all(finds_nothing)
    }

    /// What the tests say, in words.
    fn verdict(&self) -> String {
        let of = |wanted: Verdict| -> String {
            let tests = self.report.tests.iter().filter(|test| test.verdict(Correction::Holm) == wanted);
            tests.map(|test| test.b.as_str()).collect::<Vec<_>>().join(" nor than ")
        };
        if self.shares_no_words() {
            return "BM25 and letter trigrams find next to nothing, since queries and titles share no words, so this \
                    comparison says little; compare with rankers that learn from clicks (`evaluate --full --ranker wtm`)"
                .to_owned();
        }
        let (better, worse, not_shown) = (of(Verdict::Better), of(Verdict::Worse), of(Verdict::NotShown));
        if worse.is_empty() && not_shown.is_empty() {
            let both = better.replace(" nor than ", " and than ");
            return format!("the model finds what users click better than {both}, which need no training");
        }
        let mut said = Vec::new();
        if !worse.is_empty() {
            said.push(format!("the model is worse than {}", worse.replace(" nor than ", " and than ")));
        }
        if !not_shown.is_empty() {
            said.push(format!("the model is not shown to be better than {not_shown}"));
        }
        format!(
            "training does not pay here by itself: {}; {}search with both (`evaluate --full --fusion`)",
            said.join(", and "),
            if self.learns_titles { "" } else { "learn from all titles too (`--titles`), or " }
        )
    }

    /// The report as JSON.
    pub(crate) fn json(&self) -> JudgedJson<'_> {
        let system = |system: &Evaluation| SystemJson {
            name: system.name.clone(),
            means: Means { metrics: system.mean.clone(), loss: None },
        };
        JudgedJson {
            event: "judged",
            counts: self.counts,
            systems: self.report.systems.iter().map(system).collect(),
            tests: self.report.tests.iter().map(PairJson::from).collect(),
        }
    }
}

/// The report as JSON.
#[derive(Serialize)]
pub(crate) struct JudgedJson<'a> {
    event: &'static str,
    #[serde(flatten)]
    counts: Counts,
    systems: Vec<SystemJson>,
    tests: Vec<PairJson<'a>>,
}

#[derive(Serialize)]
struct SystemJson {
    name: String,
    #[serde(flatten)]
    means: Means,
}

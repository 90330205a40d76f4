//! One update: survey, training, and the comparison of both models.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use clickvec::Result;
use clickvec::index::Hit;
use clickvec::model::Model;
use clickvec::tables::{Title, Titles};
use clickvec::train::{ClickSource, Event, Outcome, TrainConfig, TrainOptions, train};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::churn::SHOWN;
use super::gains::gains;
use super::queries::{Queries, has_left_out, queries};
use super::trial::Search;
use super::{Churn, Drift, LEAST_QUERIES, Notice, State, Survey, Suspicion, Trial, UpdateConfig, Window, Witness};
use crate::ranker::{self, Corpus};
use crate::{Collection, Evidence, Judgments, SearchQuery, search_all};

/// The queries that the test takes: neither model has learnt them.
const HELD_OUT: &str = "held-out queries of the newest day";
/// Queries with judged titles.
const JUDGED: &str = "judged titles";

/// The inputs of an update: the data of the new model, and the tests that it must pass.
pub struct Update<'a> {
    /// The model to replace.
    pub old: &'a Model,
    /// The settings of the new one; see [`training_config`](super::training_config).
    pub config: &'a TrainConfig,
    /// The clicks.
    pub window: Window<'a>,
    /// The settings that decide.
    pub settings: &'a UpdateConfig,
    /// The largest share of the first ten titles of frequent queries that may change.
    pub max_churn: f64,
    /// The state after the update before, if there was one.
    pub state: Option<&'a State>,
    /// The search of titles with a model.
    pub search: &'a Search<'a>,
    /// The table of all titles, to learn from if the old model did.
    pub titles: Titles,
    /// Judged titles of other queries with their file.
    pub judged: Option<(&'a Path, &'a Judgments)>,
    /// Whether to learn from clicks that do not look like those of users.
    pub trust_clicks: bool,
    /// The folder for temporary files.
    pub scratch: &'a Path,
}

/// An event of an update.
pub enum Progress<'a> {
    /// The clicks have been read.
    Surveyed(&'a Survey),
    /// A notice for the reader.
    Notice(Notice),
    /// Training begins.
    Training,
    /// An event of the training.
    Run(&'a Event),
}

/// Why a new model takes the place of the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The test of clicks shows a gain.
    Gain,
    /// Judged titles show a gain.
    Judged,
    /// The mix of queries has drifted from the one that the old model learnt.
    Drift,
    /// The error rate is 1: every new model does.
    Always,
}

/// The outcome of an update.
pub enum Verdict {
    /// The new model takes the place of the old one.
    Replace(Box<Model>, Reason),
    /// No gain is shown yet.
    NoGain,
    /// There is a reason to replace the old model, but too much of the first tens would change.
    Churn(Reason),
    /// The new model is worse in these trials.
    Worse(Vec<&'static str>),
    /// The newest clicks do not look as if they came from users.
    Suspicious(Suspicion),
}

/// The time in seconds that each step took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// Reading the clicks.
    pub reading: f64,
    /// Training the new model.
    pub training: f64,
    /// Comparing the two models.
    pub testing: f64,
    /// Writing the new model, which is up to the caller.
    pub writing: f64,
}

/// The test of new models against the old one, pooled over days.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pooled {
    /// The days with held-out queries.
    pub days: u64,
    /// Their queries.
    pub queries: u64,
    /// The mean gain of these, in DCG@10 corrected for what the old model showed.
    pub gain: Option<f64>,
    /// The evidence for a gain.
    pub evidence: f64,
    /// The evidence at which the new model replaces the old one.
    pub needed: f64,
    /// The share of the titles clicked that the old model has in its first ten.
    pub shown: Option<f64>,
}

/// The results of an update.
#[derive(Serialize)]
pub struct Report {
    /// The number of titles.
    pub titles: usize,
    /// The clicks.
    #[serde(flatten)]
    pub survey: Survey,
    /// The trials of both models; empty if nothing was learnt.
    pub trials: Vec<Trial>,
    /// The test so far.
    pub pooled: Option<Pooled>,
    /// The drift of the mix of queries from the one that the old model learnt.
    pub drift: Option<Drift>,
    /// The changes in the first tens of frequent queries.
    pub churn: Option<Churn>,
    /// The time that each step took.
    pub seconds: Seconds,
    /// The outcome.
    #[serde(skip)]
    pub verdict: Verdict,
    /// The state for the next update; `None` if nothing is to change.
    #[serde(skip)]
    pub state: Option<State>,
}

impl Update<'_> {
    /// Trains a new model and compares it with the old one, searching all `titles`; `None` if `on_progress` broke.
    ///
    /// # Errors
    ///
    /// Those of reading clicks, of [`train`] and of searching.
    pub fn run(
        &self,
        titles: Vec<Title>,
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Option<Report>> {
        let started = Instant::now();
        let old = self.old;
        let clicked = RefCell::new(HashSet::new());
        let survey = {
            let texts: HashSet<&str> = titles.iter().map(|title| title.title.as_str()).collect();
            let is_title = |text: &str| {
                let is_title = texts.contains(text);
                if is_title {
                    clicked.borrow_mut().insert(xxh3_64(text.as_bytes()));
                }
                is_title
            };
            self.window.survey(is_title, old.dictionary())?
        };
        if on_progress(Progress::Surveyed(&survey)).is_break() {
            return Ok(None);
        }
        // The next event repeats whether to stop.
        let mut notice = |notice: Notice| {
            let _ = on_progress(Progress::Notice(notice));
        };
        if let Some(before) = self.window.learnt_before(old, &titles)? {
            notice(Notice::LearntBefore(before));
        }
        let mut report = Report {
            titles: titles.len(),
            survey,
            trials: Vec::new(),
            pooled: None,
            drift: None,
            churn: None,
            seconds: Seconds { reading: started.elapsed().as_secs_f64(), ..Seconds::default() },
            verdict: Verdict::NoGain,
            state: None,
        };
        if let Some(suspicion) = report.survey.suspicion().filter(|_| !self.trust_clicks) {
            report.verdict = Verdict::Suspicious(suspicion);
            return Ok(Some(report));
        }
        let mut state = self.state(&report.survey, &mut notice);
        // The old model may have learnt held-out queries of the days before the first update.
        let is_clean = has_left_out(old, self.window.held_out);
        let learnt = report.survey.on_days(|day| !is_clean && !state.has_counted(day));
        let frequent = self.window.texts(&report.survey.frequent)?;
        let (mut set, queries) = queries(&report.survey, &learnt, frequent, titles, self.judged, &mut notice)?;
        let clicked = clicked.into_inner();
        set.known = set.titles.iter().map(|title| clicked.contains(&xxh3_64(title.title.as_bytes()))).collect();
        let set = set;
        // First, so that nothing is learnt from clicks that cannot be trusted.
        let clock = Instant::now();
        if !self.trust_clicks
            && let Some(suspicion) = self.suspicion(&set, &queries)?
        {
            report.verdict = Verdict::Suspicious(suspicion);
            report.seconds.testing = clock.elapsed().as_secs_f64();
            return Ok(Some(report));
        }
        report.seconds.testing = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let Some(new) = self.train(on_progress)? else { return Ok(None) };
        report.seconds.training = clock.elapsed().as_secs_f64();
        let mut notice = |notice: Notice| {
            let _ = on_progress(Progress::Notice(notice));
        };
        let clock = Instant::now();
        let gains = self.compare(&mut report, &set, &queries, &new, &mut state)?;
        self.decide(&mut report, state, &gains, new, &mut notice);
        report.seconds.testing += clock.elapsed().as_secs_f64();
        Ok(Some(report))
    }

    /// Returns the suspicion that the newest clicks do not come from users.
    fn suspicion(&self, set: &Collection, queries: &Queries) -> Result<Option<Suspicion>> {
        let Queries { newest, earlier, .. } = queries;
        if has_left_out(self.old, self.window.held_out) {
            let search = |queries: &[SearchQuery]| (self.search)(self.old, set, queries);
            return Suspicion::look_for(Witness::OldModel, newest, earlier, search);
        }
        let trigrams = ranker::train("trigram", &Corpus::from_titles(set.texts())?)?;
        let texts = set.texts();
        let candidates = trigrams.candidates(&texts)?;
        let search = |queries: &[SearchQuery]| search_all(&*candidates, queries, SHOWN, &mut |_| ());
        Suspicion::look_for(Witness::LetterTrigrams, newest, earlier, search)
    }

    /// Searches with both models for all queries, and reports trials and churn. Returns the gains of the queries that the test takes.
    fn compare(
        &self,
        report: &mut Report,
        set: &Collection,
        queries: &Queries,
        new: &Model,
        state: &mut State,
    ) -> Result<Vec<f64>> {
        let Queries { unlearnt, judged, frequent, .. } = queries;
        let all: Vec<SearchQuery> = [unlearnt, judged, frequent].into_iter().flatten().cloned().collect();
        let mut old = (self.search)(self.old, set, &all)?.into_iter();
        let mut new = (self.search)(new, set, &all)?.into_iter();
        let mut next = |queries: &[SearchQuery]| -> [Vec<Vec<Hit>>; 2] {
            [&mut old, &mut new].map(|lists| lists.take(queries.len()).collect())
        };
        let (on_unlearnt, on_judged, on_frequent) = (next(unlearnt), next(judged), next(frequent));
        let mut places = state.places;
        let gains =
            gains(unlearnt, on_unlearnt.each_ref().map(|lists| &lists[..]), self.settings.position_bias, &mut places);
        for (on, evidence, queries, lists) in
            [(HELD_OUT, Evidence::Clicks, unlearnt, on_unlearnt), (JUDGED, Evidence::Judgments, judged, on_judged)]
        {
            if !queries.is_empty() {
                report.trials.push(Trial::new(on, evidence, set, queries, lists)?);
            }
        }
        let [old, new] = &on_frequent;
        report.churn = Some(Churn::between(old.iter().zip(new).map(|(old, new)| (&old[..], &new[..]))));
        if !state.has_counted(report.survey.fingerprint()) {
            state.places = places;
        }
        Ok(gains)
    }

    /// Returns the state of the old model: that of the update before, or a new one.
    fn state(&self, survey: &Survey, notice: &mut dyn FnMut(Notice)) -> State {
        let model = self.old.fingerprint();
        if let Some(state) = self.state.filter(|state| state.model == model) {
            return state.clone();
        }
        if self.state.is_some() {
            notice(Notice::OtherModel);
        }
        State::new(model, survey.mix.clone())
    }

    /// Adds the newest day to the test, and decides.
    fn decide(&self, report: &mut Report, mut state: State, gains: &[f64], new: Model, notice: &mut dyn FnMut(Notice)) {
        let mix = &report.survey.mix;
        if !state.count(report.survey.fingerprint(), gains) {
            notice(Notice::CountedBefore);
        }
        let judged = report.trials.iter().find(|trial| trial.on == JUDGED && trial.queries >= LEAST_QUERIES);
        // Each of the two tests has its share of the error rate.
        let error_rate = self.settings.error_rate / if judged.is_some() { 2.0 } else { 1.0 };
        let (test, needed, shown) = (&state.test, 1.0 / error_rate, state.places.shown());
        let (days, queries, gain, evidence) = (test.days, test.queries, test.mean_gain(), test.evidence());
        report.pooled = Some(Pooled { days, queries, gain, evidence, needed, shown });
        report.drift = mix.drift_from(&state.mix);
        let is_drift = report.drift.is_some_and(|drift| drift.exceeds(self.settings.drift));
        // Every update tests on the same judged queries: the n-th has 1 / (n · (n + 1)) of the error rate, all together have it once.
        let updates = state.updates.max(1) as f64;
        let share = error_rate / (updates * (updates + 1.0));
        let is_judged = judged.is_some_and(|trial| trial.difference > 0.0 && trial.p / 2.0 < share);
        let reason = match () {
            () if self.settings.error_rate >= 1.0 => Some(Reason::Always),
            () if evidence >= needed => Some(Reason::Gain),
            () if is_judged => Some(Reason::Judged),
            () if is_drift => Some(Reason::Drift),
            () => None,
        };
        let worse: Vec<&str> = report.trials.iter().filter(|trial| trial.worse).map(|trial| trial.on).collect();
        let churn = report.churn.map_or(0.0, |churn| churn.titles);
        report.verdict = match reason {
            Some(reason) if reason == Reason::Always || worse.is_empty() => {
                if churn > self.max_churn {
                    Verdict::Churn(reason)
                } else {
                    state = state.successor(new.fingerprint(), mix.clone());
                    Verdict::Replace(Box::new(new), reason)
                }
            }
            _ if worse.is_empty() => Verdict::NoGain,
            _ => Verdict::Worse(worse),
        };
        report.state = Some(state);
    }

    /// Trains the new model in memory; `None` if `on_progress` broke.
    fn train(&self, on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>) -> Result<Option<Model>> {
        let titles = std::slice::from_ref(&self.titles);
        // What the old model has learnt, the new one begins with.
        let leaves_out = self.settings.fresh || has_left_out(self.old, self.window.held_out);
        let options = TrainOptions {
            titles: if self.config.titles.is_some() { titles } else { &[] },
            init: (!self.settings.fresh).then_some(self.old),
            left_out: leaves_out.then_some(self.window.held_out),
            scratch: Some(self.scratch),
            ..TrainOptions::default()
        };
        if on_progress(Progress::Training).is_break() {
            return Ok(None);
        }
        let clicks = ClickSource::marked(self.window.pairs());
        let outcome = train(self.config, clicks, options, &mut |event| on_progress(Progress::Run(event)));
        outcome.map(Outcome::finished)
    }
}

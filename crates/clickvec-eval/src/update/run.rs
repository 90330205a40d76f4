//! One update: survey, training, and the comparison of both models.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use clickvec::Result;
use clickvec::model::Model;
use clickvec::tables::{Title, Titles};
use clickvec::train::{ClickSource, Event, Outcome, TrainConfig, TrainOptions, train};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::queries::{Queries, has_left_out, queries, unseen};
use super::{Drift, LearntBefore, Models, Survey, Suspicion, Trial, Window, Witness};
use crate::ranker::{self, Corpus, Neural, Ranker};
use crate::{Collection, Evidence, Judgments, SearchQuery};

/// The queries of the newest day.
const NEWEST: &str = "clicks of the newest day";
/// Those of them that no earlier day has.
const UNSEEN: &str = "queries that no earlier day has";
/// The queries of earlier days. They do not decide, because the old model may have learnt them.
pub const EARLIER: &str = "clicks of earlier days";
/// Queries with judged titles.
const JUDGED: &str = "judged titles";

/// What a new model is learnt from, and what it must not be worse on.
pub struct Update<'a> {
    /// The model to replace.
    pub old: &'a Model,
    /// The settings of the new one; see [`training_config`](super::training_config).
    pub config: &'a TrainConfig,
    /// The clicks.
    pub window: Window<'a>,
    /// The table of all titles, to learn from if the old model did.
    pub titles: Titles,
    /// Judged titles of other queries with their file.
    pub judged: Option<(&'a Path, &'a Judgments)>,
    /// Whether to start from random weights.
    pub fresh: bool,
    /// Whether to learn from clicks that do not look as if they came from users.
    pub trust_clicks: bool,
    /// The folder for temporary files.
    pub scratch: &'a Path,
}

/// What happens in an update.
pub enum Progress<'a> {
    /// The clicks have been read.
    Surveyed(&'a Survey),
    /// What a reader should know.
    Notice(Notice),
    /// Training begins.
    Training,
    /// An event of the training.
    Run(&'a Event),
}

/// What a reader should know of the queries of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The old model has learnt these clicks before.
    LearntBefore(LearntBefore),
    /// The old model may have learnt held-out queries, and too few are on no earlier day, so the test favours it.
    FewUnseen {
        /// How many are on no earlier day.
        queries: usize,
    },
    /// There are too few queries with judged titles to decide.
    FewJudged {
        /// How many.
        queries: usize,
    },
    /// The newest day has too few held-out queries, so that judged titles alone decide.
    JudgedAlone {
        /// How many.
        held_out: usize,
    },
}

/// The outcome of an update.
pub enum Verdict {
    /// The new model is not significantly worse.
    Better(Box<Model>),
    /// The newest clicks do not look as if they came from users.
    Suspicious(Suspicion),
    /// The new model is worse in these trials.
    Worse(Vec<&'static str>),
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

/// The trial of both models on a set of queries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamedTrial {
    /// The name of the queries.
    pub on: &'static str,
    /// The trial.
    #[serde(flatten)]
    pub trial: Trial,
}

/// What an update found.
#[derive(Serialize)]
pub struct Report {
    /// The number of titles.
    pub titles: usize,
    /// The clicks.
    #[serde(flatten)]
    pub survey: Survey,
    /// The trials of both models; empty if nothing was learnt.
    pub trials: Vec<NamedTrial>,
    /// How much changed.
    pub drift: Option<Drift>,
    /// The time that each step took.
    pub seconds: Seconds,
    /// The outcome.
    #[serde(skip)]
    pub verdict: Verdict,
}

impl Update<'_> {
    /// Trains a new model and compares it with the old one, searching all `titles`; `None` if `on_progress` broke.
    ///
    /// # Errors
    ///
    /// Those of reading clicks and of [`train`]; there are too few queries to compare the models on.
    pub fn run(
        &self,
        titles: Vec<Title>,
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Option<Report>> {
        let started = Instant::now();
        let (old, held_out) = (self.old, self.window.held_out);
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
        // The next event says again whether to stop.
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
            drift: None,
            seconds: Seconds { reading: started.elapsed().as_secs_f64(), ..Seconds::default() },
            verdict: Verdict::Worse(Vec::new()),
        };
        if let Some(suspicion) = report.survey.suspicion().filter(|_| !self.trust_clicks) {
            report.verdict = Verdict::Suspicious(suspicion);
            return Ok(Some(report));
        }
        let (mut set, Queries { newest, earlier, judged }) = queries(&report.survey, titles, self.judged, &mut notice)?;
        let clicked = clicked.into_inner();
        set.known = set.titles.iter().map(|title| clicked.contains(&xxh3_64(title.title.as_bytes()))).collect();
        let set = set;
        let texts = set.texts();
        // First, so that nothing is learnt from clicks that cannot be trusted.
        let clock = Instant::now();
        let old_ranker = Neural::new("old".to_owned(), old);
        if !self.trust_clicks {
            let trigrams;
            let witness: (Witness, &dyn Ranker) = if has_left_out(old, held_out) {
                (Witness::OldModel, &old_ranker)
            } else {
                trigrams = ranker::train("trigram", &Corpus::from_titles(texts.iter().copied())?)?;
                (Witness::LetterTrigrams, &*trigrams)
            };
            if let Some(suspicion) = Suspicion::of(witness, (&set.titles, &texts), &newest, &earlier)? {
                report.verdict = Verdict::Suspicious(suspicion);
                report.seconds.testing = clock.elapsed().as_secs_f64();
                return Ok(Some(report));
            }
        }
        report.seconds.testing = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let Some(new) = self.train(on_progress)? else { return Ok(None) };
        report.seconds.training = clock.elapsed().as_secs_f64();
        let mut notice = |notice: Notice| {
            let _ = on_progress(Progress::Notice(notice));
        };
        let clock = Instant::now();
        let unseen = unseen(old, held_out, &report.survey, &newest, &mut notice);
        let sets = [(NEWEST, newest), (UNSEEN, unseen), (EARLIER, earlier), (JUDGED, judged)];
        let worse = compare(&mut report, (&set, &texts), &old_ranker, &new, sets)?;
        report.seconds.testing += clock.elapsed().as_secs_f64();
        report.verdict = if worse.is_empty() { Verdict::Better(Box::new(new)) } else { Verdict::Worse(worse) };
        Ok(Some(report))
    }

    /// Trains the new model in memory; `None` if `on_progress` broke.
    fn train(&self, on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>) -> Result<Option<Model>> {
        let titles = std::slice::from_ref(&self.titles);
        // What the old model has learnt, the new one begins with.
        let leaves_out = self.fresh || has_left_out(self.old, self.window.held_out);
        let options = TrainOptions {
            titles: if self.config.titles.is_some() { titles } else { &[] },
            init: (!self.fresh).then_some(self.old),
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

/// Compares both models on each set of queries, and returns those sets on which the new one is worse.
fn compare(
    report: &mut Report,
    (set, texts): (&Collection, &[&str]),
    old: &Neural<&Model>,
    new: &Model,
    sets: [(&'static str, Vec<SearchQuery>); 4],
) -> Result<Vec<&'static str>> {
    let new = Neural::new("new".to_owned(), new);
    let models = Models::new(&set.titles, texts, old, &new)?;
    for (on, queries) in sets.into_iter().filter(|(_, queries)| !queries.is_empty()) {
        let is_judged = on == JUDGED;
        let (evidence, known) =
            if is_judged { (Evidence::Judgments, &[][..]) } else { (Evidence::Clicks, &set.known[..]) };
        report.trials.push(NamedTrial { on, trial: models.trial(&queries, evidence, known)? });
    }
    let on_clicks = report.trials.iter().filter(|trial| [NEWEST, EARLIER].contains(&trial.on));
    report.drift = Some(models.drift(&on_clicks.map(|trial| &trial.trial).collect::<Vec<_>>()));
    // Of the newest day's queries, those that the old model cannot have learnt decide if there are any. Earlier days do not decide: a
    // first model made by one training may have learnt some of their held-out clicks.
    let newest = if report.trials.iter().any(|trial| trial.on == UNSEEN) { UNSEEN } else { NEWEST };
    let decides = |trial: &&NamedTrial| trial.on == newest || trial.on == JUDGED;
    let worse = report.trials.iter().filter(decides).filter(|trial| trial.trial.is_worse());
    Ok(worse.map(|trial| trial.on).collect())
}

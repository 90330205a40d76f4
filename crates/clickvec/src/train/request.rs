//! The settings of a run, from those that a user set and from what there is to learn from.

use std::path::PathBuf;

use clickvec_tables::{Error, ErrorKind, Result};

use crate::clicks::Teacher;
use crate::encoder::State;
use crate::model::Model;
use crate::settings::{Keep, Overrides, TeacherConfig, TeacherStart, TitleConfig, TrainConfig};

/// The share of clicked queries that judge a model if nothing else does.
const HELD_OUT: f32 = 0.1;

/// γ of a teacher that has scores alone.
const GAMMA_OF_SCORES: f32 = 10.0;

/// The data that a model is trained on and judged by, as far as its settings depend on it.
#[derive(Clone, Copy, Default)]
pub struct Inputs<'a> {
    /// Whether there are judged titles for validation.
    pub validation: bool,
    /// Whether there is a click log.
    pub clicks: bool,
    /// Whether there are titles to learn from.
    pub titles: bool,
    /// Whether a teacher has vectors.
    pub vectors: bool,
    /// Whether a teacher has scores.
    pub scores: bool,
    /// The model to start from.
    pub init: Option<&'a Model>,
    /// Whether it is one of the trainings of a table, which hold no queries out.
    pub in_table: bool,
}

impl Inputs<'_> {
    /// Sets what the files of a teacher have: vectors, scores or both.
    pub fn with_teacher(self, files: &[PathBuf]) -> Self {
        let scores = files.iter().filter(|path| Teacher::is_score_file(path)).count();
        Inputs { vectors: files.len() > scores, scores: scores > 0, ..self }
    }

    /// Returns whether the pairs of a teacher's scores take the place of clicks.
    fn scores_alone(&self) -> bool {
        self.scores && !self.clicks
    }

    fn has_pairs(&self) -> bool {
        self.clicks || self.scores_alone()
    }

    /// Returns the settings of a run on these inputs: the defaults, or those of the preset, replaced by `overrides`.
    ///
    /// # Errors
    ///
    /// A setting that does not exist, is out of bounds, or cannot act on these inputs, by its dotted name.
    pub fn settings(&self, overrides: &Overrides) -> Result<TrainConfig> {
        let mut overrides = overrides.clone();
        let preset = overrides.take_preset()?;
        let mut base = match preset {
            Some(preset) => preset.config(),
            None if self.titles => TrainConfig::with_titles(),
            None => TrainConfig::default(),
        };
        if let Some(init) = self.init {
            base.encoder = init.encoder_config().clone();
            base.word_count = init.training().config.word_count;
            base.text = init.training().config.text;
        }
        base.titles = self.titles.then(TitleConfig::default);
        base.teacher = (self.vectors || self.scores).then(TeacherConfig::default);
        if let Some(teacher) = &mut base.teacher {
            teacher.start = TeacherStart::Random;
            teacher.gamma = if self.vectors { teacher.gamma } else { GAMMA_OF_SCORES };
            teacher.scores = if self.scores_alone() { 1.0 } else { teacher.scores };
        }
        self.refuse_idle(&overrides)?;
        let mut config = overrides.apply(base)?;
        self.fill(&mut config, &overrides, preset.is_some());
        config.check()?;
        self.refuse_conflicts(&config, &overrides)?;
        Ok(config)
    }

    /// Fills in the defaults that depend on other settings.
    fn fill(&self, config: &mut TrainConfig, overrides: &Overrides, has_preset: bool) {
        let is_unset = |name: &str| !overrides.has(name);
        if let Some(teacher) = &mut config.teacher {
            let fits = self.vectors && self.init.is_none() && is_unset("init_range") && config.encoder.adds_up();
            if is_unset("teacher.start") && fits {
                teacher.start = TeacherStart::LeastSquares;
            }
            if is_unset("teacher.start_share") && teacher.start == TeacherStart::Random {
                teacher.start_share = 0.0;
            }
        }
        let is_fitted = config.teacher.is_some_and(|teacher| teacher.start == TeacherStart::LeastSquares);
        if let Some(titles) = &mut config.titles
            && is_unset("titles.among_clicks")
            && is_fitted
        {
            titles.among_clicks = TitleConfig::taught().among_clicks;
        }
        let keeps = (!is_unset("keep")).then_some(config.keep);
        if is_unset("held_out") {
            let is_judged = self.validation || keeps == Some(Keep::Last) || (has_preset && keeps != Some(Keep::Loss));
            config.held_out = if self.clicks && !self.in_table && !is_judged { HELD_OUT } else { 0.0 };
        }
        if keeps.is_none() && (self.validation || config.held_out > 0.0) {
            config.keep = Keep::Best;
        }
    }

    /// Refuses settings that cannot act, because there is nothing that they act on.
    fn refuse_idle(&self, overrides: &Overrides) -> Result<()> {
        let Inputs { titles, vectors, scores, .. } = *self;
        let is_new = self.init.is_none();
        let titles_alone = titles && !self.has_pairs();
        let rules: [(bool, &[&str], &str, &str); 8] = [
            (!titles, &["titles."], "titles to learn from", "none"),
            (!vectors && !scores, &["teacher."], "a teacher", "none"),
            (
                titles_alone,
                &["epochs", "batch_size", "loss.gamma", "learning_rate", "augment."],
                "clicks",
                "titles alone; set it below `titles`, as in titles.epochs",
            ),
            (titles_alone, &["weighting", "titles.among_clicks", "held_out"], "clicks", "titles alone"),
            (titles_alone && vectors, &["teacher.clicks"], "clicks", "titles alone; set teacher.titles"),
            (vectors && !titles, &["teacher.titles"], "titles to learn from", "none"),
            (
                !vectors,
                &["teacher.start", "teacher.start_share", "teacher.clicks", "teacher.titles"],
                "a teacher with vectors",
                "scores alone; set teacher.scores",
            ),
            (!scores, &["teacher.scores"], "a teacher with scores", "vectors alone"),
        ];
        let new_weights: (bool, &[&str], &str, &str) = (
            !is_new,
            &["init_range", "forget_bias", "teacher.start", "teacher.start_share"],
            "new weights",
            "those of the initial model",
        );
        for (applies, settings, expected, found) in rules.into_iter().chain([new_weights]) {
            let acts_on_it = |name: &&str| {
                settings.iter().any(|idle| if idle.ends_with('.') { name.starts_with(idle) } else { name == idle })
            };
            if let Some(name) = overrides.names().find(acts_on_it).filter(|_| applies) {
                let expected = format!("{expected}, on which it acts");
                return Err(Error::expected(ErrorKind::Setting, expected, found).within(name.to_owned()));
            }
        }
        Ok(())
    }

    /// Refuses settings that contradict each other or the inputs.
    fn refuse_conflicts(&self, config: &TrainConfig, overrides: &Overrides) -> Result<()> {
        let refuse = |name: &'static str, expected: String, found: &str| {
            Err(Error::expected(ErrorKind::Setting, expected, found.to_owned()).within(name))
        };
        let is_fitted = config.teacher.is_some_and(|teacher| teacher.start == TeacherStart::LeastSquares);
        if is_fitted && !config.encoder.adds_up() {
            let expected = "an LSTM of one layer without a forget gate for least-squares".to_owned();
            return refuse("teacher.start", expected, &config.encoder.to_string());
        }
        let forgets =
            config.encoder.description().gates.iter().any(|gate| matches!(gate, State::ForgetGate | State::UpdateGate));
        if !forgets && overrides.has("forget_bias") {
            let expected = "an encoder with forget or update gates, on which it acts".to_owned();
            return refuse("forget_bias", expected, &config.encoder.to_string());
        }
        if is_fitted && overrides.has("init_range") {
            return refuse("init_range", "random weights, on which it acts".to_owned(), "teacher.start=least-squares");
        }
        if !is_fitted && overrides.has("teacher.start_share") {
            let expected = "weights that are fitted to the teacher's vectors, on which it acts".to_owned();
            return refuse("teacher.start_share", expected, "random ones");
        }
        if config.held_out > 0.0 && self.validation {
            let expected = "either held-out queries or a validation set to judge the model".to_owned();
            return refuse("held_out", expected, "both");
        }
        if config.held_out > 0.0 && (!self.clicks || self.in_table) {
            let found = if self.in_table { "a table of systems, which holds none out" } else { "none" };
            return refuse("held_out", "clicks whose queries can be held out".to_owned(), found);
        }
        let is_judged = self.validation || config.held_out > 0.0;
        let asks = if config.patience.is_some() {
            Some("patience")
        } else {
            overrides.names().find(|name| *name == "keep").map(|_| "keep")
        };
        if let Some(name) = asks.filter(|_| !is_judged && (config.keep == Keep::Best || config.patience.is_some())) {
            return refuse(
                name,
                "a validation set or held-out queries, which say which epoch is best".to_owned(),
                "none",
            );
        }
        if let Some(init) = self.init {
            let known = init.dictionary().trigrams().len();
            if overrides.has("max_trigrams") && config.max_trigrams < known {
                let expected = format!("{known} or more, which the initial model has");
                return refuse("max_trigrams", expected, &config.max_trigrams.to_string());
            }
            if config.word_count.is_none() && init.training().config.word_count.is_some() {
                let expected = "whole words as features, which the initial model has".to_owned();
                return refuse("word_count", expected, "none");
            }
        }
        Ok(())
    }
}

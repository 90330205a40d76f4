//! A run that goes on with clicks where an earlier one ended with the same titles.

use super::Run;
use crate::encoder::Tensor;
use crate::model::Model;
use crate::settings::differences::{SettingDifference, listed_figures, listed_settings};
use crate::settings::{TrainConfig, TrainingRecord};
use crate::text::Dictionary;
use clickvec_tables::Result;
use clickvec_tables::{Error, ErrorKind};

impl Run<'_, '_> {
    /// Returns the differences between a model's training on titles and this run's.
    fn title_differences(&self, model: &Model) -> Vec<SettingDifference> {
        let (learnt, own) = (model.training(), &self.record);
        let mut differences = Vec::new();
        let mut compare = |name: &str, now: String, before: String| {
            if now != before {
                differences.push(SettingDifference { name: name.to_owned(), now, before });
            }
        };
        let init = |record: &TrainingRecord| record.init.clone().unwrap_or_else(|| "none".to_owned());
        compare("initial model", init(own), init(learnt));
        compare("fingerprint of the log", own.log_fingerprint.clone(), learnt.log_fingerprint.clone());
        let (now, before) = (self.log.dictionary(), model.dictionary());
        compare("trigrams", now.trigrams().len().to_string(), before.trigrams().len().to_string());
        compare("whole words", now.words().len().to_string(), before.words().len().to_string());
        // As many of both, but not the same ones.
        if differences.is_empty() && now != before {
            let entries = |of: &Dictionary| -> Vec<String> {
                let words = of.words().iter().map(|word| format!("{:016x}", word.0));
                of.trigrams().iter().map(ToString::to_string).chain(words).collect()
            };
            let mut both = entries(now).into_iter().zip(entries(before)).enumerate();
            differences.extend(both.find(|(_, (now, before))| now != before).map(|(entry, (now, before))| {
                SettingDifference { name: format!("entry {entry} of the dictionary"), now, before }
            }));
        }
        differences
    }

    /// Begins with the clicks, where a run that learnt the same titles ended with them.
    pub(in crate::train) fn begin_after_titles(&mut self, model: &Model) -> Result<()> {
        let [titles, clicks] = &self.stages[..] else { return Ok(()) };
        let learnt = model.training();
        let &TrainConfig { epochs, held_out, keep, patience, .. } = self.config;
        // These settings are of the clicks, or of how their epochs are chosen.
        let before = TrainConfig { epochs, held_out, keep, patience, ..learnt.config.clone() };
        if before != *self.config {
            let differences = self.config.differences(&before);
            let now = listed_settings(&differences, |difference| &difference.now);
            let expected = format!("a model that learnt titles with the settings of this run ({now})");
            let found = format!("one with {}", listed_settings(&differences, |difference| &difference.before));
            return Err(Error::expected(ErrorKind::Mismatch, expected, found));
        }
        let differences = self.title_differences(model);
        if !differences.is_empty() {
            let now = listed_figures(&differences, |difference| &difference.now);
            let expected = format!("a model that learnt the titles of this run ({now})");
            let found = format!("one with {}", listed_figures(&differences, |difference| &difference.before));
            let error = Error::expected(ErrorKind::Mismatch, expected, found);
            return Err(error.help("take a model of the same log and initial model"));
        }
        if learnt.epoch != clicks.before {
            let expected = format!("a model after {} epochs of titles", clicks.before);
            let found = format!("one after {} epochs", learnt.epoch);
            return Err(Error::expected(ErrorKind::Mismatch, expected, found));
        }
        let weights = || -> Vec<Vec<Tensor>> { model.towers.iter().map(|tower| tower.tensors().to_vec()).collect() };
        self.progress.epoch = clicks.before;
        self.record.epoch = clicks.before;
        self.record.updates = titles.updates();
        self.record.loss = model.training().loss;
        self.begin_stage(1, weights());
        let model = self.model_of(weights());
        self.keep(model)?;
        self.save_between_epochs()
    }
}

//! Differences between the settings, or the logs, of two runs, for messages.

use serde_json::{Map, Value};

use super::{TrainConfig, TrainingRecord};
use crate::encoder::EncoderConfig;
use crate::fields;
use clickvec_tables::shown::shortened;

/// A setting, or a figure of the log, in which two runs differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingDifference {
    /// The setting or the figure.
    pub name: String,
    /// Its value in this run.
    pub now: String,
    /// Its value in the earlier run.
    pub before: String,
}

/// The number of figures of a log shown in a message.
const SHOWN_FIGURES: usize = 3;

/// Returns the names of differences with one of their values: `keep best, held_out 0.1`.
pub(crate) fn listed_settings(differences: &[SettingDifference], value: impl Fn(&SettingDifference) -> &str) -> String {
    let each = differences.iter().map(|difference| format!("{} {}", difference.name, value(difference)));
    each.collect::<Vec<_>>().join(", ")
}

/// Like [`listed_settings`], for the first few figures of a log.
pub(crate) fn listed_figures(differences: &[SettingDifference], value: impl Fn(&SettingDifference) -> &str) -> String {
    listed_settings(&differences[..differences.len().min(SHOWN_FIGURES)], value)
}

impl TrainConfig {
    /// Returns the settings in which this run differs from an earlier one, by dotted name.
    pub fn differences(&self, before: &TrainConfig) -> Vec<SettingDifference> {
        let mut found = Vec::new();
        add_differences("", &fields::json(self), &fields::json(before), &mut found);
        found
    }
}

impl TrainingRecord {
    /// Returns the figures in which the log of this run differs from that of an earlier one, and their fingerprints if
    /// those do.
    pub(crate) fn log_differences(&self, before: &TrainingRecord) -> Vec<SettingDifference> {
        let figures = self.log.figures().into_iter().zip(before.log.figures());
        let figures = figures.map(|((name, now), (_, before))| (name, now.to_string(), before.to_string()));
        let fingerprints = ("fingerprint", self.log_fingerprint.clone(), before.log_fingerprint.clone());
        let differing = figures.chain([fingerprints]).filter(|(_, now, before)| now != before);
        let difference = |(name, now, before): (&str, String, String)| {
            let [now, before] = [now, before].map(|value| shortened(&value));
            SettingDifference { name: name.to_owned(), now, before }
        };
        differing.map(difference).collect()
    }
}

/// Adds the settings whose values differ: each part of a table that both runs have, or else the whole.
fn add_differences(name: &str, now: &Value, before: &Value, found: &mut Vec<SettingDifference>) {
    match (now, before) {
        _ if now == before => {}
        (Value::Object(mine), Value::Object(theirs)) if mine.get("kind") == theirs.get("kind") || name == "loss" => {
            for part in mine.keys().chain(theirs.keys().filter(|part| !mine.contains_key(*part))) {
                let value = |of: &Map<String, Value>| of.get(part).cloned().unwrap_or_default();
                add_differences(&fields::dotted(name, part), &value(mine), &value(theirs), found);
            }
        }
        _ => found.push(SettingDifference {
            name: name.to_owned(),
            now: fields::shown(now),
            before: fields::shown(before),
        }),
    }
}

/// Returns an encoder and its sizes, for messages.
pub(crate) fn encoder_text(encoder: &EncoderConfig) -> String {
    fields::shown(&fields::json(encoder))
}

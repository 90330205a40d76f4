//! What differs between the settings, or the logs, of two runs, for messages.

use serde::Serialize;

use super::{TrainConfig, TrainingRecord};
use crate::encoder::EncoderConfig;
use crate::error::{SettingDifference, shortened};

impl TrainConfig {
    /// The settings in which this run differs from an earlier one; of a setting with several parts, those that differ.
    pub fn differences(&self, before: &TrainConfig) -> Vec<SettingDifference> {
        let as_map = |config: &TrainConfig| -> serde_json::Map<String, serde_json::Value> {
            let serde_json::Value::Object(mut map) = typed(config) else { return serde_json::Map::new() };
            // Settings that are omitted if they have the default.
            map.insert("precision".to_owned(), typed(&config.precision));
            map.insert("loss".to_owned(), typed(&config.loss));
            map.insert("tail".to_owned(), typed(&config.tail));
            map.insert("field".to_owned(), typed(&config.field));
            map.insert("augment".to_owned(), typed(&config.augment));
            map.insert("titles".to_owned(), typed(&config.titles));
            map.insert("held_out".to_owned(), typed(&config.held_out));
            map.insert("word_count".to_owned(), typed(&config.word_count));
            map.insert("teacher".to_owned(), typed(&config.teacher));
            if let (Some(teacher), Some(serde_json::Value::Object(parts))) = (&config.teacher, map.get_mut("teacher")) {
                parts.insert("scores".to_owned(), typed(&teacher.scores));
                parts.insert("start".to_owned(), typed(&teacher.start));
                parts.insert("start_share".to_owned(), typed(&teacher.start_share));
            }
            map
        };
        let (mine, theirs) = (as_map(self), as_map(before));
        let mut found = Vec::new();
        for (name, value) in &mine {
            add_differences(name, value, theirs.get(name).unwrap_or(&serde_json::Value::Null), &mut found);
        }
        found
    }
}

impl TrainingRecord {
    /// The figures in which the log of this run differs from that of an earlier one, and their fingerprints if those do.
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

/// A setting as JSON. Going through text writes an f32 as short as it was typed.
fn typed(setting: &impl Serialize) -> serde_json::Value {
    serde_json::to_string(setting).and_then(|json| serde_json::from_str(&json)).unwrap_or_default()
}

/// Adds the setting `name` if its values differ: as a whole, or each of its parts that differs if both values have the same ones.
fn add_differences(
    name: &str,
    now: &serde_json::Value,
    before: &serde_json::Value,
    found: &mut Vec<SettingDifference>,
) {
    use serde_json::Value::Object;
    if now == before {
        return;
    }
    match (now, before) {
        (Object(mine), Object(theirs)) if mine.len() > 1 && mine.keys().eq(theirs.keys()) => {
            for ((part, now), before) in mine.iter().zip(theirs.values()) {
                add_differences(&format!("{name} {part}"), now, before, found);
            }
        }
        _ => found.push(SettingDifference { name: name.replace('_', "-"), now: shown(now), before: shown(before) }),
    }
}

/// An encoder and its sizes, for messages.
pub(crate) fn encoder_text(encoder: &EncoderConfig) -> String {
    serde_json::to_value(encoder).map_or_else(|_| encoder.kind().to_owned(), |value| shown(&value))
}

/// A setting as a user would type it.
fn shown(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "none".to_owned(),
        // The name of a column, which a file may say.
        serde_json::Value::String(text) => shortened(text),
        serde_json::Value::Object(fields) => match fields.values().collect::<Vec<_>>()[..] {
            [only] => shown(only),
            _ => fields.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect::<Vec<_>>().join(","),
        },
        other => {
            let text = other.to_string();
            text.strip_suffix(".0").unwrap_or(&text).to_owned()
        }
    }
}

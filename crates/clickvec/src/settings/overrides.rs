//! Settings by dotted name, from options, files of settings, tables of systems and Python.

use std::fmt;

use clickvec_tables::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::TrainConfig;
use crate::fields::{self, dotted, shown};

/// Settings that have a field `kind`. A word in their place is the kind.
const WITH_KIND: [&str; 2] = ["encoder", "loss"];

/// Settings that replace the defaults, by dotted name, such as `loss.gamma`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides(Vec<(String, Value)>);

/// Defaults other than clickvec's own: the settings of a paper's experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// [`TrainConfig::lstm_dssm`].
    LstmDssm,
    /// [`TrainConfig::clsm`].
    Clsm,
}

impl Preset {
    /// All presets.
    pub const ALL: [Preset; 2] = [Preset::LstmDssm, Preset::Clsm];

    /// Returns the settings.
    pub fn config(self) -> TrainConfig {
        match self {
            Preset::LstmDssm => TrainConfig::lstm_dssm(),
            Preset::Clsm => TrainConfig::clsm(),
        }
    }
}

impl Overrides {
    /// Sets a setting, replacing an earlier value. A table sets each of its settings.
    pub fn set(&mut self, name: &str, value: Value) {
        match value {
            Value::Object(parts) => parts.into_iter().for_each(|(part, value)| self.set(&dotted(name, &part), value)),
            Value::String(kind) if WITH_KIND.contains(&name) => self.set(&dotted(name, "kind"), Value::String(kind)),
            value => {
                self.0.retain(|(other, _)| other != name);
                self.0.push((name.to_owned(), value));
            }
        }
    }

    /// Sets a setting to what a user typed: a number, `true`, `false`, a word, or numbers with commas between them.
    pub fn set_text(&mut self, name: &str, text: &str) {
        let list = || serde_json::from_str(&format!("[{text}]")).ok().filter(|_| text.contains(','));
        let value = serde_json::from_str(text).ok().or_else(list);
        self.set(name, value.unwrap_or_else(|| Value::String(text.to_owned())));
    }

    /// Sets a setting from a user's `NAME=VALUE`.
    ///
    /// # Errors
    ///
    /// There is no `=`.
    pub fn set_pair(&mut self, pair: &str) -> Result<()> {
        let Some((name, text)) = pair.split_once('=') else {
            return Err(Error::expected(ErrorKind::Setting, "NAME=VALUE, such as loss.gamma=20", format!("`{pair}`")));
        };
        self.set_text(name.trim(), text.trim());
        Ok(())
    }

    /// Returns the names, in the order in which they were set.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns whether a setting is among these.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|other| other == name)
    }

    /// Takes the preset out of these settings, if there is one.
    ///
    /// # Errors
    ///
    /// There is no preset of this name.
    pub fn take_preset(&mut self) -> Result<Option<Preset>> {
        let Some(index) = self.names().position(|name| name == "preset") else { return Ok(None) };
        let (name, value) = self.0.remove(index);
        serde_json::from_value(value).map(Some).map_err(|error| refused(&error).within(name))
    }

    /// Returns `base` with these settings. The bounds are not checked; see [`TrainConfig::check`].
    ///
    /// # Errors
    ///
    /// The first setting that does not exist, or has a value of another type.
    pub fn apply<T: Serialize + DeserializeOwned>(&self, base: T) -> Result<T> {
        // A kind decides which other names there are.
        let (kinds, others): (Vec<_>, Vec<_>) = self.0.iter().partition(|(name, _)| name.ends_with(".kind"));
        kinds.into_iter().chain(others).try_fold(base, |config, (name, value)| {
            let mut settings = fields::json(&config);
            put(&mut settings, name, value.clone());
            serde_json::from_value(settings).map_err(|error| refused(&error).within(name.clone()))
        })
    }
}

impl fmt::Display for Overrides {
    /// Returns the settings as a user would type them: `encoder.kind=dssm encoder.layers=300,128`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect();
        f.write_str(&pairs.join(" "))
    }
}

fn put(settings: &mut Value, name: &str, value: Value) {
    match (settings, name.split_once('.')) {
        (Value::Object(parts), Some((part, rest))) => {
            put(parts.entry(part).or_insert_with(|| json!({})), rest, value);
        }
        // Another kind has other settings.
        (settings @ Value::Object(_), None) if name == "kind" && settings["kind"] != value => {
            *settings = json!({ "kind": value });
        }
        (Value::Object(parts), None) => {
            let is_list = parts.get(name).is_some_and(Value::is_array) && value.is_number();
            parts.insert(name.to_owned(), if is_list { json!([value]) } else { value });
        }
        // Only a table has settings. Serde says what is expected in its place.
        (other, _) => *other = json!({ name: value }),
    }
}

/// Returns the error that serde has for a value.
fn refused(error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Setting, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::{ClsmConfig, EncoderConfig};

    fn applied(pairs: &[&str]) -> Result<TrainConfig, String> {
        let mut overrides = Overrides::default();
        for pair in pairs {
            overrides.set_pair(pair).map_err(|error| error.to_string())?;
        }
        let config = overrides.apply(TrainConfig::default()).map_err(|error| error.to_string())?;
        config.check().map(|()| config).map_err(|error| error.to_string())
    }

    #[test]
    fn names_reach_every_setting() {
        let config =
            applied(&["loss.gamma=20", "encoder.cells=192", "clip_norm=none", "negatives=4", "augment.drop=0.1"])
                .unwrap();
        assert_eq!((config.loss.gamma, config.encoder.to_string()), (20.0, "lstm, 192 cells".to_owned()));
        let clsm = applied(&["encoder.window=5", "encoder=clsm"]).unwrap();
        assert_eq!(clsm.encoder, EncoderConfig::Clsm(ClsmConfig { window: 5, ..ClsmConfig::default() }));
        assert_eq!(applied(&["encoder.layers=30", "encoder=dssm"]).unwrap().encoder.parameters(1), Some(60));
        assert_eq!(
            applied(&["encoder.layers=30,20", "encoder=dssm"]).unwrap().encoder.to_string(),
            "dssm, layers of 30, 20"
        );
    }

    #[test]
    fn a_refusal_has_the_name_and_what_is_expected() {
        for (pairs, expected) in [
            (&["loss.gama=20"][..], "loss.gama: unknown field `gama`, expected `kind` or `gamma`"),
            (&["encoder=lstmm"], "encoder.kind: unknown variant `lstmm`, expected one of `dssm`, `clsm`, "),
            (
                &["encoder.window=3"],
                "encoder.window: unknown field `window`, expected one of `cells`, `forget_gate`, `peephole`",
            ),
            (&["encoder=clsm", "encoder.window=4"], "encoder.window: expected an odd number"),
            (&["epochs=many"], "epochs: invalid type: string \"many\", expected u32"),
            (&["epochs.few=1"], "epochs.few: invalid type: map, expected u32"),
            (&["loss.gamma=-1"], "loss.gamma: expected a number above 0, found -1"),
            (&["encoder.cells=0"], "encoder.cells: expected a number from 1 to 16384, found 0"),
            (&["patience=few"], "patience: invalid value: string \"few\", expected a number or `none`"),
            (&["seed"], "expected NAME=VALUE, such as loss.gamma=20, found `seed`"),
        ] {
            let found = applied(pairs).expect_err(expected);
            assert!(found.starts_with(expected), "{found}\n{expected}");
        }
    }

    #[test]
    fn settings_are_shown_as_they_are_typed() {
        let mut overrides = Overrides::default();
        overrides.set("encoder", json!({"kind": "dssm", "layers": [300, 128]}));
        overrides.set("seed", json!(3));
        overrides.set("seed", json!(4));
        assert_eq!(overrides.to_string(), "encoder.kind=dssm encoder.layers=300,128 seed=4");
    }
}

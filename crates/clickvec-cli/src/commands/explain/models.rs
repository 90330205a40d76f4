//! Models that are explained: their names, and what their encoders have.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clickvec::encoder::{EncoderConfig, State};
use clickvec::explain::KeywordOptions;
use clickvec::internals::encoder::{Description, Reading};
use clickvec::model::Model;
use serde::Serialize;

/// The message for a model without states word by word.
pub(in super::super) const NO_STATES: &str =
    "no keywords: this model reads a bag of words, so it has no states word by word";

/// A model and its name.
pub(in super::super) struct NamedModel {
    pub(in super::super) name: String,
    /// The file, or the folder of the index.
    pub(in super::super) path: PathBuf,
    pub(in super::super) model: Model,
}

/// What a model makes of a text or of several, as JSON.
#[derive(Serialize)]
pub(in super::super) struct Explained<'a, T> {
    model: &'a str,
    encoder: String,
    settings: KeywordOptions,
    #[serde(flatten)]
    explanation: T,
}

impl NamedModel {
    /// Loads the model in a file or an index.
    pub(in super::super) fn load(path: &Path) -> Result<NamedModel> {
        Ok(NamedModel { name: name_of(path), path: path.to_owned(), model: Model::load(path)? })
    }

    /// Returns an explanation with what it comes from, for JSON.
    pub(in super::super) fn explained<T>(&self, settings: &KeywordOptions, explanation: T) -> Explained<'_, T> {
        let encoder = self.model.encoder_config().to_string();
        Explained { model: &self.name, encoder, settings: *settings, explanation }
    }

    /// Returns the name with the encoder: `lstm (lstm, 96 cells)`.
    pub(in super::super) fn title(&self) -> String {
        format!("{} ({})", self.name, self.model.encoder_config())
    }

    /// Returns what is known of its encoder.
    pub(in super::super) fn description(&self) -> Description {
        self.model.encoder_config().description()
    }

    /// Returns what a part of its state at a word is called: only an encoder with gates has cells.
    pub(in super::super) fn state(&self) -> &'static str {
        if self.description().gates.is_empty() { "unit" } else { "cell" }
    }

    /// Returns what a number of the model's vectors is called.
    pub(super) fn unit(&self) -> &'static str {
        self.model.encoder_config().unit_name()
    }
}

/// Returns what makes a word a keyword of these models, a line for each kind.
pub(super) fn definition(models: &[NamedModel], options: &KeywordOptions) -> Vec<String> {
    let KeywordOptions { cells, units, threshold, at_least } = options;
    let mark = "* (bold or underlined on a page): a keyword";
    let recurrent = one_of_each_kind(models, |model| model.reading == Reading::WordByWord);
    let has_gates = |config: &&EncoderConfig| !config.description().gates.is_empty();
    let states = match (recurrent.iter().any(has_gates), recurrent.iter().all(has_gates)) {
        (true, true) => "cells",
        (true, false) => "cells or units",
        _ => "units",
    };
    let mut lines = Vec::new();
    if !recurrent.is_empty() {
        lines.push(format!(
            "{mark}: it changes at least {at_least} of the {cells} most active {states},\n   \
             in each direction that counts it, by more than {threshold} of their mean activation;\n   \
             the word that is read first changes all of them (-)"
        ));
    }
    for config in one_of_each_kind(models, |model| model.reading == Reading::Windows) {
        let kind = a_kind(config);
        lines.push(format!("{mark} of {kind}: it wins at least one of the {units} most active max-pooling units"));
    }
    lines
}

/// Returns what encoders of these models lack, a line for each kind.
pub(super) fn what_is_missing(models: &[NamedModel]) -> Vec<String> {
    let mut lines = Vec::new();
    if models.iter().any(|named| named.model.encoder_config().projection().is_some()) {
        lines.push("A dimension of a projection mixes all cells, so it has no words of its own.".to_owned());
    }
    for config in one_of_each_kind(models, |model| !model.gates.contains(&State::InputGate)) {
        let (kind, Description { reading, gates, .. }) = (capitalized(&a_kind(config)), config.description());
        let names: Vec<String> = gates.iter().map(|gate| format!("the {gate}")).collect();
        match reading {
            Reading::Bag => lines.push(format!("{kind} reads a bag of words, so it has no states word by word.")),
            Reading::WordByWord if gates.is_empty() => {
                lines.push(format!("{kind} has no gates, so there is no input gate to show."));
            }
            _ if gates.is_empty() => {}
            _ => lines.push(format!("{kind} has no input gate: its page shows {}.", names.join(" and "))),
        }
    }
    lines
}

/// Returns the encoders of the models of which `is` is true, one of each kind.
fn one_of_each_kind(models: &[NamedModel], is: impl Fn(Description) -> bool) -> Vec<&EncoderConfig> {
    let mut found: Vec<&EncoderConfig> = Vec::new();
    for config in models.iter().filter(|named| is(named.description())).map(|named| named.model.encoder_config()) {
        if found.iter().all(|other| other.kind() != config.kind()) {
            found.push(config);
        }
    }
    found
}

/// Returns the kind of an encoder with its article, which depends on how its letters are read: `an lstm`.
fn a_kind(config: &EncoderConfig) -> String {
    let article = if config.kind().starts_with(['l', 'r']) { "an" } else { "a" };
    format!("{article} {}", config.kind())
}

/// Returns a sentence's beginning, in letters from a to z.
fn capitalized(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

/// Returns a file's name without its extension.
pub(in super::super) fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

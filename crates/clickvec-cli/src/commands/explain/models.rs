//! The models to explain, and their names.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clickvec::encoder::EncoderConfig;
use clickvec::internals::encoder::{Description, Reading, describe, unit_of_vectors};
use clickvec::model::Model;

/// The model's file in an index.
const MODEL_OF_INDEX: &str = "model.safetensors";

/// The models to explain.
#[derive(clap::Args)]
pub(super) struct Models {
    /// A model that `clickvec train` wrote; several models are shown side by side.
    #[arg(long, value_name = "MODEL", required_unless_present = "index")]
    pub(super) model: Vec<PathBuf>,

    /// An index that `clickvec index` wrote, instead of a model.
    #[arg(long, value_name = "INDEX", conflicts_with = "model")]
    pub(super) index: Option<PathBuf>,
}

/// The one model to explain.
#[derive(clap::Args)]
pub(super) struct OneModel {
    /// The model that `clickvec train` wrote.
    #[arg(long, value_name = "MODEL", required_unless_present = "index")]
    pub(super) model: Option<PathBuf>,

    /// An index that `clickvec index` wrote, instead of a model.
    #[arg(long, value_name = "INDEX", conflicts_with = "model")]
    pub(super) index: Option<PathBuf>,
}

/// A model and its name.
pub(super) struct NamedModel {
    pub(super) name: String,
    pub(super) model: Model,
}

impl NamedModel {
    /// The name with the encoder: `lstm (lstm, 96 cells)`.
    pub(super) fn title(&self) -> String {
        format!("{} ({})", self.name, self.model.encoder_config())
    }

    /// What is known of its encoder.
    pub(super) fn description(&self) -> Description {
        describe(self.model.encoder_config())
    }

    /// What a part of its state at a word is called: only an encoder with gates has cells.
    pub(super) fn state(&self) -> &'static str {
        if self.description().gates.is_empty() { "unit" } else { "cell" }
    }

    /// What a number of the model's vectors is called.
    pub(super) fn unit(&self) -> &'static str {
        unit_of_vectors(self.model.encoder_config())
    }
}

/// What [`NamedModel::state`] says of those models that read word by word, in the plural.
pub(super) fn states(models: &[NamedModel]) -> &'static str {
    let has = |state: &str| {
        let word_by_word = models.iter().filter(|named| named.description().reading == Reading::WordByWord);
        word_by_word.into_iter().any(|named| named.state() == state)
    };
    match (has("cell"), has("unit")) {
        (true, true) => "cells or units",
        (false, true) => "units",
        _ => "cells",
    }
}

/// The encoders of the models of which `is` is true, one of each kind.
pub(super) fn one_of_each_kind(models: &[NamedModel], is: impl Fn(Description) -> bool) -> Vec<&EncoderConfig> {
    let mut found: Vec<&EncoderConfig> = Vec::new();
    for config in models.iter().filter(|named| is(named.description())).map(|named| named.model.encoder_config()) {
        if found.iter().all(|other| other.kind() != config.kind()) {
            found.push(config);
        }
    }
    found
}

impl Models {
    /// Loads all of them. Models whose files have the same name are called by their paths.
    pub(super) fn load(&self) -> Result<Vec<NamedModel>> {
        let mut models = match &self.index {
            Some(index) => vec![load_of_index(index)?],
            None => self.model.iter().map(|path| load(path)).collect::<Result<_>>()?,
        };
        let names: Vec<String> = models.iter().map(|named| named.name.clone()).collect();
        for (named, path) in models.iter_mut().zip(&self.model) {
            if names.iter().filter(|&name| *name == named.name).count() > 1 {
                named.name = path.display().to_string();
            }
        }
        Ok(models)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.model.iter().chain(&self.index)
    }
}

impl OneModel {
    /// The index, if the model is that of one.
    pub(super) fn index(&self) -> Option<&Path> {
        self.index.as_deref()
    }

    pub(super) fn load(&self) -> Result<NamedModel> {
        match (&self.index, &self.model) {
            (Some(index), _) => load_of_index(index),
            (None, Some(model)) => load(model),
            (None, None) => unreachable!("one of them is required"),
        }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.model.iter().chain(&self.index)
    }
}

pub(super) fn load(path: &Path) -> Result<NamedModel> {
    ensure!(
        !path.is_dir(),
        "{}: expected a model file, found a folder; if it is an index, use `--index`",
        path.display()
    );
    Ok(NamedModel { name: name_of(path), model: Model::load(path)? })
}

/// A file's name without its extension.
pub(super) fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn load_of_index(index: &Path) -> Result<NamedModel> {
    ensure!(
        index.is_dir(),
        "{}: expected the folder of an index, which `clickvec index` writes, found {}; for a model file, use `--model`",
        index.display(),
        if index.exists() { "a file" } else { "nothing" }
    );
    Ok(NamedModel { name: name_of(index), model: Model::load(&index.join(MODEL_OF_INDEX))? })
}

//! The models to explain, and their names.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clickvec::encoder::EncoderConfig;
use clickvec::internals::encoder::{Description, Reading};
use clickvec::model::Model;

/// The model's file in an index.
const MODEL_OF_INDEX: &str = "model.safetensors";

/// The models to explain.
#[derive(clap::Args)]
pub(in super::super) struct Models {
    /// A model that `clickvec train` wrote, or an index that has one.
    #[arg(value_name = "MODEL")]
    first: PathBuf,

    /// Another model or index to show next to it; may be repeated.
    #[arg(long, value_name = "MODEL")]
    compare: Vec<PathBuf>,
}

/// The one model to explain.
#[derive(clap::Args)]
pub(in super::super) struct OneModel {
    /// A model that `clickvec train` wrote, or an index that has one.
    #[arg(value_name = "MODEL")]
    pub(in super::super) path: PathBuf,
}

/// A model and its name.
pub(in super::super) struct NamedModel {
    pub(in super::super) name: String,
    /// The file, or the folder of the index.
    pub(in super::super) path: PathBuf,
    pub(in super::super) model: Model,
}

impl NamedModel {
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
    pub(in super::super) fn unit(&self) -> &'static str {
        self.model.encoder_config().unit_name()
    }
}

/// Returns what [`NamedModel::state`] says of those models that read word by word, in the plural.
pub(in super::super) fn states(models: &[NamedModel]) -> &'static str {
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

/// Returns the encoders of the models of which `is` is true, one of each kind.
pub(in super::super) fn one_of_each_kind(
    models: &[NamedModel],
    is: impl Fn(Description) -> bool,
) -> Vec<&EncoderConfig> {
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
    pub(in super::super) fn load(&self) -> Result<Vec<NamedModel>> {
        let mut models: Vec<NamedModel> = self.files().map(|path| load(path)).collect::<Result<_>>()?;
        let names: Vec<String> = models.iter().map(|named| named.name.clone()).collect();
        for named in &mut models {
            if names.iter().filter(|&name| *name == named.name).count() > 1 {
                named.name = named.path.display().to_string();
            }
        }
        Ok(models)
    }

    pub(in super::super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.first).chain(&self.compare)
    }
}

impl OneModel {
    /// Returns the folder if the model is that of an index.
    pub(in super::super) fn index(&self) -> Option<&Path> {
        Some(self.path.as_path()).filter(|path| path.is_dir())
    }

    pub(in super::super) fn load(&self) -> Result<NamedModel> {
        load(&self.path)
    }

    pub(in super::super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.path)
    }
}

/// Loads the model in a file or an index.
fn load(path: &Path) -> Result<NamedModel> {
    let model = if path.is_dir() { Model::load(&path.join(MODEL_OF_INDEX))? } else { Model::load(path)? };
    Ok(NamedModel { name: name_of(path), path: path.to_owned(), model })
}

/// Returns a file's name without its extension.
pub(in super::super) fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

//! The options for the settings of a training. Every other setting goes through `--set` and `--settings`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clickvec::train::{Overrides, documentation};

/// The settings that most trainings need, and the way to all others.
#[derive(clap::Args)]
#[command(next_help_heading = "Settings")]
pub(super) struct Settings {
    /// Start from the settings of a paper's experiments: lstm-dssm (Palangi et al. 2015) or clsm (Shen et al. 2014).
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,

    #[arg(long, value_name = "KIND", help = help("encoder", "encoder.kind"))]
    encoder: Option<String>,

    #[arg(long, value_name = "N", help = help("epochs", "epochs"))]
    epochs: Option<String>,

    /// The share of clicked queries held out to evaluate each epoch [default: 0.1 with clicks].
    #[arg(long, value_name = "SHARE", long_help = help("held_out", "held_out"))]
    held_out: Option<String>,

    #[arg(long, value_name = "COLUMN", help = help("field", "field"))]
    pub(super) field: Option<String>,

    /// Set any setting by name, such as loss.gamma=20, batch_size=512 or encoder.cells=192. May be repeated. See --help-settings.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,

    /// Read settings from a TOML file, by the same names. --set and the options replace them.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    settings: Option<PathBuf>,
}

/// Returns the help of an option: the documentation of its setting, and the defaults.
fn help(described: &str, name: &str) -> String {
    documentation(described, name).unwrap_or_default()
}

impl Settings {
    /// Returns the settings of the file, of `--set`, and of the options, which replace each other in this order.
    pub(super) fn overrides(&self) -> Result<Overrides> {
        let mut overrides = Overrides::default();
        if let Some(path) = &self.settings {
            read(path, &mut overrides)?;
        }
        for pair in &self.set {
            overrides.set_pair(pair).context("--set")?;
        }
        for (name, text) in [
            ("preset", &self.preset),
            ("encoder", &self.encoder),
            ("epochs", &self.epochs),
            ("held_out", &self.held_out),
        ] {
            if let Some(text) = text {
                overrides.set_text(name, text);
            }
        }
        if let Some(field) = &self.field {
            overrides.set("field", field.as_str().into());
        }
        Ok(overrides)
    }
}

fn read(path: &Path, overrides: &mut Overrides) -> Result<()> {
    let text = std::fs::read_to_string(path).map_err(|source| clickvec::Error::io(path, "read", source))?;
    let settings: toml::Table =
        toml::from_str(&text).with_context(|| format!("{}: expected settings in TOML", path.display()))?;
    for (name, value) in settings {
        overrides.set(&name, serde_json::to_value(value)?);
    }
    Ok(())
}

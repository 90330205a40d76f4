//! Settings that a user types as `NAME=VALUE`.

use anyhow::{Context as _, Result};
use clickvec::train::Overrides;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns settings with those that a user typed.
pub(crate) fn set<T: Serialize + DeserializeOwned>(defaults: T, pairs: &[String]) -> Result<T> {
    let mut overrides = Overrides::default();
    pairs.iter().try_for_each(|pair| overrides.set_pair(pair)).context("--set")?;
    Ok(overrides.apply(defaults)?)
}

/// Returns the help of `--set` with all settings that there are.
pub(crate) fn help(documentation: &str) -> String {
    format!("Set a setting. May be repeated\n\n{documentation}")
}

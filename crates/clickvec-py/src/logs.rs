//! From raw logs to counted pairs.

use std::fmt::Display;
use std::path::PathBuf;
use std::time::Instant;

use clickvec_logs::options::{self, Typed};
use clickvec_logs::shown;
use clickvec_tables::files::write_bytes_atomically;
use clickvec_tables::outputs::{self, Kind};
use clickvec_tools::Watcher as _;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use crate::bridge::serve;
use crate::{error, json};

/// Counts the clicks of logs. `options` are texts by their names, as they would be typed; `tell` gets warnings and progress.
#[pyfunction]
pub(crate) fn prepare<'py>(
    py: Python<'py>,
    logs: Vec<PathBuf>,
    output: PathBuf,
    report: Option<PathBuf>,
    options: &Bound<'py, PyDict>,
    tell: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let typed = typed(options)?;
    let config = typed.config(logs, output).map_err(|fault| error::raise(py, &fault))?;
    let naming = |setting: &str| setting.to_owned();
    let prepared = serve(py, None, tell, |caller| {
        if let Some(page) = &report {
            outputs::check([&config.output, page], config.inputs.iter())?;
            outputs::refuse_other(page, Kind::Page)?;
        }
        let started = Instant::now();
        let prepared = clickvec_logs::prepare(&config, &mut std::io::stdout(), &mut |rows| {
            caller.at("reading", "rows", rows, None)
        })?;
        if let Some(page) = &report {
            let shown = shown::shown(&config, &prepared, started.elapsed(), &naming);
            write_bytes_atomically(page, shown::page(&shown).as_bytes())?;
        }
        shown::warnings(&config, &prepared, &naming).into_iter().for_each(|warning| caller.warn(warning));
        Ok(prepared)
    })?;
    let mut prepared = json::value(&prepared);
    prepared["output"] = json!(config.output.to_string_lossy());
    json::to_python(py, &prepared)
}

/// The options in a dict.
fn typed(options: &Bound<'_, PyDict>) -> PyResult<Typed> {
    Ok(Typed {
        format: option(options, "format", options::form)?,
        preset: option(options, "preset", options::preset)?,
        columns: option(options, "columns", options::columns)?.into_iter().collect(),
        time_format: option(options, "time_format", text)?,
        titles: option(options, "titles", text)?.map(PathBuf::from),
        queries: option(options, "queries", text)?.map(PathBuf::from),
        item_as_title: option(options, "item_as_title", flag)?.is_some(),
        keep: option(options, "keep", text)?.iter().flat_map(|keep| keep.split(',').map(str::to_owned)).collect(),
        min_users: option(options, "min_users", options::min_users)?,
        private: option(options, "private", flag)?.is_some(),
        max_queries: option(options, "max_queries", options::max_queries)?,
        correct_position_bias: option(options, "correct_position_bias", options::weighting)?,
        max_bad: option(options, "max_bad", options::percent)?,
        memory: option(options, "memory", options::memory)?,
    })
}

/// The value of an option, if it is there.
pub(crate) fn option<T, E: Display>(
    options: &Bound<'_, PyDict>,
    name: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> PyResult<Option<T>> {
    let Some(value) = options.get_item(name)? else { return Ok(None) };
    let value: String = value.extract()?;
    parse(&value).map(Some).map_err(|expected| error::invalid(format!("{name}: {expected}, found `{value}`")))
}

fn text(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

/// What is only there if it is set.
fn flag(_: &str) -> Result<(), String> {
    Ok(())
}

//! Files: what they are, and indexes in the forms of other systems.

use std::path::PathBuf;

use clickvec_tools::export::{Export, To, form, name};
use pyo3::prelude::*;
use serde_json::json;

use crate::bridge::serve;
use crate::{error, json};

/// Writes an index in the form that another system loads, or its encoders; returns what was written.
#[pyfunction]
pub(crate) fn export<'py>(
    py: Python<'py>,
    source: PathBuf,
    output: PathBuf,
    to: Option<String>,
    template: Option<PathBuf>,
    table: &str,
    judged: Option<PathBuf>,
    tell: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let table = name(table).map_err(|expected| error::invalid(format!("name: {expected}, found `{table}`")))?;
    let exported = serve(py, None, tell, |caller| {
        let to = match (&to, &template) {
            (_, Some(path)) => To::Template(path),
            (to, None) => To::Form(form(to.as_deref().unwrap_or_default())?),
        };
        Export { source: &source, output: &output, to, name: &table, judged: judged.as_deref() }.write(&caller)
    })?;
    json::to_python(py, &json::value(&exported))
}

/// Finds out what files are; the first that cannot be read is an error.
#[pyfunction]
pub(crate) fn inspect<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    tell: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (found, unread) =
        serve(py, None, tell, |caller| Ok(clickvec_tools::inspect::inspect(paths, &|_| None, &caller)))?;
    if let Some(fault) = unread.first() {
        return Err(error::raise(py, fault));
    }
    let found = found.iter().map(|file| json!([json::value(file), file.is_well(), file.text()])).collect();
    json::to_python(py, &found)
}

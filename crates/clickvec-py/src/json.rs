//! Values of JSON as Python's.

use pyo3::prelude::*;
use serde::Serialize;
use serde_json::Value;

/// The same value in Python, which has a reader of its own.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (value.to_string(),))
}

/// Returns what serializes without errors, such as what the library reports.
pub(crate) fn value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

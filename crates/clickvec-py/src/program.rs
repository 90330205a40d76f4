//! The program `clickvec`, which is inside the module.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use pyo3::prelude::*;

use crate::work;

/// Runs the program with these arguments, the first of which is its name, on this thread, which is the first one of the process: it
/// starts threads of its own. `file` is the file of this module.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, arguments: Vec<OsString>, file: PathBuf) -> PyResult<u8> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(|| clickvec_cli::run(arguments, file))));
    work::result(py, done.map_err(work::Failed::Panicked))
}

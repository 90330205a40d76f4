//! The native half of the Python package `clickvec`: it converts what Python gives, lets the library work without the
//! interpreter's lock, and converts the results. What users see is in `python/clickvec`.

mod array;
mod arrow;
mod bridge;
mod build;
mod error;
mod evaluate;
mod explain;
mod files;
mod fork;
mod index;
mod json;
mod judge;
mod lab;
mod logs;
mod model;
mod program;
mod ranker;
mod scorer;
mod table;
mod texts;
mod train;
mod update;
mod work;

use pyo3::prelude::*;

#[pymodule]
fn _clickvec(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // A package without NumPy fails here, not at its first array.
    array::class(module.py())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<model::Model>()?;
    module.add_class::<index::Index>()?;
    module.add_class::<ranker::Ranker>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(train::train, module)?)?;
    module.add_function(wrap_pyfunction!(build::build, module)?)?;
    module.add_function(wrap_pyfunction!(update::update, module)?)?;
    module.add_function(wrap_pyfunction!(judge::judge, module)?)?;
    module.add_function(wrap_pyfunction!(files::export, module)?)?;
    module.add_function(wrap_pyfunction!(files::inspect, module)?)?;
    module.add_function(wrap_pyfunction!(index::update_index, module)?)?;
    module.add_function(wrap_pyfunction!(index::join_indexes, module)?)?;
    module.add_function(wrap_pyfunction!(index::check_index, module)?)?;
    module.add_function(wrap_pyfunction!(ranker::systems, module)?)?;
    module.add_function(wrap_pyfunction!(ranker::train_ranker, module)?)?;
    module.add_function(wrap_pyfunction!(ranker::load_ranker, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(program::run, module)?)?;
    module.add_function(wrap_pyfunction!(logs::prepare, module)?)?;
    module.add_function(wrap_pyfunction!(lab::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(lab::table, module)?)?;
    module.add_function(wrap_pyfunction!(work::set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(fork::before_fork, module)?)?;
    module.add_function(wrap_pyfunction!(fork::after_fork, module)?)?;
    Ok(())
}

//! NumPy's arrays, by its Python interface, which all of its versions share.

use bytemuck::NoUninit;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyList, PySlice};

/// A number that arrays hold.
pub(crate) trait Number: NoUninit {
    /// NumPy's name of the type.
    const TYPE: &'static str;
}

impl Number for f32 {
    const TYPE: &'static str = "f4";
}

impl Number for f64 {
    const TYPE: &'static str = "f8";
}

/// Returns the class `numpy.ndarray`.
pub(crate) fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    CLASS.import(py, "numpy", "ndarray")
}

/// Returns an array with a copy of the numbers, in C order.
pub(crate) fn numbers<'py, T: Number>(py: Python<'py>, values: &[T], shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    class(py)?.call1((shape, T::TYPE, PyByteArray::new(py, bytemuck::cast_slice(values))))
}

/// Returns an array \[rows, columns\] of objects, in C order.
pub(crate) fn objects<'py>(
    py: Python<'py>,
    values: Vec<Py<PyAny>>,
    [rows, columns]: [usize; 2],
) -> PyResult<Bound<'py, PyAny>> {
    let flat = class(py)?.call1(([values.len()], "O"))?;
    flat.set_item(PySlice::full(py), PyList::new(py, values)?)?;
    flat.call_method1("reshape", (rows, columns))
}

/// Returns the numbers of an array of float32, in C order.
pub(crate) fn floats(array: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
    let bytes = array.call_method0("tobytes")?;
    Ok(bytemuck::pod_collect_to_vec(bytes.cast::<PyBytes>()?.as_bytes()))
}

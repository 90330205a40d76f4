//! Texts as Python gives them: one string, many, or a column of Arrow. Nothing of them is copied.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyString};

use crate::arrow::{Arrays, Strings};

/// Texts to encode or search for.
pub(crate) enum Texts {
    /// A single string.
    One(PyBackedStr),
    /// Strings of Python.
    Many(Vec<PyBackedStr>),
    /// Strings of Arrow.
    Arrow(Vec<Strings>),
}

/// A text of either kind.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a>(&'a str);

impl AsRef<str> for Text<'_> {
    fn as_ref(&self) -> &str {
        self.0
    }
}

impl Texts {
    /// The texts of an object. Whatever is not a string is an error that says where it is.
    pub(crate) fn extract(object: &Bound<'_, PyAny>) -> PyResult<Texts> {
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Texts::One(backed(text)?));
        }
        if object.is_instance_of::<PyBytes>()
            || object.is_instance_of::<PyByteArray>()
            || object.is_instance_of::<PyDict>()
        {
            return Err(PyTypeError::new_err(format!("expected a text or texts, found {}", kind(object))));
        }
        if let Some(mut arrays) = Arrays::extract(object)? {
            let mut columns = Vec::new();
            let mut first = 0;
            while let Some(array) = arrays.next()? {
                let strings = Strings::new(&array)?;
                if let Some(row) = (0..strings.len()).find(|&row| strings.get(row).is_none()) {
                    return Err(PyTypeError::new_err(format!("text {}: expected a text, found null", first + row)));
                }
                first += strings.len();
                columns.push(strings);
            }
            return Ok(Texts::Arrow(columns));
        }
        let size = object.len().unwrap_or(0);
        let mut texts = Vec::with_capacity(size.min(1 << 20));
        let items = object.try_iter();
        let items =
            items.map_err(|_| PyTypeError::new_err(format!("expected a text or texts, found {}", kind(object))))?;
        for (number, item) in items.enumerate() {
            let item = item?;
            let text = item.cast::<PyString>();
            let text = text
                .map_err(|_| PyTypeError::new_err(format!("text {number}: expected a text, found {}", kind(&item))))?;
            texts.push(backed(text)?);
        }
        Ok(Texts::Many(texts))
    }

    /// Each text.
    pub(crate) fn all(&self) -> Vec<Text<'_>> {
        match self {
            Texts::One(text) => vec![Text(text)],
            Texts::Many(texts) => texts.iter().map(|text| Text(text)).collect(),
            Texts::Arrow(columns) => {
                let rows = columns.iter().flat_map(|column| (0..column.len()).map(move |row| column.get(row)));
                rows.map(|text| Text(text.unwrap_or_default())).collect()
            }
        }
    }

    /// Whether it is a single string.
    pub(crate) fn is_one(&self) -> bool {
        matches!(self, Texts::One(_))
    }
}

/// A string that can be read without the interpreter's lock.
pub(crate) fn backed(text: &Bound<'_, PyString>) -> PyResult<PyBackedStr> {
    PyBackedStr::try_from(text.clone())
}

/// What an object is, in an error.
pub(crate) fn kind(object: &Bound<'_, PyAny>) -> String {
    if object.is_none() {
        return "None".to_owned();
    }
    let name = object.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    match object.extract::<f64>() {
        Ok(number) if name.starts_with("float") => format!("{name} ({number})"),
        _ => name,
    }
}

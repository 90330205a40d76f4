//! Clicked pairs as Python gives them: any iterator of tuples, or a table of Arrow.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use clickvec::train::Weighting;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyIterator, PyString, PyTuple};

use crate::arrow::{Arrays, Strings, number as number_of};
use crate::error;
use crate::texts::{backed, kind};

/// How many pairs are pulled from an iterator at once.
const AT_ONCE: usize = 8192;

/// A query, a title clicked for it, the factor of its loss, and whether the query is rare.
pub(crate) type Pair = (Text, Text, f32, bool);

/// A text of a pair, which is not copied.
pub(crate) enum Text {
    /// A string of Python.
    Python(PyBackedStr),
    /// A row of Arrow's strings.
    Arrow(Strings, usize),
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        match self {
            Text::Python(text) => text,
            Text::Arrow(strings, row) => strings.get(*row).unwrap_or_default(),
        }
    }
}

/// Where pairs come from.
pub(crate) enum Pairs<'py> {
    /// An iterator of (query, title) or (query, title, weight), how many were pulled, and what their weights mean.
    Iterator(Bound<'py, PyIterator>, u64, Weighting),
    /// A table of Arrow, and how many rows were pulled.
    Arrow(Box<PairColumns>, u64),
}

/// A table of Arrow with columns of pairs.
pub(crate) struct PairColumns {
    arrays: Arrays,
    /// The names of the columns with the title's texts, which are joined.
    field: String,
    weighting: Weighting,
    /// The rows of the last array that are still to come, last first.
    rest: Vec<Pair>,
}

impl<'py> Pairs<'py> {
    /// The pairs of an object.
    pub(crate) fn of(object: &Bound<'py, PyAny>, field: &str, weighting: Weighting) -> PyResult<Pairs<'py>> {
        if let Some(arrays) = Arrays::of(object)? {
            let table = PairColumns { arrays, field: field.to_owned(), weighting, rest: Vec::new() };
            return Ok(Pairs::Arrow(Box::new(table), 0));
        }
        if object.is_instance_of::<PyString>() || object.is_instance_of::<PyDict>() {
            return Err(PyTypeError::new_err(format!("expected pairs of query and title, found {}", kind(object))));
        }
        let iterator = object.try_iter().map_err(|_| {
            PyTypeError::new_err(format!(
                "expected a path, a table, or pairs of query and title, found {}",
                kind(object)
            ))
        });
        Ok(Pairs::Iterator(iterator?, 0, weighting))
    }

    /// The next pairs; empty at the end.
    pub(crate) fn pull(&mut self) -> PyResult<Vec<Pair>> {
        match self {
            Pairs::Arrow(table, rows) => table.pull(rows),
            Pairs::Iterator(iterator, pulled, weighting) => {
                let mut pairs = Vec::new();
                while pairs.len() < AT_ONCE
                    && let Some(item) = iterator.next()
                {
                    let item = item?;
                    pairs.push(pair(&item, *weighting).map_err(|error| at(item.py(), "pair", *pulled, &error))?);
                    *pulled += 1;
                }
                Ok(pairs)
            }
        }
    }
}

/// A number in a message.
fn shown(found: Option<f64>) -> String {
    found.map_or_else(|| "no number".to_owned(), |number| number.to_string())
}

/// An error with the place where it was.
fn at(py: Python<'_>, what: &str, number: u64, error: &PyErr) -> PyErr {
    let said = error.value(py).to_string();
    match error.is_instance_of::<PyTypeError>(py) {
        true => PyTypeError::new_err(format!("{what} {number}: {said}")),
        false => error::given(format!("{what} {number}: {said}")),
    }
}

/// The pair in a tuple or a list.
fn pair(item: &Bound<'_, PyAny>, weighting: Weighting) -> PyResult<Pair> {
    let wrong =
        || PyTypeError::new_err(format!("expected (query, title) or (query, title, weight), found {}", kind(item)));
    if item.is_instance_of::<PyString>() || item.is_instance_of::<PyDict>() {
        return Err(wrong());
    }
    // A list, a row of a database, or whatever else has items.
    let item = match item.cast::<PyTuple>() {
        Ok(tuple) => tuple.clone(),
        Err(_) => PyTuple::new(item.py(), item.try_iter().map_err(|_| wrong())?.collect::<PyResult<Vec<_>>>()?)?,
    };
    let text = |place: usize, what: &str| -> PyResult<Text> {
        let object = item.get_item(place)?;
        let text = object.cast::<PyString>();
        let text =
            text.map_err(|_| PyTypeError::new_err(format!("expected a text as the {what}, found {}", kind(&object))));
        Ok(Text::Python(backed(text?)?))
    };
    let weight = match item.len() {
        2 => 1.0,
        3 => weight(&item.get_item(2)?, weighting)?,
        found => {
            let what = format!("expected (query, title) or (query, title, weight), found {found} items");
            return Err(error::given(what));
        }
    };
    Ok((text(0, "query")?, text(1, "title")?, weight, false))
}

/// A weight from 0 to 10¹², as `weighting` takes it.
fn weight(object: &Bound<'_, PyAny>, weighting: Weighting) -> PyResult<f32> {
    let number = object.extract::<f64>();
    let number =
        number.map_err(|_| PyTypeError::new_err(format!("expected a number as the weight, found {}", kind(object))))?;
    let wrong = || error::given(format!("expected a weight from 0 to 1e12, found {number}"));
    if !(0.0..=1e12).contains(&number) {
        return Err(wrong());
    }
    weighting.weigh(number.abs(), None).ok_or_else(wrong)
}

impl PairColumns {
    fn pull(&mut self, rows: &mut u64) -> PyResult<Vec<Pair>> {
        while self.rest.is_empty() {
            let Some(array) = self.arrays.next()? else { return Ok(Vec::new()) };
            let Some(batch) = array.as_struct_opt() else {
                let what = format!(
                    "expected a table with the columns query and {}, found an Arrow array of {}",
                    self.field,
                    array.data_type()
                );
                return Err(PyTypeError::new_err(what));
            };
            self.read(batch, *rows)?;
            *rows += batch.len() as u64;
        }
        let kept = self.rest.len().saturating_sub(AT_ONCE);
        let mut pairs = self.rest.split_off(kept);
        pairs.reverse();
        Ok(pairs)
    }

    /// Puts the clicked rows of a batch aside, last first. Columns mean what they mean in a click log.
    fn read(&mut self, batch: &StructArray, first: u64) -> PyResult<()> {
        let column = |name: &str| batch.column_by_name(name);
        let texts = |name: &str| -> PyResult<Strings> {
            let missing = || {
                let names = batch.column_names().join("`, `");
                error::given(format!("expected a column `{name}`, found `{names}`"))
            };
            let array = column(name).ok_or_else(missing)?;
            Strings::of(array).map_err(|_| {
                let found = array.data_type();
                PyTypeError::new_err(format!("column `{name}`: expected texts, found Arrow's {found}"))
            })
        };
        let (queries, titles) = (texts("query")?, texts(&self.field)?);
        let count = column("count").filter(|_| self.weighting.reads_counts());
        for row in (0..batch.len()).rev() {
            let number = first + row as u64;
            let told = |what: String| error::given(format!("row {number}: {what}"));
            let flag = |name: &str, default: bool| match column(name) {
                None => Ok(default),
                Some(array) => match number_of(array, row) {
                    Some(0.0) => Ok(false),
                    Some(1.0) => Ok(true),
                    found => Err(told(format!("expected 0 or 1 in column `{name}`, found {}", shown(found)))),
                },
            };
            if !flag("clicked", true)? {
                continue;
            }
            let factor = |name: &str, array: &ArrayRef| {
                let found = number_of(array, row);
                let wrong = || {
                    told(format!("expected a finite number of 0 or more in column `{name}`, found {}", shown(found)))
                };
                found.filter(|value| value.is_finite() && *value >= 0.0).map(f64::abs).ok_or_else(wrong)
            };
            let weight = column("weight").map_or(Ok(1.0), |array| factor("weight", array))?;
            let count = count.map(|array| factor("count", array)).transpose()?;
            for (name, strings) in [("query", &queries), (self.field.as_str(), &titles)] {
                if strings.get(row).is_none() {
                    return Err(told(format!("expected a text in column `{name}`, found null")));
                }
            }
            let weight = self.weighting.weigh(weight, count);
            let weight =
                weight.ok_or_else(|| told("expected a weight that fits 32 bits, found a larger one".to_owned()))?;
            self.rest.push((
                Text::Arrow(queries.clone(), row),
                Text::Arrow(titles.clone(), row),
                weight,
                flag("rare", false)?,
            ));
        }
        Ok(())
    }
}

//! Clicked pairs as Python gives them: any iterator of tuples, or a table of Arrow.

use arrow_array::cast::AsArray;
use arrow_array::{Array, StructArray};
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
    /// Several columns, joined.
    Joined(String),
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        match self {
            Text::Python(text) => text,
            Text::Arrow(strings, row) => strings.get(*row).unwrap_or_default(),
            Text::Joined(text) => text,
        }
    }
}

/// Where pairs come from.
pub(crate) enum Pairs<'py> {
    /// An iterator of (query, title), (query, title, weight) or dicts, and how many were pulled.
    Iterator(Bound<'py, PyIterator>, u64, Meaning),
    /// A table of Arrow, and how many rows were pulled.
    Arrow(Box<PairColumns>, u64),
}

/// What columns mean.
pub(crate) struct Meaning {
    /// The name of the column with the title's texts, or several names with `+` between them, whose texts are joined.
    field: String,
    weighting: Weighting,
}

/// A table of Arrow with columns of pairs.
pub(crate) struct PairColumns {
    arrays: Arrays,
    meaning: Meaning,
    /// The rows of the last array that are still to come, last first.
    rest: Vec<Pair>,
}

impl<'py> Pairs<'py> {
    /// The pairs of an object.
    pub(crate) fn of(object: &Bound<'py, PyAny>, field: &str, weighting: Weighting) -> PyResult<Pairs<'py>> {
        let meaning = Meaning { field: field.to_owned(), weighting };
        if let Some(arrays) = Arrays::of(object)? {
            let table = PairColumns { arrays, meaning, rest: Vec::new() };
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
        Ok(Pairs::Iterator(iterator?, 0, meaning))
    }

    /// The next pairs; empty at the end.
    pub(crate) fn pull(&mut self) -> PyResult<Vec<Pair>> {
        match self {
            Pairs::Arrow(table, rows) => table.pull(rows),
            Pairs::Iterator(iterator, pulled, meaning) => {
                let mut pairs = Vec::new();
                while pairs.len() < AT_ONCE
                    && let Some(item) = iterator.next()
                {
                    let item = item?;
                    let found = match item.cast::<PyDict>() {
                        Ok(row) => meaning.row(row),
                        Err(_) => pair(&item, meaning.weighting).map(Some),
                    };
                    pairs.extend(found.map_err(|error| at(item.py(), "pair", *pulled, &error))?);
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
    if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(format!("{what} {number}: {said}"))
    } else {
        error::invalid(format!("{what} {number}: {said}"))
    }
}

/// The pair in a tuple or a list.
fn pair(item: &Bound<'_, PyAny>, weighting: Weighting) -> PyResult<Pair> {
    let wrong =
        || PyTypeError::new_err(format!("expected (query, title) or (query, title, weight), found {}", kind(item)));
    if item.is_instance_of::<PyString>() {
        return Err(wrong());
    }
    // A list, a row of a database, or whatever else has items.
    let item = match item.cast::<PyTuple>() {
        Ok(tuple) => tuple.clone(),
        Err(_) => PyTuple::new(item.py(), item.try_iter().map_err(|_| wrong())?.collect::<PyResult<Vec<_>>>()?)?,
    };
    let text = |place: usize, what: &str| text(&item.get_item(place)?, what).map(Text::Python);
    let weight = match item.len() {
        2 => 1.0,
        3 => weight(&item.get_item(2)?, weighting)?,
        found => {
            let what = format!("expected (query, title) or (query, title, weight), found {found} items");
            return Err(error::invalid(what));
        }
    };
    Ok((text(0, "query")?, text(1, "title")?, weight, false))
}

/// A text, which is called `what`.
fn text(object: &Bound<'_, PyAny>, what: &str) -> PyResult<PyBackedStr> {
    let wrong = |_| PyTypeError::new_err(format!("expected a text as the {what}, found {}", kind(object)));
    backed(object.cast::<PyString>().map_err(wrong)?)
}

/// A weight from 0 to 10¹², as `weighting` takes it.
fn weight(object: &Bound<'_, PyAny>, weighting: Weighting) -> PyResult<f32> {
    let number = object.extract::<f64>();
    let number =
        number.map_err(|_| PyTypeError::new_err(format!("expected a number as the weight, found {}", kind(object))))?;
    let wrong = || error::invalid(format!("expected a weight from 0 to 1e12, found {number}"));
    if !(0.0..=1e12).contains(&number) {
        return Err(wrong());
    }
    weighting.weigh(number.abs(), None).ok_or_else(wrong)
}

impl Meaning {
    /// The columns with the title's texts, if those with these names are there.
    fn fields(&self, has: impl Fn(&str) -> bool) -> Vec<&str> {
        if has(&self.field) {
            return vec![&self.field];
        }
        self.field.split('+').map(str::trim).collect()
    }

    /// The weight of a row and whether its query is rare; `None` if it was not clicked. `number` is the number in a column,
    /// if there is that column.
    fn factors(&self, number: impl Fn(&str) -> Option<Option<f64>>) -> Result<Option<(f32, bool)>, String> {
        let flag = |name: &str, default: bool| match number(name) {
            None => Ok(default),
            Some(Some(0.0)) => Ok(false),
            Some(Some(1.0)) => Ok(true),
            Some(found) => Err(format!("expected 0 or 1 in column `{name}`, found {}", shown(found))),
        };
        if !flag("clicked", true)? {
            return Ok(None);
        }
        let factor = |name: &str| {
            let of = |found: Option<f64>| {
                let wrong =
                    || format!("expected a finite number of 0 or more in column `{name}`, found {}", shown(found));
                found.filter(|value| value.is_finite() && *value >= 0.0).map(f64::abs).ok_or_else(wrong)
            };
            number(name).map(of).transpose()
        };
        let weight = factor("weight")?.unwrap_or(1.0);
        let count = if self.weighting.reads_counts() { factor("count")? } else { None };
        let weight = self.weighting.weigh(weight, count);
        let weight = weight.ok_or("expected a weight that fits 32 bits, found a larger one")?;
        Ok(Some((weight, flag("rare", false)?)))
    }

    /// The pair in a row with the names of its columns; `None` if it was not clicked.
    fn row(&self, row: &Bound<'_, PyDict>) -> PyResult<Option<Pair>> {
        let text = |name: &str| -> PyResult<PyBackedStr> {
            let missing = || {
                let names: Vec<String> = row.keys().iter().map(|name| name.to_string()).collect();
                error::invalid(format!("expected `{name}`, found `{}`", names.join("`, `")))
            };
            text(&row.get_item(name)?.ok_or_else(missing)?, name)
        };
        let number = |name: &str| {
            let found = row.get_item(name).ok().flatten()?;
            Some(found.extract::<f64>().ok())
        };
        let Some((weight, rare)) = self.factors(number).map_err(error::invalid)? else { return Ok(None) };
        let fields = self.fields(|name| row.contains(name).unwrap_or(false));
        let title = match fields[..] {
            [field] => Text::Python(text(field)?),
            _ => joined(&fields.iter().map(|field| text(field)).collect::<PyResult<Vec<_>>>()?),
        };
        Ok(Some((Text::Python(text("query")?), title, weight, rare)))
    }
}

/// Texts as one, as a file's are joined.
fn joined(texts: &[impl AsRef<str>]) -> Text {
    let texts = texts.iter().map(AsRef::as_ref).filter(|text| !text.trim().is_empty());
    Text::Joined(texts.collect::<Vec<_>>().join(" "))
}

impl PairColumns {
    fn pull(&mut self, rows: &mut u64) -> PyResult<Vec<Pair>> {
        while self.rest.is_empty() {
            let Some(array) = self.arrays.next()? else { return Ok(Vec::new()) };
            let Some(batch) = array.as_struct_opt() else {
                let what = format!(
                    "expected a table with the columns query and {}, found an Arrow array of {}",
                    self.meaning.field,
                    array.data_type()
                );
                return Err(PyTypeError::new_err(what));
            };
            self.read(batch, *rows)?;
            *rows += batch.len() as u64;
        }
        let first = self.rest.len().saturating_sub(AT_ONCE);
        let mut pairs = self.rest.split_off(first);
        pairs.reverse();
        Ok(pairs)
    }

    /// Puts the clicked rows of a batch aside, last first. Columns mean what they mean in a click log.
    fn read(&mut self, batch: &StructArray, first: u64) -> PyResult<()> {
        let column = |name: &str| batch.column_by_name(name);
        let texts = |name: &str| -> PyResult<Strings> {
            let missing = || {
                let names = batch.column_names().join("`, `");
                error::invalid(format!("expected a column `{name}`, found `{names}`"))
            };
            let array = column(name).ok_or_else(missing)?;
            Strings::of(array).map_err(|_| {
                let found = array.data_type();
                PyTypeError::new_err(format!("column `{name}`: expected texts, found Arrow's {found}"))
            })
        };
        let fields = self.meaning.fields(|name| column(name).is_some());
        let names = [&["query"], &fields[..]].concat();
        let columns = names.iter().map(|name| texts(name)).collect::<PyResult<Vec<_>>>()?;
        // Columns of numbers that are given twice would be read once.
        for name in names.iter().chain(&["weight", "count", "clicked", "rare"]) {
            if batch.column_names().iter().filter(|other| *other == name).count() > 1 {
                return Err(error::invalid(format!("expected each column once, found `{name}` again")));
            }
        }
        let told = |row: usize, what: &str| format!("row {}: {what}", first + row as u64);
        for row in 0..batch.len() {
            let number = |name: &str| column(name).map(|array| number_of(array, row));
            let factors = self.meaning.factors(number).map_err(|what| error::invalid(told(row, &what)))?;
            let Some((weight, rare)) = factors else { continue };
            for (name, strings) in names.iter().zip(&columns) {
                if strings.get(row).is_none() {
                    let what = format!("expected a text in column `{name}`, found null");
                    return Err(PyTypeError::new_err(told(row, &what)));
                }
            }
            let title = match &columns[1..] {
                [title] => Text::Arrow(title.clone(), row),
                several => joined(&several.iter().filter_map(|strings| strings.get(row)).collect::<Vec<_>>()),
            };
            self.rest.push((Text::Arrow(columns[0].clone(), row), title, weight, rare));
        }
        self.rest.reverse();
        Ok(())
    }
}

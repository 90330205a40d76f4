//! Tables of Python: frames of any library, columns by name, or rows. The library reads them as it reads files.

use std::path::Path;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use clickvec_tables::table::{MemoryTable, Record, Rows, field_names, plain_decimal};
use clickvec_tables::{Error, ErrorKind};
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyIterator, PyList, PyMapping, PyString, PyTuple, PyType};

use crate::arrow::{Arrays, CellsBuilder, Column};
use crate::error;
use crate::texts::kind;

/// How many rows are rows_read at once.
const AT_ONCE: usize = 8192;

/// A table in memory, which the library reads by its path as long as this object lives.
#[pyclass(frozen, module = "clickvec._clickvec")]
pub(crate) struct Table(MemoryTable);

#[pymethods]
impl Table {
    /// Takes all rows of an object. `columns` are the names of what rows without names have; those in `optional` may follow. Where
    /// `numbered`, a row may be a single text, whose id is its place.
    #[new]
    fn new(
        object: &Bound<'_, PyAny>,
        name: String,
        columns: Vec<String>,
        optional: Vec<String>,
        numbered: bool,
    ) -> PyResult<Table> {
        let mut source = Source::extract(object, Shape { name, columns, optional, numbered })?;
        let mut batches = Vec::new();
        while let Some(batch) = source.pull()? {
            batches.push(batch);
            object.py().check_signals()?;
        }
        let (name, names, batches) = (source.shape.name, Arc::<[String]>::from(source.names), Arc::new(batches));
        Ok(Table(MemoryTable::new(&name, move || {
            let (names, batches) = (Arc::clone(&names), Arc::clone(&batches));
            let mut next = 0;
            Ok(Box::new(BatchRows::new(names, move || {
                next += 1;
                Ok(batches.get(next - 1).cloned())
            })))
        })))
    }

    /// The path by which the library reads the table.
    #[getter]
    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// What the rows of a table are.
pub(crate) struct Shape {
    /// The name of the table in messages.
    pub(crate) name: String,
    /// The names of the columns, where rows have none.
    pub(crate) columns: Vec<String>,
    /// The names of those that may follow.
    pub(crate) optional: Vec<String>,
    /// Whether a row may be a single text.
    pub(crate) numbered: bool,
}

/// Some rows, by column.
#[derive(Clone)]
pub(crate) struct Batch {
    columns: Vec<Column>,
    rows: usize,
}

/// Rows that are rows_read from Python, on the thread that has the interpreter's lock.
pub(crate) struct Source<'py> {
    pub(crate) shape: Shape,
    /// The names of the columns.
    pub(crate) names: Vec<String>,
    rows: PulledRows<'py>,
    /// The first rows, which tell the names of the columns.
    first: Option<Batch>,
    /// How many rows were rows_read.
    rows_read: u64,
}

enum PulledRows<'py> {
    Arrow(Box<Arrays>),
    Iterator(Bound<'py, PyIterator>, RowKind),
}

/// What each row of an iterator is.
#[derive(Clone, Copy, PartialEq)]
enum RowKind {
    /// A tuple, a list, or another sequence of cells, or a single text.
    Cells,
    /// The cells of columns.
    Columns,
    /// A mapping of names to cells.
    Named,
}

impl<'py> Source<'py> {
    /// Looks at an object: anything with Arrow's C interface, a query or its result, a mapping of names to columns, a data frame, or
    /// whatever can be iterated over.
    pub(crate) fn extract(object: &Bound<'py, PyAny>, shape: Shape) -> PyResult<Source<'py>> {
        if object.is_instance_of::<PyString>() || object.is_instance_of::<PyType>() {
            return Err(shape.refuses(object));
        }
        if let Some(arrays) = Arrays::extract(object)? {
            let names = match arrays.names() {
                Some(names) => names,
                None if shape.takes_texts() => shape.columns.clone(),
                None => {
                    let (columns, found) = (shape.columns.join(", "), arrays.kind());
                    let what = format!("expected a table with the columns {columns}, found an Arrow array of {found}");
                    return Err(PyTypeError::new_err(format!("{}: {what}", shape.name)));
                }
            };
            return Ok(Source::new(shape, names, PulledRows::Arrow(Box::new(arrays))));
        }
        // A query of polars that was not run yet, and one that DuckDB has run.
        if object.get_type().name()?.to_cow()? == "LazyFrame" {
            return Source::extract(&object.call_method0("collect")?, shape);
        }
        for reader in ["to_arrow_reader", "fetch_record_batch"] {
            if object.hasattr(reader)? {
                return Source::extract(&object.call_method0(reader)?, shape);
            }
        }
        if let Some(columns) = columns_of(object, &shape.name)? {
            let (names, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
            let cells = columns.iter().map(|column| cells_of(column).map_err(|_| shape.refuses(column)));
            let cells = PyTuple::new(object.py(), cells.collect::<PyResult<Vec<_>>>()?)?;
            let strict = [("strict", true)].into_py_dict(object.py())?;
            let rows = object.py().import("builtins")?.call_method("zip", cells, Some(&strict))?.try_iter()?;
            return Ok(Source::new(shape, names, PulledRows::Iterator(rows, RowKind::Columns)));
        }
        let mut iterator = object.try_iter().map_err(|_| shape.refuses(object))?;
        let rows: Vec<Bound<'py, PyAny>> = iterator.by_ref().take(AT_ONCE).collect::<PyResult<_>>()?;
        let (kind, names) = match rows.first() {
            Some(row) if row.cast::<PyMapping>().is_ok() => (RowKind::Named, names_of(&rows)?),
            _ => (RowKind::Cells, shape.names_of_cells(&rows)),
        };
        let mut source = Source::new(shape, names, PulledRows::Iterator(iterator, kind));
        source.first = source.batch_of(&rows, kind)?;
        Ok(source)
    }

    fn new(shape: Shape, names: Vec<String>, rows: PulledRows<'py>) -> Source<'py> {
        Source { shape, names, rows, first: None, rows_read: 0 }
    }

    /// Returns the next rows; `None` at the end.
    pub(crate) fn pull(&mut self) -> PyResult<Option<Batch>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        match &mut self.rows {
            PulledRows::Arrow(arrays) => {
                let Some(array) = arrays.next()? else { return Ok(None) };
                let rows = array.len();
                let columns = match array.as_struct_opt() {
                    Some(table) => table.columns().iter().map(Column::new).collect(),
                    None => vec![Column::Places(self.rows_read), Column::new(&array)],
                };
                self.rows_read += rows as u64;
                Ok(Some(Batch { columns, rows }))
            }
            PulledRows::Iterator(iterator, kind) => {
                let (kind, rows) = (*kind, iterator.by_ref().take(AT_ONCE).collect::<PyResult<Vec<_>>>());
                let is_uneven =
                    |error: &PyErr| kind == RowKind::Columns && error.to_string().contains("zip() argument");
                let rows = rows.map_err(|error| if is_uneven(&error) { self.shape.uneven() } else { error })?;
                self.batch_of(&rows, kind)
            }
        }
    }

    fn batch_of(&mut self, rows: &[Bound<'py, PyAny>], kind: RowKind) -> PyResult<Option<Batch>> {
        let mut cells: Vec<CellsBuilder> = self.names.iter().map(|_| CellsBuilder::default()).collect();
        for row in rows {
            self.push_row(row, kind, &mut cells).map_err(|error| at(&self.shape, row, self.rows_read, &error))?;
            self.rows_read += 1;
        }
        let columns = cells.into_iter().map(CellsBuilder::finish).collect();
        Ok((!rows.is_empty()).then_some(Batch { columns, rows: rows.len() }))
    }

    fn push_row(&self, row: &Bound<'py, PyAny>, kind: RowKind, cells: &mut [CellsBuilder]) -> PyResult<()> {
        match (kind, row.cast::<PyString>()) {
            (RowKind::Named, _) => {
                let row = row.cast::<PyMapping>().map_err(|_| self.shape.wrong(row))?;
                for (name, cells) in self.names.iter().zip(cells) {
                    match row.get_item(name) {
                        Ok(cell) => push(cells, &cell)?,
                        Err(_) => cells.push(None),
                    }
                }
                Ok(())
            }
            (_, Ok(_)) if self.shape.takes_texts() => {
                cells[0].push(Some(&self.rows_read.to_string()));
                push(&mut cells[1], row)
            }
            (_, Ok(_)) => Err(self.shape.wrong(row)),
            (_, Err(_)) => {
                let found: Vec<_> = cells_of_row(row).map_err(|_| self.shape.wrong(row))?;
                // A row without a weight has the usual one, and columns have all their cells.
                if !(self.shape.columns.len()..=cells.len()).contains(&found.len()) && kind != RowKind::Columns {
                    let found = format!("found {} items", found.len());
                    return Err(error::invalid(format!("expected {}, {found}", self.shape.expected())));
                }
                for (name, cells) in self.names.iter().zip(&mut *cells).skip(found.len()) {
                    cells.push(Some("1").filter(|_| name == "weight"));
                }
                cells.iter_mut().zip(&found).try_for_each(|(cells, cell)| push(cells, cell))
            }
        }
    }
}

impl Shape {
    /// Returns the shape of clicks, whose titles have the texts of `field`.
    pub(crate) fn clicks(field: &str) -> Shape {
        let columns = std::iter::once("query").chain(field_names(field)).map(str::to_owned).collect();
        Shape { name: "clicks".to_owned(), columns, optional: vec!["weight".to_owned()], numbered: false }
    }

    /// Returns whether a row may be a single text.
    fn takes_texts(&self) -> bool {
        self.numbered && self.columns.len() == 2
    }

    /// Returns the names of the cells of rows, as many as the longest has.
    fn names_of_cells(&self, rows: &[Bound<'_, PyAny>]) -> Vec<String> {
        let cells = |row| cells_of_row(row).map_or(0, |cells| cells.len());
        let most = rows.iter().filter(|row| !row.is_instance_of::<PyString>()).map(cells).max().unwrap_or_default();
        let all = self.columns.iter().chain(&self.optional);
        all.take(most.max(self.columns.len())).cloned().collect()
    }

    /// Returns what a row should be, in words.
    fn expected(&self) -> String {
        let text = if self.takes_texts() { "a text or " } else { "" };
        let more =
            if self.optional.is_empty() { String::new() } else { format!(" and perhaps {}", self.optional.join(", ")) };
        format!("{text}({}){more}", self.columns.join(", "))
    }

    fn wrong(&self, row: &Bound<'_, PyAny>) -> PyErr {
        PyTypeError::new_err(format!("expected {}, found {}", self.expected(), kind(row)))
    }

    fn uneven(&self) -> PyErr {
        error::invalid(format!("{}: expected columns of one length, found a shorter one", self.name))
    }

    fn refuses(&self, object: &Bound<'_, PyAny>) -> PyErr {
        PyTypeError::new_err(format!("{}: expected a path, a table or rows, found {}", self.name, kind(object)))
    }
}

/// The columns of a table with their names.
type Columns<'py> = Vec<(String, Bound<'py, PyAny>)>;

/// Returns the columns of an object by name; `None` if it has none.
fn columns_of<'py>(object: &Bound<'py, PyAny>, table: &str) -> PyResult<Option<Columns<'py>>> {
    let names = match (object.cast::<PyDict>(), object.getattr("columns")) {
        (Ok(columns), _) => columns.keys().into_any(),
        (Err(_), Ok(names)) if !names.is_callable() => names,
        (Err(_), Err(error)) if !error.is_instance_of::<PyAttributeError>(object.py()) => return Err(error),
        _ => match object.cast::<PyMapping>() {
            Ok(mapping) => mapping.keys()?.into_any(),
            Err(_) => return Ok(None),
        },
    };
    let mut columns: Vec<(String, Bound<'py, PyAny>)> = Vec::new();
    for name in names.try_iter()? {
        let name = name?;
        let shown = name.str()?.to_string();
        if columns.iter().any(|(other, _)| *other == shown) {
            let expected = format!("one column `{shown}`");
            let error = Error::expected(ErrorKind::Malformed, expected, "several").help("rename all but one");
            return Err(error::raise(object.py(), &error.within(table.to_owned())));
        }
        columns.push((shown, object.get_item(name)?));
    }
    Ok(Some(columns))
}

/// Returns the cells of a column.
fn cells_of<'py>(column: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    if column.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("a text"));
    }
    // Arrow's arrays have scalars of their own.
    if column.hasattr("to_pylist")? { column.call_method0("to_pylist")?.try_iter() } else { column.try_iter() }
}

fn cells_of_row<'py>(row: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    match (row.cast::<PyTuple>(), row.cast::<PyList>()) {
        (Ok(row), _) => Ok(row.iter().collect()),
        (_, Ok(row)) => Ok(row.iter().collect()),
        // A row of a database, or whatever else has items.
        _ => row.try_iter()?.collect(),
    }
}

/// Returns the names in some rows, in the order in which they occur.
fn names_of(rows: &[Bound<'_, PyAny>]) -> PyResult<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        let Ok(row) = row.cast::<PyMapping>() else { continue };
        for name in row.keys()?.iter() {
            let name = name.str()?;
            let name = name.to_cow()?;
            if !names.iter().any(|other| *other == name) {
                names.push(name.into_owned());
            }
        }
    }
    Ok(names)
}

/// Appends a cell as a file would have it; None and NaN are missing.
fn push(cells: &mut CellsBuilder, cell: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(text) = cell.cast::<PyString>() {
        match text.to_cow() {
            Ok(text) => cells.push(Some(&text)),
            Err(_) => cells.refuse("a text with lone surrogates".to_owned()),
        }
        return Ok(());
    }
    if cell.is_none() {
        cells.push(None);
        return Ok(());
    }
    // A number of NumPy as one of Python.
    let cell = if cell.hasattr("item")? && cell.hasattr("dtype")? { cell.call_method0("item")? } else { cell.clone() };
    let name = cell.get_type().name()?;
    match &*name.to_cow()? {
        "bool" => cells.push(Some(&cell.extract::<bool>()?.to_string())),
        "int" | "UUID" | "str" => cells.push(Some(&cell.str()?.to_cow()?)),
        "float" => {
            let number = cell.extract::<f64>()?;
            cells.push(Some(number).filter(|number| !number.is_nan()).map(|number| number.to_string()).as_deref());
        }
        "Decimal" => match cell.str()?.to_cow()? {
            text if text == "NaN" => cells.push(None),
            text => cells.push(Some(plain_decimal(&text))),
        },
        "NAType" | "NaTType" => cells.push(None),
        _ => cells.refuse(kind(&cell)),
    }
    Ok(())
}

/// An error with the row where it was; rows are counted from 1.
fn at(shape: &Shape, row: &Bound<'_, PyAny>, number: u64, error: &PyErr) -> PyErr {
    let py = row.py();
    let said = format!("{}, row {}: {}", shape.name, number + 1, error.value(py));
    if error.is_instance_of::<PyTypeError>(py) { PyTypeError::new_err(said) } else { error::invalid(said) }
}

/// Reads batches row by row.
pub(crate) struct BatchRows<F> {
    names: Arc<[String]>,
    next: F,
    batch: Option<Batch>,
    row: usize,
}

impl<F: FnMut() -> clickvec_tables::Result<Option<Batch>> + Send> BatchRows<F> {
    pub(crate) fn new(names: Arc<[String]>, next: F) -> BatchRows<F> {
        BatchRows { names, next, batch: None, row: 0 }
    }
}

impl<F: FnMut() -> clickvec_tables::Result<Option<Batch>> + Send> Rows for BatchRows<F> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn next(&mut self, columns: &[usize], record: &mut Record) -> clickvec_tables::Result<bool> {
        loop {
            match &self.batch {
                Some(batch) if self.row < batch.rows => break,
                _ => {
                    (self.batch, self.row) = ((self.next)()?, 0);
                    if self.batch.is_none() {
                        return Ok(false);
                    }
                }
            }
        }
        let Some(batch) = &self.batch else { return Ok(false) };
        for (field, &column) in columns.iter().enumerate() {
            let read = batch.columns[column].read(self.row, &mut |text| record.push(field, text));
            if let Err(found) = read {
                record.refuse(field, found);
            }
        }
        self.row += 1;
        Ok(true)
    }
}

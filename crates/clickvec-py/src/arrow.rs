//! Arrow in, by its C interface: pyarrow, pandas, polars, DuckDB and the like give columns without copying their strings.

use std::ffi::{CStr, c_int};
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder as _, LargeStringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, LargeStringArray, NullArray, StringArray, StringViewArray, make_array};
use arrow_schema::DataType;
use clickvec_tables::table::plain_decimal;
use pyo3::exceptions::{PyImportError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

const STREAM: &str = "__arrow_c_stream__";
const ARRAY: &str = "__arrow_c_array__";
const STREAM_CAPSULE: &CStr = c"arrow_array_stream";
const SCHEMA_CAPSULE: &CStr = c"arrow_schema";
const ARRAY_CAPSULE: &CStr = c"arrow_array";

/// Arrow arrays one after another, all of one type.
pub(crate) struct Arrays {
    source: Source,
    schema: FFI_ArrowSchema,
}

enum Source {
    Stream(FFI_ArrowArrayStream),
    One(Option<FFI_ArrowArray>),
}

impl Arrays {
    /// The arrays of an object, if it has Arrow's C interface. Frames and columns of pandas have it even where they cannot give it:
    /// without pyarrow, or with cells of several kinds.
    pub(crate) fn extract(object: &Bound<'_, PyAny>) -> PyResult<Option<Arrays>> {
        if object.hasattr(STREAM)? {
            let py = object.py();
            return match object.call_method0(STREAM) {
                Ok(capsule) => {
                    let arrays = Arrays::from_stream(capsule.cast::<PyCapsule>()?)?;
                    Ok(Some(arrays)
                        .filter(|arrays| !arrays.has_nothing() || !object.hasattr("get_column").unwrap_or(false)))
                }
                Err(error)
                    if (object.hasattr("columns")? || object.hasattr("dtype")?)
                        && (error.is_instance_of::<PyImportError>(py)
                            || error.is_instance_of::<PyTypeError>(py)
                            || error.is_instance_of::<PyValueError>(py)) =>
                {
                    Ok(None)
                }
                Err(error) => Err(error),
            };
        }
        if object.hasattr(ARRAY)? {
            let capsules = object.call_method0(ARRAY)?.cast_into::<PyTuple>()?;
            let (schema, array) = (capsules.get_item(0)?, capsules.get_item(1)?);
            return Arrays::from_array(schema.cast::<PyCapsule>()?, array.cast::<PyCapsule>()?).map(Some);
        }
        Ok(None)
    }

    #[allow(unsafe_code)]
    fn from_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<Arrays> {
        let pointer = capsule.pointer_checked(Some(STREAM_CAPSULE))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: by its name the capsule has an ArrowArrayStream, which this takes over and leaves marked as released.
        let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
        let mut schema = FFI_ArrowSchema::empty();
        let Some(get_schema) = stream.get_schema() else { return Err(released()) };
        // SAFETY: the function is the stream's own, and both pointers are to values of ours.
        let status = unsafe { get_schema(&raw mut stream, &raw mut schema) };
        failed(&mut stream, status)?;
        Ok(Arrays { source: Source::Stream(stream), schema })
    }

    #[allow(unsafe_code)]
    fn from_array(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<Arrays> {
        let schema = schema.pointer_checked(Some(SCHEMA_CAPSULE))?.cast::<FFI_ArrowSchema>();
        let array = array.pointer_checked(Some(ARRAY_CAPSULE))?.cast::<FFI_ArrowArray>();
        // SAFETY: by their names the capsules have an ArrowSchema and an ArrowArray, which this takes over and leaves marked as
        // released.
        let (schema, array) =
            unsafe { (FFI_ArrowSchema::from_raw(schema.as_ptr()), FFI_ArrowArray::from_raw(array.as_ptr())) };
        Ok(Arrays { source: Source::One(Some(array)), schema })
    }

    /// Returns the names of the columns; `None` if the arrays are no tables.
    pub(crate) fn names(&self) -> Option<Vec<String>> {
        match DataType::try_from(&self.schema) {
            Ok(DataType::Struct(fields)) => Some(fields.iter().map(|field| field.name().clone()).collect()),
            _ => None,
        }
    }

    /// Returns whether a column has no type, because all of it is missing. Polars gives such a column a buffer, which it may not have.
    fn has_nothing(&self) -> bool {
        let schema = DataType::try_from(&self.schema);
        matches!(schema, Ok(DataType::Struct(fields)) if fields.iter().any(|field| field.data_type() == &DataType::Null))
    }

    /// Returns the type of the arrays, in words.
    pub(crate) fn kind(&self) -> String {
        DataType::try_from(&self.schema).map_or_else(|error| error.to_string(), |found| found.to_string())
    }

    /// The next array; `None` at the end.
    #[allow(unsafe_code)]
    pub(crate) fn next(&mut self) -> PyResult<Option<ArrayRef>> {
        let array = match &mut self.source {
            Source::One(array) => array.take(),
            Source::Stream(stream) => {
                let mut array = FFI_ArrowArray::empty();
                let Some(get_next) = stream.get_next() else { return Err(released()) };
                // SAFETY: the function is the stream's own, and both pointers are to values of ours.
                let status = unsafe { get_next(&raw mut *stream, &raw mut array) };
                failed(stream, status)?;
                Some(array).filter(|array| !array.is_released())
            }
        };
        let Some(array) = array else { return Ok(None) };
        // Some producers give it a buffer, which it does not have.
        if let Ok(DataType::Null) = DataType::try_from(&self.schema) {
            return Ok(Some(Arc::new(NullArray::new(array.len()))));
        }
        // SAFETY: the producer says that the array has this schema; that is what the C interface is.
        let data = unsafe { from_ffi(array, &self.schema) };
        let data = data.map_err(|error| PyTypeError::new_err(error.to_string()))?;
        // Lengths and offsets of strings come from outside.
        data.validate_full().map_err(|error| PyTypeError::new_err(error.to_string()))?;
        Ok(Some(make_array(data)))
    }
}

#[allow(unsafe_code)]
fn failed(stream: &mut FFI_ArrowArrayStream, status: c_int) -> PyResult<()> {
    if status == 0 {
        return Ok(());
    }
    let mut said = String::new();
    if let Some(get_last_error) = stream.get_last_error() {
        // SAFETY: the function is the stream's own; what it returns is null or a C string that lives until the next call.
        let error = unsafe { get_last_error(&raw mut *stream) };
        if !error.is_null() {
            // SAFETY: as above.
            said = unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned();
        }
    }
    Err(PyTypeError::new_err(format!("the stream of Arrow arrays failed with {status}: {said}")))
}

fn released() -> PyErr {
    PyTypeError::new_err("expected a stream of Arrow arrays, found one that was read already")
}

/// Strings of an Arrow array.
#[derive(Debug, Clone)]
pub(crate) struct Strings(Arc<StringLayout>);

#[derive(Debug)]
enum StringLayout {
    Small(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
    Dictionary {
        keys: Vec<usize>,
        nulls: ArrayRef,
        values: Strings,
    },
    /// As many rows without a text, as of an empty column.
    Nothing(usize),
}

impl Strings {
    /// The strings of an array; an error that says what it has instead.
    pub(crate) fn new(array: &ArrayRef) -> PyResult<Strings> {
        Ok(Strings(Arc::new(match array.data_type() {
            DataType::Utf8 => StringLayout::Small(array.as_string().clone()),
            DataType::LargeUtf8 => StringLayout::Large(array.as_string().clone()),
            DataType::Utf8View => StringLayout::View(array.as_string_view().clone()),
            DataType::Null => StringLayout::Nothing(array.len()),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let values = Strings::new(dictionary.values())?;
                let keys = if values.len() == 0 { vec![0; array.len()] } else { dictionary.normalized_keys() };
                StringLayout::Dictionary { keys, nulls: Arc::clone(array), values }
            }
            other => return Err(PyTypeError::new_err(format!("expected texts, found an Arrow array of {other}"))),
        })))
    }

    pub(crate) fn len(&self) -> usize {
        match &*self.0 {
            StringLayout::Small(array) => array.len(),
            StringLayout::Large(array) => array.len(),
            StringLayout::View(array) => array.len(),
            StringLayout::Dictionary { keys, .. } => keys.len(),
            StringLayout::Nothing(rows) => *rows,
        }
    }

    /// The text in a row; `None` if there is none.
    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        match &*self.0 {
            StringLayout::Small(array) => array.is_valid(row).then(|| array.value(row)),
            StringLayout::Large(array) => array.is_valid(row).then(|| array.value(row)),
            StringLayout::View(array) => array.is_valid(row).then(|| array.value(row)),
            StringLayout::Dictionary { keys, nulls, values } => {
                if nulls.is_valid(row) {
                    values.get(keys[row])
                } else {
                    None
                }
            }
            StringLayout::Nothing(_) => None,
        }
    }
}

/// A column of a table.
#[derive(Debug, Clone)]
pub(crate) enum Column {
    Texts(Strings),
    /// Numbers, or what the library cannot read.
    Values(ArrayRef),
    /// Texts, up to the row that has something else.
    Refused(Strings, usize, String),
    /// The places of rows, from this one on.
    Places(u64),
}

/// A column that is built from cells of Python.
#[derive(Default)]
pub(crate) struct CellsBuilder {
    texts: LargeStringBuilder,
    /// The first row that has neither a text nor a number, and what it has.
    refused: Option<(usize, String)>,
}

impl CellsBuilder {
    /// Appends a cell.
    pub(crate) fn push(&mut self, text: Option<&str>) {
        self.texts.append_option(text);
    }

    /// Appends a cell that is an error for the reader of this column.
    pub(crate) fn refuse(&mut self, found: String) {
        self.refused.get_or_insert((self.texts.len(), found));
        self.texts.append_null();
    }

    pub(crate) fn finish(mut self) -> Column {
        let texts = Strings(Arc::new(StringLayout::Large(self.texts.finish())));
        match self.refused {
            None => Column::Texts(texts),
            Some((row, found)) => Column::Refused(texts, row, found),
        }
    }
}

impl Column {
    pub(crate) fn new(array: &ArrayRef) -> Column {
        Strings::new(array).map_or_else(|_| Column::Values(Arc::clone(array)), Column::Texts)
    }

    /// Passes on what is in a row, as a file has it; nothing if there is none.
    ///
    /// # Errors
    /// What a row has that is neither a text nor a number.
    pub(crate) fn read(&self, row: usize, pass: &mut dyn FnMut(&str)) -> Result<(), String> {
        let text = match self {
            Column::Refused(_, first, found) if *first == row => return Err(found.clone()),
            Column::Texts(texts) | Column::Refused(texts, ..) => {
                texts.get(row).into_iter().for_each(pass);
                return Ok(());
            }
            Column::Places(first) => (first + row as u64).to_string(),
            Column::Values(array) if !array.is_valid(row) => return Ok(()),
            Column::Values(array) => number(array, row).ok_or_else(|| format!("Arrow's {}", array.data_type()))?,
        };
        pass(&text);
        Ok(())
    }
}

/// Returns the number in a row of an array as text; `None` if the array has no numbers.
fn number(array: &ArrayRef, row: usize) -> Option<String> {
    macro_rules! primitive {
        ($kind:ty) => {
            array.as_primitive::<$kind>().value(row).to_string()
        };
    }
    macro_rules! decimal {
        ($kind:ty) => {
            plain_decimal(&array.as_primitive::<$kind>().value_as_string(row)).to_owned()
        };
    }
    Some(match array.data_type() {
        DataType::Float64 => primitive!(Float64Type),
        DataType::Float32 => primitive!(Float32Type),
        DataType::Float16 => primitive!(Float16Type),
        DataType::Int64 => primitive!(Int64Type),
        DataType::Int32 => primitive!(Int32Type),
        DataType::Int16 => primitive!(Int16Type),
        DataType::Int8 => primitive!(Int8Type),
        DataType::UInt64 => primitive!(UInt64Type),
        DataType::UInt32 => primitive!(UInt32Type),
        DataType::UInt16 => primitive!(UInt16Type),
        DataType::UInt8 => primitive!(UInt8Type),
        // Sums of DuckDB have them.
        DataType::Decimal32(..) => decimal!(Decimal32Type),
        DataType::Decimal64(..) => decimal!(Decimal64Type),
        DataType::Decimal128(..) => decimal!(Decimal128Type),
        DataType::Decimal256(..) => decimal!(Decimal256Type),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        _ => return None,
    })
}

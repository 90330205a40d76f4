//! Apache Parquet, row by row. Only the columns that were selected are read. A nested column is a path, `a.b`.
//!
//! Sizes that the metadata states are checked against the file before any page is read. What is inside pages is left to the
//! `parquet` crate.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::reader::RowIter;
use ::parquet::record::{Field, Row};
use ::parquet::schema::types::Type;

use super::field::plain_decimal;
use super::record::{Next, Record};
use crate::{Error, ErrorKind, Result, files};

/// The most bytes that a column of one row group may have once it is decompressed.
const MAX_CHUNK_BYTES: i64 = 8 << 30;
/// The most values that it may have.
const MAX_CHUNK_VALUES: i64 = 1 << 28;

pub(super) struct Reader {
    fields: Vec<Arc<Type>>,
    schema: String,
    paths: Vec<Vec<String>>,
    rows: Rows,
    row: u64,
    /// The current row.
    current: Option<Row>,
}

enum Rows {
    /// Not started, since columns may still be selected.
    Waiting(Box<SerializedFileReader<File>>),
    Reading(Box<RowIter<'static>>),
    /// Nothing can be read any more.
    Broken,
}

/// Opens a Parquet file and checks the sizes that its metadata states.
///
/// # Errors
///
/// [`ErrorKind::Io`], and [`ErrorKind::Damaged`] or [`ErrorKind::Malformed`] for a file that cannot be read.
fn open_parquet(path: &Path) -> Result<SerializedFileReader<File>> {
    if files::is_stream(path) {
        return Err(not_a_file(path, "in a pipe"));
    }
    let file = File::open(path).map_err(|source| Error::io(path, "open", source))?;
    let length = file.metadata().map_err(|source| Error::io(path, "read", source))?.len();
    let reader =
        guard_parquet(path, || SerializedFileReader::new(file))?.map_err(|error| parquet_error(path, error))?;
    for group in reader.metadata().row_groups() {
        for column in group.columns() {
            check(path, length, group, column)?;
        }
    }
    Ok(reader)
}

/// Creates the error of Parquet that cannot be read from its end.
pub(super) fn not_a_file(path: &Path, problem: &str) -> Error {
    let found = format!("it {problem}");
    let error = Error::expected(ErrorKind::Malformed, "Parquet in a plain file", found);
    error.help("Parquet is read from its end, so name a plain file").at(path)
}

/// Checks that a column of a row group can be as large as the metadata states.
fn check(path: &Path, length: u64, group: &RowGroupMetaData, column: &ColumnChunkMetaData) -> Result<()> {
    let name = column.column_path();
    let refused = |expected: String, found: String| {
        let expected = format!("column {name}: expected {expected}");
        Err(damaged(path, format!("{expected}, found {found}")))
    };
    if let Compression::LZO = column.compression() {
        let methods = "zstd, Snappy, gzip, LZ4, Brotli or no compression";
        return refused(methods.to_owned(), "LZO; write it with one of these".to_owned());
    }
    let (starts, sizes) = (
        [Some(column.data_page_offset()), column.dictionary_page_offset()],
        [column.compressed_size(), column.uncompressed_size(), column.num_values(), group.num_rows()],
    );
    if starts.iter().flatten().chain(&sizes).any(|&number| number < 0) {
        return refused("sizes and places of 0 or more".to_owned(), "one below 0".to_owned());
    }
    let (start, bytes) = column.byte_range();
    if start.checked_add(bytes).is_none_or(|end| end > length) {
        return refused(format!("pages within the {length} bytes of the file"), "others; was it cut short?".to_owned());
    }
    if column.uncompressed_size() > MAX_CHUNK_BYTES || column.num_values() > MAX_CHUNK_VALUES {
        let found = format!("{} bytes and {} values", column.uncompressed_size(), column.num_values());
        return refused(format!("at most {MAX_CHUNK_BYTES} bytes and {MAX_CHUNK_VALUES} values in a row group"), found);
    }
    if column.column_descr().max_rep_level() == 0 && column.num_values() != group.num_rows() {
        return refused(format!("{} values, one for each row", group.num_rows()), column.num_values().to_string());
    }
    Ok(())
}

fn damaged(path: &Path, what: String) -> Error {
    Error::new(ErrorKind::Damaged, format!("cannot read this Parquet file: {what}")).at(path)
}

/// Returns the value of `read`, which reads the Parquet file at `path`.
///
/// # Errors
///
/// [`ErrorKind::Damaged`] if `read` panics, as the `parquet` crate does on some damaged files.
fn guard_parquet<T>(path: &Path, read: impl FnOnce() -> T) -> Result<T> {
    let broken = |_| damaged(path, "its bytes are not those of a whole Parquet file".to_owned());
    catch_unwind(AssertUnwindSafe(read)).map_err(broken)
}

/// Converts an error of the `parquet` crate.
fn parquet_error(path: &Path, error: ParquetError) -> Error {
    let what = match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(refused) if refused.raw_os_error().is_some() => return Error::io(path, "read", *refused),
            Ok(source) => source.to_string(),
            Err(source) => source.to_string(),
        },
        ParquetError::EOF(_) | ParquetError::NeedMoreData(_) | ParquetError::NeedMoreDataRange(_) => {
            "expected all bytes that it says it has, found fewer; was it cut short?".to_owned()
        }
        ParquetError::NYI(what) => {
            format!(
                "expected usual encodings, found one that is not supported ({what}); write it with the defaults of pyarrow or DuckDB"
            )
        }
        other => other.to_string(),
    };
    damaged(path, what)
}

impl Reader {
    /// Opens a file. Returns the names of its outermost columns, too.
    pub(super) fn open(path: &Path) -> Result<(Reader, Vec<String>)> {
        let reader = open_parquet(path)?;
        let schema = reader.metadata().file_metadata().schema();
        let (fields, name) = (schema.get_fields().to_vec(), schema.name().to_owned());
        let names = fields.iter().map(|field| field.name().to_owned()).collect();
        Ok((
            Reader {
                fields,
                schema: name,
                paths: Vec::new(),
                rows: Rows::Waiting(Box::new(reader)),
                row: 0,
                current: None,
            },
            names,
        ))
    }

    /// Returns the path to a column.
    pub(super) fn find(&self, name: &str) -> Option<Vec<String>> {
        let is_same = |field: &&Arc<Type>| field.name().trim().eq_ignore_ascii_case(name.trim());
        if let Some(field) = self.fields.iter().find(is_same) {
            return Some(vec![field.name().to_owned()]);
        }
        let (first, _) = name.split_once('.')?;
        self.fields.iter().any(|field| field.name() == first).then(|| name.split('.').map(str::to_owned).collect())
    }

    pub(super) fn select(&mut self, path: Vec<String>) {
        self.paths.push(path);
    }

    /// Reads the next row; `path` is for messages.
    pub(super) fn next(&mut self, path: &Path, record: &mut Record) -> Result<Next> {
        record.clear(self.paths.len());
        let rows = match std::mem::replace(&mut self.rows, Rows::Broken) {
            Rows::Waiting(reader) => Box::new(self.start(path, reader)?),
            Rows::Reading(rows) => rows,
            Rows::Broken => return Err(damaged(path, "an earlier row could not be read".to_owned())),
        };
        let mut rows = rows;
        let read = guard_parquet(path, || rows.next())?;
        let row = match read.transpose().map_err(|error| parquet_error(path, error))? {
            Some(row) => row,
            None => {
                self.rows = Rows::Reading(rows);
                return Ok(Next::End);
            }
        };
        self.rows = Rows::Reading(rows);
        self.row += 1;
        record.line = self.row;
        for (column, path) in self.paths.iter().enumerate() {
            match lookup(&row, path) {
                Some(Field::Str(text)) => record.push(column, text),
                field => {
                    if let Some(text) = field.and_then(scalar) {
                        record.push(column, &text);
                    }
                }
            }
        }
        self.current = Some(row);
        Ok(Next::Row)
    }

    /// Appends the list of numbers that the current row has in a column. An error is what it has instead.
    pub(super) fn numbers(&self, name: &str, numbers: &mut Vec<f32>) -> Result<(), String> {
        let path = self.find(name).unwrap_or_default();
        match self.current.as_ref().and_then(|row| lookup(row, &path)) {
            None | Some(Field::Null) => Err("none".to_owned()),
            Some(Field::ListInternal(list)) => {
                for (position, item) in (1..).zip(list.elements()) {
                    numbers.push(match item {
                        Field::Float(number) => *number,
                        Field::Double(number) => *number as f32,
                        Field::Null => return Err(format!("null as item {position}")),
                        _ => return Err(format!("another type than floats of 32 or 64 bits as item {position}")),
                    });
                }
                Ok(())
            }
            Some(_) => Err("another type".to_owned()),
        }
    }

    fn start(&self, path: &Path, reader: Box<SerializedFileReader<File>>) -> Result<RowIter<'static>> {
        let is_needed = |field: &&Arc<Type>| self.paths.iter().any(|path| path[0] == field.name());
        let needed: Vec<Arc<Type>> = self.fields.iter().filter(is_needed).cloned().collect();
        // Without any column there is nothing to project.
        let fault = |error| parquet_error(path, error);
        let schema = Type::group_type_builder(&self.schema).with_fields(needed.clone()).build().map_err(fault)?;
        let projection = Some(schema).filter(|_| !needed.is_empty());
        guard_parquet(path, || RowIter::from_file_into(reader).project(projection))?.map_err(fault)
    }
}

fn lookup<'a>(row: &'a Row, path: &[String]) -> Option<&'a Field> {
    let (first, rest) = path.split_first()?;
    let (_, field) = row.get_column_iter().find(|(name, _)| *name == first)?;
    match (field, rest) {
        (field, []) => Some(field),
        (Field::Group(inner), rest) => lookup(inner, rest),
        _ => None,
    }
}

/// A value as text logs write it; `None` for null and for anything but a single value.
fn scalar(field: &Field) -> Option<String> {
    let time = |time: Result<jiff::Timestamp, jiff::Error>| time.ok().map(|time| time.to_string());
    match field {
        Field::Null | Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) => None,
        Field::Str(text) => Some(text.clone()),
        Field::Bytes(bytes) => std::str::from_utf8(bytes.data()).ok().map(str::to_owned),
        Field::Bool(value) => Some(value.to_string()),
        Field::Byte(number) => Some(number.to_string()),
        Field::Short(number) => Some(number.to_string()),
        Field::Int(number) => Some(number.to_string()),
        Field::Long(number) => Some(number.to_string()),
        Field::UByte(number) => Some(number.to_string()),
        Field::UShort(number) => Some(number.to_string()),
        Field::UInt(number) => Some(number.to_string()),
        Field::ULong(number) => Some(number.to_string()),
        Field::Float(number) => Some(number.to_string()),
        Field::Double(number) => Some(number.to_string()),
        Field::Date(days) => time(jiff::Timestamp::from_second(i64::from(*days) * 86_400)),
        Field::TimestampMillis(millis) => time(jiff::Timestamp::from_millisecond(*millis)),
        Field::TimestampMicros(micros) => time(jiff::Timestamp::from_microsecond(*micros)),
        Field::Decimal(_) => Some(plain_decimal(&field.to_string()).to_owned()),
        // The crate formats times of day and half floats.
        other => Some(other.to_string()),
    }
}

//! Apache Parquet, row by row. Only the columns that are needed are read. A nested column is a path, `a.b`.

mod pages;
mod thrift;

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::FileReader;
use ::parquet::record::reader::RowIter;
use ::parquet::record::{Field, Row};
use ::parquet::schema::types::Type;

use pages::CheckedFile;

use super::format::Options;
use super::header::Columned;
use super::record::{Next, Record};
use crate::columns::{ALL, ROLES, Role};
use crate::error::{Error, InputTable, ParquetFault, Result, TableFault};

pub(super) struct Reader {
    rows: RowIter<'static>,
    paths: Vec<(Role, Vec<String>)>,
    row: u64,
    /// Nothing can be read any more.
    is_broken: bool,
}

/// What `read` returns. On some damaged files the crate for Parquet panics: that is a fault of the file.
fn guarded<T>(read: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(read)).ok()
}

/// Reads every page of a Parquet file once. Another reader of the crate for Parquet should do so before it decodes the file,
/// because that makes room for as many values as a page says it has.
///
/// # Errors
///
/// [`Error::File`] if the file cannot be opened, [`Error::Table`] if it is damaged.
pub fn check_parquet(path: &Path) -> Result<()> {
    let file = File::open(path).map_err(|source| Error::io(path, "open", source))?;
    let checked = guard_parquet(path, || CheckedFile::open(file).and_then(|file| file.check_all()))?;
    checked.map_err(|error| failed(path, error))
}

/// The value that `read` returns, which reads the Parquet file of `path`.
///
/// # Errors
///
/// [`Error::Table`] if `read` panics, as the crate for Parquet does on some damaged files.
pub fn guard_parquet<T>(path: &Path, read: impl FnOnce() -> T) -> Result<T> {
    guarded(read).ok_or_else(|| Error::table(path, TableFault::Parquet(ParquetFault::Damaged)))
}

/// The fault of a file, or the error of the operating system if that refused to read it.
fn fault_of(error: ParquetError) -> io::Result<ParquetFault> {
    let source = match error {
        ParquetError::External(source) => source,
        ParquetError::EOF(_) | ParquetError::NeedMoreData(_) | ParquetError::NeedMoreDataRange(_) => {
            return Ok(ParquetFault::CutShort);
        }
        ParquetError::NYI(_) => return Ok(ParquetFault::NotSupported),
        _ => return Ok(ParquetFault::Damaged),
    };
    match source.downcast::<ParquetFault>().map_err(|source| source.downcast::<io::Error>()) {
        Ok(fault) => Ok(*fault),
        Err(Ok(refused)) if refused.raw_os_error().is_some() => Err(*refused),
        // Decompressing failed.
        Err(_) => Ok(ParquetFault::Damaged),
    }
}

/// An error of the crate for Parquet at `path`, as a fault of the file or the error of the operating system.
pub fn failed(path: &Path, error: ParquetError) -> Error {
    match fault_of(error) {
        Ok(fault) => Error::table(path, TableFault::Parquet(fault)),
        Err(refused) => Error::io(path, "read", refused),
    }
}

impl Reader {
    pub(super) fn open(path: &Path, options: &Options) -> Result<(Reader, Columned)> {
        let fault = |error| failed(path, error);
        let file = File::open(path).map_err(|source| Error::io(path, "open", source))?;
        let reader = guard_parquet(path, || CheckedFile::open(file))?.map_err(fault)?;
        let schema = reader.metadata().file_metadata().schema().clone();
        let mut found = Columned { has: [false; ROLES], names: Vec::new(), wanted: Vec::new() };
        found.names = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
        let mut paths = Vec::new();
        let mut needed: Vec<Arc<Type>> = Vec::new();
        for role in ALL {
            let is = |field: &&Arc<Type>, name: &str| field.name().trim().eq_ignore_ascii_case(name.trim());
            let there = |name: &&str| schema.get_fields().iter().any(|field| is(&field, name));
            let Some(name) = options.columns.names_of(role).find(there).or(options.columns.of(role)) else { continue };
            let whole = |field: &&Arc<Type>| is(field, name);
            let first = name.split('.').next().unwrap_or_default();
            let outer = |field: &&Arc<Type>| name.contains('.') && field.name() == first;
            let fields = schema.get_fields();
            let (field, rest) = match (fields.iter().find(whole), fields.iter().find(outer)) {
                (Some(field), _) => (field, Vec::new()),
                (None, Some(field)) => (field, name.split('.').skip(1).map(str::to_owned).collect()),
                (None, None) if options.columns.is_named(role) => {
                    let (column, of) = (name.to_owned(), InputTable::Log);
                    let missing = TableFault::MissingColumn { column, role, found: found.names, of };
                    return Err(Error::table(path, missing));
                }
                (None, None) => continue,
            };
            found.has[role as usize] = true;
            paths.push((role, [vec![field.name().to_owned()], rest].concat()));
            if !needed.iter().any(|other| other.name() == field.name()) {
                needed.push(Arc::clone(field));
            }
        }
        // Without any column there is nothing to project; the caller reports what is missing.
        let projection = match needed.is_empty() {
            true => None,
            false => Some(Type::group_type_builder(schema.name()).with_fields(needed).build().map_err(fault)?),
        };
        let rows = guard_parquet(path, || RowIter::from_file_into(Box::new(reader)).project(projection));
        let rows = rows?.map_err(fault)?;
        Ok((Reader { rows, paths, row: 0, is_broken: false }, found))
    }

    /// The next row; `path` is for messages.
    pub(super) fn next(&mut self, path: &Path, record: &mut Record) -> Result<Next> {
        record.clear();
        let read = if self.is_broken { None } else { guarded(|| self.rows.next()) };
        let Some(read) = read else {
            self.is_broken = true;
            return Err(Error::table(path, TableFault::Parquet(ParquetFault::Damaged)));
        };
        let Some(row) = read else { return Ok(Next::End) };
        let row = row.map_err(|error| failed(path, error))?;
        self.row += 1;
        record.line = self.row;
        for (role, path) in &self.paths {
            if let Some(text) = lookup(&row, path).and_then(scalar) {
                record.push(*role, &text);
            }
        }
        Ok(Next::Row)
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
        // The crate formats times of day, decimals and half floats.
        other => Some(other.to_string()),
    }
}

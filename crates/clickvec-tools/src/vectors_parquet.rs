//! Vectors as Apache Parquet, batch by batch.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

/// The numbers in a row group, which is held in memory until it is complete: 64 MiB.
const GROUP_NUMBERS: usize = 16 << 20;
/// The path of a vector's numbers in Parquet: the elements of a list.
const NUMBERS: [&str; 3] = ["vector", "list", "element"];

/// Writes columns of texts and the column `vector`, a list of fixed size of 32-bit floats. None is ever null.
pub struct Writer<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: Arc<Schema>,
    element: Arc<Field>,
    dimension: i32,
}

impl<W: Write + Send> Writer<W> {
    /// Writes the header.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn new(target: W, texts: &[&str], dimension: usize) -> io::Result<Writer<W>> {
        let rows = (GROUP_NUMBERS / dimension.max(1)).max(1);
        let dimension = i32::try_from(dimension).map_err(io::Error::other)?;
        let element = Arc::new(Field::new(NUMBERS[2], DataType::Float32, false));
        let mut fields: Vec<Field> = texts.iter().map(|name| Field::new(*name, DataType::Utf8, false)).collect();
        fields.push(Field::new(NUMBERS[0], DataType::FixedSizeList(Arc::clone(&element), dimension), false));
        let schema = Arc::new(Schema::new(fields));
        // The numbers hardly repeat, so neither a dictionary nor compression makes them smaller.
        let numbers = ColumnPath::new(NUMBERS.map(str::to_owned).to_vec());
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_column_dictionary_enabled(numbers.clone(), false)
            .set_column_compression(numbers, Compression::UNCOMPRESSED)
            .set_max_row_group_row_count(Some(rows))
            .build();
        let writer = ArrowWriter::try_new(target, Arc::clone(&schema), Some(properties)).map_err(failed)?;
        Ok(Writer { writer, schema, element, dimension })
    }

    /// Writes rows: the texts of each column, and the vectors.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn write(&mut self, texts: &[Vec<&str>], vectors: &[f32]) -> io::Result<()> {
        let column = |texts: &Vec<&str>| -> ArrayRef { Arc::new(StringArray::from_iter_values(texts)) };
        let mut columns: Vec<ArrayRef> = texts.iter().map(column).collect();
        let numbers = Arc::new(Float32Array::from(vectors.to_vec()));
        let vectors = FixedSizeListArray::try_new(Arc::clone(&self.element), self.dimension, numbers, None);
        columns.push(Arc::new(vectors.map_err(unfit)?));
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(unfit)?;
        self.writer.write(&batch).map_err(failed)
    }

    /// Writes the footer, without which the file is not valid, and flushes.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn finish(self) -> io::Result<()> {
        let mut target = self.writer.into_inner().map_err(failed)?;
        target.flush()
    }
}

/// Returns the error of the operating system, if there is one, so that a closed pipe is recognised.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::other(error),
    }
}

fn unfit(error: ArrowError) -> io::Error {
    io::Error::other(error)
}

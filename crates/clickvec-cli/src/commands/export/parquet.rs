//! Titles and vectors as Apache Parquet.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::file::properties::WriterProperties;
use ::parquet::schema::types::ColumnPath;
use anyhow::Result;
use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use clickvec::Error;
use clickvec::internals::files::Pending;
use clickvec::tables::Title;

use super::titles::{Counts, ExportedTitles};

/// The numbers in a row group, which is held in memory until it is complete: 64 MiB.
const GROUP_NUMBERS: usize = 16 << 20;

/// Writes the columns `id`, `title` and `vector`, a list of fixed size; or, flat, `v0`, `v1` … instead of the list.
pub(super) fn write(path: &Path, flat: bool, titles: ExportedTitles<'_>) -> Result<Counts> {
    let mut file = Pending::new(path)?;
    let failed = |source| Error::io(path, "write", source);
    let mut rows = Rows::new(file.writer(), titles.model.dimension(), flat).map_err(failed)?;
    let counts = titles.each(path, |titles, vectors| rows.write(titles, vectors))?;
    rows.finish().map_err(failed)?;
    file.seal()?.publish()?;
    Ok(counts)
}

struct Rows<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: Arc<Schema>,
    element: Arc<Field>,
    dimension: usize,
    flat: bool,
}

impl<W: Write + Send> Rows<W> {
    fn new(out: W, dimension: usize, flat: bool) -> io::Result<Rows<W>> {
        let element = Arc::new(Field::new("element", DataType::Float32, false));
        let mut fields = vec![Field::new("id", DataType::Utf8, false), Field::new("title", DataType::Utf8, false)];
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some((GROUP_NUMBERS / dimension.max(1)).max(1)));
        // The numbers hardly repeat, so neither a dictionary nor compression makes them smaller.
        let mut plain = |path: Vec<String>| {
            let path = ColumnPath::new(path);
            let taken = std::mem::replace(&mut properties, WriterProperties::builder());
            properties = taken
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_compression(path, Compression::UNCOMPRESSED);
        };
        if flat {
            for number in 0..dimension {
                let name = format!("v{number}");
                fields.push(Field::new(&name, DataType::Float32, false));
                plain(vec![name]);
            }
        } else {
            let size = i32::try_from(dimension).map_err(io::Error::other)?;
            fields.push(Field::new("vector", DataType::FixedSizeList(Arc::clone(&element), size), false));
            plain(["vector", "list", "element"].map(str::to_owned).to_vec());
        }
        let schema = Arc::new(Schema::new(fields));
        let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties.build()));
        Ok(Rows { writer: writer.map_err(io::Error::other)?, schema, element, dimension, flat })
    }

    fn write(&mut self, titles: &[Title], vectors: &[f32]) -> io::Result<()> {
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(titles.iter().map(|title| &title.id))),
            Arc::new(StringArray::from_iter_values(titles.iter().map(|title| &title.title))),
        ];
        if self.flat {
            columns.extend((0..self.dimension).map(|number| -> ArrayRef {
                Arc::new(Float32Array::from_iter_values(vectors.iter().skip(number).step_by(self.dimension).copied()))
            }));
        } else {
            let numbers = Arc::new(Float32Array::from(vectors.to_vec()));
            let list = FixedSizeListArray::try_new(Arc::clone(&self.element), self.dimension as i32, numbers, None);
            columns.push(Arc::new(list.map_err(io::Error::other)?));
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(io::Error::other)?;
        self.writer.write(&batch).map_err(io::Error::other)
    }
    /// Writes the footer, without which the file is not valid.
    fn finish(self) -> io::Result<()> {
        self.writer.into_inner().map_err(io::Error::other)?.flush()
    }
}

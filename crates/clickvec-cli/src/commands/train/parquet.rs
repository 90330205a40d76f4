//! A teacher's vectors from Apache Parquet: the columns `text` and `vector`, a list of numbers.

use std::fs::File;
use std::path::{Path, PathBuf};

use ::parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use anyhow::{Context, Result, anyhow, bail};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float32Array, Float64Array, LargeListArray, LargeStringArray, ListArray,
    RecordBatch, StringArray, StringViewArray,
};
use clickvec_logs::tables::{check_parquet, guard_parquet};

/// The number of rows in memory at once.
const ROWS: usize = 1024;

/// An iterator over the texts of a file and their vectors.
pub(super) struct Rows {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
    ready: std::vec::IntoIter<(String, Vec<f32>)>,
    before: usize,
}

impl Rows {
    /// Opens a file and reads its footer.
    pub(super) fn open(path: &Path) -> Result<Rows> {
        let told = || path.display().to_string();
        check_parquet(path)?;
        let file = File::open(path).with_context(told)?;
        let batches = || ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(ROWS).build();
        let batches = guard_parquet(path, batches)?.with_context(told)?;
        Ok(Rows { path: path.to_owned(), batches, ready: Vec::new().into_iter(), before: 0 })
    }
}

impl Iterator for Rows {
    type Item = Result<(String, Vec<f32>)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.ready.next() {
                return Some(Ok(row));
            }
            let told = |fault: anyhow::Error| fault.context(self.path.display().to_string());
            let batch = match guard_parquet(&self.path, || self.batches.next()) {
                Ok(None) => return None,
                Ok(Some(Ok(batch))) => batch,
                Ok(Some(Err(error))) => return Some(Err(told(error.into()))),
                Err(damaged) => return Some(Err(damaged.into())),
            };
            match rows(&batch, self.before) {
                Ok(rows) => self.ready = rows.into_iter(),
                Err(fault) => return Some(Err(told(fault))),
            }
            self.before += batch.num_rows();
        }
    }
}

/// The rows of a batch. `before` is the number of rows before it, for error messages.
fn rows(batch: &RecordBatch, before: usize) -> Result<Vec<(String, Vec<f32>)>> {
    let column = |name: &str| {
        batch.column_by_name(name).ok_or_else(|| anyhow!("expected the columns text and vector, found no `{name}`"))
    };
    let (texts, vectors) = (column("text")?, column("vector")?);
    let row = |row: usize| {
        let number = before + row + 1;
        let text = text(texts, row)?.ok_or_else(|| anyhow!("row {number}: expected a text, found none"))?;
        let list = list(vectors, row)?.ok_or_else(|| anyhow!("row {number}: expected a vector, found none"))?;
        let vector = numbers(&list)?.ok_or_else(|| anyhow!("row {number}: expected numbers, found a null"))?;
        Ok((text, vector))
    };
    (0..batch.num_rows()).map(row).collect()
}

fn text(texts: &ArrayRef, row: usize) -> Result<Option<String>> {
    if texts.is_null(row) {
        return Ok(None);
    }
    let any = texts.as_any();
    Ok(Some(if let Some(texts) = any.downcast_ref::<StringArray>() {
        texts.value(row).to_owned()
    } else if let Some(texts) = any.downcast_ref::<LargeStringArray>() {
        texts.value(row).to_owned()
    } else if let Some(texts) = any.downcast_ref::<StringViewArray>() {
        texts.value(row).to_owned()
    } else {
        bail!("expected texts in the column text, found {}", texts.data_type())
    }))
}

fn list(vectors: &ArrayRef, row: usize) -> Result<Option<ArrayRef>> {
    if vectors.is_null(row) {
        return Ok(None);
    }
    let any = vectors.as_any();
    Ok(Some(if let Some(lists) = any.downcast_ref::<ListArray>() {
        lists.value(row)
    } else if let Some(lists) = any.downcast_ref::<LargeListArray>() {
        lists.value(row)
    } else if let Some(lists) = any.downcast_ref::<FixedSizeListArray>() {
        lists.value(row)
    } else {
        bail!("expected lists of numbers in the column vector, found {}", vectors.data_type())
    }))
}

fn numbers(list: &ArrayRef) -> Result<Option<Vec<f32>>> {
    if list.null_count() > 0 {
        return Ok(None);
    }
    let any = list.as_any();
    Ok(Some(if let Some(numbers) = any.downcast_ref::<Float32Array>() {
        numbers.values().to_vec()
    } else if let Some(numbers) = any.downcast_ref::<Float64Array>() {
        numbers.values().iter().map(|&number| number as f32).collect()
    } else {
        bail!("expected floats in the column vector, found {}", list.data_type())
    }))
}

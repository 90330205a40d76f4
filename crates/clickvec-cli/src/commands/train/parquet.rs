//! A teacher's vectors from Apache Parquet: the columns `text` and `vector`, a list of numbers.

use std::fs::File;
use std::path::{Path, PathBuf};

use ::parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use anyhow::{Result, anyhow, bail};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float32Array, Float64Array, LargeListArray, LargeStringArray, ListArray,
    RecordBatch, StringArray, StringViewArray,
};
use clickvec::internals::error::listed;
use clickvec_tables::table::{guard_parquet, open_parquet, parquet_error};

use crate::output;

/// The number of rows in memory at once.
const ROWS: usize = 1024;
/// How many names of columns a message shows.
const SHOWN_NAMES: usize = 20;

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
        // Checks the sizes that its metadata states.
        open_parquet(path)?;
        let file = File::open(path).map_err(|source| clickvec::Error::io(path, "open", source))?;
        let batches = || ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(ROWS).build();
        let batches = guard_parquet(path, batches)?.map_err(|error| parquet_error(path, error))?;
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
            let batch = match guard_parquet(&self.path, || self.batches.next()) {
                Ok(None) => return None,
                Ok(Some(Ok(batch))) => batch,
                Ok(Some(Err(error))) => return Some(Err(parquet_error(&self.path, error.into()).into())),
                Err(damaged) => return Some(Err(damaged.into())),
            };
            match rows(&batch, self.before) {
                Ok(rows) => self.ready = rows.into_iter(),
                Err(fault) => return Some(Err(anyhow!("{}: {fault}", output::path(&self.path)))),
            }
            self.before += batch.num_rows();
        }
    }
}

/// The rows of a batch. `before` is the number of rows before it, for error messages.
fn rows(batch: &RecordBatch, before: usize) -> Result<Vec<(String, Vec<f32>)>> {
    let column = |name: &str| {
        batch.column_by_name(name).ok_or_else(|| {
            let found: Vec<String> = batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
            anyhow!(
                "expected the columns `text` and `vector`, found no `{name}` among {}; rename the column",
                listed(&found, SHOWN_NAMES)
            )
        })
    };
    let (texts, vectors) = (column("text")?, column("vector")?);
    let row = |row: usize| {
        let number = before + row + 1;
        let text =
            text(texts, row)?.ok_or_else(|| anyhow!("row {number}: expected a text, found none; leave the row out"))?;
        let list = list(vectors, row)?
            .ok_or_else(|| anyhow!("row {number}: expected a vector, found none; leave the row out"))?;
        let vector = numbers(&list)?.ok_or_else(|| {
            anyhow!("row {number}: expected a number in each place of the vector, found a null; leave the row out")
        })?;
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
        bail!("expected texts in the column `text`, found {}; write it as strings", kind(texts))
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
        bail!(
            "expected a list of numbers in each row of the column `vector`, found {}; write it as lists of floats",
            kind(vectors)
        )
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
        bail!(
            "expected lists of floats of 32 or 64 bits in the column `vector`, found lists of {}; write it as such",
            kind(list)
        )
    }))
}

/// What a column of another type has.
fn kind(column: &ArrayRef) -> &'static str {
    let found = column.data_type();
    match () {
        () if found.is_null() => "nothing",
        () if found.is_integer() => "whole numbers",
        () if found.is_floating() => "floats",
        () if found.is_temporal() => "times",
        () if found.is_nested() => "lists or structures",
        () => "bytes or another type",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;

    use super::*;

    #[test]
    fn columns_of_another_kind_are_told() {
        let told = |columns: Vec<(&str, ArrayRef)>| {
            rows(&RecordBatch::try_from_iter(columns).unwrap(), 7).unwrap_err().to_string()
        };
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a")]));
        let (none, numbers): (ArrayRef, ArrayRef) =
            (Arc::new(StringArray::from(vec![None::<&str>])), Arc::new(Int64Array::from(vec![1])));
        assert_eq!(
            told(vec![("text", texts.clone()), ("embedding", numbers.clone())]),
            "expected the columns `text` and `vector`, found no `vector` among `text`, `embedding`; rename the column"
        );
        assert_eq!(
            told(vec![("text", numbers.clone()), ("vector", numbers.clone())]),
            "expected texts in the column `text`, found whole numbers; write it as strings"
        );
        assert_eq!(
            told(vec![("text", texts), ("vector", numbers.clone())]),
            "expected a list of numbers in each row of the column `vector`, found whole numbers; write it as lists of floats"
        );
        assert_eq!(
            told(vec![("text", none), ("vector", numbers)]),
            "row 8: expected a text, found none; leave the row out"
        );
    }
}

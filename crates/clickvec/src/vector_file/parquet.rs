//! Vectors from Apache Parquet: the columns `text` and `vector`, a list of numbers.

use std::fs::File;
use std::path::Path;

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float32Array, Float64Array, LargeListArray, LargeStringArray, ListArray,
    RecordBatch, StringArray, StringViewArray,
};
use clickvec_tables::Error;
use clickvec_tables::table::{guard_parquet, open_parquet, parquet_error};

use super::fault::{self, VectorPlace, malformed};
use super::{Entries, MAX_DIMENSION, Stop, in_file};
use clickvec_tables::Result;
use clickvec_tables::shown::listed;

/// The number of rows in memory at once.
const ROWS: usize = 1024;
/// How many names of columns a message shows.
const SHOWN_NAMES: usize = 20;

/// What to do about a row that has no text or no whole vector.
const LEAVE_OUT: &str = "leave the row out";

/// Hands over each row; the first tells the dimension.
pub(super) fn read(path: &Path, entries: &mut impl Entries) -> Result<Result<(), Stop>> {
    // Checks the sizes that its metadata states.
    open_parquet(path)?;
    let file = File::open(path).map_err(|source| Error::io(path, "open", source))?;
    let batches = || ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(ROWS).build();
    let mut batches = guard_parquet(path, batches)?.map_err(|error| parquet_error(path, error))?;
    let (mut before, mut dimension) = (0, None);
    while let Some(batch) = guard_parquet(path, || batches.next())? {
        let batch = batch.map_err(|error| parquet_error(path, error.into()))?;
        if let Err(stop) = add_rows(&batch, before, &mut dimension, entries) {
            return Ok(Err(stop));
        }
        before += batch.num_rows() as u64;
    }
    Ok(Ok(()))
}

/// Hands over the rows of a batch. `before` is the number of rows before it, for error messages.
fn add_rows(
    batch: &RecordBatch,
    before: u64,
    dimension: &mut Option<usize>,
    entries: &mut impl Entries,
) -> Result<(), Stop> {
    let column = |name: &str| {
        batch.column_by_name(name).map_or_else(
            || {
                let found: Vec<String> = batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
                let found = format!("no `{name}` among {}", listed(&found, SHOWN_NAMES));
                in_file(malformed("the columns `text` and `vector`", found, "rename the column"))
            },
            Ok,
        )
    };
    let (texts, vectors) = (column("text")?, column("vector")?);
    for (row, number) in (0..batch.num_rows()).zip(before + 1..) {
        let position = VectorPlace::Row(number);
        let missing = |expected: &'static str| Stop::Fault(position, malformed(expected, "none", LEAVE_OUT));
        let text = text(texts, row).or_else(in_file)?.ok_or_else(|| missing("a text"))?;
        let list = list(vectors, row).or_else(in_file)?.ok_or_else(|| missing("a vector"))?;
        let vector = numbers(&list).or_else(in_file)?.ok_or_else(|| {
            Stop::Fault(position, malformed("a number at each position of the vector", "a null", LEAVE_OUT))
        })?;
        let wrong = match *dimension {
            None if (1..=MAX_DIMENSION).contains(&vector.len()) => {
                entries.begin(*dimension.insert(vector.len()));
                None
            }
            None => Some(fault::dimension(vector.len() as u64)),
            Some(expected) => (vector.len() != expected).then(|| fault::numbers(expected, vector.len())),
        };
        if let Some(fault) = wrong {
            return Err(Stop::Fault(position, fault));
        }
        entries.add(text.trim(), &vector, position, true)?;
    }
    Ok(())
}

fn text(texts: &ArrayRef, row: usize) -> Result<Option<&str>, Error> {
    if texts.is_null(row) {
        return Ok(None);
    }
    let any = texts.as_any();
    Ok(Some(if let Some(texts) = any.downcast_ref::<StringArray>() {
        texts.value(row)
    } else if let Some(texts) = any.downcast_ref::<LargeStringArray>() {
        texts.value(row)
    } else if let Some(texts) = any.downcast_ref::<StringViewArray>() {
        texts.value(row)
    } else {
        return Err(malformed("texts in the column `text`", kind(texts), "write it as strings"));
    }))
}

fn list(vectors: &ArrayRef, row: usize) -> Result<Option<ArrayRef>, Error> {
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
        let expected = "a list of numbers in each row of the column `vector`";
        return Err(malformed(expected, kind(vectors), "write it as lists of floats"));
    }))
}

fn numbers(list: &ArrayRef) -> Result<Option<Vec<f32>>, Error> {
    if list.null_count() > 0 {
        return Ok(None);
    }
    let any = list.as_any();
    Ok(Some(if let Some(numbers) = any.downcast_ref::<Float32Array>() {
        numbers.values().to_vec()
    } else if let Some(numbers) = any.downcast_ref::<Float64Array>() {
        numbers.values().iter().map(|&number| number as f32).collect()
    } else {
        let expected = "lists of floats of 32 or 64 bits in the column `vector`";
        return Err(malformed(expected, format!("lists of {}", kind(list)), "write it as such"));
    }))
}

/// Returns what a column of another type has.
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

    struct Nothing;

    impl Entries for Nothing {
        fn begin(&mut self, _: usize) {}

        fn add(&mut self, _: &str, _: &[f32], _: VectorPlace, _: bool) -> Result<(), Stop> {
            Ok(())
        }

        fn end(&mut self) -> clickvec_tables::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn columns_of_another_kind_are_refused() {
        let refused = |columns: Vec<(&str, ArrayRef)>| {
            let batch = RecordBatch::try_from_iter(columns).unwrap();
            match add_rows(&batch, 7, &mut None, &mut Nothing) {
                Err(Stop::Fault(position, fault)) => format!("{position}: {fault}"),
                _ => unreachable!("it is refused"),
            }
        };
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a")]));
        let (none, numbers): (ArrayRef, ArrayRef) =
            (Arc::new(StringArray::from(vec![None::<&str>])), Arc::new(Int64Array::from(vec![1])));
        assert_eq!(
            refused(vec![("text", texts.clone()), ("embedding", numbers.clone())]),
            "the file: expected the columns `text` and `vector`, found no `vector` among `text`, `embedding`; rename the column"
        );
        assert_eq!(
            refused(vec![("text", numbers.clone()), ("vector", numbers.clone())]),
            "the file: expected texts in the column `text`, found whole numbers; write it as strings"
        );
        assert_eq!(
            refused(vec![("text", texts), ("vector", numbers.clone())]),
            "the file: expected a list of numbers in each row of the column `vector`, found whole numbers; write it as lists of \
             floats"
        );
        assert_eq!(
            refused(vec![("text", none), ("vector", numbers)]),
            "row 8: expected a text, found none; leave the row out"
        );
    }
}

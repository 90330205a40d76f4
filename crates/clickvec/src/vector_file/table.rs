//! Vectors in a table, JSON lines or Parquet: the columns `text` and `vector`, a list of numbers.

use clickvec_tables::table::{Record, Table};

use super::fault::{self, MEND, VectorPlace, malformed};
use super::{Entries, MAX_DIMENSION, Stop};

const TEXT: &str = "text";
const VECTOR: &str = "vector";

/// Hands over each row; the first tells the dimension. `place` makes the place of a row of its number.
pub(super) fn read(
    mut table: Table,
    place: impl Fn(u64) -> VectorPlace,
    entries: &mut impl Entries,
) -> Result<(), Stop> {
    let text = table.require(TEXT)?;
    table.require_lists(VECTOR)?;
    let (mut record, mut vector, mut dimension) = (Record::default(), Vec::new(), None);
    while table.next_row(&mut record)? {
        let place = place(record.line);
        let stop = |fault| Stop::Fault(place, fault);
        let missing = |column: &str, what: &str, found| stop(malformed(format!("{what} in `{column}`"), found, MEND));
        let text = record.get(text).ok_or_else(|| missing(TEXT, "a text", "none".to_owned()))?;
        table.numbers(VECTOR, &mut vector).map_err(|found| missing(VECTOR, "a list of numbers", found))?;
        match dimension {
            None if (1..=MAX_DIMENSION).contains(&vector.len()) => entries.begin(*dimension.insert(vector.len())),
            None => return Err(stop(fault::dimension(vector.len() as u64))),
            Some(expected) if vector.len() != expected => return Err(stop(fault::numbers(expected, vector.len()))),
            Some(_) => {}
        }
        entries.add(text.trim(), &vector, place, true)?;
    }
    Ok(())
}

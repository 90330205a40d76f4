//! Numbers of cells and units in JSON, which are counted from 1.

use serde::Serializer;

/// Writes the number of a cell or unit, counted from 1.
pub fn from_one<S: Serializer>(number: &usize, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(*number as u64 + 1)
}

/// Writes numbers of cells, counted from 1.
pub(super) fn from_one_each<S: Serializer>(numbers: &[usize], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(numbers.iter().map(|number| number + 1))
}

/// Writes the numbers of cells of each word, counted from 1.
pub(super) fn from_one_each_word<S: Serializer>(
    words: &[Option<Vec<usize>>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let numbers =
        |cells: &Option<Vec<usize>>| cells.as_ref().map(|cells| cells.iter().map(|cell| cell + 1).collect::<Vec<_>>());
    serializer.collect_seq(words.iter().map(numbers))
}

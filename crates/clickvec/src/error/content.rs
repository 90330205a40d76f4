//! Faults of the numbers and texts in a trained ranker's file.

/// A fault in the contents of a tensor or a setting. Places and rows are counted from 0.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ContentFault {
    /// A number is smaller or larger than it can be.
    #[error("expected {}, found {found} at place {place}", range(*least, *most))]
    Range {
        /// The smallest number possible.
        least: f64,
        /// The largest number possible; infinity is no limit, but is not itself possible.
        most: f64,
        /// The number.
        found: f64,
        /// The place of the number.
        place: usize,
    },
    /// A setting is not above its bound.
    #[error("expected a finite number above {bound}, found {found}")]
    NotAbove {
        /// The bound.
        bound: f64,
        /// The number.
        found: f64,
    },
    /// A count is not whole, or smaller than what it counts.
    #[error("expected a whole number of at least {least}, found {found}")]
    Count {
        /// The smallest count possible.
        least: u32,
        /// The count.
        found: f64,
    },
    /// A number refers to a row or a word that does not exist.
    #[error("expected numbers below {bound}, found {found} at place {place}")]
    NotBelow {
        /// The number of rows or words.
        bound: usize,
        /// The number.
        found: u32,
        /// The place of the number.
        place: usize,
    },
    /// A number is not larger than the one before it.
    #[error("expected ascending numbers, found {found} after {before} at place {place}")]
    Descent {
        /// The number before it.
        before: u32,
        /// The number.
        found: u32,
        /// The place of the number.
        place: usize,
    },
    /// The rows of a table do not cover it from its beginning to its end.
    #[error("expected rows from 0 to {length}, found rows from {first} to {last}")]
    Cover {
        /// The length of the table.
        length: usize,
        /// Where the first row begins.
        first: u32,
        /// Where the last row ends.
        last: u32,
    },
    /// A row of word numbers is not a phrase.
    #[error("expected word numbers below {words}, then only {}, found {found:?} in row {row}", u32::MAX)]
    Phrase {
        /// The number of words.
        words: usize,
        /// The row's numbers.
        found: Vec<u32>,
        /// The row.
        row: usize,
    },
    /// A row is not larger than the one before it.
    #[error("expected ascending rows, found {found:?} after {before:?} in row {row}")]
    RowDescent {
        /// The row before it.
        before: Vec<u32>,
        /// The row's numbers.
        found: Vec<u32>,
        /// The row.
        row: usize,
    },
    /// Two rows have the key of the same text.
    #[error("expected each text once, found that of row {first} again in row {row}")]
    RepeatedText {
        /// The row of the text.
        first: usize,
        /// The second row.
        row: usize,
    },
    /// A word occurs twice.
    #[error("expected each word once, found `{word}` again in line {line} (counted from 1)")]
    RepeatedWord {
        /// The word, shortened.
        word: String,
        /// The line of the second one, counted from 1.
        line: usize,
    },
    /// A list of words is not text.
    #[error("expected words in UTF-8, one a line, found another byte at place {place}")]
    NotUtf8 {
        /// The place of the first byte that is not UTF-8.
        place: usize,
    },
    /// There are no words.
    #[error("expected at least one word, found none")]
    NoWord,
    /// The vectors have no numbers, or too many.
    #[error("expected vectors of 1 to {most} numbers, found {found}")]
    Dimension {
        /// The largest dimension possible.
        most: usize,
        /// The dimension.
        found: usize,
    },
    /// The vectors of queries and of titles differ in dimension.
    #[error("expected vectors of {titles} numbers, as for titles, found {found}")]
    OtherDimension {
        /// The dimension of the titles' vectors.
        titles: usize,
        /// The dimension.
        found: usize,
    },
    /// A vector should be normalised and is not.
    #[error("expected vectors of length 1 or 0, found length {found} in row {row}")]
    NotUnit {
        /// The length.
        found: f32,
        /// The row.
        row: usize,
    },
    /// A weight is so large that a state could overflow.
    #[error(
        "expected numbers from -{most:e} to {most:e}, with which no state overflows, found {found:e} at place {place}"
    )]
    Overflow {
        /// The largest absolute value possible.
        most: f32,
        /// The weight.
        found: f32,
        /// The place of the weight.
        place: usize,
    },
    /// The lengths of the titles do not add up to the number of their words.
    #[error("expected {expected} words, the sum of `title_lengths`, found {found}")]
    WordCount {
        /// The sum of the lengths.
        expected: u64,
        /// The number of words.
        found: usize,
    },
}

fn range(least: f64, most: f64) -> String {
    match most.is_finite() {
        true => format!("numbers from {least} to {most}"),
        false => format!("finite numbers of {least} or more"),
    }
}

//! Faults of vectors.

/// A fault of vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VectorFault {
    /// The numbers do not make whole vectors.
    #[error("expected a multiple of the dimension {dimension} (1 or more), found {values} numbers")]
    Shape {
        /// The number of values in a vector.
        dimension: usize,
        /// The number of values found.
        values: usize,
    },
    /// There are more vectors than 32-bit positions.
    #[error("expected fewer than 2^32 vectors, found {found}; split the collection")]
    TooMany {
        /// The number of vectors.
        found: usize,
    },
    /// A vector has a NaN or an infinity.
    #[error("expected finite numbers, found {found} in vector {position} (counted from 0)")]
    NotFinite {
        /// The position of the vector.
        position: usize,
        /// The number.
        found: String,
    },
    /// A vector should be normalised and is not.
    #[error("expected vectors of length 1 or 0, found length {found} in vector {position} (counted from 0)")]
    NotUnit {
        /// The position of the vector.
        position: usize,
        /// The length.
        found: String,
    },
    /// A vector has another dimension than the table.
    #[error("expected a vector of {expected} numbers, found {found}; was it made by another model?")]
    Dimension {
        /// The table's dimension.
        expected: usize,
        /// The vector's dimension.
        found: usize,
    },
    /// A single vector has a NaN or an infinity.
    #[error("expected a vector of finite numbers, found {found} in it")]
    BadNumber {
        /// The number.
        found: String,
    },
    /// A query's vector is so long that scores with it would exceed an f32.
    #[error("expected a vector of a length below {most:e}, found {found}; divide its numbers by one number", most = f32::MAX / 2.0)]
    TooLong {
        /// The length.
        found: String,
    },
    /// A token is empty or has white space, which separates fields in the formats of word2vec.
    #[error("expected a token without white space, found `{found}`")]
    Token {
        /// The token, shortened.
        found: String,
    },
    /// More or fewer vectors were written than announced.
    #[error("expected {expected} vectors, found {found}")]
    RowCount {
        /// The number that was announced.
        expected: usize,
        /// The number that was written.
        found: usize,
    },
}

/// Returns the first of the numbers that is not finite, as text.
pub fn not_finite(numbers: &[f32]) -> Option<String> {
    numbers.iter().find(|number| !number.is_finite()).map(f32::to_string)
}

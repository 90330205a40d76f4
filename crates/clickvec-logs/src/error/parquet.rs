//! Faults of a Parquet file.

/// A fault of a Parquet file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetFault {
    /// The file does not end as Parquet does.
    #[error("expected `PAR1` and the length of the metadata at its end, found other bytes; was it cut short?")]
    NoEnd,
    /// The file is encrypted as a whole.
    #[error("expected a Parquet file without encryption, found an encrypted one; write it without encryption")]
    Encrypted,
    /// A part of the file is not what the format says.
    #[error("expected the {part} at byte {at}, found one that {found}")]
    Part {
        /// The part.
        part: ParquetPart,
        /// The position of its first byte.
        at: u64,
        /// What it is like.
        found: BadPart,
    },
    /// A column is compressed in a way that nothing here can read.
    #[error(
        "column {column}: expected zstd, Snappy, gzip, LZ4, Brotli or no compression, found {found}; write it with one of these"
    )]
    Compression {
        /// The column.
        column: String,
        /// The method.
        found: String,
    },
    /// A page says that it has more values than it can have.
    #[error("column {column}: expected at most {most} values in a page, found {found}")]
    Values {
        /// The column.
        column: String,
        /// The most that it can have.
        most: u64,
        /// The number that it says.
        found: u64,
    },
    /// A page is shorter than its values.
    #[error("column {column}: expected the values of a page, found that its bytes end too early")]
    PageEnds {
        /// The column.
        column: String,
    },
    /// The file ends before what it says it has.
    #[error("expected all bytes that it says it has, found fewer; was it cut short?")]
    CutShort,
    /// The file uses an encoding or another part of the format that nothing here can read.
    #[error(
        "expected usual encodings, found one that is not supported; write it with the defaults of pyarrow or DuckDB"
    )]
    NotSupported,
    /// The bytes are not those of a whole file.
    #[error("its bytes are not those of a whole Parquet file")]
    Damaged,
}

/// A part of a Parquet file that says how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetPart {
    /// The metadata of the file.
    #[error("metadata")]
    Metadata,
    /// The header of a page.
    #[error("header of a page")]
    PageHeader,
}

/// What a part of a Parquet file is like that is not what the format says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadPart {
    /// There are fewer bytes than it says, or a number has no end.
    #[error("says it is longer than the file")]
    EndsEarly,
    /// No such type, too deep, or a collection of booleans, whose values take no bytes.
    #[error("no Parquet file has")]
    Unknown,
}

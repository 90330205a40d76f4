//! Formats of tables, and how they are read.

use crate::named;

named! {
    /// The format of a table.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Format {
        /// Fields separated by tabs, never quoted.
        Tsv = "tsv",
        /// RFC 4180: fields separated by commas, in quotes where needed.
        Csv = "csv",
        /// One JSON object a line.
        Json = "json",
        /// Apache Parquet.
        Parquet = "parquet",
    }
}

/// How many fields a row of separated values must have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Width {
    /// At least up to the last column that is required.
    #[default]
    Required,
    /// As many as the header.
    Header,
    /// At most as many as the header; the missing fields are empty.
    Padded,
}

/// How a table is read.
#[derive(Debug, Clone)]
pub struct Options {
    /// The format; `None`: recognised by the name and the first bytes.
    pub format: Option<Format>,
    /// The separator of fields in CSV; `None`: a comma, or a semicolon if the header has only those.
    pub delimiter: Option<u8>,
    /// The names of the columns, for a file without a header.
    pub header: Option<Vec<String>>,
    /// How many fields a row must have.
    pub width: Width,
    /// The length limit of rows, in bytes. A longer row is broken and is never held in memory.
    pub max_row_bytes: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { format: None, delimiter: None, header: None, width: Width::default(), max_row_bytes: MAX_LINE_BYTES }
    }
}

/// The longest line of a table, unless a reader sets another limit.
pub const MAX_LINE_BYTES: usize = 64 << 20;
/// The longest header. It has a lower limit, because its names are stored one by one.
pub(super) const MAX_HEADER_BYTES: usize = 1 << 20;

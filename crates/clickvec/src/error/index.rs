//! Faults of an index on disk.

use std::path::PathBuf;

use super::{JsonFault, VectorFault};

/// A fault of an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexFault {
    /// There is a file, a pipe or the like where the folder should be.
    #[error("expected an index, which is a folder, found a file")]
    NotAFolder,
    /// The folder has no manifest.
    #[error("expected an index, found a folder without `manifest.json`")]
    NoManifest,
    /// The manifest is larger than any that clickvec writes.
    #[error(
        "expected a `manifest.json` of at most {limit} bytes, found one of at least {found}; is this an index of clickvec?"
    )]
    ManifestTooLarge {
        /// The limit.
        limit: u64,
        /// The number of bytes that were read of it.
        found: u64,
    },
    /// The manifest cannot be parsed.
    #[error("expected the manifest of an index in `manifest.json`, found {found}; make the index anew")]
    BadManifest {
        /// Where it is another.
        found: JsonFault,
    },
    /// The index was written by a version with another format.
    #[error("expected an index of format version {expected}, found {found}; make it anew with this clickvec")]
    Version {
        /// The version that this program reads.
        expected: u32,
        /// The version of the index.
        found: u32,
    },
    /// The manifest was not written for an index.
    #[error("expected the manifest of an `index`, found one of kind `{found}`; name an index")]
    Kind {
        /// The kind that the manifest gives.
        found: String,
    },
    /// The contents of the manifest do not match its fingerprint.
    #[error(
        "expected a manifest with fingerprint {expected}, found {found}; it was changed or damaged, make the index anew"
    )]
    Fingerprint {
        /// The fingerprint that the manifest gives.
        expected: String,
        /// The fingerprint of its contents.
        found: String,
    },
    /// This version cannot read a part that the index needs to give the right answers.
    #[error(
        "expected parts that this clickvec can read, found `{name}` of kind `{kind}`; use a newer clickvec, or make the index \
         anew with this one"
    )]
    UnknownPart {
        /// The part.
        name: String,
        /// Its kind.
        kind: String,
    },
    /// An index cannot be finished because adding a title failed.
    #[error("expected an index to which every title was added, found one that was given up; begin it anew")]
    GivenUp,
    /// An index would have no title that can be found.
    #[error("expected titles with words that the model knows, found none among {titles}; is this the right model?")]
    NoneKnown {
        /// How many titles there are.
        titles: u64,
    },
    /// The file that says which shard an index is says something else.
    #[error("expected a shard's number and how many there are in `shard.json`, found {found}; make the shard anew")]
    BadShard {
        /// What it says.
        found: BadShard,
    },
    /// Not all shards of a collection are to be joined.
    #[error(
        "expected all {of} shards of this collection to join, found none with the number {}; name them too",
        numbers(missing)
    )]
    MissingShards {
        /// How many there are.
        of: u64,
        /// The first of those that are missing.
        missing: Vec<u64>,
    },
    /// A shard is to be joined twice.
    #[error("expected each shard once, found {number} of {of} again, which is in `{}` too; leave one out", other.display())]
    RepeatedShard {
        /// Which shard.
        number: u64,
        /// How many there are.
        of: u64,
        /// The other index.
        other: PathBuf,
    },
    /// Shards of two collections, or of one that was cut in two ways.
    #[error(
        "expected one of {of} shards of {titles} titles, as `{}` is, found one of {found_of} of {found_titles} titles; join the \
         shards of one collection",
        other.display()
    )]
    OtherShards {
        /// How many shards the other index says there are.
        of: u64,
        /// How many titles in all.
        titles: u64,
        /// How many shards this one says there are.
        found_of: u64,
        /// How many titles in all.
        found_titles: u64,
        /// The other index.
        other: PathBuf,
    },
    /// The same id in two of the indexes that are to be joined.
    #[error("expected ids that no other index to join has, found `{id}`, which is in `{}` too", other.display())]
    DuplicateId {
        /// The id, shortened.
        id: String,
        /// The other index.
        other: PathBuf,
    },
    /// The indexes to join store other fields.
    #[error(
        "expected the stored fields {}, as in the first index to join, found {}; store the same fields in all",
        named(expected),
        named(found)
    )]
    OtherFields {
        /// The fields of the first index.
        expected: Vec<String>,
        /// The fields of this one.
        found: Vec<String>,
    },
    /// The texts of the indexes to join come from different columns.
    #[error(
        "expected texts of the column `{expected}`, as in the first index to join, found those of `{found}`; index the same column in all"
    )]
    OtherField {
        /// The column of the first index.
        expected: String,
        /// The column of this one.
        found: String,
    },
    /// The manifest does not list a file that every index has.
    #[error("expected `{name}` in the manifest, found no such file there; make the index anew")]
    NotListed {
        /// The file.
        name: String,
    },
    /// A file is missing.
    #[error("expected a file `{name}` in the index, found none; make the index anew")]
    MissingFile {
        /// The file.
        name: String,
    },
    /// A file is shorter or longer than the manifest says.
    #[error("expected {expected} bytes in `{name}`, found {found}; make the index anew")]
    Length {
        /// The file.
        name: String,
        /// The length that the manifest gives.
        expected: u64,
        /// The length of the file.
        found: u64,
    },
    /// A file's contents do not match their checksum.
    #[error(
        "expected `{name}` with checksum {expected}, found {found}; it was changed or damaged, make the index anew"
    )]
    Checksum {
        /// The file.
        name: String,
        /// The checksum that the manifest gives.
        expected: String,
        /// The checksum of the file.
        found: String,
    },
    /// The vectors were made by another model.
    #[error("expected the model {expected}, which made the vectors, found {found}; make the index anew")]
    OtherModel {
        /// The fingerprint of the model that made the vectors.
        expected: String,
        /// The fingerprint of the model in the index.
        found: String,
    },
    /// The vectors in the manifest do not fit the model.
    #[error("expected vectors of {expected} numbers, which the model makes, found {found}; make the index anew")]
    Dimension {
        /// The size of the model's vectors.
        expected: usize,
        /// The size that the manifest gives.
        found: usize,
    },
    /// The file of vectors has more or fewer bytes than so many vectors take.
    #[error(
        "expected `{name}` with {rows} vectors of {dimension} numbers, found a file of {found} bytes; make the index anew"
    )]
    VectorShape {
        /// The file.
        name: String,
        /// The number of vectors that the manifest gives.
        rows: u64,
        /// The size of a vector that the manifest gives.
        dimension: usize,
        /// The size of the file.
        found: u64,
    },
    /// The file of vectors has another header than so many vectors have.
    #[error("expected the header {expected} in `{name}`, found `{found}`; make the index anew")]
    VectorHeader {
        /// The file.
        name: String,
        /// The header that follows from the manifest.
        expected: String,
        /// The header, shortened.
        found: String,
    },
    /// The vectors are not valid for an index.
    #[error("{0}; make the index anew")]
    Vectors(#[from] VectorFault),
    /// The titles are not UTF-8 text.
    #[error("expected UTF-8 in `{name}`, found another byte in line {line}; make the index anew")]
    NotUtf8 {
        /// The file.
        name: String,
        /// The line, counted from 1.
        line: usize,
    },
    /// The changes that updates made cannot be read.
    #[error("expected the changes of an index in `{name}`, found {found}; make the index anew")]
    BadChanges {
        /// The file.
        name: String,
        /// What is wrong.
        found: BadChanges,
    },
    /// A segment that an update added is not the one that the index names.
    #[error("expected the segment `{folder}` with fingerprint {expected}, found {found}; make the index anew")]
    Segment {
        /// Its folder.
        folder: String,
        /// The fingerprint that the index gives.
        expected: String,
        /// The fingerprint that it has.
        found: String,
    },
    /// An index that was updated since it was made is to be joined with others.
    #[error("expected indexes of one piece to join, found one that was updated")]
    Updated,
    /// A line of the titles is not an id, a tab and a title.
    #[error("expected {expected} in line {line} of `{name}`, found `{found}`; make the index anew")]
    BadLine {
        /// The file.
        name: String,
        /// The line, counted from 1.
        line: usize,
        /// What the line should be.
        expected: TitleLine,
        /// The line, shortened.
        found: String,
    },
    /// The number of titles differs from the manifest.
    #[error("expected {expected} titles in `{name}`, found {found}; make the index anew")]
    TitleCount {
        /// The file.
        name: String,
        /// The number that the manifest gives.
        expected: u64,
        /// The number in the file.
        found: usize,
    },
}

/// A line of the table of titles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TitleLine {
    /// The first line.
    #[error("the columns `id` and `title`, then those of stored fields,")]
    Header,
    /// The line of a title.
    #[error("{}", title_line(*fields))]
    Title {
        /// The number of stored fields.
        fields: usize,
    },
}

/// A fault in the file of an index's changes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadChanges {
    /// No JSON, or another.
    #[error(transparent)]
    Json(#[from] JsonFault),
    /// There is not one list of deleted titles for each segment.
    #[error("{found} lists of deleted titles for {segments} segments")]
    Deleted {
        /// The number of segments, the first included.
        segments: usize,
        /// The number of lists.
        found: usize,
    },
    /// The folder of a segment has a name that no update gives.
    #[error("a segment in the folder `{folder}`")]
    Folder {
        /// The name, shortened.
        folder: String,
    },
    /// A segment is named twice.
    #[error("the segment `{folder}` twice")]
    Twice {
        /// Its folder.
        folder: String,
    },
    /// A deleted title is beyond those of its segment, or is not after the one before it.
    #[error(
        "{position} among the deleted titles of segment {segment}, which has {titles}; positions begin at 0 and rise"
    )]
    Position {
        /// The segment, counted from 0.
        segment: usize,
        /// The number of its titles.
        titles: u64,
        /// The position.
        position: u32,
    },
}

/// A fault in the file that says which shard of a collection an index is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadShard {
    /// No JSON, or another.
    #[error(transparent)]
    Json(#[from] JsonFault),
    /// A number that no shard has.
    #[error("{number} of {of}")]
    Number {
        /// Which shard it says it is.
        number: u64,
        /// How many it says there are.
        of: u64,
    },
}

fn title_line(fields: usize) -> String {
    match fields {
        0 => "an id, a tab and a title".to_owned(),
        fields => format!("an id, a title and {fields} more fields, with tabs between them,"),
    }
}

fn named(names: &[String]) -> String {
    match names {
        [] => "(none)".to_owned(),
        names => names.iter().map(|name| format!("`{}`", super::shortened(name))).collect::<Vec<_>>().join(", "),
    }
}

fn numbers(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

//! One error type: what was expected, what was found, where, and what to do.

use crate::encoder::SizeFault;
use crate::settings::SettingFault;
use crate::text::DuplicateTrigram;
use std::path::{Path, PathBuf};

/// What every fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How many names of a header a message repeats, and how much of each.
const SHOWN_NAMES: usize = 20;
const SHOWN_CHARACTERS: usize = 40;

/// Everything that can go wrong, one variant a place where it does.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read, write, map or rename a file.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as a verb: `read`, `write`, `map`.
        action: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A folder stands where a file should.
    #[error("{}: expected a file, found a folder; name a file inside it", path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// Reading stopped in the middle of a table; a compressed file that was cut short ends here.
    #[error("{}:{line}: cannot read this line: {source}; is the file whole?", path.display())]
    ReadAt {
        /// The file.
        path: PathBuf,
        /// The line that could not be read, counted from 1.
        line: u64,
        /// What the operating system or the decoder said.
        source: std::io::Error,
    },
    /// A table of vectors, or a query to it, is not what it should be.
    #[error("vectors: {0}")]
    Vectors(#[from] VectorFault),
    /// A ranker, as it was asked for, is not what it should be.
    #[error("ranker {0}")]
    Ranker(#[from] SpecFault),
    /// Two systems cannot be compared query by query.
    #[error(transparent)]
    Pairing(#[from] PairingFault),
    /// A model or a checkpoint is not what it should be.
    #[error("{}: {fault}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: FileFault,
    },
    /// A file was to be written into a folder that is not there.
    #[error("{}: expected a folder to write into, found none; make it first", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// Settings with which there is no training.
    #[error(transparent)]
    Setting(#[from] SettingFault),
    /// Training stopped because a number was no longer one.
    #[error(
        "the loss became NaN or infinite in epoch {epoch}, minibatch {minibatch}, with learning rate {learning_rate:e}; \
         {}; take a smaller --learning-rate or set --clip-norm",
        left_model(model)
    )]
    Diverged {
        /// Counted from 1.
        epoch: u32,
        /// Counted from 1.
        minibatch: u64,
        /// ε
        learning_rate: f32,
        /// Where the last good model is and after which epoch it was taken, if there is one.
        model: Option<(PathBuf, u32)>,
    },
    /// A run cannot continue from a checkpoint.
    #[error("{}: {fault}", path.display())]
    Resume {
        /// The checkpoint.
        path: PathBuf,
        /// Why.
        fault: ResumeFault,
    },
    /// A click log has nothing to train on.
    #[error("{}: {fault}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: LogFault,
    },
    /// A table (clicks, judged, titles, TREC) is not what it should be.
    #[error("{}: {fault}", at_line(path, *line))]
    Table {
        /// The file.
        path: PathBuf,
        /// Its line, counted from 1; `None` where the fault is the whole file's.
        line: Option<u64>,
        /// What is wrong.
        fault: TableFault,
    },
}

/// What can be wrong with a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableFault {
    /// The header lacks a column.
    #[error("expected a column `{column}` in the header, found {}; see docs/formats.md", quoted(found))]
    MissingColumn {
        /// The name that was looked for.
        column: String,
        /// The header's names.
        found: Vec<String>,
    },
    /// There is not even a header.
    #[error("expected a header line, found nothing; see docs/formats.md")]
    Empty,
    /// The header is no text.
    #[error("expected a header in UTF-8, found other bytes; save the table as UTF-8 text")]
    HeaderNotUtf8,
    /// The header has a column twice that is needed.
    #[error("expected one column `{column}` in the header, found several; rename all but one")]
    DuplicateColumn {
        /// The name.
        column: String,
    },
    /// A row ends before the last column that is needed.
    #[error("expected at least {expected} columns, found {found}; see docs/formats.md")]
    TooFewColumns {
        /// How many columns it takes to reach all that are needed.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A row is no text.
    #[error("expected UTF-8, found another byte at place {byte} of the line; save the table as UTF-8 text")]
    NotUtf8 {
        /// The first bad byte's place in the line, counted from 1.
        byte: usize,
    },
    /// A line is longer than what is read.
    #[error("expected a line of at most {limit} bytes, found a longer one; is this a table of text lines?")]
    LineTooLong {
        /// The bound.
        limit: usize,
    },
    /// A number is none, or none that is allowed.
    #[error("expected a finite number of 0 or more in column `{column}`, found `{found}`")]
    BadNumber {
        /// The column.
        column: &'static str,
        /// The field, shortened.
        found: String,
    },
    /// Weight times count is beyond an f32.
    #[error("expected a weight below 3.4e38 (after `weight` times `count`), found a larger one; scale the column down")]
    WeightTooLarge,
    /// An id names two titles.
    #[error("expected a new id, found `{id}`, which stands in line {first_line} already; ids must be unique")]
    DuplicateId {
        /// The id, shortened.
        id: String,
        /// Where it stands first.
        first_line: u64,
    },
    /// A grade is none.
    #[error("expected a grade, one of the integers 0 to 4, found `{found}`; see docs/formats.md")]
    BadGrade {
        /// The field, shortened.
        found: String,
    },
    /// A title was judged twice for one query, and not alike.
    #[error("expected grade {first} as in line {first_line} for the same query and title, found {found}; keep one")]
    ConflictingGrade {
        /// The first grade.
        first: u8,
        /// Where it stands, counted from 1.
        first_line: u64,
        /// The other grade.
        found: u8,
    },
    /// An id in the column `query_id` or `title_id` stands for two texts.
    #[error(
        "expected the text of line {first_line} for `{id}` in column `{column}`, found `{found}`; \
         give each text an id of its own"
    )]
    ConflictingText {
        /// `query_id` or `title_id`.
        column: &'static str,
        /// The id, shortened.
        id: String,
        /// Where the first text stands, counted from 1.
        first_line: u64,
        /// The other text, shortened.
        found: String,
    },
    /// The table has a column of ids, and a row leaves it empty.
    #[error("expected an id in column `{column}`, found nothing; fill it in every row or leave the column out")]
    EmptyId {
        /// `query_id` or `title_id`.
        column: &'static str,
    },
    /// A line of a TREC file has more or fewer fields than its form.
    #[error("expected {expected} fields, `{form}`, found {found}; is this a TREC file?")]
    FieldCount {
        /// How many there should be.
        expected: usize,
        /// Their names.
        form: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A rank in a TREC run is none.
    #[error("expected a rank, an integer of 0 or more, found `{found}`")]
    BadRank {
        /// The field, shortened.
        found: String,
    },
    /// A score is none; there is no order among NaNs.
    #[error("expected a score, a number that is not NaN, found `{found}`")]
    BadScore {
        /// The field, shortened.
        found: String,
    },
    /// A TREC file names a title twice for one query.
    #[error("expected each title once a query, found `{title}` again for query `{query}`; keep one of the lines")]
    RepeatedTitle {
        /// The query's id, shortened.
        query: String,
        /// The title's id, shortened.
        title: String,
    },
    /// What is to be written into a TREC file is empty or has white space, which separates fields there.
    #[error("expected an id without white space for a TREC file, found `{id}`; rename it")]
    UnfitId {
        /// The id or tag, shortened.
        id: String,
    },
}

/// What can be wrong with vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VectorFault {
    /// The numbers do not make whole vectors.
    #[error("expected a multiple of the dimension {dimension} (1 or more), found {values} numbers")]
    Shape {
        /// How many numbers a vector has.
        dimension: usize,
        /// How many numbers there are.
        values: usize,
    },
    /// Positions are 32 bits wide.
    #[error("expected fewer than 2^32 vectors, found {found}; split the collection")]
    TooMany {
        /// How many there are.
        found: usize,
    },
    /// A vector has a NaN or an infinity.
    #[error("expected finite numbers, found others in vector {position} (counted from 0)")]
    NotFinite {
        /// Which vector.
        position: usize,
    },
    /// A vector that should be normalised is not.
    #[error("expected vectors of length 1 or 0, found another length in vector {position} (counted from 0)")]
    NotUnit {
        /// Which vector.
        position: usize,
    },
    /// A single vector does not fit the table.
    #[error("expected a vector of {expected} numbers, found {found}; was it made by another model?")]
    Dimension {
        /// The table's dimension.
        expected: usize,
        /// The vector's.
        found: usize,
    },
    /// A single vector has a NaN or an infinity, or its length is beyond an f32.
    #[error("expected a vector of finite numbers and finite length, found another")]
    NoFiniteLength,
    /// More or fewer vectors were written than promised.
    #[error("expected {expected} vectors, found {found}")]
    RowCount {
        /// How many were promised.
        expected: usize,
        /// How many came.
        found: usize,
    },
}

/// What can be wrong with a ranker as it was asked for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecFault {
    /// There is nothing before the colon.
    #[error("`{found}`: expected a name such as `bm25`, found none")]
    NoName {
        /// What was given, shortened.
        found: String,
    },
    /// A parameter is not `name=value`.
    #[error("`{ranker}`: expected parameters as `name=value,name=value`, found `{found}`")]
    NotAssigned {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter, shortened.
        found: String,
    },
    /// A value is no finite number.
    #[error("`{ranker}`: expected a number for `{parameter}`, found `{found}`")]
    NotNumber {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter, shortened.
        parameter: String,
        /// The value, shortened.
        found: String,
    },
    /// A parameter is given twice.
    #[error("`{ranker}`: expected each parameter once, found `{parameter}` again")]
    Repeated {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter, shortened.
        parameter: String,
    },
    /// The ranker has no such parameter.
    #[error("`{ranker}`: expected {}, found `{parameter}`", known_parameters(known))]
    UnknownParameter {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter, shortened.
        parameter: String,
        /// Those it has.
        known: Vec<&'static str>,
    },
    /// A value is outside its range.
    #[error("`{ranker}`: expected {least} to {most} for `{parameter}`, found {found}")]
    OutOfRange {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter.
        parameter: &'static str,
        /// The smallest allowed value.
        least: f64,
        /// The largest.
        most: f64,
        /// The value.
        found: f64,
    },
    /// A value is no whole number.
    #[error("`{ranker}`: expected a whole number for `{parameter}`, found {found}")]
    NotWhole {
        /// The ranker's name, shortened.
        ranker: String,
        /// The parameter.
        parameter: &'static str,
        /// The value.
        found: f64,
    },
}

/// Why two systems cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PairingFault {
    /// One has more values than the other.
    #[error("expected as many queries for both systems, found {a} and {b}; evaluate both on the same judgments")]
    Lengths {
        /// How many the first has.
        a: usize,
        /// How many the second has.
        b: usize,
    },
    /// The queries are not the same.
    #[error(
        "expected the same queries for both systems, found `{a}` and `{b}` at place {place}; evaluate both on the same judgments"
    )]
    Queries {
        /// The first system's query id, shortened.
        a: String,
        /// The second's.
        b: String,
        /// Where they differ, counted from 1.
        place: usize,
    },
}

/// What can be wrong with a model or a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    /// No safetensors file: cut short, or something else.
    #[error("expected a safetensors file, found another or a damaged one ({found}); was it written to its end?")]
    NotSafetensors {
        /// What the parser said.
        found: String,
    },
    /// A safetensors file of somebody else.
    #[error("expected a file written by clickvec, found a safetensors file without its settings")]
    NoSettings,
    /// The settings are no settings.
    #[error("expected the settings of a clickvec file, found others ({found})")]
    BadSettings {
        /// What the parser said.
        found: String,
    },
    /// Written by a version with another format.
    #[error("expected format version 1, found {found}; was it written by a newer clickvec?")]
    Version {
        /// The file's.
        found: u32,
    },
    /// A model where a checkpoint should be, or the other way round.
    #[error("expected a {expected}, found a `{found}`")]
    Kind {
        /// What was wanted.
        expected: &'static str,
        /// What the file says it is.
        found: String,
    },
    /// Sizes that no encoder has.
    #[error(transparent)]
    Sizes(#[from] SizeFault),
    /// A tensor is not there.
    #[error("expected a tensor `{name}`, found none; the file is damaged")]
    MissingTensor {
        /// Its name.
        name: String,
    },
    /// A tensor of another type or shape.
    #[error("expected `{name}` to be {expected}, found {found}; the file is damaged")]
    WrongTensor {
        /// Its name.
        name: String,
        /// Type and shape that the settings ask for.
        expected: String,
        /// Type and shape in the file.
        found: String,
    },
    /// Tensors that the settings know nothing of.
    #[error("expected {expected} tensors, found {found}; the file is damaged")]
    SurplusTensors {
        /// How many the settings ask for.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The tensors together are larger or smaller than the settings ask for.
    #[error("expected {} numbers for these settings and this dictionary, found {found}; the file is damaged", or_too_many(*expected))]
    WrongSize {
        /// How many the settings ask for; `None` if more than can be counted.
        expected: Option<u64>,
        /// How many there are.
        found: u64,
    },
    /// A weight that is NaN or infinite.
    #[error("expected finite numbers in `{name}`, found another in row {row}; the file is damaged")]
    NotFinite {
        /// The tensor.
        name: String,
        /// Its row, counted from 0.
        row: usize,
    },
    /// A trigram that is no text.
    #[error("expected three Unicode scalar values in row {row} of `trigrams`, found others; the file is damaged")]
    BadTrigram {
        /// The row, counted from 0.
        row: usize,
    },
    /// A trigram that stands twice.
    #[error(transparent)]
    Dictionary(#[from] DuplicateTrigram),
    /// The numbers are not those that were written.
    #[error("expected the fingerprint {expected}, found {found}; the file was changed or damaged")]
    Fingerprint {
        /// What the file says.
        expected: String,
        /// Of the numbers in it.
        found: String,
    },
}

/// Why a run cannot continue from a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeFault {
    /// The settings are not those of the run that was interrupted.
    #[error("cannot resume with {}; use the same settings or start anew without --resume", differences.join(", "))]
    Settings {
        /// Each difference, in words.
        differences: Vec<String>,
    },
    /// The log changed.
    #[error("cannot resume with another click log than the interrupted run's; start anew without --resume")]
    Log,
    /// The validation set changed.
    #[error("cannot resume with another validation set than the interrupted run's; start anew without --resume")]
    Validation,
    /// The kernels would round otherwise.
    #[error(
        "cannot resume at instruction level {found}, the interrupted run used {expected}; start anew without --resume"
    )]
    Level {
        /// The interrupted run's.
        expected: String,
        /// This run's.
        found: String,
    },
    /// Another version could compute other numbers.
    #[error("cannot resume with clickvec {found}, the interrupted run was of {expected}; start anew without --resume")]
    Program {
        /// The interrupted run's.
        expected: String,
        /// This one's.
        found: String,
    },
    /// The model of the best epoch so far is gone.
    #[error("the model of epoch {epoch}, the best so far, is not at {model}; start anew without --resume")]
    BestModel {
        /// The epoch.
        epoch: u32,
        /// Where it should be.
        model: String,
    },
}

/// What can be wrong with a click log as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogFault {
    /// No line is a pair of texts.
    #[error(
        "expected pairs of a query and a title, found none ({skipped} lines were broken, {without_words} had a side \
         without words); see docs/formats.md"
    )]
    NoPairs {
        /// Lines that could not be read.
        skipped: u64,
        /// Pairs of which a side has no word.
        without_words: u64,
    },
}

impl Error {
    /// An [`Error::Io`] for `path`.
    pub fn io(path: &Path, action: &'static str, source: std::io::Error) -> Error {
        Error::Io { path: path.to_owned(), action, source }
    }
}

/// The beginning of a field: a message repeats what it found, which may be hostile and megabytes long.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn at_line(path: &Path, line: Option<u64>) -> String {
    match line {
        Some(line) => format!("{}:{line}", path.display()),
        None => path.display().to_string(),
    }
}

fn quoted(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    // A hostile header may have a million names, or a name of a million letters.
    let shown = names.iter().take(SHOWN_NAMES).map(|name| match name.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("`{}…`", &name[..end]),
        None => format!("`{name}`"),
    });
    let mut list = shown.collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN_NAMES {
        list.push_str(&format!(" and {} more", names.len() - SHOWN_NAMES));
    }
    list
}

fn known_parameters(known: &[&str]) -> String {
    match known {
        [] => "no parameters".to_owned(),
        known => format!("one of the parameters {}", known.join(", ")),
    }
}

fn left_model(model: &Option<(PathBuf, u32)>) -> String {
    match model {
        Some((path, epoch)) => format!("the last good model, of epoch {epoch}, is in {}", path.display()),
        None => "no epoch was finished, so there is no model".to_owned(),
    }
}

fn or_too_many(count: Option<u64>) -> String {
    count.map_or_else(|| "more than 2^64".to_owned(), |count| count.to_string())
}

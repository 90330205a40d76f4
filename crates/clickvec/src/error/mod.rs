//! The error type of the crate. Its messages say what was expected, what was found, where, and what to do.

mod content;
mod file;
mod index;
pub(crate) mod json;
mod learn_file;
mod plan;
mod run;
pub(crate) use clickvec_tables::shown;
mod system;
pub(crate) mod table;
mod test_set;
mod vector_file;

pub use content::ContentFault;
pub use file::{FileFault, NotTensors};
pub use index::{BadChanges, BadShard, IndexFault, TitleLine};
pub use json::{JsonFault, JsonKind, JsonProblem, NotAnObject};
pub use learn_file::{LearnFileFault, LearnPlace, NpzFound};
pub use plan::PlanFault;
pub use run::{InitFault, ResumeFault, SettingDifference};
use shown::told;
pub(crate) use shown::{listed, shortened, shown, shown_input};
pub(crate) use system::not_finite;
pub use system::{LearnFault, LearnSource, PairingFault, Remedy, SpecFault, VectorFault};
pub use table::{LogFault, TableFault};
pub use test_set::{JudgedWithTexts, RunIds, TestSetFault};
pub use vector_file::{NotAVector, NpyFound, VectorFileFault, VectorPlace};

use crate::settings::SettingFault;
use std::path::{Path, PathBuf};

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate, with a variant for each kind of input or output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read, write, map or rename a file.
    #[error("{}: cannot {action}: {source}", if *action == "read" { shown_input(path) } else { shown(path) })]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as a verb: `read`, `write`, `map`.
        action: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// There is a folder where a file should be.
    #[error("{}: expected a file, found a folder; name a file inside it", shown(path))]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A file to be mapped or read in any order is not a plain file.
    #[error(
        "{}: expected a plain file, found a pipe, a device or the like; save what comes from it as a file first",
        shown(path)
    )]
    NotPlain {
        /// The pipe, device or the like.
        path: PathBuf,
    },
    /// A device in the place of a file that is read from front to back.
    #[error("{}: expected a file or a pipe, found a device, which may never end; name another", shown_input(path))]
    Device {
        /// The device.
        path: PathBuf,
    },
    /// Reading stopped in the middle of a table, as it does when a compressed file was cut short.
    #[error("{}:{line}: cannot read this line: {source}; is the file whole?", shown_input(path))]
    ReadAt {
        /// The file.
        path: PathBuf,
        /// The line that could not be read, counted from 1.
        line: u64,
        /// What the operating system or the decoder said.
        source: std::io::Error,
    },
    /// Vectors, or a query to them, are not valid.
    #[error("vectors: {}", told(.0))]
    Vectors(#[from] VectorFault),
    /// The description of a ranker is not valid.
    #[error("ranker {}", told(.0))]
    Ranker(#[from] SpecFault),
    /// A ranker cannot be trained on this data.
    #[error("{ranker}: {}", told(fault))]
    Learn {
        /// The ranker's name.
        ranker: &'static str,
        /// The reason.
        fault: LearnFault,
    },
    /// A table of systems, or a row of it, cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanFault),
    /// A fault in the form that all crates share.
    #[error(transparent)]
    Shared(#[from] clickvec_tables::Error),
    /// The caller asked to stop.
    #[error("stopped, as was asked for")]
    Cancelled,
    /// Two systems cannot be compared query by query.
    #[error(transparent)]
    Pairing(#[from] PairingFault),
    /// A model or a checkpoint is not valid.
    #[error("{}: {}", shown(path), told(fault))]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: FileFault,
    },
    /// An index is not valid, or cannot be written to its place.
    #[error("{}: {}", shown(path), told(fault))]
    Index {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        fault: IndexFault,
    },
    /// No indexes were given to join.
    #[error("expected indexes to join, found none; name at least one")]
    NothingToJoin,
    /// An output exists and is not an ordinary file.
    #[error(
        "{}: expected an ordinary file or none, found a device, a pipe or the like; name another output",
        shown(path)
    )]
    NotAFile {
        /// The output.
        path: PathBuf,
    },
    /// The system does not provide as much memory as the sizes require.
    #[error("expected {} of memory for {what}, found less; ask for less", mebibytes(*bytes))]
    NoMemory {
        /// What the memory is for.
        what: &'static str,
        /// The number of bytes; `None` if it exceeds 64 bits.
        bytes: Option<u64>,
    },
    /// Another process writes to the same place.
    #[error("{}: another process writes to this output; wait for it or name another output", shown(path))]
    InUse {
        /// The output.
        path: PathBuf,
    },
    /// The output already exists as something else, which would be lost.
    #[error("{}: expected {what} to replace, or nothing, found {}; name another output", shown(path), told(found))]
    NotReplaceable {
        /// The output.
        path: PathBuf,
        /// What is replaced.
        what: &'static str,
        /// What there is.
        found: Obstacle,
    },
    /// No title of a simulation has a word, so none could be clicked.
    #[error("expected a title with a word, found none")]
    NoTitleToClick,
    /// All queries of a simulation are judged, so none is left for its log.
    #[error(
        "expected a query that is not judged, found none; give more titles, or ask for fewer judged and validation queries"
    )]
    NoQueryToClick,
    /// A simulation has so few titles that its log would never be as long as requested.
    #[error(
        "expected titles for {wanted} pairs, found so few that a day of the log has {pairs_a_day}; ask for fewer pairs, or give \
         more titles"
    )]
    TooFewPairs {
        /// The number of pairs requested.
        wanted: u64,
        /// The number of different pairs in a day of the log.
        pairs_a_day: u64,
    },
    /// The folder to write a file into does not exist.
    #[error("{}: expected a folder to write into, found none; make it first", shown(path))]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A title contains a tab or a line end, so no table can hold it.
    #[error("expected an id and a title without tab and line end, found `{found}`; leave such characters out")]
    BadTitle {
        /// The id or the title, shortened.
        found: String,
    },
    /// The settings are not valid.
    #[error(transparent)]
    Setting(#[from] SettingFault),
    /// Training stopped because a number was no longer finite.
    #[error(
        "the loss became NaN or infinite in epoch {epoch}, minibatch {minibatch}, with learning rate {learning_rate:e}; \
         {}; take a smaller learning rate, or clip gradients",
        left_model(model)
    )]
    Diverged {
        /// The epoch, counted from 1.
        epoch: u32,
        /// The minibatch, counted from 1.
        minibatch: u64,
        /// The learning rate ε.
        learning_rate: f32,
        /// Where the last good model is and the epoch it is from, if there is one.
        model: Option<(PathBuf, u32)>,
    },
    /// A run cannot continue from a checkpoint.
    #[error("{}: {}", shown(path), told(fault))]
    Resume {
        /// The checkpoint.
        path: PathBuf,
        /// The reason.
        fault: ResumeFault,
    },
    /// An iterator of pairs returned an error.
    #[error("pair {number}: {source}")]
    PairSource {
        /// The number of the pair, counted from 1.
        number: u64,
        /// The iterator's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A text of an iterator, or its vector, could not be had.
    #[error("vector {number}: {source}")]
    VectorSource {
        /// Counted from 1.
        number: u64,
        /// What the iterator said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A pair of an iterator has a weight that is negative, too large or not a number.
    #[error("pair {number}: expected a weight from 0 to 1e12, found {found}; divide all weights by one number")]
    BadWeight {
        /// The number of the pair, counted from 1.
        number: u64,
        /// The weight.
        found: f32,
    },
    /// Training cannot begin with a model.
    #[error(transparent)]
    Init(#[from] InitFault),
    /// A click log has nothing to train on.
    #[error("{}: {}", shown_input(path), told(fault))]
    Log {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: LogFault,
    },
    /// A table (clicks, judged titles, titles, TREC files) is not valid.
    #[error("{}: {}", at_line(path, *line), told(fault))]
    Table {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1; `None` if the fault concerns the whole file.
        line: Option<u64>,
        /// What is wrong.
        fault: TableFault,
    },
    /// The files of a test set do not fit together.
    #[error("{}: {}", shown_input(path), told(fault))]
    TestSet {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        fault: TestSetFault,
    },
}

/// An obstacle where an output should be: something that is not replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// A file.
    #[error("a file")]
    File,
    /// A folder of another kind.
    #[error("a folder with other files in it")]
    OtherFolder,
    /// A folder of the right kind with a file of somebody else in it.
    #[error("one with `{name}` in it, which would be lost")]
    Surplus {
        /// The name of the file, shortened.
        name: String,
    },
}

impl Error {
    /// An [`Error::Io`] for `path`.
    pub fn io(path: &Path, action: &'static str, source: std::io::Error) -> Error {
        Error::Io { path: path.to_owned(), action, source }
    }
}

fn mebibytes(bytes: Option<u64>) -> String {
    let Some(bytes) = bytes else { return "more than 2^64 bytes".to_owned() };
    let digits = bytes.div_ceil(1 << 20).to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{text} MiB")
}

fn at_line(path: &Path, line: Option<u64>) -> String {
    match line {
        Some(line) => format!("{}:{line}", shown_input(path)),
        None => shown_input(path),
    }
}

fn left_model(model: &Option<(PathBuf, u32)>) -> String {
    match model {
        Some((path, epoch)) => format!("the last good model, of epoch {epoch}, is in {}", shown(path)),
        None => "no epoch was finished, so there is no model".to_owned(),
    }
}

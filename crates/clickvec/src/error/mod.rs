//! One error type: what was expected, what was found, where, and what to do.

mod file;
mod index;
mod json;
mod plan;
pub(crate) mod shown;
mod system;
mod table;
mod test_set;
mod vector_file;

pub use file::{FileFault, InitFault, NotTensors, ResumeFault};
pub use index::{BadShard, IndexFault};
pub use json::{JsonFault, JsonProblem};
pub use plan::PlanFault;
use shown::told;
pub(crate) use shown::{listed, shortened, shown};
pub use system::{LearnFault, PairingFault, SpecFault, VectorFault};
pub use table::{LogFault, TableFault};
pub use test_set::TestSetFault;
pub use vector_file::{VectorFileFault, VectorPlace};

use crate::settings::SettingFault;
use std::path::{Path, PathBuf};

/// What every fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, one variant a place where it does.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read, write, map or rename a file.
    #[error("{}: cannot {action}: {source}", shown(path))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as a verb: `read`, `write`, `map`.
        action: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A folder stands where a file should.
    #[error("{}: expected a file, found a folder; name a file inside it", shown(path))]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A file that is mapped or read in any order is none.
    #[error(
        "{}: expected a plain file, found a pipe, a device or the like; save what comes from it as a file first",
        shown(path)
    )]
    NotPlain {
        /// What stands there.
        path: PathBuf,
    },
    /// Reading stopped in the middle of a table; a compressed file that was cut short ends here.
    #[error("{}:{line}: cannot read this line: {source}; is the file whole?", shown(path))]
    ReadAt {
        /// The file.
        path: PathBuf,
        /// The line that could not be read, counted from 1.
        line: u64,
        /// What the operating system or the decoder said.
        source: std::io::Error,
    },
    /// A table of vectors, or a query to it, is not what it should be.
    #[error("vectors: {}", told(.0))]
    Vectors(#[from] VectorFault),
    /// A ranker, as it was asked for, is not what it should be.
    #[error("ranker {}", told(.0))]
    Ranker(#[from] SpecFault),
    /// A ranker cannot be trained on what it is given.
    #[error("{ranker}: {}", told(fault))]
    Learn {
        /// Its name.
        ranker: &'static str,
        /// Why.
        fault: LearnFault,
    },
    /// A table of systems, or a row of it, cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanFault),
    /// The caller said to stop.
    #[error("stopped, as was asked for")]
    Cancelled,
    /// Two systems cannot be compared query by query.
    #[error(transparent)]
    Pairing(#[from] PairingFault),
    /// A model or a checkpoint is not what it should be.
    #[error("{}: {}", shown(path), told(fault))]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: FileFault,
    },
    /// An index is not what it should be, or cannot be written where it should.
    #[error("{}: {}", shown(path), told(fault))]
    Index {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        fault: IndexFault,
    },
    /// Indexes were to be joined, and there are none.
    #[error("expected indexes to join, found none; name at least one")]
    NothingToJoin,
    /// Something that is no ordinary file stands where one is to be written.
    #[error(
        "{}: expected an ordinary file or none, found a device, a pipe or the like; name another output",
        shown(path)
    )]
    NotAFile {
        /// What stands there.
        path: PathBuf,
    },
    /// The system does not give as much memory as the sizes ask for.
    #[error("expected {} of memory for {what}, found less; ask for less", mebibytes(*bytes))]
    NoMemory {
        /// What it is for.
        what: &'static str,
        /// How much; `None` if more than can be counted.
        bytes: Option<u64>,
    },
    /// Another process writes to the same place.
    #[error("{}: another process writes to this output; wait for it or name another output", shown(path))]
    InUse {
        /// The output.
        path: PathBuf,
    },
    /// What stands at an output is something else, and would be lost.
    #[error("{}: expected {what} to replace, or nothing, found {}; name another output", shown(path), told(found))]
    NotReplaceable {
        /// The output.
        path: PathBuf,
        /// What is replaced.
        what: &'static str,
        /// What there is.
        found: String,
    },
    /// A simulation without anything that could be clicked.
    #[error("expected {missing}, found none")]
    NothingToClick {
        /// What there is not.
        missing: &'static str,
    },
    /// A simulation of so few titles that its log would never be as long as wanted.
    #[error(
        "expected titles for {wanted} pairs, found so few that a day of the log has {pairs_a_day}; ask for fewer pairs, or give \
         more titles"
    )]
    TooFewPairs {
        /// Pairs of the log.
        wanted: u64,
        /// Different pairs that a day has.
        pairs_a_day: u64,
    },
    /// A file was to be written into a folder that is not there.
    #[error("{}: expected a folder to write into, found none; make it first", shown(path))]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A title that no table could hold.
    #[error("expected an id and a title without tab and line end, found `{found}`; leave such characters out")]
    BadTitle {
        /// The id or the title, shortened.
        found: String,
    },
    /// Settings with which there is no training.
    #[error(transparent)]
    Setting(#[from] SettingFault),
    /// Training stopped because a number was no longer one.
    #[error(
        "the loss became NaN or infinite in epoch {epoch}, minibatch {minibatch}, with learning rate {learning_rate:e}; \
         {}; take a smaller learning rate, or clip gradients",
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
    #[error("{}: {}", shown(path), told(fault))]
    Resume {
        /// The checkpoint.
        path: PathBuf,
        /// Why.
        fault: ResumeFault,
    },
    /// A pair of an iterator could not be had.
    #[error("pair {number}: {source}")]
    PairSource {
        /// Counted from 1.
        number: u64,
        /// What the iterator said.
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
    /// A pair of an iterator has a weight that no loss can be multiplied by.
    #[error("pair {number}: expected a finite weight of 0 or more, found {found}")]
    BadWeight {
        /// Counted from 1.
        number: u64,
        /// The weight.
        found: f32,
    },
    /// Training cannot begin with a model.
    #[error(transparent)]
    Init(#[from] InitFault),
    /// A click log has nothing to train on.
    #[error("{}: {}", shown(path), told(fault))]
    Log {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: LogFault,
    },
    /// A table (clicks, judged, titles, TREC) is not what it should be.
    #[error("{}: {}", at_line(path, *line), told(fault))]
    Table {
        /// The file.
        path: PathBuf,
        /// Its line, counted from 1; `None` where the fault is the whole file's.
        line: Option<u64>,
        /// What is wrong.
        fault: TableFault,
    },
    /// The files of a test set do not go together.
    #[error("{}: {}", shown(path), told(fault))]
    TestSet {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        fault: TestSetFault,
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
        Some(line) => format!("{}:{line}", shown(path)),
        None => shown(path),
    }
}

fn left_model(model: &Option<(PathBuf, u32)>) -> String {
    match model {
        Some((path, epoch)) => format!("the last good model, of epoch {epoch}, is in {}", shown(path)),
        None => "no epoch was finished, so there is no model".to_owned(),
    }
}

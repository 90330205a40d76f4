//! What can be wrong with models and checkpoints.

use std::fmt::Display;

use safetensors::SafeTensorError;

use super::{JsonFault, SpecFault, shortened};
use crate::encoder::SizeFault;
use crate::settings::SettingFault;
use crate::text::DuplicateTrigram;

/// What can be wrong with a model, a checkpoint, a trained ranker or a fusion.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    /// No safetensors file: cut short, or something else.
    #[error("expected a safetensors file, found {found}; was it written to its end?")]
    NotSafetensors {
        /// What there is instead.
        found: NotTensors,
    },
    /// A header larger than any that was ever written.
    #[error(
        "expected a safetensors file with a header of at most {limit} bytes, found one of {found}; was it written by clickvec?"
    )]
    HeaderTooLarge {
        /// The bound.
        limit: u64,
        /// What its first bytes say.
        found: u64,
    },
    /// A safetensors file of somebody else.
    #[error("expected a file written by clickvec, found a safetensors file without its settings")]
    NoSettings,
    /// The settings are not JSON of the form that this kind of file has.
    #[error("expected the settings of a clickvec file, found {found}; is it of another program?")]
    BadSettings {
        /// Where they are others.
        found: JsonFault,
    },
    /// A checkpoint between updates that its run never has.
    #[error(
        "expected a place between two updates of its run, found one that no run reaches; the file was changed or damaged, \
         start the training anew"
    )]
    Progress,
    /// A checkpoint whose row of a table was updated after the checkpoint.
    #[error(
        "expected row {row} of `{name}` to be of update {updates} or before, found {found}; the file was changed or \
         damaged, start the training anew"
    )]
    LateRow {
        /// The tensor.
        name: String,
        /// The row, counted from 0.
        row: usize,
        /// Updates that the checkpoint says are done.
        updates: u64,
        /// The row's update.
        found: u64,
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
    /// Settings that no run can have had.
    #[error("{0}; the file is damaged")]
    Setting(SettingFault),
    /// A ranker that there is not, or with parameters that it has not.
    #[error("{0}; was it written by a newer clickvec?")]
    Ranker(SpecFault),
    /// A tensor has what its kind of ranker cannot have there.
    #[error("expected {expected} in `{tensor}`, found {found}; the file is damaged")]
    Content {
        /// Its name.
        tensor: String,
        /// What it should have.
        expected: String,
        /// What it has.
        found: String,
    },
    /// A fusion is not of rankers with a weight each.
    #[error("expected a weight for each member, found {weights} weights for {members} members")]
    Weights {
        /// How many weights there are.
        weights: usize,
        /// How many members.
        members: usize,
    },
    /// A fusion names a member that is not a file of its own in the same folder.
    #[error("expected the names of other files in the same folder, each once, found `{found}`")]
    MemberName {
        /// The name, shortened.
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
    /// A member of a fusion is not what it was.
    #[error(
        "expected its member `{file}` to be as it was, of the fingerprint {expected}, found {found}; fuse them again"
    )]
    Member {
        /// The member's file.
        file: String,
        /// What the fusion says.
        expected: String,
        /// What the file is now.
        found: String,
    },
    /// The numbers are not those that were written.
    #[error("expected the fingerprint {expected}, found {found}; the file was changed or damaged")]
    Fingerprint {
        /// What the file says.
        expected: String,
        /// Of the numbers in it.
        found: String,
    },
}

/// What is in a file that is none of safetensors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotTensors {
    /// Fewer bytes than its header should have.
    #[error("one that ends before its header does, or another kind of file")]
    NoHeader,
    /// A header that is not JSON, or JSON of another form.
    #[error("a header that is not of this kind")]
    OtherHeader,
    /// More or fewer bytes than the header says.
    #[error("one that is longer or shorter than its header says")]
    Length,
    /// A tensor that lies elsewhere, or is larger or smaller, than its shape and its neighbours say.
    #[error("a tensor `{name}` of another place or size than its shape says")]
    Tensor {
        /// Its name, shortened.
        name: String,
    },
}

impl From<SafeTensorError> for NotTensors {
    fn from(error: SafeTensorError) -> NotTensors {
        match error {
            SafeTensorError::HeaderTooSmall
            | SafeTensorError::HeaderTooLarge
            | SafeTensorError::InvalidHeaderLength => NotTensors::NoHeader,
            SafeTensorError::MetadataIncompleteBuffer => NotTensors::Length,
            SafeTensorError::InvalidOffset(name) => NotTensors::Tensor { name: shortened(&name) },
            _ => NotTensors::OtherHeader,
        }
    }
}

impl FileFault {
    /// A [`FileFault::Content`].
    pub(crate) fn content(tensor: impl Into<String>, expected: impl Into<String>, found: impl Display) -> FileFault {
        FileFault::Content { tensor: tensor.into(), expected: expected.into(), found: found.to_string() }
    }
}

/// Why training cannot begin with a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InitFault {
    /// It has another encoder.
    #[error(
        "expected an initial model of the encoder {expected}, found {found}; begin with another or train its encoder"
    )]
    Encoder {
        /// That of the settings.
        expected: String,
        /// That of the model.
        found: String,
    },
    /// It has two towers, of which one would be lost.
    #[error("expected an initial model with one tower for queries and titles, found two; train two towers")]
    Towers,
}

/// Why a run cannot continue from a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeFault {
    /// The settings are not those of the run that was interrupted.
    #[error("cannot resume with {}; use the same settings or start the training anew", differences.join(", "))]
    Settings {
        /// Each difference, in words.
        differences: Vec<String>,
    },
    /// The log changed.
    #[error("cannot resume with another click log than the interrupted run's; start the training anew")]
    Log,
    /// The model that training began with is another one.
    #[error("cannot resume with another initial model than the interrupted run's; start anew instead of resuming")]
    Init,
    /// The teacher changed.
    #[error("cannot resume with another teacher than the interrupted run's; start the training anew")]
    Teacher,
    /// The validation set changed.
    #[error("cannot resume with another validation set than the interrupted run's; start the training anew")]
    Validation,
    /// The kernels would round otherwise.
    #[error("cannot resume at instruction level {found}, the interrupted run used {expected}; start the training anew")]
    Level {
        /// The interrupted run's.
        expected: String,
        /// This run's.
        found: String,
    },
    /// Another version could compute other numbers.
    #[error("cannot resume with clickvec {found}, the interrupted run was of {expected}; start the training anew")]
    Program {
        /// The interrupted run's.
        expected: String,
        /// This one's.
        found: String,
    },
    /// The model beside a checkpoint is of another epoch than the checkpoint says.
    #[error(
        "expected the model of epoch {expected}, which the checkpoint continues, found epoch {found}; start the training anew"
    )]
    OtherEpoch {
        /// What the checkpoint says.
        expected: u32,
        /// The model's.
        found: u32,
    },
    /// The model of the best epoch so far is gone.
    #[error("the model of epoch {epoch}, the best so far, is not at {model}; start the training anew")]
    BestModel {
        /// The epoch.
        epoch: u32,
        /// Where it should be.
        model: String,
    },
}

fn or_too_many(count: Option<u64>) -> String {
    count.map_or_else(|| "more than 2^64".to_owned(), |count| count.to_string())
}

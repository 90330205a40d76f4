//! Faults of models and checkpoints.

use safetensors::SafeTensorError;

use super::{ContentFault, JsonFault, SpecFault, shortened};
use crate::encoder::SizeFault;
use crate::settings::SettingFault;
use crate::text::{DuplicateTrigram, DuplicateWord};

/// A fault of a file: of a model, a checkpoint, a trained ranker or a fusion.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    /// The file is not a safetensors file, or is cut short.
    #[error("expected a safetensors file, found {found}; was it written to its end?")]
    NotSafetensors {
        /// What there is instead.
        found: NotTensors,
    },
    /// The header is larger than any that clickvec writes.
    #[error(
        "expected a safetensors file with a header of at most {limit} bytes, found one of {found}; was it written by clickvec?"
    )]
    HeaderTooLarge {
        /// The limit.
        limit: u64,
        /// The size that the first bytes of the file give.
        found: u64,
    },
    /// The safetensors file was not written by clickvec.
    #[error("expected a file written by clickvec, found a safetensors file without its settings")]
    NoSettings,
    /// The system does not provide as much memory as what is in the file requires.
    #[error("expected {} of memory for {what}, found less; free some, or use a computer with more", clickvec_tables::memory::mebibytes(*bytes))]
    NoMemory {
        /// What the memory is for.
        what: &'static str,
        /// The number of bytes; `None` if it exceeds 64 bits.
        bytes: Option<u64>,
    },
    /// The settings are not the JSON that this kind of file has.
    #[error("expected the settings of a clickvec file, found {found}; is it of another program?")]
    BadSettings {
        /// Where they are others.
        found: JsonFault,
    },
    /// The counts of a checkpoint cannot occur in its run.
    #[error(
        "expected counts of epochs and minibatches that this run can reach, found {epoch} epochs, then {minibatch} minibatches of \
         {pairs} pairs, after {updates} updates in all; the file was changed or damaged, start the training anew"
    )]
    Progress {
        /// The finished epochs.
        epoch: u32,
        /// The finished minibatches of the current epoch.
        minibatch: u64,
        /// The pairs in these minibatches.
        pairs: u64,
        /// The updates.
        updates: u64,
    },
    /// A row of a table in a checkpoint is from an update after the checkpoint.
    #[error(
        "expected row {row} of `{name}` to be of update {updates} or before, found {found}; the file was changed or \
         damaged, start the training anew"
    )]
    LateRow {
        /// The tensor.
        name: String,
        /// The row, counted from 0.
        row: usize,
        /// The number of updates that the checkpoint gives.
        updates: u64,
        /// The update that the row is from.
        found: u64,
    },
    /// The file was written by a version with another format.
    #[error("expected format version 1, found {found}; was it written by a newer clickvec?")]
    Version {
        /// The version of the file.
        found: u32,
    },
    /// The file is of another kind, such as a model where a checkpoint should be.
    #[error("expected a {expected}, found a `{found}`")]
    Kind {
        /// The kind that was expected.
        expected: &'static str,
        /// The kind that the file gives.
        found: String,
    },
    /// No run can have had these settings.
    #[error("{0}; the file is damaged")]
    Setting(SettingFault),
    /// The ranker does not exist, or does not have these parameters.
    #[error("{0}; was it written by a newer clickvec?")]
    Ranker(SpecFault),
    /// A tensor, or a setting, has contents that its kind of ranker cannot have.
    #[error("`{tensor}`: {fault}; the file is damaged")]
    Content {
        /// The name of the tensor or the setting.
        tensor: String,
        /// What is wrong.
        fault: ContentFault,
    },
    /// A fusion does not have one weight for each ranker.
    #[error("expected a weight for each member, found {weights} weights for {members} members")]
    Weights {
        /// The number of weights.
        weights: usize,
        /// The number of members.
        members: usize,
    },
    /// A member of a fusion is not another file in the same folder.
    #[error("expected the names of other files in the same folder, each once, found `{found}`")]
    MemberName {
        /// The name, shortened.
        found: String,
    },
    /// No encoder has these sizes.
    #[error(transparent)]
    Sizes(#[from] SizeFault),
    /// A tensor is missing.
    #[error("expected a tensor `{name}`, found none; the file is damaged")]
    MissingTensor {
        /// The tensor's name.
        name: String,
    },
    /// A tensor has another type or shape.
    #[error("expected `{name}` to be {expected}, found {found}; the file is damaged")]
    WrongTensor {
        /// The tensor's name.
        name: String,
        /// The type and shape that the settings require.
        expected: String,
        /// The type and shape in the file.
        found: String,
    },
    /// The file has more tensors than the settings require.
    #[error("expected {expected} tensors, found {found}; the file is damaged")]
    SurplusTensors {
        /// The number of tensors that the settings require.
        expected: usize,
        /// The number of tensors in the file.
        found: usize,
    },
    /// The tensors together are larger or smaller than the settings require.
    #[error("expected {} numbers for these settings and this dictionary, found {found}; the file is damaged", or_too_many(*expected))]
    WrongSize {
        /// The number of weights that the settings require; `None` if it exceeds 64 bits.
        expected: Option<u64>,
        /// The number of weights in the file.
        found: u64,
    },
    /// A weight is NaN or infinite.
    #[error("expected finite numbers in `{name}`, found {found} in row {row}; the file is damaged")]
    NotFinite {
        /// The tensor.
        name: String,
        /// The row, counted from 0.
        row: usize,
        /// The number.
        found: String,
    },
    /// A trigram is not valid text.
    #[error("expected three Unicode scalar values in row {row} of `trigrams`, found {found:?}; the file is damaged")]
    BadTrigram {
        /// The row, counted from 0.
        row: usize,
        /// The numbers in the row.
        found: [u32; 3],
    },
    /// A trigram occurs twice.
    #[error(transparent)]
    Dictionary(#[from] DuplicateTrigram),
    /// A word occurs twice.
    #[error(transparent)]
    Words(#[from] DuplicateWord),
    /// A member of a fusion has changed.
    #[error(
        "expected member `{file}` with the fingerprint {expected}, found {found}; it was changed since, so fuse again"
    )]
    Member {
        /// The member's file.
        file: String,
        /// The fingerprint that the fusion gives.
        expected: String,
        /// The fingerprint of the file.
        found: String,
    },
    /// The contents do not match their fingerprint.
    #[error("expected the fingerprint {expected}, found {found}; the file was changed or damaged")]
    Fingerprint {
        /// The fingerprint that the file gives.
        expected: String,
        /// The fingerprint of its contents.
        found: String,
    },
}

/// The contents of a file that should be a safetensors file and is not.
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
    pub fn content(tensor: impl Into<String>, fault: ContentFault) -> FileFault {
        FileFault::Content { tensor: tensor.into(), fault }
    }
}

fn or_too_many(count: Option<u64>) -> String {
    count.map_or_else(|| "more than 2^64".to_owned(), |count| count.to_string())
}

impl From<clickvec_tables::memory::NoRoom> for FileFault {
    fn from(fault: clickvec_tables::memory::NoRoom) -> FileFault {
        FileFault::NoMemory { what: fault.what, bytes: fault.bytes }
    }
}

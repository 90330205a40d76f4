//! Settings that are not valid.

use crate::encoder::EncoderConfig;
use crate::encoder::config::{named_kind, named_kinds_that};

/// A setting that is not valid.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingFault {
    /// A size of the encoder is not valid.
    #[error(transparent)]
    Size(#[from] crate::encoder::SizeFault),
    /// A number must be finite and above zero.
    #[error("expected a {name} above 0, found {value}")]
    NotPositive {
        /// The setting.
        name: &'static str,
        /// The value.
        value: f32,
    },
    /// A number must be finite and not negative.
    #[error("expected {name} of 0 or more, found {value}")]
    Negative {
        /// The setting.
        name: &'static str,
        /// The value.
        value: f32,
    },
    /// A count must be at least one.
    #[error("expected {name} of at least 1, found 0")]
    Zero {
        /// The setting.
        name: &'static str,
    },
    /// All negatives were requested from all titles of the log.
    #[error(
        "expected sampled negatives with the uniform source, found all; give a number or take them from the minibatch"
    )]
    AllUniform,
    /// A minibatch of one pair has no title that could be a negative.
    #[error(
        "expected a minibatch of at least 2 pairs for negatives from the minibatch, found 1; take more, or `uniform`"
    )]
    Alone,
    /// The published error signals were requested for an encoder without them.
    #[error(
        "expected {} for per-gate error signals, found {}; the papers give them for no other",
        named_kinds_that(EncoderConfig::has_published_signals),
        named_kind(kind)
    )]
    PerGate {
        /// The encoder.
        kind: &'static str,
    },
    /// A probability is not between 0 and 1.
    #[error("expected a probability between 0 and 1 for `{name}`, found {value}")]
    Chance {
        /// The change.
        name: &'static str,
        /// The value.
        value: f32,
    },
    /// An invalid share.
    #[error("expected a {name} between 0 and 1, found {value}")]
    Share {
        /// Which.
        name: &'static str,
        /// Its value.
        value: f32,
    },
    /// A teacher together with sampled negatives.
    #[error("expected all titles of the minibatch as negatives, because a teacher compares them all, found samples")]
    TaughtSamples,
    /// A teacher together with noise-contrastive estimation.
    #[error("expected the loss softmax, because a teacher compares titles with each other, found nce")]
    TaughtContrast,
    /// A teacher without settings for it, or settings without a teacher.
    #[error("expected both a teacher and settings for it, or neither; found {teachers} teachers")]
    Teacher {
        /// How many there are.
        teachers: usize,
    },
    /// There are neither clicks nor titles.
    #[error("expected a click log, titles, or both to learn from, found neither")]
    NothingToLearnFrom,
    /// There are titles without settings for them, or settings without titles.
    #[error("expected settings for titles if there are any, and none if not; found {files} files of titles")]
    Titles {
        /// The number of files of titles.
        files: usize,
    },
    /// Truncated back-propagation through time was requested for an encoder that is not recurrent.
    #[error(
        "expected {} for truncated back-propagation, found {}",
        named_kinds_that(EncoderConfig::is_recurrent),
        named_kind(kind)
    )]
    BpttWords {
        /// The encoder.
        kind: &'static str,
    },
    /// Rounded recurrent products were requested for an encoder without any.
    #[error(
        "expected {} for precision bf16, found {}; leave it at f32",
        named_kinds_that(EncoderConfig::is_recurrent),
        named_kind(kind)
    )]
    Precision {
        /// The encoder.
        kind: &'static str,
    },
    /// Precision bf16 was requested on a processor without the instructions for it.
    #[error(
        "expected AVX512-BF16 or AMX instructions for precision bf16, found {found}; leave it at f32, which runs everywhere"
    )]
    NoBf16 {
        /// What the processor has instead.
        found: &'static str,
    },
    /// More queries would be held out than learnt.
    #[error("expected a share of held-out queries between 0 and 0.5, found {found}")]
    HeldOut {
        /// The share.
        found: f32,
    },
    /// The epoch with the smallest loss of held-out pairs was requested, and no queries are to be held out.
    #[error("expected a share of held-out queries, to keep the epoch with the smallest loss of them, found 0")]
    LossOfNone,
    /// There is no validation set to choose the best epoch or to stop early.
    #[error("expected a validation set to {purpose}, found none; name one or keep the last epoch")]
    NoValidation {
        /// What the validation set is needed for.
        purpose: &'static str,
    },
}

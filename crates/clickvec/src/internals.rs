//! Items that the project's other crates, benchmarks, fuzz targets and tests use but no user needs, arranged like the
//! source. They may change at any time.

/// The click log and its minibatches.
pub mod clicks {
    pub use crate::clicks::held_out::query_hash;
    pub use crate::clicks::{
        ClickLog, ClickReader, LogConfig, Minibatch, Minibatches, Storage, pair_fingerprint, text_hash,
        title_fingerprint,
    };
}

/// Encoders, their weights and their buffers.
pub mod encoder {
    pub use crate::encoder::description::{Description, Reading};
    pub use crate::encoder::gradients::Gradients;
    pub use crate::encoder::init::initialize;
    pub use crate::encoder::input::Input;
    pub use crate::encoder::kind::TextStatistics;
    pub use crate::encoder::passes::Encoder;
    pub use crate::encoder::tensor::{Group, Tensor, TensorKind};
    pub use crate::encoder::trace::Trace;
}

/// Readings of a model's states, for explanations.
pub mod explain {
    pub use crate::explain::keywords::{direction_counts, largest};
    pub use crate::explain::one_based::from_one;
    pub use crate::explain::text::unit;
}

/// Settings whose documentation and bounds stand beside each field.
pub mod fields {
    pub use crate::fields::{Field, Rule, check, described, integer_or_none, json};
}

/// Searches by vectors: codes, blocks, and the best hits.
pub mod index {
    pub use crate::index::Codes;
    pub use crate::index::ExactIndex;
    pub use crate::index::best::Best;
    pub use crate::index::quantized::{Blocks, Scope};
    pub use crate::index::rows::{floats, halves};
    pub use crate::index::shared::Shared;
}

/// The loss.
pub mod loss {
    pub use crate::loss::{EvenlyDrawn, Loss, Margins, NegativeRows, Pairs, Targets, TitleLists};
}

/// Kernels.
pub mod math {
    pub use crate::math::{Buffer, Level, Matrix, OutOfMemory};

    /// Activations.
    pub mod activation {
        pub use crate::math::activation::{exp_slice, gelu_slice, ln_slice, sigmoid_slice, tanh_slice};
    }

    /// Eigenvalues.
    pub mod eigen {
        pub use crate::math::eigen::Tridiagonal;
    }

    /// Products of matrices.
    pub mod gemm {
        pub use crate::math::gemm::{Left, gemm, gemm_into};
    }

    /// Operations on each row of a matrix.
    pub mod rows {
        pub use crate::math::rows::{layer_norm, softmax};
    }

    /// The score of two vectors.
    pub mod score {
        pub use crate::math::score::{score, scores};
    }

    /// Vectors.
    pub mod vector {
        pub use crate::math::vector::{add, add_scaled, dot, normalize, not_finite, scale_to_unit, sum_of_squares};
    }
}

/// NumPy's arrays.
pub mod npy {
    pub use crate::npy::{Appender, F16, F32, MAGIC, Reader, header};
}

/// The optimiser.
pub mod optimizer {
    pub use crate::optimizer::{MomentumSchedule, Optimizer, OptimizerConfig};
}

/// Lists of different lengths in one piece.
pub mod ragged {
    pub use crate::ragged::{Ragged, starts};
}

pub use crate::pool::Pool;

/// Ridge regression.
pub mod ridge {
    pub use crate::ridge::{Design, Item, LANES, MOST_TEXTS, Row, solve};
}

/// Random streams.
pub mod rng {
    pub use crate::rng::{Permutation, stream};
}

/// Tensors in a file.
pub mod tensor_file {
    pub use crate::tensor_file::{Array, Data, Entry, FORMAT, Numbers, TensorFile, fingerprint, write};
}

/// Words, trigrams and batches.
pub mod text {
    pub use crate::text::{
        Analysis, Dictionary, Feature, Interner, ReadWords, Tail, Trigram, WordBuffer, WordHash, WordId, WordLimit,
        Words, for_each_term, for_each_trigram, for_each_word, is_invisible, terms, words,
    };

    /// Texts packed for an encoder.
    pub mod batch {
        pub use crate::text::batch::{Batch, WordFeatures};
    }
}

/// Files of vectors.
pub mod vector_file {
    pub use crate::vector_file::{Entries, MAX_DIMENSION, Stop, fault, read, texts_path};
}

/// Views of titles.
pub mod views {
    pub use crate::views::{MOST, misspell};
}

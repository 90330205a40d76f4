//! Encoders: a text becomes one vector.
//!
//! An encoder's weights do not change while it is used; everything that is written goes to the
//! caller's [`Trace`] and [`Gradients`]. Training, serving and explaining run the same
//! [`Encoder::forward`].

pub mod clsm;
pub mod dssm;
pub mod lstm;
mod lstm_backward;
pub mod rnn;

mod bidirectional;
mod init;
pub(crate) mod input;
mod tensor;

pub use bidirectional::Bidirectional;
pub use init::{InitRange, TextStatistics, initialize};
pub use input::Input;
pub(crate) use tensor::Motion;
pub use tensor::{Group, Tensor, TensorKind};

use crate::math::bf16::{Packed, Precision};
use crate::math::vector::add;
use crate::math::{Buffer, Matrix};
use crate::text::batch::{Batch, Block, Lists};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Which encoder, and its sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum EncoderConfig {
    /// Feed-forward layers over the sum of the words' trigram counts (Huang et al. 2013).
    Dssm {
        /// Units of each layer; the last is the size of the embedding.
        layers: Vec<usize>,
    },
    /// Convolution over windows of words, maximum over the text, one more layer (Shen et al. 2014).
    Clsm {
        /// Words in a window: odd.
        window: usize,
        /// K: units of the convolution.
        convolution: usize,
        /// L: size of the embedding.
        semantic: usize,
        /// The paper has no biases; with them is the default.
        bias: bool,
    },
    /// Elman network (Palangi et al. 2015, eq. 1).
    Rnn {
        /// Units.
        hidden: usize,
    },
    /// Long short-term memory (Palangi et al. 2015, eq. 2).
    Lstm(LstmConfig),
    /// Two LSTMs, one of which reads right to left; the embedding is both, one after the other.
    Bilstm(LstmConfig),
}

/// The sizes and gates of an LSTM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LstmConfig {
    /// H: cells, in each direction.
    pub cells: usize,
    /// Without it f = 1, as the paper evaluates.
    pub forget_gate: bool,
    /// Connections from the cell state to the gates.
    pub peephole: Peephole,
}

/// Connections from the cell state to the gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Peephole {
    /// None, as the paper evaluates.
    None,
    /// Each cell to its own gates: a vector for each gate.
    Diagonal,
    /// Each cell to every gate: a matrix for each gate, as in the paper's gradients.
    Full,
}

/// How errors flow back through a text's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bptt {
    /// Errors flow back through this many last words; all if `None`.
    pub words: Option<usize>,
    /// Exact gradients, or the published error signals. For LSTMs only.
    pub signals: Signals,
}

/// Which error signals an LSTM's back-propagation follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signals {
    /// The exact gradient.
    #[default]
    Exact,
    /// Each gate's own recurrent path only (Palangi et al. 2015, eq. 16–44).
    PerGate,
}

/// A text encoder: weights, and the two ways through them.
pub trait Encoder: Send + Sync {
    /// L: size of the embedding.
    fn dimension(&self) -> usize;

    /// The weights, input tables among them.
    fn tensors(&self) -> &[Tensor];

    /// The weights, to initialise, load or update.
    fn tensors_mut(&mut self) -> &mut [Tensor];

    /// Embeds every text of `batch`: fills `trace`, the embeddings in [`Trace::embeddings`]. A text
    /// without a word becomes the zero vector.
    fn forward(&self, batch: &Batch, trace: &mut Trace) {
        let mut projected = std::mem::take(&mut trace.projected);
        let inputs = self.inputs();
        projected.resize_with(inputs.len(), Buffer::default);
        for (input, projected) in inputs.into_iter().zip(&mut projected) {
            input.project_all(batch, projected);
        }
        self.forward_projected(batch, &projected, trace);
        trace.projected = projected;
    }

    /// [`Encoder::forward`] where the words are projected already: `projected` has a list for each
    /// input table, [words, W], and in it the row of every word that stands in the batch's blocks.
    fn forward_projected(&self, batch: &Batch, projected: &[Buffer], trace: &mut Trace);

    /// The input layers.
    fn inputs(&self) -> Vec<Input<'_>>;

    /// The way back of [`Encoder::forward`] over the same `batch`, for which
    /// [`Batch::plan_rows`] has run: `grad` is ∂L/∂embeddings [texts, L], and `gradients` is
    /// replaced by ∂L/∂tensors. It uses up the trace: errors take the place of states that nothing
    /// needs any more.
    fn backward(&self, batch: &Batch, trace: &mut Trace, grad: &[f32], bptt: Bptt, gradients: &mut Gradients);
}

/// What an encoder computed on the way forward; reused from call to call.
#[derive(Debug, Default)]
pub struct Trace {
    /// Of the recurrent products of both ways.
    pub precision: Precision,
    /// Recurrent weights, rounded.
    pub(crate) packed: Packed,
    /// [texts, L]
    pub embeddings: Vec<f32>,
    /// What happened inside.
    pub states: States,
    /// [distinct words, W], for each input table; only [`Encoder::forward`] fills it.
    pub(crate) projected: Vec<Buffer>,
}

/// The states inside a forward pass, for the way back and for explanations.
#[derive(Debug, Default)]
pub enum States {
    /// No forward pass yet.
    #[default]
    Empty,
    /// Of a [`dssm::Dssm`].
    Dssm(dssm::DssmTrace),
    /// Of a [`clsm::Clsm`].
    Clsm(clsm::ClsmTrace),
    /// Of an [`rnn::Rnn`].
    Rnn(rnn::RnnTrace),
    /// Of an [`lstm::Lstm`].
    Lstm(lstm::LstmTrace),
    /// Of a [`Bidirectional`]: left to right, right to left.
    Bilstm(Box<[lstm::LstmTrace; 2]>),
}

/// ∂L/∂tensors of one encoder, with the working memory to compute them; reused from call to call.
#[derive(Debug, Default)]
pub struct Gradients {
    /// One for each of [`Encoder::tensors`]: of the tensor's shape, but for an input table rows as
    /// `table_rows` numbers them.
    pub tensors: Vec<Matrix>,
    /// For each of [`Batch::touched`], the row of a table's gradient that is its own; a word's row
    /// serves all trigrams that stand in no other word.
    pub table_rows: Vec<u32>,
    /// Σ of the squares of the tables' gradients.
    pub(crate) table_squares: f64,
    pub(crate) scratch: Scratch,
}

/// Working memory of the way back.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// ∂L/∂(what was read of the projection) at each packed row, [rows, W]
    pub(crate) rows: Buffer,
    /// Σ of the squares of each row of a table's gradient.
    pub(crate) squares: Vec<f64>,
    /// One for each block: its share of the dense gradients, and buffers.
    pub(crate) blocks: Vec<BlockScratch>,
    /// Transposes of weights.
    pub(crate) transposed: Vec<Buffer>,
    /// One of recurrent weights, rounded.
    pub(crate) packed: Packed,
    /// Of the words of texts that were read from right to left.
    pub(crate) occurrences: Lists<u32>,
}

/// What one block writes on the way back.
#[derive(Debug, Default)]
pub(crate) struct BlockScratch {
    pub(crate) dense: Vec<Matrix>,
    pub(crate) buffers: [Buffer; 3],
}

impl Gradients {
    /// Makes one matrix a tensor: zeros of the tensor's shape, or any numbers for a table.
    pub(crate) fn shape_like(&mut self, tensors: &[Tensor], batch: &Batch) {
        self.table_squares = 0.0;
        self.table_rows.clone_from(&batch.gradient_rows);
        self.tensors.resize_with(tensors.len(), Matrix::default);
        for (gradient, tensor) in self.tensors.iter_mut().zip(tensors) {
            match tensor.kind {
                // Every row is written whole.
                TensorKind::Table => {
                    gradient.reshape(batch.distinct_words() + batch.shared.len(), tensor.value.columns());
                }
                TensorKind::Dense => gradient.reset(tensor.value.rows(), tensor.value.columns()),
            }
        }
    }
}

impl Scratch {
    /// Room for so many blocks.
    pub(crate) fn shape_blocks(&mut self, blocks: usize) {
        self.blocks.resize_with(blocks.max(self.blocks.len()), BlockScratch::default);
    }
}

impl BlockScratch {
    /// Zeros for each dense tensor, an empty matrix for a table. Each block begins with it, for then its zeros are near.
    pub(crate) fn begin(&mut self, tensors: &[Tensor]) {
        self.dense.resize_with(tensors.len(), Matrix::default);
        for (gradient, tensor) in self.dense.iter_mut().zip(tensors) {
            if tensor.kind == TensorKind::Dense {
                gradient.reset(tensor.value.rows(), tensor.value.columns());
            }
        }
    }
}

/// Runs `forward` on every block with the states that are its own; the only block of a batch at
/// once, for to enter the thread pool costs more than a short text's whole way. Never fewer states
/// than before, so that their memory is reused.
pub(crate) fn for_each_block<T: Default + Send>(
    blocks: &[Block],
    states: &mut Vec<T>,
    forward: impl Fn(&Block, &mut T) + Sync,
) {
    states.resize_with(blocks.len().max(states.len()), T::default);
    match blocks {
        [block] => forward(block, &mut states[0]),
        _ => blocks.par_iter().zip(states).for_each(|(block, states)| forward(block, states)),
    }
}

/// Numbers of a sum over blocks that one task takes.
const SUM_CHUNK: usize = 4096;

/// Adds up the blocks' shares of the dense gradients, in the order of the blocks.
pub(crate) fn reduce_blocks(blocks: &[BlockScratch], tensors: &[Tensor], gradients: &mut [Matrix]) {
    for (i, tensor) in tensors.iter().enumerate() {
        if tensor.kind == TensorKind::Dense {
            gradients[i].data_mut().par_chunks_mut(SUM_CHUNK).enumerate().for_each(|(chunk, sum)| {
                for block in blocks {
                    add(sum, &block.dense[i].data()[chunk * SUM_CHUNK..][..sum.len()]);
                }
            });
        }
    }
}

impl EncoderConfig {
    /// An encoder with all weights zero, over `features` trigrams. The one place that knows all kinds.
    pub fn build(&self, features: usize) -> Box<dyn Encoder> {
        match self {
            EncoderConfig::Dssm { layers } => Box::new(dssm::Dssm::new(features, layers)),
            &EncoderConfig::Clsm { window, convolution, semantic, bias } => {
                Box::new(clsm::Clsm::new(features, window, convolution, semantic, bias))
            }
            &EncoderConfig::Rnn { hidden } => Box::new(rnn::Rnn::new(features, hidden)),
            &EncoderConfig::Lstm(config) => Box::new(lstm::Lstm::new(features, config)),
            &EncoderConfig::Bilstm(config) => Box::new(Bidirectional::new(features, config)),
        }
    }

    /// Number of weights over `features` trigrams; `None` if it cannot be counted.
    pub fn parameters(&self, features: usize) -> Option<u64> {
        let features = features as u64;
        let product = |a: u64, b: usize| a.checked_mul(b as u64);
        match self {
            EncoderConfig::Dssm { layers } => {
                let mut inputs = features;
                layers.iter().try_fold(0u64, |sum, &units| {
                    let layer = product(inputs.checked_add(1)?, units)?;
                    inputs = units as u64;
                    sum.checked_add(layer)
                })
            }
            &EncoderConfig::Clsm { window, convolution, semantic, bias } => {
                let table = product(product(features.checked_add(1)?, window)?, convolution)?;
                let biases = if bias { convolution + semantic } else { 0 };
                table.checked_add(product(convolution as u64, semantic)?)?.checked_add(biases as u64)
            }
            &EncoderConfig::Rnn { hidden } => product(features.checked_add(hidden as u64 + 1)?, hidden),
            EncoderConfig::Lstm(config) => config.parameters(features),
            EncoderConfig::Bilstm(config) => config.parameters(features)?.checked_mul(2),
        }
    }

    /// The kind's name: `lstm`, `bilstm`, `rnn`, `clsm` or `dssm`.
    pub fn kind(&self) -> &'static str {
        match self {
            EncoderConfig::Dssm { .. } => "dssm",
            EncoderConfig::Clsm { .. } => "clsm",
            EncoderConfig::Rnn { .. } => "rnn",
            EncoderConfig::Lstm(_) => "lstm",
            EncoderConfig::Bilstm(_) => "bilstm",
        }
    }

    /// The first size that no encoder can have, with why; `None` if all are fine.
    pub fn fault(&self) -> Option<SizeFault> {
        let sizes: Vec<usize> = match self {
            EncoderConfig::Dssm { layers } => layers.clone(),
            EncoderConfig::Clsm { window, convolution, semantic, .. } => {
                if window % 2 == 0 || *window > MAX_WINDOW {
                    return Some(SizeFault::Window(*window));
                }
                vec![*convolution, *semantic]
            }
            EncoderConfig::Rnn { hidden } => vec![*hidden],
            EncoderConfig::Lstm(config) | EncoderConfig::Bilstm(config) => vec![config.cells],
        };
        if sizes.is_empty() || sizes.len() > MAX_LAYERS {
            return Some(SizeFault::Layers(sizes.len()));
        }
        sizes.into_iter().find(|&size| size == 0 || size > MAX_UNITS).map(SizeFault::Units)
    }
}

impl LstmConfig {
    fn parameters(&self, features: u64) -> Option<u64> {
        let cells = self.cells as u64;
        let inputs = features.checked_add(cells)?.checked_add(1)?;
        let gates = inputs.checked_mul(cells)?.checked_mul(self.gates() as u64)?;
        let peephole = match self.peephole {
            Peephole::None => 0,
            Peephole::Diagonal => cells,
            Peephole::Full => cells * cells,
        };
        gates.checked_add(peephole * (self.gates() as u64 - 1))
    }
}

/// Bounds on what a configuration may ask for, so that a hostile file cannot ask for all memory.
const MAX_UNITS: usize = 16_384;
const MAX_LAYERS: usize = 16;
const MAX_WINDOW: usize = 31;

/// A size that no encoder can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SizeFault {
    /// A window that is even or too long.
    #[error("expected a window of an odd number of words, at most {MAX_WINDOW}, found {0}")]
    Window(usize),
    /// A layer without units or with too many.
    #[error("expected 1 to {MAX_UNITS} units in a layer, found {0}")]
    Units(usize),
    /// No layer or too many.
    #[error("expected 1 to {MAX_LAYERS} layers, found {0}")]
    Layers(usize),
}

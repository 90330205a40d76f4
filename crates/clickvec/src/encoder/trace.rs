//! The states that an encoder computed for a batch, and a reader that looks them up by text and word.
//!
//! Inside, texts are packed step by step, but callers need not know. A [`StateReader`] takes a text and a word, always
//! in the text's own order, and gives the same answers for a batch of one and of many.

use crate::math::Buffer;
use crate::text::batch::{Batch, Block};
use std::any::Any;
use std::borrow::Cow;
use std::fmt;

/// The states that an encoder computed in a forward pass. Reused from call to call.
#[derive(Debug, Default)]
pub struct Trace {
    /// Whether to keep the inputs of activations too ([`Stage::Before`]). The backward pass and most readers need only
    /// the outputs, and copying takes time.
    pub keep_inputs: bool,
    /// Vectors of the texts, [texts, L].
    pub embeddings: Vec<f32>,
    /// The states inside.
    pub(crate) states: Held,
    /// [distinct words, W], for each input matrix; only [`super::Encoder::forward`] fills it.
    pub(crate) projected: Vec<Buffer>,
}

impl Trace {
    /// Returns a reader of the states of `batch`, which must be the batch of the last forward pass. `None` if there was no
    /// forward pass over this many texts and words, or if a backward pass has used its states up.
    pub fn reader<'t>(&'t self, batch: &'t Batch) -> Option<StateReader<'t>> {
        let states = self.states.states.as_deref()?;
        if self.states.of != Some((batch.texts(), batch.rows())) {
            return None;
        }
        let mut slots = vec![None; batch.texts()];
        for (number, block) in batch.blocks.iter().enumerate() {
            for (index, &text) in block.texts.iter().enumerate() {
                slots[text as usize] = Some(Slot { number, block, index, length: block.length(index) });
            }
        }
        Some(StateReader { states, embeddings: &self.embeddings, slots })
    }
}

/// A state of an encoder: a vector that it has for each word, or for each text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// y_g of an LSTM, what a word would write to the cells; for each word.
    CellInput,
    /// i of an LSTM, how far the cells open to the word; for each word.
    InputGate,
    /// f of an LSTM with a forget gate: the share of the cells that remains; for each word.
    ForgetGate,
    /// o of an LSTM: how much of the cells is shown; for each word.
    OutputGate,
    /// z of a GRU: how much of its state is replaced; for each word.
    UpdateGate,
    /// r of a GRU: how much of its state the candidate sees; for each word.
    ResetGate,
    /// ỹ of a GRU, what a word would replace its state by; for each word.
    Candidate,
    /// c of an LSTM, the cell states after a word. They have no activation of their own.
    Cell,
    /// y(t) of an RNN, GRU or LSTM, the output after a word. Of the latter two it has no activation of its own.
    Activation,
    /// h_t of a CLSM: features of the window around a word.
    Window,
    /// v of a CLSM: the maximum of its windows; for each text.
    Maximum,
    /// The output of a fully connected layer, counted from 0; for each text. A DSSM has several, a CLSM one.
    Layer(usize),
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::CellInput => f.write_str("cell input"),
            State::InputGate => f.write_str("input gate"),
            State::ForgetGate => f.write_str("forget gate"),
            State::OutputGate => f.write_str("output gate"),
            State::UpdateGate => f.write_str("update gate"),
            State::ResetGate => f.write_str("reset gate"),
            State::Candidate => f.write_str("candidate"),
            State::Cell => f.write_str("cell state"),
            State::Activation => f.write_str("activation"),
            State::Window => f.write_str("window"),
            State::Maximum => f.write_str("maximum"),
            State::Layer(layer) => write!(f, "layer {}", layer + 1),
        }
    }
}

/// The order in which an encoder reads words. It never changes the order of a [`StateReader`]'s answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the first word to the last.
    #[default]
    Forward,
    /// From the last word to the first: the second half of a bidirectional LSTM.
    Backward,
}

/// Before or after the activation function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The input of tanh or σ.
    Before,
    /// Its output.
    After,
}

/// A state, read in a direction, before or after its activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quantity {
    /// The state.
    pub state: State,
    /// The half of a bidirectional encoder; [`Direction::Forward`] for all others.
    pub direction: Direction,
    /// Before or after its activation.
    pub stage: Stage,
}

impl From<State> for Quantity {
    /// Returns the state after its activation, read forward.
    fn from(state: State) -> Quantity {
        Quantity { state, direction: Direction::Forward, stage: Stage::After }
    }
}

impl State {
    /// Returns the state in an encoder that reads in this direction, after its activation.
    pub fn read(self, direction: Direction) -> Quantity {
        Quantity { direction, ..self.into() }
    }

    /// Returns the state before its activation, read forward.
    pub fn before(self) -> Quantity {
        Quantity::from(self).before()
    }
}

impl Quantity {
    /// Returns the same before its activation.
    pub fn before(self) -> Quantity {
        Quantity { stage: Stage::Before, ..self }
    }
}

/// A reader of a [`Trace`] by the number of a text in the batch.
pub struct StateReader<'t> {
    states: &'t dyn States,
    embeddings: &'t [f32],
    /// The slot of each text; `None` for a text without words.
    slots: Vec<Option<Slot<'t>>>,
}

impl<'t> StateReader<'t> {
    /// Returns the number of texts.
    pub fn texts(&self) -> usize {
        self.slots.len()
    }

    /// Returns the states of the text with this number.
    ///
    /// # Panics
    ///
    /// If there is no such text.
    pub fn text(&self, text: usize) -> TextStates<'t> {
        let dimension = self.embeddings.len() / self.slots.len();
        let embedding = &self.embeddings[text * dimension..][..dimension];
        TextStates { states: self.states, slot: self.slots[text], embedding }
    }
}

/// The states of one text.
#[derive(Clone, Copy)]
pub struct TextStates<'t> {
    states: &'t dyn States,
    slot: Option<Slot<'t>>,
    embedding: &'t [f32],
}

impl<'t> TextStates<'t> {
    /// Returns the number of words that the encoder read.
    pub fn words(&self) -> usize {
        self.slot.map_or(0, |slot| slot.length)
    }

    /// Returns the text's vector as the encoder computes it, without scaling to unit length.
    pub fn embedding(&self) -> &'t [f32] {
        self.embedding
    }

    /// Returns the states that each word has: every state in every direction, after its activation.
    pub fn word_quantities(&self) -> Vec<Quantity> {
        self.states.word_quantities()
    }

    /// Returns the states that the text as a whole has, after their activations.
    pub fn text_quantities(&self) -> Vec<Quantity> {
        self.states.text_quantities()
    }

    /// Returns all units of a state at word `word` of the text. `None` if the encoder has no such state for words (or none before
    /// its activation), or if the text has fewer words.
    pub fn at(&self, quantity: impl Into<Quantity>, word: usize) -> Option<Cow<'t, [f32]>> {
        let slot = self.slot.filter(|slot| word < slot.length)?;
        self.states.at(slot, quantity.into(), word)
    }

    /// Returns all units of a state of the whole text. `None` as in [`TextStates::at`], and for a text without words.
    pub fn at_text(&self, quantity: impl Into<Quantity>) -> Option<Cow<'t, [f32]>> {
        self.states.at_text(self.slot?, quantity.into())
    }

    /// Returns, for each unit of [`State::Maximum`], the word at whose window it was largest, or the first of several.
    pub fn winners(&self) -> Option<&'t [u32]> {
        self.states.winners(self.slot?)
    }
}

/// The slot of a text in a batch.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'t> {
    /// The number of the block.
    pub(crate) number: usize,
    block: &'t Block,
    /// The slot of the text in the block.
    pub(crate) index: usize,
    length: usize,
}

impl Slot<'_> {
    /// Returns the row of the block that was written when `word` was read in this direction.
    pub(crate) fn row(self, direction: Direction, word: usize) -> usize {
        let step = match direction {
            Direction::Forward => word,
            Direction::Backward => self.length - 1 - word,
        };
        self.block.row(self.index, step)
    }

    /// Returns the same row, counted over all blocks of the batch.
    pub(crate) fn batch_row(self, direction: Direction, word: usize) -> usize {
        self.block.first_row as usize + self.row(direction, word)
    }
}

/// The states of one kind of encoder over a batch. Each encoder's file says how they are stored.
pub(crate) trait States: Any + fmt::Debug + Send + Sync {
    /// Returns the states that every word has, after activation.
    fn word_quantities(&self) -> Vec<Quantity> {
        Vec::new()
    }

    /// Returns the states that every text has, after activation.
    fn text_quantities(&self) -> Vec<Quantity> {
        Vec::new()
    }

    /// Returns a state at a word of the text at `slot`.
    fn at(&self, _place: Slot<'_>, _quantity: Quantity, _word: usize) -> Option<Cow<'_, [f32]>> {
        None
    }

    /// Returns a state of the text at `slot`.
    fn at_text(&self, _place: Slot<'_>, _quantity: Quantity) -> Option<Cow<'_, [f32]>> {
        None
    }

    /// Returns the words that won each unit of a maximum.
    fn winners(&self, _place: Slot<'_>) -> Option<&[u32]> {
        None
    }
}

/// The states of the last forward pass, of any kind of encoder.
#[derive(Debug, Default)]
pub(crate) struct Held {
    states: Option<Box<dyn States>>,
    /// The texts and packed rows of the batch; `None` before a forward pass and after a backward pass.
    of: Option<(usize, usize)>,
}

impl Held {
    /// Returns the states for a forward pass over `batch`, reusing those of the previous pass if they are of the same kind.
    pub(crate) fn begin<T: States + Default>(&mut self, batch: &Batch) -> &mut T {
        self.of = Some((batch.texts(), batch.rows()));
        let states = self.states.get_or_insert_with(|| Box::<T>::default());
        if !(&**states as &dyn Any).is::<T>() {
            *states = Box::<T>::default();
        }
        (&mut **states as &mut dyn Any).downcast_mut().expect("of this kind now")
    }

    /// Returns the states for the backward pass, which may overwrite what it has read.
    pub(crate) fn spend<T: States>(&mut self) -> &mut T {
        assert!(self.of.take().is_some(), "a backward pass without its forward pass");
        let states = self.states.as_deref_mut().map(|states| states as &mut dyn Any);
        states.and_then(|states| states.downcast_mut()).expect("states of this encoder")
    }
}

/// Returns row `row` of a matrix whose rows are `width` wide; `None` if the matrix was not stored.
pub(crate) fn row(matrix: &[f32], row: usize, width: usize) -> Option<Cow<'_, [f32]>> {
    matrix.get(row * width..(row + 1) * width).map(Cow::Borrowed)
}

//! A text with everything that the encoder computed for it.

use super::Explainer;
use crate::encoder::{Direction, Quantity, State, TextStates};
use crate::math::vector::scale_to_unit;
use crate::model::Side;
use crate::text::{ReadWords, WordBuffer};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// A word as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Word {
    /// The word after normalisation; of a merged tail, its words with spaces between them.
    #[serde(rename = "word")]
    pub text: String,
    /// Whether the model knows any of its letter trigrams.
    pub known: bool,
    /// The number of words in it: 1, or more in a merged tail.
    pub parts: usize,
}

impl Word {
    /// Returns the word for a reader; a merged tail as `… (5 words)`.
    pub fn shown(&self) -> Cow<'_, str> {
        match self.parts {
            1 => Cow::Borrowed(&self.text),
            parts => Cow::Owned(format!("… ({parts} words)")),
        }
    }
}

/// A state at each word of a text, in the order of the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The state.
    pub quantity: Quantity,
    /// Number of units.
    pub units: usize,
    /// [words, units]
    pub values: Vec<f32>,
}

impl Panel {
    /// Returns all units at a word.
    pub fn at(&self, word: usize) -> &[f32] {
        &self.values[word * self.units..][..self.units]
    }
}

/// Writes the state, the direction, and the values of all units at each word.
impl Serialize for Panel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Rows<'a> {
            state: String,
            direction: Direction,
            values: Vec<&'a [f32]>,
        }
        let Quantity { state, direction, .. } = self.quantity;
        let values = self.values.chunks_exact(self.units.max(1)).collect();
        Rows { state: state.to_string(), direction, values }.serialize(serializer)
    }
}

/// A text with everything that the encoder computed for it.
#[derive(Debug, Clone, PartialEq)]
pub struct TextView {
    /// The text, before it is split into words.
    pub text: String,
    /// The tower that read it.
    pub side: Side,
    /// The words that the encoder read. The last is a merged tail if the text was longer than the model's limit and the
    /// model merges tails.
    pub words: Vec<Word>,
    /// The number of further words, which the encoder did not read because they exceed the model's limit; 0 if the model
    /// merges tails.
    pub cut: usize,
    /// The vector, of unit length; zeros if the text has no word.
    pub vector: Vec<f32>,
    /// The length of the vector before scaling to unit length.
    pub length: f64,
    /// States at each word.
    pub panels: Vec<Panel>,
    /// The max-pooling units; empty for encoders without max-pooling.
    pub maximum: Vec<f32>,
    /// For each max-pooling unit, the word that won it; empty for encoders without max-pooling.
    pub winners: Vec<u32>,
}

impl TextView {
    /// Returns a state over the words, if the encoder has it.
    pub fn panel(&self, quantity: impl Into<Quantity>) -> Option<&Panel> {
        let quantity = quantity.into();
        self.panels.iter().find(|panel| panel.quantity == quantity)
    }

    /// Returns the activations y(t) of each direction in which the encoder reads; empty for encoders that are not recurrent.
    pub fn activations(&self) -> Vec<&Panel> {
        let directions = [Direction::Forward, Direction::Backward];
        directions.into_iter().filter_map(|direction| self.panel(State::Activation.read(direction))).collect()
    }

    /// Returns whether the vector is made of these activations, each taken after the last word that its direction reads.
    pub fn ends_in(&self, activations: &[&Panel]) -> bool {
        let last = |panel: &&Panel| match panel.quantity.direction {
            Direction::Forward => panel.at(self.words.len() - 1).to_vec(),
            Direction::Backward => panel.at(0).to_vec(),
        };
        !self.words.is_empty() && unit(&activations.iter().flat_map(last).collect::<Vec<f32>>()) == self.vector
    }

    /// Returns the words, leaving out word `out`.
    pub fn without(&self, out: usize) -> ReadWords<'_> {
        let words = self.words.iter().enumerate().filter(|&(word, _)| word != out);
        ReadWords(words.map(|(_, word)| word.text.as_str()).collect())
    }

    /// Returns the first `n` words.
    pub fn first(&self, n: usize) -> ReadWords<'_> {
        ReadWords(self.words[..n].iter().map(|word| word.text.as_str()).collect())
    }
}

/// Returns the change of each unit at each word: y(t) minus y at the word read before it, in the panel's direction; for the
/// word that is read first, y itself. [words, units]
pub(super) fn changes(panel: &Panel, words: usize) -> Vec<Vec<f32>> {
    let before = |word: usize| match panel.quantity.direction {
        Direction::Forward => word.checked_sub(1),
        Direction::Backward => Some(word + 1).filter(|&word| word < words),
    };
    let change = |word: usize| match before(word) {
        Some(before) => panel.at(word).iter().zip(panel.at(before)).map(|(now, before)| now - before).collect(),
        None => panel.at(word).to_vec(),
    };
    (0..words).map(change).collect()
}

/// Returns a vector divided by its length; zeros stay zeros.
pub fn unit(vector: &[f32]) -> Vec<f32> {
    let mut unit = vector.to_vec();
    scale_to_unit(&mut unit);
    unit
}

fn length(vector: &[f32]) -> f64 {
    vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}

impl Explainer<'_> {
    /// Returns [`Explainer::text`] of many texts.
    pub fn texts<S: AsRef<str>>(&self, side: Side, texts: &[S]) -> Vec<TextView> {
        let mut views = Vec::with_capacity(texts.len());
        let mut buffer = WordBuffer::default();
        self.read(side, texts, |number, states| {
            views.push(self.view(side, texts[number].as_ref(), states, &mut buffer));
        });
        views
    }

    fn view(&self, side: Side, text: &str, states: TextStates<'_>, buffer: &mut WordBuffer) -> TextView {
        let (words, all) = self.words(text, buffer);
        let read = words.len();
        let panel = |quantity| {
            let rows: Vec<_> = (0..read).filter_map(|word| states.at(quantity, word)).collect();
            Panel { quantity, units: rows.first().map_or(0, |row| row.len()), values: rows.concat() }
        };
        TextView {
            text: text.to_owned(),
            side,
            cut: all - words.iter().map(|word| word.parts).sum::<usize>(),
            words,
            vector: unit(states.embedding()),
            length: length(states.embedding()),
            panels: states.word_quantities().into_iter().map(panel).collect(),
            maximum: states.at_text(State::Maximum).map(Cow::into_owned).unwrap_or_default(),
            winners: states.winners().unwrap_or_default().to_vec(),
        }
    }
}

//! Words that are most similar to a word.

use super::text::unit;
use super::{Explainer, keywords::largest};
use crate::math::score::score;
use crate::model::Side;
use crate::text::Feature;

/// Where words are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// What the input layer makes of a word, without the biases: what its spelling means.
    Input,
    /// The vector of the word as a text of its own.
    Embedding,
}

/// A word and how similar it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// The word.
    pub word: String,
    /// The cosine.
    pub cosine: f32,
}

/// The vectors of a vocabulary, in which neighbours are looked for.
pub struct Neighbours {
    words: Vec<String>,
    vectors: Vec<Vec<f32>>,
}

impl Neighbours {
    /// The vectors of `words`, as they are on one side of the model. Unknown words are left out.
    pub fn new(explainer: &Explainer<'_>, side: Side, space: Space, words: Vec<String>) -> Neighbours {
        let words: Vec<String> = words.into_iter().filter(|word| explainer.knows(word)).collect();
        let vectors = match space {
            Space::Embedding => explainer.unit_vectors(side, &words),
            Space::Input => words.iter().map(|word| explainer.input(side, word)).collect(),
        };
        Neighbours { words, vectors }
    }

    /// The `n` words most similar to `word`, most similar first, itself left out. `None` if it is not among the words.
    pub fn nearest(&self, word: &str, n: usize) -> Option<Vec<Neighbour>> {
        let own = self.words.iter().position(|each| each == word)?;
        let cosines: Vec<f32> = self.vectors.iter().map(|vector| score(&self.vectors[own], vector)).collect();
        let nearest = largest(&cosines, n.saturating_add(1), |cosine| cosine).into_iter().filter(|&other| other != own);
        let neighbour = |other: usize| Neighbour { word: self.words[other].clone(), cosine: cosines[other] };
        Some(nearest.take(n).map(neighbour).collect())
    }
}

impl Explainer<'_> {
    /// The sum of the word's rows in every input table, of unit length.
    fn input(&self, side: Side, word: &str) -> Vec<f32> {
        let mut features: Vec<Feature> = Vec::new();
        self.model.dictionary().hash_word(word, &mut features);
        let mut sums = Vec::new();
        for input in self.model.encoder(side).inputs() {
            let start = sums.len();
            sums.resize(start + input.width(), 0.0);
            input.table.sum_rows(&features, &mut sums[start..]);
        }
        unit(&sums)
    }
}

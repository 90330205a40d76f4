//! The words most similar to a word.

use clickvec::explain::Explainer;
use clickvec::internals::explain::{largest, unit};
use clickvec::internals::math::score::score;
use clickvec::internals::math::vector::scale_to_unit;
use clickvec::model::Side;
use clickvec_eval::ranker::{InnerWords, Ranker};
use clickvec_report::report::{Cell, Column, Report, Table};
use serde::Serialize;

/// The space in which words are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// The output of the input layer for the word, without biases: it knows a word by its letter trigrams.
    Input,
    /// The vector of the word as a text of its own, trained on clicks.
    Embedding,
}

impl Space {
    /// Both spaces, with their names.
    pub const ALL: [(&str, Space); 2] = [("input layer", Space::Input), ("embedding", Space::Embedding)];
}

/// A word and how similar it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Neighbour {
    /// The word.
    pub word: String,
    /// The cosine.
    pub cosine: f32,
}

/// The words most similar to a word in one space.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Near {
    /// The word that they are similar to.
    pub word: String,
    /// The space, or the ranker whose vectors they are.
    pub space: String,
    /// The words, most similar first.
    pub neighbours: Vec<Neighbour>,
}

/// The vectors of a vocabulary, to find neighbours among.
pub struct Neighbours {
    words: Vec<String>,
    /// Of unit length, [words, dimension].
    vectors: Vec<f32>,
    dimension: usize,
}

impl Neighbours {
    /// Reads the vectors of `words` on one side of the model. Unknown words are left out.
    pub fn new(explainer: &Explainer<'_>, side: Side, space: Space, words: Vec<String>) -> Neighbours {
        let words: Vec<String> = words.into_iter().filter(|word| explainer.knows(word)).collect();
        let vectors = match space {
            Space::Embedding => explainer.unit_vectors(side, &words).concat(),
            Space::Input => words.iter().flat_map(|word| unit(&explainer.input_sums(side, word))).collect(),
        };
        let dimension = vectors.len() / words.len().max(1);
        Neighbours { words, vectors, dimension }
    }

    /// Reads the word vectors of a ranker that has some, such as Doc2Vec (LSTM paper, Appendix F), for all its words or for those in
    /// `wanted`. `None` if the ranker has no word vectors.
    pub fn from_ranker(ranker: &dyn Ranker, wanted: Option<&[String]>) -> Option<Neighbours> {
        let InnerWords { words: vocabulary, vectors: table, dimension } = ranker.word_vectors()?;
        let all = || (0..vocabulary.len()).collect::<Vec<usize>>();
        let known = |words: &[String]| words.iter().filter_map(|word| Some(vocabulary.get(word)? as usize)).collect();
        let numbers: Vec<usize> = wanted.map_or_else(all, known);
        let mut vectors = Vec::with_capacity(numbers.len() * dimension);
        for &number in &numbers {
            vectors.extend_from_slice(&table[number * dimension..][..dimension]);
        }
        vectors.chunks_exact_mut(dimension.max(1)).for_each(scale_to_unit);
        let words = numbers.iter().map(|&number| vocabulary.word(number as u32).to_owned()).collect();
        Some(Neighbours { words, vectors, dimension })
    }

    /// Returns the `n` words most similar to `word`, most similar first, without `word` itself. `None` if `word` is unknown.
    pub fn nearest(&self, word: &str, n: usize) -> Option<Vec<Neighbour>> {
        let own = self.words.iter().position(|each| each == word)?;
        let vector = |word: usize| &self.vectors[word * self.dimension..][..self.dimension];
        let cosines: Vec<f32> = (0..self.words.len()).map(|other| score(vector(own), vector(other))).collect();
        let nearest = largest(&cosines, n.saturating_add(1), |cosine| cosine).into_iter().filter(|&other| other != own);
        let neighbour = |other: usize| Neighbour { word: self.words[other].clone(), cosine: cosines[other] };
        Some(nearest.take(n).map(neighbour).collect())
    }
}

/// Reports the neighbours in each space side by side.
pub fn neighbour_report(spaces: &[Near]) -> Report {
    let mut report = Report::default();
    let columns = spaces.iter().flat_map(|near| [Column::text(near.space.clone()), Column::share("", 1.0)]);
    let mut table = Table::new(columns);
    for row in 0..spaces.first().map_or(0, |near| near.neighbours.len()) {
        let cells = spaces.iter().flat_map(|near| {
            let Neighbour { word, cosine } = &near.neighbours[row];
            [Cell::from(word.clone()), Cell::share((*cosine).into())]
        });
        table.add(cells);
    }
    report.table(table);
    if spaces.len() > 1 {
        report.note("The input layer knows the spelling of words; the embedding knows what was clicked.");
    }
    report
}

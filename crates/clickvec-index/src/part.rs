//! The parts of an index that find titles, each by itself.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

/// A part of an index that finds titles. Its score is BM25 for words, and a cosine for all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The model's vectors: titles that mean what the query means.
    Vectors,
    /// The words: titles that have the query's words, by BM25.
    Words,
    /// The letter trigrams: titles with words that are spelled alike.
    Trigrams,
    /// Vectors that another program made, a transformer for example.
    Teacher,
}

impl Part {
    /// All parts, in the order in which they are shown.
    pub const ALL: [Part; 4] = [Part::Vectors, Part::Words, Part::Trigrams, Part::Teacher];

    /// Returns the name, as in requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            Part::Vectors => "vectors",
            Part::Words => "words",
            Part::Trigrams => "trigrams",
            Part::Teacher => "teacher",
        }
    }
}

impl Display for Part {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

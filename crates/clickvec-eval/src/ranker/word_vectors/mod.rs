//! Pretrained vectors: averaged word vectors, or vectors of whole texts from another program.

mod builder;
mod candidates;
mod fitted;
#[cfg(test)]
mod tests;
mod weighted;

use std::path::Path;

use rayon::prelude::*;

use self::builder::Vectors;
use self::candidates::VectorCandidates;
use self::fitted::Fitted;
use self::weighted::{WeightedVectors, dot};
use super::state::RankerState;
use super::stored;
use super::system::{Parameter, Progress, Resources, System, Values, Watch};
use super::text_vectors::TextReader;
use super::{InnerWords, Ranker, RankerSpec, SystemRanker};
use crate::ranker::Candidates;
use clickvec::index::FlatIndex;
use clickvec::internals::vector_file::fault::other_dimension;
use clickvec::model::Side;
use clickvec_tables::memory::room_for_numbers;
use clickvec_tables::{Error, ErrorKind};
use clickvec_tables::{Result, damaged};

/// The parameter for vectors of texts that the file lacks.
const RIDGE: &str = "ridge";

const IDF: &str = "idf";

/// What the names of the tensors of the queries' own vectors begin with.
const OF_QUERIES: &str = "query_";

/// The system before training: name, parameters, how to train and restore it.
pub(super) const SYSTEM: System = System {
    name: "vectors",
    about: "vectors of words, averaged, or of texts, from word2vec, fastText, GloVe or NumPy",
    parameters: &[
        Parameter::training(
            RIDGE,
            0.0,
            0.0,
            1e6,
            "above 0, texts that the file lacks get a vector from their trigrams and words, fitted to the titles' vectors by ridge \
             regression; this is its λ",
        ),
        Parameter::scoring(IDF, 0.0, 0.0, 4.0, "the power of a word's idf in the mean; 0 weighs all words alike"),
    ],
    files: &["file", "queries", "titles"],
    one_above_zero: &[],
    train: |values, resources, watch| Ok(Box::new(WordVectors::train(values, resources, watch)?)),
    restore: |values, state| Ok(Box::new(WordVectors::restore(values, state)?)),
};

/// The cosine of the vectors of two texts.
///
/// A text that the file contains as a whole has that vector. Any other text has the sum of its words' vectors, each
/// times idfᵉ of the word, where e is the parameter `idf`. (A cosine does not change if the sum is divided, so this is
/// also the cosine of the mean.) idf = ln(1 + (N − df + ½) / (df + ½)) for the collection's N titles, as in BM25. A
/// word that is not in the file is left out. A text without known words has the zero vector, whose cosine with
/// anything is 0. Queries and titles have the same file, or one each, of the same dimension.
///
/// With a `ridge` above 0, a text that the file does not contain as a whole has the sum of rows for its letter trigrams and words
/// instead, which are fitted to the vectors of the collection's titles. So a transformer's vectors of titles are enough: nobody has to
/// run it for a query.
#[derive(Debug, Clone)]
pub struct WordVectors {
    /// The vectors of titles and, unless they have their own, of queries.
    titles: WeightedVectors,
    queries: Option<WeightedVectors>,
    /// For texts of either side that have none.
    fitted: Option<Fitted>,
    /// The number of titles in the collection.
    documents: u64,
    ridge: f64,
    idf: f64,
}

impl WordVectors {
    fn train(values: &Values, resources: &Resources<'_>, watch: &mut Watch<'_>) -> Result<WordVectors> {
        let fault = |expected: &'static str, found: String| {
            Error::expected(ErrorKind::Setting, expected, found).within(SYSTEM.name)
        };
        let (queries, titles) = match ["file", "queries", "titles"].map(|name| resources.file(name)) {
            [None, None, None] => {
                let error = fault("a file of vectors that another program trained", "none".to_owned());
                return Err(error.help("name it as in `vectors:file=words.vec`"));
            }
            [Some(both), None, None] => (None, both),
            [None, Some(queries), Some(titles)] => (Some(WeightedVectors::read(queries, resources.corpus)?), titles),
            _ => {
                let expected = "`file`, or `queries` and `titles`";
                let found: Vec<_> = resources.files.iter().map(|(name, _)| format!("`{name}`")).collect();
                return Err(fault(expected, found.join(" and ")));
            }
        };
        let titles = WeightedVectors::read(titles, resources.corpus)?;
        let dimension = titles.vectors.dimension;
        if let Some(found) = queries.as_ref().map(|side| side.vectors.dimension).filter(|&found| found != dimension) {
            return Err(other_dimension(found, dimension).within(SYSTEM.name));
        }
        let fitted = match values.get(RIDGE) {
            0.0 => None,
            // The smallest are 0 in 32 bits, with which there may be many solutions.
            ridge => {
                let ridge = (ridge as f32).max(f32::MIN_POSITIVE);
                Some(Fitted::to(&titles.vectors, resources.corpus, ridge, watch)?)
            }
        };
        watch(Progress { done: 1, of: 1, objective: None });
        Ok(WordVectors::new(titles, queries, fitted, resources.corpus.titles.len() as u64, values))
    }

    fn new(
        titles: WeightedVectors,
        queries: Option<WeightedVectors>,
        fitted: Option<Fitted>,
        documents: u64,
        values: &Values,
    ) -> WordVectors {
        let mut ranker = WordVectors { titles, queries, fitted, documents, ridge: values.get(RIDGE), idf: 0.0 };
        ranker.tune(values);
        ranker
    }

    fn restore(values: &Values, state: &RankerState) -> Result<WordVectors, clickvec_tables::Error> {
        let titles = WeightedVectors::restore(state, "")?;
        let queries = if state.has(&format!("{OF_QUERIES}word_vectors")) {
            Some(WeightedVectors::restore(state, OF_QUERIES)?)
        } else {
            None
        };
        if let Some(queries) = &queries
            && queries.vectors.dimension != titles.vectors.dimension
        {
            let [titles, found] = [&titles, queries].map(|side| side.vectors.dimension);
            return Err(damaged::content(
                format!("{OF_QUERIES}word_vectors"),
                format!("vectors of {titles} numbers, as for titles"),
                found,
            ));
        }
        let documents = state.f64s("documents", &[Some(1)])?[0];
        let counts = [Some(&titles), queries.as_ref()].into_iter().flatten().flat_map(|side| &side.document_frequency);
        let most = counts.copied().max().unwrap_or(0);
        if documents < f64::from(most) || documents.fract() != 0.0 {
            return Err(damaged::count("documents", most, documents));
        }
        let fitted = match values.get(RIDGE) {
            0.0 => None,
            _ => Some(Fitted::restore(state, titles.vectors.dimension)?),
        };
        Ok(WordVectors::new(titles, queries, fitted, documents as u64, values))
    }

    /// The trained `vectors` in a file.
    ///
    /// # Errors
    /// [`ErrorKind::Io`], or an error if the file is of another system or not valid.
    pub fn load(path: &Path) -> Result<WordVectors> {
        let (system, values, state) = stored::ranker::load_state(path, &[&SYSTEM])?;
        let in_file = |error: Error| error.at(path);
        if system.name != SYSTEM.name {
            return Err(in_file(damaged::other_kind(SYSTEM.name, system.name)));
        }
        WordVectors::restore(&values, &state).map_err(in_file)
    }

    /// Writes it as the file of a trained `vectors`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub fn save(&self, path: &Path) -> Result<()> {
        let parameters = [(RIDGE, self.ridge), (IDF, self.idf)].map(|(name, value)| (name.to_owned(), value)).into();
        let spec = RankerSpec { name: SYSTEM.name.to_owned(), parameters, ..RankerSpec::default() };
        SYSTEM.save(path, &SYSTEM.values(&spec).expect("its own parameters"), self)
    }

    /// The numbers of a vector.
    pub fn dimension(&self) -> usize {
        self.titles.vectors.dimension
    }

    /// The vector of a text before normalisation, and its length.
    fn vector(&self, reader: &mut TextReader, side: Side, text: &str) -> (Vec<f64>, f64) {
        let vectors = self.vectors(side);
        match &self.fitted {
            Some(fitted) if vectors.vectors.text_vector(reader, text).is_none() => fitted.vector(text),
            _ => vectors.vector(reader, text),
        }
    }

    /// The vector of a text with length 1; `None` if it has none.
    pub fn unit(&self, side: Side, text: &str) -> Option<Vec<f32>> {
        let (vector, length) = self.vector(&mut TextReader::default(), side, text);
        (length > 0.0).then(|| vector.iter().map(|x| (x / length) as f32).collect())
    }

    /// The vectors of `count` titles with length 1, zeros for those that have none; `title` has the titles by their positions.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub fn index_titles<'t>(&self, count: usize, title: impl Fn(usize) -> &'t str + Sync) -> Result<FlatIndex> {
        let dimension = self.dimension();
        // An index has codes besides.
        room_for_numbers::<f32>("the vectors of titles", &[&[2, count, dimension]])?;
        let mut vectors = vec![0.0f32; count * dimension];
        vectors.par_chunks_mut(dimension).enumerate().for_each(|(position, row)| {
            if let Some(vector) = self.unit(Side::Title, title(position)) {
                row.copy_from_slice(&vector);
            }
        });
        FlatIndex::new(dimension, vectors)
    }

    /// The vectors for queries or for titles.
    fn vectors(&self, side: Side) -> &WeightedVectors {
        match (side, &self.queries) {
            (Side::Query, Some(queries)) => queries,
            _ => &self.titles,
        }
    }
}

impl Ranker for WordVectors {
    fn name(&self) -> &str {
        SYSTEM.name
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        let mut reader = TextReader::default();
        let (query, query_length) = self.vector(&mut reader, Side::Query, query);
        let cosine = |title: &&str| {
            let (title, length) = self.vector(&mut reader, Side::Title, title);
            let product = query_length * length;
            if product > 0.0 { dot(&query, &title) / product } else { 0.0 }
        };
        titles.iter().map(cosine).collect()
    }

    fn has_vector(&self, text: &str, side: Side) -> Option<bool> {
        Some(match &self.fitted {
            Some(_) => self.unit(side, text).is_some(),
            None => self.vectors(side).has(text),
        })
    }

    fn candidates<'a>(&'a self, titles: &'a [&'a str]) -> Result<Box<dyn Candidates + 'a>> {
        Ok(Box::new(VectorCandidates::new(self, titles)?))
    }

    fn word_vectors(&self) -> Option<InnerWords<'_>> {
        let Vectors { dimension, vocabulary, words, .. } = &self.titles.vectors;
        Some(InnerWords { words: vocabulary, vectors: words.as_slice().into(), dimension: *dimension })
    }
}

impl SystemRanker for WordVectors {
    fn tune(&mut self, values: &Values) {
        self.idf = values.get(IDF);
        for side in [Some(&mut self.titles), self.queries.as_mut()].into_iter().flatten() {
            side.tune(self.idf, self.documents);
        }
    }

    fn state(&self) -> RankerState {
        let state = self.titles.write(RankerState::default(), "").with_f64s("documents", &[self.documents as f64]);
        let state = self.fitted.iter().fold(state, |state, fitted| fitted.write(state));
        self.queries.iter().fold(state, |state, queries| queries.write(state, OF_QUERIES))
    }
}

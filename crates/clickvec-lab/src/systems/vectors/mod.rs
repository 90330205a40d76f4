//! Pretrained vectors: averaged word vectors, or vectors of whole texts from another program.

mod builder;
mod candidates;
#[cfg(test)]
mod tests;
mod weighted;

use self::builder::Vectors;
use self::candidates::VectorCandidates;
use self::weighted::{WeightedVectors, dot};
use super::text_vectors::TextReader;
use clickvec::internals::vector_file::fault::other_dimension;
use clickvec::model::Side;
use clickvec_eval::internals::RankerState;
use clickvec_eval::ranker::{
    Candidates, InnerWords, Parameter, Progress, Ranker, Resources, System, SystemRanker, Values, Watch,
};
use clickvec_tables::{Error, ErrorKind};
use clickvec_tables::{Result, damaged};

const IDF: &str = "idf";

/// What the names of the tensors of the queries' own vectors begin with.
const OF_QUERIES: &str = "query_";

/// The system before training: name, parameters, how to train and restore it.
pub(super) const SYSTEM: System = System {
    name: "vectors",
    about: "vectors of words, averaged, or of texts, from word2vec, fastText, GloVe or NumPy",
    parameters: &[Parameter::scoring(
        IDF,
        0.0,
        0.0,
        4.0,
        "the power of a word's idf in the mean; 0 weighs all words alike",
    )],
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
#[derive(Debug, Clone)]
pub(super) struct WordVectors {
    /// The vectors of titles and, unless they have their own, of queries.
    titles: WeightedVectors,
    queries: Option<WeightedVectors>,
    /// The number of titles in the collection.
    documents: u64,
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
        watch(Progress { done: 1, of: 1, objective: None });
        Ok(WordVectors::new(titles, queries, resources.corpus.titles.len() as u64, values))
    }

    fn new(titles: WeightedVectors, queries: Option<WeightedVectors>, documents: u64, values: &Values) -> WordVectors {
        let mut ranker = WordVectors { titles, queries, documents };
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
        Ok(WordVectors::new(titles, queries, documents as u64, values))
    }

    /// The vector of a text before normalisation, and its length.
    fn vector(&self, reader: &mut TextReader, side: Side, text: &str) -> (Vec<f64>, f64) {
        self.vectors(side).vector(reader, text)
    }

    /// The vector of a text with length 1; `None` if it has none.
    fn unit(&self, side: Side, text: &str) -> Option<Vec<f32>> {
        let (vector, length) = self.vector(&mut TextReader::default(), side, text);
        (length > 0.0).then(|| vector.iter().map(|x| (x / length) as f32).collect())
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
        Some(self.vectors(side).has(text))
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
        for side in [Some(&mut self.titles), self.queries.as_mut()].into_iter().flatten() {
            side.tune(values.get(IDF), self.documents);
        }
    }

    fn state(&self) -> RankerState {
        let state = self.titles.write(RankerState::default(), "").with_f64s("documents", &[self.documents as f64]);
        self.queries.iter().fold(state, |state, queries| queries.write(state, OF_QUERIES))
    }
}

//! Rankers: the systems to compare, each of which scores titles for a query.
//!
//! Two rankers compared on judged titles, with a test of the difference:
//!
//! ```
//! use clickvec_eval::{Correction, JudgedQuery, JudgedTitle, Judgments, Verdict, compare_all, evaluate};
//! use clickvec_eval::ranker::{self, Corpus};
//!
//! let titles = ["red oak table", "table lamp, red", "blue sofa", "two-seat sofas in grey"];
//! let corpus = Corpus::from_titles(titles)?;
//! let rankers = [ranker::train("bm25:k1=1.2", &corpus)?, ranker::train("trigram", &corpus)?];
//!
//! // Each query has judged titles with grades from 0 (bad) to 4 (perfect).
//! let judged = |id: &str, text: &str, good: &str, bad: &str| JudgedQuery {
//!     id: id.into(),
//!     text: text.into(),
//!     titles: [(good, 4), (bad, 0)].map(|(text, grade)| JudgedTitle { id: text.into(), text: text.into(), grade }).into(),
//! };
//! let queries = vec![judged("1", "sofa", titles[3], titles[0]), judged("2", "red lamp", titles[1], titles[0])];
//! let judgments = Judgments { queries, ..Judgments::default() };
//!
//! let evaluations = rankers.map(|ranker| evaluate(ranker.as_ref(), &judgments, &Default::default()));
//! let tests = compare_all(&evaluations)?;
//! println!("{} − {}: {:+.3}, p = {:.3}", tests[0].a, tests[0].b, tests[0].test.difference, tests[0].test.p);
//! // Two queries prove nothing.
//! assert_eq!(tests[0].verdict(Correction::Holm), Verdict::NotShown);
//! # Ok::<(), clickvec::Error>(())
//! ```

mod bm25;
mod candidates;
pub(crate) mod corpus;
mod coverage;
mod inner_words;
pub(crate) mod inverted;
mod neural;
#[cfg(test)]
pub(crate) mod shop;
mod spec;
pub(crate) mod state;
pub(crate) mod stored;
mod system;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod trigram;

pub use candidates::Candidates;
use candidates::Scan;
use clickvec::model::Side;
use clickvec_tables::Result;

pub use corpus::Corpus;
pub use coverage::VectorCoverage;
pub use state::RankerState;

pub use inner_words::InnerWords;
pub use neural::Neural;
pub use spec::RankerSpec;
pub use stored::{FileKind, load, load_with};
pub use system::{Parameter, Progress, Resources, Restore, Stage, System, Train, Values, Watch};

/// The systems of this crate. A caller with systems of its own passes a longer list.
pub const SYSTEMS: [&System; 2] = [&bm25::SYSTEM, &trigram::SYSTEM];

/// A system of the comparison, neural or not. It is ready to score, and scoring does not change it.
pub trait Ranker: Send + Sync {
    /// The name in reports.
    fn name(&self) -> &str;

    /// A score for each title; larger is better. Only the order within a query matters. Scores are finite for every
    /// text.
    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64>;

    /// A function that scores some of `titles`, given by their positions, for a query, as [`Ranker::score`] does. For many
    /// queries over the same titles: a model encodes each title once.
    fn scorer<'a>(&'a self, titles: &'a [&'a str]) -> Scorer<'a> {
        Box::new(|query, positions| {
            let titles: Vec<&str> = positions.iter().map(|&position| titles[position as usize]).collect();
            self.score(query, &titles)
        })
    }

    /// The vectors of words that it has inside; `None` if it has none.
    fn word_vectors(&self) -> Option<InnerWords<'_>> {
        None
    }

    /// Whether it has a vector for a text of that side, if all it knows is a table of vectors; `None` for every other ranker. A
    /// text without a vector has the score 0 with anything.
    fn has_vector(&self, _text: &str, _side: Side) -> Option<bool> {
        None
    }

    /// The number of weights of a model; `None` for every other ranker.
    fn weights(&self) -> Option<u64> {
        None
    }

    /// What finds the best of all `titles` for a query by these scores, rounded to 32 bits; it needs no vector of the query.
    ///
    /// Unless a ranker knows a better way, every title is scored for every query. BM25 and the trigrams have inverted lists,
    /// in which only titles with a score above 0 are found; a model has the titles' vectors, without those of whose words it
    /// knows none.
    ///
    /// # Errors
    /// `ErrorKind::NotFinite` where a model's vectors cannot be searched.
    fn candidates<'a>(&'a self, titles: &'a [&'a str]) -> Result<Box<dyn Candidates + 'a>> {
        Ok(Box::new(Scan::new(self, titles)))
    }
}

/// The scores of some titles, given by their positions, for a query; see [`Ranker::scorer`].
pub type Scorer<'a> = Box<dyn Fn(&str, &[u32]) -> Vec<f64> + Sync + 'a>;

/// A trained ranker of a [`System`].
pub trait SystemRanker: Ranker {
    /// Sets the parameters of [`Stage::Scoring`], and ignores all others.
    fn tune(&mut self, values: &Values);

    /// What [`System::save`] must write so that the ranker scores the same after loading.
    fn state(&self) -> RankerState;
}

/// Trains the ranker that `spec` describes, such as `bm25:k1=1.2`, one of [`SYSTEMS`].
///
/// # Errors
///
/// `ErrorKind::Setting` for a spec that is not valid; `ErrorKind::Empty` if the corpus is not enough.
pub fn train(spec: &str, corpus: &Corpus) -> Result<Box<dyn SystemRanker>> {
    let spec: RankerSpec = spec.parse()?;
    let system = System::named(&spec.name, &SYSTEMS)?;
    system.train(&system.values(&spec)?, &Resources { corpus, files: &spec.files }, &mut |_| ())
}

//! The texts that rankers learn from, as lists of word numbers.

use std::borrow::Cow;

use clickvec::internals::ragged::Ragged;
use clickvec::internals::text::{Analysis, Interner, WordBuffer, WordId, for_each_word};
use clickvec_tables::Result;
use clickvec_tables::memory::{NoRoom, reserve};

/// The number of every word that is not in the vocabulary.
pub const UNKNOWN: WordId = WordId::MAX;

/// Texts as lists of words in one piece of memory.
pub type WordLists = Ragged<WordId>;

/// What such lists hold, for errors.
pub const WORDS: &str = "the words of texts";

/// Clicked pairs: title `i` was clicked for query `i`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClickedPairs {
    /// The queries.
    pub queries: WordLists,
    /// The title that was clicked for each of them.
    pub titles: WordLists,
    /// The weight of each pair; finite, 0 or more.
    pub weights: Vec<f32>,
}

/// The titles of a collection as lists of terms.
#[derive(Debug)]
pub(super) struct TitleTerms<'a> {
    /// All terms that occur. If they are words, also those of the clicks and the test queries.
    pub(super) vocabulary: Cow<'a, Interner>,
    /// The terms of each title.
    pub(super) titles: Cow<'a, WordLists>,
}

/// The texts to learn from: a collection of titles, clicked pairs, and the queries of the test set.
#[derive(Debug, Default)]
pub struct Corpus {
    /// All words that occur.
    pub vocabulary: Interner,
    /// The collection, with repeated titles.
    pub titles: WordLists,
    /// The click log.
    pub clicks: ClickedPairs,
    /// The test queries, without their judgments, for systems that are trained on the texts of the test set too, like
    /// the papers' Doc2Vec.
    pub test_queries: WordLists,
    buffer: WordBuffer,
    words: Vec<WordId>,
}

impl Corpus {
    /// A collection of titles, without clicks.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Memory`.
    pub fn from_titles<'t>(titles: impl IntoIterator<Item = &'t str>) -> Result<Corpus> {
        let mut corpus = Corpus::default();
        titles.into_iter().try_for_each(|title| corpus.add_title(title))?;
        Ok(corpus)
    }

    /// The words of the collection and of the click log, without words that only test queries have.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Memory`.
    pub fn known_words(&self) -> Result<Interner> {
        let mut known = Interner::default();
        for words in [&self.titles, &self.clicks.queries, &self.clicks.titles].map(WordLists::items) {
            for &word in words {
                known.try_intern(self.vocabulary.word(word))?;
            }
        }
        Ok(known)
    }

    /// The titles as terms. Words that are compared as they are, are not copied.
    ///
    /// # Errors
    ///
    /// [`NoRoom`].
    pub(super) fn title_terms(&self, analysis: Analysis) -> Result<TitleTerms<'_>, NoRoom> {
        if analysis == Analysis::EXACT {
            return Ok(TitleTerms { vocabulary: Cow::Borrowed(&self.vocabulary), titles: Cow::Borrowed(&self.titles) });
        }
        let (mut vocabulary, mut titles, mut terms) = (Interner::default(), WordLists::default(), Vec::new());
        for title in self.titles.iter() {
            terms.clear();
            let mut missing = Ok(());
            for &word in title {
                analysis.for_each_term(self.vocabulary.word(word), |term| match vocabulary.try_intern(term) {
                    Ok((id, ..)) => terms.push(id),
                    Err(no_room) => missing = Err(no_room),
                });
            }
            missing?;
            titles.try_push(WORDS, terms.iter().copied())?;
        }
        Ok(TitleTerms { vocabulary: Cow::Owned(vocabulary), titles: Cow::Owned(titles) })
    }

    /// Adds a title of the collection.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Memory`; nothing is added then.
    pub fn add_title(&mut self, title: &str) -> Result<()> {
        self.intern(title)?;
        Ok(self.titles.try_push(WORDS, self.words.iter().copied())?)
    }

    /// Adds a clicked pair.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Memory`. The corpus is of no use then.
    pub fn add_click(&mut self, query: &str, title: &str, weight: f32) -> Result<()> {
        self.intern(query)?;
        self.clicks.queries.try_push(WORDS, self.words.iter().copied())?;
        self.intern(title)?;
        self.clicks.titles.try_push(WORDS, self.words.iter().copied())?;
        reserve(&mut self.clicks.weights, 1, "the weights of clicks")?;
        self.clicks.weights.push(weight);
        Ok(())
    }

    /// Adds a query of the test set.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Memory`; nothing is added then.
    pub fn add_test_query(&mut self, query: &str) -> Result<()> {
        self.intern(query)?;
        Ok(self.test_queries.try_push(WORDS, self.words.iter().copied())?)
    }

    fn intern(&mut self, text: &str) -> Result<(), NoRoom> {
        let Corpus { vocabulary, buffer, words, .. } = self;
        words.clear();
        let mut missing = Ok(());
        for_each_word(text, buffer, |word| match vocabulary.try_intern(word) {
            Ok((id, ..)) => words.push(id),
            Err(no_room) => missing = Err(no_room),
        });
        missing
    }
}

/// A reader of texts as numbers of a vocabulary's words.
#[derive(Debug, Default)]
pub struct WordReader {
    buffer: WordBuffer,
    words: Vec<WordId>,
}

impl WordReader {
    /// The words of `text`, with [`UNKNOWN`] for each that is not in `vocabulary`.
    pub fn read(&mut self, vocabulary: &Interner, text: &str) -> &[WordId] {
        self.words.clear();
        for_each_word(text, &mut self.buffer, |word| self.words.push(vocabulary.get(word).unwrap_or(UNKNOWN)));
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_numbers_of_words() {
        let mut corpus = Corpus::default();
        corpus.add_title("Red door").unwrap();
        corpus.add_title("!").unwrap();
        corpus.add_click("door", "red lamp", 2.0).unwrap();
        corpus.add_test_query("new lamp").unwrap();
        assert_eq!(corpus.titles.iter().collect::<Vec<_>>(), [&[0, 1][..], &[]]);
        assert_eq!((corpus.clicks.queries.get(0), corpus.clicks.titles.get(0)), (&[1][..], &[0, 2][..]));
        assert_eq!(corpus.clicks.weights, [2.0]);
        assert_eq!(corpus.test_queries.get(0), [3, 2]);
        assert_eq!(corpus.titles.items(), [0, 1]);
        assert_eq!(WordReader::default().read(&corpus.vocabulary, "a red, red door"), [UNKNOWN, 0, 0, 1]);
    }
}

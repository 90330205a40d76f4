//! Words of a query that no title has, corrected to words that titles have.
//!
//! Candidates are the titles' terms at a Damerau-Levenshtein distance of at most two, the word cut in two, and the word joined with
//! its neighbour. The best has many titles, more of them with the other words of the query than by chance, and a
//! small distance.

use std::cmp::Ordering;

use clickvec::internals::text;

use crate::error::Result;
use crate::open::Index;

/// A shorter word has too many others within reach.
const SHORTEST: usize = 4;
/// A word of fewer letters is corrected at a distance of one only: at two, `cheap` would become `clean`.
const SHORT: usize = 6;
/// A longer word is no typing error, and would cost more to look up.
const LONGEST: usize = 32;
/// The number of words of a query that are corrected.
const MOST_WORDS: usize = 3;
/// The number of candidates whose titles are compared with the other words.
const MOST_CANDIDATES: usize = 24;
/// The number of other words that they are compared with.
const MOST_OTHERS: usize = 4;
/// A candidate needs a title and, for each so many titles of the index, another one, but no more than `ENOUGH_TITLES`. A rarer term may
/// be a typing error of a title.
const TITLES_FOR_ANOTHER: u64 = 20_000;
const ENOUGH_TITLES: u64 = 3;
/// The shortest piece of a word that is cut in two.
const SHORTEST_PIECE: usize = 3;
/// The cost of an edit, as the logarithm of the number of titles.
const EDIT: f64 = 5.0;
/// The cost of another first letter: it is rarely mistyped.
const FIRST_LETTER: f64 = 2.0;
/// The least that another word of the query counts. Above it, that is the logarithm of how many more titles have both than if words were
/// independent (pointwise mutual information).
const LEAST_TOGETHER: f64 = -2.0;
/// The gain of a word that was run together with its neighbour: both pieces must be right by chance otherwise.
const TWO_WORDS: f64 = 2.0;

/// A way to write a word of a query.
#[derive(Debug, Clone, PartialEq)]
struct Candidate {
    /// Its terms, which all of its titles have.
    terms: Vec<String>,
    /// The number of titles with all of them.
    titles: u64,
    /// The number of edits.
    edits: u32,
    /// Its score apart from the other words.
    score: f64,
}

impl Candidate {
    fn new(word: &str, terms: Vec<String>, titles: u64, edits: u32) -> Candidate {
        let same_start = terms[0].chars().next() == word.chars().next();
        let bonus = if terms.len() > 1 { TWO_WORDS } else { 0.0 };
        let score =
            (titles as f64).ln() + bonus - EDIT * f64::from(edits) - if same_start { 0.0 } else { FIRST_LETTER };
        Candidate { terms, titles, edits, score }
    }

    /// Orders the better of two first; of equal ones, that with the smaller terms.
    fn better_first(&self, other: &Candidate) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.terms.cmp(&other.terms))
    }
}

impl Index {
    /// Returns a query with each word that no title has replaced by the likely one; `None` if there is nothing to correct.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the words of the index are damaged.
    pub(crate) fn corrected(&self, query: &str) -> Result<Option<String>> {
        let words = text::words(query);
        let mut corrected: Vec<Option<String>> = vec![None; words.len()];
        let mut is_joined = false;
        for (position, word) in words.iter().enumerate() {
            // The second half of a word that was written as two.
            if std::mem::take(&mut is_joined) {
                corrected[position] = Some(String::new());
                continue;
            }
            if corrected.iter().flatten().count() == MOST_WORDS {
                break;
            }
            let letters = word.chars().count();
            let is_plain = word.chars().all(char::is_alphabetic);
            if is_plain && (SHORTEST..=LONGEST).contains(&letters) && !self.is_word(word)? {
                if let Some(joined) = self.joined_words(word, words.get(position + 1))? {
                    (corrected[position], is_joined) = (Some(joined), true);
                } else {
                    corrected[position] = self.correction(&words, position)?;
                }
            }
        }
        if corrected.iter().all(Option::is_none) {
            return Ok(None);
        }
        let words = words.into_iter().zip(corrected).map(|(word, other)| other.unwrap_or(word));
        Ok(Some(words.filter(|word| !word.is_empty()).collect::<Vec<String>>().join(" ")))
    }

    /// Returns whether a title has the word.
    fn is_word(&self, word: &str) -> Result<bool> {
        let statistics = self.statistics();
        for term in text::terms(word, self.fusion.analysis) {
            if statistics.titles_with(&term)? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns two words that no title has as the one word that titles have.
    fn joined_words(&self, word: &str, next: Option<&String>) -> Result<Option<String>> {
        let Some(next) = next else { return Ok(None) };
        let joined = format!("{word}{next}");
        let is_one = joined.chars().all(char::is_alphabetic) && !self.is_word(next)? && self.is_word(&joined)?;
        Ok(is_one.then_some(joined))
    }

    /// Returns the likely form of a word that no title has.
    fn correction(&self, words: &[String], position: usize) -> Result<Option<String>> {
        let word = &words[position];
        let mut candidates = self.joined(words, position)?;
        if candidates.is_empty() {
            candidates = self.similar(word)?;
            candidates.extend(self.cut(word)?);
        }
        candidates.sort_by(Candidate::better_first);
        candidates.truncate(MOST_CANDIDATES);
        let others = words.iter().enumerate().filter(|&(other, _)| other != position).map(|(_, other)| other);
        let mut known = Vec::new();
        for other in others {
            if known.len() < MOST_OTHERS && self.is_word(other)? {
                let terms = text::terms(other, self.fusion.analysis);
                let titles = self.titles_with_all(&terms)?;
                known.push((terms, titles));
            }
        }
        for candidate in &mut candidates {
            for (other, titles) in &known {
                let together = self.titles_with_all(candidate.terms.iter().chain(other))? as f64;
                let expected = candidate.titles as f64 * *titles as f64 / self.all_titles() as f64;
                candidate.score += ((together + 0.5) / (expected + 0.5)).ln().max(LEAST_TOGETHER);
            }
        }
        candidates.sort_by(Candidate::better_first);
        let Some(best) = candidates.first() else { return Ok(None) };
        let shown = best.terms.iter().map(|term| self.shown(term)).collect::<Result<Vec<String>>>()?;
        Ok(Some(shown.join(" ")))
    }

    /// Returns the word joined with the one before or after it, if titles have that.
    fn joined(&self, words: &[String], position: usize) -> Result<Vec<Candidate>> {
        let word = &words[position];
        let before = position.checked_sub(1).map(|before| format!("{}{word}", words[before]));
        let after = words.get(position + 1).map(|after| format!("{word}{after}"));
        let mut candidates = Vec::new();
        for joined in before.into_iter().chain(after).filter(|joined| joined.chars().all(char::is_alphabetic)) {
            let terms = text::terms(&joined, self.fusion.analysis);
            let titles = self.titles_with_all(&terms)?;
            if titles > 0 {
                candidates.push(Candidate::new(word, terms, titles, 0));
            }
        }
        Ok(candidates)
    }

    /// Returns the titles' terms that differ from the word by an edit or two.
    fn similar(&self, word: &str) -> Result<Vec<Candidate>> {
        // Its term may be further away: that of `whtie` is `whty`.
        let mut forms = text::terms(word, self.fusion.analysis);
        if forms.len() != 1 {
            return Ok(Vec::new());
        }
        forms.push(word.to_owned());
        forms.dedup();
        let fewest = (1 + self.all_titles() as u64 / TITLES_FOR_ANOTHER).min(ENOUGH_TITLES);
        let mut candidates: Vec<Candidate> = Vec::new();
        for edits in 1..=if word.chars().count() < SHORT { 1 } else { 2 } {
            let mut found: Vec<String> = Vec::new();
            for (opened, form) in self.segments.iter().flat_map(|opened| forms.iter().map(move |form| (opened, form))) {
                found.extend(opened.segment.words.similar(form, edits)?);
            }
            found.sort_unstable();
            found.dedup();
            for found in found {
                if found.chars().all(char::is_alphabetic) && candidates.iter().all(|known| known.terms[0] != found) {
                    let titles = self.statistics().titles_with(&found)?;
                    if titles >= fewest {
                        candidates.push(Candidate::new(word, vec![found], titles, u32::from(edits)));
                    }
                }
            }
        }
        Ok(candidates)
    }

    /// Returns the word cut in two words that some title has both of.
    fn cut(&self, word: &str) -> Result<Vec<Candidate>> {
        let mut candidates = Vec::new();
        for (cut, _) in word.char_indices() {
            let (left, right) = word.split_at(cut);
            if [left, right].iter().any(|piece| piece.chars().count() < SHORTEST_PIECE) {
                continue;
            }
            let terms: Vec<String> =
                [left, right].iter().flat_map(|piece| text::terms(piece, self.fusion.analysis)).collect();
            let titles = self.titles_with_all(&terms)?;
            if titles > 0 {
                candidates.push(Candidate::new(word, terms, titles, 1));
            }
        }
        Ok(candidates)
    }

    /// Returns the number of titles that have all of these terms.
    fn titles_with_all<'t>(&self, terms: impl IntoIterator<Item = &'t String>) -> Result<u64> {
        let terms: Vec<&String> = terms.into_iter().collect();
        self.segments.iter().map(|opened| opened.segment.words.titles_with_all(&terms)).sum()
    }

    /// Returns a word of a title that has this term, since a term need not be a word: `hous` is a term of `house`.
    fn shown(&self, term: &str) -> Result<String> {
        for opened in &self.segments {
            if let Some(position) = opened.segment.words.first_with(term)? {
                let words = text::words(opened.segment.line(position)?.title);
                let has_term = |word: &&String| text::terms(word, self.fusion.analysis).iter().any(|of| of == term);
                if let Some(word) = words.iter().find(has_term) {
                    return Ok(word.clone());
                }
            }
        }
        Ok(term.to_owned())
    }
}

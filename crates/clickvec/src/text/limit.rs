//! The limit of the words that an encoder reads of a text.

use serde::{Deserialize, Serialize};

use super::words::{TextConfig, WordBuffer};

/// The treatment of a text's words beyond the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tail {
    /// They are left out.
    #[default]
    Cut,
    /// They become one word together with the last word within the limit. The letter trigrams of this word are those
    /// of all its words (LSTM paper, fig. 10 and tables VIII, X: ten words, the last of which is all the rest).
    Merge,
}

/// The character that joins the words of a merged tail. No word contains it.
pub(crate) const JOINT: char = ' ';

/// The number of a text's words that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordLimit {
    /// The most words that an encoder gets, at least 1.
    pub words: usize,
    /// The treatment of the words beyond them.
    pub tail: Tail,
    /// How a text becomes words.
    pub text: TextConfig,
}

impl WordLimit {
    /// Returns the number of words that a text has. `word` gets each that an encoder gets, in order; a merged tail comes at
    /// once, with a space between its words.
    pub fn for_each_word(self, text: &str, buffer: &mut WordBuffer, mut word: impl FnMut(&str)) -> usize {
        let mut tail = std::mem::take(&mut buffer.tail);
        tail.clear();
        let mut words = 0;
        self.text.for_each_word(text, buffer, |each| {
            words += 1;
            match self.tail {
                _ if words < self.words => word(each),
                Tail::Cut if words == self.words => word(each),
                Tail::Cut => {}
                Tail::Merge => {
                    if words > self.words {
                        tail.push(JOINT);
                    }
                    tail.push_str(each);
                }
            }
        });
        if !tail.is_empty() {
            word(&tail);
        }
        buffer.tail = tail;
        words
    }
}

/// A text that an encoder reads.
pub trait Words {
    /// Calls `word` with each word that an encoder gets; see [`WordLimit::for_each_word`].
    fn for_each_word(&self, limit: WordLimit, buffer: &mut WordBuffer, word: impl FnMut(&str));
}

impl<S: AsRef<str>> Words for S {
    fn for_each_word(&self, limit: WordLimit, buffer: &mut WordBuffer, word: impl FnMut(&str)) {
        limit.for_each_word(self.as_ref(), buffer, word);
    }
}

/// Words that an encoder read of a text; a merged tail is still one word. No limit applies to them again.
#[derive(Debug, Clone)]
pub struct ReadWords<'t>(pub(crate) Vec<&'t str>);

impl Words for ReadWords<'_> {
    fn for_each_word(&self, _: WordLimit, _: &mut WordBuffer, word: impl FnMut(&str)) {
        self.0.iter().copied().for_each(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(limit: WordLimit, text: &str, buffer: &mut WordBuffer) -> (Vec<String>, usize) {
        let mut found = Vec::new();
        let words = limit.for_each_word(text, buffer, |word| found.push(word.to_owned()));
        (found, words)
    }

    #[test]
    fn the_tail_is_the_last_of_the_words() {
        let mut buffer = WordBuffer::default();
        let mut check = |words: usize, tail: Tail, text: &str, expected: &[&str]| {
            let (found, all) = read(WordLimit { words, tail, text: TextConfig::default() }, text, &mut buffer);
            assert_eq!(found, expected, "{words} words of {text:?}, {tail:?}");
            assert_eq!(all, super::super::words(text).len());
        };
        // Table VIII of the LSTM paper.
        let title = "how do you paint a bathtub and what paint should you use yahoo answers";
        let nine = ["how", "do", "you", "paint", "a", "bathtub", "and", "what", "paint"];
        check(10, Tail::Merge, title, &[&nine[..], &["should you use yahoo answers"]].concat());
        check(10, Tail::Cut, title, &[&nine[..], &["should"]].concat());
        check(14, Tail::Merge, title, &[&nine[..], &["should", "you", "use", "yahoo", "answers"]].concat());
        check(13, Tail::Merge, title, &[&nine[..], &["should", "you", "use", "yahoo answers"]].concat());
        check(1, Tail::Merge, "Red, LEATHER shoe!", &["red leather shoe"]);
        check(1, Tail::Merge, "red", &["red"]);
        check(2, Tail::Merge, "北京大学 hotel", &["北", "京 大 学 hotel"]);
        for tail in [Tail::Cut, Tail::Merge] {
            check(3, tail, "", &[]);
            check(3, tail, "?!", &[]);
            check(3, tail, "a b", &["a", "b"]);
        }
    }
}

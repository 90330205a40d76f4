//! clickvec's words as tantivy's tokens.

use clickvec::internals::text::{WordBuffer, for_each_word};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// A tokenizer that gives the words that the models read.
#[derive(Debug, Default)]
pub(super) struct WordTokenizer {
    buffer: WordBuffer,
    /// The words of a text, one after the other.
    words: String,
    /// Where each word ends in `words`.
    ends: Vec<usize>,
    token: Token,
}

/// A copy has buffers of its own.
impl Clone for WordTokenizer {
    fn clone(&self) -> WordTokenizer {
        WordTokenizer::default()
    }
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        let WordTokenizer { buffer, words, ends, token } = self;
        words.clear();
        ends.clear();
        for_each_word(text, buffer, |word| {
            words.push_str(word);
            ends.push(words.len());
        });
        token.reset();
        WordStream { words, ends, next: 0, token }
    }
}

/// The words of one text. Their offsets are those in the words set one after the other, since nobody asks for others.
#[derive(Debug)]
pub(super) struct WordStream<'a> {
    words: &'a str,
    ends: &'a [usize],
    next: usize,
    token: &'a mut Token,
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(&end) = self.ends.get(self.next) else { return false };
        let start = self.next.checked_sub(1).map_or(0, |last| self.ends[last]);
        (self.token.offset_from, self.token.offset_to, self.token.position) = (start, end, self.next);
        self.token.text.clear();
        self.token.text.push_str(&self.words[start..end]);
        self.next += 1;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_the_words() {
        let mut tokenizer = WordTokenizer::default();
        for text in ["12-Gauge tub won't", "", "…", "Ⅻ ﬁne CAFÉ 東京 İstanbul", "a a"] {
            let mut found = Vec::new();
            tokenizer.token_stream(text).process(&mut |token| found.push((token.position, token.text.clone())));
            let expected: Vec<_> = clickvec::internals::text::words(text).into_iter().enumerate().collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}

//! clickvec's terms as tantivy's tokens.

use clickvec::internals::text::{Analysis, WordBuffer, for_each_term};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// A tokenizer that gives the words that the models read, or their terms.
#[derive(Debug, Default)]
pub(super) struct WordTokenizer {
    analysis: Analysis,
    buffer: WordBuffer,
    /// The terms of a text, one after the other.
    terms: String,
    /// The end of each term in `terms`.
    ends: Vec<usize>,
    token: Token,
}

impl WordTokenizer {
    pub(super) fn new(analysis: Analysis) -> WordTokenizer {
        WordTokenizer { analysis, ..WordTokenizer::default() }
    }
}

/// Clones with buffers of its own.
impl Clone for WordTokenizer {
    fn clone(&self) -> WordTokenizer {
        WordTokenizer::new(self.analysis)
    }
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        let WordTokenizer { analysis, buffer, terms, ends, token } = self;
        terms.clear();
        ends.clear();
        for_each_term(text, *analysis, buffer, |term| {
            terms.push_str(term);
            ends.push(terms.len());
        });
        token.reset();
        WordStream { terms, ends, next: 0, token }
    }
}

/// The terms of one text. Their offsets are those in the terms set one after the other, since tantivy uses no others here.
#[derive(Debug)]
pub(super) struct WordStream<'a> {
    terms: &'a str,
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
        self.token.text.push_str(&self.terms[start..end]);
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
    fn tokens_are_the_terms() {
        for analysis in Analysis::all() {
            // A copy analyses alike.
            let mut tokenizer = WordTokenizer::new(analysis).clone();
            for text in ["12-Gauge tub won't", "", "…", "Ⅻ ﬁne CAFÉ 東京 İstanbul", "a a", "12in sofas"] {
                let mut found = Vec::new();
                tokenizer.token_stream(text).process(&mut |token| found.push((token.position, token.text.clone())));
                let expected: Vec<_> =
                    clickvec::internals::text::terms(text, analysis).into_iter().enumerate().collect();
                assert_eq!(found, expected, "{text}");
            }
        }
    }
}

//! Texts with the statistics of a large click log: the words of `bench/make_log.py`.

use clickvec::internals::rng;
use rand::RngExt as _;

const WORDS: usize = 60_000;
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Random words whose frequencies follow Zipf's law with exponent 1.05.
pub struct Vocabulary {
    words: Vec<String>,
    /// The cumulative frequencies of the words.
    frequency: Vec<f64>,
}

impl Vocabulary {
    /// 60,000 words of 2 to 8 letters, about 49,000 letter trigrams.
    pub fn new() -> Vocabulary {
        let words = fresh_words("vocabulary", WORDS, 2, 8);
        let frequency = (1..=WORDS).scan(0.0, |sum, rank| {
            *sum += (rank as f64).powf(-1.05);
            Some(*sum)
        });
        Vocabulary { words, frequency: frequency.collect() }
    }

    /// `count` texts of `words` words each. Another stream `name` gives other texts.
    pub fn texts(&self, name: &str, count: usize, words: usize) -> Vec<String> {
        let mut stream = rng::stream(1, name, 0);
        let total = self.frequency[WORDS - 1];
        let mut word = || {
            let point = total * stream.random::<f64>();
            &self.words[self.frequency.partition_point(|&sum| sum < point).min(WORDS - 1)]
        };
        (0..count).map(|_| (0..words).map(|_| word().as_str()).collect::<Vec<_>>().join(" ")).collect()
    }
}

impl Default for Vocabulary {
    fn default() -> Vocabulary {
        Vocabulary::new()
    }
}

/// `count` texts of `words` words that are in no vocabulary, each word once.
pub fn unknown_texts(count: usize, words: usize) -> Vec<String> {
    fresh_words("unknown", count * words, 9, 9).chunks_exact(words).map(|words| words.join(" ")).collect()
}

fn fresh_words(name: &str, count: usize, shortest: usize, longest: usize) -> Vec<String> {
    let mut stream = rng::stream(1, name, 0);
    let mut word = || {
        let length = stream.random_range(shortest..=longest);
        (0..length).map(|_| char::from(LETTERS[stream.random_range(0..LETTERS.len())])).collect()
    };
    (0..count).map(|_| word()).collect()
}

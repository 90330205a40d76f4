//! Running text to learn from: sentences in order.

use std::path::Path;

use super::model::Tuple;
use crate::error::{Error, LearnFault, LearnFileFault, LearnPlace, Result};
use crate::files;
use crate::memory::NoRoom;
use crate::ranker::corpus::WordLists;
use crate::tables::{FoundLine, Lines, MAX_LINE_BYTES};
use crate::text::{Interner, WordBuffer, for_each_word};

/// The longest sentence that is learnt from. The authors' program leaves longer ones out.
const MOST_WORDS: usize = 30;
/// Less frequent words are learnt as the unknown word, so that it gets a vector too.
const LEAST_COUNT: u64 = 2;

/// The sentences of some documents, in order.
#[derive(Debug)]
pub(super) struct Sentences {
    /// The V words with their own numbers, most frequent first.
    pub(super) vocabulary: Interner,
    /// The number of times that each word, the unknown word and the end of a sentence are to be predicted.
    pub(super) counts: Vec<u64>,
    /// Words by number, with V for the unknown word.
    sentences: WordLists,
    /// Whether each sentence follows the one before it in the same document.
    follows: Vec<bool>,
    /// The sentences that have a neighbour.
    usable: Vec<u32>,
}

impl Sentences {
    /// The sentences in a file with one a line and an empty line between documents. At most `most` words get numbers.
    pub(super) fn read(path: &Path, most: usize, ranker: &'static str) -> Result<Sentences> {
        let failed = |source| Error::io(path, "read", source);
        let bad = |place, fault| {
            let fault = LearnFault::BadFile { path: path.to_owned(), place, fault };
            Error::Learn { ranker, fault }
        };
        let mut lines = Lines::new(files::open(path)?, MAX_LINE_BYTES);
        let (mut all, mut counts) = (Interner::default(), Vec::new());
        let (mut raw, mut follows, mut inside) = (WordLists::default(), Vec::new(), false);
        let (mut line, mut buffer, mut words) = (Vec::new(), WordBuffer::default(), Vec::new());
        loop {
            match lines.next(&mut line).map_err(failed)? {
                FoundLine::Whole => {}
                FoundLine::End => break,
                FoundLine::TooLong => {
                    let fault = LearnFileFault::LineTooLong { most: MAX_LINE_BYTES };
                    return Err(bad(LearnPlace::Line(lines.number()), fault));
                }
            }
            words.clear();
            let mut missing = Ok(());
            for_each_word(&String::from_utf8_lossy(&line), &mut buffer, |word| {
                if words.len() < MOST_WORDS {
                    match all.try_intern(word) {
                        Ok((id, ..)) => words.push(id),
                        Err(no_room) => missing = Err(no_room),
                    }
                }
            });
            missing?;
            counts.resize(all.len(), 0u64);
            words.iter().for_each(|&word| counts[word as usize] += 1);
            if !words.is_empty() {
                raw.push(&words)?;
                follows.push(inside);
            }
            inside = !words.is_empty();
        }
        let follows_next = |i: usize| follows.get(i + 1).copied().unwrap_or(false);
        let usable: Vec<u32> = (0..raw.len()).filter(|&i| follows[i] || follows_next(i)).map(|i| i as u32).collect();
        if usable.is_empty() {
            return Err(bad(LearnPlace::File, LearnFileFault::NoNeighbours { sentences: raw.len() }));
        }
        Ok(Sentences::number(&all, &counts, &raw, follows, usable, most)?)
    }

    fn number(
        all: &Interner,
        counts: &[u64],
        raw: &WordLists,
        follows: Vec<bool>,
        usable: Vec<u32>,
        most: usize,
    ) -> Result<Sentences, NoRoom> {
        let mut frequent: Vec<u32> = (0..all.len() as u32).filter(|&w| counts[w as usize] >= LEAST_COUNT).collect();
        frequent.sort_by_key(|&word| std::cmp::Reverse(counts[word as usize]));
        frequent.truncate(most);
        let unknown = frequent.len() as u32;
        let mut vocabulary = Interner::default();
        let mut numbers = vec![unknown; all.len()];
        for &word in &frequent {
            numbers[word as usize] = vocabulary.try_intern(all.word(word))?.0;
        }
        let mut sentences = WordLists::default();
        let mut numbered = vec![0; vocabulary.len() + 2];
        for sentence in raw.iter() {
            let words: Vec<u32> = sentence.iter().map(|&word| numbers[word as usize]).collect();
            words.iter().for_each(|&word| numbered[word as usize] += 1);
            sentences.push(&words)?;
        }
        numbered[unknown as usize + 1] = sentences.len() as u64;
        Ok(Sentences { vocabulary, counts: numbered, sentences, follows, usable })
    }

    /// The number of sentences to learn from.
    pub(super) fn len(&self) -> usize {
        self.usable.len()
    }

    /// A sentence to learn from, with its neighbours.
    pub(super) fn tuple(&self, place: usize) -> Tuple<'_> {
        let i = self.usable[place] as usize;
        let follows = |i: usize| self.follows.get(i).copied().unwrap_or(false);
        let previous = if follows(i) { self.sentences.get(i - 1) } else { &[] };
        let next = if follows(i + 1) { self.sentences.get(i + 1) } else { &[] };
        Tuple { sentence: self.sentences.get(i), neighbours: [previous, next] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, most: usize) -> Result<Sentences> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, text).unwrap();
        Sentences::read(&path, most, "skip-thought")
    }

    #[test]
    fn neighbours_are_of_the_same_document() {
        let text = "The red door.\nA red lamp!\n\n the lamp\n\n?\nthe lamp red\n red the";
        let sentences = read(text, 3).unwrap();
        let words: Vec<&str> = (0..3).map(|word| sentences.vocabulary.word(word)).collect();
        // `door` and `a` occur once. The others are ordered by frequency, then by first appearance.
        assert_eq!((words, sentences.vocabulary.len()), (vec!["the", "red", "lamp"], 3));
        assert_eq!(sentences.counts, [4, 4, 3, 2, 5]);
        let tuples: Vec<_> = (0..sentences.len())
            .map(|i| sentences.tuple(i))
            .map(|tuple| (tuple.sentence.to_vec(), tuple.neighbours.map(<[u32]>::to_vec)))
            .collect();
        let expected: [(&[u32], [&[u32]; 2]); 4] = [
            (&[0, 1, 3], [&[], &[3, 1, 2]]),
            (&[3, 1, 2], [&[0, 1, 3], &[]]),
            (&[0, 2, 1], [&[], &[1, 0]]),
            (&[1, 0], [&[0, 2, 1], &[]]),
        ];
        let expected: Vec<_> = expected.iter().map(|(s, n)| (s.to_vec(), n.map(<[u32]>::to_vec))).collect();
        assert_eq!(tuples, expected);
        assert_eq!(read(text, 1).unwrap().counts, [4, 9, 5]);
    }

    #[test]
    fn a_text_without_neighbours_is_refused() {
        for text in ["", "\n\n", "one line", "one\n\nby\n\none", "?\n!"] {
            let error = read(text, 10).unwrap_err();
            assert!(matches!(error, Error::Learn { fault: LearnFault::BadFile { .. }, .. }), "{text}: {error}");
        }
    }

    /// A few kilobytes of gzip can contain a line that would fill the memory.
    #[test]
    fn a_line_without_an_end_is_refused_and_never_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text.gz");
        let mut gzip =
            flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, b"red door\nred lamp\n").unwrap();
        let megabyte = "red door ".repeat(1 << 17);
        for _ in 0..100 {
            std::io::Write::write_all(&mut gzip, megabyte.as_bytes()).unwrap();
        }
        gzip.finish().unwrap();
        let error = Sentences::read(&path, 10, "skip-thought").unwrap_err().to_string();
        assert!(error.contains("text.gz:3: expected a line of at most 67108864 bytes, found a longer one"), "{error}");
    }

    #[test]
    fn a_long_line_is_cut() {
        let sentences = read(&format!("{}\nred door", "red door ".repeat(50)), 10).unwrap();
        assert_eq!(sentences.tuple(0).sentence.len(), MOST_WORDS);
    }
}

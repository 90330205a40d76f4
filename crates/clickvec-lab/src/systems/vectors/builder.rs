//! A collector of the vectors of words and of texts that a file has.

use std::collections::HashMap;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::super::text_vectors::{TextReader, TextVectors};
use clickvec::internals::math::vector::not_finite;
use clickvec::internals::text::{Interner, WordBuffer, for_each_word};
use clickvec::internals::vector_file;
use clickvec::internals::vector_file::fault::{self, VectorPlace, malformed};
use clickvec::internals::vector_file::{Entries, Stop};
use clickvec_tables::ErrorKind;
use clickvec_tables::Result;
use clickvec_tables::memory::reserve;
use clickvec_tables::shown::shortened;

/// What a file has.
#[derive(Debug, Clone, Default)]
pub(super) struct Vectors {
    pub(super) dimension: usize,
    /// Words as [`for_each_word`] makes them.
    pub(super) vocabulary: Interner,
    /// [words, dimension]
    pub(super) words: Vec<f32>,
    /// Texts of several words, of `.npy` files only.
    pub(super) texts: TextVectors,
}

/// The vectors in a file, whose form is told by its content; `-` is standard input.
pub(super) fn read(path: &Path) -> Result<Vectors> {
    let mut builder = Builder::default();
    vector_file::read(path, &mut builder)?;
    Ok(builder.vectors)
}

/// A collector of entries.
#[derive(Default)]
struct Builder {
    vectors: Vectors,
    /// For each word, whether an entry was spelt exactly like it.
    spelt: Vec<bool>,
    /// Hash of an entry → where it comes first, and the hash of its numbers.
    seen: HashMap<u64, (VectorPlace, u64)>,
    entries: u64,
    buffer: WordBuffer,
    reader: TextReader,
}

impl Entries for Builder {
    fn begin(&mut self, dimension: usize) {
        self.vectors.dimension = dimension;
        self.vectors.texts = TextVectors::new(dimension);
    }

    /// Adds an entry: a word or, with `texts`, a text.
    ///
    /// An entry counts for the word that it becomes as part of a text: `Don't` for `dont`. If several entries become one word,
    /// the one with exactly that spelling is used, or else the first in the file. An entry that becomes no word or several,
    /// such as `<s>`, is left out unless texts are wanted.
    fn add(&mut self, entry: &str, numbers: &[f32], position: VectorPlace, texts: bool) -> Result<(), Stop> {
        self.entries += 1;
        if let Some(found) = not_finite(numbers) {
            return Err(Stop::Fault(position, fault::not_finite(entry, found)));
        }
        let hash = xxh3_64(bytemuck::cast_slice(numbers));
        let (first, first_hash) = *self.seen.entry(xxh3_64(entry.as_bytes())).or_insert((position, hash));
        let broken = entry.contains(char::REPLACEMENT_CHARACTER);
        if first_hash != hash && !broken {
            let found = format!("a second that differs from that of {first}");
            let expected = format!("one vector for `{}`", shortened(entry));
            return Err(Stop::Fault(position, malformed(expected, found, "remove one of them")));
        }
        let is_mark = !texts && entry.starts_with('<') && entry.ends_with('>');
        if first != position || broken || is_mark {
            return Ok(());
        }
        let Vectors { vocabulary, words, texts: whole_texts, .. } = &mut self.vectors;
        let (mut count, mut last) = (0u64, String::new());
        for_each_word(entry, &mut self.buffer, |word| {
            count += 1;
            if count == 1 {
                last.push_str(word);
            }
        });
        if count == 1 {
            let (word, _, new) = vocabulary.try_intern(&last)?;
            let spelt = entry == last;
            if new {
                reserve(words, numbers.len(), "vectors of words")?;
                words.extend_from_slice(numbers);
                self.spelt.push(spelt);
            } else if spelt && !self.spelt[word as usize] {
                words[word as usize * numbers.len()..][..numbers.len()].copy_from_slice(numbers);
                self.spelt[word as usize] = true;
            }
        } else if count > 1 && texts {
            whole_texts.insert(self.reader.read(vocabulary, entry).0, numbers)?;
        }
        Ok(())
    }

    fn end(&mut self) -> clickvec_tables::Result<()> {
        if self.vectors.vocabulary.is_empty() && self.vectors.texts.len() == 0 {
            let found = format!("none among {} entries that a text can have", self.entries);
            return Err(clickvec_tables::Error::expected(ErrorKind::Empty, "vectors of words", found));
        }
        Ok(())
    }
}

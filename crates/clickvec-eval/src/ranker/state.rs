//! The contents of a trained ranker: arrays and vocabulary.

use std::collections::BTreeMap;

use clickvec::internals::tensor_file::Array;
pub use clickvec::internals::tensor_file::Numbers;
use clickvec::internals::text::{Interner, Trigram};
use clickvec_tables::shown::shortened;
use clickvec_tables::{Result, damaged};

const WORDS: &str = "words";

/// The contents of a trained ranker.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RankerState {
    pub(super) arrays: BTreeMap<String, Array>,
}

impl RankerState {
    /// The state with one more array.
    ///
    /// # Panics
    /// If the number of values does not fit the shape.
    #[must_use]
    pub fn with(mut self, name: &str, shape: &[usize], numbers: Numbers) -> RankerState {
        assert_eq!(shape.iter().product::<usize>(), numbers.len(), "{name}: {shape:?}");
        self.arrays.insert(name.to_owned(), Array { shape: shape.to_vec(), numbers });
        self
    }

    /// The state with a list of 64-bit numbers.
    #[must_use]
    pub fn with_f64s(self, name: &str, numbers: &[f64]) -> RankerState {
        self.with(name, &[numbers.len()], Numbers::F64(numbers.to_vec()))
    }

    /// The state with a list of integers.
    #[must_use]
    pub fn with_u32s(self, name: &str, numbers: &[u32]) -> RankerState {
        self.with(name, &[numbers.len()], Numbers::U32(numbers.to_vec()))
    }

    /// The state with a list of letter trigrams.
    #[must_use]
    pub fn with_trigrams(self, name: &str, trigrams: &[Trigram]) -> RankerState {
        let letters = trigrams.iter().flat_map(|trigram| trigram.chars()).map(u32::from).collect();
        self.with(name, &[trigrams.len(), 3], Numbers::U32(letters))
    }

    /// The state with a vocabulary.
    #[must_use]
    pub fn with_words(self, vocabulary: &Interner) -> RankerState {
        self.with_words_as(WORDS, vocabulary)
    }

    /// The state with words, one a line, under another name than usual.
    pub fn with_words_as(self, name: &str, vocabulary: &Interner) -> RankerState {
        let mut bytes = Vec::with_capacity(vocabulary.bytes() + vocabulary.len());
        for id in 0..vocabulary.len() as u32 {
            bytes.extend_from_slice(vocabulary.word(id).as_bytes());
            bytes.push(b'\n');
        }
        self.with(name, &[bytes.len()], Numbers::Bytes(bytes))
    }

    /// Whether there is an array with this name.
    pub fn has(&self, name: &str) -> bool {
        self.arrays.contains_key(name)
    }

    /// The array with this name, whose shape must match. `None` matches any size.
    ///
    /// # Errors
    /// A missing array, or one of another shape.
    pub fn array(&self, name: &str, shape: &[Option<usize>]) -> Result<&Array, clickvec_tables::Error> {
        let array = self.arrays.get(name).ok_or_else(|| damaged::missing_tensor(name))?;
        let fits = array.shape.len() == shape.len()
            && array.shape.iter().zip(shape).all(|(&found, expected)| expected.is_none_or(|size| size == found));
        if fits { Ok(array) } else { Err(wrong(name, "", shape, array)) }
    }

    /// An array of 64-bit numbers.
    ///
    /// # Errors
    /// Those of [`RankerState::array`], and another type of numbers.
    pub fn f64s(&self, name: &str, shape: &[Option<usize>]) -> Result<&[f64], clickvec_tables::Error> {
        match self.array(name, shape)? {
            Array { numbers: Numbers::F64(numbers), .. } => Ok(numbers),
            other => Err(wrong(name, "F64", shape, other)),
        }
    }

    /// An array of 32-bit numbers.
    ///
    /// # Errors
    /// Those of [`RankerState::f64s`].
    pub fn f32s(&self, name: &str, shape: &[Option<usize>]) -> Result<&[f32], clickvec_tables::Error> {
        match self.array(name, shape)? {
            Array { numbers: Numbers::F32(numbers), .. } => Ok(numbers),
            other => Err(wrong(name, "F32", shape, other)),
        }
    }

    /// An array of integers.
    ///
    /// # Errors
    /// Those of [`RankerState::f64s`].
    pub fn u32s(&self, name: &str, shape: &[Option<usize>]) -> Result<&[u32], clickvec_tables::Error> {
        match self.array(name, shape)? {
            Array { numbers: Numbers::U32(numbers), .. } => Ok(numbers),
            other => Err(wrong(name, "U32", shape, other)),
        }
    }

    /// The letter trigrams that [`RankerState::with_trigrams`] added.
    ///
    /// # Errors
    /// Those of [`RankerState::array`], and numbers that are not three letters.
    pub fn trigrams(&self, name: &str) -> Result<Vec<Trigram>, clickvec_tables::Error> {
        let trigram = |(row, &found): (usize, &[u32; 3])| {
            let letter = |x| char::from_u32(x).ok_or_else(|| damaged::bad_trigram(row, found));
            let [a, b, c] = found;
            Ok(Trigram::from_chars([letter(a)?, letter(b)?, letter(c)?]))
        };
        self.u32s(name, &[None, Some(3)])?.as_chunks::<3>().0.iter().enumerate().map(trigram).collect()
    }

    /// The vocabulary.
    ///
    /// # Errors
    /// Those of [`RankerState::array`], too little memory, and anything but a list of distinct words.
    pub fn words(&self) -> Result<Interner, clickvec_tables::Error> {
        self.words_as(WORDS)
    }

    /// The words that [`RankerState::with_words_as`] added.
    ///
    /// # Errors
    /// Those of [`RankerState::words`].
    pub fn words_as(&self, name: &str) -> Result<Interner, clickvec_tables::Error> {
        let bytes = match self.array(name, &[None])? {
            Array { numbers: Numbers::Bytes(bytes), .. } => bytes,
            other => return Err(wrong(name, "U8", &[None], other)),
        };
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let found = format!("another byte at place {}", error.valid_up_to());
            damaged::content(name, "words in UTF-8, one a line", found)
        })?;
        let mut words = Interner::default();
        for (line, word) in (1..).zip(text.split_terminator('\n')) {
            if !words.try_intern(word)?.2 {
                let found = format!("`{}` again in line {line}", shortened(word));
                return Err(damaged::content(name, "each word once", found));
            }
        }
        Ok(words)
    }

    /// The bytes of all arrays, which are about the size of the ranker on disk and in memory.
    pub fn bytes(&self) -> usize {
        self.arrays.values().map(|array| array.numbers.bytes()).sum()
    }
}

/// Checks that all numbers of an array lie in a range. A NaN lies in none; infinity as `most` is no limit, and not allowed.
///
/// # Errors
/// The first number that does not.
pub fn check_range<N: Copy + Into<f64>>(
    tensor: &str,
    numbers: &[N],
    least: f64,
    most: f64,
) -> Result<(), clickvec_tables::Error> {
    let outside = |&number: &N| !(number.into().is_finite() && (least..=most).contains(&number.into()));
    match numbers.iter().position(outside) {
        None => Ok(()),
        Some(position) => Err(damaged::range(tensor, least, most, numbers[position].into(), position)),
    }
}

/// The fault of an array of another shape, or of numbers of another type than `dtype`; an empty `dtype` allows any.
fn wrong(name: &str, dtype: &str, shape: &[Option<usize>], found: &Array) -> clickvec_tables::Error {
    let shape = format!("{shape:?}").replace("Some(", "").replace(')', "").replace("None", "any");
    damaged::wrong_tensor(
        name,
        format!("{dtype} {shape}").trim_start(),
        format!("{:?} {:?}", found.numbers.dtype(), found.shape),
    )
}

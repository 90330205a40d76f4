//! Numbering of texts.

use std::io::{self, Read, Write};

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use super::group::AT_ONCE;
use super::run::{get_number, put_number};

/// The bytes that an entry of a hash table takes, with its share of free slots.
const PLACE_BYTES: usize = 20;

/// The number of slots in the first table.
pub(super) const LEAST_PLACES: usize = 4;

/// Distinct queries and titles.
#[derive(Default)]
pub(crate) struct Names {
    pub(super) queries: Texts,
    pub(super) titles: Texts,
}

impl Names {
    /// Returns the numbers of a query and a title, which may be new.
    #[inline]
    pub(super) fn number(&mut self, query: &str, title: &str) -> (u32, u32) {
        let number = |texts: &mut Texts, text: &str| texts.number(xxh3_64(text.as_bytes()), text);
        (number(&mut self.queries, query), number(&mut self.titles, title))
    }

    /// Numbers the waiting texts.
    pub(crate) fn number_all(&mut self, queries: &mut Waiting, titles: &mut Waiting) {
        self.queries.number_all(queries);
        self.titles.number_all(titles);
    }

    /// Returns approximately the bytes in use.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.queries.bytes() + self.titles.bytes()
    }

    /// Writes the texts, ordered by number.
    pub(crate) fn write(&self, file: &mut impl Write) -> io::Result<()> {
        self.queries.write(file)?;
        self.titles.write(file)
    }

    /// Frees the memory that only numbering needs. From then on texts can only be looked up.
    pub(crate) fn freeze(&mut self) {
        for texts in [&mut self.queries, &mut self.titles] {
            texts.places = HashTable::new();
        }
    }

    /// Reads texts that [`Names::write`] wrote, for looking up only.
    pub(crate) fn read(file: &mut impl Read) -> io::Result<Names> {
        Ok(Names { queries: Texts::read(file)?, titles: Texts::read(file)? })
    }
}

/// Distinct texts, numbered in order of appearance.
#[derive(Default)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    /// The start of each text; the last one ends where `bytes` ends.
    starts: Vec<u64>,
    places: HashTable<Place>,
}

/// Texts that wait to be numbered, at most [`AT_ONCE`].
#[derive(Default)]
pub(crate) struct Waiting {
    text: String,
    texts: Vec<WaitingText>,
    numbers: Vec<u32>,
}

struct WaitingText {
    hash: u64,
    start: u32,
    length: u32,
}

impl WaitingText {
    fn slice<'t>(&self, text: &'t str) -> &'t str {
        &text[self.start as usize..][..self.length as usize]
    }
}

impl Waiting {
    /// Adds a text and returns its place among the waiting texts.
    #[inline]
    pub(crate) fn push(&mut self, text: &str) -> u32 {
        let (hash, start, length) = (xxh3_64(text.as_bytes()), self.text.len() as u32, text.len() as u32);
        self.text.push_str(text);
        self.texts.push(WaitingText { hash, start, length });
        self.texts.len() as u32 - 1
    }

    /// Returns the number of the text at a place.
    #[inline]
    pub(crate) fn number(&self, place: u32) -> u32 {
        self.numbers[place as usize]
    }

    /// Returns the bytes of the texts.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Forgets the waiting texts.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.texts.clear();
    }
}

/// The place of a text. With the length in it, a look-up needs only one other memory access, to the text.
#[derive(Clone, Copy)]
struct Place {
    start: u64,
    length: u32,
    number: u32,
}

impl Place {
    fn slice<'t>(&self, bytes: &'t [u8]) -> &'t [u8] {
        &bytes[self.start as usize..][..self.length as usize]
    }
}

impl Texts {
    #[inline]
    fn number(&mut self, hash: u64, text: &str) -> u32 {
        let text = text.as_bytes();
        let same = |place: &Place| place.length as usize == text.len() && place.slice(&self.bytes) == text;
        if let Some(place) = self.places.find(hash, same) {
            return place.number;
        }
        // The memory budget is far below 2^32 texts, and a row has at most 1 MiB.
        let number = self.starts.len() as u32;
        let start = self.bytes.len() as u64;
        self.starts.push(start);
        self.bytes.extend_from_slice(text);
        if self.places.len() == self.places.capacity() {
            self.grow();
        }
        let (bytes, place) = (&self.bytes, Place { start, length: text.len() as u32, number });
        self.places.insert_unique(hash, place, |place| xxh3_64(place.slice(bytes)));
        number
    }

    /// Doubles the hash table. Inserting text by text, in order, is faster than moving entry by entry, and the old
    /// table need not be kept next to the new one.
    fn grow(&mut self) {
        let count = self.places.len();
        self.places = HashTable::new();
        self.places = HashTable::with_capacity((2 * count).max(LEAST_PLACES));
        for number in 0..count as u32 {
            let text = self.get(number);
            let (hash, start, length) = (xxh3_64(text), self.starts[number as usize], text.len() as u32);
            let bytes = &self.bytes;
            self.places.insert_unique(hash, Place { start, length, number }, |place| xxh3_64(place.slice(bytes)));
        }
    }

    /// Looks up the places first, then compares the texts, then adds the new ones.
    fn number_all(&mut self, waiting: &mut Waiting) {
        let mut places = [None; AT_ONCE];
        for (place, text) in places.iter_mut().zip(&waiting.texts) {
            // The candidate with the right length is nearly always the right text.
            *place = self.places.find(text.hash, |place| place.length == text.length).copied();
        }
        for (place, text) in places.iter_mut().zip(&waiting.texts) {
            *place = place.filter(|place| place.slice(&self.bytes) == text.slice(&waiting.text).as_bytes());
        }
        waiting.numbers.clear();
        for (place, text) in places.iter().zip(&waiting.texts) {
            let number = match place {
                Some(place) => place.number,
                None => self.number(text.hash, text.slice(&waiting.text)),
            };
            waiting.numbers.push(number);
        }
    }

    pub(super) fn get(&self, number: u32) -> &[u8] {
        let start = self.starts[number as usize] as usize;
        let end = self.starts.get(number as usize + 1).map_or(self.bytes.len(), |&end| end as usize);
        &self.bytes[start..end]
    }

    #[inline]
    fn bytes(&self) -> usize {
        self.bytes.capacity() + self.starts.capacity() * 8 + self.places.capacity() * PLACE_BYTES
    }

    /// Returns the number of texts.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the rank of each used text among all used texts, ordered by bytes.
    pub(super) fn ranks(&self, is_used: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut order: Vec<(u64, u32)> =
            (0..self.len() as u32).filter(|&number| is_used(number)).map(|number| (0, number)).collect();
        sort_by_text(&mut order, &|number| self.get(number), &|_| ());
        let mut ranks = vec![0; self.len()];
        for (rank, (_, number)) in order.into_iter().enumerate() {
            ranks[number as usize] = rank as u32;
        }
        ranks
    }

    fn write(&self, file: &mut impl Write) -> io::Result<()> {
        put_number(file, self.starts.len() as u64)?;
        let ends = self.starts.iter().copied().skip(1).chain([self.bytes.len() as u64]);
        self.starts.iter().zip(ends).try_for_each(|(start, end)| put_number(file, end - start))?;
        file.write_all(&self.bytes)
    }

    fn read(file: &mut impl Read) -> io::Result<Texts> {
        let (mut texts, mut end) = (Texts::default(), 0);
        for _ in 0..get_number(file)? {
            texts.starts.push(end);
            end += get_number(file)?;
        }
        texts.bytes.resize(end as usize, 0);
        file.read_exact(&mut texts.bytes)?;
        Ok(texts)
    }
}

/// The number of bytes of a text that are compared as integers, eight at a time. If they are equal, the rest is
/// compared as bytes.
const NUMBERED_BYTES: usize = 32;

/// Sorts things by their texts, and by `rest` if these are equal. The integer next to each thing is for sorting: it
/// holds eight bytes of the text, so that the text is read once for them and not for each comparison.
pub(super) fn sort_by_text<'t, R: Ord>(
    things: &mut [(u64, u32)],
    text: &impl Fn(u32) -> &'t [u8],
    rest: &impl Fn(u32) -> R,
) {
    sort_from(things, 0, text, rest);
}

fn sort_from<'t, R: Ord>(
    things: &mut [(u64, u32)],
    from: usize,
    text: &impl Fn(u32) -> &'t [u8],
    rest: &impl Fn(u32) -> R,
) {
    if things.len() < 2 {
        return;
    }
    if from == NUMBERED_BYTES {
        things.sort_unstable_by(|a, b| text(a.1).cmp(text(b.1)).then_with(|| rest(a.1).cmp(&rest(b.1))));
        return;
    }
    for (number, thing) in things.iter_mut() {
        let mut bytes = [0; 8];
        let left = text(*thing).get(from..).unwrap_or_default();
        let length = left.len().min(8);
        bytes[..length].copy_from_slice(&left[..length]);
        *number = u64::from_be_bytes(bytes);
    }
    things.sort_unstable_by_key(|&(number, _)| number);
    for same in things.chunk_by_mut(|a, b| a.0 == b.0) {
        sort_from(same, from + 8, text, rest);
    }
}

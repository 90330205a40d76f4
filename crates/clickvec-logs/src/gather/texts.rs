//! Texts, numbered.

use std::io::{self, Read, Write};

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use super::Sighting;
use super::run::{get_number, put_number};

/// Bytes that a table of places takes for each entry that fits, with the places that stay free.
const PLACE_BYTES: usize = 20;

/// Different queries and titles.
#[derive(Default)]
pub(crate) struct Names {
    pub(super) queries: Texts,
    pub(super) titles: Texts,
}

impl Names {
    /// Numbers in place of texts.
    #[inline]
    pub(crate) fn number(&mut self, sighting: Sighting<&str>) -> Sighting<u32> {
        let Sighting { query, title, part, position, shown, clicks, user } = sighting;
        let (query, title) = (self.queries.number(query), self.titles.number(title));
        Sighting { query, title, part, position, shown, clicks, user }
    }

    /// What they take, nearly.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.queries.bytes() + self.titles.bytes()
    }

    /// Writes the texts, in order of their numbers.
    pub(crate) fn write(&self, file: &mut impl Write) -> io::Result<()> {
        self.queries.write(file)?;
        self.titles.write(file)
    }

    /// Gives back the memory that only numbering takes: from then on texts can only be looked up.
    pub(crate) fn freeze(&mut self) {
        for texts in [&mut self.queries, &mut self.titles] {
            texts.places = HashTable::new();
        }
    }

    /// Reads what [`Names::write`] wrote, to be looked up only.
    pub(crate) fn read(file: &mut impl Read) -> io::Result<Names> {
        Ok(Names { queries: Texts::read(file)?, titles: Texts::read(file)? })
    }
}

/// Different texts, numbered as they come.
#[derive(Default)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    /// Where each begins; the last one ends where `bytes` does.
    starts: Vec<u64>,
    places: HashTable<Place>,
}

/// Where a text is. A look-up needs nothing else but the text, which halves the places in memory that it waits for.
struct Place {
    start: u64,
    length: u32,
    number: u32,
}

impl Place {
    fn of<'t>(&self, bytes: &'t [u8]) -> &'t [u8] {
        &bytes[self.start as usize..][..self.length as usize]
    }
}

impl Texts {
    #[inline]
    fn number(&mut self, text: &str) -> u32 {
        let text = text.as_bytes();
        let hash = xxh3_64(text);
        let same = |place: &Place| place.length as usize == text.len() && place.of(&self.bytes) == text;
        if let Some(place) = self.places.find(hash, same) {
            return place.number;
        }
        // The budget of memory is far below 2^32 texts, and a row has at most a MiB.
        let number = self.starts.len() as u32;
        let start = self.bytes.len() as u64;
        self.starts.push(start);
        self.bytes.extend_from_slice(text);
        let (bytes, place) = (&self.bytes, Place { start, length: text.len() as u32, number });
        self.places.insert_unique(hash, place, |place| xxh3_64(place.of(bytes)));
        number
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

    /// For each text its place in the order of bytes.
    pub(super) fn ranks(&self) -> Vec<u32> {
        // The first bytes nearly always decide, and lie in order.
        let first = |text: &[u8]| {
            let mut bytes = [0; 8];
            let length = text.len().min(8);
            bytes[..length].copy_from_slice(&text[..length]);
            u64::from_be_bytes(bytes)
        };
        let mut order: Vec<(u64, u32)> =
            (0..self.starts.len() as u32).map(|number| (first(self.get(number)), number)).collect();
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.get(a.1).cmp(self.get(b.1))));
        let mut ranks = vec![0; order.len()];
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

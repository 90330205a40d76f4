//! What is counted in memory.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use super::{Cell, PARTS, QueryGroup, Sighting, TitleGroup, add_user};
use crate::error::Result;

/// Bytes that a table of places takes for each entry, with its free places.
const TABLE_BYTES: usize = 10;

/// Counts by query, title, part and position.
pub(super) struct Memory {
    queries: Texts,
    titles: Texts,
    cells: Vec<Entry>,
    places: HashTable<u32>,
    /// By query and part; empty if users are not told apart.
    users: Vec<[Vec<u64>; PARTS]>,
    user_bytes: usize,
    most_users: usize,
}

struct Entry {
    query: u32,
    title: u32,
    cell: Cell,
}

impl Memory {
    /// Nothing counted.
    pub(super) fn new(most_users: usize) -> Memory {
        Memory {
            queries: Texts::default(),
            titles: Texts::default(),
            cells: Vec::new(),
            places: HashTable::new(),
            users: Vec::new(),
            user_bytes: 0,
            most_users,
        }
    }

    /// How many users of a query are told apart.
    pub(super) fn users(&self) -> usize {
        self.most_users
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// What it takes, nearly. Growing vectors hold their old and their new place at once for a moment; what they hold at
    /// most is reckoned by their capacity.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.queries.bytes()
            + self.titles.bytes()
            + self.cells.capacity() * size_of::<Entry>()
            + self.places.capacity() * TABLE_BYTES
            + self.users.capacity() * size_of::<[Vec<u64>; PARTS]>()
            + self.user_bytes
    }

    #[inline]
    pub(super) fn add(&mut self, sighting: Sighting<'_>) {
        let query = self.queries.number(sighting.query);
        let title = self.titles.number(sighting.title);
        let (part, position) = (sighting.part, sighting.position);
        let hash = mixed(query, title, part, position);
        let cells = &self.cells;
        let same = |&place: &u32| {
            let entry = &cells[place as usize];
            entry.query == query && entry.title == title && entry.cell.part == part && entry.cell.position == position
        };
        let place = match self.places.find(hash, same) {
            Some(&place) => place as usize,
            None => {
                let place = self.cells.len();
                self.cells.push(Entry { query, title, cell: Cell { part, position, shown: 0, clicks: 0 } });
                let cells = &self.cells;
                self.places.insert_unique(hash, place as u32, |&place| {
                    let Entry { query, title, cell } = &cells[place as usize];
                    mixed(*query, *title, cell.part, cell.position)
                });
                place
            }
        };
        let cell = &mut self.cells[place].cell;
        cell.shown = cell.shown.saturating_add(sighting.shown);
        cell.clicks = cell.clicks.saturating_add(sighting.clicks);
        if let Some(user) = sighting.user
            && sighting.clicks > 0
            && self.most_users > 0
        {
            if self.users.len() <= query as usize {
                self.users.resize_with(query as usize + 1, Default::default);
            }
            let users = &mut self.users[query as usize][usize::from(part)];
            let before = users.capacity();
            add_user(users, user, self.most_users);
            self.user_bytes += (users.capacity() - before) * size_of::<u64>();
        }
    }

    /// Hands over all groups in order and forgets them.
    pub(super) fn drain(&mut self, mut each: impl FnMut(&QueryGroup) -> Result<()>) -> Result<()> {
        let (queries, titles) = (self.queries.ranks(), self.titles.ranks());
        let mut order: Vec<u32> = (0..self.cells.len() as u32).collect();
        order.sort_unstable_by_key(|&place| {
            let Entry { query, title, cell } = &self.cells[place as usize];
            (queries[*query as usize], titles[*title as usize], cell.part, cell.position)
        });
        drop((queries, titles));
        let mut group = QueryGroup::default();
        let mut current: Option<(u32, u32)> = None;
        for place in order {
            let Entry { query, title, cell } = &self.cells[place as usize];
            if current.is_none_or(|(other, _)| other != *query) {
                if current.is_some() {
                    each(&group)?;
                }
                group = QueryGroup { query: self.queries.get(*query).to_vec(), ..QueryGroup::default() };
                if let Some(users) = self.users.get_mut(*query as usize) {
                    group.users = std::mem::take(users);
                }
                current = None;
            }
            if current.is_none_or(|(_, other)| other != *title) {
                group.titles.push(TitleGroup { title: self.titles.get(*title).to_vec(), cells: Vec::new() });
            }
            if let Some(last) = group.titles.last_mut() {
                last.cells.push(*cell);
            }
            current = Some((*query, *title));
        }
        if current.is_some() {
            each(&group)?;
        }
        *self = Memory::new(self.most_users);
        Ok(())
    }
}

#[inline]
fn mixed(query: u32, title: u32, part: u8, position: u16) -> u64 {
    let pair = u64::from(query) << 32 | u64::from(title);
    let place = u64::from(position) << 8 | u64::from(part);
    // Two rounds of a multiplication whose high half comes back: quick, and good enough for places in a table.
    let folded = u128::from(pair ^ 0x9e37_79b9_7f4a_7c15) * u128::from(place ^ 0xd1b5_4a32_d192_ed03);
    let folded = (folded as u64) ^ (folded >> 64) as u64;
    let again = u128::from(folded ^ pair) * 0xa076_1d64_78bd_642f_u128;
    (again as u64) ^ (again >> 64) as u64
}

/// Different texts, numbered as they come.
#[derive(Default)]
struct Texts {
    bytes: Vec<u8>,
    /// Where each begins; the last one ends where `bytes` does.
    starts: Vec<u64>,
    places: HashTable<u32>,
    hashes: Vec<u64>,
}

impl Texts {
    #[inline]
    fn number(&mut self, text: &str) -> u32 {
        let hash = xxh3_64(text.as_bytes());
        let same = |&number: &u32| self.hashes[number as usize] == hash && self.get(number) == text.as_bytes();
        if let Some(&number) = self.places.find(hash, same) {
            return number;
        }
        // The budget of memory is far below 2^32 texts.
        let number = self.starts.len() as u32;
        self.starts.push(self.bytes.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
        self.hashes.push(hash);
        let hashes = &self.hashes;
        self.places.insert_unique(hash, number, |&number| hashes[number as usize]);
        number
    }

    fn get(&self, number: u32) -> &[u8] {
        let start = self.starts[number as usize] as usize;
        let end = self.starts.get(number as usize + 1).map_or(self.bytes.len(), |&end| end as usize);
        &self.bytes[start..end]
    }

    #[inline]
    fn bytes(&self) -> usize {
        self.bytes.capacity()
            + self.starts.capacity() * 8
            + self.hashes.capacity() * 8
            + self.places.capacity() * TABLE_BYTES
    }

    /// For each text its place in the order of bytes.
    fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.starts.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| self.get(a).cmp(self.get(b)));
        let mut ranks = vec![0; order.len()];
        for (rank, number) in order.into_iter().enumerate() {
            ranks[number as usize] = rank as u32;
        }
        ranks
    }
}

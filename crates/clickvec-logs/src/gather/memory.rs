//! What is counted in memory.

use hashbrown::HashTable;

use super::texts::Names;
use super::{Cell, PARTS, QueryGroup, Sighting, TitleGroup, add_user};
use crate::error::Result;

/// Bytes that a table of places takes for each entry, with its free places.
const TABLE_BYTES: usize = 10;

/// Counts by query, title, part and position.
pub(super) struct Memory {
    names: Names,
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
            names: Names::default(),
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
        self.names.bytes() + self.bytes_of_counts()
    }

    /// What it takes beside the texts.
    #[inline]
    pub(super) fn bytes_of_counts(&self) -> usize {
        self.cells.capacity() * size_of::<Entry>()
            + self.places.capacity() * TABLE_BYTES
            + self.users.capacity() * size_of::<[Vec<u64>; PARTS]>()
            + self.user_bytes
    }

    #[inline]
    pub(super) fn add(&mut self, sighting: Sighting<&str>) {
        let numbered = self.names.number(sighting);
        self.count(numbered);
    }

    /// Texts that were numbered elsewhere; nothing may be counted yet.
    pub(super) fn take(&mut self, names: Names) {
        self.names = names;
    }

    /// Counts what is numbered already.
    #[inline]
    pub(super) fn count(&mut self, sighting: Sighting<u32>) {
        let Sighting { query, title, part, position, .. } = sighting;
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

    /// Hands over all groups in order and forgets them, but not their texts.
    pub(super) fn drain(&mut self, mut each: impl FnMut(&QueryGroup) -> Result<()>) -> Result<()> {
        let (queries, titles) = (self.names.queries.ranks(), self.names.titles.ranks());
        // Most comparisons are decided without going to the cells.
        let key =
            |entry: &Entry| u64::from(queries[entry.query as usize]) << 32 | u64::from(titles[entry.title as usize]);
        let mut order: Vec<(u64, u32)> = (0..).zip(&self.cells).map(|(place, entry)| (key(entry), place)).collect();
        drop((queries, titles));
        let rest = |place: u32| {
            let cell = &self.cells[place as usize].cell;
            (cell.part, cell.position)
        };
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| rest(a.1).cmp(&rest(b.1))));
        let mut group = QueryGroup::default();
        let mut current: Option<(u32, u32)> = None;
        for (_, place) in order {
            let Entry { query, title, cell } = &self.cells[place as usize];
            if current.is_none_or(|(other, _)| other != *query) {
                if current.is_some() {
                    each(&group)?;
                }
                group = QueryGroup { query: self.names.queries.get(*query).to_vec(), ..QueryGroup::default() };
                if let Some(users) = self.users.get_mut(*query as usize) {
                    group.users = std::mem::take(users);
                }
                current = None;
            }
            if current.is_none_or(|(_, other)| other != *title) {
                group.titles.push(TitleGroup { title: self.names.titles.get(*title).to_vec(), cells: Vec::new() });
            }
            if let Some(last) = group.titles.last_mut() {
                last.cells.push(*cell);
            }
            current = Some((*query, *title));
        }
        if current.is_some() {
            each(&group)?;
        }
        let names = std::mem::take(&mut self.names);
        *self = Memory { names, ..Memory::new(self.most_users) };
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

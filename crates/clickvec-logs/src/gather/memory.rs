//! Counts in memory.

use hashbrown::HashTable;

use super::group::{AT_ONCE, Cell, QueryGroup, Sighting, TitleGroup};
use super::texts::{LEAST_PLACES, Names, sort_by_text};
use super::users::Users;
use crate::Result;
use crate::report::Counts;

/// The bytes that an entry of a hash table takes, with its share of free slots.
const TABLE_BYTES: usize = 10;

/// Counts by query, title and position.
pub(super) struct Memory {
    names: Names,
    cells: Vec<Entry>,
    places: HashTable<u32>,
    /// Empty if users are not counted.
    users: Users,
    most_users: usize,
}

struct Entry {
    query: u32,
    title: u32,
    cell: Cell,
}

impl Memory {
    /// Creates empty counts.
    pub(super) fn new(most_users: usize) -> Memory {
        Memory {
            names: Names::default(),
            cells: Vec::new(),
            places: HashTable::new(),
            users: Default::default(),
            most_users,
        }
    }

    /// Returns the largest number of users counted for a query.
    pub(super) fn users(&self) -> usize {
        self.most_users
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns approximately the bytes in use. While a vector grows, its old and its new memory exist at the same time; its
    /// capacity allows for that.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.names.bytes() + self.bytes_of_counts()
    }

    /// Returns the bytes in use apart from the texts.
    #[inline]
    pub(super) fn bytes_of_counts(&self) -> usize {
        self.cells.capacity() * size_of::<Entry>() + self.places.capacity() * TABLE_BYTES + self.users.bytes()
    }

    #[inline]
    pub(super) fn add(&mut self, sighting: Sighting<&str>) {
        let numbered = sighting.with(|query, title| self.names.number(query, title));
        self.count(numbered);
    }

    /// Uses texts that were numbered elsewhere. Nothing may have been counted yet.
    pub(super) fn take(&mut self, names: Names) {
        self.names = names;
    }

    /// Counts rows whose texts are numbered.
    pub(super) fn count_all(&mut self, sightings: &[Sighting<u32>]) {
        for sightings in sightings.chunks(AT_ONCE) {
            let mut places = [None; AT_ONCE];
            for (place, sighting) in places.iter_mut().zip(sightings) {
                // The first candidate is nearly always the right one, but checking that needs its cell.
                *place = self.places.find(mixed(sighting), |_| true).copied();
            }
            for (place, sighting) in places.iter_mut().zip(sightings) {
                *place = place.filter(|&place| self.cells[place as usize].is_of(sighting));
            }
            for (place, sighting) in places.iter().zip(sightings) {
                match place {
                    Some(place) => self.cells[*place as usize].cell.add(sighting),
                    None => self.count_cell(sighting),
                }
            }
            sightings.iter().for_each(|sighting| self.count_user(sighting));
        }
    }

    #[inline]
    fn count(&mut self, sighting: Sighting<u32>) {
        self.count_cell(&sighting);
        self.count_user(&sighting);
    }

    #[inline]
    fn count_cell(&mut self, sighting: &Sighting<u32>) {
        let hash = mixed(sighting);
        let place = match self.places.find(hash, |&place| self.cells[place as usize].is_of(sighting)) {
            Some(&place) => place as usize,
            None => {
                let &Sighting { query, title, position, .. } = sighting;
                let place = self.cells.len();
                self.cells.push(Entry { query, title, cell: Cell { position, shown: 0, clicks: 0 } });
                if self.places.len() == self.places.capacity() {
                    self.grow();
                }
                let cells = &self.cells;
                self.places.insert_unique(hash, place as u32, |&place| cells[place as usize].mixed());
                place
            }
        };
        self.cells[place].cell.add(sighting);
    }

    /// Grows with the table of texts.
    fn grow(&mut self) {
        let count = self.places.len();
        self.places = HashTable::new();
        self.places = HashTable::with_capacity((2 * count).max(LEAST_PLACES));
        let cells = &self.cells[..count];
        for (place, entry) in (0..).zip(cells) {
            self.places.insert_unique(entry.mixed(), place, |&place| cells[place as usize].mixed());
        }
    }

    #[inline]
    fn count_user(&mut self, sighting: &Sighting<u32>) {
        if let Some(user) = sighting.user
            && sighting.clicks > 0
            && self.most_users > 0
        {
            self.users.add(sighting.query, user, self.most_users);
        }
    }

    /// Passes on all groups in order and forgets them, but keeps their texts.
    pub(super) fn drain(&mut self, mut each: impl FnMut(&QueryGroup) -> Result<()>) -> Result<()> {
        let mut is_used = vec![false; self.names.queries.len()];
        self.cells.iter().for_each(|entry| is_used[entry.query as usize] = true);
        let ranks = self.names.queries.ranks(|query| is_used[query as usize]);
        let order = |(place, entry): (u32, &Entry)| u64::from(ranks[entry.query as usize]) << 32 | u64::from(place);
        let mut order: Vec<u64> = (0..).zip(&self.cells).map(order).collect();
        drop((ranks, is_used));
        order.sort_unstable();
        let entry = |place: u32| &self.cells[place as usize];
        let title = |place| self.names.titles.get(entry(place).title);
        let rest = |place| entry(place).cell.position;
        let (mut group, mut places) = (QueryGroup::default(), Vec::new());
        for same in order.chunk_by(|a, b| a >> 32 == b >> 32) {
            places.clear();
            places.extend(same.iter().map(|&place| (0, place as u32)));
            sort_by_text(&mut places, &title, &rest);
            let query = entry(places[0].1).query;
            group.query.clear();
            group.query.extend_from_slice(self.names.queries.get(query));
            group.users.clear();
            group.users.extend(self.users.iter(query));
            let mut titles = 0;
            for titled in places.chunk_by(|a, b| entry(a.1).title == entry(b.1).title) {
                if group.titles.len() == titles {
                    group.titles.push(TitleGroup::default());
                }
                let TitleGroup { title: text, cells } = &mut group.titles[titles];
                text.clear();
                text.extend_from_slice(title(titled[0].1));
                cells.clear();
                cells.extend(titled.iter().map(|&(_, place)| entry(place).cell));
                titles += 1;
            }
            group.titles.truncate(titles);
            each(&group)?;
        }
        let names = std::mem::take(&mut self.names);
        *self = Memory { names, ..Memory::new(self.most_users) };
        Ok(())
    }

    /// Forgets queries for which too few users clicked. Returns their counts.
    pub(super) fn leave_out_few(&mut self) -> Counts {
        let mut few = Counts::default();
        let enough = |query: u32| self.users.count(query) >= self.most_users;
        let mut is_counted = vec![false; self.names.queries.len()];
        self.cells.retain(|Entry { query, cell, .. }| {
            let stays = enough(*query);
            if !stays && cell.clicks > 0 {
                let is_counted = &mut is_counted[*query as usize];
                few.queries += u64::from(!std::mem::replace(is_counted, true));
                few.pairs += 1;
                few.clicks = few.clicks.saturating_add(cell.clicks);
            }
            stays
        });
        self.places = HashTable::new();
        few
    }
}

impl Entry {
    #[inline]
    fn mixed(&self) -> u64 {
        mix(self.query, self.title, self.cell.position)
    }

    #[inline]
    fn is_of(&self, sighting: &Sighting<u32>) -> bool {
        (self.query, self.title, self.cell.position) == (sighting.query, sighting.title, sighting.position)
    }
}

impl Cell {
    #[inline]
    fn add(&mut self, sighting: &Sighting<u32>) {
        self.shown = self.shown.saturating_add(sighting.shown);
        self.clicks = self.clicks.saturating_add(sighting.clicks);
    }
}

#[inline]
fn mixed(sighting: &Sighting<u32>) -> u64 {
    mix(sighting.query, sighting.title, sighting.position)
}

#[inline]
fn mix(query: u32, title: u32, position: u16) -> u64 {
    let pair = u64::from(query) << 32 | u64::from(title);
    // Two rounds of multiplication that keep the high half: fast, and good enough for a hash table.
    let folded = u128::from(pair ^ 0x9e37_79b9_7f4a_7c15) * u128::from(u64::from(position) ^ 0xd1b5_4a32_d192_ed03);
    let folded = (folded as u64) ^ (folded >> 64) as u64;
    let mixed = u128::from(folded ^ pair) * 0xa076_1d64_78bd_642f_u128;
    (mixed as u64) ^ (mixed >> 64) as u64
}

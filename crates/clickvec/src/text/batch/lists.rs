//! Lists of numbers that each minibatch fills anew.

/// Lists of numbers, one after the other: list i is `items[start[i]..start[i + 1]]`. Not [`crate::ragged::Ragged`]: each
/// minibatch fills them anew, in place, and numbers of 32 bits are half of what the loops read.
#[derive(Debug, Clone)]
pub struct Lists<T> {
    pub(crate) start: Vec<u32>,
    pub(crate) items: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists { start: vec![0], items: Vec::new() }
    }
}

impl<T> Lists<T> {
    /// Returns a list.
    pub fn get(&self, list: usize) -> &[T] {
        &self.items[self.start[list] as usize..self.start[list + 1] as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.start.len() - 1
    }

    /// Removes all lists.
    pub fn clear(&mut self) {
        self.start.truncate(1);
        self.items.clear();
    }

    /// Ends a list, which has all items since the last one.
    pub(crate) fn end_list(&mut self) {
        self.start.push(self.items.len() as u32);
    }

    /// Adds a list.
    pub fn push(&mut self, list: impl IntoIterator<Item = T>) {
        self.items.extend(list);
        self.end_list();
    }
}

/// Fills `lists` with the places where each key occurs, in order.
pub(super) fn invert<'a>(lists: &mut Lists<u32>, keys: usize, parts: impl Iterator<Item = (u32, &'a [u32])> + Clone) {
    lists.start.clear();
    lists.start.resize(keys + 2, 0);
    let mut positions = 0;
    for (_, part) in parts.clone() {
        positions += part.len();
        for &key in part {
            lists.start[key as usize + 2] += 1;
        }
    }
    for i in 2..lists.start.len() {
        lists.start[i] += lists.start[i - 1];
    }
    lists.items.clear();
    lists.items.resize(positions, 0);
    for (first, part) in parts {
        for (i, &key) in part.iter().enumerate() {
            let next = &mut lists.start[key as usize + 1];
            lists.items[*next as usize] = first + i as u32;
            *next += 1;
        }
    }
    lists.start.truncate(keys + 1);
}

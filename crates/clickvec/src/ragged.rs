//! Lists of different lengths in one piece of memory.

use std::ops::{AddAssign, Range};

use clickvec_tables::memory::{NoRoom, reserve, room_for_numbers};

/// Lists of different lengths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ragged<T> {
    /// The end of each list.
    ends: Vec<usize>,
    items: Vec<T>,
}

impl<T> Default for Ragged<T> {
    fn default() -> Ragged<T> {
        Ragged { ends: Vec::new(), items: Vec::new() }
    }
}

impl<T> Ragged<T> {
    /// Returns the items of lists 0 to `lists`, in the order in which `each` reports them. `each` is called twice and must
    /// report the same items. `what` the items are is for the error.
    ///
    /// # Errors
    ///
    /// [`NoRoom`].
    pub fn sorted(
        what: &'static str,
        lists: usize,
        each: impl Fn(&mut dyn FnMut(usize, T)),
    ) -> Result<Ragged<T>, NoRoom>
    where
        T: Copy + Default,
    {
        // Element i + 1 is the place where list i continues while the lists are filled.
        let mut next = vec![0; lists + 1];
        each(&mut |list, _| next[list + 1] += 1);
        for list in 0..lists {
            next[list + 1] += next[list];
        }
        room_for_numbers::<T>(what, &[&[next[lists]]])?;
        let mut items = vec![T::default(); next[lists]];
        each(&mut |list, item| {
            items[next[list]] = item;
            next[list] += 1;
        });
        // Each list now ends where the next one begins.
        next.truncate(lists);
        Ok(Ragged { ends: next, items })
    }

    /// Creates an empty list of lists, with room for this many lists and items of all lists together.
    pub fn with_capacity(lists: usize, items: usize) -> Ragged<T> {
        Ragged { ends: Vec::with_capacity(lists), items: Vec::with_capacity(items) }
    }

    /// Adds a list. Where memory for `what` the items are is missing, it stays as it was.
    ///
    /// # Errors
    ///
    /// [`NoRoom`].
    pub fn try_push(&mut self, what: &'static str, list: impl ExactSizeIterator<Item = T>) -> Result<(), NoRoom> {
        reserve(&mut self.items, list.len(), what)?;
        reserve(&mut self.ends, 1, what)?;
        self.push(list);
        Ok(())
    }

    /// Adds a list.
    pub fn push(&mut self, list: impl IntoIterator<Item = T>) {
        self.items.extend(list);
        self.ends.push(self.items.len());
    }

    /// Returns the number of lists.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether [`Self::len`] is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the range of list `i` among all items.
    ///
    /// # Panics
    /// If there is no list `i`.
    pub fn range(&self, i: usize) -> Range<usize> {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        start..self.ends[i]
    }

    /// Returns list `i`.
    ///
    /// # Panics
    /// If there is no list `i`.
    pub fn get(&self, i: usize) -> &[T] {
        &self.items[self.range(i)]
    }

    /// Returns list `i`, to be changed in place.
    ///
    /// # Panics
    /// If there is no list `i`.
    pub fn get_mut(&mut self, i: usize) -> &mut [T] {
        let range = self.range(i);
        &mut self.items[range]
    }

    /// Returns all lists.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[T]> + Clone {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Returns the end of each list, and the items of all lists.
    pub fn into_parts(self) -> (Vec<usize>, Vec<T>) {
        (self.ends, self.items)
    }

    /// Returns the items of all lists.
    pub fn items(&self) -> &[T] {
        &self.items
    }
}

/// Returns the start of each list where all lists lie one after the other, and the end of the last one. `of` has the list of
/// each item, below `lists`.
pub fn starts<N>(lists: usize, of: impl Iterator<Item = usize>) -> Vec<N>
where
    N: Copy + AddAssign + From<bool>,
{
    let mut starts = vec![N::from(false); lists + 1];
    of.for_each(|list| starts[list + 1] += N::from(true));
    for list in 0..lists {
        let start = starts[list];
        starts[list + 1] += start;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_starts_where_the_one_before_ends() {
        assert_eq!(starts::<u32>(4, [1, 3, 1, 0].into_iter()), [0, 1, 3, 3, 4]);
        assert_eq!(starts::<usize>(0, std::iter::empty()), [0]);
    }

    #[test]
    fn lists_lie_one_after_the_other() {
        let mut lists = Ragged::default();
        assert_eq!(lists.len(), 0);
        for list in [&[3, 1][..], &[]] {
            lists.push(list.iter().copied());
        }
        lists.try_push("items", [2].into_iter()).unwrap();
        assert_eq!(lists.get_mut(0), [3, 1]);
        assert_eq!((lists.len(), lists.items()), (3, &[3, 1, 2][..]));
        assert_eq!(lists.iter().collect::<Vec<_>>(), [&[3, 1][..], &[], &[2]]);
        assert_eq!((lists.range(1), lists.range(2)), (2..2, 2..3));
        let found = [(1, 'a'), (3, 'b'), (1, 'c'), (0, 'd')];
        let sorted =
            Ragged::sorted("items", 5, |each| found.iter().for_each(|&(list, item)| each(list, item))).unwrap();
        assert_eq!(sorted.iter().collect::<Vec<_>>(), [&['d'][..], &['a', 'c'], &[], &['b'], &[]]);
        assert_eq!(Ragged::<u8>::sorted("items", 0, |_| ()).unwrap(), Ragged::default());
    }
}

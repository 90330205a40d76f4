//! Distinct users of each query, up to a limit.

/// The number of users in a block.
const BLOCK: usize = 4;

/// Users by query. Most queries have one user, who is stored with the query itself.
#[derive(Default)]
pub(super) struct Users {
    queries: Vec<Of>,
    blocks: Vec<[u64; BLOCK]>,
}

/// The users of one query.
#[derive(Clone, Copy, Default)]
struct Of {
    first: u64,
    count: u32,
    /// The place of the block with all further users. Its size is their number rounded up to a power of two.
    block: u32,
}

impl Users {
    /// Adds a user, unless the query has this user or `most` users already.
    #[inline]
    pub(super) fn add(&mut self, query: u32, user: u64, most: usize) {
        let query = query as usize;
        if self.queries.len() <= query {
            self.queries.resize(query + 1, Of::default());
        }
        let of = self.queries[query];
        if of.count as usize >= most || of.count > 0 && of.first == user {
            return;
        }
        if of.count == 0 {
            self.queries[query] = Of { first: user, count: 1, block: 0 };
        } else if !self.others(of).contains(&user) {
            self.add_other(query, user);
        }
    }

    fn add_other(&mut self, query: usize, user: u64) {
        let Of { count, block, .. } = self.queries[query];
        let others = count as usize - 1;
        let (blocks, is_full) = (others / BLOCK, others.is_multiple_of(BLOCK));
        let mut block = block as usize;
        if is_full && (blocks == 0 || blocks.is_power_of_two()) {
            // The old block of users that move stays empty. All such blocks together are smaller than the new one.
            let moved = self.blocks.len();
            self.blocks.extend_from_within(block..block + blocks);
            self.blocks.resize(moved + (2 * blocks).max(1), [0; BLOCK]);
            block = moved;
        }
        self.blocks[block + blocks][others % BLOCK] = user;
        let of = &mut self.queries[query];
        (of.count, of.block) = (count + 1, block as u32);
    }

    /// Returns the users after the first.
    fn others(&self, of: Of) -> &[u64] {
        let others = (of.count as usize).saturating_sub(1);
        &self.blocks[of.block as usize..].as_flattened()[..others]
    }

    pub(super) fn count(&self, query: u32) -> usize {
        self.queries.get(query as usize).map_or(0, |of| of.count as usize)
    }

    /// Returns all users of a query, in order of appearance.
    pub(super) fn iter(&self, query: u32) -> impl Iterator<Item = u64> {
        let of = self.queries.get(query as usize).copied().unwrap_or_default();
        (of.count > 0).then_some(of.first).into_iter().chain(self.others(of).iter().copied())
    }

    /// Returns the bytes in use.
    pub(super) fn bytes(&self) -> usize {
        self.queries.capacity() * size_of::<Of>() + self.blocks.capacity() * size_of::<[u64; BLOCK]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_a_list_for_each_query() {
        let mut lists: Vec<Vec<u64>> = vec![Vec::new(); 30];
        let mut users = Users::default();
        for step in 0..20_000u64 {
            let drawn =
                step.wrapping_mul(6_364_136_223_846_793_005).rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let (query, user) = ((drawn >> 40) as usize % 30, drawn % 70);
            // Later queries have fewer users.
            let user = user % (70 - 2 * query as u64);
            users.add(query as u32, user, 60);
            if lists[query].len() < 60 && !lists[query].contains(&user) {
                lists[query].push(user);
            }
        }
        assert!(lists.iter().any(|list| list.len() == 60) && lists.iter().any(|list| list.len() == 12));
        for (query, list) in lists.iter().enumerate() {
            assert_eq!((users.count(query as u32), &users.iter(query as u32).collect::<Vec<_>>()), (list.len(), list));
        }
        assert_eq!((users.count(30), users.iter(30).count()), (0, 0));
    }
}

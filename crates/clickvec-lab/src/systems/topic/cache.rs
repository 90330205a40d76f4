//! A cache of the topics of titles that were folded in.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, PoisonError, RwLock};

use clickvec::internals::text::WordId;

/// The number of parts with their own locks.
const PARTS: usize = 16;
/// The approximate size of the cache in bytes.
const BYTES: usize = 64 << 20;

/// P(z|D) of a title, by its words.
type Folded = HashMap<Box<[WordId]>, Arc<[f32]>>;

/// P(z|D) by the words of D. Judging the same titles with several λ, and titles that many queries share, then fold
/// them in once. A missing entry is computed, with the same bits.
pub(super) struct Cache {
    parts: [RwLock<Folded>; PARTS],
    hasher: RandomState,
    /// The number of titles that a part keeps. When it is full, it forgets all.
    most: usize,
}

impl Cache {
    pub(super) fn new(topics: usize) -> Cache {
        let most = (BYTES / PARTS / (topics * size_of::<f32>() + 128)).max(1);
        Cache { parts: Default::default(), hasher: RandomState::new(), most }
    }

    /// Returns the topics of a title with these words, computed by `fold` if they are not in the cache.
    pub(super) fn get_or_fold(&self, title: &[WordId], fold: impl FnOnce() -> Arc<[f32]>) -> Arc<[f32]> {
        let part = &self.parts[self.hasher.hash_one(title) as usize % PARTS];
        // A thread that panicked has left only complete entries behind.
        if let Some(topics) = part.read().unwrap_or_else(PoisonError::into_inner).get(title) {
            return topics.clone();
        }
        let topics = fold();
        let mut part = part.write().unwrap_or_else(PoisonError::into_inner);
        if part.len() >= self.most {
            part.clear();
        }
        part.insert(title.into(), topics.clone());
        topics
    }
}

/// A clone starts empty.
impl Clone for Cache {
    fn clone(&self) -> Cache {
        Cache { parts: Default::default(), hasher: self.hasher.clone(), most: self.most }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("most", &self.most).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_folded_once_and_forgotten_when_there_are_too_many() {
        let mut cache = Cache::new(3);
        cache.most = 2;
        let folds = std::cell::Cell::new(0);
        let get = |title: &[WordId]| {
            let topics = cache.get_or_fold(title, || {
                folds.set(folds.get() + 1);
                title.iter().map(|&word| word as f32).collect()
            });
            assert!(topics.iter().zip(title).all(|(&topic, &word)| topic == word as f32), "{title:?}: {topics:?}");
        };
        get(&[1, 2]);
        get(&[1, 2]);
        get(&[2, 1]);
        get(&[]);
        assert_eq!(folds.get(), 3);
        (0..1000).for_each(|word| get(&[word]));
        assert!(cache.parts.iter().all(|part| part.read().unwrap().len() <= 2));
    }
}

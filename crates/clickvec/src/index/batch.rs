//! Searching several parts of an index at the same time.

use std::ops::Range;

use rayon::prelude::*;

use super::Hit;

/// Returns the best `k` for each query among `len` vectors. The vectors are cut into one part for each thread of the pool, at
/// multiples of `unit`; `search` returns such lists for each part, and they are merged. The order of hits is total, so the result
/// does not depend on the cuts.
pub(super) fn in_parts(
    len: usize,
    unit: usize,
    k: usize,
    search: impl Fn(Range<usize>) -> Vec<Vec<Hit>> + Sync,
) -> Vec<Vec<Hit>> {
    let size = len.div_ceil(rayon::current_num_threads()).next_multiple_of(unit).max(unit);
    // An empty index also gets one part, so that there is a list for each query.
    let starts: Vec<usize> = (0..len.max(1)).step_by(size).collect();
    let parts: Vec<Vec<Vec<Hit>>> =
        starts.into_par_iter().map(|start| search(start..(start + size).min(len))).collect();
    let merge = |mut merged: Vec<Vec<Hit>>, part: Vec<Vec<Hit>>| {
        for (hits, more) in merged.iter_mut().zip(part) {
            hits.extend(more);
            hits.sort_unstable_by(Hit::best_first);
            hits.truncate(k);
        }
        merged
    };
    parts.into_iter().reduce(merge).unwrap_or_default()
}

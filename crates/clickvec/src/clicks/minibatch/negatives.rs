//! Drawing the negatives of a pair.

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::distinct::Distinct;
use crate::clicks::ClickLog;
use crate::loss::TitleLists;

/// Adds the rows that must not be negatives of a pair: all titles clicked for its query anywhere in the log.
pub(super) fn block(log: &ClickLog, rows: &Distinct, number: u64, blocked: &mut TitleLists) {
    let clicked = log.clicked(number as usize);
    if clicked.len() <= rows.len() {
        blocked.push(clicked.iter().filter_map(|pair| rows.find(pair[1])));
    } else {
        // For a query with many clicked titles, it is faster to go through the minibatch's titles.
        let was_clicked = |hash: &u64| clicked.binary_search_by_key(hash, |pair| pair[1]).is_ok();
        blocked.push((0..rows.len() as u32).filter(|&row| was_clicked(&rows.hashes[row as usize])));
    }
}

/// Draws n of the rows 0 … titles − 1 that are not blocked, without repetition and in random order.
pub(super) fn sample(n: usize, titles: usize, blocked: &[u32], drawn: &mut Vec<u32>, stream: &mut Xoshiro256PlusPlus) {
    drawn.clear();
    let eligible = titles - blocked.len();
    if n.saturating_mul(4) < eligible {
        while drawn.len() < n {
            let row = stream.random_range(0..titles as u32);
            if !blocked.contains(&row) && !drawn.contains(&row) {
                drawn.push(row);
            }
        }
        return;
    }
    drawn.extend((0..titles as u32).filter(|row| !blocked.contains(row)));
    let n = n.min(drawn.len());
    for i in 0..n {
        let other = stream.random_range(i..drawn.len());
        drawn.swap(i, other);
    }
    drawn.truncate(n);
}

/// Draws n of all distinct titles that were not clicked for the query, and adds them as rows.
pub(super) fn sample_uniform(
    log: &ClickLog,
    all: &[[u64; 2]],
    number: u64,
    n: usize,
    rows: &mut Distinct,
    drawn: &mut Vec<u32>,
    stream: &mut Xoshiro256PlusPlus,
) {
    drawn.clear();
    let clicked = log.clicked(number as usize);
    let was_clicked = |hash: u64| clicked.binary_search_by_key(&hash, |pair| pair[1]).is_ok();
    let eligible = all.len() - clicked.len();
    if n.saturating_mul(4) < eligible {
        while drawn.len() < n {
            let [hash, pair] = all[stream.random_range(0..all.len())];
            if !was_clicked(hash) {
                let row = rows.insert(hash, pair);
                if !drawn.contains(&row) {
                    drawn.push(row);
                }
            }
        }
        return;
    }
    // With few titles, shuffle all of them and take as many as needed.
    let mut left: Vec<[u64; 2]> = all.iter().copied().filter(|title| !was_clicked(title[0])).collect();
    for i in 0..n.min(left.len()) {
        let other = stream.random_range(i..left.len());
        left.swap(i, other);
        drawn.push(rows.insert(left[i][0], left[i][1]));
    }
}

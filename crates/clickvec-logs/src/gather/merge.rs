//! Merging many runs into one order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::group::{Cell, QueryGroup, TitleGroup, add_user};
use super::run::{Run, RunReader};
use crate::{Error, ErrorKind, Result};

/// Passes on the groups of all runs. Groups of the same query become one.
pub(super) fn merge(
    runs: Vec<Run>,
    users: usize,
    most_bytes: usize,
    mut each: impl FnMut(&QueryGroup) -> Result<()>,
) -> Result<()> {
    let mut readers: Vec<RunReader> = runs.iter().map(Run::read).collect::<Result<_>>()?;
    let mut groups: Vec<QueryGroup> = readers.iter().map(|_| QueryGroup::default()).collect();
    // Ordered by query; of equal queries the earliest run comes first.
    let mut waiting: BinaryHeap<Reverse<(Vec<u8>, usize)>> = BinaryHeap::new();
    for (run, reader) in readers.iter_mut().enumerate() {
        if reader.next(&mut groups[run])? {
            waiting.push(Reverse((std::mem::take(&mut groups[run].query), run)));
        }
    }
    while let Some(Reverse((query, first))) = waiting.pop() {
        let mut merged = std::mem::take(&mut groups[first]);
        let mut equal = vec![first];
        while waiting.peek().is_some_and(|Reverse((other, _))| *other == query) {
            let Some(Reverse((_, run))) = waiting.pop() else { break };
            let group = std::mem::take(&mut groups[run]);
            group.users.iter().for_each(|&user| add_user(&mut merged.users, user, users));
            merged.titles.extend(group.titles);
            equal.push(run);
            // Many of them may be equal.
            if bytes_of(&merged) > most_bytes {
                unite(&mut merged.titles);
                let megabytes = most_bytes >> 20;
                if bytes_of(&merged) > most_bytes {
                    let expected = format!("the titles of one query to fit into {megabytes} MB of memory");
                    let error = Error::expected(ErrorKind::Memory, expected, "more").help("give more as `memory`");
                    return Err(error.settings(&["memory"]));
                }
            }
        }
        merged.query = query;
        if equal.len() > 1 {
            unite(&mut merged.titles);
        }
        each(&merged)?;
        for run in equal {
            if readers[run].next(&mut groups[run])? {
                waiting.push(Reverse((std::mem::take(&mut groups[run].query), run)));
            }
        }
    }
    Ok(())
}

fn bytes_of(group: &QueryGroup) -> usize {
    let bytes = |title: &TitleGroup| {
        size_of::<TitleGroup>() + title.title.capacity() + title.cells.capacity() * size_of::<Cell>()
    };
    group.titles.iter().map(bytes).sum()
}

/// Sorts titles and unites equal ones.
fn unite(titles: &mut Vec<TitleGroup>) {
    titles.sort_by(|a, b| a.title.cmp(&b.title));
    titles.dedup_by(|later, earlier| {
        let same = later.title == earlier.title;
        if same {
            earlier.cells.append(&mut later.cells);
        }
        same
    });
    for title in titles {
        title.cells.sort_by_key(|cell| cell.position);
        title.cells.dedup_by(|later, earlier| {
            let same = later.position == earlier.position;
            if same {
                add(earlier, later);
            }
            same
        });
    }
}

fn add(cell: &mut Cell, other: &Cell) {
    cell.shown = cell.shown.saturating_add(other.shown);
    cell.clicks = cell.clicks.saturating_add(other.clicks);
}

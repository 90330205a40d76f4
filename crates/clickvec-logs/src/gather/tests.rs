//! Counts do not depend on the memory they have.

use super::*;

/// A small log with queries, titles and users that repeat.
fn sightings(count: u64) -> Vec<(String, String, u8, u16, u64)> {
    let mut state = 7u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let row = |_| (format!("q{}", below(200)), format!("t{}", below(20)), below(2) as u8, below(3) as u16, below(50));
    (0..count).map(row).collect()
}

fn gathered(budget: usize, users: usize) -> (Vec<QueryGroup>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut gatherer = Gatherer::new(budget, folder.path(), users);
    for (query, title, part, position, user) in &sightings(20_000) {
        let (part, position) = (*part, *position);
        let clicks = user % 2;
        gatherer.add(Sighting { query, title, part, position, shown: 1, clicks, user: Some(*user) }).unwrap();
    }
    let spills = gatherer.spills();
    let gathered = gatherer.finish().unwrap();
    let mut reader = gathered.read().unwrap();
    let (mut groups, mut group) = (Vec::new(), QueryGroup::default());
    while reader.next(&mut group).unwrap() {
        group.users.iter_mut().for_each(|users| users.sort_unstable());
        groups.push(group.clone());
    }
    (groups, spills)
}

#[test]
fn memory_does_not_matter() {
    let (whole, spills) = gathered(usize::MAX, 1000);
    assert_eq!((whole.len(), spills), (200, 0));
    assert!(whole.windows(2).all(|pair| pair[0].query < pair[1].query));
    assert!(whole.iter().all(|group| group.titles.windows(2).all(|pair| pair[0].title < pair[1].title)));
    let cells = || whole.iter().flat_map(|group| &group.titles).flat_map(|title| &title.cells);
    assert_eq!(cells().map(|cell| cell.shown).sum::<u64>(), 20_000);
    let clicks = sightings(20_000).iter().filter(|row| row.4 % 2 == 1).count() as u64;
    assert_eq!(cells().map(|cell| cell.clicks).sum::<u64>(), clicks);
    // Once with more runs than are merged at once.
    for (budget, more) in [(60_000, 1), (9_000, MERGED_AT_ONCE)] {
        let (again, spills) = gathered(budget, 1000);
        assert!(spills > more, "{spills}");
        assert_eq!(again, whole);
    }
}

#[test]
fn users_are_told_apart_up_to_a_number() {
    let (all, _) = gathered(usize::MAX, 1000);
    for budget in [usize::MAX, 9_000] {
        let (five, _) = gathered(budget, 5);
        for (all, five) in all.iter().zip(&five) {
            for part in 0..PARTS {
                assert_eq!(five.users[part].len(), all.users[part].len().min(5));
                assert!(five.users[part].iter().all(|user| all.users[part].contains(user)));
            }
        }
    }
}

//! Counts do not depend on the amount of memory.

use super::*;

/// Returns a small log with queries, titles and users that repeat.
fn sightings(count: u64) -> Vec<(String, String, u16, u64)> {
    let mut state = 7u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let row = |_| (format!("q{}", below(200)), format!("t{}", below(20)), below(3) as u16, below(50));
    (0..count).map(row).collect()
}

fn gathered(budget: usize, users: usize) -> (Vec<QueryGroup>, usize) {
    let (groups, _, spills) = gathered_of(&sightings(20_000), budget, users, Stay::All);
    (groups, spills)
}

fn gathered_of(
    rows: &[(String, String, u16, u64)],
    budget: usize,
    users: usize,
    stay: Stay,
) -> (Vec<QueryGroup>, Counts, usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut gatherer = Gatherer::new(budget, folder.path(), users);
    for (query, title, position, user) in rows {
        let (position, clicks) = (*position, user % 2);
        gatherer.add(Sighting { query, title, position, shown: 1, clicks, user: Some(*user) }).unwrap();
    }
    let spills = gatherer.spills();
    let gathered = gatherer.finish(stay).unwrap();
    let mut reader = gathered.read().unwrap();
    let (mut groups, mut group) = (Vec::new(), QueryGroup::default());
    while reader.next(&mut group).unwrap() {
        group.users.sort_unstable();
        groups.push(group.clone());
    }
    (groups, gathered.few, spills)
}

#[test]
fn queries_of_few_users_are_counted_and_left_out() {
    let mut rows = sightings(4_000);
    rows.iter_mut().for_each(|row| row.2 = 0);
    let (all, none, _) = gathered_of(&rows, usize::MAX, 7, Stay::All);
    assert_eq!(none, Counts::default());
    let (few, many): (Vec<_>, Vec<_>) = all.into_iter().partition(|group| group.has_fewer_users(7));
    let mut expected = Counts::default();
    few.iter().for_each(|group| group.count(&mut expected));
    assert!(many.len() > 20 && expected.queries == few.len() as u64 && expected.pairs > expected.queries);
    for budget in [usize::MAX, 9_000] {
        let (groups, found, spills) = gathered_of(&rows, budget, 7, Stay::WithUsers);
        assert_eq!((groups.len(), found, spills > 0), (many.len(), expected, budget == 9_000));
        let titles = |groups: &[QueryGroup]| groups.iter().map(|group| group.titles.clone()).collect::<Vec<_>>();
        assert_eq!(titles(&groups), titles(&many));
    }
}

#[test]
fn texts_are_in_the_order_of_their_bytes() {
    let long = "x".repeat(40);
    let texts = ["b", "", "a", "a b", "aaaaaaaab", "aaaaaaaa", &format!("{long}b"), &format!("{long}a"), &long, "é"];
    // Each text occurs twice, and the later of the two comes first.
    let mut things: Vec<(u64, u32)> = (0..2 * texts.len() as u32).map(|thing| (0, thing)).collect();
    let text = |thing: u32| texts[thing as usize % texts.len()].as_bytes();
    texts::sort_by_text(&mut things, &text, &std::cmp::Reverse);
    let found: Vec<_> = things.iter().map(|&(_, thing)| (text(thing), std::cmp::Reverse(thing))).collect();
    assert!(found.is_sorted());
}

#[test]
fn memory_does_not_matter() {
    let (whole, spills) = gathered(usize::MAX, 1000);
    assert_eq!((whole.len(), spills), (200, 0));
    assert!(whole.windows(2).all(|pair| pair[0].query < pair[1].query));
    assert!(whole.iter().all(|group| group.titles.windows(2).all(|pair| pair[0].title < pair[1].title)));
    let cells = || whole.iter().flat_map(|group| &group.titles).flat_map(|title| &title.cells);
    assert_eq!(cells().map(|cell| cell.shown).sum::<u64>(), 20_000);
    let clicks = sightings(20_000).iter().filter(|row| row.3 % 2 == 1).count() as u64;
    assert_eq!(cells().map(|cell| cell.clicks).sum::<u64>(), clicks);
    // The second case has more runs than are merged at once.
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
            assert_eq!(five.users.len(), all.users.len().min(5));
            assert!(five.users.iter().all(|user| all.users.contains(user)));
        }
    }
}

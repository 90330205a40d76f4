//! Which systems are significantly worse, as superscript letters: the papers' way to show tests in a table.

use clickvec::eval::{Comparison, Evaluation, Metric};

use crate::significance::{self, SIGNIFICANT};

/// Letters of systems with their superscripts; Unicode has no superscript q. After z comes a′, after z′ a′′.
const LETTERS: [(char, char); 25] = [
    ('a', 'ᵃ'),
    ('b', 'ᵇ'),
    ('c', 'ᶜ'),
    ('d', 'ᵈ'),
    ('e', 'ᵉ'),
    ('f', 'ᶠ'),
    ('g', 'ᵍ'),
    ('h', 'ʰ'),
    ('i', 'ⁱ'),
    ('j', 'ʲ'),
    ('k', 'ᵏ'),
    ('l', 'ˡ'),
    ('m', 'ᵐ'),
    ('n', 'ⁿ'),
    ('o', 'ᵒ'),
    ('p', 'ᵖ'),
    ('r', 'ʳ'),
    ('s', 'ˢ'),
    ('t', 'ᵗ'),
    ('u', 'ᵘ'),
    ('v', 'ᵛ'),
    ('w', 'ʷ'),
    ('x', 'ˣ'),
    ('y', 'ʸ'),
    ('z', 'ᶻ'),
];
/// From this many letters in a row on, only the first and the last are written.
const ROW_OF_LETTERS: usize = 3;

/// The letter of the system at a place, with as many primes as all letters were used before.
pub(crate) fn letter(place: usize) -> String {
    format!("{}{}", LETTERS[place % LETTERS.len()].0, primes(place))
}

fn superscript(place: usize) -> String {
    format!("{}{}", LETTERS[place % LETTERS.len()].1, primes(place))
}

fn primes(place: usize) -> String {
    "′".repeat(place / LETTERS.len())
}

/// The places of the systems that this one is significantly better than, after Holm's correction or without.
pub(crate) fn beaten(
    systems: &[Evaluation],
    place: usize,
    metric: Metric,
    tests: &[Comparison],
    corrected: bool,
) -> Vec<usize> {
    let name = &systems[place].name;
    let place_of = |name: &str| systems.iter().position(|system| system.name == name);
    let p = |test: &Comparison| match (corrected, place_of(&test.a), place_of(&test.b)) {
        (false, Some(a), Some(b)) => {
            let [a, b] = [a, b].map(|place| significance::values(&systems[place], metric));
            significance::shown_by(test.test.p, &a, &b)
        }
        _ => test.holm,
    };
    let own = tests.iter().filter(|test| test.metric == metric && (test.a == *name || test.b == *name));
    let significant = own.filter(|test| p(test) < SIGNIFICANT);
    let mut places: Vec<usize> = significant
        .filter_map(|Comparison { a, b, test, .. }| match test.difference > 0.0 {
            true if a == name => place_of(b),
            false if b == name => place_of(a),
            _ => None,
        })
        .collect();
    places.sort_unstable();
    places
}

/// Superscript letters; long rows of neighbours as `ᵃ⁻ᵈ`.
pub(crate) fn marks(places: &[usize]) -> String {
    let mut marks = String::new();
    for row in places.chunk_by(|a, b| a + 1 == *b) {
        match row {
            [first, .., last] if row.len() >= ROW_OF_LETTERS => {
                marks.extend([superscript(*first), "⁻".to_owned(), superscript(*last)]);
            }
            few => marks.extend(few.iter().map(|&place| superscript(place))),
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_letters_are_shortened() {
        assert_eq!(marks(&[]), "");
        assert_eq!(marks(&[0, 1]), "ᵃᵇ");
        assert_eq!(marks(&[0, 1, 2, 4]), "ᵃ⁻ᶜᵉ");
    }

    #[test]
    fn more_systems_than_letters() {
        assert_eq!([24, 25, 49, 50].map(letter), ["z", "a′", "z′", "a′′"]);
        assert_eq!(marks(&[0, 25, 50]), "ᵃᵃ′ᵃ′′");
        assert_eq!(marks(&[23, 24, 25, 26, 30]), "ʸ⁻ᵇ′ᶠ′");
    }
}

//! Which systems are significantly worse, as superscript letters: the papers' way to show tests in a table.

use clickvec::eval::{Comparison, Evaluation, Metric};

/// A difference is significant below this probability.
pub(crate) const SIGNIFICANT: f64 = 0.05;
/// Letters of systems with their superscripts; Unicode has no superscript q.
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

/// The letter of the system at a place; none beyond the last letter.
pub(crate) fn letter(place: usize) -> String {
    LETTERS.get(place).map_or_else(String::new, |(letter, _)| letter.to_string())
}

/// The places of the systems that this one is significantly better than, by the probabilities `p`.
pub(crate) fn beaten(
    systems: &[Evaluation],
    place: usize,
    metric: Metric,
    tests: &[Comparison],
    p: impl Fn(&Comparison) -> f64,
) -> Vec<usize> {
    let name = &systems[place].name;
    let place_of = |name: &str| systems.iter().position(|system| system.name == name);
    let significant = tests.iter().filter(|test| test.metric == metric && p(test) < SIGNIFICANT);
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
        let row: Vec<char> =
            row.iter().filter_map(|&place| LETTERS.get(place)).map(|&(_, superscript)| superscript).collect();
        match row.as_slice() {
            [first, .., last] if row.len() >= ROW_OF_LETTERS => marks.extend([*first, '⁻', *last]),
            few => marks.extend(few),
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
        assert_eq!(marks(&[30]), "");
    }
}

//! Superscript letters that show which systems are significantly worse, as in the papers.

/// Letters of systems with their superscripts. Unicode has no superscript q. After z comes a′, and after z′ a′′.
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
/// The number of consecutive letters from which only the first and the last are written.
const ROW_OF_LETTERS: usize = 3;

/// Returns the letter of a system, with a prime for each time that all letters were used before.
pub fn letter(system: usize) -> String {
    format!("{}{}", LETTERS[system % LETTERS.len()].0, primes(system))
}

fn superscript(system: usize) -> String {
    format!("{}{}", LETTERS[system % LETTERS.len()].1, primes(system))
}

fn primes(system: usize) -> String {
    "′".repeat(system / LETTERS.len())
}

/// Returns the superscript letters of systems; consecutive ones as `ᵃ⁻ᵈ`.
pub fn marks(systems: &[usize]) -> String {
    let mut marks = String::new();
    for row in systems.chunk_by(|a, b| a + 1 == *b) {
        match row {
            [first, .., last] if row.len() >= ROW_OF_LETTERS => {
                marks.extend([superscript(*first), "⁻".to_owned(), superscript(*last)]);
            }
            few => marks.extend(few.iter().map(|&system| superscript(system))),
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

//! Typing errors: a single slip of the finger in a word, on the keyboard of its script.

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// The smallest number of letters in a word that gets an error. Too little of a shorter word would remain.
const LEAST_LETTERS: usize = 4;

/// The letters of a keyboard, row by row. Each row is shifted a little to the right of the row above it.
type Keyboard = [&'static str; 3];

/// The usual keyboard of each script that has one: Latin, Cyrillic, Greek, Hebrew, Arabic.
const KEYBOARDS: [Keyboard; 5] = [
    ["qwertyuiop", "asdfghjkl", "zxcvbnm"],
    ["йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"],
    ["ςερτυθιοπ", "ασδφγηξκλ", "ζχψωβνμ"],
    ["קראטוןםפ", "שדגכעיחלך", "זסבהנמצת"],
    ["ضصثقفغعهخحجد", "شسيبلاتنمك", "ئءؤرىةوزظ"],
];

/// Returns whether `out` gets `word` with a typing error: a letter is left out, typed twice, replaced by its neighbour on
/// the keyboard, or swapped with the next one. The first letter stays, because most people type it correctly. Short words
/// stay as they are, and so do words with digits: a misspelt size is another size.
pub fn misspell(word: &str, rng: &mut Xoshiro256PlusPlus, out: &mut String) -> bool {
    out.clear();
    if word.chars().any(char::is_numeric) {
        out.push_str(word);
        return false;
    }
    let letters = letters(word);
    if letters.len() < LEAST_LETTERS {
        out.push_str(word);
        return false;
    }
    let position = rng.random_range(1..letters.len());
    let letter = letters[position];
    let (before, after) = (&letters[..position], &letters[position + 1..]);
    let write =
        |parts: &[&[&str]], out: &mut String| parts.iter().copied().flatten().for_each(|part| out.push_str(part));
    match rng.random_range(0..4u32) {
        0 => write(&[before, after], out),
        1 => write(&[before, &[letter, letter], after], out),
        2 => {
            let mut typed = [0; 4];
            match neighbour(letter, rng) {
                Some(other) => write(&[before, &[other.encode_utf8(&mut typed)], after], out),
                None => write(&[before, after], out),
            }
        }
        // The last letter has no next one, and swapping two equal letters would change nothing.
        _ => match after.split_first() {
            Some((next, rest)) if *next != letter => write(&[before, &[next, letter], rest], out),
            _ => write(&[before, after], out),
        },
    }
    // Leaving out one of two equal letters, or doubling a letter, always changes the word. No other error can leave it
    // as it was.
    true
}

/// Returns the letters of a word, each with the marks that follow it.
fn letters(word: &str) -> Vec<&str> {
    let is_mark = |c: char| !c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Mark;
    let starts: Vec<usize> = word.char_indices().filter(|&(_, c)| !is_mark(c)).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([word.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &word[start..end]).collect()
}

/// Returns a letter next to this one on its keyboard, or `None` if the letter is on no keyboard or has marks.
fn neighbour(letter: &str, rng: &mut Xoshiro256PlusPlus) -> Option<char> {
    let mut chars = letter.chars();
    let (c, None) = (chars.next()?, chars.next()) else { return None };
    let on = |keyboard: &Keyboard| {
        let row = keyboard.iter().position(|row| row.contains(c))?;
        let column = keyboard[row].chars().position(|other| other == c)?;
        Some((*keyboard, row, column))
    };
    let (keyboard, row, column) = KEYBOARDS.iter().find_map(on)?;
    let at = |row: Option<usize>, column: Option<usize>| keyboard.get(row?)?.chars().nth(column?);
    let (above, below) = (row.checked_sub(1), Some(row + 1));
    let (left, right) = (column.checked_sub(1), Some(column + 1));
    let beside = [
        at(Some(row), left),
        at(Some(row), right),
        at(above, Some(column)),
        at(above, right),
        at(below, left),
        at(below, Some(column)),
    ];
    let count = beside.iter().flatten().count();
    beside.into_iter().flatten().nth(rng.random_range(0..count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;
    use std::collections::HashSet;

    fn misspelt(word: &str, index: u64) -> (bool, String) {
        let mut out = String::new();
        let changed = misspell(word, &mut rng::stream(1, "typing", index), &mut out);
        (changed, out)
    }

    #[test]
    fn one_error_and_the_first_letter_stays() {
        for word in ["leather", "кожаный", "δερμα", "שולחן", "aaaa", "straße"] {
            let mut seen = HashSet::new();
            for index in 0..300 {
                let (changed, found) = misspelt(word, index);
                assert!(changed && found != word, "{word}: {found}");
                assert_eq!(found.chars().next(), word.chars().next(), "{found}");
                assert!(found.chars().count().abs_diff(word.chars().count()) <= 1, "{found}");
                seen.insert(found);
            }
            assert!(seen.len() > if word == "aaaa" { 3 } else { 10 }, "{word}: {seen:?}");
        }
    }

    #[test]
    fn short_words_numbers_and_ideographs_stay() {
        for word in ["tub", "12", "4k", "1080p", "x1234y", "沙", "", "हिंदी"] {
            assert_eq!(misspelt(word, 3), (false, word.to_owned()));
        }
    }

    #[test]
    fn a_mark_never_leaves_its_letter() {
        let word = "a\u{301}bc\u{302}de";
        for index in 0..100 {
            let (_, found) = misspelt(word, index);
            assert!(found.starts_with("a\u{301}"), "{found}");
            assert!(!found.contains("b\u{302}") && !found.contains("d\u{302}"), "{found:?}");
        }
    }

    #[test]
    fn another_letter_is_near_on_the_keyboard() {
        let mut beside = HashSet::new();
        for index in 0..200 {
            beside.extend(neighbour("g", &mut rng::stream(2, "typing", index)));
        }
        assert_eq!(beside, HashSet::from(['f', 'h', 't', 'y', 'v', 'b']));
        assert_eq!(neighbour("ß", &mut rng::stream(2, "typing", 0)), None);
    }
}

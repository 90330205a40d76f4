//! Typing errors.

use rand::RngExt as _;

use super::market::Rng;

/// The fewest letters of a word that gets an error; little of a shorter word would remain.
const LEAST_LETTERS: usize = 4;
/// The letters that replace others.
const LETTERS: &[u8] = b"etaoinsrhldcumfpgwybvkxjqz";

/// Makes one error in one word: two letters swapped, one left out, doubled or replaced. The first letter stays.
/// Returns whether any word was long enough.
pub(super) fn misspell(text: &mut String, rng: &mut Rng) -> bool {
    let is_long = |word: &&str| word.len() >= LEAST_LETTERS && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let count = text.split(' ').filter(is_long).count();
    if count == 0 {
        return false;
    }
    let chosen = rng.random_range(0..count);
    let Some(word) = text.split(' ').filter(is_long).nth(chosen) else { return false };
    let start = word.as_ptr() as usize - text.as_ptr() as usize;
    let mut letters = word.as_bytes().to_vec();
    let end = start + letters.len();
    let position = rng.random_range(1..letters.len() - 1);
    match rng.random_range(0..4) {
        // Swapping two equal letters would change nothing.
        0 if letters[position] != letters[position + 1] => letters.swap(position, position + 1),
        0 | 1 => drop(letters.remove(position)),
        2 => letters.insert(position, letters[position]),
        _ => {
            let other = LETTERS[rng.random_range(0..LETTERS.len())];
            letters[position] = if other == letters[position] { b'#' } else { other };
            letters.retain(|&letter| letter != b'#');
        }
    }
    text.replace_range(start..end, &String::from_utf8_lossy(&letters));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use clickvec::internals::rng;

    #[test]
    fn one_word_changes_by_one_error() {
        let mut changed = std::collections::HashSet::new();
        for index in 0..200 {
            let mut text = "red leather couch".to_owned();
            assert!(misspell(&mut text, &mut rng::stream(1, "misspelling", index)));
            assert_ne!(text, "red leather couch");
            assert!(text.starts_with("red l") && text.split(' ').count() == 3, "{text}");
            let length = text.len().abs_diff("red leather couch".len());
            assert!(length <= 1, "{text}");
            changed.insert(text);
        }
        assert!(changed.len() > 50, "{}", changed.len());
    }

    #[test]
    fn short_words_and_other_letters_stay() {
        let mut text = "tv für 4k 12345".to_owned();
        assert!(!misspell(&mut text, &mut rng::stream(1, "misspelling", 0)));
        assert_eq!(text, "tv für 4k 12345");
    }
}

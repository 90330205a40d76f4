//! A vocabulary that shifts: words give way to new ones that no title has.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Syllables of new words.
const SYLLABLES: [&str; 16] =
    ["ba", "dro", "fi", "gu", "hev", "jo", "kli", "lum", "mer", "nax", "pol", "qui", "ren", "su", "tov", "zin"];

/// Writes a query in the words of a later time, when this share of all words, from 0 to 1, has been replaced by new ones. A word
/// that is replaced for a share is replaced for every larger one, and always by the same word.
pub fn in_new_words(query: &str, share: f64, seed: u64) -> String {
    let word = |word: &str| {
        let hash = xxh3_64_with_seed(word.as_bytes(), seed);
        if (hash as f64) < share.clamp(0.0, 1.0) * u64::MAX as f64 {
            new_word(xxh3_64_with_seed(word.as_bytes(), seed.wrapping_add(1)))
        } else {
            word.to_owned()
        }
    };
    query.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn new_word(mut hash: u64) -> String {
    let mut word = String::new();
    for _ in 0..3 {
        word.push_str(SYLLABLES[(hash % 16) as usize]);
        hash /= 16;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_one_after_the_other_and_do_not_come_back() {
        let words: Vec<String> = (0..1000).map(|i| format!("word{i}")).collect();
        let query = words.join(" ");
        assert_eq!(in_new_words(&query, 0.0, 1), query);
        let mut before = query.clone();
        for share in [0.1, 0.5, 0.9, 1.0] {
            let now = in_new_words(&query, share, 1);
            let changed = now.split(' ').zip(&words).filter(|(now, old)| now != old).count() as f64 / 1000.0;
            assert!((changed - share).abs() < 0.05, "{share} {changed}");
            let stayed = before.split(' ').zip(now.split(' ')).zip(&words);
            assert!(stayed.into_iter().all(|((before, now), old)| before == old || before == now));
            before = now;
        }
        assert_ne!(in_new_words(&query, 0.5, 1), in_new_words(&query, 0.5, 2));
    }
}

//! Views of a text: variants as a user might type it, with words left out, neighbouring words swapped, or typing errors.

mod typing;

pub use typing::misspell;

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::fields::{Rule, fields};

fields! {
    /// The probabilities of random changes to a text; none by default.
    #[derive(Copy)]
    pub struct Views {
        /// The probability of a pseudo-query: 2 to 4 words of the text, in their order. `drop` does not apply then.
        pub few: f32 = 0.0 where Rule::Within(0.0, 1.0),
        /// The probability that a word is left out. At least one word always stays.
        pub drop: f32 = 0.0 where Rule::Within(0.0, 1.0),
        /// The probability that two neighbouring words are swapped, for each pair of neighbours.
        pub swap: f32 = 0.0 where Rule::Within(0.0, 1.0),
        /// The probability that a word is mistyped.
        pub misspell: f32 = 0.0 where Rule::Within(0.0, 1.0),
    }
}

/// The smallest number of words in a pseudo-query.
pub(crate) const FEWEST: usize = 2;

/// The largest number of words in a pseudo-query.
pub const MOST: usize = 4;

impl Views {
    /// No changes.
    pub const NONE: Views = Views { few: 0.0, drop: 0.0, swap: 0.0, misspell: 0.0 };

    /// Draws a view of a text of `words` words. `view` becomes the positions of its words in the text, in the order of the
    /// view.
    pub(crate) fn choose(&self, words: usize, rng: &mut Xoshiro256PlusPlus, view: &mut Vec<usize>) {
        view.clear();
        if happens(self.few, rng) {
            let mut wanted = rng.random_range(FEWEST..=MOST).min(words);
            // Every subset of that size is equally likely.
            for position in 0..words {
                if wanted > 0 && rng.random_range(0..words - position) < wanted {
                    view.push(position);
                    wanted -= 1;
                }
            }
        } else {
            view.extend((0..words).filter(|_| !happens(self.drop, rng)));
            if view.is_empty() && words > 0 {
                view.push(rng.random_range(0..words));
            }
        }
        let mut position = 1;
        while position < view.len() {
            if happens(self.swap, rng) {
                view.swap(position - 1, position);
                // A word moves by at most one position.
                position += 1;
            }
            position += 1;
        }
    }

    /// Returns whether the next word gets a typing error, drawn at random; never if it can have none.
    pub(crate) fn misspells(&self, rng: &mut Xoshiro256PlusPlus) -> bool {
        happens(self.misspell, rng)
    }
}

/// Returns whether something with this probability happens, drawn at random. A probability of 0 takes no random number, so a
/// change that is off costs nothing.
fn happens(chance: f32, rng: &mut Xoshiro256PlusPlus) -> bool {
    chance > 0.0 && rng.random::<f32>() < chance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    fn drawn(views: Views, words: usize) -> Vec<Vec<usize>> {
        let mut stream = rng::stream(1, "views", 0);
        (0..2000)
            .map(|_| {
                let mut view = Vec::new();
                views.choose(words, &mut stream, &mut view);
                view
            })
            .collect()
    }

    #[test]
    fn nothing_changes_without_chances() {
        assert!(drawn(Views::NONE, 5).iter().all(|view| view == &[0, 1, 2, 3, 4]));
        assert!(drawn(Views::NONE, 0).iter().all(Vec::is_empty));
    }

    #[test]
    fn words_are_left_out_as_often_as_was_said_but_never_all() {
        let views = drawn(Views { drop: 0.3, ..Views::NONE }, 10);
        let mean = views.iter().map(Vec::len).sum::<usize>() as f64 / 2000.0;
        assert!((6.8..7.2).contains(&mean), "{mean}");
        assert!(views.iter().all(|view| view.is_sorted()));
        assert!(drawn(Views { drop: 1.0, ..Views::NONE }, 3).iter().all(|view| view.len() == 1));
    }

    #[test]
    fn a_pseudo_query_has_two_to_four_words_each_as_likely() {
        let views = drawn(Views { few: 1.0, ..Views::NONE }, 8);
        let mut counts = [0; 8];
        for view in &views {
            assert!((2..=4).contains(&view.len()) && view.is_sorted(), "{view:?}");
            view.iter().for_each(|&position| counts[position] += 1);
        }
        // 2,000 views with 3 words on average: 750 for each position.
        assert!(counts.iter().all(|count| (650..850).contains(count)), "{counts:?}");
        assert!(drawn(Views { few: 1.0, ..Views::NONE }, 1).iter().all(|view| view == &[0]));
        assert!(drawn(Views { few: 1.0, ..Views::NONE }, 0).iter().all(Vec::is_empty));
    }

    #[test]
    fn neighbours_change_places_and_no_word_is_lost() {
        let views = drawn(Views { swap: 0.5, ..Views::NONE }, 6);
        assert!(views.iter().any(|view| !view.is_sorted()));
        for view in views {
            assert!(view.iter().enumerate().all(|(at, position)| at.abs_diff(*position) <= 1), "{view:?}");
            let mut sorted = view.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
        }
    }
}

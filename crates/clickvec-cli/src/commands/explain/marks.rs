//! Words with their marks, for reports.

use clickvec::explain::{Keywords, TextView, Word};

use crate::report::{Cell, Mark};

/// Returns a word of a text with its marks.
pub(super) fn word(word: &Word, is_keyword: bool) -> Mark {
    Mark {
        word: word.shown().into_owned(),
        stands_for: (word.parts > 1).then(|| word.text.clone()),
        is_keyword,
        is_unknown: !word.known,
    }
}

/// Returns the words of a text, its keywords marked.
pub(super) fn text(view: &TextView, keywords: Option<&Keywords>) -> Cell {
    if view.words.is_empty() {
        return if view.text.trim().is_empty() { "(empty)".into() } else { view.text.as_str().into() };
    }
    let is_keyword = |position: usize| keywords.is_some_and(|keywords| keywords.is_keyword[position]);
    let words = view.words.iter().enumerate().map(|(position, of)| word(of, is_keyword(position)));
    let cut = (view.cut > 0).then(|| Mark::plain("…"));
    Cell::Words(words.chain(cut).collect())
}

//! From a text to words, as BERT does it: cleaned, in lower case without accents, split at spaces, punctuation and Chinese characters.

use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// The changes to a text before it is split, as `tokenizer.json` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Normalizer {
    pub(crate) clean_text: bool,
    pub(crate) handle_chinese_chars: bool,
    /// Without a value, accents are removed if letters are changed to lower case.
    pub(crate) strip_accents: Option<bool>,
    pub(crate) lowercase: bool,
}

impl Normalizer {
    /// Returns the normalised text.
    pub(crate) fn normalized(&self, text: &str) -> String {
        let mut cleaned = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                _ if self.clean_text && is_removed(c) => {}
                _ if self.clean_text && c.is_whitespace() => cleaned.push(' '),
                _ if self.handle_chinese_chars && is_chinese(c) => cleaned.extend([' ', c, ' ']),
                _ => cleaned.push(c),
            }
        }
        let plain = if self.strip_accents.unwrap_or(self.lowercase) && !cleaned.is_ascii() {
            cleaned.nfd().filter(|c| c.general_category() != GeneralCategory::NonspacingMark).collect()
        } else {
            cleaned
        };
        // Letter by letter: a sigma at the end of a word has no form of its own.
        if self.lowercase { plain.chars().flat_map(char::to_lowercase).collect() } else { plain }
    }
}

/// Calls `each` with every word of a normalised text. Each character of punctuation is a word.
pub(crate) fn for_each_word<'t>(text: &'t str, mut each: impl FnMut(&'t str)) {
    for word in text.split(char::is_whitespace) {
        let mut begin = 0;
        for (at, c) in word.char_indices().filter(|&(_, c)| is_punctuation(c)) {
            let end = at + c.len_utf8();
            [&word[begin..at], &word[at..end]].into_iter().filter(|word| !word.is_empty()).for_each(&mut each);
            begin = end;
        }
        if begin < word.len() {
            each(&word[begin..]);
        }
    }
}

/// Returns whether cleaning removes a character: the replacement character, and controls that are no space.
fn is_removed(c: char) -> bool {
    use GeneralCategory::{Control, Format, PrivateUse};
    let is_other = || matches!(c.general_category(), Control | Format | PrivateUse);
    c == '\u{fffd}' || (!matches!(c, '\t' | '\n' | '\r') && is_other())
}

/// Returns whether a character is in one of the blocks of CJK ideographs that BERT knows.
fn is_chinese(c: char) -> bool {
    matches!(u32::from(c),
        0x4e00..=0x9fff | 0x3400..=0x4dbf | 0x20000..=0x2a6df | 0x2a700..=0x2b73f | 0x2b740..=0x2b81f
        | 0x2b920..=0x2ceaf | 0xf900..=0xfaff | 0x2f800..=0x2fa1f)
}

/// Returns whether a character is punctuation. Symbols of ASCII, such as `$`, count as such, others do not.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || (!c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Punctuation)
}

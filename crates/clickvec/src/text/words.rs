//! The definition of a word. Every part of the program uses this one function.
//!
//! A text is normalised to NFKC, lower-cased, and normalised to NFKC again. Then apostrophes and zero-width characters are
//! deleted. Letters, marks and numbers form words. An ideograph is a word of its own, with the marks that follow it. Every other
//! character separates words. A model may have another rule, its [`TextConfig`].

use serde::{Deserialize, Serialize};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::fields::fields;

fields! {
    /// How texts become words.
    #[derive(Copy, Eq)]
    pub struct TextConfig {
        /// The treatment of accents: `keep`, or `fold`, which reads é as e, ø as o and ß as ss.
        pub accents: Accents = (Accents::Keep),
        /// How a text is split into words: `words`, runs of letters and numbers, and each ideograph; or at white space, as in the
        /// papers: `spaces`, or `spaces-without-punctuation`, which keeps only letters and numbers, as for the CLSM.
        pub tokens: Tokens = (Tokens::Words),
    }
}

/// The treatment of accents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accents {
    /// They tell words apart.
    #[default]
    Keep,
    /// Letters have none.
    Fold,
}

/// The rule by which a text is cut into words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tokens {
    /// Letters, marks and numbers form words, and each ideograph is one.
    #[default]
    Words,
    /// White space separates words.
    Spaces,
    /// White space separates words, and only their letters, marks and numbers stay.
    SpacesWithoutPunctuation,
}

/// The working memory of [`for_each_word`], reused from text to text.
#[derive(Debug, Default)]
pub struct WordBuffer {
    /// The normalised text.
    text: String,
    /// The output of each normalisation step, then the word under construction.
    scratch: String,
    /// A merged tail under construction.
    pub(super) tail: String,
}

/// Calls `word` with each word of `text`, in order.
///
/// The time is linear in the length of `text`. Nothing is allocated once `buffer` fits the longest text, except for a
/// text with a capital sigma, whose lower case depends on its neighbours.
pub fn for_each_word(text: &str, buffer: &mut WordBuffer, word: impl FnMut(&str)) {
    TextConfig::USUAL.for_each_word(text, buffer, word);
}

impl TextConfig {
    /// The usual rule.
    pub const USUAL: TextConfig = TextConfig { accents: Accents::Keep, tokens: Tokens::Words };

    /// Calls `word` with each word of `text`, in order, as [`for_each_word`] does for the usual rule.
    pub fn for_each_word(self, text: &str, buffer: &mut WordBuffer, word: impl FnMut(&str)) {
        if text.is_ascii() {
            ascii_words(text, self.tokens, &mut buffer.text, word);
        } else {
            unicode_words(text, self, buffer, word);
        }
    }

    /// Returns the words of `text`, in order.
    pub fn words(self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        self.for_each_word(text, &mut WordBuffer::default(), |word| words.push(word.to_owned()));
        words
    }

    /// Returns whether this is the usual rule, which files omit.
    pub(crate) fn is_usual(&self) -> bool {
        *self == TextConfig::USUAL
    }
}

/// Returns the words of `text`, in order: `12`, `gauge`, `tub` and `wont` of "12-Gauge tub won't".
pub fn words(text: &str) -> Vec<String> {
    TextConfig::USUAL.words(text)
}

/// Splits an ASCII text. It is already normalised, so lower-casing in place and slicing are enough.
fn ascii_words(text: &str, tokens: Tokens, lower: &mut String, word: impl FnMut(&str)) {
    fn is_space(byte: u8) -> bool {
        byte == b' ' || byte.is_ascii_control()
    }
    lower.clear();
    lower.push_str(text);
    lower.make_ascii_lowercase();
    match tokens {
        Tokens::Words => {
            if lower.contains('\'') {
                lower.retain(|c| c != '\'');
            }
            ascii_runs(lower, |byte| byte.is_ascii_alphanumeric(), word);
        }
        Tokens::Spaces => ascii_runs(lower, |byte| !is_space(byte), word),
        Tokens::SpacesWithoutPunctuation => {
            let stays = |byte: u8| byte.is_ascii_alphanumeric() || is_space(byte);
            if !lower.bytes().all(stays) {
                lower.retain(|c| stays(c as u8));
            }
            ascii_runs(lower, |byte| byte.is_ascii_alphanumeric(), word);
        }
    }
}

/// Calls `word` with each run of bytes of an ASCII text that are in a word.
fn ascii_runs(text: &str, in_word: impl Fn(u8) -> bool, mut word: impl FnMut(&str)) {
    let mut start = None;
    for (i, byte) in text.bytes().enumerate() {
        match (in_word(byte), start) {
            (true, None) => start = Some(i),
            (false, Some(first)) => {
                word(&text[first..i]);
                start = None;
            }
            _ => {}
        }
    }
    if let Some(first) = start {
        word(&text[first..]);
    }
}

fn unicode_words(text: &str, config: TextConfig, buffer: &mut WordBuffer, mut word: impl FnMut(&str)) {
    let WordBuffer { text: normal, scratch, .. } = buffer;
    normalize(text, scratch);
    lower_case(scratch, normal);
    // Lower-casing can undo the normal form (İ becomes i and a mark), so restore it.
    if is_nfkc_quick(normal.chars()) != IsNormalized::Yes {
        scratch.clear();
        scratch.extend(normal.nfkc());
        std::mem::swap(normal, scratch);
    }
    if config.accents == Accents::Fold {
        fold_accents(normal, scratch);
        std::mem::swap(normal, scratch);
    }

    let current = scratch;
    current.clear();
    let mut after_ideograph = false;
    for c in normal.chars() {
        match config.tokens.class(c) {
            CharacterClass::Mark => current.push(c),
            CharacterClass::Letter => {
                if after_ideograph {
                    flush(current, &mut word);
                    after_ideograph = false;
                }
                current.push(c);
            }
            CharacterClass::Ideograph => {
                flush(current, &mut word);
                current.push(c);
                after_ideograph = true;
            }
            CharacterClass::Deleted => {}
            CharacterClass::Separator => {
                flush(current, &mut word);
                after_ideograph = false;
            }
        }
    }
    flush(current, &mut word);
}

fn flush(current: &mut String, word: &mut impl FnMut(&str)) {
    if !current.is_empty() {
        word(current);
        current.clear();
    }
}

/// Letters with a stroke, and ligatures, which Unicode does not take apart.
const FOLDED: [(char, &str); 10] = [
    ('ß', "ss"),
    ('æ', "ae"),
    ('ð', "d"),
    ('ø', "o"),
    ('þ', "th"),
    ('đ', "d"),
    ('ħ', "h"),
    ('ı', "i"),
    ('ł', "l"),
    ('œ', "oe"),
];

/// Writes a text in lower case to `out` without the accents of its letters. The marks of other scripts stay.
pub(super) fn fold_accents(text: &str, out: &mut String) {
    out.clear();
    for c in text.nfd().filter(|c| !('\u{300}'..='\u{36F}').contains(c)).nfc() {
        match FOLDED.iter().find(|(letter, _)| *letter == c) {
            Some((_, folded)) => out.push_str(folded),
            None => out.push(c),
        }
    }
}

fn normalize(text: &str, out: &mut String) {
    out.clear();
    if is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        out.push_str(text);
    } else {
        out.extend(text.nfkc());
    }
}

/// Writes `str::to_lowercase` of `text` to `out`. Only Σ needs its context, because it becomes ς at the end of a word.
fn lower_case(text: &str, out: &mut String) {
    out.clear();
    if text.contains('Σ') {
        out.push_str(&text.to_lowercase());
        return;
    }
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c.to_ascii_lowercase());
        } else {
            out.extend(c.to_lowercase());
        }
    }
}

enum CharacterClass {
    /// A letter or a number.
    Letter,
    Mark,
    Ideograph,
    Deleted,
    Separator,
}

impl Tokens {
    fn class(self, c: char) -> CharacterClass {
        match self {
            Tokens::Words => kind(c),
            _ if c.is_whitespace() || c.is_control() => CharacterClass::Separator,
            _ if is_invisible(c) => CharacterClass::Deleted,
            Tokens::SpacesWithoutPunctuation
                if matches!(kind(c), CharacterClass::Deleted | CharacterClass::Separator) =>
            {
                CharacterClass::Deleted
            }
            _ => CharacterClass::Mark,
        }
    }
}

fn kind(c: char) -> CharacterClass {
    if c.is_ascii() {
        return match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => CharacterClass::Letter,
            '\'' => CharacterClass::Deleted,
            _ => CharacterClass::Separator,
        };
    }
    if matches!(c, '\u{2019}' | '\u{2BC}' | '\u{FF07}') || is_invisible_letter(c) {
        return CharacterClass::Deleted;
    }
    if is_ideograph(c) {
        return CharacterClass::Ideograph;
    }
    match c.general_category_group() {
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number => CharacterClass::Letter,
        GeneralCategoryGroup::Mark => CharacterClass::Mark,
        _ if c.general_category() == GeneralCategory::Format => CharacterClass::Deleted,
        _ => CharacterClass::Separator,
    }
}

/// Returns whether nobody sees a character: one of category Cf (zero-width characters, soft hyphens, direction marks), a grapheme
/// joiner, a variation selector or a filler. Words, queries and users are compared without them.
pub fn is_invisible(c: char) -> bool {
    !c.is_ascii() && (is_invisible_letter(c) || c.general_category() == GeneralCategory::Format)
}

/// Returns whether an invisible character is a letter or a mark by category. An emoji with a selector must not leave a word that
/// consists of the selector.
fn is_invisible_letter(c: char) -> bool {
    matches!(
        c,
        '\u{34F}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}' | '\u{180B}'..='\u{180D}' | '\u{180F}'
        | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FFA0}' | '\u{E0100}'..='\u{E01EF}'
    )
}

/// Returns the Unicode property `Ideographic` (PropList.txt), including all of planes 2 and 3.
fn is_ideograph(c: char) -> bool {
    matches!(
        c,
        '\u{3006}'..='\u{3007}'
            | '\u{3021}'..='\u{3029}'
            | '\u{3038}'..='\u{303A}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{4E00}'..='\u{9FFF}'
            | '\u{F900}'..='\u{FAD9}'
            | '\u{16FE4}'
            | '\u{17000}'..='\u{18D7F}'
            | '\u{1B170}'..='\u{1B2FB}'
            | '\u{20000}'..='\u{3FFFD}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text), expected, "words of {text:?}");
    }

    fn by_unicode_path(text: &str, config: TextConfig) -> Vec<String> {
        let mut words = Vec::new();
        unicode_words(text, config, &mut WordBuffer::default(), |word| words.push(word.to_owned()));
        words
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Default::default() })]

        #[test]
        fn ascii_path_is_the_unicode_path(text in "[\\x00-\\x7f]{0,60}") {
            for tokens in [Tokens::Words, Tokens::Spaces, Tokens::SpacesWithoutPunctuation] {
                for accents in [Accents::Keep, Accents::Fold] {
                    let config = TextConfig { accents, tokens };
                    prop_assert_eq!(config.words(&text), by_unicode_path(&text, config), "{:?}", config);
                }
            }
        }

        #[test]
        fn words_are_never_empty_and_stay_words(text in any::<String>()) {
            for word in words(&text) {
                prop_assert!(!word.is_empty());
                prop_assert!(!word.contains(char::is_whitespace));
            }
        }
    }

    #[test]
    fn one_buffer_serves_many_texts() {
        let mut buffer = WordBuffer::default();
        for text in ["naïve Σ café", "plain words", "", "北京 x", "don't"] {
            let mut found = Vec::new();
            for_each_word(text, &mut buffer, |word| found.push(word.to_owned()));
            assert_eq!(found, words(text));
        }
    }

    #[test]
    fn english_is_taken_as_it_is_typed() {
        check("Refridgerator  DOORHANDEL!", &["refridgerator", "doorhandel"]);
        check("bath tub won't turn off", &["bath", "tub", "wont", "turn", "off"]);
        check("12-Gauge 1.9 cu.ft", &["12", "gauge", "1", "9", "cu", "ft"]);
        check("o\u{2019}neil o\u{2BC}neil o\u{FF07}neil", &["oneil", "oneil", "oneil"]);
        check("'' ' '", &[]);
    }

    #[test]
    fn both_normal_forms_of_an_accent_are_one_word() {
        check("caf\u{E9} CAFE\u{301}", &["caf\u{E9}", "caf\u{E9}"]);
        check("ệ e\u{302}\u{323} e\u{323}\u{302}", &["ệ", "ệ", "ệ"]);
    }

    #[test]
    fn lower_case_follows_unicode() {
        check("İSTANBUL", &["i\u{307}stanbul"]);
        check("ΟΔΥΣΣΕΥΣ ΣΑΣ", &["οδυσσευς", "σας"]);
        check("STRASSE ẞ", &["strasse", "ß"]);
    }

    #[test]
    fn marks_stay_in_hindi_and_thai_words() {
        check("हिन्दी में", &["हिन्दी", "में"]);
        check("ภาษาไทย น้ำ", &["ภาษาไทย", "น\u{E49}\u{E4D}า"]);
    }

    #[test]
    fn each_ideograph_is_a_word() {
        check("北京大学hotel", &["北", "京", "大", "学", "hotel"]);
        check("東京タワー", &["東", "京", "タワー"]);
        check("二〇一三", &["二", "〇", "一", "三"]);
        check("x北", &["x", "北"]);
        // An ideograph keeps its marks; the next letter starts a new word.
        check("北\u{302A}ab", &["北\u{302A}", "ab"]);
        check("𠀀𠀁", &["𠀀", "𠀁"]);
    }

    #[test]
    fn hangul_is_composed() {
        check("서울 호텔", &["서울", "호텔"]);
        check("\u{1109}\u{1165}\u{110B}\u{116E}\u{11AF}", &["서울"]);
    }

    #[test]
    fn emoji_separate_and_leave_nothing() {
        check("pizza🍕oven", &["pizza", "oven"]);
        check("❤\u{FE0F} 👩\u{200D}❤\u{FE0F}\u{200D}👨 👍🏽 🇩🇪", &[]);
    }

    #[test]
    fn right_to_left_text_keeps_its_marks() {
        check("עולם שָׁלוֹם", &["עולם", "שָׁלוֹם"]);
        check("\u{202E}right\u{202C} \u{2067}عربي\u{2069}", &["right", "عربي"]);
    }

    #[test]
    fn zero_width_characters_are_deleted() {
        for c in "\u{200B}\u{200C}\u{200D}\u{2060}\u{FEFF}\u{AD}\u{200E}\u{34F}\u{61C}\u{180E}\u{3164}\u{FFA0}".chars()
        {
            check(&format!("zero{c}width {c}"), &["zerowidth"]);
        }
    }

    #[test]
    fn accents_are_folded() {
        let folded = |text: &str| TextConfig { accents: Accents::Fold, ..TextConfig::USUAL }.words(text);
        assert_eq!(folded("Café CAFE\u{301} Ångström Straße"), ["cafe", "cafe", "angstrom", "strasse"]);
        assert_eq!(
            folded("Łódź Ørsted Œuvre İSTANBUL ệ ή \u{301}"),
            ["lodz", "orsted", "oeuvre", "istanbul", "e", "η"]
        );
        // Marks of other scripts are letters of theirs.
        let others = "हिन्दी שָׁלוֹם 서울 ガス أب";
        assert_eq!(folded(others), words(others));
    }

    #[test]
    fn the_papers_cut_at_white_space() {
        let text = "Won't  C++,\u{3000}12-Gauge\tcaf\u{E9} 北京 a\u{200B}b ?!\u{0}x";
        let spaces = ["won't", "c++,", "12-gauge", "café", "北京", "ab", "?!", "x"];
        assert_eq!(TextConfig { tokens: Tokens::Spaces, ..TextConfig::USUAL }.words(text), spaces);
        let plain = ["wont", "c", "12gauge", "cafe", "北京", "ab", "x"];
        let clsm = TextConfig { accents: Accents::Fold, tokens: Tokens::SpacesWithoutPunctuation };
        assert_eq!(clsm.words(text), plain);
    }

    #[test]
    fn compatibility_forms_are_taken_apart() {
        check("½ ﬁne x² ＡＢＣ Ⅳ ①", &["1", "2", "fine", "x2", "abc", "iv", "1"]);
    }

    #[test]
    fn long_words_take_linear_time() {
        // Quadratic behaviour anywhere would take minutes at this size.
        const LENGTH: usize = 300_000;
        for unit in ["a", "é", "e\u{301}", "\u{301}", "Σ", "\u{301}\u{316}", "\u{FDFA}"] {
            // The last of them becomes eleven times as long.
            let length = if unit == "\u{FDFA}" { LENGTH / 11 } else { LENGTH };
            let text = unit.repeat(length / unit.len());
            let mut bytes = 0;
            for_each_word(&text, &mut WordBuffer::default(), |word| bytes += word.len());
            assert!(bytes > 0, "no word in repeated {unit:?}");
        }
    }
}

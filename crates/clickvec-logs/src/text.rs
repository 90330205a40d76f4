//! Cleaning queries and titles so that they fit on one line of a table.

use clickvec::internals::text::is_invisible;
use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// Writes `text` to `out` with a single space for each run of white space and control characters, and none at the
/// ends; in lower case if `lower`.
///
/// A field of a table can contain neither a tab nor a line end, and a query with two spaces is the same as with one.
pub fn clean(text: &str, lower: bool, out: &mut String) {
    out.clear();
    // Nearly all queries only need to be copied.
    if is_clean(text.as_bytes()) {
        out.push_str(text);
        if lower {
            out.make_ascii_lowercase();
        }
        return;
    }
    // As in queries, a byte order mark within a text vanishes.
    let text = text.replace('\u{feff}', "");
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        if lower { out.extend(word.chars().flat_map(char::to_lowercase)) } else { out.push_str(word) }
    }
}

/// Returns whether a text is printable ASCII with single spaces inside. The loop has no early exit, so compilers vectorise it.
fn is_clean(text: &[u8]) -> bool {
    let [first, rest @ ..] = text else { return true };
    let printable = text.iter().fold(true, |all, byte| all & (b' '..=b'~').contains(byte));
    let doubled = text.iter().zip(rest).fold(false, |any, (a, b)| any | (*a == b' ') & (*b == b' '));
    printable && !doubled && *first != b' ' && text.last() != Some(&b' ')
}

/// Writes a query to `out` as models see it, as far as people see no difference: NFKC, without [invisible](is_invisible)
/// characters, every dash a hyphen, then [`clean`]; in lower case if `lower`.
pub fn clean_query(text: &str, lower: bool, out: &mut String) {
    if text.is_ascii() {
        return clean(text, lower, out);
    }
    let dashed = |c: char| match c.general_category() {
        GeneralCategory::DashPunctuation => '-',
        _ if matches!(c, '\u{2212}' | '\u{2043}') => '-',
        _ => c,
    };
    let mut normal: String = text.nfkc().filter(|&c| !is_invisible(c)).map(dashed).collect();
    if lower {
        // Σ has two lower-case forms, and people type either.
        normal = without_dots(&normal.to_lowercase()).replace('ς', "σ");
    }
    // Dropping characters and lower-casing can undo the normal form.
    let normal: String = normal.nfkc().collect();
    clean(&normal, false, out);
}

/// Removes the dot that lower-casing leaves above the i of İ.
pub(crate) fn without_dots(lower: &str) -> String {
    lower.replace("i\u{307}", "i")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str, lower: bool) -> String {
        let mut out = "old".to_owned();
        clean(text, lower, &mut out);
        out
    }

    #[test]
    fn white_space_and_control_characters_become_one_space() {
        for (text, expected) in [
            ("red shoes", "red shoes"),
            (" red  shoes ", "red shoes"),
            ("red\tshoes\r\n", "red shoes"),
            ("red\u{0}\u{1b}[2Jshoes", "red [2Jshoes"),
            ("red\u{a0}shoes\u{2028}", "red shoes"),
            ("\u{feff}", ""),
            ("re\u{feff}d \u{feff} shoes", "red shoes"),
            ("", ""),
            ("   ", ""),
        ] {
            assert_eq!(cleaned(text, false), expected, "{text:?}");
        }
    }

    #[test]
    fn case_is_folded_when_asked_for() {
        assert_eq!(cleaned("Red SHOES", true), "red shoes");
        assert_eq!(cleaned("Rote  SCHUHE GRÜN", true), "rote schuhe grün");
        assert_eq!(cleaned("Red", false), "Red");
    }

    #[test]
    fn queries_that_look_alike_are_one() {
        let mut out = String::new();
        for text in [
            "t-shirt café",
            "T-Shirt  Cafe\u{301}",
            "t\u{2011}shirt café",
            "ｔ－ｓｈｉｒｔ café",
            "t\u{2212}sh\u{ad}irt \u{200e}ca\u{200b}fé\u{feff}",
        ] {
            clean_query(text, true, &mut out);
            assert_eq!(out, "t-shirt café", "{text:?}");
        }
        clean_query("İSTANBUL", true, &mut out);
        assert_eq!(out, "istanbul");
        clean_query("Größe\u{3000}XL", false, &mut out);
        assert_eq!(out, "Größe XL");
        clean_query("\u{200b}\u{ad}", true, &mut out);
        assert_eq!(out, "");
    }
}

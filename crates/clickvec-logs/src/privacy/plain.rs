//! Text in plain form: digits, `@` and dots, however they are written.

use std::borrow::Cow;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// Other ways to write `@`, the dot of an address and what stands between the digits of a number, used by browsers (also twice over),
/// by pages, and against robots. The full stops are those of Japanese and Chinese keyboards.
const WRITTEN: [(&str, char); 24] = [
    ("%2540", '@'),
    ("%2b", '+'),
    ("%20", ' '),
    ("%2d", '-'),
    ("%28", '('),
    ("%29", ')'),
    ("%2f", '/'),
    ("&#064;", '@'),
    ("&#43;", '+'),
    ("&nbsp;", ' '),
    ("&#160;", ' '),
    ("。", '.'),
    ("｡", '.'),
    ("%40", '@'),
    ("%2e", '.'),
    ("&#64;", '@'),
    ("&#x40;", '@'),
    ("&commat;", '@'),
    ("(at)", '@'),
    ("[at]", '@'),
    ("{at}", '@'),
    ("(dot)", '.'),
    ("[dot]", '.'),
    ("{dot}", '.'),
];

/// Replaces digits of all scripts by ASCII digits, and the forms in [`WRITTEN`] by `@` and `.`. Also returns, for each byte and
/// for the end, its place in `text`; there are no places if nothing changed.
pub(super) fn plain(text: &str) -> (Cow<'_, str>, Vec<usize>) {
    let has_other_digits = !text.is_ascii() && text.chars().any(|c| !c.is_ascii() && digit(c).is_some());
    let may_be_written = text.bytes().any(|byte| b"%&([{".contains(&byte)) || text.contains(['。', '｡']);
    let is_written = may_be_written && (0..text.len()).any(|at| written(text, at).is_some());
    let is_joined = !text.is_ascii() && text.char_indices().any(|(at, c)| joins(text, at, c));
    if !has_other_digits && !is_written && !is_joined {
        return (Cow::Borrowed(text), Vec::new());
    }
    let (mut plain, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len() + 1));
    let mut next = 0;
    for (place, c) in text.char_indices() {
        if place < next {
            continue;
        }
        let (c, length) = match written(text, place) {
            Some(found) => found,
            None if joins(text, place, c) => ('-', c.len_utf8()),
            None => (digit(c).unwrap_or(c), c.len_utf8()),
        };
        plain.push(c);
        places.extend((0..c.len_utf8()).map(|byte| place + byte));
        next = place + length;
    }
    places.push(text.len());
    (Cow::Owned(plain), places)
}

/// Returns whether a character is a dash, a dot or the like between two digits. The long vowel of Japanese is typed for a dash.
fn joins(text: &str, place: usize, c: char) -> bool {
    let is_digit = |c: Option<char>| c.and_then(digit).is_some();
    "‐‑‒–—―−ー·・•‧".contains(c)
        && is_digit(text[..place].chars().next_back())
        && is_digit(text[place + c.len_utf8()..].chars().next())
}

/// Returns the character that is written in another way at a place, and the number of bytes it takes.
fn written(text: &str, place: usize) -> Option<(char, usize)> {
    let rest = &text.as_bytes()[place..];
    let is = |form: &&(&str, char)| {
        rest.get(..form.0.len()).is_some_and(|start| start.eq_ignore_ascii_case(form.0.as_bytes()))
    };
    WRITTEN.iter().find(is).map(|&(form, c)| (c, form.len()))
}

/// Returns the ASCII digit for a decimal digit of any script. Unicode has the digits of a script in order, nearly always starting
/// at a code point that ends in 0 or 6.
pub(super) fn digit(c: char) -> Option<char> {
    let is_digit = |c: char| c.general_category() == GeneralCategory::DecimalNumber;
    if !is_digit(c) {
        return None;
    }
    let code = c as u32;
    let value = match code {
        // Mathematical digits are five rows without a gap, Myanmar has two rows, and Ol Onal begins with 1.
        0x1D7CE..=0x1D7FF => (code - 0x1D7CE) % 10,
        0x116D0..=0x116E3 => (code - 0x116D0) % 10,
        0x1E5F1..=0x1E5FA => code - 0x1E5F1,
        _ if char::from_u32(code & !0xF).is_some_and(is_digit) => code & 0xF,
        _ => (code & 0xF).checked_sub(6)?,
    };
    char::from_digit(value, 10)
}

//! What people type into a search box by mistake: e-mail addresses, phone and card numbers.
//!
//! Only forms that product names rarely have are taken for numbers of people: a bare run of digits may be an article
//! number, and 12 or 13 of them are the bar code of a product.

mod numbers;
mod removed;

use std::borrow::Cow;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

use numbers::{MIN_PHONE_DIGITS, numbers};

pub use removed::Removed;

/// Cuts what is personal out of a query, which may then be empty: a rest without letter or digit is left out too. Returns
/// what was cut out.
pub fn remove_personal(query: &mut String) -> Removed {
    let mut removed = Removed::default();
    // What is left may have come together to something personal again.
    for _ in 0..MOST_ROUNDS {
        let found = cut_once(query);
        if found.total() == 0 {
            break;
        }
        removed.add(found);
    }
    let more = removed.total() > 0 && cut_once(&mut query.clone()).total() > 0;
    if removed.total() > 0 && (more || !query.chars().any(char::is_alphanumeric)) {
        query.clear();
    }
    removed
}

/// Nobody types what takes more rounds; the whole query is left out then.
const MOST_ROUNDS: usize = 4;

fn cut_once(query: &mut String) -> Removed {
    let mut removed = Removed::default();
    let (text, places) = with_ascii_digits(query);
    let (mut digits, mut at) = (0u32, false);
    for byte in text.bytes() {
        digits += u32::from(byte.is_ascii_digit());
        at |= byte == b'@';
    }
    if !at && digits < MIN_PHONE_DIGITS {
        return removed;
    }
    let mut cut: Vec<(usize, usize)> = Vec::new();
    if at {
        emails(&text, &mut cut);
        removed.emails = cut.len() as u64;
    }
    if digits >= MIN_PHONE_DIGITS {
        numbers(&text, &mut cut, &mut removed);
    }
    drop(text);
    for (start, end) in cut.iter_mut().filter(|_| !places.is_empty()) {
        (*start, *end) = (places[*start], places[*end]);
    }
    if !cut.is_empty() {
        cut.sort_unstable();
        let mut left = String::with_capacity(query.len());
        let mut from = 0;
        for (start, end) in cut {
            left.push_str(&query[from.min(start)..start]);
            left.push(' ');
            from = end;
        }
        left.push_str(&query[from..]);
        query.clear();
        for word in left.split_whitespace() {
            if !query.is_empty() {
                query.push(' ');
            }
            query.push_str(word);
        }
    }
    removed
}

/// The text with ASCII digits for those of all scripts, and for each of its bytes (and its end) the place in `text` that
/// it stands for; no places if nothing changed.
fn with_ascii_digits(text: &str) -> (Cow<'_, str>, Vec<usize>) {
    if text.is_ascii() || !text.chars().any(|c| !c.is_ascii() && digit(c).is_some()) {
        return (Cow::Borrowed(text), Vec::new());
    }
    let (mut plain, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len() + 1));
    for (place, c) in text.char_indices() {
        let c = digit(c).unwrap_or(c);
        plain.push(c);
        places.extend((0..c.len_utf8()).map(|byte| place + byte));
    }
    places.push(text.len());
    (Cow::Owned(plain), places)
}

/// The ASCII digit that a decimal digit of any script is. Unicode has those of a script in order, nearly always from
/// a code point that ends in 0 or 6 on.
fn digit(c: char) -> Option<char> {
    let is_digit = |c: char| c.general_category() == GeneralCategory::DecimalNumber;
    if !is_digit(c) {
        return None;
    }
    let code = c as u32;
    let value = match code {
        // Mathematical ones stand in five rows without a gap, two of Myanmar's as well, and Ol Onal's begin with 1.
        0x1D7CE..=0x1D7FF => (code - 0x1D7CE) % 10,
        0x116D0..=0x116E3 => (code - 0x116D0) % 10,
        0x1E5F1..=0x1E5FA => code - 0x1E5F1,
        _ if char::from_u32(code & !0xF).is_some_and(is_digit) => code & 0xF,
        _ => (code & 0xF).checked_sub(6)?,
    };
    char::from_digit(value, 10)
}

/// `local@domain.tld`, the local part of letters, digits and `.!#$%&'*+/=?^_{|}~-`, the domain with a dot in it. Before the
/// `@` and behind it one space may stand if the domain ends in letters.
fn emails(text: &str, cut: &mut Vec<(usize, usize)>) {
    let local = |c: &char| c.is_alphanumeric() || ".!#$%&'*+/=?^_`{|}~-".contains(*c);
    let domain = |c: &char| c.is_alphanumeric() || ".-".contains(*c);
    for (at, _) in text.match_indices('@') {
        let user = text[..at].strip_suffix(' ').unwrap_or(&text[..at]);
        let host = text[at + 1..].strip_prefix(' ').unwrap_or(&text[at + 1..]);
        let is_spaced = user.len() + host.len() + 1 < text.len();
        let before: usize = user.chars().rev().take_while(local).map(char::len_utf8).sum();
        let after: usize = host.chars().take_while(domain).map(char::len_utf8).sum();
        // A full stop at the end is the sentence's.
        let name = host[..after].trim_end_matches(['.', '-']);
        let has_dot = name.split_once('.').is_some_and(|(host, top)| !host.is_empty() && top.chars().count() >= 2);
        // `2 @ 3.99` is a price.
        let top = name.rsplit('.').next().unwrap_or_default();
        let is_name = !is_spaced || top.chars().count() >= 2 && top.chars().all(char::is_alphabetic);
        let start = user.len() - before;
        if before > 0 && has_dot && is_name && cut.last().is_none_or(|&(_, end)| end <= start) {
            cut.push((start, text.len() - host.len() + name.len()));
        }
    }
}

#[cfg(test)]
mod tests;

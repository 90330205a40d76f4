//! What people type into a search box by mistake: e-mail addresses, phone and card numbers.
//!
//! Only forms that product names rarely have are taken for numbers of people: a bare run of digits may be an article
//! number, and 12 or 13 of them are the bar code of a product.

use std::borrow::Cow;

use serde::Serialize;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// How often something was removed, by kind. The values themselves are never kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// E-mail addresses.
    pub emails: u64,
    /// Phone numbers.
    pub phones: u64,
    /// Numbers of payment cards.
    pub cards: u64,
}

impl Removed {
    /// All kinds.
    pub fn total(&self) -> u64 {
        self.emails + self.phones + self.cards
    }

    /// Adds what another counted.
    pub fn add(&mut self, other: Removed) {
        self.emails += other.emails;
        self.phones += other.phones;
        self.cards += other.cards;
    }
}

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

/// The fewest digits of a phone number that is recognised.
const MIN_PHONE_DIGITS: u32 = 9;

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

/// Runs of digits with what separates their groups.
fn numbers(text: &str, cut: &mut Vec<(usize, usize)>, removed: &mut Removed) {
    let bytes = text.as_bytes();
    let emails = cut.len();
    let mut start = 0;
    while start < bytes.len() {
        if !bytes[start].is_ascii_digit() && !matches!(bytes[start], b'+' | b'(') {
            start += 1;
            continue;
        }
        let mut end = start;
        while end < bytes.len() && (bytes[end].is_ascii_digit() || b" -.()/+_".contains(&bytes[end])) {
            end += 1;
        }
        let next = end;
        while end > start && !bytes[end - 1].is_ascii_digit() {
            end -= 1;
        }
        let after = cut[..emails].partition_point(|&(_, to)| to <= start);
        let inside = cut[..emails].get(after).is_some_and(|&(from, _)| from < end);
        if end > start && !inside {
            // A letter beside digits makes them an article's number, unless their form leaves no doubt.
            let letter_before = text[..start].chars().next_back().is_some_and(char::is_alphanumeric);
            let letter_after = text[end..].chars().next().is_some_and(char::is_alphanumeric);
            number(text, start, end, [letter_before, letter_after], cut, removed);
        }
        start = next.max(start + 1);
    }
}

/// The longest number of a person, with what separates its groups.
const MOST_BYTES: usize = 40;

/// One run, which may have numbers of persons anywhere in it: groups at its beginning or end may be others. `letters`:
/// whether one stands before it, and behind it.
fn number(
    text: &str,
    start: usize,
    end: usize,
    letters: [bool; 2],
    cut: &mut Vec<(usize, usize)>,
    removed: &mut Removed,
) {
    let bytes = &text.as_bytes()[start..end];
    // Where a number may begin, and where it may end: with a group of digits.
    let digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    let begins = |place: usize| {
        matches!(bytes[place], b'+' | b'(') && !digit(place.wrapping_sub(1))
            || digit(place) && (place == 0 || !digit(place - 1))
    };
    let mut begin = 0;
    while begin < bytes.len() {
        if !begins(begin) {
            begin += 1;
            continue;
        }
        // The longest that is one.
        let last = bytes.len().min(begin + MOST_BYTES);
        let ends = (begin + 1..=last).rev().filter(|&stop| digit(stop - 1) && !digit(stop));
        let mut found = None;
        for stop in ends {
            let candidate = &bytes[begin..stop];
            let touches = letters[0] && begin == 0 || letters[1] && stop == bytes.len();
            let grouped = candidate.iter().any(|byte| !byte.is_ascii_digit());
            if is_card(candidate) {
                removed.cards += 1;
            } else if is_phone(candidate) && (!touches || grouped) {
                removed.phones += 1;
            } else {
                continue;
            }
            found = Some(stop);
            break;
        }
        match found {
            Some(stop) => {
                cut.push((start + begin, start + stop));
                begin = stop;
            }
            None => begin += 1,
        }
    }
}

/// 13 to 19 digits with the first digits of a card's issuer and a valid check digit, in one run or in groups of at least
/// three that a space separates, or one of `-./_` with at most a space on each side.
fn is_card(text: &[u8]) -> bool {
    let mut digits = [0u8; 19];
    let mut count = 0;
    let mut last = 0;
    for group in text.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        match group {
            [b'0'..=b'9', ..] if count + group.len() > digits.len() => return false,
            [b'0'..=b'9', ..] => {
                group.iter().zip(&mut digits[count..]).for_each(|(byte, digit)| *digit = byte - b'0');
                count += group.len();
                last = group.len();
            }
            _ if last < 3 => return false,
            [b' '] => {}
            _ => match group.strip_prefix(b" ").unwrap_or(group) {
                [b'-' | b'.' | b'/' | b'_'] | [b'-' | b'.' | b'/' | b'_', b' '] => {}
                _ => return false,
            },
        }
    }
    let digits = &digits[..count];
    let first = |places: usize| digits.iter().take(places).fold(0u32, |number, &digit| number * 10 + u32::from(digit));
    let maestro = matches!(first(4), 5018 | 5020 | 5038 | 5893 | 6304 | 6390 | 6759 | 6761..=6763);
    let issued = match count {
        // Bar codes have as many, also in one run.
        13 | 14 if text.len() == count && is_bar_code(digits) && (count == 13 || maestro) => false,
        _ if maestro && count >= 13 => true,
        13 => first(1) == 4,
        14 => matches!(first(2), 36 | 38 | 39) || (300..=305).contains(&first(3)),
        15 => matches!(first(2), 34 | 37),
        16..=19 => {
            first(1) == 4
                || (51..=55).contains(&first(2))
                || (2221..=2720).contains(&first(4))
                || matches!(first(2), 35 | 62 | 65)
                || first(4) == 6011
                || (644..=649).contains(&first(3))
        }
        _ => false,
    };
    issued && luhn(digits)
}

/// The check digit of ISO/IEC 7812-1.
fn luhn(digits: &[u8]) -> bool {
    let doubled = |digit: u8| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, &digit)| u32::from(if place % 2 == 1 { doubled(digit) } else { digit }))
        .sum();
    sum.is_multiple_of(10)
}

/// The check digit of a GTIN: each second digit from the last but one on counts three times.
fn is_bar_code(digits: &[u8]) -> bool {
    let times = |place: usize| if place % 2 == 1 { 3 } else { 1 };
    let sum: u32 = digits.iter().rev().enumerate().map(|(place, &digit)| times(place) * u32::from(digit)).sum();
    sum.is_multiple_of(10)
}

/// `+49 30 1234567`, `0049…`, `(555) 234-5678`, `555-234-5678`, `030 1234567`, and ten digits from 0 or as North America
/// has them.
fn is_phone(text: &[u8]) -> bool {
    if text.contains(&b'_') {
        return false;
    }
    let digits: Vec<u8> = text.iter().copied().filter(u8::is_ascii_digit).collect();
    let separators = text.len() - digits.len();
    // `1.2.3…` and `1 2 3…` are lists.
    let groups = text.split(|byte| !byte.is_ascii_digit()).filter(|group| !group.is_empty());
    if groups.clone().count() > 5 && groups.clone().filter(|group| group.len() < 2).count() > 1 {
        return false;
    }
    let international = text.starts_with(b"+") || digits.starts_with(b"00");
    if international {
        return (9..=15).contains(&digits.len());
    }
    if text.contains(&b'+') || text.contains(&b'/') && !text.starts_with(b"0") {
        return false;
    }
    let north =
        |digits: &[u8]| digits.len() == 10 && (b'2'..=b'9').contains(&digits[0]) && (b'2'..=b'9').contains(&digits[3]);
    let sizes: Vec<usize> = groups.map(<[u8]>::len).collect();
    match digits.as_slice() {
        [b'1', rest @ ..] if north(rest) => separators == 0 || matches!(sizes[..], [.., 3, 3, 4] | [.., 3, 7]),
        all if north(all) => separators == 0 || matches!(sizes[..], [3, 3, 4] | [3, 7]),
        [b'0', ..] if sizes == [2; 5] => true,
        [b'0', ..] if separators > 0 => (9..=12).contains(&digits.len()) && sizes.len() <= 4 && sizes[0] >= 3,
        [b'0', ..] => (10..=11).contains(&digits.len()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> (String, [u64; 3]) {
        let mut query = text.to_owned();
        let removed = remove_personal(&mut query);
        (query, [removed.emails, removed.phones, removed.cards])
    }

    #[test]
    fn what_is_personal_is_cut_out() {
        for (text, left, counts) in [
            ("jane.doe@example.com", "", [1, 0, 0]),
            ("order of jane.doe+1@mail.example.co.uk.", "order of .", [1, 0, 0]),
            ("a@b.de c@d.org shoes", "shoes", [2, 0, 0]),
            ("call +49 30 1234567 now", "call now", [0, 1, 0]),
            ("004930123456", "", [0, 1, 0]),
            ("(555) 234-5678", "", [0, 1, 0]),
            ("1-555-234-5678 shoes", "shoes", [0, 1, 0]),
            ("555.234.5678", "", [0, 1, 0]),
            ("5552345678", "", [0, 1, 0]),
            ("030 1234567", "", [0, 1, 0]),
            ("01 23 45 67 89", "", [0, 1, 0]),
            ("4111 1111 1111 1111", "", [0, 0, 1]),
            ("visa 4111111111111111 x", "visa x", [0, 0, 1]),
            ("5500-0000-0000-0004", "", [0, 0, 1]),
            ("340000000000009", "", [0, 0, 1]),
            ("me@example.com 4111111111111111 555-234-5678", "", [1, 1, 1]),
            ("grün@größe.de", "", [1, 0, 0]),
            ("tel+49301234567x", "tel x", [0, 1, 0]),
            ("€4111111111111111", "", [0, 0, 1]),
            ("nr4111111111111111b", "nr b", [0, 0, 1]),
            ("4111.1111.1111.1111", "", [0, 0, 1]),
            ("(555) a@b.de 234-5678", "", [1, 1, 0]),
            ("<jane@example.com>!", "", [1, 0, 0]),
            ("jane@ example.com", "", [1, 0, 0]),
            ("mail jane @example.com.", "mail .", [1, 0, 0]),
            ("mail jane @ mail.example.co.uk now", "mail now", [1, 0, 0]),
            ("a@b.de @ c.org shoes", "@ c.org shoes", [1, 0, 0]),
            ("(555)2345678", "", [0, 1, 0]),
            ("555-2345678", "", [0, 1, 0]),
            ("1 (800)2345678 x", "x", [0, 1, 0]),
            ("4111 - 1111 - 1111 - 1111", "", [0, 0, 1]),
            ("4111/1111/1111/1111", "", [0, 0, 1]),
            ("4111_1111_1111_1111 x", "x", [0, 0, 1]),
            ("4222222222222", "", [0, 0, 1]),
            ("6759649826438453", "", [0, 0, 1]),
            ("5018 0000 0009", "5018 0000 0009", [0, 0, 0]),
            ("هاتف ٠٣٠١٢٣٤٥٦٧ قلم", "هاتف قلم", [0, 1, 0]),
            ("گوشی ۰۹۱۲۳۴۵۶۷۸۹", "گوشی", [0, 1, 0]),
            ("+९१ ९८७६५ ४३२१० जूते", "जूते", [0, 1, 0]),
            ("é ٤١١١ ١١١١ ١١١١ ١١١١ é", "é é", [0, 0, 1]),
        ] {
            assert_eq!(cut(text), (left.to_owned(), counts), "{text}");
        }
    }

    #[test]
    fn long_lines_take_no_longer_than_they_are_long() {
        for part in ["1 ", "a@", "a@b.de ", "12345 ", "+1-", "(1)"] {
            let text = part.repeat(300_000);
            let is_quick = |_| {
                let started = std::time::Instant::now();
                cut(&text);
                started.elapsed().as_secs() < 20
            };
            // A busy machine may stop us once.
            assert!((0..3).any(is_quick), "{part}");
        }
    }

    #[test]
    fn digits_of_all_scripts() {
        let all = ('\u{80}'..=char::MAX).filter(|c| c.general_category() == GeneralCategory::DecimalNumber);
        let values: Vec<u32> = all.map(|c| digit(c).and_then(|digit| digit.to_digit(10)).unwrap()).collect();
        assert!(values.len() > 600);
        assert!(values.iter().enumerate().all(|(place, &value)| place as u32 % 10 == value), "each script has ten");
    }

    #[test]
    fn what_is_sold_stays() {
        for text in [
            "2 shirts @ 3.99",
            "4 @ 12 v 1.5 a",
            "lego 4000_5000",
            "4006381333931 4012345678901",
            "5018374000088",
            "4006381000093",
            "١٢ قلم ٤١١١١١١١١١١١١١١٢",
            "جوتے ۴۲",
            "xbox 360 250gb",
            "4111111111111112",
            "4006381333931",
            "012345678905",
            "9780306406157",
            "978-3-16-148410-0",
            "ryzen 7 5800x 3d",
            "12 x 34 x 56 cm",
            "1 2 3 4 5 6 7 8 9 10",
            "b0000000001234567",
            "@home",
            "100% @ 5",
            "a@b",
            "192.168.100.100",
            "2024-05-17 2024-05-18",
            "1/4 3/8 5/16 7/16 9/16",
            "",
        ] {
            assert_eq!(cut(text), (text.to_owned(), [0, 0, 0]), "{text}");
        }
    }
}

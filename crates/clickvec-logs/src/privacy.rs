//! What people type into a search box by mistake: e-mail addresses, phone and card numbers.
//!
//! Only forms that product names rarely have are taken for numbers of people: a bare run of digits may be an article
//! number, and 12 or 13 of them are the bar code of a product.

use serde::Serialize;

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
    let (mut digits, mut at) = (0u32, false);
    for byte in query.bytes() {
        digits += u32::from(byte.is_ascii_digit());
        at |= byte == b'@';
    }
    if !at && digits < MIN_PHONE_DIGITS {
        return removed;
    }
    let mut cut: Vec<(usize, usize)> = Vec::new();
    if at {
        emails(query, &mut cut);
        removed.emails = cut.len() as u64;
    }
    if digits >= MIN_PHONE_DIGITS {
        numbers(query, &mut cut, &mut removed);
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

/// The fewest digits of a phone number that is recognised.
const MIN_PHONE_DIGITS: u32 = 9;

/// `local@domain.tld`, the local part of letters, digits and `.!#$%&'*+/=?^_{|}~-`, the domain with a dot in it.
fn emails(text: &str, cut: &mut Vec<(usize, usize)>) {
    let local = |c: &char| c.is_alphanumeric() || ".!#$%&'*+/=?^_`{|}~-".contains(*c);
    let domain = |c: &char| c.is_alphanumeric() || ".-".contains(*c);
    for (at, _) in text.match_indices('@') {
        let before: usize = text[..at].chars().rev().take_while(local).map(char::len_utf8).sum();
        let mut after: usize = text[at + 1..].chars().take_while(domain).map(char::len_utf8).sum();
        // A full stop at the end is the sentence's.
        after -= text[at + 1..at + 1 + after].bytes().rev().take_while(|byte| matches!(byte, b'.' | b'-')).count();
        let name = &text[at + 1..at + 1 + after];
        let has_dot = name.split_once('.').is_some_and(|(host, top)| !host.is_empty() && top.chars().count() >= 2);
        if before > 0 && has_dot && cut.last().is_none_or(|&(_, end)| end <= at - before) {
            cut.push((at - before, at + 1 + after));
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
        while end < bytes.len() && (bytes[end].is_ascii_digit() || b" -.()/+".contains(&bytes[end])) {
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

/// 14 to 19 digits with the first digits of a card's issuer and a valid check digit, in one run or in groups of at least
/// three that single spaces, hyphens or full stops separate.
fn is_card(text: &[u8]) -> bool {
    let mut digits = [0u8; 19];
    let mut count = 0;
    let mut group = 0;
    for &byte in text {
        match byte {
            b'0'..=b'9' if count == digits.len() => return false,
            b'0'..=b'9' => {
                digits[count] = byte - b'0';
                count += 1;
                group += 1;
            }
            b' ' | b'-' | b'.' if group >= 3 => group = 0,
            _ => return false,
        }
    }
    let digits = &digits[..count];
    let first = |places: usize| digits.iter().take(places).fold(0u32, |number, &digit| number * 10 + u32::from(digit));
    let issued = match count {
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

/// `+49 30 1234567`, `0049…`, `(555) 234-5678`, `555-234-5678`, `030 1234567`, and ten digits from 0 or as North America
/// has them.
fn is_phone(text: &[u8]) -> bool {
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
        [b'1', rest @ ..] if north(rest) => separators == 0 || sizes.ends_with(&[3, 3, 4]),
        all if north(all) => separators == 0 || sizes == [3, 3, 4],
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
    fn what_is_sold_stays() {
        for text in [
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

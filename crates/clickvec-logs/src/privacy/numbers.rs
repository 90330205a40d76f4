//! Phone and card numbers in runs of digits.

use super::removed::Removed;

/// The fewest digits of a phone number that is recognised.
pub(super) const MIN_PHONE_DIGITS: u32 = 9;

/// Finds runs of digits with their separators.
pub(super) fn numbers(text: &str, cut: &mut Vec<(usize, usize)>, removed: &mut Removed) {
    let bytes = text.as_bytes();
    let emails = cut.len();
    let mut start = 0;
    while start < bytes.len() {
        if !bytes[start].is_ascii_digit() && !matches!(bytes[start], b'+' | b'(') {
            start += 1;
            continue;
        }
        let mut end = start;
        while end < bytes.len() && (bytes[end].is_ascii_digit() || b" -.()/+_,:|".contains(&bytes[end])) {
            end += 1;
        }
        let next = end;
        while end > start && !bytes[end - 1].is_ascii_digit() {
            end -= 1;
        }
        let after = cut[..emails].partition_point(|&(_, to)| to <= start);
        let inside = cut[..emails].get(after).is_some_and(|&(from, _)| from < end);
        if end > start && !inside {
            // A letter next to the digits makes them an article number, unless their form leaves no doubt.
            let letter_before = text[..start].chars().next_back().is_some_and(char::is_alphanumeric);
            let letter_after = text[end..].chars().next().is_some_and(char::is_alphanumeric);
            number(text, start, end, [letter_before, letter_after], cut, removed);
        }
        start = next.max(start + 1);
    }
}

/// The longest personal number, with its separators.
const MOST_BYTES: usize = 40;

/// Searches one run, which may contain personal numbers anywhere: the groups at its beginning or end may be something
/// else. `letters` tells whether there is a letter before and after the run.
fn number(
    text: &str,
    start: usize,
    end: usize,
    letters: [bool; 2],
    cut: &mut Vec<(usize, usize)>,
    removed: &mut Removed,
) {
    let bytes = &text.as_bytes()[start..end];
    // A number begins and ends with a group of digits.
    let digit = |position: usize| bytes.get(position).is_some_and(u8::is_ascii_digit);
    let begins = |position: usize| {
        matches!(bytes[position], b'+' | b'(') && !digit(position.wrapping_sub(1))
            || digit(position) && (position == 0 || !digit(position - 1))
    };
    let mut begin = 0;
    while begin < bytes.len() {
        if !begins(begin) {
            begin += 1;
            continue;
        }
        // Take the longest candidate that is a personal number.
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

/// The most separators between two groups of digits on a card, as in `4111 - - 1111`.
const MOST_BETWEEN: usize = 5;

/// Returns whether a text is a card number: 13 to 19 digits with an issuer's first digits and a valid check digit, in one run or
/// in groups of at least three or of one size, with at most [`MOST_BETWEEN`] of ` -./_+,:|` between them.
fn is_card(text: &[u8]) -> bool {
    let mut digits = [0u8; 19];
    let mut count = 0;
    let mut last = 0;
    let mut sizes = text.split(|byte| !byte.is_ascii_digit()).map(<[u8]>::len).filter(|&size| size > 0);
    let first = sizes.next();
    let is_even = sizes.all(|size| Some(size) == first);
    for group in text.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        match group {
            [b'0'..=b'9', ..] if count + group.len() > digits.len() => return false,
            [b'0'..=b'9', ..] => {
                group.iter().zip(&mut digits[count..]).for_each(|(byte, digit)| *digit = byte - b'0');
                count += group.len();
                last = group.len();
            }
            _ if last < 3 && !is_even => return false,
            _ if group.len() <= MOST_BETWEEN && group.iter().all(|byte| b" -./_+,:|".contains(byte)) => {}
            _ => return false,
        }
    }
    let digits = &digits[..count];
    let first = |places: usize| digits.iter().take(places).fold(0u32, |number, &digit| number * 10 + u32::from(digit));
    let maestro = matches!(first(4), 5018 | 5020 | 5038 | 5893 | 6304 | 6390 | 6759 | 6761..=6763);
    let issued = match count {
        // Bar codes also have this many digits in one run.
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

/// Returns whether the check digit of ISO/IEC 7812-1 is valid.
fn luhn(digits: &[u8]) -> bool {
    let doubled = |digit: u8| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(position, &digit)| u32::from(if position % 2 == 1 { doubled(digit) } else { digit }))
        .sum();
    sum.is_multiple_of(10)
}

/// Returns whether the check digit of a GTIN is valid: starting from the last but one, each second digit counts three times.
fn is_bar_code(digits: &[u8]) -> bool {
    let times = |position: usize| if position % 2 == 1 { 3 } else { 1 };
    let sum: u32 = digits.iter().rev().enumerate().map(|(position, &digit)| times(position) * u32::from(digit)).sum();
    sum.is_multiple_of(10)
}

/// Returns whether a text is a phone number such as `+49 30 1234567`, `0049…`, `(555) 234-5678`, `555-234-5678` or `030 1234567`,
/// or ten digits that begin with 0 or have the form of North America.
fn is_phone(text: &[u8]) -> bool {
    // Such lists are not phone numbers.
    if text.iter().any(|byte| b",:|".contains(byte)) {
        return false;
    }
    let digits: Vec<u8> = text.iter().copied().filter(u8::is_ascii_digit).collect();
    let separators = text.len() - digits.len();
    // `1.2.3…` and `1 2 3…` are lists.
    let groups = text.split(|byte| !byte.is_ascii_digit()).filter(|group| !group.is_empty());
    if groups.clone().count() > 5 && groups.clone().filter(|group| group.len() < 2).count() > 1 {
        return false;
    }
    let sizes = || groups.clone().map(<[u8]>::len).collect::<Vec<usize>>();
    // `4000_5000` is an article number, but three groups in the form of North America are not.
    if text.contains(&b'_') && !text.starts_with(b"+") && !matches!(sizes()[..], [3, 3, 4] | [1, 3, 3, 4]) {
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
    let sizes = sizes();
    match digits.as_slice() {
        [b'1', rest @ ..] if north(rest) => separators == 0 || matches!(sizes[..], [.., 3, 3, 4] | [.., 3, 7]),
        all if north(all) => separators == 0 || matches!(sizes[..], [3, 3, 4] | [3, 7]),
        [b'0', ..] if sizes == [2; 5] => true,
        [b'0', ..] if separators > 0 => {
            (9..=13).contains(&digits.len()) && sizes.len() <= 5 && sizes[0] >= 3 || sizes == [2, 4, 4]
        }
        // Bar codes have 12 or 13 digits, too.
        [b'0', ..] => match digits.len() {
            10 | 11 => true,
            12 | 13 => !is_bar_code(&text.iter().map(|byte| byte - b'0').collect::<Vec<u8>>()),
            _ => false,
        },
        _ => false,
    }
}

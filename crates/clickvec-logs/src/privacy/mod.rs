//! Finding what people type into a search box by mistake: e-mail addresses, phone numbers and card numbers.
//!
//! Only forms that are rare in names of products count as personal numbers. A bare run of digits may be an article
//! number, and one of 12 or 13 digits is the bar code of a product.

mod emails;
mod numbers;
mod plain;
mod removed;

use emails::emails;
use numbers::{MIN_PHONE_DIGITS, numbers};

use plain::plain;

pub use removed::Removed;

/// Removes personal data from a query, and returns the counts. The query becomes empty if no letter or digit is left.
pub fn remove_personal(query: &mut String) -> Removed {
    let mut removed = Removed::default();
    // What is left may form new personal data when joined.
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

/// The most rounds of removal. No typed query takes more; one that does is removed.
const MOST_ROUNDS: usize = 4;

fn cut_once(query: &mut String) -> Removed {
    let mut removed = Removed::default();
    let (text, places) = plain(query);
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

#[cfg(test)]
mod tests;

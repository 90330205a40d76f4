//! Users, as logs identify them.

use std::borrow::Cow;

use clickvec_tables::null_text;
use clickvec_tables::table::plain_name;

use crate::text;

/// The names that shops and databases give to an unknown user, in small letters and without what separates words, besides a missing
/// text ([`null_text`]).
const UNKNOWN: [&str; 57] = [
    "nil",
    "inf",
    "infinity",
    "objectobject",
    "na",
    "nat",
    "nv",
    "nan",
    "null",
    "none",
    "void",
    "false",
    "notset",
    "notprovided",
    "notavailable",
    "undefined",
    "unassigned",
    "other",
    "unknown",
    "unknownuser",
    "nouser",
    "noone",
    "nobody",
    "notloggedin",
    "loggedout",
    "signedout",
    "anonymous",
    "anonymoususer",
    "anonymousvisitor",
    "anon",
    "guest",
    "guestuser",
    "guests",
    "missing",
    "blank",
    "empty",
    "deleted",
    "deleteduser",
    "removed",
    "removeduser",
    "redacted",
    "hidden",
    "masked",
    "default",
    "defaultuser",
    "user",
    "visitor",
    "unbekannt",
    "gast",
    "anonym",
    "anonyme",
    "inconnu",
    "invité",
    "desconocido",
    "anónimo",
    "匿名",
    "游客",
];

/// Returns a user in normal form; `None` for an unknown user.
///
/// Two spellings are one person if they are equal after NFKC, in the same case by Unicode's full case folding, without invisible
/// characters and without quotes and brackets around them. Two numbers are one if their values are, and two UUIDs without their
/// hyphens. Where that is unsure, it counts fewer people, which protects them.
pub(crate) fn user(text: &str) -> Option<Cow<'_, str>> {
    let text = text.trim();
    // Nearly all consist of lower-case letters, digits and hyphens.
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    let user = if text.bytes().all(is_plain) { Cow::Borrowed(text) } else { Cow::Owned(folded(text)) };
    if !user.chars().any(char::is_alphanumeric) || null_text(&user).is_some() || UNKNOWN.contains(&&*plain_name(&user))
    {
        return None;
    }
    if let Some(number) = number(&user) {
        return number.map(Cow::Owned);
    }
    let is_digit = |c: char| c.is_ascii_hexdigit() || c == '-';
    if user.len() >= 32 && user.chars().all(is_digit) {
        let digits = user.replace('-', "");
        let is_unknown = ["0", "f"].iter().any(|digit| digits.replace(digit, "").is_empty());
        return (!is_unknown).then_some(if digits.len() == 32 { Cow::Owned(digits) } else { user });
    }
    Some(user)
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '‘' | '’' | '“' | '”' | '„' | '«' | '»')
}

/// Returns whether a character stands around a text and is no part of it.
fn surrounds(c: char) -> bool {
    is_quote(c) || c.is_whitespace() || "()[]<>{}".contains(c)
}

/// Returns a user without what surrounds it and without invisible characters, in one case.
fn folded(text: &str) -> String {
    let (mut plain, mut folded) = (String::new(), String::new());
    // No one sees control characters, but where they are white space.
    let text: String = text.chars().filter(|c| !c.is_control() || c.is_whitespace()).collect();
    text::clean_query(text.trim_matches(surrounds), true, &mut plain);
    // Upper case makes two letters of `ß`, and one of `i` and `ı`.
    text::clean_query(&plain.to_uppercase(), true, &mut folded);
    folded.chars().map(ascii_digit).collect()
}

/// Returns the ASCII digit for one of Arabic, Persian, Hindi or Thai.
fn ascii_digit(c: char) -> char {
    let zeros = ['٠', '۰', '०', '๐'];
    let digit = zeros.iter().find_map(|&zero| u32::from(c).checked_sub(u32::from(zero)).filter(|&digit| digit < 10));
    digit.and_then(|digit| char::from_digit(digit, 10)).unwrap_or(c)
}

/// Returns the usual form of a number, or `None` within for one that is no user: zero, a negative or infinite number. `None` if the text is
/// no number.
fn number(user: &str) -> Option<Option<String>> {
    if let Some(hexadecimal) = user.strip_prefix("0x") {
        return hexadecimal.bytes().all(|byte| byte == b'0').then_some(None);
    }
    if user.bytes().all(|byte| byte.is_ascii_digit()) {
        let digits = user.trim_start_matches('0');
        return Some((!digits.is_empty()).then(|| digits.to_owned()));
    }
    if !user.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return None;
    }
    if user.split('.').count() == 4 && user.bytes().all(|byte| b"0.".contains(&byte)) {
        // An address of nothing.
        return Some(None);
    }
    // Letters other than an exponent are those of an id, as in `12e4f`; so is an exponent that leaves the range of numbers.
    let number = user.parse::<f64>().ok().filter(|number| number.is_finite())?;
    // Larger whole numbers have more digits than a float keeps.
    match user.split_once('.') {
        _ if number <= 0.0 => Some(None),
        Some((integer, zeros)) if zeros.bytes().all(|byte| byte == b'0') => {
            let digits = integer.trim_start_matches(['+', '0']);
            Some(Some(digits.to_owned()))
        }
        _ if number < 1e15 => Some(Some(number.to_string())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_nobody_however_it_is_written() {
        for text in [
            "",
            " ",
            "-",
            "--",
            "0",
            "\\N",
            "NULL",
            " null ",
            "(not set)",
            "Anonymous",
            "anonymousUser",
            "GUEST",
            "Guest  User",
            "ｇｕｅｓｔ",
            "gu\u{200b}est",
            "\u{200b}",
            "00000000-0000-0000-0000-000000000000",
            "{00000000-0000-0000-0000-000000000000}",
            "00000000000000000000000000000000",
            "-1",
            "None",
            "0.0",
            "-1.0",
            "<NA>",
            "NaT",
            "[]",
            "[null]",
            "false",
            "''",
            "\"\"",
            "?",
            "_",
            "*",
            "-2",
            "-2.0",
            "'missing'",
            "\"No User\"",
            "unknown user",
            "deleted",
            "[redacted]",
            "default",
            "Logged Out",
            "[object Object]",
            "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
            "“NULL”",
            "logged_out",
            "not-logged-in",
            "(not provided)",
            "n.a.",
            "<none>",
            "#NV",
            "0e0",
            "+0",
            "0x0",
            "-1.5",
            "-inf",
            "0.0.0.0",
            "Unbekannt",
            "匿名",
        ] {
            assert_eq!(user(text), None, "{text:?}");
        }
        for text in ["1", "10", "u-0", "guest17", "nulla", "n", "f", "0x1", "10.0.0.1"] {
            assert_eq!(user(text).as_deref(), Some(text));
        }
        for (text, same) in [
            ("17.0", "17"),
            ("17.000", "17"),
            ("17.5", "17.5"),
            ("a.0", "a.0"),
            ("1e3", "1000"),
            ("+7", "7"),
            ("٧", "7"),
            ("1.50", "1.5"),
            ("<alice>", "alice"),
            ("12e4567", "12e4567"),
            ("{550E8400-E29B-41D4-A716-446655440000}", "550e8400e29b41d4a716446655440000"),
            ("550e8400-e29b-41d4-a716-446655440000", "550e8400e29b41d4a716446655440000"),
            ("12345678901234567890.0", "12345678901234567890"),
            ("007", "7"),
            ("07.0", "7"),
            ("\"7\"", "7"),
            ("00a", "00a"),
            ("17.", "17"),
        ] {
            assert_eq!(user(text).as_deref(), Some(same));
        }
    }

    #[test]
    fn one_person_is_one_user() {
        for text in
            ["José Pérez", "JOSE\u{301} PE\u{301}REZ", " josé\u{a0} pérez ", "jos\u{200b}é  pérez", "jos\u{1}é\tpérez"]
        {
            assert_eq!(user(text).as_deref(), Some("josé pérez"), "{text:?}");
        }
        for (text, same) in [("straße", "STRASSE"), ("istanbul", "İSTANBUL"), ("ışık", "IŞIK"), ("ΟΔΟΣ", "οδος")]
        {
            assert_eq!(user(text), user(same), "{text}");
        }
        for text in ["A1-B2", "a1-b2", "a1\u{2011}b2", "ａ1-b2"] {
            assert_eq!(user(text).as_deref(), Some("a1-b2"), "{text:?}");
        }
    }
}

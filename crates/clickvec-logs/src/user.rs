//! Users, as logs identify them.

use std::borrow::Cow;

use crate::text::{self, NULLS};

/// What logs write for an unknown user besides [`NULLS`]: the nulls of some databases, and the names that shops give to visitors
/// who are not logged in.
const UNKNOWN: [&str; 31] = [
    "nil",
    "na",
    "nat",
    "not set",
    "false",
    "unknown",
    "unknown user",
    "unknownuser",
    "no user",
    "nouser",
    "not logged in",
    "logged out",
    "loggedout",
    "anonymous",
    "anonymous user",
    "anonymoususer",
    "anon",
    "guest",
    "guest user",
    "guestuser",
    "nobody",
    "missing",
    "deleted",
    "deleted user",
    "removed",
    "redacted",
    "default",
    "default user",
    "empty",
    "user",
    "visitor",
];

/// Returns a user in normal form; `None` for an unknown user.
///
/// Two spellings are one person if they are equal after NFKC, without invisible characters, quotes around them and zeros in
/// front of a number, and in the same case by Unicode's full case folding. Where that is unsure, it counts fewer people, which
/// protects them.
pub(crate) fn user(text: &str) -> Option<Cow<'_, str>> {
    let text = text.trim();
    // Nearly all consist of lower-case letters, digits and hyphens.
    let is_plain =
        text.bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase() && !is_quote(byte.into()));
    let user = if is_plain { Cow::Borrowed(text) } else { Cow::Owned(folded(text)) };
    let user = match user {
        Cow::Borrowed(all) => Cow::Borrowed(number(all)),
        Cow::Owned(all) => Cow::Owned(number(&all).to_owned()),
    };
    let is_unknown = !user.chars().any(char::is_alphanumeric)
        || user.strip_prefix('-').is_some_and(|rest| number(rest).bytes().all(|byte| byte.is_ascii_digit()))
        || is_uuid_of(&user, b'0')
        || is_uuid_of(&user, b'f')
        || NULLS.contains(&&*user)
        || UNKNOWN.contains(&user.trim_matches(['(', ')', '[', ']', '<', '>', '{', '}']));
    (!is_unknown).then_some(user)
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '‘' | '’' | '“' | '”' | '„' | '«' | '»')
}

/// Returns a user without quotes and invisible characters, in one case.
fn folded(text: &str) -> String {
    let (mut plain, mut folded) = (String::new(), String::new());
    text::clean_query(text.trim_matches(|c: char| is_quote(c) || c.is_whitespace()), true, &mut plain);
    // Upper case makes two letters of `ß`, and one of `i` and `ı`.
    text::clean_query(&plain.to_uppercase(), true, &mut folded);
    folded
}

/// Returns a whole number without zeros in front and behind a point, and anything else as it is: where a column has missing users,
/// some programs write all as fractions.
fn number(user: &str) -> &str {
    let whole = match user.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => user,
    };
    let is_number = !whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit());
    match whole.trim_start_matches('0') {
        _ if !is_number => user,
        "" => "",
        rest => rest,
    }
}

/// Returns whether an id consists of this digit and of what stands between the digits of a UUID.
fn is_uuid_of(user: &str, digit: u8) -> bool {
    let digits = user.bytes().filter(|&byte| byte == digit).count();
    digits >= 8 && user.bytes().all(|byte| byte == digit || b"-{}".contains(&byte))
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
        ] {
            assert_eq!(user(text), None, "{text:?}");
        }
        for text in ["1", "10", "u-0", "guest17", "nulla", "n", "f", "00000000-0000-0000-0000-000000000001"] {
            assert_eq!(user(text).as_deref(), Some(text));
        }
        for (text, same) in [
            ("17.0", "17"),
            ("17.000", "17"),
            ("17.5", "17.5"),
            ("a.0", "a.0"),
            ("007", "7"),
            ("07.0", "7"),
            ("\"7\"", "7"),
            ("00a", "00a"),
            ("17.", "17."),
        ] {
            assert_eq!(user(text).as_deref(), Some(same));
        }
    }

    #[test]
    fn one_person_is_one_user() {
        for text in ["José Pérez", "JOSE\u{301} PE\u{301}REZ", " josé\u{a0} pérez ", "jos\u{200b}é  pérez"] {
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

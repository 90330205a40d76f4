//! Users, as logs identify them.

use std::borrow::Cow;

use crate::text;

/// What logs write for an unknown user: nothing, the null of a database or a programming language, and the names that
/// shops give to visitors who are not logged in.
const NOBODY: [&str; 31] = [
    "null",
    "<null>",
    "(null)",
    "\\n",
    "\\\\n",
    "nil",
    "none",
    "(none)",
    "nan",
    "na",
    "n/a",
    "#n/a",
    "undefined",
    "unknown",
    "not set",
    "(not set)",
    "not logged in",
    "anonymous",
    "anonymous user",
    "anonymoususer",
    "anon",
    "guest",
    "guest user",
    "guestuser",
    "nobody",
    "-1",
    "-1.0",
    "<na>",
    "nat",
    "[null]",
    "false",
];

/// A user in normal form, whatever the case, spaces and Unicode form in the log; `None` for an unknown user. Queries
/// are normalised in the same way.
pub(crate) fn user(text: &str) -> Option<Cow<'_, str>> {
    let text = text.trim();
    // Nearly all consist of lower-case letters, digits and hyphens.
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase());
    let user = if is_plain {
        Cow::Borrowed(text)
    } else {
        let mut folded = String::new();
        text::clean_query(text, true, &mut folded);
        Cow::Owned(folded)
    };
    // Only zeros and hyphens, as in a zero UUID, or nothing at all.
    let is_empty = user.bytes().all(|byte| b"0-.{}[]".contains(&byte));
    // Where a column has missing users, some programs write all as fractions.
    let whole = match user.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => whole.len(),
        _ => user.len(),
    };
    let user = match user {
        all if !all[..whole].bytes().all(|byte| byte.is_ascii_digit()) => all,
        Cow::Borrowed(all) => Cow::Borrowed(&all[..whole]),
        Cow::Owned(mut all) => {
            all.truncate(whole);
            Cow::Owned(all)
        }
    };
    (!is_empty && !NOBODY.contains(&&*user)).then_some(user)
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
        ] {
            assert_eq!(user(text), None, "{text:?}");
        }
        for text in ["1", "10", "u-0", "guest17", "nulla", "n", "00000000-0000-0000-0000-000000000001"] {
            assert_eq!(user(text).as_deref(), Some(text));
        }
        for (text, same) in [("17.0", "17"), ("17.000", "17"), ("17.5", "17.5"), ("a.0", "a.0"), ("17.", "17.")] {
            assert_eq!(user(text).as_deref(), Some(same));
        }
    }

    #[test]
    fn one_person_is_one_user() {
        for text in ["José Pérez", "JOSE\u{301} PE\u{301}REZ", " josé\u{a0} pérez ", "jos\u{200b}é  pérez"] {
            assert_eq!(user(text).as_deref(), Some("josé pérez"), "{text:?}");
        }
        for text in ["A1-B2", "a1-b2", "a1\u{2011}b2", "ａ1-b2"] {
            assert_eq!(user(text).as_deref(), Some("a1-b2"), "{text:?}");
        }
    }
}

//! What programs write in the place of texts and characters: `NULL`, `Men&#39;s`, `Black &amp; Decker`.

use std::borrow::Cow;

/// The longest entity that is looked at, with its semicolon; no name is longer.
const LONGEST: usize = 34;

/// Replaces each whole entity, with its semicolon, by its character. Any other `&` stays as it is.
pub fn decode_entities(text: &str) -> Cow<'_, str> {
    let mut decoded: Option<String> = None;
    // The end of what was copied.
    let (mut copied, mut from) = (0, 0);
    while let Some(start) = text[from..].find('&').map(|at| from + at) {
        from = start + 1;
        let bytes = text.as_bytes()[start..].iter().take(LONGEST);
        let Some(end) = bytes.into_iter().position(|&byte| byte == b';').map(|at| start + at + 1) else { continue };
        let character = match &text[start..end] {
            // HTML 5 and XML have it, HTML 4 has not.
            "&apos;" => "'".to_owned(),
            entity => match htmlescape::decode_html(entity) {
                Ok(character) if !character.contains(is_unprintable) => character,
                _ => continue,
            },
        };
        let decoded = decoded.get_or_insert_default();
        *decoded += &text[copied..start];
        *decoded += &character;
        (copied, from) = (end, end);
    }
    match decoded {
        None => Cow::Borrowed(text),
        Some(decoded) => Cow::Owned(decoded + &text[copied..]),
    }
}

/// Returns whether a character is a control character of ASCII that separates no words.
fn is_unprintable(character: char) -> bool {
    character.is_ascii_control() && !character.is_ascii_whitespace()
}

/// Decodes the HTML entities of a text, and counts the text if it has any.
pub fn decoded<'t>(text: &'t str, with_entities: &mut u64) -> Cow<'t, str> {
    let decoded = decode_entities(text);
    *with_entities += u64::from(matches!(decoded, Cow::Owned(_)));
    decoded
}

/// The forms that programs write for a missing text, in lower case.
pub const NULLS: [&str; 28] = [
    "null",
    "<null>",
    "(null)",
    "[null]",
    "\\n",
    "\\\\n",
    "nan",
    "<na>",
    "n/a",
    "#n/a",
    "none",
    "(none)",
    "undefined",
    "(not set)",
    "[object object]",
    "<none>",
    "[none]",
    "<not set>",
    "[not set]",
    "(not provided)",
    "(blank)",
    "-nan",
    "#nan",
    "#nv",
    "#ref!",
    "#name?",
    "#value!",
    "\"null\"",
];

/// Returns the form of a missing text that a whole query or title has, if any.
pub fn null_text(text: &str) -> Option<&'static str> {
    const LONGEST: usize = "[object object]".len();
    let text = text.trim();
    if text.len() > LONGEST {
        return None;
    }
    NULLS.into_iter().find(|null| null.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_entities_become_characters() {
        for (text, expected) in [
            ("Men&#39;s &amp; Women&apos;s", "Men's & Women's"),
            ("Caf&eacute; &#x2014; 12&quot;", "Café — 12\""),
            ("&lt;b&gt;", "<b>"),
            ("&amp;#39;", "&#39;"),
            ("&&amp;&", "&&&"),
        ] {
            assert_eq!(decode_entities(text), expected);
        }
    }

    #[test]
    fn anything_else_stays() {
        for text in [
            "AT&T; x",
            "a & b; c",
            "&",
            "&;",
            "&amp",
            "&nosuch;",
            "&#0;",
            "&#xD800;",
            "&#99999999999;",
            "R&D é;",
            "",
            "&é;",
        ] {
            assert!(matches!(decode_entities(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}

//! Tags and entities, as far as topics use them.

use clickvec_tables::decode_entities;

/// `<name attributes>` or `</name>`.
pub(super) struct Tag<'t> {
    pub(super) name: &'t str,
    attributes: &'t str,
    pub(super) closes: bool,
    /// The positions of `<` and after `>`.
    pub(super) start: usize,
    pub(super) end: usize,
}

impl<'t> Tag<'t> {
    /// Returns the next tag at or after `from`. Comments, `<?…>` and a `<` that begins no tag are skipped.
    pub(super) fn next(text: &'t str, mut from: usize) -> Option<Tag<'t>> {
        loop {
            let start = from + text[from..].find('<')?;
            let rest = &text[start + 1..];
            if let Some(comment) = rest.strip_prefix("!--") {
                from = comment.find("-->").map(|end| start + 4 + end + 3)?;
                continue;
            }
            let closes = rest.starts_with('/');
            let inner = rest.strip_prefix('/').unwrap_or(rest);
            match inner.find(['<', '>']) {
                Some(end) if inner[end..].starts_with('>') && inner.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                    let (name, attributes) =
                        inner[..end].split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((&inner[..end], ""));
                    let name = name.trim_end_matches('/');
                    let end = start + 1 + usize::from(closes) + end + 1;
                    return Some(Tag { name, attributes, closes, start, end });
                }
                _ => from = start + 1,
            }
        }
    }

    /// Returns the value of `name="value"`, if it is not empty.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes;
        while let Some((before, after)) = rest.split_once('=') {
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| ['"', '\''].contains(c))?;
            let (value, behind) = after[1..].split_once(quote)?;
            if before.trim().eq_ignore_ascii_case(name) && !value.trim().is_empty() {
                return Some(plain(value));
            }
            rest = behind;
        }
        None
    }
}

/// Returns the text without tags, with entities resolved and single spaces for white space.
pub(super) fn plain(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(tag) = Tag::next(text, from) {
        bare.push_str(&text[from..tag.start]);
        bare.push(' ');
        from = tag.end;
    }
    bare.push_str(&text[from..]);
    decode_entities(&bare).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_the_characters_they_stand_for() {
        assert_eq!(plain("caf&eacute; &#233;&#xE9; &#x1F600; &amp; &lt;b&gt; &quot;x&quot; it&apos;s it&#39;s"), {
            "caf\u{e9} \u{e9}\u{e9} \u{1f600} & <b> \"x\" it's it's"
        });
        // The result is not resolved again.
        assert_eq!(plain("&amp;lt; &amp;#233; &#38;amp;"), "&lt; &#233; &amp;");
        // A numeric space counts as a space, and several spaces become one.
        assert_eq!(plain("a&#160; &#10;b"), "a b");
    }

    #[test]
    fn what_is_no_entity_stays() {
        let all =
            ["AT&T", "&", "&;", "&#;", "&#x;", "a &b; c", "&#+5;", "&#x-1;", "&#12a;", "&nosuch;", "&amp", "&#233"];
        let no_characters = ["&#0;", "&#7;", "&#xD800;", "&#x110000;", "&#99999999999999999999;"];
        for text in all.into_iter().chain(no_characters) {
            assert_eq!(plain(text), text);
        }
        assert_eq!(plain("R&D &amp; AT&T; &&lt;"), "R&D & AT&T; &<");
    }
}

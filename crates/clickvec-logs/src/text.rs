//! Queries and titles as one line of a table can hold them.

/// Writes `text` into `out` with each run of white space and control characters as one space, none at the ends;
/// lower-cased if `lower`.
///
/// A table's field can contain neither tab nor line end; and a query with two spaces is the query with one.
pub fn clean(text: &str, lower: bool, out: &mut String) {
    out.clear();
    // Nearly all queries need nothing but a copy.
    let mut last = b' ';
    let plain = text.bytes().all(|byte| {
        let fine = byte.is_ascii() && byte >= b' ' && byte != 0x7f && !(byte == b' ' && last == b' ');
        last = byte;
        fine
    });
    if plain && last != b' ' {
        out.push_str(text);
        if lower {
            out.make_ascii_lowercase();
        }
        return;
    }
    for word in
        text.split(|c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}').filter(|word| !word.is_empty())
    {
        if !out.is_empty() {
            out.push(' ');
        }
        match lower {
            true => out.extend(word.chars().flat_map(char::to_lowercase)),
            false => out.push_str(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str, lower: bool) -> String {
        let mut out = "old".to_owned();
        clean(text, lower, &mut out);
        out
    }

    #[test]
    fn white_space_and_control_characters_become_one_space() {
        for (text, expected) in [
            ("red shoes", "red shoes"),
            (" red  shoes ", "red shoes"),
            ("red\tshoes\r\n", "red shoes"),
            ("red\u{0}\u{1b}[2Jshoes", "red [2Jshoes"),
            ("red\u{a0}shoes\u{2028}", "red shoes"),
            ("\u{feff}", ""),
            ("", ""),
            ("   ", ""),
        ] {
            assert_eq!(cleaned(text, false), expected, "{text:?}");
        }
    }

    #[test]
    fn case_is_folded_when_asked_for() {
        assert_eq!(cleaned("Red SHOES", true), "red shoes");
        assert_eq!(cleaned("Rote  SCHUHE GRÜN", true), "rote schuhe grün");
        assert_eq!(cleaned("Red", false), "Red");
    }
}

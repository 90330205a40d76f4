//! How messages show text from outside: short, and without characters that control a terminal.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many characters of a field a message shows.
const FIELD_CHARACTERS: usize = 60;
/// How many characters of a fault a message shows. Only faults with hostile names in them are longer.
const FAULT_CHARACTERS: usize = 2000;

/// The message for a file in UTF-16, and what to do.
pub const UTF_16: &str = "expected UTF-8, found UTF-16; save it as UTF-8 text (iconv -f UTF-16 -t UTF-8)";

/// The advice for bytes that are not UTF-8. Most often they are Latin-1.
pub const NOT_UTF_8: &str = "save it as UTF-8 text (iconv -f ENCODING -t UTF-8)";
/// What to do with text that is most likely in the encoding of Western Windows, of which Latin-1 is a part. The bytes of Central
/// European text are alike.
const CP1252: &str =
    "save it as UTF-8 text (it looks like Windows-1252: iconv -f CP1252 -t UTF-8; of Central Europe, -f CP1250)";
/// What to do with text in an encoding of several bytes a letter, or of another alphabet.
const OTHER_ENCODING: &str = "save it as UTF-8 text (it looks like GBK, Shift_JIS, Windows-1251 or the like, which `file -i` or `uchardet` guesses: iconv -f \
     ENCODING -t UTF-8)";

/// Returns what to do with text that is not UTF-8, by what its bytes are like.
pub fn encoding_advice(text: &[u8]) -> &'static str {
    let runs = text.split(u8::is_ascii).map(<[u8]>::len).filter(|&length| length > 0);
    let (count, longest) = runs.fold((0, 0), |(count, longest), length| (count + 1, length.max(longest)));
    // In Western languages, other letters than those of ASCII are few, and stand alone or in pairs.
    if longest <= 2 && 3 * count <= text.len() { CP1252 } else { OTHER_ENCODING }
}

/// The advice for a file whose lines end with CR alone, as those of old Macintoshes.
pub const CR_ALONE: &str = "lines must end with LF or CR LF, not with CR alone (tr '\\r' '\\n')";

/// The text with U+FFFD in place of each character that a terminal obeys: control characters, and those that change
/// the direction of writing.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_obeyed) { Cow::Owned(text.replace(is_obeyed, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// The beginning of a field, made [`printable`]. A message repeats what was found, which may be hostile and megabytes
/// long.
pub fn shortened(text: &str) -> String {
    cut(text, FIELD_CHARACTERS)
}

/// Returns names with their numbers: `` `nan` 1, `null` 2 ``.
pub fn named_counts(names: &BTreeMap<&str, u64>) -> String {
    names.iter().map(|(name, number)| format!("`{name}` {}", count(*number))).collect::<Vec<_>>().join(", ")
}

/// A fault as text, made [`printable`].
pub fn told(fault: &impl std::fmt::Display) -> String {
    cut(&fault.to_string(), FAULT_CHARACTERS)
}

/// A path in full, made [`printable`]. A shortened path might not tell two files apart. Of a table in memory, its name.
pub fn shown(path: &Path) -> String {
    let path = path.to_string_lossy();
    printable(name_in_memory(&path).unwrap_or(&path)).into_owned()
}

/// Returns the path of a table in memory, which no file can have: with the number it is unique.
pub(crate) fn path_in_memory(number: u64, name: &str) -> PathBuf {
    PathBuf::from(format!("\0{number}\0{name}"))
}

fn name_in_memory(path: &str) -> Option<&str> {
    Some(path.strip_prefix('\0')?.split_once('\0')?.1)
}

/// Returns whether a path is that of a table in memory.
pub fn is_in_memory(path: &Path) -> bool {
    name_in_memory(&path.to_string_lossy()).is_some()
}

/// Returns the place of a row: its line in a file, or its number in a table in memory.
pub fn line_or_row(path: &Path, number: u64) -> String {
    format!("{} {number}", if is_in_memory(path) { "row" } else { "line" })
}

/// Returns a path and the place in it: `clicks.tsv:7`, or `clicks, row 7` in memory.
pub fn shown_at(path: &Path, number: u64) -> String {
    if is_in_memory(path) {
        format!("{}, row {number}", shown(path))
    } else {
        format!("{}:{number}", shown_input(path))
    }
}

/// The name of what is read at a path: `standard input` for `-`, or else the path as [`shown`] writes it.
pub fn shown_input(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { shown(path) }
}

/// The first `most` names of a list, each shortened. A hostile header may have a million of them.
pub fn listed<S: AsRef<str>>(names: &[S], most: usize) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = names.iter().take(most).map(|name| format!("`{}`", shortened(name.as_ref()))).collect();
    match names.len().saturating_sub(most) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The first `most` characters of a text, made [`printable`].
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", printable(&text[..end])),
        None => printable(text).into_owned(),
    }
}

/// As much of a text as fits into `width` characters, made [`printable`].
pub fn fitted(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some(_) => cut(text, width.saturating_sub(1)),
        None => printable(text).into_owned(),
    }
}

fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a text looks like the name of a column rather than something that was typed.
pub fn looks_like_name(name: &str) -> bool {
    let name = name.trim();
    (1..=40).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-$:".contains(&byte))
        && !name.bytes().all(|byte| !byte.is_ascii_alphabetic())
}

/// Returns a count with separated thousands: `12,345`.
pub fn count(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a count and its noun: `1 pair`, `12,345 pairs`, `2 queries`, `3 days`.
pub fn counted(number: u64, noun: &str) -> String {
    let stem = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match stem {
        _ if number == 1 => format!("1 {noun}"),
        Some(stem) => format!("{} {stem}ies", count(number)),
        None => format!("{} {noun}s", count(number)),
    }
}

/// Lists the first of `count` things, with `…` after them if there are more: `a, b, …`.
pub fn first_of(first: impl Iterator<Item = String>, count: u64) -> String {
    let mut shown: Vec<String> = first.collect();
    if count > shown.len() as u64 {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

/// Returns `one` after a single thing, `many` after none or several, as in "1 query is" and "2 queries are".
pub fn agreeing<'a>(number: u64, one: &'a str, many: &'a str) -> &'a str {
    if number == 1 { one } else { many }
}

/// Returns a time as text: `4.2 s`, `3 min 20 s`, `2 h 5 min`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Returns a rate with its significant digits.
pub fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate.is_finite() && rate >= 100.0 => count(rate.round() as u64),
        rate => format!("{rate:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_shown() {
        assert_eq!(printable("grün, 日本語 👍🏽"), "grün, 日本語 👍🏽");
        assert_eq!(printable("a\u{1b}[2Jb\r\n\u{9b}\u{202e}c"), "a\u{fffd}[2Jb\u{fffd}\u{fffd}\u{fffd}\u{fffd}c");
        assert_eq!(shown(Path::new("/tmp/\u{1b}]0;x\u{7}")), "/tmp/\u{fffd}]0;x\u{fffd}");
        assert_eq!(shortened(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
        assert_eq!(shortened(&"é".repeat(60)), "é".repeat(60));
        assert_eq!((fitted("éàü", 3), fitted("éàüö", 3)), ("éàü".to_owned(), "éà…".to_owned()));
        assert_eq!((fitted("a\u{1b}b", 3), fitted("a\u{1b}bc", 3)), ("a\u{fffd}b".to_owned(), "a\u{fffd}…".to_owned()));
        assert_eq!(listed(&["a\u{1b}", "b", "c"], 2), "`a\u{fffd}`, `b` and 1 more");
        assert_eq!(listed::<&str>(&[], 2), "none");
    }

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [(0u64, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
        assert_eq!(counted(1, "query"), "1 query");
        let several = [counted(0, "pair"), counted(2_000, "query"), counted(3, "day")];
        assert_eq!(several, ["0 pairs", "2,000 queries", "3 days"]);
        assert_eq!([0, 1, 2].map(|number| agreeing(number, "is", "are")), ["are", "is", "are"]);
    }

    #[test]
    fn times_have_two_units() {
        let times = [4_230, 200_000, 7_500_000].map(|milliseconds| duration(Duration::from_millis(milliseconds)));
        assert_eq!(times, ["4.2 s", "3 min 20 s", "2 h 5 min"]);
    }
}

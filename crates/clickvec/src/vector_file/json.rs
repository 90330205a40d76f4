//! Vectors as JSON lines: `{"text": …, "vector": […]}`.

use std::io::BufRead;

use serde::Deserialize;
use serde_json::Value;

use super::fault::{self, MEND, VectorPlace, malformed};
use super::{Entries, MAX_DIMENSION, MAX_NUMBER, MAX_TEXT, Stop, at_line};
use clickvec_tables::json::{json_found, json_kind, json_object};
use clickvec_tables::{FoundLine, Lines};

#[derive(Deserialize)]
struct Line {
    text: String,
    vector: Vec<f32>,
}

/// Hands over each line; the first tells the dimension.
pub(super) fn read(source: impl BufRead, entries: &mut impl Entries) -> Result<(), Stop> {
    const LIMIT: usize = MAX_TEXT + MAX_NUMBER * MAX_DIMENSION;
    let mut lines = Lines::new(source, LIMIT);
    let (mut bytes, mut dimension) = (Vec::new(), None);
    for line in 1.. {
        match lines.next(&mut bytes)? {
            FoundLine::End => break,
            FoundLine::TooLong => return at_line(line, fault::line_too_long(LIMIT)),
            FoundLine::Whole if bytes.trim_ascii().is_empty() => continue,
            FoundLine::Whole => {}
        }
        let Line { text, vector } = serde_json::from_slice(&bytes).or_else(|error| {
            let expected = "JSON with `text` and `vector`, a list of numbers";
            at_line(line, malformed(expected, found(&bytes, error), MEND))
        })?;
        let found = vector.len();
        match dimension {
            None if (1..=MAX_DIMENSION).contains(&found) => entries.begin(*dimension.insert(found)),
            None => return at_line(line, fault::dimension(found as u64)),
            Some(expected) if found != expected => {
                return at_line(line, fault::numbers(expected, found));
            }
            Some(_) => {}
        }
        entries.add(text.trim(), &vector, VectorPlace::Line(line), true)?;
    }
    Ok(())
}

/// What a line has that is not a [`Line`], because of `error`.
fn found(line: &[u8], error: serde_json::Error) -> String {
    let object = match json_object(line) {
        Ok(object) => object,
        Err(found) => return found,
    };
    let kind = |member, value| format!("{} as `{member}`", json_kind(value));
    match (object.get("text"), object.get("vector")) {
        (None, _) => "no `text`".to_owned(),
        (_, None) => "no `vector`".to_owned(),
        (Some(Value::String(_)), Some(Value::Array(items))) => {
            let item = (1..).zip(items).find_map(|(position, value)| match value.as_f64() {
                None => Some(format!("{} as item {position} of `vector`", json_kind(value))),
                Some(number) if (number as f32).is_infinite() => {
                    Some(format!("item {position} of `vector` too large for a 32-bit float"))
                }
                Some(_) => None,
            });
            item.unwrap_or_else(|| json_found(&error))
        }
        (Some(Value::String(_)), Some(other)) => kind("vector", other),
        (Some(other), _) => kind("text", other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_lacks_is_told() {
        let cases = [
            ("{\"text\":\"a\",\"vector\":[1e40]}", "item 1 of `vector` too large for a 32-bit float"),
            ("{\"text\":\"a\",\"vector\":[1,null]}", "null as item 2 of `vector`"),
            ("{\"text\":\"a\",\"vector\":\"1\"}", "a text as `vector`"),
            ("{\"text\":1,\"vector\":[1]}", "a number as `text`"),
            ("{\"text\":\"a\"}", "no `vector`"),
            ("{\"vector\":[1]}", "no `text`"),
            ("{\"text\":\"a\",\"text\":\"b\",\"vector\":[1]}", "the key `text` a second time in column 18"),
            ("{\"text\":\"a\",\"vector\":[1", "the end of the line in column 23"),
            ("7", "a number"),
        ];
        for (line, expected) in cases {
            let error = serde_json::from_str::<Line>(line).err().expect(line);
            assert_eq!(found(line.as_bytes(), error), expected, "{line}");
        }
    }
}

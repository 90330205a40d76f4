//! JSON from outside without duplicate keys: of two values of a key, it is not clear which one is meant.

use std::cell::RefCell;
use std::fmt;
use std::io::Read as _;
use std::path::Path;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::files::open_plain;
use crate::shown::{looks_like_name, shortened};

/// The most arrays and objects inside each other that are read; the parser's limit.
const MOST_DEPTH: usize = 127;

/// A bound on the file of JSON that identifies a folder.
const MAX_MARK_BYTES: u64 = 1 << 20;

/// Reads the file of JSON that identifies a folder; `None` if it is missing or has other contents.
pub fn read_mark<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let mut bytes = Vec::new();
    open_plain(path).ok()?.take(MAX_MARK_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_MARK_BYTES).then(|| serde_json::from_slice(&bytes).ok())?
}

/// Parses the JSON object in a line.
///
/// # Errors
///
/// What the line has instead, for a message.
pub fn json_object(line: &[u8]) -> Result<Map<String, Value>, String> {
    match json_value(line)? {
        Value::Object(object) => Ok(object),
        other => Err(json_kind(&other).to_owned()),
    }
}

fn json_value(line: &[u8]) -> Result<Value, String> {
    let twice = RefCell::new(None);
    let mut parser = serde_json::Deserializer::from_slice(line);
    let parsed = Keyed(&twice).deserialize(&mut parser).and_then(|value| parser.end().map(|()| value));
    parsed.map_err(|error| match twice.take() {
        Some(key) if looks_like_name(&key) => {
            format!("the key `{}` a second time in column {}", shortened(&key), error.column())
        }
        // What is no name may be something that a user typed.
        Some(key) => {
            let (characters, column) = (key.chars().count(), error.column());
            format!("a key a second time in column {column}; its {characters} characters are not shown")
        }
        None => format!("{} column {}", problem(&error, "line"), error.column()),
    })
}

/// Returns what a JSON file has instead of what was expected, and where: `invalid JSON at line 1, column 4`.
pub fn json_found(error: &serde_json::Error) -> String {
    format!("{} line {}, column {}", problem(error, "file"), error.line(), error.column())
}

/// Returns what is wrong with a `text`, a line or a file; the position follows.
fn problem(error: &serde_json::Error, text: &str) -> String {
    use serde_json::error::Category;
    match error.classify() {
        Category::Eof => format!("the end of the {text} in"),
        // Only their texts tell these two from other faults.
        Category::Syntax if error.to_string().starts_with("recursion limit exceeded") => {
            format!("more than {MOST_DEPTH} arrays and objects inside each other at")
        }
        Category::Syntax if error.to_string().starts_with("number out of range") => {
            "a number beyond ±1.8e308 at".to_owned()
        }
        Category::Io | Category::Syntax => "invalid JSON at".to_owned(),
        Category::Data => "other fields or values in".to_owned(),
    }
}

/// Returns what kind of value this is, with its article.
pub fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Reads a value, as [`Value`] itself does, and puts the first duplicate key into the cell.
#[derive(Clone, Copy)]
struct Keyed<'a>(&'a RefCell<Option<String>>);

impl<'de> DeserializeSeed<'de> for Keyed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Value, D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keyed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if all.contains_key(&key) {
                self.0.replace(Some(key));
                return Err(A::Error::custom("a key twice"));
            }
            all.insert(key, members.next_value_seed(self)?);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_it_is_elsewhere() {
        for text in [
            r#"{"a":[1,-2,3.5,1e300,18446744073709551615,true,null,"x\n\u00e9"],"b":{"a":{},"c":[]}}"#,
            " 7 ",
            r#""text""#,
            "[]",
        ] {
            assert_eq!(json_value(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        }
        for text in ["", "{", r#"{"a":1} x"#, r#"{"a":1,}"#, "nul", "1e400", &"[".repeat(1000), "\"\u{1}\""] {
            let expected = serde_json::from_str::<Value>(text).unwrap_err();
            let expected = format!("{} column {}", problem(&expected, "line"), expected.column());
            assert_eq!(json_value(text.as_bytes()).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_an_object_is_told() {
        let found = |line: &str| json_object(line.as_bytes());
        assert!(found("{\"a\":1} ").is_ok_and(|object| object.len() == 1));
        assert_eq!(found("{\"a\":").unwrap_err(), "the end of the line in column 5");
        assert_eq!(found("{\"a\" 1}").unwrap_err(), "invalid JSON at column 6");
        let kinds = ["[1]", "7", "\"a\"", "true", "null"].map(|line| found(line).unwrap_err());
        assert_eq!(kinds, ["an array", "a number", "a text", "true or false", "null"]);
    }

    #[test]
    fn a_duplicate_key_is_named() {
        for (text, expected) in [
            (r#"{"a":1,"a":1}"#, "the key `a` a second time in column 10"),
            (r#"{"a":{"b":1,"\u0062":2}}"#, "the key `b` a second time in column 20"),
            (r#"{"c":[{"x y":1,"x":2,"x y":3}]}"#, "a key a second time in column 26; its 3 characters are not shown"),
        ] {
            assert_eq!(json_object(text.as_bytes()).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn the_line_and_the_problem_are_told() {
        let found = |text: &str| json_found(&serde_json::from_str::<Vec<u8>>(text).unwrap_err());
        assert_eq!(found("[1,\n 2"), "the end of the file in line 2, column 2");
        assert_eq!(found("[1,,2]"), "invalid JSON at line 1, column 4");
        assert_eq!(found("[1, true]"), "other fields or values in line 1, column 8");
    }

    #[test]
    fn what_is_json_and_cannot_be_read_is_told() {
        let read = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| json_found(&error));
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(MOST_DEPTH)).is_ok());
        let too_deep = read(&nested(MOST_DEPTH + 1)).unwrap_err();
        assert_eq!(too_deep, "more than 127 arrays and objects inside each other at line 1, column 128");
        assert!(read("[1e308, -1e308, 1e-999, 99999999999999999999]").is_ok());
        for text in ["[1e999]", "[-1e999]"] {
            let too_large = read(text).unwrap_err();
            assert!(too_large.starts_with("a number beyond ±1.8e308 at line 1"), "{too_large}");
        }
    }
}

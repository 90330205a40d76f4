//! JSON from outside without duplicate keys: of two values of a key, nobody can say which one is meant.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::json_fault::{JsonFault, JsonKind, NotAnObject};

/// The JSON object in a line.
///
/// # Errors
///
/// What the line has in its place.
pub fn json_object(line: &[u8]) -> Result<Map<String, Value>, NotAnObject> {
    match json_value(line)? {
        Value::Object(object) => Ok(object),
        other => Err(NotAnObject::Other(JsonKind::of(&other))),
    }
}

fn json_value(line: &[u8]) -> Result<Value, NotAnObject> {
    let twice = RefCell::new(None);
    let mut parser = serde_json::Deserializer::from_slice(line);
    let parsed = Keyed(&twice).deserialize(&mut parser).and_then(|value| parser.end().map(|()| value));
    parsed.map_err(|error| match twice.take() {
        Some(key) => NotAnObject::KeyTwice { key, column: error.column() },
        None => JsonFault::from(error).into(),
    })
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
            let expected = JsonFault::from(serde_json::from_str::<Value>(text).unwrap_err());
            assert_eq!(json_value(text.as_bytes()).unwrap_err(), expected.into(), "{text}");
        }
    }

    #[test]
    fn what_is_not_an_object_is_told() {
        let found = |line: &str| json_object(line.as_bytes()).map_err(|found| found.to_string());
        assert!(found("{\"a\":1} ").is_ok_and(|object| object.len() == 1));
        assert_eq!(found("{\"a\":").unwrap_err(), "the end of the line in column 5");
        assert_eq!(found("{\"a\" 1}").unwrap_err(), "invalid JSON at column 6");
        let kinds = ["[1]", "7", "\"a\"", "true", "null"].map(|line| found(line).unwrap_err());
        assert_eq!(kinds, ["an array", "a number", "a text", "true or false", "null"]);
    }

    #[test]
    fn a_duplicate_key_is_named() {
        for (text, key, column) in [
            (r#"{"a":1,"a":1}"#, "a", 10),
            (r#"{"a":{"b":1,"\u0062":2}}"#, "b", 20),
            (r#"{"c":[{"":1,"x":2,"":3}]}"#, "", 20),
        ] {
            let expected = NotAnObject::KeyTwice { key: key.to_owned(), column };
            assert_eq!(json_object(text.as_bytes()).unwrap_err(), expected, "{text}");
        }
    }
}

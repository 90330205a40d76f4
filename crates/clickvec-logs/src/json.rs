//! JSON values as fields of a row.

use serde_json::Value;

/// The value at a key, or at a path of keys and indices separated by dots.
pub(crate) fn lookup<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if let Some(found) = value.get(path) {
        return Some(found);
    }
    path.split('.').try_fold(value, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    })
}

/// A value as a field; `None` for null.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        // A query as a list of words.
        Value::Array(items) => Some(items.iter().filter_map(scalar).collect::<Vec<_>>().join(" ")),
        other => Some(other.to_string()),
    }
}

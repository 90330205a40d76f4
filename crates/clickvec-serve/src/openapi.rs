//! The description of all routes. It is one file, written by hand; the tests hold every answer against it, and every route.

use serde_json::{Value, json};

use crate::limits::Limits;

const TEXT: &str = include_str!("../openapi.json");

/// Returns the description, with the limits of this service in the place of the usual ones.
pub(crate) fn described(limits: &Limits) -> Vec<u8> {
    let mut description: Value = serde_json::from_str(TEXT).expect("the description is JSON");
    description["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    set_limits(&mut description, limits);
    let mut text = serde_json::to_vec_pretty(&description).expect("JSON stays JSON");
    text.push(b'\n');
    text
}

/// Sets the limits of all schemas; a schema names the limit it has in `x-limit`.
fn set_limits(value: &mut Value, limits: &Limits) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(name)) = fields.get("x-limit") {
                let (key, limit) = match name.as_str() {
                    "text" => ("maxLength", limits.text),
                    "batch" => ("maxItems", limits.batch),
                    "results" => ("maximum", limits.results),
                    "depth" => ("maximum", limits.depth.saturating_sub(1)),
                    other => unreachable!("a limit named {other}"),
                };
                fields.insert(key.to_owned(), json!(limit));
                if fields.get("default").and_then(Value::as_u64).is_some_and(|usual| usual > limit as u64) {
                    fields.insert("default".to_owned(), json!(limit));
                }
            }
            if let Some(most) = fields.get_mut("x-batch-results") {
                *most = json!(limits.batch_results);
            }
            fields.values_mut().for_each(|value| set_limits(value, limits));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| set_limits(value, limits)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_limits_of_the_service() {
        let text =
            String::from_utf8(described(&Limits { text: 77, results: 55, batch_results: 99, ..Limits::default() }))
                .unwrap();
        assert!(text.contains("\"maxLength\": 77") && text.contains("\"maximum\": 55"));
        assert!(text.contains("\"x-batch-results\": 99"));
    }

    #[test]
    fn the_file_says_the_usual_limits() {
        let mut written: Value = serde_json::from_str(TEXT).unwrap();
        let before = written.clone();
        set_limits(&mut written, &Limits { workers: 1, ..Limits::default() });
        assert_eq!(written, before);
        assert_eq!(written["info"]["version"], env!("CARGO_PKG_VERSION"));
    }
}

//! Whether an answer is as the description says: the part of JSON Schema that the description uses. Anything else in the
//! description is an error here, so nothing is passed over.

use serde_json::Value;

use crate::harness::Reply;

/// Words of a schema that say nothing about what is valid here; schemathesis reads patterns.
const NOTES: [&str; 7] = ["description", "default", "example", "format", "pattern", "x-limit", "x-batch-results"];

/// Checks an answer.
#[track_caller]
pub(crate) fn check(description: &Value, method: &str, path: &str, reply: &Reply) {
    let path = path.split('?').next().unwrap();
    // An address with a name in its place.
    let described = path.rsplit_once('/').map(|(above, _)| format!("{above}/{{id}}"));
    let described = described.filter(|described| description["paths"].get(described).is_some());
    let address = if description["paths"].get(path).is_some() { path } else { described.as_deref().unwrap_or(path) };
    let operation = &description["paths"][address][method.to_lowercase()];
    let of_any = [404, 405].contains(&reply.status) && operation.is_null();
    let media = reply.header("content-type").unwrap_or_default().split(';').next().unwrap();
    if method == "HEAD" || method == "OPTIONS" {
        return;
    }
    let schema = if of_any {
        &description["components"]["schemas"]["Error"]
    } else {
        let told = &operation["responses"][reply.status.to_string()];
        assert!(!told.is_null(), "{method} {path}: {} is not described: {}", reply.status, reply.text());
        let content = &told["content"][media]["schema"];
        assert!(!content.is_null(), "{method} {path}: {media} is not described");
        content
    };
    let value = if media == "application/json" { reply.json() } else { Value::String(reply.text()) };
    if let Err(fault) = valid(description, schema, &value, "") {
        panic!("{method} {path}: {fault}\n{}", reply.text());
    }
    assert!(reply.status < 500 || reply.status == 503 || reply.status == 504, "{}", reply.text());
    assert_eq!(reply.status == 429 || code(&value) == "overloaded", reply.header("retry-after").is_some(), "{reply:?}");
    assert_eq!(reply.status == 405, reply.header("allow").is_some());
    assert!(reply.header("x-request-id").is_some());
}

fn code(value: &Value) -> &str {
    value["error"]["code"].as_str().unwrap_or_default()
}

/// Whether a request is one that the description allows.
pub(crate) fn allows(description: &Value, schema: &str, value: &Value) -> bool {
    valid(description, &description["components"]["schemas"][schema], value, "").is_ok()
}

fn valid(description: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let fields = schema.as_object().unwrap_or_else(|| panic!("{at}: a schema is an object, found {schema}"));
    let fault = |expected: String| Err(format!("{at}: expected {expected}, found {value}"));
    for (word, said) in fields {
        let length = || value.as_str().map(|text| text.chars().count() as u64);
        let is_met = match word.as_str() {
            "$ref" => {
                let path = said.as_str().unwrap().strip_prefix('#').unwrap();
                let referred = description.pointer(path).unwrap_or_else(|| panic!("no {path}"));
                valid(description, referred, value, at)?;
                true
            }
            "type" => match said {
                Value::Array(types) => types.iter().any(|of| is_of(of, value)),
                one => is_of(one, value),
            },
            "enum" => said.as_array().unwrap().contains(value),
            "oneOf" | "anyOf" => {
                let all = said.as_array().unwrap().iter();
                let met = all.filter(|schema| valid(description, schema, value, at).is_ok()).count();
                met == 1 || (met > 1 && word == "anyOf")
            }
            "minimum" => value.as_f64().is_none_or(|number| number >= said.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= said.as_f64().unwrap()),
            "maxLength" => length().is_none_or(|length| length <= said.as_u64().unwrap()),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= said.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= said.as_u64().unwrap()),
            "uniqueItems" => {
                let items = value.as_array().map_or(&[][..], |items| &items[..]);
                (1..items.len()).all(|at| !items[..at].contains(&items[at]))
            }
            "required" => {
                let has = |name: &Value| value.get(name.as_str().unwrap()).is_some();
                !value.is_object() || said.as_array().unwrap().iter().all(has)
            }
            "items" => {
                for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                    valid(description, said, item, &format!("{at}/{place}"))?;
                }
                true
            }
            "properties" => {
                for (name, schema) in said.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        valid(description, schema, value, &format!("{at}/{name}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = fields.get("properties").and_then(Value::as_object);
                for (name, value) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|known| known.contains_key(name)) {
                        continue;
                    }
                    if *said == Value::Bool(false) {
                        return Err(format!("{at}: `{name}` is not described"));
                    }
                    valid(description, said, value, &format!("{at}/{name}"))?;
                }
                true
            }
            note if NOTES.contains(&note) => true,
            other => panic!("{at}: this test does not know `{other}` of JSON Schema"),
        };
        if !is_met {
            return fault(format!("{word} {said}"));
        }
    }
    Ok(())
}

fn is_of(named: &Value, value: &Value) -> bool {
    match named.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("a type named {other}"),
    }
}

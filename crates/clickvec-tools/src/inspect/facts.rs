//! What is in a file that is no table: one list of facts, which both the text and the JSON show.

use std::fmt::Write as _;

use clickvec_report::report::{Column, Table};
use clickvec_tables::shown::{count, printable};
use serde::Serialize;
use serde::ser::Serializer;
use serde_json::Value;

/// Names with their values, in the order in which they are shown.
#[derive(Default)]
pub(super) struct Facts {
    facts: Vec<(&'static str, Value)>,
    /// The number of files that are damaged.
    pub(super) faults: u64,
}

impl Facts {
    /// Adds a fact.
    pub(super) fn add(&mut self, name: &'static str, value: impl Serialize) {
        // Through text, so that a number keeps its shortest form: 0.1 and not 0.10000000149.
        let value = serde_json::to_string(&value).and_then(|text| serde_json::from_str(&text));
        self.facts.push((name, value.unwrap_or_default()));
    }

    /// Returns a line for each fact, and a table for each list of objects.
    pub(super) fn text(&self) -> String {
        let (mut lines, mut tables) = (Vec::new(), String::new());
        for (name, value) in &self.facts {
            match value {
                Value::Array(rows) if rows.iter().any(Value::is_object) => {
                    let _ = writeln!(tables, "\n{}:\n{}", words(name), table(rows));
                }
                value => flatten(&words(name), value, &mut lines),
            }
        }
        let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for (name, value) in lines {
            let _ = writeln!(text, "{name:<width$}  {value}");
        }
        text + &tables
    }
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.facts.iter().map(|(name, value)| (name, value)))
    }
}

fn words(name: &str) -> String {
    printable(&name.replace('_', " ")).into_owned()
}

/// Shows a nested value as `name.name value` lines.
fn flatten(name: &str, value: &Value, lines: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                flatten(&format!("{name}.{}", printable(member)), value, lines);
            }
        }
        value => lines.push((name.to_owned(), shown(value))),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::String(text) => printable(text).into_owned(),
        Value::Number(number) => number.as_u64().map_or_else(|| number.to_string(), count),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(" "),
        Value::Object(_) => printable(&value.to_string()).into_owned(),
    }
}

/// Shows objects with the same members as a table, texts first.
fn table(rows: &[Value]) -> String {
    let Some(first) = rows.first().and_then(Value::as_object) else { return String::new() };
    let mut names: Vec<&String> = first.keys().collect();
    names.sort_by_key(|name| !first[*name].is_string());
    let column = |name: &&String| if first[*name].is_string() { Column::text } else { Column::number }(words(name));
    let mut table = Table::new(names.iter().map(column));
    for row in rows {
        table.add(names.iter().map(|name| row.get(name).map_or_else(String::new, shown).into()));
    }
    table.to_text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_and_json_show_the_same_facts() {
        let mut facts = Facts::default();
        facts.add("left_out", 1234);
        facts.add("gamma", 0.1f32);
        facts.add("loss", json!({ "kind": "softmax" }));
        facts.add("tensors", json!([{ "rows": 2, "name": "w\u{1b}" }]));
        let text = facts.text();
        for line in ["left out   1,234", "gamma      0.1", "loss.kind  softmax", "tensors:"] {
            assert!(text.lines().any(|other| other == line), "no `{line}` in\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
        let json = serde_json::to_string(&facts).unwrap();
        assert!(json.starts_with(r#"{"left_out":1234,"gamma":0.1,"loss":{"#), "{json}");
    }
}

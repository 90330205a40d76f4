//! What programs that call this one rely on (`testdata/frozen/interface`): commands, options and values, fields of JSON, addresses and
//! fields of the service. docs/reference/stability.md says what version 1 promises of them.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::harness::Folder;

/// Compares lines with a frozen file; `CLICKVEC_RENEW=1` writes it anew.
#[track_caller]
fn check(name: &str, found: &BTreeSet<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/frozen/interface").join(name);
    if std::env::var_os("CLICKVEC_RENEW").is_some() {
        std::fs::write(&path, found.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }
    let frozen = std::fs::read_to_string(&path).unwrap();
    let frozen: BTreeSet<String> = frozen.lines().map(str::to_owned).collect();
    let list = |lines: Vec<&String>| lines.into_iter().map(|line| format!("  {line}\n")).collect::<String>();
    let (gone, new) = (list(frozen.difference(found).collect()), list(found.difference(&frozen).collect()));
    assert!(
        gone.is_empty() && new.is_empty(),
        "{name} differs from the program. Gone, which version 1 promises not to do:\n{gone}New:\n{new}\
         To accept this, run the test with CLICKVEC_RENEW=1 and commit the file."
    );
}

/// A line for the usage and for each argument and option of a command and of those below it, with the values that it lists.
fn add_command(folder: &Folder, command: &[&str], lines: &mut BTreeSet<String>) {
    let help = folder.run(&[command, &["--help"]].concat()).code(0).stdout();
    let name = [&["clickvec"], command].concat().join(" ");
    let mut section = "";
    let mut subcommands = Vec::new();
    let mut last = String::new();
    for line in help.lines().filter(|line| !line.trim().is_empty()) {
        let (text, indent) = (line.trim(), line.len() - line.trim_start().len());
        if indent == 0 {
            section = text;
            lines.extend(text.strip_prefix("Usage: ").map(str::to_owned));
            continue;
        }
        let is_option = indent <= 6 && text.starts_with('-') && !text.starts_with("- ");
        if section == "Commands:" && indent == 2 {
            subcommands.push(text.split(' ').next().unwrap());
        } else if is_option || (section == "Arguments:" && indent == 2) {
            last = format!("{name} {}", text.split("  ").next().unwrap());
            lines.insert(last.clone());
        } else if let Some(values) = text.split_once("[possible values: ") {
            lines.extend(values.1.trim_end_matches(']').split(", ").map(|value| format!("{last} = {value}")));
        } else if let Some(value) = text.strip_prefix("- ").filter(|_| !last.is_empty()) {
            lines.insert(format!("{last} = {}", value.split(':').next().unwrap()));
        }
    }
    // These two are the same everywhere.
    if !command.is_empty() {
        lines.retain(|line| line != &format!("{name} -h, --help") && line != &format!("{name} --threads <N>"));
    }
    for below in subcommands.into_iter().filter(|below| *below != "help") {
        add_command(folder, &[command, &[below]].concat(), lines);
    }
}

#[test]
fn commands_and_options_are_those_of_version_1() {
    let (folder, mut lines) = (Folder::new(), BTreeSet::new());
    add_command(&folder, &[], &mut lines);
    assert!(lines.contains("clickvec search -k, --top <K>"), "{lines:?}");
    check("commands.txt", &lines);
}

/// The type of a schema in a few letters.
fn type_of(schema: &Value) -> String {
    let join = |values: &[Value], one: fn(&Value) -> String| values.iter().map(one).collect::<Vec<_>>().join(" | ");
    if let Some(name) = schema["$ref"].as_str() {
        return name.rsplit('/').next().unwrap().to_owned();
    }
    for key in ["oneOf", "anyOf", "allOf", "enum"] {
        if let Some(values) = schema[key].as_array() {
            return join(values, if key == "enum" { Value::to_string } else { type_of });
        }
    }
    let name = match &schema["type"] {
        Value::Array(types) => join(types, |name| name.as_str().unwrap().to_owned()),
        name => name.as_str().unwrap_or("any").to_owned(),
    };
    if schema["items"].is_null() { name } else { format!("{name} of ({})", type_of(&schema["items"])) }
}

/// A line for each property of a schema and of those in it.
fn add_schema(name: &str, schema: &Value, lines: &mut BTreeSet<String>) {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (field, of) in schema["properties"].as_object().into_iter().flatten() {
        let need = if required.iter().any(|name| name == field) { ", required" } else { "" };
        lines.insert(format!("{name}.{field}: {}{need}", type_of(of)));
        add_schema(&format!("{name}.{field}"), of, lines);
    }
    if schema["items"].is_object() {
        add_schema(&format!("{name}[]"), &schema["items"], lines);
    }
}

#[test]
fn addresses_and_fields_of_the_service_are_those_of_version_1() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clickvec-serve/openapi.json");
    let description: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut lines = BTreeSet::new();
    let shown = |body: &Value| {
        body["content"].as_object().map_or_else(String::new, |content| {
            content.iter().map(|(kind, of)| format!(" {kind} {}", type_of(&of["schema"]))).collect()
        })
    };
    let is_page = |path: &str| path == "/" || path.ends_with(".css") || path.ends_with(".js");
    for (path, methods) in description["paths"].as_object().unwrap().iter().filter(|(path, _)| !is_page(path)) {
        for (method, operation) in methods.as_object().unwrap() {
            let name = format!("{} {path}", method.to_uppercase());
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let need = if parameter["required"] == true { ", required" } else { "" };
                lines.insert(format!(
                    "{name} ? {}: {}{need}",
                    parameter["name"].as_str().unwrap(),
                    type_of(&parameter["schema"])
                ));
            }
            if !operation["requestBody"].is_null() {
                lines.insert(format!("{name} <-{}", shown(&operation["requestBody"])));
            }
            for (status, answer) in operation["responses"].as_object().unwrap() {
                lines.insert(format!("{name} -> {status}{}", shown(answer)));
            }
        }
    }
    for (name, schema) in description["components"]["schemas"].as_object().unwrap() {
        add_schema(name, schema, &mut lines);
    }
    assert!(lines.iter().any(|line| line.starts_with("GET /search ? q: string")), "{lines:?}");
    check("http.txt", &lines);
}

/// A line for each field of a JSON value that is no null.
fn add_fields(name: &str, value: &Value, lines: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, of)| add_fields(&format!("{name}.{key}"), of, lines)),
        Value::Array(values) => values.iter().for_each(|of| add_fields(&format!("{name}[]"), of, lines)),
        Value::Null => {}
        Value::Bool(_) => drop(lines.insert(format!("{name}: boolean"))),
        Value::Number(_) => drop(lines.insert(format!("{name}: number"))),
        Value::String(_) => drop(lines.insert(format!("{name}: string"))),
    }
}

#[test]
fn fields_of_json_are_those_of_version_1() {
    let folder = Folder::with_index();
    folder.write("new.tsv", "id\ttitle\nn1\thammer in grey, 10 in.\n");
    folder.write("queries.txt", "red hammer\nblue shelf\n");
    let judged = ["--judged", "judged.tsv", "--titles", "titles.tsv", "bm25", "model.safetensors"];
    let mut lines = BTreeSet::new();
    for (command, more) in [
        ("inspect", &["clicks.tsv", "model.safetensors", "shop.index"][..]),
        ("prepare", &["clicks.tsv", "--output", "prepared.tsv"]),
        (
            "train",
            &["--clicks", "clicks.tsv", "--output", "m.safetensors", "--set", "encoder.cells=8", "--epochs", "2"],
        ),
        ("evaluate", &judged),
        ("evaluate --full", &judged),
        ("index", &["--model", "model.safetensors", "--titles", "titles.tsv", "--output", "other.index"]),
        ("update --add", &["new.tsv", "other.index"]),
        ("search", &["shop.index", "red hammer"]),
        ("compare", &["shop.index", "other.index", "--queries", "queries.txt"]),
        ("explain match", &["model.safetensors", "red hammer", "hammer in red, 10 in."]),
        ("explain keywords", &["model.safetensors", "red hammer"]),
        ("explain rank", &["shop.index", "-k", "2", "red hammer"]),
        ("embed", &["model.safetensors", "--side", "query", "queries.txt"]),
    ] {
        let json: &[&str] = if command == "embed" { &[] } else { &["--json"] };
        let words: Vec<&str> = command.split(' ').collect();
        for value in folder.run(&[&words[..], more, json].concat()).code(0).json_lines() {
            let event =
                value["event"].as_str().or(value["kind"].as_str()).map_or_else(String::new, |of| format!(" ({of})"));
            add_fields(&format!("{command}{event} "), &value, &mut lines);
        }
    }
    assert!(lines.contains("search .results[].id: string"), "{lines:?}");
    check("json.txt", &lines);
}

//! JSON lines: one object a line. A column is a key, or a path of keys such as `event_attributes.object.object_id`.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;

use super::head::{empty, json_array};
use super::record::{Next, Record, RowFault};
use super::{Lines, Source};
use crate::json::{json_kind, json_object};
use crate::{Error, FoundLine, Result};

/// The number of first lines from which the columns are learnt.
const FIRST_LINES: usize = 1_000;
/// The bytes they may have.
const FIRST_BYTES: usize = 4 << 20;

pub(super) struct Reader {
    lines: Lines<Source>,
    line: Vec<u8>,
    /// The first lines, which were read to learn the columns.
    first: VecDeque<(u64, FoundLine, Vec<u8>)>,
    pub(super) looked_at: usize,
    /// The line and the fault of the first line that is no object, if none is.
    pub(super) fault: Option<(u64, String)>,
    /// The objects of the first lines, until the first row is read.
    objects: Vec<Value>,
    /// The path of each selected column, and whether any row had it.
    paths: Vec<(String, bool)>,
    /// The object of the current row.
    pub(super) object: Value,
}

impl Reader {
    /// Reads the first lines. Returns the names of all columns in them, too.
    pub(super) fn new(path: &Path, mut lines: Lines<Source>) -> Result<(Reader, Vec<String>)> {
        let mut first = VecDeque::new();
        let (mut bytes, mut objects) = (0, Vec::new());
        let mut fault = None;
        let mut names = BTreeSet::new();
        while first.len() < FIRST_LINES && bytes < FIRST_BYTES {
            let mut line = Vec::new();
            let found = lines.next(&mut line).map_err(|error| Error::read_at(path, lines.number() + 1, error))?;
            match found {
                FoundLine::End => break,
                FoundLine::Whole if line.iter().all(u8::is_ascii_whitespace) => continue,
                FoundLine::Whole if first.is_empty() && line.starts_with(b"[") => return Err(json_array(path)),
                _ => {}
            }
            bytes += line.len();
            // A broken line says nothing about the columns.
            match json_object(&line) {
                Ok(object) => {
                    names.extend(object.keys().filter(|name| !names.contains(*name)).cloned().collect::<Vec<_>>());
                    objects.push(Value::Object(object));
                }
                Err(found) if fault.is_none() => fault = Some((lines.number(), found)),
                Err(_) => {}
            }
            first.push_back((lines.number(), found, line));
        }
        if first.is_empty() {
            return Err(empty(path));
        }
        let looked_at = first.len();
        let (line, paths, object) = (Vec::new(), Vec::new(), Value::Null);
        let fault = fault.filter(|_| objects.is_empty());
        Ok((Reader { lines, line, first, looked_at, fault, objects, paths, object }, names.into_iter().collect()))
    }

    /// Returns whether a first line has this column.
    pub(super) fn has(&self, path: &str) -> bool {
        self.objects.iter().any(|object| lookup(object, path).is_some())
    }

    /// Returns the paths of all texts and numbers in the first lines.
    pub(super) fn leaves(&self) -> Vec<String> {
        let mut paths = BTreeSet::new();
        for object in &self.objects {
            add_leaves(object, "", &mut paths);
        }
        paths.into_iter().collect()
    }

    /// Returns whether no first line is an object.
    pub(super) fn has_no_object(&self) -> bool {
        self.objects.is_empty()
    }

    pub(super) fn select(&mut self, path: &str) {
        self.paths.push((path.to_owned(), false));
    }

    /// Returns whether any row had this column.
    pub(super) fn saw(&self, column: usize) -> bool {
        self.paths[column].1
    }

    pub(super) fn next(&mut self, record: &mut Record) -> io::Result<Next> {
        self.objects = Vec::new();
        record.clear(self.paths.len());
        loop {
            let found = match self.first.pop_front() {
                Some((number, found, line)) => {
                    (record.line, self.line) = (number, line);
                    found
                }
                None => {
                    let found = self.lines.next(&mut self.line)?;
                    record.line = self.lines.number();
                    found
                }
            };
            match found {
                FoundLine::End => return Ok(Next::End),
                FoundLine::TooLong => return Ok(Next::Broken(RowFault::too_long(self.lines.limit()))),
                FoundLine::Whole if self.line.iter().all(u8::is_ascii_whitespace) => {}
                FoundLine::Whole => break,
            }
        }
        if std::str::from_utf8(&self.line).is_err() {
            return Ok(Next::Broken(RowFault::not_utf8(&self.line)));
        }
        self.object = match json_object(&self.line) {
            Ok(object) => Value::Object(object),
            Err(found) => return Ok(Next::Broken(not_json(found))),
        };
        let mut fault = None;
        for (column, (path, seen)) in self.paths.iter_mut().enumerate() {
            let Some(found) = lookup(&self.object, path) else { continue };
            *seen = true;
            if let Some(found) = no_text(found) {
                let expected = format_args!("a text in column `{path}`");
                fault.get_or_insert_with(|| RowFault::expected("bad value", expected, found));
            } else if let Value::String(text) = found {
                record.push(column, text);
            } else if has_fraction(found) {
                let mut found = found.clone();
                if let Some(source) = std::str::from_utf8(&self.line).ok().and_then(|line| source(line, path)) {
                    keep_fractions(&mut found, source);
                }
                record.push(column, &scalar(&found).unwrap_or_default());
            } else if let Some(text) = scalar(found) {
                record.push(column, &text);
            }
        }
        Ok(fault.map_or(Next::Row, Next::Broken))
    }

    /// Returns the object of the current row, in which numbers with a fraction or an exponent are texts as they were written.
    pub(super) fn written(&self) -> Cow<'_, Value> {
        if !has_fraction(&self.object) {
            return Cow::Borrowed(&self.object);
        }
        let mut object = self.object.clone();
        if let Ok(line) = std::str::from_utf8(&self.line) {
            keep_fractions(&mut object, line);
        }
        Cow::Owned(object)
    }

    /// Appends the list of numbers that the current row has in a column. An error is what it has instead.
    pub(super) fn numbers(&self, name: &str, numbers: &mut Vec<f32>) -> Result<(), String> {
        match lookup(&self.object, name) {
            None => Err("none".to_owned()),
            Some(Value::Array(items)) => {
                for (position, item) in (1..).zip(items) {
                    let number = item.as_f64().ok_or_else(|| format!("{} as item {position}", json_kind(item)))?;
                    numbers.push(number as f32);
                }
                Ok(())
            }
            Some(other) => Err(json_kind(other).to_owned()),
        }
    }
}

/// The most paths that are collected.
const MOST_PATHS: usize = 1_000;

fn add_leaves(value: &Value, path: &str, paths: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                add_leaves(value, &path, paths);
            }
        }
        _ if paths.len() < MOST_PATHS && !path.is_empty() => drop(paths.insert(path.to_owned())),
        _ => {}
    }
}

fn not_json(found: String) -> RowFault {
    RowFault::expected("not a JSON object", "a JSON object", format_args!("{found}; see docs/reference/tables.md"))
}

/// Returns whether a number in a value may be written otherwise, as `1e3` is 1000.0, or have more digits than 64 bits hold.
fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fraction),
        Value::Object(members) => members.values().any(has_fraction),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Replaces such numbers by texts as `source`, of which the value was read, has them.
fn keep_fractions(value: &mut Value, source: &str) {
    let keep = |value: &mut Value, source: Option<&&RawValue>| {
        if let Some(source) = source.filter(|_| has_fraction(value)) {
            keep_fractions(value, source.get());
        }
    };
    match value {
        Value::Number(_) => *value = Value::String(source.trim().to_owned()),
        Value::Array(items) => {
            let sources: Vec<&RawValue> = serde_json::from_str(source).unwrap_or_default();
            items.iter_mut().zip(&sources).for_each(|(item, source)| keep(item, Some(source)));
        }
        Value::Object(members) => {
            let sources: HashMap<String, &RawValue> = serde_json::from_str(source).unwrap_or_default();
            members.iter_mut().for_each(|(key, value)| keep(value, sources.get(key)));
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Returns the source of the value that [`lookup`] finds at a path.
fn source<'a>(object: &'a str, path: &str) -> Option<&'a str> {
    fn member<'a>(value: &'a str, key: &str) -> Option<&'a str> {
        if value.trim_start().starts_with('[') {
            let items: Vec<&RawValue> = serde_json::from_str(value).ok()?;
            return items.get(key.parse::<usize>().ok()?).map(|item| item.get());
        }
        let members: HashMap<String, &RawValue> = serde_json::from_str(value).ok()?;
        members.get(key).map(|value| value.get())
    }
    member(object, path).or_else(|| path.split('.').try_fold(object, member))
}

/// Returns what a value is that cannot be the text of a field.
pub fn no_text(value: &Value) -> Option<&'static str> {
    match value {
        Value::Object(_) => Some("an object"),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array() || item.is_boolean()) => {
            Some("a list of more than texts and numbers")
        }
        _ => None,
    }
}

/// Returns the value at a key, or at a path of keys and indices separated by dots.
pub fn lookup<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if let Some(found) = value.get(path) {
        return Some(found);
    }
    path.split('.').try_fold(value, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    })
}

/// Returns a value as a field; `None` for null.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        // A query as a list of words.
        Value::Array(items) => Some(items.iter().filter_map(scalar).collect::<Vec<_>>().join(" ")),
        other => Some(other.to_string()),
    }
}

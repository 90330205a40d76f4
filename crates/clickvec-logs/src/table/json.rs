//! JSON lines: one object a line; a column is a key, or a path of keys, `event_attributes.object.object_id`.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::lines::{Found, Lines};
use super::{Columned, MAX_ROW_BYTES, Next, Options, Record};
use crate::columns::{ALL, ROLES, Role};
use crate::error::{Error, Result, RowFault, TableFault, shown};
use crate::preset::{Draft, Extract};

pub(super) struct Reader {
    lines: Lines,
    line: Vec<u8>,
    /// The first line was read to learn the columns.
    first: bool,
    paths: Vec<(Role, String)>,
    extract: Option<Extract>,
    /// What one line held, if a preset finds more than one row in it.
    drafts: VecDeque<Draft>,
}

impl Reader {
    pub(super) fn new(path: &Path, mut lines: Lines, options: &Options) -> Result<(Reader, Columned)> {
        let mut line = Vec::new();
        let mut first = lines.next(&mut line).map_err(|error| Error::io(path, "read", error))?;
        while first == Found::Line && line.iter().all(u8::is_ascii_whitespace) {
            first = lines.next(&mut line).map_err(|error| Error::io(path, "read", error))?;
        }
        match first {
            Found::End => return Err(Error::table(path, TableFault::Empty)),
            Found::Line if line.starts_with(b"[") => return Err(Error::table(path, TableFault::JsonArray)),
            _ => {}
        }
        let object: Option<Value> = serde_json::from_slice(&line).ok().filter(Value::is_object);
        let mut found = Columned { has: [false; ROLES], names: Vec::new(), wanted: Vec::new() };
        if let Some(Value::Object(fields)) = &object {
            found.names = fields.keys().cloned().collect();
        }
        let mut paths = Vec::new();
        for role in ALL {
            if let Some(extract) = options.extract {
                found.has[role as usize] = extract.roles().contains(&role);
                continue;
            }
            let Some(name) = options.columns.of(role) else { continue };
            let here = object.as_ref().is_some_and(|object| lookup(object, name).is_some());
            // A broken first line says nothing of the columns.
            if here || options.columns.is_named(role) || object.is_none() {
                found.has[role as usize] = true;
                paths.push((role, name.to_owned()));
            }
        }
        Ok((Reader { lines, line, first: true, paths, extract: options.extract, drafts: VecDeque::new() }, found))
    }

    pub(super) fn next(&mut self, record: &mut Record) -> io::Result<Next> {
        loop {
            record.clear();
            if let Some(draft) = self.drafts.pop_front() {
                draft.fields.iter().for_each(|(role, text)| record.push(*role, text));
                record.is_search = draft.is_search;
                return Ok(Next::Row);
            }
            let found = if std::mem::take(&mut self.first) { Found::Line } else { self.lines.next(&mut self.line)? };
            record.line = self.lines.number;
            match found {
                Found::End => return Ok(Next::End),
                Found::TooLong => return Ok(Next::Broken(RowFault::TooLong { limit: MAX_ROW_BYTES })),
                Found::Line if self.line.iter().all(u8::is_ascii_whitespace) => continue,
                Found::Line => {}
            }
            if self.line.len() > MAX_ROW_BYTES {
                return Ok(Next::Broken(RowFault::TooLong { limit: MAX_ROW_BYTES }));
            }
            if let Err(error) = std::str::from_utf8(&self.line) {
                return Ok(Next::Broken(RowFault::NotUtf8 { byte: error.valid_up_to() + 1 }));
            }
            let value: Value = match serde_json::from_slice(&self.line) {
                Ok(value @ Value::Object(_)) => value,
                Ok(other) => {
                    return Ok(Next::Broken(RowFault::NotJson { found: format!("`{}`", shown(&other.to_string())) }));
                }
                Err(error) => return Ok(Next::Broken(RowFault::NotJson { found: error.to_string() })),
            };
            let Some(extract) = self.extract else {
                for (role, path) in &self.paths {
                    if let Some(text) = lookup(&value, path).and_then(scalar) {
                        record.push(*role, &text);
                    }
                }
                return Ok(Next::Row);
            };
            extract.read(&value, &mut self.drafts);
        }
    }
}

/// The value at a key, or at a path of keys and places between dots.
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
        // The words of a query, one by one.
        Value::Array(items) => Some(items.iter().filter_map(scalar).collect::<Vec<_>>().join(" ")),
        other => Some(other.to_string()),
    }
}

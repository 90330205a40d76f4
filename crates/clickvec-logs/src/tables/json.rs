//! JSON lines: one object a line. A column is a key, or a path of keys such as `event_attributes.object.object_id`.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::Path;

use clickvec::error::NotAnObject;
use clickvec::internals::tables::{FoundLine, json_object};
use serde_json::Value;

use super::format::Options;
use super::header::Columned;
use super::record::{Lines, MAX_ROW_BYTES};
use super::record::{Next, Record};
use crate::columns::{ALL, ROLES, Role, looks_like_name};
use crate::error::{Error, Result, RowFault, TableFault};
use crate::events::{Draft, Extract};
use crate::json::{lookup, scalar};

/// The number of first lines from which the columns are learnt.
const FIRST_LINES: usize = 1_000;
/// The bytes they may have.
const FIRST_BYTES: usize = 4 << 20;

pub(super) struct Reader {
    lines: Lines,
    line: Vec<u8>,
    /// The first lines, which were read to learn the columns.
    first: VecDeque<(u64, FoundLine, Vec<u8>)>,
    looked_at: usize,
    paths: Vec<(Role, String)>,
    /// Columns that the first lines lack. If one came later, it would change how earlier rows should have been read.
    late: Vec<(Role, String)>,
    seen: [bool; ROLES],
    extract: Option<Extract>,
    /// The rows of one line, if a preset finds more than one in it.
    drafts: VecDeque<Draft>,
}

/// Why there is no next row.
pub(super) enum Failed {
    Table(TableFault),
    Reading(io::Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::Reading(error)
    }
}

impl Reader {
    pub(super) fn new(path: &Path, mut lines: Lines, options: &Options) -> Result<(Reader, Columned)> {
        let mut first = VecDeque::new();
        let (mut bytes, mut objects) = (0, Vec::new());
        let mut names = BTreeSet::new();
        while first.len() < FIRST_LINES && bytes < FIRST_BYTES {
            let mut line = Vec::new();
            let found = lines.next(&mut line).map_err(|error| Error::io(path, "read", error))?;
            match found {
                FoundLine::End => break,
                FoundLine::Whole if line.iter().all(u8::is_ascii_whitespace) => continue,
                FoundLine::Whole if first.is_empty() && line.starts_with(b"[") => {
                    return Err(Error::table(path, TableFault::JsonArray));
                }
                _ => {}
            }
            bytes += line.len();
            // A broken line says nothing about the columns.
            if let Ok(object) = json_object(&line) {
                for name in object.keys().filter(|name| !names.contains(*name)).cloned().collect::<Vec<_>>() {
                    names.insert(name);
                }
                if options.extract.is_none() {
                    objects.push(Value::Object(object));
                }
            }
            first.push_back((lines.number(), found, line));
        }
        if first.is_empty() {
            return Err(Error::table(path, TableFault::Empty));
        }
        let mut found = Columned { has: [false; ROLES], names: names.into_iter().collect(), wanted: Vec::new() };
        let (mut paths, mut late) = (Vec::new(), Vec::new());
        for role in ALL {
            if let Some(extract) = options.extract {
                found.has[role as usize] = extract.roles().contains(&role);
                continue;
            }
            let is = |name: &&str| objects.iter().any(|object| lookup(object, name).is_some());
            match (options.columns.names_of(role).find(is), options.columns.of(role)) {
                (Some(name), _) => paths.push((role, name.to_owned())),
                (None, Some(name)) if options.columns.is_named(role) || objects.is_empty() => {
                    paths.push((role, name.to_owned()));
                }
                (None, _) => {
                    let matters = matches!(role, Role::User | Role::Clicked | Role::Count | Role::Time);
                    let names = options.columns.names_of(role).filter(|_| matters);
                    late.extend(names.map(|name| (role, name.to_owned())));
                    continue;
                }
            }
            found.has[role as usize] = true;
        }
        let looked_at = first.len();
        let (line, seen, extract, drafts) = (Vec::new(), [false; ROLES], options.extract, VecDeque::new());
        Ok((Reader { lines, line, first, looked_at, paths, late, seen, extract, drafts }, found))
    }

    /// Whether any row had this column.
    pub(super) fn saw(&self, role: Role) -> bool {
        self.extract.is_some() || self.seen[role as usize]
    }

    pub(super) fn next(&mut self, record: &mut Record) -> Result<Next, Failed> {
        record.clear();
        if let Some(draft) = self.drafts.pop_front() {
            draft.fields.iter().for_each(|(role, text)| record.push(*role, text));
            record.is_search = draft.is_search;
            return Ok(Next::Row);
        }
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
                FoundLine::TooLong => return Ok(Next::Broken(RowFault::TooLong { limit: MAX_ROW_BYTES })),
                FoundLine::Whole if self.line.iter().all(u8::is_ascii_whitespace) => {}
                FoundLine::Whole => break,
            }
        }
        if let Err(error) = std::str::from_utf8(&self.line) {
            return Ok(Next::Broken(RowFault::NotUtf8 { byte: error.valid_up_to() + 1 }));
        }
        let value = match json_object(&self.line) {
            Ok(object) => Value::Object(object),
            // Somebody may have typed what is no name.
            Err(NotAnObject::KeyTwice { key, column }) if !looks_like_name(&key) => {
                let characters = key.chars().count();
                return Ok(Next::Broken(RowFault::HiddenKeyTwice { characters, column }));
            }
            Err(found) => return Ok(Next::Broken(RowFault::NotJson { found })),
        };
        if let Some(extract) = self.extract {
            extract.read(&value, &mut self.drafts);
            let Some(draft) = self.drafts.pop_front() else { return Ok(Next::Other) };
            draft.fields.iter().for_each(|(role, text)| record.push(*role, text));
            record.is_search = draft.is_search;
            return Ok(Next::Row);
        }
        for (role, path) in &self.paths {
            let Some(found) = lookup(&value, path) else { continue };
            self.seen[*role as usize] = true;
            if let Some(found) = no_text(*role, found) {
                let (column, role, found) = (path.clone(), *role, found.to_owned());
                return Ok(Next::Broken(RowFault::BadValue { column, role, found }));
            }
            if let Some(text) = scalar(found) {
                record.push(*role, &text);
            }
        }
        if let Some((role, column)) = self.late.iter().find(|(_, path)| lookup(&value, path).is_some()) {
            let (line, lines, role) = (record.line, self.looked_at, *role);
            return Err(Failed::Table(TableFault::LateColumn { column: column.clone(), line, lines, role }));
        }
        Ok(Next::Row)
    }
}

/// What a value is that cannot be meant as the text of this role. Numbers that are too long for a reader of JSON would stand for each
/// other.
fn no_text(role: Role, value: &Value) -> Option<&'static str> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match (role, value) {
        (_, Value::Object(_)) => Some("an object"),
        (Role::Query | Role::Title | Role::Item, Value::Bool(_)) => Some("true or false"),
        (Role::Item | Role::User | Role::Session | Role::Key, Value::Number(number))
            if number.is_f64() && number.as_f64().is_some_and(|number| number.abs() >= EXACT) =>
        {
            Some("a number with more digits than readers of JSON keep; put it in quotes")
        }
        _ => None,
    }
}

//! BEIR's JSON lines: `corpus.jsonl` and `queries.jsonl`, with one object a line.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use clickvec_tables::json::json_object;

use super::{FoundLine, Lines, MAX_LINE_BYTES};
use crate::error::{Result, TableFault, shortened};

/// The member with the id.
const ID: &str = "_id";
/// The member with the text of a document or a query.
const TEXT: &str = "text";

/// A reader of objects, line by line.
pub struct JsonLines {
    path: PathBuf,
    lines: Lines<Box<dyn BufRead + Send>>,
    bytes: Vec<u8>,
}

/// A line.
pub struct JsonLine {
    /// The line, counted from 1.
    pub line: u64,
    /// The object, or what is wrong with the line.
    pub object: Result<Map<String, Value>, TableFault>,
}

impl JsonLines {
    /// A reader of `source`. `path` is for messages.
    pub fn new(path: &Path, source: Box<dyn BufRead + Send>) -> JsonLines {
        JsonLines { path: path.to_owned(), lines: Lines::new(source, MAX_LINE_BYTES), bytes: Vec::new() }
    }

    /// The next line that is not blank; `None` at the end.
    pub fn next_line(&mut self) -> Result<Option<JsonLine>> {
        loop {
            let found = self.lines.next(&mut self.bytes).map_err(|source| {
                let line = self.lines.number() + 1;
                clickvec_tables::Error::read_at(&self.path, line, source)
            })?;
            let line = self.lines.number();
            match found {
                FoundLine::End => return Ok(None),
                FoundLine::TooLong => {
                    return Ok(Some(JsonLine { line, object: Err(TableFault::LineTooLong { limit: MAX_LINE_BYTES }) }));
                }
                FoundLine::Whole => {}
            }
            let content = &self.bytes[..];
            if !content.trim_ascii().is_empty() {
                return Ok(Some(JsonLine { line, object: parse(content) }));
            }
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Map<String, Value>, TableFault> {
    std::str::from_utf8(bytes).map_err(|error| TableFault::NotUtf8 { byte: error.valid_up_to() + 1 })?;
    json_object(bytes).map_err(|found| TableFault::NotJson { found })
}

/// The id and the text of a query.
pub fn query(object: &Map<String, Value>) -> Result<(String, String), TableFault> {
    Ok((id(object)?, text_of(object, TEXT)?))
}

/// A text as a field of a table. What would end a field or a line becomes a space, which also separates words.
fn text_of(object: &Map<String, Value>, name: &str) -> Result<String, TableFault> {
    match member(object, name) {
        Some(Value::String(text)) => Ok(text.replace(['\t', '\n', '\r'], " ")),
        other => Err(bad_member(name, "a text", other)),
    }
}

fn id(object: &Map<String, Value>) -> Result<String, TableFault> {
    match object.get(ID) {
        Some(Value::String(id)) if !id.is_empty() && !id.contains(['\t', '\n', '\r']) => Ok(id.clone()),
        Some(Value::Number(id)) if id.is_i64() || id.is_u64() => Ok(id.to_string()),
        other => Err(bad_member(ID, "an id, a text without tab and line end or a whole number,", other)),
    }
}

/// A member, whose name is compared like that of a column, ignoring case.
fn member<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object.get(name).or_else(|| object.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value))
}

fn bad_member(member: &str, wanted: &'static str, found: Option<&Value>) -> TableFault {
    let found = found.map_or("nothing".to_owned(), |value| format!("`{}`", shortened(&value.to_string())));
    TableFault::BadMember { member: member.to_owned(), wanted, found }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of each line, and what is wrong with it.
    fn lines(bytes: &'static [u8]) -> Vec<(u64, Option<String>)> {
        let mut reader = JsonLines::new(Path::new("c.jsonl"), Box::new(bytes));
        let mut lines = Vec::new();
        while let Some(JsonLine { line, object }) = reader.next_line().unwrap() {
            lines.push((line, object.err().map(|fault| fault.to_string())));
        }
        lines
    }

    fn object(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn objects_stand_on_lines_that_are_counted() {
        let found = lines(b"\xef\xbb\xbf{\"_id\":\"a\"}\r\n\r\n{\"_id\":\n[1]\n{\"_id\":\"\xff\"}\n{\"_id\":\"b\"}");
        let numbers: Vec<u64> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(numbers, [1, 3, 4, 5, 6]);
        assert!(found[0].1.is_none() && found[4].1.is_none());
        let message = |place: usize| found[place].1.clone().unwrap();
        assert!(message(1).contains("expected a JSON object, found the end of the line in column"), "{}", message(1));
        assert!(message(2).contains("expected a JSON object"), "{}", message(2));
        assert!(message(3).contains("expected UTF-8, found another byte at position 9"), "{}", message(3));
    }

    #[test]
    fn a_member_that_is_missing_or_another_is_named() {
        assert_eq!(query(&object(r#"{"_id":"q","text":"a\tb"}"#)).unwrap(), ("q".into(), "a b".into()));
        let message = |text: &str| query(&object(text)).err().unwrap().to_string();
        for (text, found) in [
            (r#"{"text":"a"}"#, "nothing"),
            (r#"{"_id":"","text":"a"}"#, "`\"\"`"),
            (r#"{"_id":1.5,"text":"a"}"#, "`1.5`"),
            (r#"{"_id":"a\tb","text":"a"}"#, "`\"a\\tb\"`"),
        ] {
            let message = message(text);
            assert!(message.contains(&format!("in the member `_id`, found {found};")), "{message}");
        }
        assert!(message(r#"{"_id":"a"}"#).contains("expected a text in the member `text`, found nothing"));
        assert!(message(r#"{"_id":"a","text":3}"#).contains("in the member `text`, found `3`"));
    }
}

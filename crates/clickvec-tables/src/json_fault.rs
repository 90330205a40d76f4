//! Faults of a JSON text, and where they are.

use std::fmt;

use crate::shown::shortened;

/// The most arrays and objects inside each other that are read; the parser's limit.
const MOST_DEPTH: usize = 127;

/// The first place where a JSON file is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", json_found_in("file", self))]
pub struct JsonFault {
    /// Counted from 1; 0 where no line is read yet.
    pub line: usize,
    /// Counted from 1; 0 before the first character of the line.
    pub column: usize,
    /// What is wrong there.
    pub problem: JsonProblem,
}

/// What was found in `text`, a line or a file or a body, and where.
pub fn json_found_in(text: &str, fault: &JsonFault) -> String {
    format!("{} line {}, column {}", fault.problem.found_in(text), fault.line, fault.column)
}

/// The kind of a JSON text's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonProblem {
    /// It ends too early.
    CutShort,
    /// It is not JSON.
    Syntax,
    /// Arrays and objects in each other, more than 127 of them.
    TooDeep,
    /// A number that 64 bits cannot hold.
    TooLarge,
    /// It is JSON, with other fields or with values of another kind.
    Form,
}

impl JsonProblem {
    /// What was found in `text`, a line or a file; the place follows.
    fn found_in(self, text: &str) -> String {
        match self {
            JsonProblem::CutShort => format!("the end of the {text} in"),
            JsonProblem::Syntax => "invalid JSON at".to_owned(),
            JsonProblem::TooDeep => format!("more than {MOST_DEPTH} arrays and objects inside each other at"),
            JsonProblem::TooLarge => "a number beyond ±1.8e308 at".to_owned(),
            JsonProblem::Form => "other fields or values in".to_owned(),
        }
    }
}

impl From<serde_json::Error> for JsonFault {
    fn from(error: serde_json::Error) -> JsonFault {
        use serde_json::error::Category;
        let problem = match error.classify() {
            Category::Eof => JsonProblem::CutShort,
            // Only their texts tell these two from other faults.
            Category::Syntax if error.to_string().starts_with("recursion limit exceeded") => JsonProblem::TooDeep,
            Category::Syntax if error.to_string().starts_with("number out of range") => JsonProblem::TooLarge,
            Category::Io | Category::Syntax => JsonProblem::Syntax,
            Category::Data => JsonProblem::Form,
        };
        JsonFault { line: error.line(), column: error.column(), problem }
    }
}

/// The kind of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A text.
    Text,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl JsonKind {
    /// Returns the kind of a value.
    pub fn of(value: &serde_json::Value) -> JsonKind {
        use serde_json::Value;
        match value {
            Value::Null => JsonKind::Null,
            Value::Bool(_) => JsonKind::Boolean,
            Value::Number(_) => JsonKind::Number,
            Value::String(_) => JsonKind::Text,
            Value::Array(_) => JsonKind::Array,
            Value::Object(_) => JsonKind::Object,
        }
    }
}

impl fmt::Display for JsonKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JsonKind::Null => "null",
            JsonKind::Boolean => "true or false",
            JsonKind::Number => "a number",
            JsonKind::Text => "a text",
            JsonKind::Array => "an array",
            JsonKind::Object => "an object",
        })
    }
}

/// What a line has where a JSON object should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAnObject {
    /// A fault at a place.
    #[error("{} column {column}", problem.found_in("line"))]
    Fault {
        /// What is wrong there.
        problem: JsonProblem,
        /// Counted from 1, in bytes.
        column: usize,
    },
    /// An object, the whole line or a part of it, with a duplicate key: nobody can say which of the two values is meant.
    #[error("the key `{}` a second time in column {column}", shortened(key))]
    KeyTwice {
        /// The key.
        key: String,
        /// The column behind the second one, counted from 1, in bytes.
        column: usize,
    },
    /// A value of another kind.
    #[error("{0}")]
    Other(JsonKind),
}

impl From<JsonFault> for NotAnObject {
    fn from(fault: JsonFault) -> NotAnObject {
        NotAnObject::Fault { problem: fault.problem, column: fault.column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_and_the_problem_are_told() {
        let fault = |text: &str| JsonFault::from(serde_json::from_str::<Vec<u8>>(text).unwrap_err()).to_string();
        assert_eq!(fault("[1,\n 2"), "the end of the file in line 2, column 2");
        assert_eq!(fault("[1,,2]"), "invalid JSON at line 1, column 4");
        assert_eq!(fault("[1, true]"), "other fields or values in line 1, column 8");
    }
    #[test]
    fn what_is_json_and_cannot_be_read_is_told() {
        use serde_json::Value;
        let read = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| JsonFault::from(error).to_string());
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(MOST_DEPTH)).is_ok());
        let too_deep = read(&nested(MOST_DEPTH + 1)).unwrap_err();
        assert_eq!(too_deep, "more than 127 arrays and objects inside each other at line 1, column 128");
        assert!(read("[1e308, -1e308, 1e-999, 99999999999999999999]").is_ok());
        for text in ["[1e999]", "[-1e999]"] {
            let too_large = read(text).unwrap_err();
            assert!(too_large.starts_with("a number beyond ±1.8e308 at line 1"), "{too_large}");
        }
    }
}

//! Faults of a JSON text, and where they are.

use super::shortened;

/// The first place where a JSON text is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{problem} in line {line}, column {column}")]
pub struct JsonFault {
    /// Counted from 1; 0 where no line is read yet.
    pub line: usize,
    /// Counted from 1; 0 before the first character of the line.
    pub column: usize,
    /// What is wrong there.
    pub problem: JsonProblem,
}

/// The kind of a JSON text's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonProblem {
    /// It ends too early.
    #[error("an early end")]
    CutShort,
    /// It is not JSON.
    #[error("what is not JSON")]
    Syntax,
    /// It is JSON, with other fields or with values of another kind.
    #[error("other fields or values")]
    Form,
}

impl From<serde_json::Error> for JsonFault {
    fn from(error: serde_json::Error) -> JsonFault {
        use serde_json::error::Category;
        let problem = match error.classify() {
            Category::Eof => JsonProblem::CutShort,
            Category::Io | Category::Syntax => JsonProblem::Syntax,
            Category::Data => JsonProblem::Form,
        };
        JsonFault { line: error.line(), column: error.column(), problem }
    }
}

/// What a line has where a JSON object should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoObject {
    /// A fault at a place.
    #[error("{problem} in column {column}")]
    Fault {
        /// What is wrong there.
        problem: JsonProblem,
        /// Counted from 1, in bytes.
        column: usize,
    },
    /// An object, the whole line or a part of it, that has a key twice: nobody can say which of the two values is meant.
    #[error("the key `{}` a second time in column {column}", shortened(key))]
    KeyTwice {
        /// The key.
        key: String,
        /// The column behind the second one, counted from 1, in bytes.
        column: usize,
    },
    /// Another value.
    #[error("{0}")]
    Other(&'static str),
}

impl From<JsonFault> for NoObject {
    fn from(fault: JsonFault) -> NoObject {
        NoObject::Fault { problem: fault.problem, column: fault.column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_and_the_problem_are_told() {
        let fault = |text: &str| JsonFault::from(serde_json::from_str::<Vec<u8>>(text).unwrap_err()).to_string();
        assert_eq!(fault("[1,\n 2"), "an early end in line 2, column 2");
        assert_eq!(fault("[1,,2]"), "what is not JSON in line 1, column 4");
        assert_eq!(fault("[1, true]"), "other fields or values in line 1, column 8");
    }
}

//! What can be asked of an index.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::Instant;

use clickvec_tables::shown::shortened;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::confidence::Confidence;
use crate::error::{Error, ErrorKind};
use crate::part::Part;

/// The number of titles that an answer has unless more or fewer are asked for.
pub const DEFAULT_K: usize = 10;

/// A question to an index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The query, as it was typed.
    pub text: String,
    /// What finds the titles.
    pub mode: Mode,
    /// The number of titles to return.
    pub k: usize,
    /// The number of best titles to leave out before them: the second page of ten has 10.
    pub offset: usize,
    /// The conditions that titles must meet, all of them.
    pub filters: Vec<Filter>,
    /// The number of titles that each part finds for a fusion; `None` is that of the index, or `k` if that is more. It does not
    /// depend on `offset`, so that pages of one length are pages of one list, which ends where all that the parts found is shown.
    pub depth: Option<usize>,
    /// Titles of a fused list with a lower confidence are left out.
    pub min_confidence: f32,
    /// Whether a fused search corrects words that no title has.
    pub corrects: bool,
    /// Whether every vector is compared, where an index of many vectors otherwise looks at some lists of similar ones.
    pub exact: bool,
    /// When the answer is of no use any more. It is looked at between the steps of a search.
    pub deadline: Option<Instant>,
}

impl Request {
    /// The first ten titles for a query, without conditions.
    pub fn new(text: impl Into<String>, mode: impl Into<Mode>) -> Request {
        Request {
            text: text.into(),
            mode: mode.into(),
            k: DEFAULT_K,
            offset: 0,
            filters: Vec::new(),
            depth: None,
            min_confidence: Confidence::LEAST,
            corrects: true,
            exact: false,
            deadline: None,
        }
    }

    /// The same question for `k` titles.
    pub fn with_k(self, k: usize) -> Request {
        Request { k, ..self }
    }

    /// The same question for the titles after the first `offset`.
    pub fn with_offset(self, offset: usize) -> Request {
        Request { offset, ..self }
    }

    /// The same question among titles that meet these conditions.
    pub fn with_filters(self, filters: Vec<Filter>) -> Request {
        Request { filters, ..self }
    }

    /// The same question, with this many titles from each part of a fusion.
    pub fn with_depth(self, depth: usize) -> Request {
        Request { depth: Some(depth), ..self }
    }

    /// The same question for titles with at least this confidence; 0 leaves none out.
    pub fn with_min_confidence(self, min_confidence: f32) -> Request {
        Request { min_confidence, ..self }
    }

    /// The same question with all words as they were typed.
    pub fn as_typed(self) -> Request {
        Request { corrects: false, ..self }
    }

    /// The same question, for which every vector is compared.
    pub fn exactly(self) -> Request {
        Request { exact: true, ..self }
    }

    /// The same question, given up at this time.
    pub fn with_deadline(self, deadline: Instant) -> Request {
        Request { deadline: Some(deadline), ..self }
    }
}

/// How an index finds the titles for a query: by one of its parts, or by all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One part alone.
    Alone(Part),
    /// All parts with a weight, each with a list of its own; the lists are fused into one.
    Fused,
}

impl Mode {
    /// All modes.
    pub fn all() -> impl Iterator<Item = Mode> {
        Part::ALL.into_iter().map(Mode::Alone).chain([Mode::Fused])
    }

    /// Returns the name, as in requests.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Alone(part) => part.name(),
            Mode::Fused => "fused",
        }
    }
}

impl From<Part> for Mode {
    fn from(part: Part) -> Mode {
        Mode::Alone(part)
    }
}

impl Display for Mode {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Mode, Error> {
        let mode = Mode::all().find(|mode| mode.name() == text);
        mode.ok_or_else(|| {
            let expected = format!("a mode ({})", listed(Mode::all().map(Mode::name)));
            bad_value(expected, format!("`{}`", shortened(text)))
        })
    }
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Mode, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Creates the error of a value, without the name of its field, which only its reader knows.
fn bad_value(expected: impl Into<Cow<'static, str>>, found: String) -> Error {
    Error::expected(ErrorKind::Setting, expected, found)
}

/// Returns names for a message.
pub(crate) fn listed(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", shortened(name.as_ref()))).collect();
    if names.is_empty() { "it has none".to_owned() } else { names.join(", ") }
}

/// A condition on a stored field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// The field's name.
    pub field: String,
    /// What its value must be.
    pub condition: Condition,
}

/// A condition on the value of a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Condition {
    /// Exactly this text.
    Is(String),
    /// Exactly one of these texts.
    In(Vec<String>),
    /// A number of at least `from` and at most `to`, as far as these are given. A value that is not a number is in no range.
    Range {
        /// The least number.
        #[serde(default)]
        from: Option<f64>,
        /// The largest number.
        #[serde(default)]
        to: Option<f64>,
    },
}

/// `FIELD=VALUE`, `FIELD=VALUE|VALUE` or `FIELD:FROM..TO`, where either end of a range may be missing.
impl FromStr for Filter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Filter, Error> {
        let found = || format!("`{}`", shortened(text));
        let bad = || {
            let expected = "a condition, as `field=value`, `field=value|value` or `field:from..to` with numbers";
            bad_value(expected, found())
        };
        let at = text.find(['=', ':']).filter(|&at| at > 0).ok_or_else(bad)?;
        let (field, value) = (text[..at].to_owned(), &text[at + 1..]);
        if text.as_bytes()[at] == b'=' {
            let mut values: Vec<String> = value.split('|').map(str::to_owned).collect();
            let condition = if values.len() > 1 { Condition::In(values) } else { Condition::Is(values.remove(0)) };
            return Ok(Filter { field, condition });
        }
        let (from, to) = value.split_once("..").ok_or_else(bad)?;
        let end = |end: &str| match end.trim() {
            "" => Ok(None),
            number => number.parse::<f64>().ok().filter(|number| number.is_finite()).map(Some).ok_or_else(bad),
        };
        let (from, to) = (end(from)?, end(to)?);
        match (from, to) {
            (Some(first), Some(last)) if first > last => {
                Err(bad_value("a range whose first number is not above its last", found()))
            }
            _ => Ok(Filter { field, condition: Condition::Range { from, to } }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_as_text() {
        let condition = |text: &str| text.parse::<Filter>().map(|filter| (filter.field, filter.condition));
        assert_eq!(condition("brand=acme").unwrap(), ("brand".to_owned(), Condition::Is("acme".to_owned())));
        assert_eq!(condition("url=http://a").unwrap().1, Condition::Is("http://a".to_owned()));
        assert_eq!(condition("brand=").unwrap().1, Condition::Is(String::new()));
        let two = Condition::In(vec!["a".to_owned(), "b c".to_owned()]);
        assert_eq!(condition("brand=a|b c").unwrap().1, two);
        let range = |from, to| Condition::Range { from, to };
        assert_eq!(condition("price:10..20.5").unwrap().1, range(Some(10.0), Some(20.5)));
        assert_eq!(condition("price:..-1").unwrap().1, range(None, Some(-1.0)));
        assert_eq!(condition("price:0.5..").unwrap().1, range(Some(0.5), None));
        assert_eq!(condition("price:10..10").unwrap().1, range(Some(10.0), Some(10.0)));
        let error = condition("price:20..10").unwrap_err().to_string();
        assert!(error.contains("a range whose first number is not above its last, found `price:20..10`"), "{error}");
        for bad in ["", "brand", "=x", "price:10", "price:a..b", "price:nan..1", "price:1..inf"] {
            let error = condition(bad).unwrap_err().to_string();
            assert!(error.contains("expected a condition, as `field=value`"), "{error}");
        }
    }

    #[test]
    fn modes_have_names() {
        for mode in Mode::all() {
            assert_eq!(mode.to_string().parse::<Mode>().unwrap(), mode);
        }
        assert!("bm25".parse::<Mode>().is_err());
    }
}

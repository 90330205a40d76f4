//! Requests to an index.

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

/// The largest weight of a boost. A cosine is at most 1.
const LARGEST_BOOST: f64 = 10.0;
/// The default number of titles of an answer.
pub const DEFAULT_K: usize = 10;

/// A question to an index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The query, as it was typed.
    pub text: String,
    /// The way to find the titles.
    pub mode: Mode,
    /// The number of titles to return.
    pub k: usize,
    /// The number of best titles to leave out before them: the second page of ten has 10.
    pub offset: usize,
    /// The conditions that titles must meet, all of them.
    pub filters: Vec<Filter>,
    /// The additions to scores by stored numbers.
    pub boosts: Vec<Boost>,
    /// The stored fields whose values are counted.
    pub facets: Vec<String>,
    /// The titles that are put at a rank or left out.
    pub pins: Vec<Pin>,
    /// The number of titles that each part finds for a fusion; `None` is that of the index, or `k` if that is more. It does not
    /// depend on `offset`, so that pages of one length are pages of one list, which ends where all that the parts found is shown.
    pub depth: Option<usize>,
    /// Titles of a fused list with a lower confidence are left out.
    pub min_confidence: f32,
    /// Whether a fused search corrects words that no title has.
    pub corrects: bool,
    /// Whether every vector is compared, where an index of many vectors otherwise searches some lists of similar ones.
    pub exact: bool,
    /// The time after which the answer is of no use. It is checked between the steps of a search.
    pub deadline: Option<Instant>,
}

impl Request {
    /// Creates a request for the first ten titles of a query, without conditions.
    pub fn new(text: impl Into<String>, mode: impl Into<Mode>) -> Request {
        Request {
            text: text.into(),
            mode: mode.into(),
            k: DEFAULT_K,
            offset: 0,
            filters: Vec::new(),
            boosts: Vec::new(),
            facets: Vec::new(),
            pins: Vec::new(),
            depth: None,
            min_confidence: Confidence::LEAST,
            corrects: true,
            exact: false,
            deadline: None,
        }
    }

    /// Sets the number of titles.
    pub fn with_k(self, k: usize) -> Request {
        Request { k, ..self }
    }

    /// Sets the number of best titles to leave out.
    pub fn with_offset(self, offset: usize) -> Request {
        Request { offset, ..self }
    }

    /// Sets the conditions that titles must meet.
    pub fn with_filters(self, filters: Vec<Filter>) -> Request {
        Request { filters, ..self }
    }

    /// Sets the additions to scores by stored numbers. With one, a part alone finds as many titles as for a fusion.
    pub fn with_boosts(self, boosts: Vec<Boost>) -> Request {
        Request { boosts, ..self }
    }

    /// Sets the stored fields whose values are counted, among the titles of the list's pages. A part alone finds as many titles as for
    /// a fusion.
    pub fn with_facets(self, facets: Vec<String>) -> Request {
        Request { facets, ..self }
    }

    /// Sets the titles that are put at a rank or left out.
    pub fn with_pins(self, pins: Vec<Pin>) -> Request {
        Request { pins, ..self }
    }

    /// Sets the number of titles from each part of a fusion.
    pub fn with_depth(self, depth: usize) -> Request {
        Request { depth: Some(depth), ..self }
    }

    /// Sets the least confidence of titles; 0 leaves none out.
    pub fn with_min_confidence(self, min_confidence: f32) -> Request {
        Request { min_confidence, ..self }
    }

    /// Leaves all words as they were typed.
    pub fn as_typed(self) -> Request {
        Request { corrects: false, ..self }
    }

    /// Compares every vector.
    pub fn exactly(self) -> Request {
        Request { exact: true, ..self }
    }

    /// Sets the time at which the search is given up.
    pub fn with_deadline(self, deadline: Instant) -> Request {
        Request { deadline: Some(deadline), ..self }
    }
}

/// An addition to the scores of titles by a number that they store.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Boost {
    /// The field's name.
    pub field: String,
    /// The addition for a title with a larger number than all others have. A title gets the share of it that titles with a smaller
    /// number are among those with a number.
    pub weight: f64,
}

/// `FIELD:WEIGHT`.
impl FromStr for Boost {
    type Err = Error;

    fn from_str(text: &str) -> Result<Boost, Error> {
        let pair = text.rsplit_once(':').filter(|(field, _)| !field.is_empty());
        let weight = |weight: &str| weight.trim().parse::<f64>().ok().filter(|weight| weight.abs() <= LARGEST_BOOST);
        match pair.and_then(|(field, text)| Some((field.to_owned(), weight(text)?))) {
            Some((field, weight)) => Ok(Boost { field, weight }),
            None => {
                let expected =
                    format!("a boost, as `popularity:0.2`, with a weight from -{LARGEST_BOOST} to {LARGEST_BOOST}");
                Err(bad_value(expected, format!("`{}`", shortened(text))))
            }
        }
    }
}

/// A title that is put at a rank, or left out. One that the index does not have, or that a condition excludes, is passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pin {
    /// The title's id.
    pub id: String,
    /// Its rank, counted from 1; `None` leaves it out.
    pub rank: Option<usize>,
}

impl Pin {
    /// Puts the title of this id at a rank, or leaves it out.
    pub fn new(id: impl Into<String>, rank: Option<usize>) -> Pin {
        Pin { id: id.into(), rank }
    }
}

/// The way an index finds the titles for a query: by one of its parts, or by all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One part alone.
    Alone(Part),
    /// All parts with a weight, each with a list of its own; the lists are fused into one.
    Fused,
}

impl Mode {
    /// Returns all modes.
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
    /// The condition on its value.
    pub condition: Condition,
}

/// A condition on the value of a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Condition {
    /// This text, in any case and with any accents, or this number in any form.
    Is(String),
    /// One of these texts.
    In(Vec<String>),
    /// A number of at least `from` and at most `to`, where these are set. A value that is not a number is in no range.
    Range {
        /// The least number.
        #[serde(default)]
        from: Option<f64>,
        /// The largest number.
        #[serde(default)]
        to: Option<f64>,
    },
}

/// The characters that end a field's name.
const OPERATORS: [char; 4] = ['=', ':', '<', '>'];

impl Filter {
    /// Parses conditions with commas between them, as `brand:acme,price<50`. A comma that no name and operator follow is part of
    /// a value.
    ///
    /// # Errors
    ///
    /// Those of a condition that cannot be read.
    pub fn parse_list(text: &str) -> Result<Vec<Filter>, Error> {
        let begins = |rest: &str| {
            let name = rest.find(OPERATORS).map_or("", |end| &rest[..end]);
            !name.is_empty() && !name.contains(|c: char| c == ',' || c == '|' || c.is_whitespace())
        };
        let ends = text.match_indices(',').map(|(at, _)| at).filter(|at| begins(&text[at + 1..]));
        let mut first = 0;
        let each = ends.chain([text.len()]).map(|end| text[std::mem::replace(&mut first, end + 1)..end].parse());
        each.collect()
    }
}

/// `FIELD=VALUE` or `FIELD:VALUE`, `FIELD=VALUE|VALUE`, `FIELD:FROM..TO`, where either end of a range may be missing, or a number
/// after `<`, `<=`, `>` or `>=`.
impl FromStr for Filter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Filter, Error> {
        let found = || format!("`{}`", shortened(text));
        let bad = || {
            let expected =
                "a condition, as `field:value`, `field:value|value`, `field:from..to` with numbers or `field<number`";
            bad_value(expected, found())
        };
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(bad);
        let end = |end: &str| if end.trim().is_empty() { Ok(None) } else { number(end).map(Some) };
        let at = text.find(OPERATORS).filter(|&at| at > 0).ok_or_else(bad)?;
        let (field, value) = (text[..at].to_owned(), &text[at + 1..]);
        let (or_equal, bound) = value.strip_prefix('=').map_or((false, value), |bound| (true, bound));
        let condition = match (text.as_bytes()[at], value.split_once("..")) {
            // The nearest number on the other side of the bound makes it one that is inside.
            (b'<', _) => {
                let bound = number(bound)?;
                Condition::Range { from: None, to: Some(if or_equal { bound } else { bound.next_down() }) }
            }
            (b'>', _) => {
                let bound = number(bound)?;
                Condition::Range { from: Some(if or_equal { bound } else { bound.next_up() }), to: None }
            }
            (b':', Some((from, to))) => match (end(from)?, end(to)?) {
                (Some(first), Some(last)) if first > last => {
                    return Err(bad_value("a range whose first number is not above its last", found()));
                }
                (from, to) => Condition::Range { from, to },
            },
            _ => match value.split_once('|') {
                Some(_) => Condition::In(value.split('|').map(str::to_owned).collect()),
                None => Condition::Is(value.to_owned()),
            },
        };
        Ok(Filter { field, condition })
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
        assert_eq!(condition("brand:acme").unwrap().1, Condition::Is("acme".to_owned()));
        assert_eq!(condition("price<=10").unwrap().1, range(None, Some(10.0)));
        assert_eq!(condition("price<10").unwrap().1, range(None, Some(10f64.next_down())));
        assert_eq!(condition("price>= 10").unwrap().1, range(Some(10.0), None));
        assert_eq!(condition("price>10").unwrap().1, range(Some(10f64.next_up()), None));
        for bad in ["", "brand", "=x", "price<", "price<a", "price:a..b", "price:nan..1", "price:1..inf"] {
            let error = condition(bad).unwrap_err().to_string();
            assert!(error.contains("expected a condition, as `field:value`"), "{error}");
        }
        let list = |text: &str| Filter::parse_list(text).map(|filters| filters.len()).ok();
        assert_eq!(list("brand:acme|Black, Decker & Co.,price<50,size:1..2"), Some(3));
        assert_eq!(list("maker=Miller, Inc. of York: since 1900"), Some(1));
        assert_eq!((list("brand:acme,price<x"), list(",brand:acme"), list("")), (None, None, None));
    }

    #[test]
    fn boosts_as_text() {
        let boost = |text: &str| text.parse::<Boost>().ok().map(|boost| (boost.field, boost.weight));
        assert_eq!(boost("popularity:0.2"), Some(("popularity".to_owned(), 0.2)));
        assert_eq!(boost("a:b:-10"), Some(("a:b".to_owned(), -10.0)));
        for bad in ["", "popularity", ":1", "a:x", "a:11", "a:NaN", "a:inf"] {
            let error = bad.parse::<Boost>().unwrap_err().to_string();
            assert!(error.starts_with("expected a boost, as `popularity:0.2`"), "{error}");
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

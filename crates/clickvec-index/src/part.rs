//! The parts of an index that find titles, by name, and values for each.

use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use clickvec_tables::named;
use clickvec_tables::shown::shortened;

use crate::error::{Error, ErrorKind};

named! {
    /// A part of an index that finds titles. Its score is BM25 for words, and a cosine for all others.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Part {
        /// The model's vectors: titles that mean what the query means.
        Vectors = "vectors",
        /// The words: titles that have the query's words, by BM25.
        Words = "words",
        /// The letter trigrams: titles with words that are spelled alike.
        Trigrams = "trigrams",
        /// Vectors that another program made, a transformer for example.
        Teacher = "teacher",
    }
}

/// A value for some of the parts, in the order of [`Part::ALL`]. As JSON it is an object with the parts' names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByPart<T>([Option<T>; Part::ALL.len()]);

impl<T> ByPart<T> {
    /// Returns the value of a part, if it has one.
    pub fn get(&self, part: Part) -> Option<&T> {
        self.0[part as usize].as_ref()
    }

    /// Sets the value of a part.
    pub fn insert(&mut self, part: Part, value: T) {
        self.0[part as usize] = Some(value);
    }

    /// Returns the parts with a value, each with it.
    pub fn iter(&self) -> impl Iterator<Item = (Part, &T)> {
        Part::ALL.into_iter().filter_map(|part| Some((part, self.get(part)?)))
    }

    /// Applies `f` to each value.
    pub fn map<U>(&self, f: impl Fn(Part, &T) -> U) -> ByPart<U> {
        self.iter().map(|(part, value)| (part, f(part, value))).collect()
    }
}

impl<T> Default for ByPart<T> {
    fn default() -> ByPart<T> {
        ByPart([const { None }; Part::ALL.len()])
    }
}

impl<T> FromIterator<(Part, T)> for ByPart<T> {
    fn from_iter<I: IntoIterator<Item = (Part, T)>>(values: I) -> ByPart<T> {
        let mut by_part = ByPart::default();
        values.into_iter().for_each(|(part, value)| by_part.insert(part, value));
        by_part
    }
}

impl<T, const N: usize> From<[(Part, T); N]> for ByPart<T> {
    fn from(values: [(Part, T); N]) -> ByPart<T> {
        values.into_iter().collect()
    }
}

/// Parses `words=0.02,vectors=1`.
impl FromStr for ByPart<f64> {
    type Err = Error;

    fn from_str(text: &str) -> Result<ByPart<f64>, Error> {
        let mut values = ByPart::default();
        for one in text.split(',') {
            let bad = |found: String| {
                let names = Part::ALL.map(Part::name).join(", ");
                let expected = format!("a number for each of some of {names}, as in `words=0.02,vectors=1`");
                Error::expected(ErrorKind::Setting, expected, found)
            };
            let (name, number) = one.split_once('=').ok_or_else(|| bad(format!("`{}`", shortened(one))))?;
            let part = Part::from_name(name.trim());
            let value = part.zip(number.trim().parse().ok());
            let (part, value) = value.ok_or_else(|| bad(format!("`{}`", shortened(one))))?;
            if values.get(part).is_some() {
                return Err(bad(format!("{part} twice")));
            }
            values.insert(part, value);
        }
        Ok(values)
    }
}

impl<T: Serialize> Serialize for ByPart<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(part, value)| (part.name(), value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByPart<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ByPart<T>, D::Error> {
        let values = std::collections::BTreeMap::<String, T>::deserialize(deserializer)?;
        let named = |(name, value): (String, T)| {
            let part = Part::from_name(&name);
            part.map(|part| (part, value)).ok_or_else(|| D::Error::custom(format_args!("unknown part `{name:.40}`")))
        };
        values.into_iter().map(named).collect()
    }
}

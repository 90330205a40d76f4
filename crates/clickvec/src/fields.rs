//! Types of settings whose documentation, defaults and bounds stand beside each field.
//!
//! [`fields!`] declares such a type: a struct whose fields each have a default and may have a [`Rule`]. From it come the check of the
//! bounds, the help of the program and the reference page of all settings.

use clickvec_tables::{Error, ErrorKind, Result};
use serde::Serialize;
use serde_json::Value;

/// A field of a type of settings.
#[derive(Debug)]
pub struct Field {
    /// The name, as it is written.
    pub name: &'static str,
    /// The documentation.
    pub text: &'static str,
    /// The bounds of the value.
    pub rule: Rule,
}

/// The bounds of a value, apart from those of its type.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// None.
    Free,
    /// A finite number above 0.
    Above0,
    /// A finite number that is at least this.
    AtLeast(f64),
    /// A number between two others, both included.
    Within(f64, f64),
    /// A list whose length is within the first bounds, and each of its numbers within the second.
    List([usize; 2], [f64; 2]),
    /// Nested fields.
    Fields(&'static [Field]),
    /// Nested fields, which depend on the field `kind`.
    Kinds(&'static [(&'static str, &'static [Field])]),
}

impl Rule {
    /// Returns what is expected of a value; `None` if nothing is.
    pub fn expected(&self) -> Option<String> {
        match self {
            Rule::Free | Rule::Fields(_) | Rule::Kinds(_) => None,
            Rule::Above0 => Some("a number above 0".to_owned()),
            Rule::AtLeast(least) => Some(format!("{least} or more")),
            Rule::Within(least, most) => Some(format!("a number from {least} to {most}")),
            Rule::List([fewest, most], [least, largest]) => {
                Some(format!("{fewest} to {most} numbers from {least} to {largest}"))
            }
        }
    }

    fn allows(&self, value: &Value) -> bool {
        // JSON has no number that is not finite, and writes null.
        let number = |value: &Value| if value.is_null() { Some(f64::NAN) } else { value.as_f64() };
        match (self, number(value)) {
            (Rule::Above0, Some(number)) => number > 0.0,
            (Rule::AtLeast(least), Some(number)) => number >= *least,
            (Rule::Within(least, most), Some(number)) => (*least..=*most).contains(&number),
            (Rule::List([fewest, most], [least, largest]), _) => value.as_array().is_none_or(|list| {
                let fits = |value: &Value| number(value).is_some_and(|number| (*least..=*largest).contains(&number));
                (*fewest..=*most).contains(&list.len()) && list.iter().all(fits)
            }),
            _ => true,
        }
    }
}

/// Checks the bounds of all fields of a value. `name` is the dotted name of the value, empty for the outermost.
///
/// # Errors
///
/// The first field whose value is out of bounds.
pub fn check(name: &str, value: &Value, fields: &[Field]) -> Result<()> {
    for field in fields {
        let Some(found) = value.get(field.name) else { continue };
        let name = dotted(name, field.name);
        check(&name, found, parts(&field.rule, found))?;
        if let Some(expected) = field.rule.expected().filter(|_| !field.rule.allows(found)) {
            let found = if found.is_null() { "a number that is not finite".to_owned() } else { shown(found) };
            return Err(Error::expected(ErrorKind::Setting, expected, found).within(name));
        }
    }
    Ok(())
}

/// Returns the nested fields of a value.
pub(crate) fn parts(rule: &Rule, value: &Value) -> &'static [Field] {
    match rule {
        Rule::Fields(fields) => fields,
        Rule::Kinds(kinds) => {
            let kind = value.get("kind").and_then(Value::as_str);
            kinds.iter().find(|(name, _)| kind == Some(name)).map_or(&[], |(_, fields)| fields)
        }
        _ => &[],
    }
}

/// Returns a dotted name: `loss.gamma`.
pub(crate) fn dotted(name: &str, part: &str) -> String {
    if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") }
}

/// Returns settings as JSON. Going through text writes an f32 as short as it was typed.
pub fn json(settings: &impl Serialize) -> Value {
    serde_json::to_string(settings).and_then(|text| serde_json::from_str(&text)).unwrap_or_default()
}

/// Returns a value as a user would type it.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => clickvec_tables::shown::shortened(text),
        Value::Array(list) => list.iter().map(shown).collect::<Vec<_>>().join(","),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect::<Vec<_>>().join(" ")
        }
        other => {
            let text = other.to_string();
            text.strip_suffix(".0").unwrap_or(&text).to_owned()
        }
    }
}

/// Returns a line for each field, with its default in `settings`, its documentation and its bounds.
pub fn described(settings: &impl Serialize, fields: &[Field]) -> String {
    let settings = json(settings);
    let line = |Field { name, text, rule }: &Field| {
        let bounds = rule.expected().map_or_else(String::new, |expected| format!(" Expected: {expected}."));
        format!("{name}={}:{text}{bounds}", shown(&settings[*name]))
    };
    fields.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Declares a struct of settings, its defaults and its `FIELDS`. Each field ends in its default, in parentheses if it is more than a number
/// or a word, and may end in `where` and a [`Rule`].
#[doc(hidden)]
#[macro_export]
macro_rules! fields {
    (@text doc = $text:literal) => {
        $text
    };
    (@text $($other:tt)*) => {
        ""
    };
    (@rule) => {
        $crate::internals::fields::Rule::Free
    };
    (@rule $rule:expr) => {
        $rule
    };
    (
        $(#[$($attribute:tt)*])*
        pub struct $name:ident {
            $(
                $(#[$($meta:tt)*])*
                pub $field:ident: $type:ty = $default:tt $(where $rule:expr)?,
            )*
        }
    ) => {
        $(#[$($attribute)*])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $( $(#[$($meta)*])* pub $field: $type, )*
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $( $field: $default, )* }
            }
        }

        impl $name {
            /// The fields with their documentation and bounds.
            pub(crate) const FIELDS: &'static [$crate::internals::fields::Field] = &[
                $($crate::internals::fields::Field {
                    name: stringify!($field),
                    text: concat!($($crate::fields!(@text $($meta)*)),*),
                    rule: $crate::fields!(@rule $($rule)?),
                }),*
            ];
        }
    };
}

pub(crate) use fields;

/// Reads and writes settings that are a number or a word.
pub(crate) mod number_or {
    use std::fmt;

    use serde::de::{self, Deserializer, Visitor};
    use serde::ser::{Serialize, Serializer};
    use serde_json::Number;

    /// Writes a number, or the word if there is none.
    pub(crate) fn write<T: Serialize, S: Serializer>(
        number: Option<T>,
        word: &str,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match number {
            Some(number) => number.serialize(serializer),
            None => serializer.serialize_str(word),
        }
    }

    /// Reads a number, or one of the words.
    pub(crate) fn read<'de, D: Deserializer<'de>>(
        words: &'static [&'static str],
        deserializer: D,
    ) -> Result<Result<Number, &'static str>, D::Error> {
        deserializer.deserialize_any(NumberOr(words))
    }

    /// Reads a whole number, or `None` for the word.
    pub(crate) fn read_integer<'de, D: Deserializer<'de>>(
        word: &'static [&'static str; 1],
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        let integer = |number: Number| {
            let expected =
                || de::Error::custom(format_args!("expected a whole number or `{}`, found {number}", word[0]));
            number.as_u64().ok_or_else(expected)
        };
        read(word, deserializer)?.ok().map(integer).transpose()
    }

    struct NumberOr(&'static [&'static str]);

    impl Visitor<'_> for NumberOr {
        type Value = Result<Number, &'static str>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number")?;
            self.0.iter().try_for_each(|word| write!(f, " or `{word}`"))
        }

        fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
            Ok(Ok(number.into()))
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
            Ok(Ok(number.into()))
        }

        fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
            Number::from_f64(number)
                .map(Ok)
                .ok_or_else(|| de::Error::invalid_value(de::Unexpected::Float(number), &self))
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            let word = self.0.iter().find(|&&word| word == text);
            word.map(|&word| Err(word)).ok_or_else(|| de::Error::invalid_value(de::Unexpected::Str(text), &self))
        }
    }
}

/// A whole number or `none`.
pub mod integer_or_none {
    use serde::de::{self, Deserializer};
    use serde::ser::{Serialize, Serializer};

    use super::number_or;

    /// Writes a number or `none`.
    pub fn serialize<T: Copy + Serialize, S: Serializer>(number: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        number_or::write(*number, "none", serializer)
    }

    /// Reads a number or `none`.
    pub fn deserialize<'de, T: TryFrom<u64>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
        let fitting = |number: u64| {
            T::try_from(number)
                .map_err(|_| de::Error::custom(format_args!("expected a smaller number, found {number}")))
        };
        number_or::read_integer(&["none"], deserializer)?.map(fitting).transpose()
    }
}

/// A number or `none`.
pub(crate) mod real_or_none {
    use serde::de::Deserializer;
    use serde::ser::Serializer;

    use super::number_or;

    #[expect(clippy::ref_option, reason = "serde's form")]
    pub(crate) fn serialize<S: Serializer>(number: &Option<f32>, serializer: S) -> Result<S::Ok, S::Error> {
        number_or::write(*number, "none", serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f32>, D::Error> {
        let number = number_or::read(&["none"], deserializer)?;
        Ok(number.ok().and_then(|number| number.as_f64()).map(|number| number as f32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fields! {
        /// Settings.
        #[expect(unreachable_pub, reason = "the macro makes public types")]
        pub struct Made {
            /// A first line
            /// and a second.
            pub rate: f32 = 0.1 where Rule::Above0,
            pub name: String = ("x".to_owned()),
            #[serde(with = "integer_or_none")]
            pub count: Option<u8> = None,
        }
    }

    #[test]
    fn documentation_and_bounds_stand_beside_fields() {
        assert_eq!(Made::FIELDS.iter().map(|field| field.name).collect::<Vec<_>>(), ["rate", "name", "count"]);
        assert_eq!((Made::FIELDS[0].text, Made::FIELDS[1].text), (" A first line and a second.", ""));
        let checked =
            |rate| check("of", &json(&Made { rate, ..Made::default() }), Made::FIELDS).map_err(|e| e.to_string());
        assert_eq!(checked(0.1), Ok(()));
        assert_eq!(checked(-0.1), Err("of.rate: expected a number above 0, found -0.1".to_owned()));
        let infinite = "of.rate: expected a number above 0, found a number that is not finite";
        assert_eq!(checked(f32::INFINITY), Err(infinite.to_owned()));
    }

    #[test]
    fn a_number_may_be_a_word() {
        let made = |text: &str| serde_json::from_str::<Made>(text).map(|made| made.count).map_err(|e| e.to_string());
        assert_eq!(
            (made(r#"{"count":3}"#), made(r#"{"count":"none"}"#), made("{}")),
            (Ok(Some(3)), Ok(None), Ok(None))
        );
        assert!(made(r#"{"count":"all"}"#).is_err_and(|e| e.contains("expected a number or `none`")));
        assert!(made(r#"{"count":300}"#).is_err_and(|e| e.contains("expected a smaller number, found 300")));
        assert!(made(r#"{"count":0.5}"#).is_err_and(|e| e.contains("expected a whole number or `none`, found 0.5")));
        assert_eq!(json(&Made::default())["count"], "none");
    }
}

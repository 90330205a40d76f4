//! Numbers and choices as arguments.

use std::str::FromStr;

use serde::de::{DeserializeOwned, IntoDeserializer as _, value};

/// Parses a choice by the name that serde gives it.
pub(crate) fn choice<T: DeserializeOwned>(text: &str) -> Result<T, value::Error> {
    T::deserialize(text.into_deserializer())
}

/// Parses a count of at least one thing.
pub(crate) fn at_least_one<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number >= T::from(1));
    number.ok_or_else(|| "expected a whole number of 1 or more".to_owned())
}

/// Parses a number from 0 to 1.
pub(crate) fn share<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| (T::from(0)..=T::from(1)).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_has_the_name_that_serde_gives_it() {
        use clickvec::train::Weighting;
        assert_eq!(choice::<Weighting>("binary"), Ok(Weighting::Binary));
        let refused = choice::<Weighting>("linea").unwrap_err().to_string();
        assert_eq!(refused, "unknown variant `linea`, expected one of `log`, `linear`, `none`, `binary`");
    }

    #[test]
    fn nothing_is_no_count() {
        assert_eq!(at_least_one::<u32>("1"), Ok(1));
        for text in ["0", "-1", "1.5", "", "10000000000"] {
            assert_eq!(at_least_one::<u32>(text).unwrap_err(), "expected a whole number of 1 or more", "{text}");
        }
    }

    #[test]
    fn a_share_is_from_0_to_1() {
        assert_eq!((share::<f64>("0"), share::<f64>("0.2"), share::<f32>("1")), (Ok(0.0), Ok(0.2), Ok(1.0)));
        for text in ["-0.1", "1.1", "nan", "20%", ""] {
            assert_eq!(share::<f64>(text).unwrap_err(), "expected a number from 0 to 1", "{text}");
        }
    }
}

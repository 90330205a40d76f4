//! Numbers as arguments.

use std::error::Error as _;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::str::FromStr;

use clap::error::{ContextKind, ErrorKind};

/// A count of at least one thing.
pub(crate) fn at_least_one<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number >= T::from(1));
    number.ok_or_else(|| {
        match text.bytes().all(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte != b'0') {
            true => SMALLER.to_owned(),
            false => "expected a whole number of 1 or more".to_owned(),
        }
    })
}

const SMALLER: &str = "expected a smaller number";

/// The same error; one of a value that is no number says what was expected, and not what a parser says to programmers.
pub(crate) fn in_words(error: clap::Error) -> clap::Error {
    let Some(source) = error.source().filter(|_| error.kind() == ErrorKind::ValueValidation) else { return error };
    let [value, argument] = [ContextKind::InvalidValue, ContextKind::InvalidArg]
        .map(|kind| error.get(kind).map(ToString::to_string).unwrap_or_default());
    let expected = match (source.downcast_ref::<ParseIntError>(), source.downcast_ref::<ParseFloatError>()) {
        (Some(error), _) => match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => SMALLER,
            _ if value.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())) => {
                "expected a whole number of 0 or more"
            }
            _ => "expected a whole number",
        },
        (None, Some(_)) => "expected a number",
        (None, None) => return error,
    };
    let told = format!("invalid value '{value}' for '{argument}': {expected}\n\nFor more information, try '--help'.\n");
    clap::Error::raw(ErrorKind::ValueValidation, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_no_count() {
        assert_eq!(at_least_one::<u32>("1"), Ok(1));
        for text in ["0", "-1", "1.5", ""] {
            assert_eq!(at_least_one::<u32>(text).unwrap_err(), "expected a whole number of 1 or more", "{text}");
        }
        assert_eq!(at_least_one::<u32>("10000000000").unwrap_err(), "expected a smaller number");
    }
}

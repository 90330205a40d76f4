//! Numbers as arguments.

use std::str::FromStr;

/// Parses a count of at least one thing.
pub(crate) fn at_least_one<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number >= T::from(1));
    number.ok_or_else(|| "expected a whole number of 1 or more".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_no_count() {
        assert_eq!(at_least_one::<u32>("1"), Ok(1));
        for text in ["0", "-1", "1.5", "", "10000000000"] {
            assert_eq!(at_least_one::<u32>(text).unwrap_err(), "expected a whole number of 1 or more", "{text}");
        }
    }
}

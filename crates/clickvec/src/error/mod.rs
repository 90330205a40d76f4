//! The errors of the crate, which are those of the whole workspace.

pub mod damaged;

pub(crate) use clickvec_tables::shown;
pub use clickvec_tables::{Error, ErrorKind, JsonFault, JsonKind, JsonProblem, NotAnObject, Result};
pub(crate) use shown::{shortened, shown, shown_input};

/// Returns the first of the numbers that is not finite, as text.
pub fn not_finite(numbers: &[f32]) -> Option<String> {
    numbers.iter().find(|number| !number.is_finite()).map(f32::to_string)
}

//! Numbers of comparisons in words.

/// Returns a difference with its sign; 0 has none.
pub fn difference(difference: f64) -> String {
    if difference == 0.0 { "0.000".to_owned() } else { format!("{difference:+.3}") }
}

/// Returns a p-value; small ones as `<0.0001`.
pub fn probability(p: f64) -> String {
    if p < 0.0001 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_difference_has_no_sign() {
        assert_eq!([0.0, -0.0, -0.0123, 0.5].map(difference), ["0.000", "0.000", "-0.012", "+0.500"]);
    }

    #[test]
    fn probabilities_are_never_shown_as_zero() {
        assert_eq!((probability(0.00009), probability(0.04996)), ("<0.0001".to_owned(), "0.0500".to_owned()));
    }
}

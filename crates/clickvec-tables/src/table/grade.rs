//! Grades, which say how well a title answers a query.

use super::plain_decimal;

/// The best grade there is: perfect.
pub const MAX_GRADE: u8 = 10;

/// Parses a grade from 0 to `most`. Programs that keep numbers as floats write a grade as 1.0 or 1.000.
pub fn parse_grade(field: &str, most: u8) -> Option<u8> {
    let number = plain_decimal(field.trim());
    number.parse().ok().filter(|grade: &u8| *grade <= most && grade.to_string() == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_are_whole_numbers_up_to_the_best() {
        for (field, grade) in [("0", 0), (" 4 ", 4), ("3.0", 3), ("2.000", 2), ("10", 10)] {
            assert_eq!(parse_grade(field, MAX_GRADE), Some(grade), "{field}");
        }
        for field in ["", " ", "-1", "+1", "01", "2.01", ".0", "11", "1.5", "1e0", "one", "256", "1 2", "\u{663}"] {
            assert_eq!(parse_grade(field, MAX_GRADE), None, "{field}");
        }
        assert_eq!(parse_grade("5", 4), None);
    }
}

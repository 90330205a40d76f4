//! What the library's faults mean on a command line: the library says what is wrong, and which option mends it is known
//! here.

use clickvec::Error;
use clickvec::error::{LearnFault, PlanFault, TestSetFault};

/// A fault, and what to do about it.
pub(crate) fn told(error: &Error) -> String {
    match advice(error) {
        Some(advice) => format!("{error}; {advice}"),
        None => error.to_string(),
    }
}

/// What to do about a fault, where an option can help and the fault does not say so itself.
pub(crate) fn advice(error: &Error) -> Option<&'static str> {
    match error {
        Error::Plan(PlanFault::NoClicks) | Error::Learn { fault: LearnFault::NoClicks, .. } => {
            Some("name a log with --clicks")
        }
        Error::Plan(PlanFault::InUse { .. }) => Some("--cache names the folder"),
        Error::Plan(PlanFault::JudgedValidation { .. }) => Some("--validation names it"),
        Error::TooFewPairs { .. } => Some("or lower --pairs"),
        Error::TestSet { fault: TestSetFault::NoTopics, .. } => Some("name them with --topics"),
        Error::TestSet { fault: TestSetFault::NoTitles, .. } => Some("name them with --titles"),
        Error::Learn { fault: LearnFault::TooFewTitles { .. }, .. } => Some("name the collection with --titles"),
        Error::Learn { fault: LearnFault::TooFewTexts { .. }, .. } => {
            Some("name the collection with --titles, or lower min-count")
        }
        Error::Learn { fault: LearnFault::NoClicks, .. } => Some("name a log with --clicks"),
        Error::Learn { ranker: "vectors", fault: LearnFault::NoFile { .. } } => Some("name it with --vectors"),
        Error::Learn { fault: LearnFault::NoFile { .. }, .. } => {
            Some("name it with --contiguous FILE or --load FOLDER")
        }
        Error::Plan(PlanFault::Row { fault, .. } | PlanFault::Training { fault, .. }) => advice(fault),
        Error::Learn { fault: LearnFault::TooFewTitles { .. } | LearnFault::TooFewTexts { .. }, .. } => {
            Some("name the collection with --titles")
        }
        Error::Learn { ranker: "vectors", fault: LearnFault::NoFile { .. } } => Some("name it with --vectors"),
        Error::Learn { ranker: "skip-thought", fault: LearnFault::NoFile { .. } } => {
            Some("name it with --contiguous FILE or --load FOLDER")
        }
        Error::TestSet { fault: TestSetFault::NoTopics, .. } => Some("name them with --topics"),
        Error::TestSet { fault: TestSetFault::NoTitles, .. } => Some("name them with --titles"),
        Error::TestSet { fault: TestSetFault::IdleTopics { .. }, .. } => Some("--topics names them"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_follows_the_fault() {
        let fault = Error::Learn { ranker: "bltm", fault: LearnFault::NoClicks };
        let expected = "bltm: expected clicked pairs to learn from, found none with a word on both sides; name a log with --clicks";
        assert_eq!(told(&fault), expected);
        let of_row = Error::Plan(PlanFault::Row { name: "a".to_owned(), fault: Box::new(fault) });
        assert_eq!(told(&of_row), format!("system `a`: {expected}"));
        assert_eq!(told(&Error::Cancelled), Error::Cancelled.to_string());
    }
}

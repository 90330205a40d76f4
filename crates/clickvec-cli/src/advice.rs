//! What the library's faults mean on a command line: the library says what is wrong, and the option that mends it is known
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
fn advice(error: &Error) -> Option<&'static str> {
    match error {
        Error::Plan(PlanFault::NoClicks) => Some("name a log with --clicks"),
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
        _ => None,
    }
}

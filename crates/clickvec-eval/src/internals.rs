//! Items that the project's other crates, benchmarks, fuzz targets and tests use but no user needs. They may change at any time.

pub use crate::ranker::corpus::{ClickedPairs, UNKNOWN, WORDS, WordLists, WordReader};
pub use crate::ranker::inverted::InvertedLists;
pub use crate::ranker::state::{Numbers, RankerState, check_range};
pub use crate::ranker::stored::fingerprint as stored_fingerprint;
pub use crate::ranker::stored::ranker::{load as load_ranker, ranker_parameters};
pub use crate::ranker::trigram::{LetterTrigrams, TrigramLists, TrigramQuery};
pub use crate::ranking::{discount, order_key};
pub use crate::significance::{compared, correct, paired_differences};

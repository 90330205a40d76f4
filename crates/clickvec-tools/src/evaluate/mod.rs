//! What systems are judged by, their answers, and the folder of an evaluation.

mod coverage;
mod entry;
mod names;
mod output;
mod test;

pub use self::coverage::{lacking_in_run, lacking_vectors};
pub use self::entry::{Entry, check, saved_files};
pub use self::output::Output;
pub use self::test::{Config, Test};

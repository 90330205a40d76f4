//! Clicked pairs for training: their source, the log (read once, and stored in mapped files or in memory), and its
//! minibatches.

mod grade;
mod hashes;
pub(crate) mod held_out;
mod log;
mod minibatch;
mod noise;
mod pairs;
mod reader;
mod scored;
mod source;
mod spool;
mod taught;
mod teacher;
mod viewed;
mod word_counts;

pub use grade::click_grades;
pub use hashes::{pair_fingerprint, text_hash, title_fingerprint};
pub use held_out::{HeldOut, HeldOutCounts, HeldOutQuery};
pub use log::{ClickLog, LogConfig};
pub use minibatch::{Minibatch, Minibatches};
pub use reader::ClickReader;
pub use scored::ScoreCoverage;
pub(crate) use scored::Scored;
pub use source::{ClickSource, RepeatableClicks};
pub(crate) use spool::Spooled;
pub use spool::Storage;
pub(crate) use taught::Taught;
pub use taught::TeacherCoverage;
pub use teacher::Teacher;

//! From a search engine's raw logs to counted pairs of query and title.
//!
//! [`prepare`] reads logs of any size ([`tables`]), finds the columns by name ([`columns`]) or by a preset
//! ([`preset`]), cleans queries ([`text`], [`privacy`]), leaves robots out ([`robots`]), counts out of core
//! ([`gather`]) and writes the tables that `clickvec train` reads. Like the library, this crate never prints and never
//! reads arguments or the environment.

pub mod columns;
mod distinct;
mod emit;
mod error;
pub mod events;
pub mod gather;
pub mod guess;
mod join;
pub mod options;
pub mod paths;
mod prepare;
pub mod preset;
pub mod privacy;
pub mod report;
pub mod robots;
pub mod shown;
pub mod tables;
pub mod text;
pub mod time;
mod titles;
mod user;

pub use clickvec_tables::{Error, ErrorKind, Result};
pub use prepare::{
    Config, DEFAULT_MIN_USERS, DEFAULT_PER_DAY, DEFAULT_PRIVATE_USERS, OnProgress, PositionWeighting, prepare,
    value_fault,
};
pub use report::Report;

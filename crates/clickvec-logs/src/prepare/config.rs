//! What is prepared, and how.

use std::path::PathBuf;

use super::positions::PositionWeighting;
use crate::preset::Preset;
use crate::robots::Limits;
use crate::table::Options;
use crate::time::Time;

/// So many users must have clicked for a query, unless something else is asked for.
pub const DEFAULT_MIN_USERS: usize = 5;

/// Which rows validate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Split {
    /// None.
    #[default]
    None,
    /// Those from this time on.
    After(Time),
    /// Those of a part of the queries, 0 to 1, that chance picks.
    Part(f64),
}

/// What is prepared, and how.
#[derive(Debug, Clone)]
pub struct Config {
    /// The logs; `-` is standard input.
    pub inputs: Vec<PathBuf>,
    /// How they are written.
    pub table: Options,
    /// Whose they are.
    pub preset: Option<Preset>,
    /// The table that gives items their titles.
    pub titles: Option<PathBuf>,
    /// The table that gives queries their texts.
    pub queries: Option<PathBuf>,
    /// Items are titles.
    pub item_as_title: bool,
    /// Queries keep their case.
    pub keep_case: bool,
    /// Queries keep addresses and numbers.
    pub keep_personal: bool,
    /// A pair stays if it was clicked as often.
    pub min_count: u64,
    /// A query stays if as many users clicked for it; `None`: [`DEFAULT_MIN_USERS`] where the log has users.
    pub min_users: Option<usize>,
    /// Who asks more is a robot; without users nobody is.
    pub limits: Limits,
    /// Whether the limit of a day was asked for, so that a log without users or times is an error.
    pub day_limit_asked: bool,
    /// Which rows validate.
    pub split: Split,
    /// Titles that were not clicked to put next to those of each query that validates.
    pub validation_titles: usize,
    /// How clicks are weighted by their position, if they are.
    pub position_weighting: Option<PositionWeighting>,
    /// The part of the rows that may be broken, 0 to 1.
    pub max_bad: f64,
    /// Bytes of memory.
    pub memory: usize,
    /// Where the pairs go; `-` is standard output.
    pub output: PathBuf,
    /// Where those go that validate.
    pub validation: Option<PathBuf>,
}

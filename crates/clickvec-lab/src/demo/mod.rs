//! A tour on an invented search engine: simulates its clicks, learns from them, compares with BM25, and searches.

mod page;
mod searches;
mod steps;
mod text;

use std::path::Path;

use clickvec_eval::{Comparison, Evaluation};
use clickvec_tables::Result;

use self::searches::Search;

/// The model of the tour, in its folder.
pub const MODEL: &str = "lstm.safetensors";
/// The index of the tour, in its folder.
pub const INDEX: &str = "lstm.index";
/// The simulated log of the tour, in its folder.
pub const LOG: &str = "log";

/// What happens while the demo runs.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A step begins.
    Begun {
        /// Its name.
        step: &'a str,
    },
    /// The step goes on.
    Progress {
        /// How much is done.
        done: u64,
        /// How much there is to do.
        of: u64,
    },
    /// A step has ended.
    Ended {
        /// Its name.
        step: &'a str,
        /// How long it took.
        seconds: f64,
    },
}

/// What the demo found.
pub struct Report {
    pairs: u64,
    titles: u64,
    queries: usize,
    /// The number of judged queries that the epoch was chosen with.
    validation: usize,
    /// BM25, DSSM and LSTM on all judged queries.
    systems: Vec<Evaluation>,
    tests: Vec<Comparison>,
    /// Results for each kind of query.
    kinds: Vec<KindReport>,
    searches: Vec<Search>,
    /// The steps, and the seconds that each took.
    steps: Vec<(String, f64)>,
}

/// The judged queries of a kind.
struct KindReport {
    name: &'static str,
    /// What makes them hard.
    about: &'static str,
    /// One of them.
    example: String,
    queries: usize,
    systems: Vec<Evaluation>,
    tests: Vec<Comparison>,
}

/// Commands to try next, each with what it does.
#[derive(Debug, Default)]
pub struct Next {
    /// Commands for the log and the models of the demo, if they are still there.
    pub folder: Vec<(&'static str, String)>,
    /// Commands for the reader's own files.
    pub own: Vec<(&'static str, String)>,
}

/// Runs the demo with a simulated log of so many pairs. The log and the models are written to `folder`.
///
/// # Errors
///
/// Those of the steps.
pub fn run(pairs: u64, folder: &Path, on_event: &mut dyn FnMut(Event<'_>)) -> Result<Report> {
    steps::run(pairs, folder, on_event)
}

impl Report {
    /// Returns the query of the first search, if there is one.
    pub fn first_query(&self) -> Option<&str> {
        self.searches.first().map(|search| search.query.as_str())
    }

    /// Returns the report for a terminal: 80 columns, no colours. `page` is the path of the page.
    pub fn text(&self, page: &str, next: &Next) -> String {
        text::text(self, page, next)
    }

    /// Returns the report as a self-contained page, without scripts, fonts or images. `seconds` is the time for everything.
    pub fn page(&self, seconds: f64, next: &Next) -> String {
        page::page(self, seconds, next)
    }
}

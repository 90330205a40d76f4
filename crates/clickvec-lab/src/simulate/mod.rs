//! Click logs whose truth is known: users with wants look at ranked titles and click.
//!
//! Users' wants and words come from a small invented world, or from a user's own titles. Clicks follow the position-based model:
//! a rank is examined with its own probability, and an examined title is clicked with a probability that depends on its true
//! grade (Richardson et al. 2007; the forms of both are those of Joachims et al. 2017 and Ai et al. 2018).

mod collection;
mod days;
mod folder;
mod judged;
mod market;
mod misspelling;
mod new_words;
mod own_titles;
mod query;
mod summary;
mod users;
mod want;
mod world;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use clickvec::fields;
use clickvec::internals::fields::{self, Rule};
use clickvec::tables::Title;
use clickvec_tables::ErrorKind;
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, Result};
use collection::WorldMarket;
pub use folder::check_output;
use market::Market as _;
pub use market::QueryKind;
pub use new_words::in_new_words;
pub use summary::{Fewer, Summary};
use want::Want;
use world::World;

fields! {
    /// The settings of a simulation.
    pub struct SimulateConfig {
        /// The number of rows of `clicks.tsv`: a query, a title clicked for it, and the number of clicks on one day.
        pub pairs: u64 = 200_000 where Rule::AtLeast(1.0),
        /// The least number of titles in the invented world, with at least one for everything that can be looked for.
        pub titles: u32 = 20_000 where Rule::Within(1.0, 10_000_000.0),
        /// The number of judged queries of each kind.
        pub judged: u32 = 100 where Rule::Within(0.0, 100_000.0),
        /// The number of queries in the validation set.
        pub validation: u32 = 200 where Rule::Within(0.0, 100_000.0),
        /// The share of queries that are misspelt.
        pub misspelt: f64 = 0.2 where Rule::Within(0.0, 1.0),
        /// η: users look at the title at rank r (from 1) with probability r^−η.
        pub position_bias: f64 = 1.0 where Rule::Within(0.0, 10.0),
        /// The influence of sales on the engine's ranking, in place of what was searched for.
        pub engine_bias: f64 = 0.0 where Rule::Within(0.0, 1.0),
        /// ε: the probability that a user who looks at a useless title clicks it.
        pub click_noise: f64 = 0.1 where Rule::Within(0.0, 1.0),
        /// The random seed; equal seeds give equal bytes.
        pub seed: u64 = 1,
        /// Whether to write every list that was shown as well: `log.tsv`, with users, sessions, positions and times.
        pub impressions: bool = false,
    }
}

impl SimulateConfig {
    /// Checks the bounds of all settings.
    ///
    /// # Errors
    ///
    /// The first setting that is out of bounds.
    pub fn check(&self) -> Result<()> {
        fields::check("", &fields::json(self), SimulateConfig::FIELDS)
    }

    /// Returns a line for each setting: its name, its default, what it means and its bounds.
    pub fn documentation() -> String {
        fields::described(&SimulateConfig::default(), SimulateConfig::FIELDS)
    }
}

/// Returns the true grades of all titles of the invented world for each of these queries, in the order of `titles.tsv`; `None` for
/// a query that is neither judged nor in the validation set.
///
/// They are computed anew from the settings of the simulation.
pub fn true_grades(config: &SimulateConfig, queries: &[&str]) -> Vec<Option<Vec<u8>>> {
    truths(config, queries, |market, want| {
        (0..market.titles().len() as u32).map(|title| market.grade(&want, title)).collect()
    })
}

/// Returns the topic of each of these queries, as its number in the invented world; `None` for a query that is neither judged nor
/// in the validation set, or that asks for an ordered pair or a site, which have no topic.
///
/// They are computed anew from the settings of the simulation.
pub fn true_topics(config: &SimulateConfig, queries: &[&str]) -> Vec<Option<usize>> {
    let topics = truths(config, queries, |market, want| match want {
        Want::Thing { thing, .. } => Some(market.world.things[thing].topic),
        _ => None,
    });
    topics.into_iter().map(Option::flatten).collect()
}

fn truths<T>(config: &SimulateConfig, queries: &[&str], truth: impl Fn(&WorldMarket<'_>, Want) -> T) -> Vec<Option<T>> {
    let world = World::new();
    let market = WorldMarket::new(&world, config.titles, config.seed);
    let (judged, validation) = judged::judge(config, &market);
    let wants: HashMap<&str, Want> =
        judged.iter().chain(&validation).map(|judged| (judged.query.as_str(), judged.intent)).collect();
    queries.iter().map(|query| wants.get(query).map(|want| truth(&market, *want))).collect()
}

/// A function that gets the number of rows of clicks so far, and may break.
pub type OnPairs<'f> = dyn FnMut(u64) -> ControlFlow<()> + 'f;

/// Writes a folder with a simulated log, judged titles and the truth, and returns its figures.
///
/// Users want the things of the invented world or, if there are `titles`, those.
///
/// # Errors
///
/// Those of [`check_output`], `ErrorKind::Malformed` for a title with a line end, `ErrorKind::Empty` if there are too few titles,
/// `ErrorKind::Interrupted` if `on_pairs` broke, `ErrorKind::Busy` and `ErrorKind::Io`.
/// A folder at `output` is then untouched.
pub fn simulate(
    config: &SimulateConfig,
    titles: Option<Vec<Title>>,
    output: &Path,
    on_pairs: &mut OnPairs<'_>,
) -> Result<Summary> {
    check_output(output, None)?;
    match titles {
        None => {
            let world = World::new();
            let market = WorldMarket::new(&world, config.titles, config.seed);
            folder::write(config, &market, output, on_pairs)
        }
        Some(titles) => {
            let breaks = |text: &&String| text.contains(['\t', '\n', '\r']);
            if let Some(found) = titles.iter().flat_map(|title| [&title.id, &title.title]).find(breaks) {
                let found = format!("`{}`", shortened(found));
                let error = Error::expected(ErrorKind::Malformed, "an id and a title without tab and line end", found);
                return Err(error.help("leave such characters out"));
            }
            let count = u32::try_from(titles.len()).unwrap_or(u32::MAX);
            let market = own_titles::OwnMarket::new(titles, config.seed);
            let market = market
                .ok_or_else(|| clickvec_tables::Error::expected(ErrorKind::Empty, "a title with a word", "none"))?;
            let config = SimulateConfig { titles: count, ..config.clone() };
            folder::write(&config, &market, output, on_pairs)
        }
    }
}

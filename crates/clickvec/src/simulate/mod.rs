//! Click logs whose truth is known: users with intents look at ranked titles and click.
//!
//! What users want and how they say it comes from a small world of our own, or from somebody's own titles. Whether a
//! title is clicked follows the position-based model: a rank is examined with a probability of its own, and what is
//! examined is clicked with a probability that the title's true grade decides (Richardson et al. 2007; the forms of both
//! are those of Joachims et al. 2017 and Ai et al. 2018).

mod collection;
mod contiguous;
mod days;
mod folder;
mod judged;
mod market;
mod misspelling;
mod new_words;
mod own_titles;
mod query;
mod users;
mod world;

use std::path::Path;

use serde::Serialize;

use crate::error::{Error, Result, shortened};
use crate::tables::Title;
pub use folder::check_output;
use market::Market as _;
pub use market::QueryKind;
pub use new_words::in_new_words;

/// The settings of a simulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulateConfig {
    /// Rows of `clicks.tsv`.
    pub pairs: u64,
    /// Titles of the world at least; with titles of one's own they are all there is.
    pub titles: u32,
    /// Judged queries of each kind.
    pub judged: u32,
    /// Queries of the validation set.
    pub validation: u32,
    /// The share of queries that are misspelt.
    pub misspelt: f64,
    /// η: the title at rank r, from 1, is examined with probability r^−η.
    pub position_bias: f64,
    /// The weight of what sells best of a thing, instead of what is asked for, in the engine's ranking: from 0, not at all, to 1,
    /// by nothing else.
    pub engine_bias: f64,
    /// ε: how often a title of no use at all is clicked when it is examined.
    pub click_noise: f64,
    /// Same seed, same bytes.
    pub seed: u64,
    /// Whether every impression is written.
    pub impressions: bool,
    /// Documents of running text.
    pub documents: u64,
}

impl Default for SimulateConfig {
    fn default() -> SimulateConfig {
        SimulateConfig {
            pairs: 200_000,
            titles: 20_000,
            judged: 100,
            validation: 200,
            misspelt: 0.2,
            position_bias: 1.0,
            engine_bias: 0.0,
            click_noise: 0.1,
            seed: 1,
            impressions: false,
            documents: 0,
        }
    }
}

/// The numbers of what was written.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Rows of `clicks.tsv`: a query and a title that was clicked for it on one day.
    pub pairs: u64,
    /// Clicks of these rows.
    pub clicks: u64,
    /// Clicks on titles of grade 3 or 4.
    pub relevant_clicks: u64,
    /// Lists that were shown.
    pub impressions: u64,
    /// Lists of a misspelt query among these.
    pub misspelt: u64,
    /// Days of the log.
    pub days: u64,
    /// Titles that can be shown.
    pub titles: u64,
    /// Rows of `judged.tsv`.
    pub judged: u64,
    /// Rows of `validation.tsv`.
    pub validation: u64,
    /// Documents of `text.txt`.
    pub documents: u64,
    /// Kinds of which fewer judged queries were found than asked for.
    pub fewer_judged: Vec<Fewer>,
    /// Queries of the validation set, if fewer were found than asked for.
    pub fewer_validation: Option<u64>,
}

/// Fewer judged queries of a kind than asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fewer {
    /// The kind.
    pub kind: QueryKind,
    /// The number that was found; if 0, there is no table of this kind.
    pub found: u64,
}

/// The true grades of all titles of the invented world, in the order of `titles.tsv`, for each of these queries; nothing
/// for a query that is neither judged nor of the validation set.
///
/// They are computed again from the configuration that the simulation was made with.
pub fn true_grades(config: &SimulateConfig, queries: &[&str]) -> Vec<Option<Vec<u8>>> {
    let world = world::World::new();
    let market = collection::WorldMarket::new(&world, config.titles, config.seed);
    let (judged, validation) = judged::judge(config, &market);
    let grades = |query: &&str| {
        let known = judged.iter().chain(&validation).find(|judged| judged.query == *query)?;
        Some((0..market.titles().len() as u32).map(|title| market.grade(&known.intent, title)).collect())
    };
    queries.iter().map(grades).collect()
}

/// The topic of each of these queries, as its number in the invented world; nothing for a query that is neither judged nor
/// of the validation set, or that asks for no thing of a topic, but for an ordered pair or a site.
///
/// They are computed again from the configuration that the simulation was made with.
pub fn true_topics(config: &SimulateConfig, queries: &[&str]) -> Vec<Option<usize>> {
    let world = world::World::new();
    let market = collection::WorldMarket::new(&world, config.titles, config.seed);
    let (judged, validation) = judged::judge(config, &market);
    let topic = |query: &&str| {
        let known = judged.iter().chain(&validation).find(|judged| judged.query == *query)?;
        match known.intent {
            collection::Want::Thing { thing, .. } => Some(world.things[thing].topic),
            _ => None,
        }
    };
    queries.iter().map(topic).collect()
}

/// Writes a folder with a simulated log, judged titles and the truth; `on_pairs` hears how many rows of clicks there are.
///
/// Users look for what is in the world of this program, or, if there are `titles`, for these.
///
/// # Errors
///
/// Those of [`check_output`], [`Error::BadTitle`], [`Error::NothingToClick`], [`Error::InUse`] and [`Error::Io`]. What was
/// at `output` is then untouched.
pub fn simulate(
    config: &SimulateConfig,
    titles: Option<Vec<Title>>,
    output: &Path,
    on_pairs: &mut dyn FnMut(u64),
) -> Result<Summary> {
    check_output(output)?;
    match titles {
        None => {
            let world = world::World::new();
            let market = collection::WorldMarket::new(&world, config.titles, config.seed);
            folder::write(config, &market, output, on_pairs)
        }
        Some(titles) => {
            let breaks = |text: &&String| text.contains(['\t', '\n', '\r']);
            if let Some(found) = titles.iter().flat_map(|title| [&title.id, &title.title]).find(breaks) {
                return Err(Error::BadTitle { found: shortened(found) });
            }
            let count = u32::try_from(titles.len()).unwrap_or(u32::MAX);
            let market = own_titles::OwnMarket::new(titles, config.seed);
            let market = market.ok_or(Error::NothingToClick { missing: "a title with a word" })?;
            let config = SimulateConfig { titles: count, ..config.clone() };
            folder::write(&config, &market, output, on_pairs)
        }
    }
}

//! Judged queries, which users never ask.

use std::collections::HashSet;

use rand::seq::SliceRandom as _;

use super::SimulateConfig;
use super::market::{Market, QueryKind, Rng};
use super::misspelling::misspell;
use clickvec::internals::rng;
use clickvec::internals::text::words;

/// The most titles that are judged for a query.
const MOST_TITLES: usize = 15;
/// The number of times that titles are looked for.
const LOOKS: usize = 2;
/// The number of tries to find another query of a kind.
const TRIES: u32 = 10_000;
/// The lowest grade of a relevant title.
const RELEVANT: u8 = 3;

/// A query with graded titles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judged<I> {
    pub(super) query: String,
    pub(super) kind: QueryKind,
    /// The want.
    pub(super) intent: I,
    /// Titles and their grades, in random order.
    pub(super) titles: Vec<(u32, u8)>,
}

/// The judged queries and the validation queries.
pub(super) type Both<I> = (Vec<Judged<I>>, Vec<Judged<I>>);

/// Draws the judged and the validation queries, kind by kind, all different.
pub(super) fn judge<M: Market>(config: &SimulateConfig, market: &M) -> Both<M::Intent> {
    let mut rng = rng::stream(config.seed, "judged", 0);
    let mut known = HashSet::new();
    let (mut judged, mut validation) = (Vec::new(), Vec::new());
    let kinds = market.kinds();
    for (number, &kind) in kinds.iter().enumerate() {
        some(config, market, kind, config.judged, &mut known, &mut rng, &mut judged);
        let (number, all, kinds) = (number as u32, config.validation, kinds.len() as u32);
        let share = all / kinds + u32::from(number < all % kinds);
        some(config, market, kind, share, &mut known, &mut rng, &mut validation);
    }
    (judged, validation)
}

/// Adds `count` queries of a kind, or as many as can be found.
fn some<M: Market>(
    config: &SimulateConfig,
    market: &M,
    kind: QueryKind,
    count: u32,
    known: &mut HashSet<String>,
    rng: &mut Rng,
    judged: &mut Vec<Judged<M::Intent>>,
) {
    let (mut found, mut tries) = (0, 0);
    while found < count && tries < TRIES {
        tries += 1;
        let intent = market.draw_for(kind, rng);
        let mut query = String::new();
        market.ask_for(kind, &intent, rng, &mut query);
        let spelt = kind != QueryKind::Misspelt || misspell(&mut query, rng);
        if !spelt || query.is_empty() || known.contains(&query) || !market.is_fit(kind, &intent, &query) {
            continue;
        }
        let titles = titles_of(config, market, &intent, rng);
        if is_fit(market, kind, &query, &titles) {
            known.insert(query.clone());
            judged.push(Judged { query, kind, intent, titles });
            (found, tries) = (found + 1, 0);
        }
    }
}

fn titles_of<M: Market>(config: &SimulateConfig, market: &M, intent: &M::Intent, rng: &mut Rng) -> Vec<(u32, u8)> {
    let mut found = Vec::new();
    (0..LOOKS).for_each(|_| market.candidates(intent, rng, &mut found));
    // What a biased engine always shows must be judged.
    if config.engine_bias > 0.0 {
        market.best_sellers(intent, rng, &mut found);
    }
    found.sort_unstable();
    found.dedup();
    found.shuffle(rng);
    // Two titles with the same text would be judged twice.
    let mut texts = HashSet::new();
    found.retain(|&title| texts.insert(&market.titles()[title as usize].title));
    found.truncate(MOST_TITLES);
    found.into_iter().map(|title| (title, market.grade(intent, title))).collect()
}

/// Returns whether there are relevant and irrelevant titles to find. Also, a synonym must share no word with a relevant title.
fn is_fit<M: Market>(market: &M, kind: QueryKind, query: &str, titles: &[(u32, u8)]) -> bool {
    let relevant = |&&(_, grade): &&(u32, u8)| grade >= RELEVANT;
    let good = titles.iter().filter(relevant).count();
    if good == 0 || good == titles.len() {
        return false;
    }
    if kind != QueryKind::Synonym {
        return true;
    }
    let query_words: HashSet<String> = words(query).into_iter().collect();
    titles
        .iter()
        .filter(relevant)
        .all(|&(title, _)| words(&market.titles()[title as usize].title).iter().all(|word| !query_words.contains(word)))
}

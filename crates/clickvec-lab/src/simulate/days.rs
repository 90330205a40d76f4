//! A log, day by day. Each day has its own random streams, so that days can be made in parallel.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use jiff::Timestamp;
use rand::RngExt as _;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::market::{Market, Rng};
use super::misspelling::misspell;
use super::users::{ClickModel, rank, seeming_grade};
use super::{SimulateConfig, Summary};
use clickvec::internals::rng;

/// The number of sessions in a day.
pub(super) const SESSIONS: u64 = 10_000;
/// The probability that a user who clicked nothing good repeats the query in other words.
const ASKS_AGAIN: f64 = 0.5;
/// The most queries in a session.
const MOST_QUERIES: usize = 4;
/// The number of tries to phrase a query that is not held out.
const TRIES: usize = 16;
/// The number of users.
const USERS: u64 = 50_000;
/// The first day, 2026-01-01, in days since 1970-01-01.
const FIRST_DAY: u64 = 20_454;
const SECONDS_PER_DAY: u64 = 86_400;

/// The parts that all days share.
pub(super) struct Days<'a, M> {
    pub(super) config: &'a SimulateConfig,
    pub(super) market: &'a M,
    pub(super) model: &'a ClickModel,
    /// The judged queries, which no user types.
    pub(super) held_out: &'a HashSet<String>,
}

/// The lines of a day.
#[derive(Default)]
pub(super) struct Day {
    pub(super) clicks: String,
    pub(super) log: String,
    pub(super) summary: Summary,
}

/// The pairs of a day with their clicks, in order of appearance.
#[derive(Default)]
struct Pairs {
    positions: HashMap<u64, usize>,
    rows: Vec<(String, u32, u32)>,
}

impl Pairs {
    /// Adds a click of a pair. 64-bit hashes identify the pairs; a day has some ten thousand.
    fn add(&mut self, query: &str, title: u32) {
        let position =
            *self.positions.entry(xxh3_64_with_seed(query.as_bytes(), u64::from(title))).or_insert_with(|| {
                self.rows.push((query.to_owned(), title, 0));
                self.rows.len() - 1
            });
        self.rows[position].2 += 1;
    }
}

impl<M: Market> Days<'_, M> {
    /// Simulates the day of this number, which ends early with the click that completes `most` pairs.
    pub(super) fn day(&self, number: u64, most: u64) -> Day {
        let mut rng = rng::stream(self.config.seed, "day", number);
        let (mut day, mut pairs) = (Day::default(), Pairs::default());
        let (mut query, mut candidates, mut list) = (String::new(), Vec::new(), Vec::new());
        // The time of each list, and where it begins in the log.
        let mut shown_at = Vec::new();
        for session in 0..SESSIONS {
            if pairs.rows.len() as u64 >= most {
                break;
            }
            let intent = self.market.draw(&mut rng);
            // Some users search far more often than others.
            let user = (rng.random::<f64>().powi(2) * USERS as f64) as u64;
            let mut second = session * SECONDS_PER_DAY / SESSIONS;
            for _ in 0..MOST_QUERIES {
                if pairs.rows.len() as u64 >= most {
                    break;
                }
                let Some(misspelt) = self.ask(&intent, &mut rng, &mut query) else { break };
                candidates.clear();
                self.market.candidates(&intent, &mut rng, &mut candidates);
                let bias = self.config.engine_bias;
                if bias > 0.0 {
                    self.market.best_sellers(&intent, &mut rng, &mut candidates);
                }
                let judge = |title| {
                    let grade = self.market.grade(&intent, title);
                    (grade, seeming_grade(grade, bias > 0.0 && self.market.sells_best(&intent, title), bias))
                };
                rank(&mut candidates, judge, &mut rng, &mut list);
                day.summary.impressions += 1;
                day.summary.misspelt += u64::from(misspelt);
                let mut found = false;
                shown_at.push((second, day.log.len()));
                for (position, &(title, grade)) in list.iter().enumerate() {
                    if pairs.rows.len() as u64 >= most {
                        break;
                    }
                    let clicked = self.model.clicks(position, grade, &mut rng);
                    if clicked {
                        pairs.add(&query, title);
                        day.summary.clicks += 1;
                        day.summary.relevant_clicks += u64::from(grade >= 3);
                        found |= grade >= 3;
                    }
                    if self.config.impressions {
                        let shown = Shown { user, session: number * SESSIONS + session, position, clicked, grade };
                        self.log_line(&mut day.log, &query, title, &shown, number * SECONDS_PER_DAY + second);
                    }
                }
                if found || !rng.random_bool(ASKS_AGAIN) {
                    break;
                }
                second = (second + rng.random_range(5..60)).min(SECONDS_PER_DAY - 1);
            }
        }
        day.log = in_time_order(&day.log, &shown_at);
        day.summary.pairs = pairs.rows.len() as u64;
        day.summary.days = 1;
        for (query, title, count) in pairs.rows {
            let _ = writeln!(day.clicks, "{query}\t{}\t{count}", self.market.titles()[title as usize].title);
        }
        day
    }

    /// Makes a query that is not held out, and returns whether it is misspelt; `None` if every try is held out.
    fn ask(&self, intent: &M::Intent, rng: &mut Rng, query: &mut String) -> Option<bool> {
        let errs = rng.random_bool(self.config.misspelt);
        for _ in 0..TRIES {
            query.clear();
            self.market.ask(intent, rng, query);
            let misspelt = errs && misspell(query, rng);
            if !self.held_out.contains(query.as_str()) {
                return Some(misspelt);
            }
        }
        None
    }

    fn log_line(&self, log: &mut String, query: &str, title: u32, shown: &Shown, second: u64) {
        let title = &self.market.titles()[title as usize];
        let Shown { user, session, position, clicked, grade } = shown;
        let _ = write!(log, "{query}\t{}\t{}\t{}\t{}", title.title, title.id, position + 1, u8::from(*clicked));
        let _ = writeln!(log, "\tu{user:05}\ts{session:08}\t{}\t{grade}", time(second));
    }
}

/// Sorts the lists of a log by time.
fn in_time_order(log: &str, shown_at: &[(u64, usize)]) -> String {
    let ends = shown_at.iter().skip(1).map(|&(_, start)| start).chain([log.len()]);
    let mut lists: Vec<(u64, &str)> =
        shown_at.iter().zip(ends).map(|(&(second, start), end)| (second, &log[start..end])).collect();
    lists.sort_by_key(|&(second, _)| second);
    lists.into_iter().map(|(_, lines)| lines).collect()
}

struct Shown {
    user: u64,
    session: u64,
    position: usize,
    clicked: bool,
    grade: u8,
}

/// Returns the time so many seconds after the first day began.
fn time(second: u64) -> Timestamp {
    let second = i64::try_from(FIRST_DAY * SECONDS_PER_DAY + second).unwrap_or(i64::MAX);
    Timestamp::from_second(second).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_the_calendar() {
        let shown = |second| time(second).to_string();
        assert_eq!(shown(0), "2026-01-01T00:00:00Z");
        assert_eq!(shown(31 * SECONDS_PER_DAY + 3_661), "2026-02-01T01:01:01Z");
        assert_eq!(shown((365 + 365 + 31 + 28) * SECONDS_PER_DAY), "2028-02-29T00:00:00Z");
    }
}

//! The clicks of the last days, with some queries held out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::mix::{Mix, Mixing};
use super::suspicion::Suspicion;
use crate::{JudgedQuery, JudgedTitle, Judgments};
use clickvec::Result;
use clickvec::internals::clicks::ClickReader;
use clickvec::internals::clicks::query_hash;
use clickvec::internals::text::{Dictionary, WordBuffer, for_each_trigram, for_each_word, words};
use clickvec::tables::Skipped;
use clickvec::train::{Weighting, click_grades};
use clickvec_tables::{Error, ErrorKind};
use serde::{Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The largest number of held-out queries from the newest day, and from all other days.
const MOST_HELD_OUT: usize = 2_000;
/// The smallest share of clicks on titles of the collection. A day with fewer is suspicious.
const LEAST_KNOWN: f64 = 0.5;
/// The number of broken lines shown in the message for files without a click.
const SHOWN_BROKEN: usize = 3;
/// The number of frequent queries.
const FREQUENT: usize = 100;

/// Click logs, one file for each day.
#[derive(Debug, Clone)]
pub struct Window<'a> {
    /// The files, the oldest first.
    pub files: &'a [PathBuf],
    /// The column with the texts of titles.
    pub field: &'a str,
    /// The weighting of a pair by the column `count`.
    pub weighting: Weighting,
    /// The number of days, or files, after which the weight of a click is halved.
    pub half_life: f64,
    /// The share of queries to hold out.
    pub held_out: f64,
}

impl<'a> Window<'a> {
    /// Returns the weight of a click in a file, relative to one in the newest file.
    pub fn weight(&self, file: usize) -> f32 {
        let age = self.files.len().saturating_sub(file + 1) as f64;
        (-age / self.half_life).exp2() as f32
    }

    /// Returns the hash of a query's words. Divided by its largest value it lies between 0 and 1, and queries below
    /// [`Window::held_out`] are held out.
    fn hash(query: &str) -> u64 {
        query_hash(&words(query).join(" "))
    }

    pub(super) fn is_held_out(&self, query: &str) -> bool {
        self.holds_out(Window::hash(query))
    }

    fn holds_out(&self, hash: u64) -> bool {
        (hash as f64) < self.held_out * u64::MAX as f64
    }

    /// Returns the pairs to learn from, with their weights and whether their query is rare, without the held-out queries.
    pub fn pairs(&self) -> Pairs<'a> {
        Pairs { window: self.clone(), next: 0, reader: None }
    }

    /// Returns a summary of the clicks, all read once. `is_title` says whether a text is a title of the collection, and `known`
    /// is the old model's dictionary.
    ///
    /// # Errors
    ///
    /// Those of [`ClickReader::open`] and [`ClickReader::next`], and [`ErrorKind::Empty`] without a click in any file.
    pub fn survey(&self, is_title: impl Fn(&str) -> bool, known: &Dictionary) -> Result<Survey> {
        let mut survey = Survey::default();
        let (mut newest, mut earlier) = (HeldOut::default(), HeldOut::default());
        let mut weighted = true;
        let mut mixing = Mixing::default();
        // The clicks of each query, by the hash of its words.
        let mut clicks = HashMap::<u64, f64>::new();
        let mut buffer = WordBuffer::default();
        for (number, path) in self.files.iter().enumerate() {
            let is_newest = number + 1 == self.files.len();
            let before: HashSet<u64> = if is_newest { clicks.keys().copied().collect() } else { HashSet::new() };
            let mut of_day = HeldOutDay::default();
            mixing.begin_day(self.weight(number));
            let mut reader = ClickReader::open(path, self.field, self.weighting)?;
            weighted &= reader.is_weighted();
            let mut day = DayCount { file: path.clone(), ..DayCount::default() };
            while let Some(click) = reader.next()? {
                day.pairs += 1;
                let is_known = is_title(click.title);
                day.known += u64::from(is_known);
                let hash = Window::hash(click.query);
                // A sum, so that the order of the pairs does not matter.
                let pair = xxh3_64_with_seed(click.title.as_bytes(), hash);
                let pair = xxh3_64_with_seed(&click.worth.to_le_bytes(), pair);
                of_day.fingerprint = of_day.fingerprint.wrapping_add(pair);
                if self.holds_out(hash) {
                    day.held_out += 1;
                    of_day.queries.insert(hash);
                    let held_out = if is_newest { &mut newest } else { &mut earlier };
                    // A click that weighs nothing says nothing.
                    if is_known && click.weight > 0.0 {
                        held_out.add(hash, click.query, click.title, click.worth);
                    }
                }
                mixing.add(hash, click.query);
                *clicks.entry(hash).or_default() += click.worth;
                if is_newest {
                    for_each_word(click.query, &mut buffer, |word| {
                        for_each_trigram(word, |trigram| {
                            survey.trigrams += 1;
                            survey.unseen_trigrams += u64::from(known.get(trigram).is_none());
                        });
                    });
                    day.new_queries += u64::from(!before.contains(&hash));
                }
            }
            day.skipped = reader.skipped().clone();
            survey.days.push(day);
            survey.held_out.push(of_day);
        }
        if let Some(last) = survey.days.last().filter(|_| survey.days.iter().all(|day| day.pairs == 0)) {
            let first: String = last.skipped.shown().take(SHOWN_BROKEN).map(|line| format!("; {line}")).collect();
            let found = format!("none ({} broken{first})", last.skipped.count);
            return Err(Error::expected(ErrorKind::Empty, "clicks", found)
                .help("see docs/reference/tables.md")
                .at(&last.file));
        }
        survey.mix = mixing.finish();
        survey.frequent = most_frequent(clicks);
        (survey.newest, survey.earlier) = (newest.judgments(weighted), earlier.judgments(weighted));
        Ok(survey)
    }

    /// Returns the texts of queries by the hashes of their words, read once more. A query that is not there is left out.
    ///
    /// # Errors
    ///
    /// Those of [`ClickReader::open`] and [`ClickReader::next`].
    pub(super) fn texts(&self, queries: &[u64]) -> Result<Vec<String>> {
        let mut wanted: HashSet<u64> = queries.iter().copied().collect();
        let mut texts = HashMap::new();
        for path in self.files {
            let mut reader = ClickReader::open(path, self.field, self.weighting)?;
            while !wanted.is_empty() {
                let Some(click) = reader.next()? else { break };
                let hash = Window::hash(click.query);
                if wanted.remove(&hash) {
                    texts.insert(hash, click.query.to_owned());
                }
            }
        }
        Ok(queries.iter().filter_map(|query| texts.remove(query)).collect())
    }
}

/// Returns the queries with the most clicks; of those with as many, the ones with the smaller hashes.
fn most_frequent(clicks: HashMap<u64, f64>) -> Vec<u64> {
    let mut queries: Vec<(f64, u64)> = clicks.into_iter().map(|(query, clicks)| (clicks, query)).collect();
    let order = |a: &(f64, u64), b: &(f64, u64)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if queries.len() > FREQUENT {
        queries.select_nth_unstable_by(FREQUENT - 1, order);
        queries.truncate(FREQUENT);
    }
    queries.sort_unstable_by(order);
    queries.into_iter().map(|(_, query)| query).collect()
}

/// An iterator over the pairs of a window, which reads file by file.
pub struct Pairs<'a> {
    window: Window<'a>,
    /// The number of the file to open next.
    next: usize,
    reader: Option<ClickReader>,
}

impl Pairs<'_> {
    fn read(&mut self) -> Result<Option<(String, String, f32, bool)>> {
        loop {
            let Some(reader) = &mut self.reader else {
                let Some(path) = self.window.files.get(self.next) else { return Ok(None) };
                self.reader = Some(ClickReader::open(path, self.window.field, self.window.weighting)?);
                self.next += 1;
                continue;
            };
            while let Some(click) = reader.next()? {
                if !self.window.is_held_out(click.query) {
                    let weight = click.weight * self.window.weight(self.next - 1);
                    return Ok(Some((click.query.to_owned(), click.title.to_owned(), weight, click.rare)));
                }
            }
            self.reader = None;
        }
    }
}

impl Iterator for Pairs<'_> {
    type Item = Result<(String, String, f32, bool)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Counts of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DayCount {
    /// The file.
    #[serde(serialize_with = "lossy")]
    pub file: PathBuf,
    /// The number of pairs.
    pub pairs: u64,
    /// Pairs whose title is in the collection.
    #[serde(rename = "on_titles")]
    pub known: u64,
    /// Pairs whose query is held out.
    pub held_out: u64,
    /// Pairs of the newest file whose query is in no earlier file; 0 for the other files.
    pub new_queries: u64,
    /// Broken lines, which are left out. Serialized, their number.
    #[serde(serialize_with = "count")]
    pub skipped: Skipped,
}

fn count<S: Serializer>(skipped: &Skipped, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(skipped.count)
}

/// Serializes a path. Bytes that are not UTF-8 become U+FFFD, since JSON cannot express them.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// A summary of the clicks in a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Survey {
    /// The counts of each file, the oldest first.
    pub days: Vec<DayCount>,
    /// Held-out queries of the newest file with their clicked titles, at most 2,000 queries.
    #[serde(skip)]
    pub newest: Judgments,
    /// The held-out queries of each file.
    #[serde(skip)]
    pub(super) held_out: Vec<HeldOutDay>,
    /// Held-out queries of all earlier files, at most 2,000.
    #[serde(skip)]
    pub earlier: Judgments,
    /// The number of trigrams in the newest file's queries; a trigram counts as often as it occurs.
    pub trigrams: u64,
    /// Trigrams among these that the old model does not know.
    pub unseen_trigrams: u64,
    /// The mix of the queries of all days.
    #[serde(skip)]
    pub mix: Mix,
    /// The hashes of the most frequent queries of all days, at most 100.
    #[serde(skip)]
    pub frequent: Vec<u64>,
}

/// The held-out queries of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HeldOutDay {
    /// A fingerprint of the pairs of the file.
    pub(super) fingerprint: u64,
    /// The hashes of the queries.
    queries: HashSet<u64>,
}

impl Survey {
    /// Returns the counts of the newest day.
    pub fn newest_day(&self) -> Option<&DayCount> {
        self.days.last()
    }

    /// Returns the fingerprint of the newest day.
    pub(super) fn fingerprint(&self) -> u64 {
        self.held_out.last().map_or(0, |day| day.fingerprint)
    }

    /// Returns the ids of held-out queries that are on an earlier day for which `may_be_learnt` holds.
    pub(super) fn on_days(&self, may_be_learnt: impl Fn(u64) -> bool) -> HashSet<String> {
        let earlier = self.held_out.iter().rev().skip(1).filter(|day| may_be_learnt(day.fingerprint));
        earlier.flat_map(|day| &day.queries).map(|&hash| HeldOut::id(hash)).collect()
    }

    /// Returns the suspicion that too few clicks of the newest day are on titles of the collection.
    pub fn suspicion(&self) -> Option<Suspicion> {
        let &DayCount { known, pairs, .. } = self.newest_day()?;
        ((known as f64) < LEAST_KNOWN * pairs as f64).then_some(Suspicion::NotTitles { known, pairs })
    }
}

/// The held-out queries with the smallest hashes. This sample does not depend on the order of the log.
#[derive(Default)]
struct HeldOut(BTreeMap<u64, (String, BTreeMap<String, f64>)>);

impl HeldOut {
    fn add(&mut self, hash: u64, query: &str, title: &str, worth: f64) {
        if self.0.len() >= MOST_HELD_OUT && self.0.last_key_value().is_some_and(|(&last, _)| hash > last) {
            return;
        }
        let (_, titles) = self.0.entry(hash).or_insert_with(|| (query.to_owned(), BTreeMap::new()));
        *titles.entry(title.to_owned()).or_default() += worth;
        if self.0.len() > MOST_HELD_OUT {
            self.0.pop_last();
        }
    }

    fn id(hash: u64) -> String {
        format!("{hash:016x}")
    }

    /// Makes judgments of the titles. If `weighted`, titles whose clicks weigh more get higher grades.
    fn judgments(self, weighted: bool) -> Judgments {
        let query = |(hash, (text, titles)): (u64, (String, BTreeMap<String, f64>))| {
            let (titles, weights): (Vec<String>, Vec<f64>) = titles.into_iter().unzip();
            let grades = if weighted { click_grades(&weights) } else { vec![1; titles.len()] };
            let title = |(text, grade): (String, u8)| JudgedTitle { id: text.clone(), text, grade };
            JudgedQuery { id: HeldOut::id(hash), text, titles: titles.into_iter().zip(grades).map(title).collect() }
        };
        Judgments { queries: self.0.into_iter().map(query).collect(), ..Judgments::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn day(folder: &Path, name: &str, rows: impl Iterator<Item = (String, String)>) -> PathBuf {
        let path = folder.join(name);
        let lines: String = rows.map(|(query, title)| format!("{query}\t{title}\n")).collect();
        std::fs::write(&path, format!("query\ttitle\n{lines}")).unwrap();
        path
    }

    fn window(files: &[PathBuf]) -> Window<'_> {
        Window { files, field: "title", weighting: Weighting::Log, half_life: 1.0, held_out: 0.25 }
    }

    #[test]
    fn a_query_is_learnt_or_held_out_and_older_clicks_weigh_less() {
        let folder = tempfile::tempdir().unwrap();
        let rows = |prefix: &'static str| (0..400).map(move |i| (format!("{prefix} {i}"), format!("title {i}")));
        let files = [day(folder.path(), "1.tsv", rows("old")), day(folder.path(), "2.tsv", rows("new"))];
        let window = window(&files);
        let learnt: Vec<(String, String, f32, bool)> = window.pairs().collect::<Result<_>>().unwrap();
        let dictionary = Dictionary::from_counts([], 1);
        let survey = window.survey(|title| title != "title 7", &dictionary).unwrap();
        let held_out: HashSet<&str> =
            survey.newest.queries.iter().chain(&survey.earlier.queries).map(|query| query.text.as_str()).collect();
        assert!((120..280).contains(&held_out.len()), "{}", held_out.len());
        assert!(learnt.iter().all(|(query, ..)| !held_out.contains(query.as_str())));
        let all_held_out: u64 = survey.days.iter().map(|day| day.held_out).sum();
        assert_eq!(learnt.len() as u64 + all_held_out, 800);
        for (query, _, weight, _) in &learnt {
            assert_eq!(*weight, if query.starts_with("old") { 0.5 } else { 1.0 }, "{query}");
        }
        assert_eq!((survey.days[1].pairs, survey.days[1].known, survey.days[1].new_queries), (400, 399, 400));
        assert_eq!(survey.unseen_trigrams, survey.trigrams);
        assert_eq!(survey.suspicion(), None);
        // Words decide, not how they are written.
        assert_eq!(Window::hash("Red  Shoes!"), Window::hash("red shoes"));
    }

    #[test]
    fn swapped_columns_are_suspicious() {
        let folder = tempfile::tempdir().unwrap();
        let files = [day(folder.path(), "1.tsv", (0..9).map(|i| (format!("title {i}"), format!("query {i}"))))];
        let survey =
            window(&files).survey(|title| title.starts_with("title"), &Dictionary::from_counts([], 1)).unwrap();
        let suspicion = survey.suspicion().unwrap();
        assert_eq!(suspicion, Suspicion::NotTitles { known: 0, pairs: 9 });
        assert!(suspicion.to_string().starts_with("0 of 9 clicks"));
        assert!(survey.newest.queries.is_empty());
    }

    #[test]
    fn clicks_that_weigh_more_are_graded_higher_if_every_day_has_weights() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, head: &str| {
            let rows = |i: usize| format!("query {i}\ta\t5\nquery {i}\tb\t1\nquery {i}\tc\t0\n");
            let path = folder.path().join(name);
            std::fs::write(&path, format!("query\ttitle\t{head}\n{}", (0..200).map(rows).collect::<String>())).unwrap();
            path
        };
        let (weighted, plain) = (write("weighted.tsv", "weight"), write("plain.tsv", "other"));
        let titles = |files: &[PathBuf]| -> Vec<(String, u8)> {
            let survey = window(files).survey(|_| true, &Dictionary::default()).unwrap();
            assert!(survey.newest.queries.len() > 20);
            assert_eq!(survey.on_days(|_| true).len(), survey.newest.queries.len());
            assert!(survey.on_days(|_| false).is_empty());
            let of =
                |query: &JudgedQuery| query.titles.iter().map(|of| (of.text.clone(), of.grade)).collect::<Vec<_>>();
            let first = of(&survey.newest.queries[0]);
            assert!(survey.newest.queries.iter().all(|query| of(query) == first));
            first
        };
        let named = |of: &[(&str, u8)]| of.iter().map(|&(text, grade)| (text.to_owned(), grade)).collect::<Vec<_>>();
        // What weighs nothing was not clicked.
        assert_eq!(titles(&[weighted.clone(), weighted.clone()]), named(&[("a", 4), ("b", 2)]));
        assert_eq!(titles(&[plain, weighted]), named(&[("a", 1), ("b", 1)]));
    }

    #[test]
    fn the_sample_of_held_out_queries_does_not_depend_on_their_order() {
        let add = |order: &mut dyn Iterator<Item = u64>| {
            let mut held_out = HeldOut::default();
            order.for_each(|i| held_out.add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15), &i.to_string(), "x", 1.0));
            held_out.judgments(false)
        };
        let most = 3 * MOST_HELD_OUT as u64;
        let forwards = add(&mut (0..most));
        assert_eq!(forwards.queries.len(), MOST_HELD_OUT);
        assert_eq!(forwards, add(&mut (0..most).rev()));
    }
}

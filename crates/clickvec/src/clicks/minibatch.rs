//! Minibatches: pairs in random order, each distinct title once, and the negatives of every pair.

use super::viewed::ViewedQueries;
use super::{ClickLog, Distillation, Section, Spooled, Storage, noise};
use crate::error::Result;
use crate::loss::{LossKind, Margins, NegativeRows, Pairs, TitleLists};
use crate::rng::{self, Permutation};
use crate::text::WordId;
use crate::text::batch::{Batch, WordFeatures};
use crate::views::Views;
use hashbrown::HashTable;
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The number of negatives of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Negatives {
    /// n titles, drawn at random; all eligible titles if there are fewer.
    Sampled(usize),
    /// Every eligible title of the minibatch.
    All,
}

/// The source of sampled negatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NegativeSource {
    /// The titles of the minibatch, each of which is encoded once and shared.
    Minibatch,
    /// All distinct titles of the log, at the cost of encoding n more titles for each pair.
    Uniform,
}

/// The most titles of a query with a teacher's scores in a minibatch.
const SCORED_TITLES: usize = 4;

/// Settings for making minibatches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MinibatchConfig {
    /// The pairs to use.
    pub section: Section,
    /// With clicks: the number of titles, each paired with itself, to mix into an epoch for each clicked pair.
    pub titles: f32,
    /// Changes to queries.
    pub query_views: Views,
    /// Changes to a title that is its own query.
    pub title_views: Views,
    /// The number of pairs in a minibatch; the last of an epoch may have fewer.
    pub size: usize,
    /// The loss, which decides what it needs to know of titles.
    pub loss: LossKind,
    /// The number of negatives of a pair.
    pub negatives: Negatives,
    /// The source of negatives.
    pub source: NegativeSource,
    /// Whether one tower reads all texts. Then [`Minibatch::queries`] contains the queries and, after them, the
    /// titles.
    pub shared_tower: bool,
    /// The seed of the order of pairs and of the negatives.
    pub seed: u64,
    /// The number of members, each of which learns from its own minibatches.
    pub members: usize,
    /// The influence of the log's teacher, if it has one.
    pub distillation: Option<Distillation>,
}

/// A maker of the minibatches of a log. It makes them in any order, because none depends on the ones before it.
pub struct Minibatches<'a> {
    log: &'a ClickLog,
    config: MinibatchConfig,
    /// With [`NegativeSource::Uniform`]: for each distinct title its hash and a pair that has it.
    titles: Option<Spooled<[u64; 2]>>,
    /// With [`LossKind::Nce`] and [`NegativeSource::Minibatch`]: for each pair of the log, the logarithm of the chance that a
    /// minibatch has its title. All titles of [`NegativeSource::Uniform`] are equally likely.
    noise: Option<Spooled<f32>>,
}

/// A minibatch. Its memory is reused each time it is filled.
#[derive(Debug, Default)]
pub struct Minibatch {
    /// The queries: row r is that of pair r. With a shared tower the titles follow.
    pub queries: Batch,
    /// Each distinct title once; empty with a shared tower.
    pub titles: Batch,
    /// The clicked titles and the negatives, as rows of `titles`.
    pub pairs: Pairs,
    rows: Distinct,
    numbers: Vec<u64>,
    eligible: Vec<u32>,
    /// The distinct queries, so that a query of many pairs is looked up once.
    queries_once: Distinct,
    /// For each pair, its row in `queries_once`.
    query_of: Vec<u32>,
    /// For each of `queries_once`, the titles that must not be its negatives.
    blocked: TitleLists,
    views: ViewedQueries,
    /// The minibatches of the members after the first.
    others: Vec<Minibatch>,
}

impl Minibatch {
    /// The minibatch of a member, counted from 0.
    pub(crate) fn of_member(&self, member: usize) -> &Minibatch {
        match member.checked_sub(1) {
            None => self,
            Some(other) => &self.others[other],
        }
    }
}

/// The distinct titles, or queries, of a minibatch: from row to pair, and from hash to row.
#[derive(Debug, Default)]
struct Distinct {
    hashes: Vec<u64>,
    pairs: Vec<u64>,
    /// Rows by hash.
    rows: HashTable<u32>,
}

impl<'a> Minibatches<'a> {
    /// The minibatches of `log`. A list of all titles, if needed, is stored in `storage`.
    ///
    /// # Errors
    /// [`crate::Error::Io`] if a temporary file cannot be written; [`crate::Error::NoMemory`].
    pub fn new(log: &'a ClickLog, config: MinibatchConfig, storage: Storage<'_>) -> Result<Minibatches<'a>> {
        let titles = match config.source {
            NegativeSource::Minibatch => None,
            NegativeSource::Uniform => Some(log.distinct_titles(storage)?),
        };
        let mut minibatches = Minibatches { log, config, titles, noise: None };
        if config.loss == LossKind::Nce && config.source == NegativeSource::Minibatch {
            minibatches.noise = Some(minibatches.chances_of_titles(storage)?);
        }
        Ok(minibatches)
    }

    /// The number of minibatches in an epoch.
    pub fn per_epoch(&self) -> u64 {
        self.pairs().div_ceil(self.config.size as u64)
    }

    /// The number of pairs in an epoch.
    pub fn pairs(&self) -> u64 {
        let section = self.log.section(self.config.section);
        section.end - section.start + self.titles_among_clicks()
    }

    /// For each pair of the log, the logarithm of the chance that a minibatch has its title.
    fn chances_of_titles(&self, storage: Storage<'_>) -> Result<Spooled<f32>> {
        let titles = self.log.section(Section::Titles);
        // Of the titles among clicks, each epoch draws others.
        let share = self.titles_among_clicks() as f64 / (titles.end - titles.start).max(1) as f64;
        let (clicks, titles) = match self.config.section {
            Section::Clicks => (1.0, share),
            Section::Titles => (0.0, 1.0),
        };
        let epoch = noise::Epoch { clicks, titles, pairs: self.pairs(), minibatch: self.config.size };
        epoch.chances_of_titles(self.log, storage)
    }

    fn titles_among_clicks(&self) -> u64 {
        match self.config.section {
            Section::Titles => 0,
            Section::Clicks => {
                let (clicks, titles) = (self.log.section(Section::Clicks), self.log.section(Section::Titles));
                ((clicks.end as f64 * f64::from(self.config.titles)) as u64).min(titles.end - titles.start)
            }
        }
    }

    /// Replaces `numbers` by the pairs of a minibatch, in the order of the epoch.
    fn choose(&self, seed: u64, epoch: u64, index: u64, numbers: &mut Vec<u64>) {
        let (pairs, size) = (self.pairs(), self.config.size as u64);
        let order = Permutation::new(pairs, seed, "order", epoch);
        let places = index * size..((index + 1) * size).min(pairs);
        numbers.clear();
        let section = self.log.section(self.config.section);
        if self.titles_among_clicks() == 0 {
            numbers.extend(places.map(|place| section.start + order.at(place)));
            return;
        }
        let titles = self.log.section(Section::Titles);
        let drawn = Permutation::new(titles.end - titles.start, seed, "titles among clicks", epoch);
        numbers.extend(places.map(|place| match order.at(place) {
            click if click < section.end => click,
            title => titles.start + drawn.at(title - section.end),
        }));
    }

    /// Whether no query is changed.
    fn is_plain(&self) -> bool {
        match self.config.section {
            Section::Clicks => self.config.query_views == Views::NONE && self.titles_among_clicks() == 0,
            Section::Titles => false,
        }
    }

    /// Fills minibatch number `index` of `epoch`, both counted from 0.
    pub fn fill(&self, epoch: u64, index: u64, minibatch: &mut Minibatch) {
        if self.config.members < 2 {
            return self.fill_one(self.config.seed, epoch, index, minibatch);
        }
        let mut others = std::mem::take(&mut minibatch.others);
        others.resize_with(self.config.members - 1, Minibatch::default);
        rayon::join(
            || self.fill_one(self.config.seed, epoch, index, minibatch),
            || {
                (1u64..).zip(&mut others).collect::<Vec<_>>().into_par_iter().for_each(|(member, other)| {
                    let seed = rng::stream(self.config.seed, "member", member).random();
                    self.fill_one(seed, epoch, index, other);
                });
            },
        );
        minibatch.others = others;
    }

    /// Fills a minibatch of a run with this seed.
    fn fill_one(&self, seed: u64, epoch: u64, index: u64, minibatch: &mut Minibatch) {
        let log = self.log;
        let Minibatch {
            queries, titles, pairs, rows, numbers, eligible, queries_once, query_of, blocked, views, ..
        } = minibatch;
        self.choose(seed, epoch, index, numbers);
        log.prefetch(numbers);
        rows.clear();
        queries_once.clear();
        query_of.clear();
        pairs.positive.clear();
        pairs.weight.clear();
        for &number in numbers.iter() {
            let pair = log.pair(number as usize);
            pairs.weight.push(pair.weight);
            pairs.positive.push(rows.insert(pair.title, number));
            query_of.push(queries_once.insert(pair.query, number));
        }

        self.ask_for_scores(seed, epoch * self.per_epoch() + index, numbers, rows, &mut pairs.margins);

        let mut lists = match std::mem::take(&mut pairs.negatives) {
            NegativeRows::Listed(lists) | NegativeRows::AllBut(lists) => lists,
        };
        lists.clear();
        let mut stream = rng::stream(seed, "negatives", epoch * self.per_epoch() + index);
        if self.titles.is_none() {
            blocked.clear();
            queries_once.pairs.iter().for_each(|&number| block(log, rows, number, blocked));
        }
        let blocked_for = |query: u32| blocked.get(query as usize);
        pairs.negatives = match (self.config.negatives, &self.titles) {
            (Negatives::All, _) => {
                for (pair, &query) in query_of.iter().enumerate() {
                    let blocked = blocked_for(query);
                    // Of a title with a score the teacher says how bad it is.
                    let scored = pairs.margins.as_ref().map_or(&[][..], |margins| margins.titles.get(pair));
                    let scored = scored.iter().filter(|row| !blocked.contains(row));
                    lists.push(blocked.iter().chain(scored).copied());
                }
                NegativeRows::AllBut(lists)
            }
            (Negatives::Sampled(n), None) => {
                for &query in query_of.iter() {
                    sample(n, rows.len(), blocked_for(query), eligible, &mut stream);
                    lists.push(eligible.iter().copied());
                }
                NegativeRows::Listed(lists)
            }
            (Negatives::Sampled(n), Some(all)) => {
                for &number in numbers.iter() {
                    sample_uniform(log, all, number, n, rows, eligible, &mut stream);
                    lists.push(eligible.iter().copied());
                }
                NegativeRows::Listed(lists)
            }
        };

        self.fill_noise(rows, &mut pairs.noise);
        self.ask_teacher(numbers, &rows.hashes, pairs);
        let title_texts = rows.pairs.iter().map(|&number| log.pair(number as usize).title_words);
        if self.is_plain() {
            let query_texts = numbers.iter().map(|&number| log.pair(number as usize).query_words);
            self.pack(query_texts, title_texts, log, queries, titles);
            return;
        }
        views.clear();
        let first_title = log.section(Section::Titles).start;
        let name = match self.config.section {
            Section::Titles => "views of titles",
            Section::Clicks => "views of queries",
        };
        let mut stream = rng::stream(seed, name, epoch * self.per_epoch() + index);
        for &number in numbers.iter() {
            let how = if number < first_title { &self.config.query_views } else { &self.config.title_views };
            views.push(log, log.pair(number as usize).query_words, how, &mut stream);
        }
        self.pack(views.texts(), title_texts, &views.words(log), queries, titles);
    }

    /// Fills in ln P_n of the titles in these rows, if the loss needs it.
    fn fill_noise(&self, rows: &Distinct, noise: &mut Option<Vec<f32>>) {
        if self.config.loss == LossKind::Softmax {
            *noise = None;
            return;
        }
        let noise = noise.get_or_insert_default();
        noise.clear();
        let of = |&pair: &u64| self.noise.as_ref().map_or(0.0, |noise| noise[pair as usize]);
        noise.extend(rows.pairs.iter().map(of));
    }

    /// Fills in the teacher's cosines of the pairs with these numbers and of the titles with these hashes.
    fn ask_teacher(&self, numbers: &[u64], titles: &[u64], pairs: &mut Pairs) {
        let (Some(taught), Some(how)) = (self.log.taught(), self.config.distillation) else {
            pairs.targets = None;
            return;
        };
        let first_title = self.log.section(Section::Titles).start;
        let of_pairs = numbers.iter().map(|&number| {
            let share = if number < first_title { how.clicks } else { how.titles };
            (self.log.pair(number as usize).query, share)
        });
        taught.fill(how.gamma, of_pairs, titles, pairs.targets.get_or_insert_default());
    }

    /// Fills the scores of titles of these pairs' queries, which become rows of the minibatch: that of the clicked title, if
    /// it has one, and a few others, drawn by `seed` and the minibatch's number.
    fn ask_for_scores(
        &self,
        seed: u64,
        minibatch: u64,
        numbers: &[u64],
        rows: &mut Distinct,
        margins: &mut Option<Margins>,
    ) {
        let (Some(scored), Some(how)) = (self.log.scored(), self.config.distillation) else {
            *margins = None;
            return;
        };
        let margins = margins.get_or_insert_default();
        margins.clear();
        (margins.gamma, margins.share) = (how.gamma, how.scores);
        let first_title = self.log.section(Section::Titles).start;
        let mut stream = rng::stream(seed, "scored titles", minibatch);
        let mut places: Vec<usize> = Vec::new();
        for &number in numbers {
            let pair = self.log.pair(number as usize);
            let lines = if number < first_title { scored.of(pair.query) } else { &[] };
            places.clear();
            places.extend(0..lines.len());
            let clicked = lines.binary_search_by_key(&pair.title, |line| line.title);
            let first = clicked.map_or(0, |place| {
                places.swap(0, place);
                1
            });
            let count = lines.len().min(SCORED_TITLES);
            for place in first..count {
                let other = stream.random_range(place..lines.len());
                places.swap(place, other);
            }
            let drawn = places[..count].iter().map(|&place| &lines[place]);
            margins.scores.extend(drawn.clone().map(|line| line.score));
            margins.titles.push(drawn.map(|line| rows.insert(line.title, line.pair)));
        }
    }

    /// Packs the texts into one batch for each tower.
    fn pack<'t>(
        &self,
        query_texts: impl Iterator<Item = &'t [WordId]> + Send,
        title_texts: impl Iterator<Item = &'t [WordId]> + Send,
        words: &impl WordFeatures,
        queries: &mut Batch,
        titles: &mut Batch,
    ) {
        let features = self.log.dictionary().len();
        let fill = |batch: &mut Batch, texts: &mut dyn Iterator<Item = &'t [WordId]>| {
            // Members are learnt next to each other, so a single one need not be divided among threads.
            if self.config.members > 1 {
                batch.fill_whole(texts, words)
            } else {
                batch.fill(texts, words)
            }
            batch.plan_rows(features);
        };
        if self.config.shared_tower {
            fill(queries, &mut query_texts.chain(title_texts));
            return;
        }
        let (mut query_texts, mut title_texts) = (query_texts, title_texts);
        rayon::join(|| fill(queries, &mut query_texts), || fill(titles, &mut title_texts));
    }
}

/// Adds the rows that must not be negatives of a pair: all titles clicked for its query anywhere in the log.
fn block(log: &ClickLog, rows: &Distinct, number: u64, blocked: &mut TitleLists) {
    let clicked = log.clicked(number as usize);
    if clicked.len() <= rows.len() {
        blocked.push(clicked.iter().filter_map(|pair| rows.find(pair[1])));
    } else {
        // For a query with many clicked titles, it is faster to go through the minibatch's titles.
        let was_clicked = |hash: &u64| clicked.binary_search_by_key(hash, |pair| pair[1]).is_ok();
        blocked.push((0..rows.len() as u32).filter(|&row| was_clicked(&rows.hashes[row as usize])));
    }
}

/// Draws n of the rows 0 … titles − 1 that are not blocked, without repetition and in random order.
fn sample(n: usize, titles: usize, blocked: &[u32], drawn: &mut Vec<u32>, stream: &mut Xoshiro256PlusPlus) {
    drawn.clear();
    let eligible = titles - blocked.len();
    if n.saturating_mul(4) < eligible {
        while drawn.len() < n {
            let row = stream.random_range(0..titles as u32);
            if !blocked.contains(&row) && !drawn.contains(&row) {
                drawn.push(row);
            }
        }
        return;
    }
    drawn.extend((0..titles as u32).filter(|row| !blocked.contains(row)));
    let n = n.min(drawn.len());
    for i in 0..n {
        let other = stream.random_range(i..drawn.len());
        drawn.swap(i, other);
    }
    drawn.truncate(n);
}

/// Draws n of all distinct titles that were not clicked for the query, and adds them as rows.
fn sample_uniform(
    log: &ClickLog,
    all: &[[u64; 2]],
    number: u64,
    n: usize,
    rows: &mut Distinct,
    drawn: &mut Vec<u32>,
    stream: &mut Xoshiro256PlusPlus,
) {
    drawn.clear();
    let clicked = log.clicked(number as usize);
    let was_clicked = |hash: u64| clicked.binary_search_by_key(&hash, |pair| pair[1]).is_ok();
    let eligible = all.len() - clicked.len();
    if n.saturating_mul(4) < eligible {
        while drawn.len() < n {
            let [hash, pair] = all[stream.random_range(0..all.len())];
            if !was_clicked(hash) {
                let row = rows.insert(hash, pair);
                if !drawn.contains(&row) {
                    drawn.push(row);
                }
            }
        }
        return;
    }
    // With few titles, shuffle all of them and take as many as needed.
    let mut left: Vec<[u64; 2]> = all.iter().copied().filter(|title| !was_clicked(title[0])).collect();
    for i in 0..n.min(left.len()) {
        let other = stream.random_range(i..left.len());
        left.swap(i, other);
        drawn.push(rows.insert(left[i][0], left[i][1]));
    }
}

impl Distinct {
    fn len(&self) -> usize {
        self.hashes.len()
    }

    fn clear(&mut self) {
        self.hashes.clear();
        self.pairs.clear();
        self.rows.clear();
    }

    fn find(&self, hash: u64) -> Option<u32> {
        self.rows.find(hash, |&row| self.hashes[row as usize] == hash).copied()
    }

    fn insert(&mut self, hash: u64, pair: u64) -> u32 {
        if let Some(row) = self.find(hash) {
            return row;
        }
        let row = self.hashes.len() as u32;
        self.hashes.push(hash);
        self.pairs.push(pair);
        let hashes = &self.hashes;
        self.rows.insert_unique(hash, row, |&row| hashes[row as usize]);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clicks::{ClickSource, LogConfig};
    use std::collections::HashSet;
    use std::path::Path;

    fn log(folder: &Path, rows: &str) -> ClickLog {
        let path = folder.join("clicks.tsv");
        std::fs::write(&path, format!("query\ttitle\n{rows}")).expect("written");
        let config = LogConfig { max_trigrams: 1000, ..LogConfig::default() };
        ClickLog::read(ClickSource::file(&path), Storage::Folder(folder), config).expect("a log")
    }

    fn config(negatives: Negatives, source: NegativeSource) -> MinibatchConfig {
        MinibatchConfig {
            section: Section::Clicks,
            titles: 0.0,
            query_views: Views::NONE,
            title_views: Views::NONE,
            size: 16,
            loss: LossKind::Softmax,
            negatives,
            source,
            shared_tower: false,
            seed: 3,
            members: 1,
            distillation: None,
        }
    }

    /// 40 queries with two clicked titles each. Every title is clicked for two queries.
    fn rows() -> String {
        (0..80).map(|i| format!("query{}\ttitle{}\n", i / 2, (i / 2 + i % 2) % 40)).collect()
    }

    /// The number of every pair in the log, and its negatives as title hashes.
    fn negatives(minibatch: &Minibatch) -> Vec<(u64, Vec<u64>)> {
        let hash = |row: &u32| minibatch.rows.hashes[*row as usize];
        (0..minibatch.pairs.positive.len())
            .map(|r| {
                let rows = match &minibatch.pairs.negatives {
                    NegativeRows::Listed(lists) => lists.get(r).iter().map(hash).collect(),
                    NegativeRows::AllBut(lists) => (0..minibatch.rows.len() as u32)
                        .filter(|row| !lists.get(r).contains(row))
                        .map(|row| hash(&row))
                        .collect(),
                };
                (minibatch.numbers[r], rows)
            })
            .collect()
    }

    #[test]
    fn a_negative_was_never_clicked_and_never_repeats() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = log(folder.path(), &rows());
        for (kind, source) in [
            (Negatives::Sampled(3), NegativeSource::Minibatch),
            (Negatives::Sampled(100), NegativeSource::Minibatch),
            (Negatives::All, NegativeSource::Minibatch),
            (Negatives::Sampled(3), NegativeSource::Uniform),
            (Negatives::Sampled(100), NegativeSource::Uniform),
        ] {
            let minibatches =
                Minibatches::new(&log, config(kind, source), Storage::Folder(folder.path())).expect("minibatches");
            let mut minibatch = Minibatch::default();
            for index in 0..minibatches.per_epoch() {
                minibatches.fill(0, index, &mut minibatch);
                let titles: HashSet<u64> = minibatch.rows.hashes.iter().copied().collect();
                assert_eq!(titles.len(), minibatch.rows.len(), "each title once");
                for (number, negatives) in negatives(&minibatch) {
                    let clicked: HashSet<u64> = log.clicked(number as usize).iter().map(|pair| pair[1]).collect();
                    let distinct: HashSet<u64> = negatives.iter().copied().collect();
                    assert_eq!(distinct.len(), negatives.len());
                    assert!(distinct.is_disjoint(&clicked), "{kind:?} {source:?}");
                    let eligible = match source {
                        NegativeSource::Minibatch => titles.difference(&clicked).count(),
                        NegativeSource::Uniform => 38,
                    };
                    let expected = match kind {
                        Negatives::Sampled(n) => n.min(eligible),
                        Negatives::All => eligible,
                    };
                    assert_eq!(negatives.len(), expected, "{kind:?} {source:?}");
                }
            }
        }
    }

    #[test]
    fn an_epoch_is_every_pair_once_and_the_seed_fixes_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = log(folder.path(), &rows());
        let kind = config(Negatives::Sampled(2), NegativeSource::Minibatch);
        let minibatches = Minibatches::new(&log, kind, Storage::Memory).expect("minibatches");
        let run = |epoch: u64, order: &[u64]| {
            let mut minibatch = Minibatch::default();
            let mut seen = vec![Vec::new(); minibatches.per_epoch() as usize];
            for &index in order {
                minibatches.fill(epoch, index, &mut minibatch);
                seen[index as usize] = minibatch.numbers.clone();
                seen[index as usize].extend(negatives(&minibatch).into_iter().flat_map(|(_, rows)| rows));
            }
            seen
        };
        assert_eq!(run(0, &[0, 1, 2, 3, 4]), run(0, &[4, 2, 3, 0, 1]), "no minibatch depends on another");
        assert_ne!(run(0, &[0, 1, 2, 3, 4]), run(1, &[0, 1, 2, 3, 4]));
        let mut minibatch = Minibatch::default();
        let mut numbers = Vec::new();
        for index in 0..5 {
            minibatches.fill(0, index, &mut minibatch);
            numbers.extend(minibatch.numbers.iter().copied());
        }
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..80));
    }

    #[test]
    fn noise_is_how_often_minibatches_have_a_title() {
        let folder = tempfile::tempdir().expect("a folder");
        // One title in half of the pairs, one in an eighth, and others in one each.
        let title = |i: u32| match i % 8 {
            0 | 2 | 4 | 6 => "common".to_owned(),
            1 => "known".to_owned(),
            _ => format!("title{i}"),
        };
        let rows: String = (0..800).map(|i| format!("query{i}\t{}\n", title(i))).collect();
        let log = log(folder.path(), &rows);
        let nce = |source| MinibatchConfig { loss: LossKind::Nce, size: 4, ..config(Negatives::Sampled(2), source) };
        let made = |source| Minibatches::new(&log, nce(source), Storage::Memory).expect("minibatches");
        let minibatches = made(NegativeSource::Minibatch);
        let (mut minibatch, mut found) = (Minibatch::default(), std::collections::HashMap::new());
        for (epoch, index) in (0..20).flat_map(|epoch| (0..200).map(move |index| (epoch, index))) {
            minibatches.fill(epoch, index, &mut minibatch);
            let noise = minibatch.pairs.noise.as_ref().expect("noise");
            assert_eq!(noise.len(), minibatch.rows.len());
            for (&hash, &noise) in minibatch.rows.hashes.iter().zip(noise) {
                let (count, chance) = found.entry(hash).or_insert((0u32, noise));
                *count += 1;
                assert_eq!(*chance, noise);
            }
        }
        let mut often: Vec<(u32, f32)> = found.into_values().collect();
        often.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
        for &(count, chance) in &often[..2] {
            let found = f64::from(count) / 4000.0;
            assert!((found - f64::from(chance.exp())).abs() < 0.03, "{found} {}", chance.exp());
        }
        made(NegativeSource::Uniform).fill(0, 0, &mut minibatch);
        let noise = minibatch.pairs.noise.as_ref().expect("noise");
        assert!(noise.len() > 2 && noise.iter().all(|&noise| noise == 0.0), "{noise:?}");
    }

    #[test]
    fn negatives_are_drawn_evenly() {
        let mut stream = rng::stream(1, "test", 0);
        let mut counts = [0u32; 50];
        let mut drawn = Vec::new();
        for _ in 0..20_000 {
            sample(4, 50, &[7], &mut drawn, &mut stream);
            drawn.iter().for_each(|&row| counts[row as usize] += 1);
        }
        // 80,000 draws from 49 rows give 1,633 each, with a standard deviation of 40.
        assert_eq!(counts[7], 0);
        assert!(counts.iter().enumerate().all(|(row, &n)| row == 7 || (1430..1840).contains(&n)), "{counts:?}");
    }
}

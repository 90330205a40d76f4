//! Minibatches: pairs in random order, each distinct title once, and the negatives of every pair.

mod distinct;
mod negatives;

use distinct::Distinct;
use negatives::{block, sample, sample_uniform};

use super::viewed::ViewedQueries;
use super::{ClickLog, Spooled, Storage, noise};
use crate::loss::{LossKind, Margins, NegativeRows, Pairs, TitleLists};
use crate::ranks::Part;
use crate::rng::{self, Permutation};
use crate::settings::{NegativeSource, Negatives, Section, TrainConfig};
use crate::text::WordId;
use crate::text::batch::{Batch, WordFeatures};
use crate::views::Views;
use clickvec_tables::Result;
use rand::RngExt as _;
use rayon::prelude::*;

/// The most titles of a query with a teacher's scores in a minibatch.
const SCORED_TITLES: usize = 4;

/// A maker of the minibatches of a log. It makes them in any order, because none depends on the ones before it.
pub struct Minibatches<'a> {
    log: &'a ClickLog,
    /// The pairs to use.
    section: Section,
    /// The settings of the training, with those of the section.
    config: TrainConfig,
    /// With [`NegativeSource::Uniform`]: for each distinct title its hash and a pair that has it.
    titles: Option<Spooled<[u64; 2]>>,
    /// With [`LossKind::Nce`] and [`NegativeSource::Minibatch`]: for each pair of the log, the logarithm of the chance that a
    /// minibatch has its title. All titles of [`NegativeSource::Uniform`] are equally likely.
    noise: Option<Spooled<f32>>,
    /// The part that this rank learns, if there are several.
    part: Option<Part>,
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
    /// Returns the minibatch of a member, counted from 0.
    pub(crate) fn member(&self, member: usize) -> &Minibatch {
        match member.checked_sub(1) {
            None => self,
            Some(other) => &self.others[other],
        }
    }
}

impl<'a> Minibatches<'a> {
    /// Creates the minibatches of a section of `log`, with the settings of its training. A list of all titles, if needed, is stored in `storage`.
    ///
    /// # Errors
    /// [`clickvec_tables::ErrorKind::Io`] if a temporary file cannot be written; [`clickvec_tables::ErrorKind::Memory`].
    pub fn new(
        log: &'a ClickLog,
        section: Section,
        config: TrainConfig,
        storage: Storage<'_>,
    ) -> Result<Minibatches<'a>> {
        let titles = match config.negative_source {
            NegativeSource::Minibatch => None,
            NegativeSource::Uniform => Some(log.distinct_titles(storage)?),
        };
        let mut minibatches = Minibatches { log, section, config, titles, noise: None, part: None };
        if minibatches.config.loss.kind == LossKind::Nce && minibatches.titles.is_none() {
            minibatches.noise = Some(minibatches.title_chances(storage)?);
        }
        Ok(minibatches)
    }

    /// Fills in only a part of each minibatch from now on.
    pub(crate) fn divide(&mut self, part: Part) {
        self.part = Some(part);
    }

    /// Returns the number of minibatches in an epoch.
    pub fn per_epoch(&self) -> u64 {
        self.pairs().div_ceil(self.config.batch_size as u64)
    }

    /// Returns the number of pairs in minibatch number `index` of an epoch.
    pub(crate) fn pairs_of(&self, index: u64) -> u64 {
        let size = self.config.batch_size as u64;
        size.min(self.pairs() - index * size)
    }

    /// Returns the number of pairs in an epoch.
    pub fn pairs(&self) -> u64 {
        let section = self.log.section(self.section);
        section.end - section.start + self.titles_among_clicks()
    }

    /// Computes, for each pair of the log, the logarithm of the chance that a minibatch has its title.
    fn title_chances(&self, storage: Storage<'_>) -> Result<Spooled<f32>> {
        let titles = self.log.section(Section::Titles);
        // Each epoch draws other titles to mix among the clicks.
        let share = self.titles_among_clicks() as f64 / (titles.end - titles.start).max(1) as f64;
        let (clicks, titles) = match self.section {
            Section::Clicks => (1.0, share),
            Section::Titles => (0.0, 1.0),
        };
        let epoch = noise::Epoch { clicks, titles, pairs: self.pairs(), minibatch: self.config.batch_size };
        epoch.title_chances(self.log, storage)
    }

    fn titles_among_clicks(&self) -> u64 {
        match self.section {
            Section::Titles => 0,
            Section::Clicks => {
                let (clicks, titles) = (self.log.section(Section::Clicks), self.log.section(Section::Titles));
                let share = self.config.titles.map_or(0.0, |titles| titles.among_clicks);
                ((clicks.end as f64 * f64::from(share)) as u64).min(titles.end - titles.start)
            }
        }
    }

    /// Replaces `numbers` by the pairs of a minibatch, in the order of the epoch.
    fn choose(&self, seed: u64, epoch: u64, index: u64, numbers: &mut Vec<u64>) {
        let (pairs, size) = (self.pairs(), self.config.batch_size as u64);
        let order = Permutation::new(pairs, seed, "order", epoch);
        let indexes = index * size..((index + 1) * size).min(pairs);
        numbers.clear();
        let section = self.log.section(self.section);
        if self.titles_among_clicks() == 0 {
            numbers.extend(indexes.map(|index| section.start + order.at(index)));
            return;
        }
        let titles = self.log.section(Section::Titles);
        let drawn = Permutation::new(titles.end - titles.start, seed, "titles among clicks", epoch);
        numbers.extend(indexes.map(|index| match order.at(index) {
            click if click < section.end => click,
            title => titles.start + drawn.at(title - section.end),
        }));
    }

    /// Returns whether no query is changed.
    fn is_plain(&self) -> bool {
        match self.section {
            Section::Clicks => self.config.augment == Views::NONE && self.titles_among_clicks() == 0,
            Section::Titles => false,
        }
    }

    /// Fills minibatch number `index` of `epoch`, both counted from 0.
    pub fn fill(&self, epoch: u64, index: u64, minibatch: &mut Minibatch) {
        if self.config.encoder.members() < 2 {
            return self.fill_one(self.config.seed, epoch, index, minibatch);
        }
        let learns = |member: usize| self.part.as_ref().is_none_or(|part| part.members[member]);
        let mut others = std::mem::take(&mut minibatch.others);
        others.resize_with(self.config.encoder.members() - 1, Minibatch::default);
        rayon::join(
            || {
                if learns(0) {
                    self.fill_one(self.config.seed, epoch, index, minibatch);
                }
            },
            || {
                let learnt = (1u64..).zip(&mut others).filter(|&(member, _)| learns(member as usize));
                learnt.collect::<Vec<_>>().into_par_iter().for_each(|(member, other)| {
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
                    // How bad a title with a score is, the teacher says.
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
        let name = match self.section {
            Section::Titles => "views of titles",
            Section::Clicks => "views of queries",
        };
        let mut stream = rng::stream(seed, name, epoch * self.per_epoch() + index);
        let title_views = self.config.titles.map_or(Views::NONE, |titles| titles.views);
        for &number in numbers.iter() {
            let how = if number < first_title { &self.config.augment } else { &title_views };
            views.push(log, log.pair(number as usize).query_words, how, &mut stream);
        }
        self.pack(views.texts(), title_texts, &views.words(log), queries, titles);
    }

    /// Fills in ln P_n of the titles in these rows, if the loss needs it.
    fn fill_noise(&self, rows: &Distinct, noise: &mut Option<Vec<f32>>) {
        if self.config.loss.kind == LossKind::Softmax {
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
        let (Some(taught), Some(how)) = (self.log.taught(), self.config.teacher) else {
            pairs.targets = None;
            return;
        };
        let first_title = self.log.section(Section::Titles).start;
        let shares = numbers.iter().map(|&number| {
            let share = if number < first_title { how.clicks } else { how.titles };
            (self.log.pair(number as usize).query, share)
        });
        taught.fill(how.gamma, shares, titles, pairs.targets.get_or_insert_default());
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
        let (Some(scored), Some(how)) = (self.log.scored(), self.config.teacher) else {
            *margins = None;
            return;
        };
        let margins = margins.get_or_insert_default();
        margins.clear();
        (margins.gamma, margins.share) = (how.gamma, how.scores);
        let first_title = self.log.section(Section::Titles).start;
        let mut stream = rng::stream(seed, "scored titles", minibatch);
        let mut indexes: Vec<usize> = Vec::new();
        for &number in numbers {
            let pair = self.log.pair(number as usize);
            let lines = if number < first_title { scored.lines(pair.query) } else { &[] };
            indexes.clear();
            indexes.extend(0..lines.len());
            let clicked = lines.binary_search_by_key(&pair.title, |line| line.title);
            let first = clicked.map_or(0, |index| {
                indexes.swap(0, index);
                1
            });
            let count = lines.len().min(SCORED_TITLES);
            for index in first..count {
                let other = stream.random_range(index..lines.len());
                indexes.swap(index, other);
            }
            let drawn = indexes[..count].iter().map(|&index| &lines[index]);
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
            if self.config.encoder.members() > 1 {
                batch.fill_all(texts, words)
            } else {
                batch.fill(texts, words)
            }
            if let Some(part) = self.part.as_ref().filter(|part| part.shares > 1) {
                batch.keep_share(part.share, part.shares);
            }
            batch.plan_rows(features);
        };
        if self.config.shared_towers {
            fill(queries, &mut query_texts.chain(title_texts));
            return;
        }
        let (mut query_texts, mut title_texts) = (query_texts, title_texts);
        rayon::join(|| fill(queries, &mut query_texts), || fill(titles, &mut title_texts));
    }
}

#[cfg(test)]
mod tests;

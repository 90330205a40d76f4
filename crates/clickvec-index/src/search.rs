//! Answering a request: the lists of the vectors, the words, the trigrams and the teacher, and one made of all.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use clickvec::index::Hit as Place;
use clickvec::internals::text;
use clickvec::model::Side;
use clickvec_eval::internals::{fused_shares, sum_shares};

use rayon::prelude::*;

use crate::answer::{Answer, Document, Hit, QueryFacts, QueryWord, Share, Timings, WordShare};
use crate::bm25::Bm25;
use crate::error::{RequestFault, Result};
use crate::fusion::Fusion;
use crate::open::{Index, Opened, bit};
use crate::part::Part;
use crate::request::{Filter, Mode, Request};
use crate::segment::{MANY_HITS, Reach};
use crate::teacher::Teacher;
use crate::trigrams::Trigrams;
use crate::words::{self, Statistics};

/// The titles of a segment that may be found: those that are there and meet all conditions, a bit for each; `None` if all
/// may.
type Allowed = Option<Vec<u64>>;

impl Index {
    /// The answer to a request.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Request`] if the request cannot be answered as it is; [`crate::Error::Index`] if a part of the index
    /// that was needed for it is damaged.
    pub fn search(&self, request: &Request) -> Result<Answer> {
        let begin = in_time(request)?;
        if request.k == 0 {
            return Err(RequestFault::NoTitles.into());
        }
        let mut timings = Timings::default();
        let allowed = self.allowed(&request.filters)?;
        let of_segment = |(opened, allowed): (&Opened, &Allowed)| match allowed {
            None => opened.segment.len() as u64,
            Some(bits) => count(bits, opened.segment.len()),
        };
        let total: u64 = self.segments.iter().zip(&allowed).map(of_segment).sum();
        timings.filter = begin.elapsed();
        let query = self.query(&request.text)?;
        let wanted = request.k.saturating_add(request.offset).min(total as usize);
        // A fused score depends on how long the lists are, so these must be the same for every page.
        let asked = match request.mode {
            Mode::Fused => request.depth.unwrap_or(request.k.max(self.fusion().depth())),
            Mode::Alone(_) => wanted,
        };
        let depth = asked.min(total as usize);
        let parts = self.parts(request.mode)?;
        let [mut by_vectors, mut by_words, mut by_trigrams, mut by_teacher] = [(); 4].map(|()| Vec::new());
        if parts[0] && query.has_vector {
            let began = in_time(request)?;
            let vector = self.model.queries.embed(&[&request.text]);
            timings.encode = began.elapsed();
            let began = in_time(request)?;
            // So must be the part of the vectors that is looked at.
            let reach = match request.mode {
                _ if request.exact => Reach::All,
                Mode::Alone(_) if request.k > MANY_HITS => Reach::More,
                _ => Reach::Nearest,
            };
            by_vectors = self.by_vectors(&vector, depth, reach, &allowed)?;
            timings.vectors = began.elapsed();
        }
        if parts[1] {
            let began = in_time(request)?;
            by_words = self.by_words(&request.text, depth, &allowed)?;
            timings.words = began.elapsed();
        }
        if let Some(trigrams) = self.fusion().trigrams.as_ref().filter(|_| parts[2]) {
            let began = in_time(request)?;
            by_trigrams = self.by_trigrams(trigrams, &request.text, depth, &allowed);
            timings.trigrams = began.elapsed();
        }
        if let Some(teacher) = self.fusion().teacher.as_ref().filter(|_| parts[3]) {
            let began = in_time(request)?;
            by_teacher = self.by_teacher(teacher, &request.text, depth, &allowed)?;
            timings.teacher = began.elapsed();
        }
        let began = in_time(request)?;
        let fusion = (request.mode == Mode::Fused).then(|| self.fusion());
        let weights = fusion.map_or([0.0; 4], Fusion::weights);
        let lists = [&by_vectors, &by_words, &by_trigrams, &by_teacher];
        let adds: Vec<Vec<(u32, f64)>> = fusion.map_or_else(Vec::new, |fusion| {
            lists.iter().zip(weights).map(|(list, weight)| fused_shares(list, weight, fusion.method, asked)).collect()
        });
        let fused = sum_shares(&adds);
        let list = match request.mode {
            Mode::Alone(part) => lists[part as usize],
            Mode::Fused => &fused,
        };
        let shown: HashSet<u32> =
            list.iter().skip(request.offset).take(request.k).map(|place| place.position).collect();
        let of_part = |part: usize| shares(lists[part], adds.get(part), &shown);
        let [of_vectors, of_words, of_trigrams, of_teacher] = [0, 1, 2, 3].map(of_part);
        timings.fuse = began.elapsed();
        let mut hits = Vec::new();
        for (rank, place) in (1..).zip(list).skip(request.offset).take(request.k) {
            let (opened, position) = self.locate(place.position);
            opened.segment.line(position)?;
            let Some(document) = opened.segment.titles.document(position) else { continue };
            hits.push(Hit {
                rank,
                id: document.id,
                title: document.title,
                fields: document.fields,
                score: place.score,
                vectors: of_vectors.get(&place.position).copied(),
                words: of_words.get(&place.position).copied(),
                trigrams: of_trigrams.get(&place.position).copied(),
                teacher: of_teacher.get(&place.position).copied(),
            });
        }
        timings.total = begin.elapsed();
        Ok(Answer { hits, total, query, timings })
    }

    /// Answers several requests on all threads.
    ///
    /// # Errors
    ///
    /// Those of [`Index::search`].
    pub fn search_all(&self, requests: &[Request]) -> Result<Vec<Answer>> {
        self.prepare()?;
        requests.par_iter().map(|request| self.search(request)).collect()
    }

    /// Makes what searches need besides the files: the teacher's vectors of the titles, if the fusion has a teacher. Otherwise the first
    /// search does so, and each of several that come at once.
    ///
    /// # Errors
    ///
    /// `clickvec::Error::NoMemory`.
    pub fn prepare(&self) -> Result<()> {
        let Some(teacher) = &self.fusion().teacher else { return Ok(()) };
        self.segments.iter().try_for_each(|opened| {
            let titles = &opened.segment.titles;
            let title = |position: usize| titles.get(position as u32).map_or("", |line| line.title);
            opened.teacher.made(teacher, (titles.len(), &title)).map(drop)
        })
    }

    /// Whether a query has a vector of the teacher's kind; `false` without a teacher.
    pub fn teacher_knows(&self, query: &str) -> bool {
        self.fusion().teacher.as_ref().is_some_and(|teacher| teacher.ranker.unit(Side::Query, query).is_some())
    }

    /// Returns the modes in which this index can be searched.
    pub fn modes(&self) -> Vec<Mode> {
        let has = |part| match part {
            Part::Vectors | Part::Words => true,
            Part::Trigrams => self.fusion().trigrams.is_some(),
            Part::Teacher => self.fusion().teacher.is_some(),
        };
        Mode::all().filter(|mode| !matches!(mode, Mode::Alone(part) if !has(*part))).collect()
    }

    /// Returns which parts are searched. A part without weight takes no part in a fusion.
    fn parts(&self, mode: Mode) -> Result<[bool; 4]> {
        match mode {
            Mode::Fused => Ok(self.fusion().weights().map(|weight| weight > 0.0)),
            Mode::Alone(alone) if self.modes().contains(&mode) => Ok(Part::ALL.map(|part| part == alone)),
            Mode::Alone(_) => {
                let known = self.modes().into_iter().map(|mode| mode.name().to_owned()).collect();
                Err(RequestFault::NoSuchMode { found: mode.name().to_owned(), known }.into())
            }
        }
    }

    /// Some of the titles, at most `count`, spread over all.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Index`] if the titles are damaged.
    pub fn sample(&self, count: usize) -> Result<Vec<Document>> {
        let all = self.all_titles();
        let (count, mut titles, mut next) = (count.min(all), Vec::new(), 0);
        for number in 0..count {
            let (opened, position) = self.locate(next.max((number as u128 * all as u128 / count as u128) as u32));
            let mut here = position..opened.segment.len() as u32;
            let Some(position) = here.find(|&position| opened.is_alive(position)) else { continue };
            opened.segment.line(position)?;
            next = opened.first + position + 1;
            titles.extend(opened.segment.titles.document(position));
        }
        Ok(titles)
    }

    /// What each distinct word of a query adds to the BM25 of a title.
    pub(crate) fn word_shares(&self, query: &str, title: &str) -> Result<Vec<WordShare>> {
        let analysis = self.fusion().analysis;
        let Statistics { titles, tokens, .. } = self.statistics()?;
        let (mut length, mut counts) = (0.0, HashMap::new());
        for term in text::terms(title, analysis) {
            length += 1.0;
            *counts.entry(term).or_insert(0) += 1;
        }
        let Bm25 { k1, b } = self.fusion().bm25;
        let relative = length * titles as f64 / (tokens as f64).max(f64::MIN_POSITIVE);
        let (norm, titles) = (k1 * (1.0 - b + b * relative), titles as f64);
        let mut in_query: Vec<(String, u32)> = Vec::new();
        for word in text::words(query) {
            match in_query.iter_mut().find(|(known, _)| *known == word) {
                Some((_, count)) => *count += 1,
                None => in_query.push((word, 1)),
            }
        }
        let mut with_term: HashMap<String, u64> = HashMap::new();
        let mut shares = Vec::new();
        for (word, in_query) in in_query {
            let mut of = WordShare { word, in_query, in_title: 0, titles: 0, share: 0.0 };
            let mut sum = 0.0;
            for term in text::terms(&of.word, analysis) {
                let in_title = counts.get(&term).copied().unwrap_or(0);
                let with = match with_term.get(&term) {
                    Some(&with) => with,
                    None => self.titles_with(&term)?,
                };
                let (tf, df) = (f64::from(in_title), with as f64);
                let idf = (1.0 + (titles - df + 0.5) / (df + 0.5)).ln();
                sum += f64::from(in_query) * idf * (k1 + 1.0) * tf / (tf + norm);
                (of.in_title, of.titles) = (of.in_title.max(in_title), of.titles.max(with));
                with_term.insert(term, with);
            }
            of.share = sum as f32;
            shares.push(of);
        }
        Ok(shares)
    }

    /// The titles that may be found, for each segment.
    fn allowed(&self, filters: &[Filter]) -> Result<Vec<Allowed>> {
        let of_segment = |opened: &Opened| {
            let mut allowed = opened.alive.clone();
            for filter in filters {
                let column = opened.segment.fields.get(&filter.field).ok_or_else(|| RequestFault::Field {
                    found: filter.field.clone(),
                    known: self.stored_fields().to_vec(),
                })?;
                let matching = column.matching(&filter.condition);
                match &mut allowed {
                    None => allowed = Some(matching),
                    Some(allowed) => allowed.iter_mut().zip(matching).for_each(|(word, other)| *word &= other),
                }
            }
            Ok(allowed)
        };
        self.segments.iter().map(of_segment).collect()
    }

    fn query(&self, query: &str) -> Result<QueryFacts> {
        let dictionary = self.model.model.dictionary();
        let mut facts = QueryFacts { words: Vec::new(), has_vector: dictionary.knows_a_word(query) };
        let mut known = HashSet::new();
        for word in text::words(query) {
            if !known.insert(word.clone()) {
                continue;
            }
            let terms = text::terms(&word, self.fusion().analysis);
            let titles = terms.iter().map(|term| self.titles_with(term)).collect::<Result<Vec<_>>>()?;
            let (titles, known_to_model) = (titles.into_iter().max(), dictionary.knows_a_word(&word));
            facts.words.push(QueryWord { text: word, known_to_model, titles });
        }
        Ok(facts)
    }

    /// The distinct words of each of `titles` that the query has too, as this index compares words: `sofas` if the query is
    /// `sofa` and plurals are one with singulars.
    pub fn matched_words(&self, query: &str, titles: &[&str]) -> Vec<Vec<String>> {
        let analysis = self.fusion().analysis;
        let asked: HashSet<String> = text::terms(query, analysis).into_iter().collect();
        let is_asked = |word: &str| {
            let mut is_asked = false;
            analysis.for_each_term(word, |term| is_asked |= asked.contains(term));
            is_asked
        };
        let mut buffer = text::WordBuffer::default();
        let mut of_title = |title: &&str| {
            let (mut matched, mut known) = (Vec::new(), HashSet::new());
            text::for_each_word(title, &mut buffer, |word| {
                if !known.contains(word) && is_asked(word) {
                    known.insert(word.to_owned());
                    matched.push(word.to_owned());
                }
            });
            matched
        };
        titles.iter().map(&mut of_title).collect()
    }

    fn titles_with(&self, term: &str) -> Result<u64> {
        let of_segment = |opened: &Opened| {
            let found = words::guarded(|| opened.segment.words.titles_with(term));
            found.map_err(|error| opened.segment.of_words(&error))
        };
        self.segments.iter().map(of_segment).sum()
    }

    fn by_vectors(&self, vector: &[f32], k: usize, reach: Reach, allowed: &[Allowed]) -> Result<Vec<Place>> {
        let mut hits = Vec::new();
        for (opened, allowed) in self.segments.iter().zip(allowed) {
            let found = opened.segment.vectors.search(vector, k, reach, allowed.as_deref())?;
            hits.extend(found.into_iter().map(|hit| opened.place(hit)));
        }
        Ok(best(hits, k))
    }

    /// The statistics of the words of all segments.
    fn statistics(&self) -> Result<Statistics<'_>> {
        let segments = self.segments.iter().map(|opened| &opened.segment.words).collect();
        let statistics = words::guarded(|| Statistics::new(segments, self.fusion().bm25));
        statistics.map_err(|error| self.segments[0].segment.of_words(&error))
    }

    fn by_words(&self, query: &str, k: usize, allowed: &[Allowed]) -> Result<Vec<Place>> {
        let terms = text::terms(query, self.fusion().analysis);
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let statistics = self.statistics()?;
        let mut hits = Vec::new();
        for (opened, allowed) in self.segments.iter().zip(allowed) {
            let is_allowed = |position| allowed.as_ref().is_none_or(|bits| bit(bits, position));
            let found = words::guarded(|| opened.segment.words.search(&terms, k, &statistics, &is_allowed));
            let found = found.map_err(|error| opened.segment.of_words(&error))?;
            hits.extend(found.into_iter().map(|hit| opened.place(hit)));
        }
        Ok(best(hits, k))
    }

    fn by_trigrams(&self, trigrams: &Trigrams, query: &str, k: usize, allowed: &[Allowed]) -> Vec<Place> {
        let query = trigrams.ranker.query(query);
        let mut hits = Vec::new();
        for (opened, allowed) in self.segments.iter().zip(allowed) {
            let is_allowed = |position| allowed.as_ref().is_none_or(|bits| bit(bits, position));
            let lists = opened.segment.trigrams.iter();
            let found = lists.flat_map(|lists| lists.search(&trigrams.ranker, &query, k, &is_allowed));
            hits.extend(found.map(|hit| opened.place(hit)));
        }
        best(hits, k)
    }

    fn by_teacher(&self, teacher: &Teacher, query: &str, k: usize, allowed: &[Allowed]) -> Result<Vec<Place>> {
        let Some(vector) = teacher.ranker.unit(Side::Query, query) else { return Ok(Vec::new()) };
        let mut hits = Vec::new();
        for (opened, allowed) in self.segments.iter().zip(allowed) {
            let titles = &opened.segment.titles;
            let title = |position: usize| titles.get(position as u32).map_or("", |line| line.title);
            let found = opened.teacher.search((teacher, &vector), (titles.len(), &title), k, allowed.as_deref())?;
            hits.extend(found.into_iter().map(|hit| opened.place(hit)));
        }
        Ok(best(hits, k))
    }

    /// The segment of a title, and its position in it.
    fn locate(&self, position: u32) -> (&Opened, u32) {
        let after = self.segments.partition_point(|opened| opened.first <= position);
        let opened = &self.segments[after.saturating_sub(1)];
        (opened, position - opened.first)
    }
}

impl Opened {
    /// A hit of this segment with its position among the titles of all.
    fn place(&self, hit: Place) -> Place {
        Place { position: self.first + hit.position, score: hit.score }
    }
}

fn best(mut hits: Vec<Place>, k: usize) -> Vec<Place> {
    hits.sort_unstable_by(Place::best_first);
    hits.truncate(k);
    hits
}

/// The place in a list of each title that is shown, and what it adds to a fusion, if there is one.
fn shares(list: &[Place], adds: Option<&Vec<(u32, f64)>>, shown: &HashSet<u32>) -> HashMap<u32, Share> {
    let share = |(at, hit): (usize, &Place)| {
        let adds = adds.and_then(|adds| adds.get(at)).map(|&(_, adds)| adds as f32);
        (hit.position, Share { rank: at + 1, score: hit.score, adds })
    };
    list.iter().enumerate().filter(|(_, hit)| shown.contains(&hit.position)).map(share).collect()
}

/// The number of bits among the first `len`.
fn count(bits: &[u64], len: usize) -> u64 {
    let whole = len / 64;
    let rest = match (len % 64, bits.get(whole)) {
        (0, _) | (_, None) => 0,
        (rest, Some(word)) => u64::from((word & ((1 << rest) - 1)).count_ones()),
    };
    bits.iter().take(whole).map(|word| u64::from(word.count_ones())).sum::<u64>() + rest
}

/// The time now, unless the answer would come too late.
fn in_time(request: &Request) -> Result<Instant> {
    let now = Instant::now();
    match request.deadline {
        Some(deadline) if now >= deadline => Err(RequestFault::Deadline.into()),
        _ => Ok(now),
    }
}

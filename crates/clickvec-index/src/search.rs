//! Answering a request: a list of titles from each part, and one made of all.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use clickvec::index::Hit as Found;
use clickvec::internals::text;
use clickvec_tables::shown::shortened;
use rayon::prelude::*;

use crate::answer::{Answer, Document, Hit, QueryFacts, QueryWord, Share, Timings};
use crate::bits;
use crate::error::{Error, ErrorKind, Result, bad_request};
use crate::finders::{Allowed, Question, finder};
use crate::open::{Index, Opened};
use crate::part::{ByPart, Part};
use crate::parts::vectors::{MANY_HITS, Reach};
use crate::request::{Filter, Mode, Request, listed};

impl Index {
    /// Answers a request.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Setting`] if the request cannot be answered as it is, with the field as its place; [`ErrorKind::Interrupted`] after
    /// the deadline; [`ErrorKind::Malformed`] if a part of the index that was needed is damaged.
    pub fn search(&self, request: &Request) -> Result<Answer> {
        let begin = in_time(request)?;
        if request.k == 0 {
            return Err(bad_request("k", "at least 1 title to return", "0"));
        }
        let mut timings = Timings::default();
        let allowed = self.allowed(&request.filters)?;
        let in_segment = |(opened, allowed): (&Opened, &Allowed)| match allowed {
            None => opened.segment.len() as u64,
            Some(bits) => bits::count(bits, opened.segment.len()),
        };
        let total: u64 = self.segments.iter().zip(&allowed).map(in_segment).sum();
        timings.filter = begin.elapsed();
        let query = self.query(&request.text)?;
        // A fused score depends on how long the lists are, so these must be the same for every page.
        let depth = match request.mode {
            Mode::Fused => request.depth.unwrap_or(request.k.max(self.fusion.depth())),
            Mode::Alone(_) => request.k.saturating_add(request.offset).min(total as usize),
        };
        // So must be the part of the vectors that is looked at.
        let reach = match request.mode {
            _ if request.exact => Reach::All,
            Mode::Alone(_) if request.k > MANY_HITS => Reach::More,
            _ => Reach::Nearest,
        };
        let parts = self.parts(request.mode)?;
        let mut vector = Vec::new();
        if parts.contains(&Part::Vectors) && query.has_vector {
            let began = in_time(request)?;
            vector = self.model.queries.embed(&[&request.text]);
            timings.encode = began.elapsed();
        }
        let question = Question {
            text: &request.text,
            vector: query.has_vector.then_some(&vector[..]),
            k: depth.min(total as usize),
            reach,
            allowed: &allowed,
        };
        let mut lists: ByPart<Vec<Found>> = ByPart::default();
        for &part in &parts {
            let began = in_time(request)?;
            lists.insert(part, finder(part).search(self, &question)?);
            timings.parts.insert(part, began.elapsed());
        }
        let began = in_time(request)?;
        let (fused, adds);
        let list: &[Found] = match request.mode {
            Mode::Alone(part) => {
                adds = ByPart::default();
                lists.get(part).map_or(&[], |list| list)
            }
            Mode::Fused => {
                (fused, adds) = self.fusion.fuse(&lists, depth);
                &fused
            }
        };
        let page = || list.iter().skip(request.offset).take(request.k);
        let shown: HashSet<u32> = page().map(|found| found.position).collect();
        let shares = lists.map(|part, list| shares(list, adds.get(part), &shown));
        timings.fuse = began.elapsed();
        let mut hits = Vec::new();
        for (rank, found) in (request.offset + 1..).zip(page()) {
            let (opened, position) = self.locate(found.position);
            let Document { id, title, fields } = opened.segment.document(position)?;
            let parts = shares.iter().filter_map(|(part, of)| Some((part, *of.get(&found.position)?))).collect();
            hits.push(Hit { rank, id, title, fields, score: found.score, parts });
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
    /// [`ErrorKind::Memory`].
    pub fn prepare(&self) -> Result<()> {
        let Some(teacher) = &self.fusion.teacher else { return Ok(()) };
        self.segments.iter().try_for_each(|opened| opened.teacher.made(teacher, &opened.segment.titles).map(drop))
    }

    /// Returns whether a part must find something for the text of one of the index's own titles.
    pub fn finds_own(&self, part: Part, title: &str) -> bool {
        match part {
            Part::Vectors => self.model.model.dictionary().knows_a_word(title),
            Part::Words | Part::Trigrams => !text::words(title).is_empty(),
            Part::Teacher => self.fusion.teacher.as_ref().is_some_and(|teacher| teacher.vector(title).is_some()),
        }
    }

    /// Returns the modes in which this index can be searched.
    pub fn modes(&self) -> Vec<Mode> {
        let is_in = |mode: &Mode| match mode {
            Mode::Alone(part) => finder(*part).is_in(&self.fusion),
            Mode::Fused => true,
        };
        Mode::all().filter(is_in).collect()
    }

    /// Returns the parts that are searched. A part without weight takes no part in a fusion.
    pub fn parts(&self, mode: Mode) -> Result<Vec<Part>> {
        let weighs = |part: &Part| self.fusion.weight(*part) > 0.0;
        match mode {
            Mode::Fused => Ok(Part::ALL.into_iter().filter(weighs).collect()),
            Mode::Alone(part) if finder(part).is_in(&self.fusion) => Ok(vec![part]),
            Mode::Alone(part) => {
                let known = listed(self.modes().into_iter().map(Mode::name));
                Err(bad_request("mode", format!("a mode that the index has ({known})"), format!("`{part}`")))
            }
        }
    }

    /// The titles that may be found, for each segment.
    fn allowed(&self, filters: &[Filter]) -> Result<Vec<Allowed>> {
        let in_segment = |opened: &Opened| {
            let mut allowed = opened.alive.clone();
            for filter in filters {
                let column = opened
                    .segment
                    .fields
                    .get(&filter.field)
                    .ok_or_else(|| unknown_field(&filter.field, self.stored_fields()))?;
                let matching = column.matching(&filter.condition);
                match &mut allowed {
                    None => allowed = Some(matching),
                    Some(allowed) => allowed.iter_mut().zip(matching).for_each(|(word, other)| *word &= other),
                }
            }
            Ok(allowed)
        };
        self.segments.iter().map(in_segment).collect()
    }

    fn query(&self, query: &str) -> Result<QueryFacts> {
        let dictionary = self.model.model.dictionary();
        let mut facts = QueryFacts { words: Vec::new(), has_vector: dictionary.knows_a_word(query) };
        let (mut known, statistics) = (HashSet::new(), self.statistics());
        for word in text::words(query) {
            if !known.insert(word.clone()) {
                continue;
            }
            let terms = text::terms(&word, self.fusion.analysis);
            let titles = terms.iter().map(|term| statistics.titles_with(term)).collect::<Result<Vec<_>>>()?;
            let (titles, known_to_model) = (titles.into_iter().max().unwrap_or(0), dictionary.knows_a_word(&word));
            facts.words.push(QueryWord { text: word, known_to_model, titles });
        }
        Ok(facts)
    }

    /// The distinct words of each of `titles` that the query has too, as this index compares words: `sofas` if the query is
    /// `sofa` and plurals are one with singulars.
    pub fn matched_words(&self, query: &str, titles: &[&str]) -> Vec<Vec<String>> {
        let analysis = self.fusion.analysis;
        let query_terms: HashSet<String> = text::terms(query, analysis).into_iter().collect();
        let is_in_query = |word: &str| {
            let mut is_in_query = false;
            analysis.for_each_term(word, |term| is_in_query |= query_terms.contains(term));
            is_in_query
        };
        let mut buffer = text::WordBuffer::default();
        let mut matched_in = |title: &&str| {
            let (mut matched, mut known) = (Vec::new(), HashSet::new());
            text::for_each_word(title, &mut buffer, |word| {
                if !known.contains(word) && is_in_query(word) {
                    known.insert(word.to_owned());
                    matched.push(word.to_owned());
                }
            });
            matched
        };
        titles.iter().map(&mut matched_in).collect()
    }
}

/// Creates the error of a field that an index does not store.
pub(crate) fn unknown_field(found: &str, known: &[String]) -> Error {
    let expected = format!("a condition on a stored field of the index ({})", listed(known));
    bad_request("filters", expected, format!("one on `{}`", shortened(found)))
}

/// The place in a list of each title that is shown, and what it adds to a fusion, if there is one.
fn shares(list: &[Found], adds: Option<&Vec<(u32, f64)>>, shown: &HashSet<u32>) -> HashMap<u32, Share> {
    let share = |(at, hit): (usize, &Found)| {
        let adds = adds.and_then(|adds| adds.get(at)).map(|&(_, adds)| adds as f32);
        (hit.position, Share { rank: at + 1, score: hit.score, adds })
    };
    list.iter().enumerate().filter(|(_, hit)| shown.contains(&hit.position)).map(share).collect()
}

/// The time now, unless the answer would come too late.
fn in_time(request: &Request) -> Result<Instant> {
    let now = Instant::now();
    match request.deadline {
        Some(deadline) if now >= deadline => {
            let error = Error::expected(ErrorKind::Interrupted, "to answer before the deadline", "that it is over");
            Err(error.help("allow more time"))
        }
        _ => Ok(now),
    }
}

//! Answering a request: a list of titles from each part, and one made of all.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use clickvec::index::Hit as Found;
use clickvec::internals::text;
use clickvec_tables::shown::shortened;
use rayon::prelude::*;

use crate::answer::{Answer, Document, Hit, QueryFacts, QueryWord, Share, Timings};
use crate::bits;
use crate::confidence::Confidence;
use crate::error::{Error, ErrorKind, Result, bad_request};
use crate::finders::{Allowed, Question, finder};
use crate::fusion_method::FusionMethod;
use crate::open::{Index, Opened};
use crate::part::{ByPart, Part};
use crate::parts::teacher::Teacher;
use crate::parts::vectors::{MANY_HITS, Reach};
use crate::request::{Filter, Mode, Pin, Request, listed};
use crate::title_match::{LOOKED_AT, QueryMatch, Scratch, TitleMatch};

/// The rank of a pin, and the position of its title.
type RankOfPin = (usize, u32);

/// A title of the list that is shown.
#[derive(Clone, Copy)]
struct Ranked {
    found: Found,
    title_match: Option<TitleMatch>,
    confidence: Option<f32>,
}

impl Ranked {
    fn new(found: Found) -> Ranked {
        Ranked { found, title_match: None, confidence: None }
    }

    /// Returns whether its confidence, if it has one, reaches `least`.
    fn is_likely(&self, least: f32) -> bool {
        self.confidence.is_none_or(|confidence| confidence >= least)
    }
}

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
        let (mut allowed, pinned) = self.allowed(request)?;
        let in_segment = |(opened, allowed): (&Opened, &Allowed)| match allowed {
            None => opened.segment.len() as u64,
            Some(bits) => bits::count(bits, opened.segment.len()),
        };
        let total: u64 = self.segments.iter().zip(&allowed).map(in_segment).sum();
        // No part finds them a second time.
        pinned.iter().for_each(|&(_, position)| self.forbid(&mut allowed, position));
        timings.filter = begin.elapsed();
        let mut query = self.query(&request.text)?;
        if request.mode == Mode::Fused && request.corrects {
            query.corrected = self.corrected(&request.text)?;
        }
        let text = query.corrected.as_deref().unwrap_or(&request.text);
        // A fused score depends on how long the lists are, so these must be the same for every page.
        let is_reordered = !(request.boosts.is_empty() && request.facets.is_empty());
        let depth = match (request.mode, request.depth) {
            (Mode::Fused, Some(depth)) => depth,
            _ if is_reordered => request.k.max(self.fusion.reordered_depth()),
            (Mode::Fused, None) => request.k.max(self.fusion.depth()),
            (Mode::Alone(_), _) => request.k.saturating_add(request.offset).min(total as usize),
        };
        // So must be the share of the vectors that is compared.
        let reach = match request.mode {
            _ if request.exact => Reach::All,
            Mode::Alone(_) if request.k > MANY_HITS => Reach::More,
            _ => Reach::Nearest,
        };
        let parts = self.parts(request.mode)?;
        let (mut vector, mut typed_vector) = (Vec::new(), Vec::new());
        if parts.contains(&Part::Vectors) {
            let began = in_time(request)?;
            (vector, typed_vector) = self.query_vectors(&request.text, query.corrected.as_deref());
            timings.encode = began.elapsed();
        }
        let began = in_time(request)?;
        let teacher = match &self.fusion.teacher {
            Some(teacher) if parts.contains(&Part::Teacher) => teacher.vector(text, request.deadline)?,
            _ => None,
        };
        let taught = began.elapsed();
        let question = Question {
            text,
            teacher: teacher.as_deref(),
            vector: (!vector.is_empty()).then_some(&vector[..]),
            k: depth.min(total as usize),
            reach,
            allowed: &allowed,
        };
        let typed = Question {
            text: &request.text,
            vector: (!typed_vector.is_empty()).then_some(&typed_vector[..]),
            ..question
        };
        let mut lists: ByPart<Vec<Found>> = ByPart::default();
        for &part in &parts {
            let began = in_time(request)?;
            lists.insert(part, finder(part).search(self, &question)?);
            let before = if part == Part::Teacher { taught } else { Duration::ZERO };
            timings.parts.insert(part, before + began.elapsed());
        }
        let began = in_time(request)?;
        let found = lists.map(|_, list| list.len());
        let (boosts, adds);
        let (mut ranked, unlikely): (Vec<Ranked>, usize) = match request.mode {
            Mode::Alone(part) => {
                let mut list = lists.get(part).cloned().unwrap_or_default();
                (boosts, adds) = (self.boost(&request.boosts, &mut list)?, ByPart::default());
                (list.into_iter().map(Ranked::new).collect(), 0)
            }
            Mode::Fused => {
                if self.fusion.method == FusionMethod::Linear {
                    self.complete(&mut lists, &question)?;
                }
                let mut fused;
                (fused, adds) = self.fusion.fuse(&lists, depth);
                boosts = self.boost(&request.boosts, &mut fused)?;
                self.looked_at(request, &question, &typed, &fused)?
            }
        };
        for &(rank, position) in &pinned {
            let at = (rank - 1).min(ranked.len());
            ranked.insert(at, Ranked::new(Found { position, score: 0.0 }));
        }
        let titles = ranked.iter().map(|title| title.found.position);
        let facets = self.facets(&request.facets, &titles.collect::<Vec<u32>>())?;
        let weak = request.mode == Mode::Fused && !ranked.iter().any(|title| title.is_likely(Confidence::WEAK));
        let page = || ranked.iter().skip(request.offset).take(request.k);
        let mut shown: Vec<u32> = page().map(|title| title.found.position).collect();
        shown.sort_unstable();
        let shares =
            lists.map(|part, list| shares(list, found.get(part).copied().unwrap_or_default(), adds.get(part), &shown));
        timings.fuse = began.elapsed();
        let mut hits = Vec::new();
        for (rank, &Ranked { found, title_match, confidence }) in (request.offset + 1..).zip(page()) {
            let (opened, position) = self.locate(found.position);
            let Document { id, title, fields } = opened.segment.document(position)?;
            let share = |shares: &[(u32, Share)]| {
                let at = shares.binary_search_by_key(&found.position, |&(position, _)| position).ok()?;
                Some(shares[at].1)
            };
            let parts = shares.iter().filter_map(|(part, shares)| Some((part, share(shares)?))).collect();
            let boost = boosts.get(&found.position).copied();
            let pinned = pinned.iter().any(|&(_, position)| position == found.position);
            hits.push(Hit {
                rank,
                id,
                title,
                fields,
                score: found.score,
                parts,
                confidence,
                boost,
                pinned,
                title_match,
            });
        }
        timings.total = begin.elapsed();
        Ok(Answer { hits, weak, unlikely, total, facets, query, timings })
    }

    /// Adds to each list the titles that other parts found, with their scores. A title that a part would never find, such as one
    /// without any word of the query, is not added.
    fn complete(&self, lists: &mut ByPart<Vec<Found>>, question: &Question<'_>) -> Result<()> {
        let positions = |list: &Vec<Found>| {
            let mut positions: Vec<u32> = list.iter().map(|hit| hit.position).collect();
            positions.sort_unstable();
            positions
        };
        let listed = lists.map(|_, list| positions(list));
        let mut all: Vec<u32> = listed.iter().flat_map(|(_, positions)| positions.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        let missing = listed.map(|_, listed| {
            let is_missing = |position: &u32| listed.binary_search(position).is_err();
            all.iter().copied().filter(is_missing).collect::<Vec<u32>>()
        });
        for (part, missing) in missing.iter() {
            let scores = finder(part).scores(self, question, missing)?;
            let mut list = lists.get(part).cloned().unwrap_or_default();
            let hits = missing.iter().zip(scores).map(|(&position, score)| Found { position, score });
            list.extend(hits.filter(|hit| hit.score != 0.0));
            lists.insert(part, list);
        }
        Ok(())
    }

    /// Returns the first titles of a fused list that reach the confidence of the request, those of its page and before it, and the number
    /// of those left out. The best titles of the list are re-ranked first.
    fn looked_at(
        &self,
        request: &Request,
        question: &Question<'_>,
        typed: &Question<'_>,
        list: &[Found],
    ) -> Result<(Vec<Ranked>, usize)> {
        let statistics = self.statistics();
        let idf = |term: &String| {
            let with = statistics.titles_with(term)?;
            Ok(((statistics.titles.saturating_sub(with) as f32 + 0.5) / (with as f32 + 0.5)).ln_1p())
        };
        let weights = self.fusion.title_match;
        let is_sum = self.fusion.method == FusionMethod::Linear && weights != TitleMatch::default();
        let analysis = self.fusion.analysis;
        let query = QueryMatch::new(question.text, analysis, weights, idf)?;
        let typed_query =
            if typed.text == question.text { None } else { Some(QueryMatch::new(typed.text, analysis, weights, idf)?) };
        let mut scratch = Scratch::default();
        let (mut ranked, mut unlikely): (Vec<Ranked>, usize) = (Vec::new(), 0);
        for (number, some) in list.chunks(LOOKED_AT).enumerate() {
            if request.facets.is_empty() && ranked.len() >= request.offset.saturating_add(request.k) {
                break;
            }
            let mut positions: Vec<u32> = some.iter().map(|hit| hit.position).collect();
            positions.sort_unstable();
            let cosines = match typed.vector {
                Some(_) => finder(Part::Vectors).scores(self, typed, &positions)?,
                None => Vec::new(),
            };
            let look = |found: &Found| -> Result<Ranked> {
                let (opened, position) = self.locate(found.position);
                let title = opened.segment.line(position)?.title;
                let (adds, coverage) = query.compare(title, &mut scratch);
                // A correction may be wrong, so it adds no confidence.
                let coverage = typed_query.as_ref().map_or(coverage, |typed| typed.compare(title, &mut scratch).1);
                let row = positions.binary_search(&found.position).ok();
                // A title without a vector has the words alone.
                let cosine = row.and_then(|row| cosines.get(row)).copied().filter(|&cosine| cosine != 0.0);
                let title_match = (is_sum && number == 0).then_some(adds);
                let score = found.score + title_match.map_or(0.0, |adds| adds.sum());
                let found = Found { position: found.position, score };
                Ok(Ranked { found, title_match, confidence: self.confidence.probability(cosine, coverage) })
            };
            let mut looked = some.iter().map(look).collect::<Result<Vec<Ranked>>>()?;
            if number == 0 {
                looked.sort_unstable_by(|a, b| Found::best_first(&a.found, &b.found));
            }
            let before = ranked.len() + unlikely;
            ranked.extend(looked.into_iter().filter(|title| title.is_likely(request.min_confidence)));
            unlikely = before + some.len() - ranked.len();
        }
        Ok((ranked, unlikely))
    }

    /// Answers several requests on all threads.
    ///
    /// # Errors
    ///
    /// Those of [`Index::search`].
    pub fn search_all(&self, requests: &[Request]) -> Result<Vec<Answer>> {
        if let Some(request) = requests.iter().find(|request| self.needs_teacher(request.mode)) {
            self.prepare(request.mode)?;
        }
        requests.par_iter().map(|request| self.search(request)).collect()
    }

    /// Loads the teacher, if a search of this mode asks it. Otherwise the first search does so, and each of several that come at
    /// once.
    ///
    /// # Errors
    ///
    /// Those of loading a transformer.
    pub fn prepare(&self, mode: Mode) -> Result<()> {
        let teacher = self.fusion.teacher.as_ref().filter(|_| self.needs_teacher(mode));
        teacher.map_or(Ok(()), Teacher::prepare)
    }

    /// Returns whether a search of this mode asks the teacher.
    fn needs_teacher(&self, mode: Mode) -> bool {
        self.parts(mode).is_ok_and(|parts| parts.contains(&Part::Teacher))
    }

    /// Returns whether a part must find something for the text of one of the index's own titles.
    pub fn finds_own(&self, part: Part, title: &str) -> bool {
        match part {
            Part::Vectors => self.model.model.dictionary().knows_a_word(title),
            Part::Words | Part::Trigrams => !text::words(title).is_empty(),
            Part::Teacher => {
                let vector = self.fusion.teacher.as_ref().map(|teacher| teacher.vector(title, None));
                vector.is_some_and(|vector| vector.is_ok_and(|vector| vector.is_some()))
            }
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

    /// Returns the titles that may be found, for each segment, and those among them that have a rank, with it, in its order.
    fn allowed(&self, request: &Request) -> Result<(Vec<Allowed>, Vec<RankOfPin>)> {
        let mut allowed = self.meeting(&request.filters)?;
        let mut pinned = Vec::new();
        for Pin { id, rank } in &request.pins {
            let Some((segment, position)) = self.find(id) else { continue };
            let is_allowed = allowed[segment].as_ref().is_none_or(|bits| bits::has(bits, position));
            let position = self.segments[segment].first + position;
            match rank {
                Some(rank) if is_allowed => pinned.push(((*rank).max(1), position)),
                Some(_) => {}
                None => self.forbid(&mut allowed, position),
            }
        }
        pinned.sort_unstable();
        Ok((allowed, pinned))
    }

    /// Takes a title from those that may be found.
    fn forbid(&self, allowed: &mut [Allowed], position: u32) {
        let (segment, position) = self.segment_of(position);
        let all = || bits::without(self.segments[segment].segment.len(), &[]);
        if let Some(word) = allowed[segment].get_or_insert_with(all).get_mut(position as usize / 64) {
            *word &= !(1 << (position % 64));
        }
    }

    /// Returns the titles that meet conditions, for each segment.
    fn meeting(&self, filters: &[Filter]) -> Result<Vec<Allowed>> {
        let in_segment = |opened: &Opened| {
            let mut allowed = opened.alive.clone();
            for filter in filters {
                let column = opened
                    .segment
                    .fields
                    .get(&filter.field)
                    .ok_or_else(|| unknown_field("filters", &filter.field, self.stored_fields()))?;
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

    /// Returns the vector by which a query is searched for, and that of the words as typed; an empty one if the model knows no part of the
    /// words. The former is the mean of both spellings' vectors, so that a cosine is the mean of both cosines: a correction may be wrong.
    fn query_vectors(&self, typed: &str, corrected: Option<&str>) -> (Vec<f32>, Vec<f32>) {
        let known = |text: &str| self.model.model.dictionary().knows_a_word(text);
        let vector = |text: &str| if known(text) { self.model.queries.embed(&[text]) } else { Vec::new() };
        let typed = vector(typed);
        let searched = match corrected.map(vector) {
            None => typed.clone(),
            Some(corrected) if typed.is_empty() => corrected,
            Some(corrected) if corrected.is_empty() => typed.clone(),
            Some(corrected) => typed.iter().zip(corrected).map(|(a, b)| (a + b) / 2.0).collect(),
        };
        (searched, typed)
    }

    fn query(&self, query: &str) -> Result<QueryFacts> {
        let dictionary = self.model.model.dictionary();
        let mut facts = QueryFacts { has_vector: dictionary.knows_a_word(query), ..QueryFacts::default() };
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

    /// Returns the distinct words of each of `titles` that the query has too, compared as in this index: `sofas` for the query
    /// `sofa`, if plurals are the same as singulars.
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
pub(crate) fn unknown_field(request_field: &'static str, found: &str, known: &[String]) -> Error {
    let expected = format!("a stored field of the index ({})", listed(known));
    bad_request(request_field, expected, format!("`{}`", shortened(found)))
}

/// Returns the share of a part in each title that is shown, by position, in ascending order, as `shown` is. The part found the first
/// `found` titles of the list, and only scored the others. `adds` is the contribution of each to a fusion, if there is one.
fn shares(list: &[Found], found: usize, adds: Option<&Vec<(u32, f64)>>, shown: &[u32]) -> Vec<(u32, Share)> {
    let share = |(at, hit): (usize, &Found)| {
        let adds = adds.and_then(|adds| adds.get(at)).map(|&(_, adds)| adds as f32);
        (hit.position, Share { rank: (at < found).then_some(at + 1), score: hit.score, adds })
    };
    let is_shown = |(_, hit): &(usize, &Found)| shown.binary_search(&hit.position).is_ok();
    let mut shares: Vec<(u32, Share)> = list.iter().enumerate().filter(is_shown).map(share).collect();
    shares.sort_unstable_by_key(|&(position, _)| position);
    shares
}

/// Returns the time now, or an error after the deadline.
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

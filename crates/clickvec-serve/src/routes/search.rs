//! `GET` and `POST /search`: titles for a query.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use clickvec::explain::{Explainer, KeywordOptions, TextView};
use clickvec::model::Side;
use clickvec_index::{Filter, Mode, Request, Share, Timings};
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Record};
use crate::fault::Fault;
use crate::generation::Generation;
use crate::request::{Asker, JsonBody, Parameters, Whole, named_or_none};
use crate::service::{Service, fault_of};

/// What is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `query` or `queries`")]
pub(super) struct Asked {
    query: Option<String>,
    /// Its name in addresses. Either name is understood in both places.
    q: Option<String>,
    queries: Option<Vec<String>>,
    k: Option<Whole>,
    #[serde(default = "first")]
    offset: Whole,
    #[serde(default, deserialize_with = "named_or_none")]
    mode: Option<Mode>,
    #[serde(default)]
    filters: Vec<String>,
    index: Option<String>,
    generation: Option<String>,
    #[serde(default)]
    keywords: bool,
    #[serde(default)]
    matched: bool,
}

/// What is to be marked in titles.
#[derive(Clone, Copy)]
struct Marks {
    keywords: bool,
    matched: bool,
}

fn first() -> Whole {
    Whole(0)
}

#[derive(Serialize)]
struct Answers<'a> {
    answers: Vec<Found<'a>>,
}

/// The answer to a query.
#[derive(Serialize)]
struct Found<'a> {
    query: &'a str,
    index: &'a str,
    generation: u64,
    fingerprint: &'a str,
    mode: Mode,
    /// Titles that meet the conditions.
    total: u64,
    has_vector: bool,
    words: Vec<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keywords: Option<Vec<String>>,
    results: Vec<Title>,
}

#[derive(Serialize)]
struct Word {
    text: String,
    known_to_model: bool,
    titles: Option<u64>,
}

#[derive(Serialize)]
struct Title {
    rank: usize,
    id: String,
    title: String,
    score: f32,
    vectors: Option<Place>,
    words: Option<Place>,
    trigrams: Option<Place>,
    teacher: Option<Place>,
    fields: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keywords: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<Vec<String>>,
}

#[derive(Serialize)]
struct Place {
    rank: usize,
    score: f32,
    adds: Option<f32>,
}

fn place(share: Share) -> Place {
    Place { rank: share.rank, score: share.score, adds: share.adds }
}

/// Finds titles for the parameters of an address.
pub(super) async fn by_address(
    State(service): State<Arc<Service>>,
    asker: Asker,
    RawQuery(query): RawQuery,
) -> Result<Answer, Fault> {
    search(&service, &asker, of_address(query.as_deref())?).await
}

/// Finds titles for the fields of a body.
pub(super) async fn by_body(
    State(service): State<Arc<Service>>,
    asker: Asker,
    JsonBody(asked): JsonBody<Asked>,
) -> Result<Answer, Fault> {
    search(&service, &asker, asked).await
}

async fn search(service: &Service, asker: &Asker, asked: Asked) -> Result<Answer, Fault> {
    let Asked { query, q, queries, k, offset, mode, filters, index, generation, keywords, matched } = asked;
    let is_batch = queries.is_some();
    let queries = match (query, q, queries) {
        (Some(query), None, None) | (None, Some(query), None) => vec![query],
        (None, None, Some(queries)) => queries,
        (None, None, None) => {
            return Err(Fault::field("query", "`query`, `q` or `queries`", "none of them"));
        }
        _ => return Err(Fault::field("query", "one of `query`, `q` and `queries`", "several")),
    };
    service.check_texts("query", &queries)?;
    let (k, offset) = (k.map_or(clickvec_index::DEFAULT_K.min(service.limits.results), |Whole(k)| k), offset.0);
    check_page(service, queries.len(), k, offset)?;
    let filters = filters.iter().map(|text| text.parse::<Filter>()).collect::<Result<Vec<_>, _>>();
    let filters = filters.map_err(|fault| fault_of(&fault.into()))?;
    let slot = service.slot(index.as_deref())?;
    let generation = service.generation(slot, generation.as_deref())?;
    let mode = mode.unwrap_or_else(|| generation.usual_mode());
    let (name, number, texts) = (slot.name.clone(), generation.number, queries.len());
    let logged = service.log_queries.then(|| queries.join("\n"));
    let end = asker.started + service.limits.request;
    let work = move || {
        let mut stages = Stages::default();
        let mut answers = Vec::with_capacity(queries.len());
        for query in &queries {
            let request = Request::new(query.as_str(), mode)
                .with_k(k)
                .with_offset(offset)
                .with_filters(filters.clone())
                .with_deadline(end);
            let answer = generation.index.search(&request).map_err(|error| fault_of(&error))?;
            stages.add(&answer.timings);
            answers.push(found(&generation, &name, query, mode, answer, Marks { keywords, matched })?);
        }
        let body = match (is_batch, &answers[..]) {
            (false, [answer]) => serde_json::to_vec(answer),
            _ => serde_json::to_vec(&Answers { answers }),
        };
        Ok((body.map_err(|error| Fault::internal(&error))?, stages))
    };
    let ((body, stages), waited) = service.work(asker, texts, work).await?;
    let mut answer = Answer::json(body);
    answer.record = Record {
        stages: stages.named(waited),
        texts,
        generation: Some(number),
        index: Some(slot.name.clone()),
        query: logged,
    };
    Ok(answer)
}

fn of_address(query: Option<&str>) -> Result<Asked, Fault> {
    let known = ["q", "query", "k", "offset", "mode", "filter", "index", "generation", "keywords", "matched"];
    let mut parameters = Parameters::read(query, &known, &["filter"])?;
    let mode = parameters.text("mode").map(|mode| mode.parse::<Mode>()).transpose();
    Ok(Asked {
        query: parameters.text("query"),
        q: parameters.text("q"),
        queries: None,
        k: parameters.number("k")?.map(Whole),
        offset: Whole(parameters.number("offset")?.unwrap_or(0)),
        mode: mode.map_err(|fault| fault_of(&fault.into()))?,
        filters: parameters.texts("filter"),
        index: parameters.text("index"),
        generation: parameters.text("generation"),
        keywords: parameters.flag("keywords")?,
        matched: parameters.flag("matched")?,
    })
}

fn check_page(service: &Service, queries: usize, k: usize, offset: usize) -> Result<(), Fault> {
    let (most, depth) = (service.limits.results, service.limits.depth);
    if k == 0 || k > most {
        return Err(Fault::field("k", format!("1 to {most} titles"), k.to_string()));
    }
    let (all, most) = (queries.saturating_mul(k), service.limits.batch_results);
    if all > most {
        let expected = format!("a batch with at most {most} titles in all answers");
        let fault = Fault::field("k", expected, format!("{queries} queries with {k} titles each"));
        return Err(fault.help("ask for fewer titles, or send several requests"));
    }
    if offset.saturating_add(k) > depth {
        let expected = format!("pages within the first {depth} titles");
        let found = format!("one that ends with title {}", offset.saturating_add(k));
        return Err(Fault::field("offset", expected, found).help("narrow the query or add a condition"));
    }
    Ok(())
}

fn found<'a>(
    generation: &'a Generation,
    index: &'a str,
    query: &'a str,
    mode: Mode,
    answer: clickvec_index::Answer,
    marks: Marks,
) -> Result<Found<'a>, Fault> {
    let facts = generation.index.facts();
    let mut marked = if marks.keywords { Some(Marked::of(generation, query, &answer)?) } else { None };
    let mut matched = marks.matched.then(|| generation.index.matched_words(query, &titles_of(&answer)));
    let words = answer.query.words.into_iter();
    Ok(Found {
        query,
        index,
        generation: generation.number,
        fingerprint: &facts.fingerprint,
        mode,
        total: answer.total,
        has_vector: answer.query.has_vector,
        words: words.map(|of| Word { text: of.text, known_to_model: of.known_to_model, titles: of.titles }).collect(),
        keywords: marked.as_mut().map(|marked| std::mem::take(&mut marked.query)),
        results: answer
            .hits
            .into_iter()
            .enumerate()
            .map(|(row, hit)| Title {
                rank: hit.rank,
                id: hit.id,
                title: hit.title,
                score: hit.score,
                vectors: hit.vectors.map(place),
                words: hit.words.map(place),
                trigrams: hit.trigrams.map(place),
                teacher: hit.teacher.map(place),
                fields: hit.fields,
                keywords: marked.as_mut().map(|marked| std::mem::take(&mut marked.titles[row])),
                matched: matched.as_mut().map(|matched| std::mem::take(&mut matched[row])),
            })
            .collect(),
    })
}

fn titles_of(answer: &clickvec_index::Answer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.title.as_str()).collect()
}

/// The keywords of a query and of the titles found, as the model sees them.
struct Marked {
    query: Vec<String>,
    titles: Vec<Vec<String>>,
}

impl Marked {
    fn of(generation: &Generation, query: &str, answer: &clickvec_index::Answer) -> Result<Marked, Fault> {
        let model = generation.index.model().map_err(|error| fault_of(&error))?;
        let explainer = Explainer::new(model);
        let titles = explainer.texts(Side::Title, &titles_of(answer)).iter().map(keywords_of).collect();
        Ok(Marked { query: keywords_of(&explainer.text(Side::Query, query)), titles })
    }
}

fn keywords_of(view: &TextView) -> Vec<String> {
    let Some(keywords) = view.keywords(&KeywordOptions::default()) else { return Vec::new() };
    let words = view.words.iter().zip(&keywords.is_keyword);
    words.filter(|(word, is_keyword)| **is_keyword && word.parts == 1).map(|(word, _)| word.text.clone()).collect()
}

/// The times of the stages, over all queries of a request.
#[derive(Default)]
struct Stages {
    encode: Duration,
    filter: Duration,
    vectors: Duration,
    words: Duration,
    trigrams: Duration,
    teacher: Duration,
    fuse: Duration,
}

impl Stages {
    fn add(&mut self, timings: &Timings) {
        self.encode += timings.encode;
        self.filter += timings.filter;
        self.vectors += timings.vectors;
        self.words += timings.words;
        self.trigrams += timings.trigrams;
        self.teacher += timings.teacher;
        self.fuse += timings.fuse;
    }

    fn named(&self, waited: Duration) -> Vec<(&'static str, Duration)> {
        let all = [
            ("encode", self.encode),
            ("filter", self.filter),
            ("vectors", self.vectors),
            ("words", self.words),
            ("trigrams", self.trigrams),
            ("teacher", self.teacher),
            ("fuse", self.fuse),
        ];
        let used = all.into_iter().filter(|(_, time)| !time.is_zero());
        std::iter::once(("queue", waited)).chain(used).collect()
    }
}

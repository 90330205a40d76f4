//! `GET` and `POST /search`: titles for a query.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use clickvec::explain::{Explainer, KeywordOptions, TextView};
use clickvec::model::Side;
use clickvec_index::{ByPart, Filter, Hit, Mode, QueryWord, Request, Timings};
use serde::{Deserialize, Serialize};

use crate::answer::{Record, Stage, json};
use crate::clients::Caller;
use crate::fault::Fault;
use crate::generation::Generation;
use crate::request::{JsonBody, Parameters, WholeNumber};
use crate::service::{Service, to_fault};

/// What is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `query` or `queries`")]
pub(super) struct SearchRequest {
    query: Option<String>,
    /// Its name in addresses. Either name is understood in both places.
    q: Option<String>,
    queries: Option<Vec<String>>,
    k: Option<WholeNumber>,
    #[serde(default = "first")]
    offset: WholeNumber,
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

fn first() -> WholeNumber {
    WholeNumber(0)
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
    words: Vec<QueryWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keywords: Option<Vec<String>>,
    results: Vec<Title>,
}

#[derive(Serialize)]
struct Title {
    #[serde(flatten)]
    hit: Hit,
    #[serde(skip_serializing_if = "Option::is_none")]
    keywords: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<Vec<String>>,
}

/// Finds titles for the parameters of an address.
pub(super) async fn by_address(
    State(service): State<Arc<Service>>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    search(&service, &caller, from_address(query.as_deref())?).await
}

/// Finds titles for the fields of a body.
pub(super) async fn by_body(
    State(service): State<Arc<Service>>,
    caller: Caller,
    JsonBody(request): JsonBody<SearchRequest>,
) -> Result<Response, Fault> {
    search(&service, &caller, request).await
}

async fn search(service: &Service, caller: &Caller, request: SearchRequest) -> Result<Response, Fault> {
    let SearchRequest { query, q, queries, k, offset, mode, filters, index, generation, keywords, matched } = request;
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
    let (k, offset) = (k.map_or(clickvec_index::DEFAULT_K.min(service.limits.results), |WholeNumber(k)| k), offset.0);
    check_page(service, queries.len(), k, offset)?;
    let filters = filters.iter().map(|text| text.parse::<Filter>()).collect::<Result<Vec<_>, _>>();
    let filters = filters.map_err(|error| to_fault(&error))?;
    let slot = service.slot(index.as_deref())?;
    let generation = service.generation(slot, generation.as_deref())?;
    let mode = mode.unwrap_or(Mode::Fused);
    let (name, mut record) = (slot.name.clone(), Record::new(slot, &generation, queries.len()));
    record.query = service.log_queries.then(|| queries.join("\n"));
    let end = caller.started + service.limits.request;
    let work = move || {
        let mut stages = Stages::default();
        let mut answers = Vec::with_capacity(queries.len());
        for query in &queries {
            let request = Request::new(query.as_str(), mode)
                .with_k(k)
                .with_offset(offset)
                .with_filters(filters.clone())
                .with_deadline(end);
            let answer = generation.index.search(&request).map_err(|error| to_fault(&error))?;
            stages.add(&answer.timings);
            answers.push(found(&generation, &name, query, mode, answer, Marks { keywords, matched })?);
        }
        let body = match (is_batch, &answers[..]) {
            (false, [answer]) => json(answer)?,
            _ => json(&Answers { answers })?,
        };
        Ok((body, stages.named()))
    };
    service.work(caller, record, work).await
}

fn from_address(query: Option<&str>) -> Result<SearchRequest, Fault> {
    let known = ["q", "query", "k", "offset", "mode", "filter", "index", "generation", "keywords", "matched"];
    let mut parameters = Parameters::read(query, &known, &["filter"])?;
    let mode = parameters.text("mode").map(|mode| mode.parse::<Mode>()).transpose();
    Ok(SearchRequest {
        query: parameters.text("query"),
        q: parameters.text("q"),
        queries: None,
        k: parameters.number("k")?.map(WholeNumber),
        offset: WholeNumber(parameters.number("offset")?.unwrap_or(0)),
        mode: mode.map_err(|error| to_fault(&error))?,
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
    let mut matched = marks.matched.then(|| generation.index.matched_words(query, &hit_titles(&answer)));
    Ok(Found {
        query,
        index,
        generation: generation.number,
        fingerprint: &facts.fingerprint,
        mode,
        total: answer.total,
        has_vector: answer.query.has_vector,
        words: answer.query.words,
        keywords: marked.as_mut().map(|marked| std::mem::take(&mut marked.query)),
        results: answer
            .hits
            .into_iter()
            .enumerate()
            .map(|(row, hit)| Title {
                hit,
                keywords: marked.as_mut().map(|marked| std::mem::take(&mut marked.titles[row])),
                matched: matched.as_mut().map(|matched| std::mem::take(&mut matched[row])),
            })
            .collect(),
    })
}

fn hit_titles(answer: &clickvec_index::Answer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.title.as_str()).collect()
}

/// The keywords of a query and of the titles found, as the model sees them.
struct Marked {
    query: Vec<String>,
    titles: Vec<Vec<String>>,
}

impl Marked {
    fn of(generation: &Generation, query: &str, answer: &clickvec_index::Answer) -> Result<Marked, Fault> {
        let model = generation.index.model().map_err(|error| to_fault(&error))?;
        let explainer = Explainer::new(model);
        let titles = explainer.texts(Side::Title, &hit_titles(answer)).iter().map(keyword_texts).collect();
        Ok(Marked { query: keyword_texts(&explainer.text(Side::Query, query)), titles })
    }
}

fn keyword_texts(view: &TextView) -> Vec<String> {
    let Some(keywords) = view.keywords(&KeywordOptions::default()) else { return Vec::new() };
    let words = view.words.iter().zip(&keywords.is_keyword);
    words.filter(|(word, is_keyword)| **is_keyword && word.parts == 1).map(|(word, _)| word.text.clone()).collect()
}

/// The times of the stages, over all queries of a request.
#[derive(Default)]
struct Stages {
    encode: Duration,
    filter: Duration,
    parts: ByPart<Duration>,
    fuse: Duration,
}

impl Stages {
    fn add(&mut self, timings: &Timings) {
        self.encode += timings.encode;
        self.filter += timings.filter;
        for (part, time) in timings.parts.iter() {
            self.parts.insert(part, self.parts.get(part).copied().unwrap_or_default() + *time);
        }
        self.fuse += timings.fuse;
    }

    fn named(&self) -> Vec<Stage> {
        let parts = self.parts.iter().map(|(part, time)| (part.name(), *time));
        let all = [("encode", self.encode), ("filter", self.filter)].into_iter().chain(parts);
        all.chain([("fuse", self.fuse)]).filter(|(_, time)| !time.is_zero()).collect()
    }
}

//! `GET` and `POST /search`: titles for a query.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use clickvec::explain::{Explainer, KeywordOptions, TextView};
use clickvec::model::Side;
use clickvec_index::{Boost, Facet, Filter, Hit, Mode, QueryWord, Request, Timings};
use serde::{Deserialize, Serialize};

use crate::answer::{Record, Stage};
use crate::clients::Caller;
use crate::fault::Fault;
use crate::generation::Generation;
use crate::request::{AddressQuery, JsonBody, WholeNumber, nullable};
use crate::service::Service;

/// A search request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `query` or `queries`")]
pub(super) struct SearchRequest {
    /// `q` in addresses.
    query: Option<String>,
    queries: Option<Vec<String>>,
    k: Option<WholeNumber>,
    #[serde(default, deserialize_with = "nullable")]
    offset: WholeNumber,
    mode: Option<Mode>,
    #[serde(default, deserialize_with = "nullable")]
    filters: Vec<String>,
    /// Additions to scores by stored numbers.
    #[serde(default, deserialize_with = "nullable")]
    boosts: Vec<String>,
    /// Stored fields whose values are counted.
    #[serde(default, deserialize_with = "nullable")]
    facets: Vec<String>,
    index: Option<String>,
    generation: Option<String>,
    /// Titles of a lower confidence are left out.
    min_confidence: Option<f64>,
    /// Whether words that no title has are left uncorrected.
    #[serde(default, deserialize_with = "nullable")]
    as_typed: bool,
    #[serde(default, deserialize_with = "nullable")]
    keywords: bool,
    #[serde(default, deserialize_with = "nullable")]
    matched: bool,
}

/// The marks in titles.
#[derive(Clone, Copy)]
struct Marks {
    keywords: bool,
    matched: bool,
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
    /// The corrected query, if words were corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    corrected: Option<String>,
    /// Whether no title is likely to be a good match.
    weak: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    facets: Vec<Facet>,
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
    AddressQuery(request): AddressQuery<SearchRequest>,
) -> Result<Response, Fault> {
    search(&service, &caller, request).await
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
    let SearchRequest { query, queries, k, offset, mode, filters, index, generation, .. } = request;
    let SearchRequest { boosts, facets, min_confidence, as_typed, keywords, matched, .. } = request;
    let is_batch = queries.is_some();
    let queries = match (query, queries) {
        (Some(query), None) => vec![query],
        (None, Some(queries)) => queries,
        (None, None) => return Err(Fault::field("query", "`query` (in addresses `q`) or `queries`", "none of them")),
        (Some(_), Some(_)) => return Err(Fault::field("query", "one of `query` and `queries`", "both")),
    };
    service.check_texts("query", &queries)?;
    let (k, offset) =
        (k.map_or(clickvec_index::DEFAULT_K.min(service.config.limits.results), |WholeNumber(k)| k), offset.0);
    check_page(service, queries.len(), k, offset)?;
    if let Some(found) = min_confidence.filter(|least| !(0.0..=1.0).contains(least)) {
        return Err(Fault::field("min_confidence", "a probability from 0 to 1", found.to_string()));
    }
    let conditions = |text: &String| Filter::parse_list(text).map_err(|error| error.within("filters"));
    let filters = filters.iter().map(conditions).collect::<Result<Vec<_>, _>>()?.concat();
    let boost = |text: &String| text.parse::<Boost>().map_err(|error| error.within("boosts"));
    let boosts = boosts.iter().map(boost).collect::<Result<Vec<_>, _>>()?;
    let pins = service.pins.load_full();
    let generation = service.generation(index.as_deref(), generation.as_deref())?;
    let mode = mode.unwrap_or(Mode::Fused);
    let mut record = Record::new(&generation, queries.len());
    record.query = service.config.log_queries.then(|| queries.join("\n"));
    let end = caller.started + service.config.limits.request;
    let work = move || {
        let mut stages = Vec::new();
        let mut answers = Vec::with_capacity(queries.len());
        for query in &queries {
            let mut request = Request::new(query.as_str(), mode)
                .with_k(k)
                .with_offset(offset)
                .with_filters(filters.clone())
                .with_boosts(boosts.clone())
                .with_facets(facets.clone())
                .with_pins(pins.get(query))
                .with_deadline(end);
            request.min_confidence = min_confidence.map_or(request.min_confidence, |least| least as f32);
            request.corrects = !as_typed;
            let answer = generation.index.search(&request)?;
            add_stages(&mut stages, &answer.timings);
            answers.push(found(&generation, query, mode, answer, Marks { keywords, matched })?);
        }
        let body = match (is_batch, &answers[..]) {
            (false, [answer]) => serde_json::to_vec(answer)?,
            _ => serde_json::to_vec(&Answers { answers })?,
        };
        Ok((body, stages))
    };
    service.work(caller, record, work).await
}

fn check_page(service: &Service, queries: usize, k: usize, offset: usize) -> Result<(), Fault> {
    let (most, depth) = (service.config.limits.results, service.config.limits.depth);
    if k == 0 || k > most {
        return Err(Fault::field("k", format!("1 to {most} titles"), k.to_string()));
    }
    let (all, most) = (queries.saturating_mul(k), service.config.limits.batch_results);
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
    query: &'a str,
    mode: Mode,
    answer: clickvec_index::Answer,
    marks: Marks,
) -> Result<Found<'a>, Fault> {
    let titles: Vec<&str> = answer.hits.iter().map(|hit| hit.title.as_str()).collect();
    let explainer = if marks.keywords { Some(Explainer::new(generation.index.model())) } else { None };
    let keywords = explainer.as_ref().map(|explainer| keyword_texts(&explainer.text(Side::Query, query)));
    let title_keywords: Option<Vec<_>> =
        explainer.map(|explainer| explainer.texts(Side::Title, &titles).iter().map(keyword_texts).collect());
    let searched = answer.query.corrected.as_deref().unwrap_or(query);
    let matched = marks.matched.then(|| generation.index.matched_words(searched, &titles));
    let (mut title_keywords, mut matched) = (title_keywords.into_iter().flatten(), matched.into_iter().flatten());
    let title = |hit| Title { hit, keywords: title_keywords.next(), matched: matched.next() };
    Ok(Found {
        query,
        index: &generation.name,
        generation: generation.number,
        fingerprint: &generation.index.facts().fingerprint,
        mode,
        total: answer.total,
        has_vector: answer.query.has_vector,
        corrected: answer.query.corrected,
        weak: answer.weak,
        facets: answer.facets,
        words: answer.query.words,
        keywords,
        results: answer.hits.into_iter().map(title).collect(),
    })
}

fn keyword_texts(view: &TextView) -> Vec<String> {
    let Some(keywords) = view.keywords(&KeywordOptions::default()) else { return Vec::new() };
    let words = view.words.iter().zip(&keywords.is_keyword);
    words.filter(|(word, is_keyword)| **is_keyword && word.parts == 1).map(|(word, _)| word.text.clone()).collect()
}

/// Adds the times of a query to those of the queries before.
fn add_stages(stages: &mut Vec<Stage>, timings: &Timings) {
    let parts = timings.parts.iter().map(|(part, time)| (part.name(), *time));
    let all = [("encode", timings.encode), ("filter", timings.filter)].into_iter().chain(parts);
    for (name, time) in all.chain([("fuse", timings.fuse)]).filter(|(_, time)| !time.is_zero()) {
        match stages.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += time,
            None => stages.push((name, time)),
        }
    }
}

//! Indexes: titles with their vectors and words, on disk or in memory.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use clickvec::internals::text::Analysis;
use clickvec::tables::{Titles, for_each_document};
use clickvec_index::{
    Answer, ByPart, Document, Filter, Fusion, FusionMethod, Hit, IndexBuilder, Mode, Request, VectorFormat, finish,
    verify,
};
use clickvec_tools::{Watcher as _, inputs, update};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde_json::{Value, json};

use crate::bridge::{TOLD_EVERY, serve};
use crate::logs::option;
use crate::model::Model;
use crate::texts::{Text, Texts};
use crate::{array, error, json, work};

/// The queries that are searched for before the first look for Ctrl-C, and the most between two looks.
const PART: (usize, usize) = (32, 1 << 13);

/// An index.
#[pyclass(frozen, module = "clickvec._clickvec")]
pub(crate) struct Index(clickvec_index::Index);

/// How to search.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct How {
    k: usize,
    mode: String,
    /// Conditions as text, or as JSON.
    filters: Vec<String>,
    boosts: Vec<String>,
    min_confidence: Option<f32>,
    as_typed: bool,
    offset: usize,
    exact: bool,
}

impl How {
    /// Returns the request for a query, without its text.
    fn request(&self, titles: u64) -> clickvec_index::Result<Request> {
        let filter = |text: &String| serde_json::from_str(text).or_else(|_| text.parse());
        let filters: Vec<Filter> = self.filters.iter().map(filter).collect::<Result<_, _>>()?;
        let mode: Mode = self.mode.parse()?;
        let k = self.k.min(usize::try_from(titles).unwrap_or(usize::MAX));
        let boosts = self.boosts.iter().map(|boost| boost.parse()).collect::<Result<_, _>>()?;
        let mut request =
            Request::new("", mode).with_boosts(boosts).with_k(k).with_filters(filters).with_offset(self.offset);
        request.min_confidence = self.min_confidence.unwrap_or(request.min_confidence);
        (request.corrects, request.exact) = (!self.as_typed, self.exact);
        Ok(request)
    }
}

/// The arrays of a batch: ids, titles and scores, \[queries, k\]; and why nothing was looked for, for each query.
type Arrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Vec<Option<&'static str>>);

#[pymethods]
impl Index {
    /// Opens an index.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Index> {
        let index = work::short(py, || clickvec_index::Index::open(&path))?;
        Ok(Index(index.map_err(|fault| error::raise(py, &fault))?))
    }

    /// Encodes the titles of a table, in memory or, if there is an output, into a folder. Ctrl-C ends that, and the output stays as
    /// it was. `tell` gets warnings and progress.
    #[staticmethod]
    #[pyo3(signature = (model, titles, output, store, field, options, tell))]
    fn encode(
        py: Python<'_>,
        model: &Model,
        titles: PathBuf,
        output: Option<PathBuf>,
        store: Vec<String>,
        field: Option<String>,
        options: &Bound<'_, PyDict>,
        tell: &Bound<'_, PyAny>,
    ) -> PyResult<Index> {
        let weights = option(options, "weights", str::parse::<ByPart<f64>>)?;
        let words = option(options, "words", str::parse::<Analysis>)?;
        let format = option(options, "vectors", str::parse::<VectorFormat>)?.unwrap_or_default();
        // It locks nothing that a forked process would use, so no fork has to wait for it.
        let encoded = serve(py, None, tell, |caller| {
            let model = &*model.inner;
            let field = field.as_deref().unwrap_or(&model.training().config.field);
            let fusion = Fusion::for_model(model);
            let fusion = Fusion { analysis: words.unwrap_or(fusion.analysis), ..fusion };
            let fusion = match &weights {
                Some(weights) => fusion.with_weights(FusionMethod::Linear, weights)?,
                None => fusion,
            };
            let (table, mut done) = (Titles::from(&titles), 0);
            let mut each = |add: &mut dyn FnMut(clickvec::tables::Title, &[&str]) -> clickvec::Result<()>| {
                let read = for_each_document(&table, field, &store, |title, values| {
                    add(title, values)?;
                    done += 1;
                    caller.progress("encoding", "titles", done, None)
                })?;
                inputs::note_skipped(&read.path, &read.skipped, &caller);
                Ok::<(), clickvec::Error>(())
            };
            Ok(if let Some(output) = &output {
                let mut builder = IndexBuilder::with_fields(model, output, &store)?.with_field(field);
                each(&mut |title, values| builder.add_with_fields(title, values))?;
                finish(builder, model, &fusion, format)?;
                clickvec_index::Index::open(output)?
            } else {
                let mut all = Vec::new();
                each(&mut |title, _| {
                    all.push(title);
                    Ok(())
                })?;
                clickvec_index::Index::in_memory(model, all.into_iter().take_while(|_| !caller.is_stopped()))?
            })
        })?;
        Ok(Index(encoded))
    }

    fn __len__(&self) -> usize {
        self.0.facts().titles as usize
    }

    /// What is known of the index: its parts, fields, model and fusion.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &json::value(self.0.facts()))
    }

    /// The column that is searched.
    #[getter]
    fn field(&self) -> &str {
        self.0.field()
    }

    /// The columns that are stored with the titles.
    #[getter]
    fn stored_fields(&self) -> Vec<String> {
        self.0.stored_fields().to_vec()
    }

    fn model(&self) -> Model {
        Model::new(self.0.model().clone())
    }

    /// Returns the best titles for a query with everything that is known of them, as JSON has it.
    fn search<'py>(&self, py: Python<'py>, query: &str, how: How) -> PyResult<Bound<'py, PyAny>> {
        let answer = work::alone(py, || {
            let mut request = how.request(self.0.facts().titles)?;
            query.clone_into(&mut request.text);
            self.0.search(&request)
        })?;
        let answer = answer.map_err(|fault| error::raise(py, &fault))?;
        let hit = |Hit { rank, id, title, fields, score, confidence, .. }: &Hit| {
            json!([rank, id, title, score, confidence, fields])
        };
        let hits: Vec<Value> = answer.hits.iter().map(hit).collect();
        let corrected = &answer.query.corrected;
        let found = json!({"hits": hits, "reason": why_nothing(&answer), "corrected": corrected, "weak": answer.weak});
        json::to_python(py, &found)
    }

    /// Returns the best titles for each query as arrays, which end in None and NaN where fewer are found.
    fn search_batch<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        how: How,
        tell: &Bound<'py, PyAny>,
    ) -> PyResult<Arrays<'py>> {
        let request = how.request(self.0.facts().titles).map_err(|fault| error::raise(py, &fault))?;
        let queries = Texts::extract(queries)?;
        let queries = queries.all();
        let (rows, k) = (queries.len(), request.k);
        let (mut ids, mut titles) = (Vec::with_capacity(rows * k), Vec::with_capacity(rows * k));
        let (mut scores, mut reasons) = (Vec::with_capacity(rows * k), Vec::with_capacity(rows));
        // One object of Python for each title, however often it is found.
        let mut known: HashMap<String, (Py<PyAny>, Py<PyAny>)> = HashMap::new();
        let search = |part: &[Text<'_>]| {
            let request = |query: &Text<'_>| {
                let mut request = request.clone();
                query.as_ref().clone_into(&mut request.text);
                request
            };
            if k == 0 { Ok(Vec::new()) } else { self.0.search_all(&part.iter().map(request).collect::<Vec<_>>()) }
        };
        let mut told = Instant::now();
        let searched = work::in_parts(py, &queries, PART, search, |answers: Vec<Answer>| {
            if told.elapsed() >= TOLD_EVERY {
                told = Instant::now();
                let event = json!({"event": "progress", "step": "searching", "unit": "queries", "done": reasons.len(), "of": rows});
                // Ctrl-C may be raised in there.
                tell.call1((json::to_python(py, &event)?,))?;
            }
            for answer in answers {
                reasons.push(why_nothing(&answer));
                let missing = k - answer.hits.len();
                for Hit { id, title, score, .. } in answer.hits {
                    let (id, title) = known.entry(id).or_insert_with_key(|id| {
                        let object = |text: &str| PyString::new(py, text).into_any().unbind();
                        (object(id), object(&title))
                    });
                    ids.push(id.clone_ref(py));
                    titles.push(title.clone_ref(py));
                    scores.push(score);
                }
                ids.extend((0..missing).map(|_| py.None()));
                titles.extend((0..missing).map(|_| py.None()));
                scores.extend((0..missing).map(|_| f32::NAN));
            }
            Ok(())
        })?;
        searched.map_err(|fault: clickvec::Error| error::raise(py, &fault))?;
        reasons.resize(rows, None);
        let objects = |all| array::objects(py, all, [rows, k]);
        Ok((objects(ids)?, objects(titles)?, array::numbers(py, &scores, &[rows, k])?, reasons))
    }

    /// Returns a title by its id: the title and the stored fields.
    fn get<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = work::alone(py, || self.0.get(id))?.map_err(|fault| error::raise(py, &fault))?;
        found.map(|Document { title, fields, .. }| json::to_python(py, &json!([title, fields]))).transpose()
    }
}

/// Adds the titles of a table to an index on disk, replaces those it has, and deletes some by their ids. Returns the figures.
#[pyfunction]
pub(crate) fn update_index<'py>(
    py: Python<'py>,
    path: PathBuf,
    add: Option<PathBuf>,
    delete: Vec<String>,
    compacts: bool,
    tell: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let updated = serve(py, None, tell, |caller| {
        let mut figures = json!({});
        if add.is_some() || !delete.is_empty() {
            let add = add.as_ref().map(Titles::from);
            let updated = update::change(&path, add.as_ref(), delete.into_iter().map(Ok), &caller)?;
            figures["updated"] = json::value(&updated);
            let compacted = if compacts { None } else { update::compact_if_overdue(&path, &updated, &caller) };
            compacted.into_iter().for_each(|compacted| figures["compacted"] = json::value(&compacted));
        }
        if compacts {
            figures["compacted"] = json::value(&update::compact(&path, &caller)?);
        }
        Ok(figures)
    })?;
    json::to_python(py, &updated)
}

/// Reads every byte of an index on disk, and returns what is damaged.
#[pyfunction]
pub(crate) fn check_index<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
    let verified = work::long(py, || verify(&path))?.map_err(|fault| error::raise(py, &fault))?;
    let damaged: Vec<String> = verified.damaged.iter().map(ToString::to_string).collect();
    let (files, bytes, queries) = (verified.files, verified.bytes, verified.queries);
    json::to_python(py, &json!({"files": files, "bytes": bytes, "queries": queries, "damaged": damaged}))
}

/// Joins indexes into one, or links to them.
#[pyfunction]
pub(crate) fn join_indexes(py: Python<'_>, paths: Vec<PathBuf>, output: PathBuf, link: bool) -> PyResult<()> {
    let joined = work::long(py, || {
        if link { clickvec_index::link(&paths, &output) } else { clickvec_index::join(&paths, &output, Ok, None) }
    })?;
    joined.map(drop).map_err(|fault| error::raise(py, &fault))
}

fn why_nothing(answer: &Answer) -> Option<&'static str> {
    if !answer.hits.is_empty() {
        None
    } else if answer.query.words.is_empty() {
        Some("no words")
    } else {
        Some("unknown words").filter(|_| !answer.query.has_vector)
    }
}

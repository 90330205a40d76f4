//! Search, and indexes on disk.

use std::path::PathBuf;

use clickvec::tables::Title;
use clickvec_index::{Answer, Fusion, Index, IndexBuilder, Mode, Request, VectorFormat, finish};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::bridge::serve;
use crate::model::Model;
use crate::texts::{Text, Texts};
use crate::{error, work};

/// A searcher of titles.
#[pyclass(frozen, module = "clickvec._clickvec")]
pub(crate) struct Searcher(Index);

/// An answer: what was found, as (rank, id, title, score), or why nothing was looked for.
type Answered = (Vec<(usize, String, String, f32)>, Option<&'static str>);

#[pymethods]
impl Searcher {
    /// Opens an index.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Searcher> {
        let index = work::short(py, || Index::open(&path))?;
        Ok(Searcher(index.map_err(|fault| error::from_index(py, &fault))?))
    }

    /// Encodes titles. Ctrl-C ends them early, and with them the work.
    #[staticmethod]
    fn encode(py: Python<'_>, model: &Model, titles: Vec<(String, String)>) -> PyResult<Searcher> {
        let titles = titles.into_iter().map(|(id, title)| Title { id, title });
        // It locks nothing that a forked process would use, so no fork has to wait for it.
        let index = serve(py, None, &|_| Ok(()), |caller| {
            Index::in_memory(&model.inner, titles.take_while(|_| !caller.is_stopped()))
        })?;
        Ok(Searcher(index.map_err(|fault| error::from_index(py, &fault))?))
    }

    fn __len__(&self) -> usize {
        self.0.facts().titles as usize
    }

    #[getter]
    fn left_out(&self) -> u64 {
        self.0.facts().left_out
    }

    #[getter]
    fn fingerprint(&self) -> &str {
        &self.0.facts().model.fingerprint
    }

    /// Returns the best `k` titles for each query, found by vectors, words or both.
    fn search(
        &self,
        py: Python<'_>,
        queries: &Bound<'_, PyAny>,
        k: usize,
        mode: &str,
        min_confidence: Option<f32>,
        as_typed: bool,
    ) -> PyResult<Vec<Answered>> {
        let mode: Mode = mode.parse().map_err(|_| {
            error::invalid(format!(
                "mode: expected one of {}, found `{mode}`",
                Mode::all().map(Mode::name).collect::<Vec<_>>().join(", ")
            ))
        })?;
        let queries = Texts::of(queries)?;
        let queries = queries.all();
        let answers = work::short(py, || {
            if k == 0 {
                return Ok(queries.iter().map(|_| (Vec::new(), None)).collect());
            }
            let request = |query: &Text<'_>| {
                let mut request = Request::new(query.as_ref(), mode).with_k(k);
                request.min_confidence = min_confidence.unwrap_or(request.min_confidence);
                request.corrects = !as_typed;
                request
            };
            let requests: Vec<Request> = queries.iter().map(request).collect();
            Ok(self.0.search_all(&requests)?.into_iter().map(answered).collect())
        })?;
        answers.map_err(|fault| error::from_index(py, &fault))
    }
}

fn answered(answer: Answer) -> Answered {
    let why = if !answer.hits.is_empty() {
        None
    } else if answer.query.words.is_empty() {
        Some("no words")
    } else {
        Some("unknown words").filter(|_| !answer.query.has_vector)
    };
    (answer.hits.into_iter().map(|hit| (hit.rank, hit.id, hit.title, hit.score)).collect(), why)
}

/// Writes an index of titles, which come one after the other.
#[pyfunction]
pub(crate) fn build_index<'py>(
    py: Python<'py>,
    model: &Model,
    titles: &Bound<'py, PyAny>,
    path: PathBuf,
) -> PyResult<Bound<'py, PyDict>> {
    let raise = |fault| error::from_index(py, &fault);
    let mut builder = work::short(py, || IndexBuilder::new(&model.inner, &path))?.map_err(raise)?;
    let mut titles = titles.try_iter()?;
    loop {
        let some: Vec<(String, String)> =
            titles.by_ref().take(8192).map(|title| title?.extract()).collect::<PyResult<_>>()?;
        if some.is_empty() {
            break;
        }
        let added = work::short(py, || some.into_iter().try_for_each(|(id, title)| builder.add(Title { id, title })))?;
        added.map_err(raise)?;
        py.check_signals()?;
    }
    let built =
        work::short(py, move || finish(builder, &model.inner, &Fusion::for_model(&model.inner), VectorFormat::F32))?;
    let built = built.map_err(|fault| error::from_index(py, &fault))?;
    let found = PyDict::new(py);
    found.set_item("fingerprint", built.fingerprint)?;
    found.set_item("model", built.model)?;
    found.set_item("titles", built.titles)?;
    found.set_item("left_out", built.left_out)?;
    found.set_item("dimension", built.dimension)?;
    Ok(found)
}

/// The titles in a file, each with its id.
#[pyfunction]
pub(crate) fn read_titles(py: Python<'_>, path: PathBuf, field: &str) -> PyResult<Vec<(String, String)>> {
    let titles = work::short(py, || clickvec::tables::read_titles(&path, field))?;
    let titles = titles.map_err(|fault| error::raise(py, &fault))?.titles;
    Ok(titles.into_iter().map(|Title { id, title }| (id, title)).collect())
}

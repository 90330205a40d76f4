//! Search, and indexes on disk.

use std::path::PathBuf;

use clickvec_index::IndexBuilder;
use clickvec_index::searcher::Answer;
use clickvec::tables::Title;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::bridge::serve;
use crate::model::Model;
use crate::texts::Texts;
use crate::{error, work};

/// A searcher of titles.
#[pyclass(frozen, module = "clickvec._clickvec")]
pub(crate) struct Searcher(clickvec_index::searcher::Searcher);

/// An answer: what was found, as (rank, id, title, score), or why nothing was looked for.
type Answered = (Vec<(usize, String, String, f32)>, Option<&'static str>);

#[pymethods]
impl Searcher {
    /// Opens an index.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Searcher> {
        let searcher = work::short(py, || clickvec_index::searcher::Searcher::open(&path))?;
        Ok(Searcher(searcher.map_err(|fault| error::raise(py, &fault))?))
    }

    /// Encodes titles. Ctrl-C ends them early, and with them the work.
    #[staticmethod]
    fn encode(py: Python<'_>, model: &Model, titles: Vec<(String, String)>) -> PyResult<Searcher> {
        let titles = titles.into_iter().map(|(id, title)| Title { id, title });
        // It locks nothing that a forked process would use, so no fork has to wait for it.
        let searcher = serve(py, None, &|_| Ok(()), |caller| {
            clickvec_index::searcher::Searcher::encode(&model.inner, titles.take_while(|_| !caller.is_stopped()))
        })?;
        Ok(Searcher(searcher.map_err(|fault| error::raise(py, &fault))?))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn left_out(&self) -> u64 {
        self.0.left_out()
    }

    #[getter]
    fn fingerprint(&self) -> &str {
        self.0.model().fingerprint()
    }

    /// The best `k` titles for each query.
    fn search(&self, py: Python<'_>, queries: &Bound<'_, PyAny>, k: usize) -> PyResult<Vec<Answered>> {
        let queries = Texts::of(queries)?;
        let queries = queries.all();
        let answers = work::short(py, || {
            let answers = self.0.search_batch(&queries, k)?;
            Ok(answers.iter().map(answered).collect())
        })?;
        answers.map_err(|fault| error::raise(py, &fault))
    }
}

fn answered(answer: &Answer<'_>) -> Answered {
    let found = answer.results().iter();
    let found = found.map(|found| (found.rank, found.id.to_owned(), found.title.to_owned(), found.score)).collect();
    let why = match answer {
        Answer::Found(_) => None,
        Answer::NoWords => Some("no words"),
        Answer::UnknownWords => Some("unknown words"),
    };
    (found, why)
}

/// Writes an index of titles, which come one after the other.
#[pyfunction]
pub(crate) fn build_index<'py>(
    py: Python<'py>,
    model: &Model,
    titles: &Bound<'py, PyAny>,
    path: PathBuf,
) -> PyResult<Bound<'py, PyDict>> {
    let raise = |fault| error::raise(py, &fault);
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
    let built = work::short(py, move || builder.finish())?.map_err(raise)?;
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

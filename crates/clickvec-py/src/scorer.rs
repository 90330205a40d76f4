//! What scores titles: a ranker of the library or a function of Python.
//!
//! The library scores queries on all threads, in any order. A function of Python is called on the calling thread, query by
//! query and in order: it may keep a state, and what it raises ends the work.

use std::convert::Infallible;
use std::sync::Arc;

use clickvec_eval::ranker;
use clickvec_eval::{self as eval, Judgments, Scores};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::texts::kind;
use crate::{error, work};

/// The queries that are scored before the first look for Ctrl-C, and the most between two looks.
const PART: (usize, usize) = (32, 1 << 13);

/// What scores titles.
#[derive(Clone)]
pub(crate) enum Scorer {
    /// A ranker of the library.
    Native(Arc<dyn ranker::Ranker>),
    /// A function of a query and a list of titles.
    Function(Arc<Py<PyAny>>),
}

impl Scorer {
    /// The name in tables.
    pub(crate) fn name(&self) -> &str {
        match self {
            Scorer::Native(ranker) => ranker.name(),
            Scorer::Function(_) => "function",
        }
    }

    /// A score for each title.
    ///
    /// # Errors
    /// What Python raised.
    pub(crate) fn score(&self, py: Python<'_>, query: &str, titles: &[&str]) -> PyResult<Vec<f64>> {
        match self {
            Scorer::Native(ranker) => work::long(py, || ranker.score(query, titles)),
            Scorer::Function(function) => call(function.bind(py), query, titles),
        }
    }

    /// The scores of each query's judged titles. Those that call Python come in the order of the queries.
    ///
    /// # Errors
    /// What Python raised first; no query after that is scored.
    pub(crate) fn score_all(&self, py: Python<'_>, judgments: &Judgments) -> PyResult<Scores> {
        let mut scores = Scores::with_capacity(judgments.queries.len());
        if let Scorer::Native(ranker) = self {
            let Ok(()) = work::in_parts(
                py,
                &judgments.queries,
                PART,
                |part| {
                    scores.extend(eval::score_queries(&**ranker, part));
                    Ok::<_, Infallible>(())
                },
                |()| Ok(()),
            )?;
            return Ok(scores);
        }
        for query in &judgments.queries {
            let titles: Vec<&str> = query.titles.iter().map(|title| title.text.as_str()).collect();
            scores.push(self.score(py, &query.text, &titles)?);
            py.check_signals()?;
        }
        Ok(scores)
    }
}

/// What a function says about titles.
fn call(function: &Bound<'_, PyAny>, query: &str, titles: &[&str]) -> PyResult<Vec<f64>> {
    let found = function.call1((query, PyList::new(function.py(), titles)?))?;
    let items = found.try_iter().map_err(|_| {
        PyTypeError::new_err(format!("expected a function that returns a score for each title, found {}", kind(&found)))
    })?;
    let number = |score: Bound<'_, PyAny>| {
        let wrong = |_| PyTypeError::new_err(format!("expected scores that are numbers, found {}", kind(&score)));
        score.extract().map_err(wrong)
    };
    let scores: Vec<f64> = items.map(|score| number(score?)).collect::<PyResult<_>>()?;
    if scores.len() != titles.len() {
        let what = format!("expected a score for each of {} titles, found {}", titles.len(), scores.len());
        return Err(error::invalid(what));
    }
    if scores.iter().any(|score| score.is_nan()) {
        let what = format!("expected scores that are numbers, found NaN for the query {query:?}");
        return Err(error::invalid(what));
    }
    Ok(scores)
}

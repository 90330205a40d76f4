//! What scores titles: a ranker of the library, a function of Python, or a fusion with such a function among its members.
//!
//! The library scores queries on all threads, in any order. A function of Python is called on the calling thread, query by
//! query and in order: it may keep a state, and what it raises ends the work.

use std::sync::Arc;

use clickvec_eval::ranker::{self, Fusion, FusionMethod};
use clickvec_eval::{self as eval, Judgments, Scores};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::texts::kind;
use crate::{error, work};

/// What scores titles.
#[derive(Clone)]
pub(crate) enum Scorer {
    /// A ranker of the library.
    Native(Arc<dyn ranker::Ranker>),
    /// A function of a query and a list of titles.
    Function(Arc<Py<PyAny>>),
    /// A fusion that calls Python.
    Fusion(Arc<Fused>),
}

/// Scorers, at least one of which calls Python, with a weight each.
pub(crate) struct Fused {
    name: String,
    members: Vec<(Scorer, f64)>,
    method: FusionMethod,
}

impl Scorer {
    /// The fusion of `members`, each with its weight.
    pub(crate) fn fusion(name: String, members: Vec<(Scorer, f64)>, method: FusionMethod) -> Scorer {
        let native = |(scorer, weight): &(Scorer, f64)| match scorer {
            Scorer::Native(ranker) => Some((Arc::clone(ranker), *weight)),
            Scorer::Function(_) | Scorer::Fusion(_) => None,
        };
        match members.iter().map(native).collect::<Option<Vec<_>>>() {
            Some(members) => Scorer::Native(Arc::new(Fusion::new(name, members, method))),
            None => Scorer::Fusion(Arc::new(Fused { name, members, method })),
        }
    }

    /// The name in tables.
    pub(crate) fn name(&self) -> &str {
        match self {
            Scorer::Native(ranker) => ranker.name(),
            Scorer::Function(_) => "function",
            Scorer::Fusion(fused) => &fused.name,
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
            Scorer::Fusion(fused) => {
                let mut scores = Vec::with_capacity(fused.members.len());
                for (member, _) in &fused.members {
                    scores.push(member.score(py, query, titles)?);
                }
                let scores: Vec<&[f64]> = scores.iter().map(Vec::as_slice).collect();
                let weights: Vec<f64> = fused.members.iter().map(|(_, weight)| *weight).collect();
                Ok(ranker::fuse(&scores, &weights, fused.method))
            }
        }
    }

    /// The scores of each query's judged titles. Those that call Python come in the order of the queries.
    ///
    /// # Errors
    /// What Python raised first; no query after that is scored.
    pub(crate) fn score_all(&self, py: Python<'_>, judgments: &Judgments) -> PyResult<Scores> {
        if let Scorer::Native(ranker) = self {
            return work::long(py, || eval::score(&**ranker, judgments));
        }
        let mut scores = Scores::with_capacity(judgments.queries.len());
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

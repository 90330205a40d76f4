//! Rankers: the systems of the papers' tables.

use clickvec::tables::Titles;
use std::path::PathBuf;
use std::sync::Arc;

use clickvec::train::Weighting;
use clickvec_eval::ranker::{self, FileKind, Neural, RankerSpec, Resources, Stage, System, SystemRanker, Values};
use clickvec_eval::{CorpusFiles, read_corpus};
use clickvec_lab::SYSTEMS;
use clickvec_tools::Watcher as _;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use crate::bridge::{Caller, serve};
use crate::model::Model;
use crate::scorer::Scorer;
use crate::texts::{Texts, kind};
use crate::{array, error, json, work};

/// A ranker that is ready to score.
#[pyclass(frozen, module = "clickvec._clickvec")]
pub(crate) struct Ranker {
    pub(crate) scorer: Scorer,
    /// What saving it takes, if it is one of the systems.
    system: Option<TrainedSystem>,
}

struct TrainedSystem {
    system: &'static System,
    values: Values,
    ranker: Arc<dyn SystemRanker>,
}

/// What scores as an object says: a ranker, a model, or a function of a query and a list of titles.
pub(crate) fn scorer_of(object: &Bound<'_, PyAny>) -> PyResult<Scorer> {
    if let Ok(ranker) = object.cast::<Ranker>() {
        return Ok(ranker.get().scorer.clone());
    }
    if let Ok(model) = object.cast::<Model>() {
        return Ok(Scorer::Native(Arc::new(Neural::new("model".to_owned(), Arc::clone(&model.get().inner)))));
    }
    if object.is_callable() {
        return Ok(Scorer::Function(Arc::new(object.clone().unbind())));
    }
    Err(PyTypeError::new_err(format!(
        "expected a ranker, a model, or a function of a query and a list of titles, found {}",
        kind(object)
    )))
}

/// The systems, each with its parameters.
#[pyfunction]
pub(crate) fn systems(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let parameter = |parameter: &ranker::Parameter| {
        json!({
            "name": parameter.name,
            "default": parameter.default,
            "least": parameter.least,
            "most": parameter.most,
            "whole": parameter.integer,
            "stage": if parameter.stage == Stage::Training { "training" } else { "scoring" },
            "about": parameter.about,
        })
    };
    let system = |system: &&System| {
        let parameters: Vec<_> = system.parameters.iter().map(parameter).collect();
        json!({"name": system.name, "about": system.about, "parameters": parameters})
    };
    json::to_python(py, &json!(SYSTEMS.iter().map(system).collect::<Vec<_>>()))
}

/// The files that rankers learn from.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Files {
    pub(crate) titles: Option<PathBuf>,
    pub(crate) clicks: Option<PathBuf>,
    pub(crate) field: String,
    pub(crate) weighting: String,
    pub(crate) load: Option<PathBuf>,
    pub(crate) vectors: Vec<PathBuf>,
}

impl Files {
    /// The files that another program trained: those of the spec, or else those of the arguments `load` and `vectors`.
    pub(crate) fn ranker_files(&self, spec: &RankerSpec) -> Vec<(String, PathBuf)> {
        if !spec.files.is_empty() {
            return spec.files.clone();
        }
        // A third file is refused where the ranker is trained.
        let names: &[&str] = if self.vectors.len() == 1 { &["file"] } else { &["queries", "titles", "file"] };
        let vectors = names.iter().zip(&self.vectors);
        let load = self.load.iter().map(|path| (&"encoder", path));
        vectors.chain(load).map(|(name, path)| ((*name).to_owned(), path.clone())).collect()
    }

    /// How counts of clicks become weights.
    pub(crate) fn weighting(&self) -> PyResult<Weighting> {
        weighting(&self.weighting)
    }
}

/// How counts of clicks become weights, by its name.
pub(crate) fn weighting(name: &str) -> PyResult<Weighting> {
    serde_json::from_value(json!(name))
        .map_err(|_| error::invalid(format!("expected a weighting of log, linear, none or binary, found `{name}`")))
}

/// Tells how far the training of a system is, and unwinds if it should stop.
pub(crate) fn trained<'c>(caller: &'c Caller, system: &'static str) -> impl FnMut(ranker::Progress) + 'c {
    move |ranker::Progress { done, of, .. }| caller.progress_or_unwind(system, "steps", done, of)
}

/// Trains the ranker of a spec, such as `bm25:k1=1.2`.
#[pyfunction]
pub(crate) fn train_ranker(py: Python<'_>, spec: &str, files: Files, tell: &Bound<'_, PyAny>) -> PyResult<Ranker> {
    let weighting = files.weighting()?;
    let trained = serve(py, None, tell, |caller| {
        let spec: RankerSpec = spec.parse()?;
        let system = System::named(&spec.name, &SYSTEMS)?;
        let values = system.values(&spec)?;
        let of = CorpusFiles {
            titles: files.titles.as_ref().map(Titles::from),
            clicks: files.clicks.as_deref(),
            field: &files.field,
            weighting,
        };
        let read = read_corpus(&of, None)?;
        let ranker = system.train(
            &values,
            &Resources { corpus: &read.corpus, files: &files.ranker_files(&spec) },
            &mut trained(&caller, system.name),
        )?;
        Ok(TrainedSystem { system, values, ranker: Arc::from(ranker) })
    })?;
    let ranker = Arc::clone(&trained.ranker);
    Ok(Ranker { scorer: Scorer::Native(ranker), system: Some(trained) })
}

/// The ranker in a file: a model or a trained ranker.
#[pyfunction]
pub(crate) fn load_ranker(py: Python<'_>, path: PathBuf) -> PyResult<(Ranker, &'static str)> {
    let loaded = work::short(py, || Ok((ranker::load_with(&path, &SYSTEMS)?, FileKind::read(&path)?)))?;
    let (inner, kind) = loaded.map_err(|fault| error::raise(py, &fault))?;
    let kind = match kind {
        FileKind::Model => "model",
        FileKind::Ranker => "ranker",
    };
    Ok((Ranker { scorer: Scorer::Native(Arc::from(inner)), system: None }, kind))
}

#[pymethods]
impl Ranker {
    #[getter]
    fn name(&self) -> &str {
        self.scorer.name()
    }

    /// The value of each parameter; empty if it is none of the systems.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(py);
        for (parameter, value) in self.system.iter().flat_map(|trained| trained.values.iter()) {
            values.set_item(parameter.name, value)?;
        }
        Ok(values)
    }

    /// A score for each title.
    fn score<'py>(&self, py: Python<'py>, query: &str, titles: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let titles = Texts::extract(titles)?;
        let titles = titles.all();
        let titles: Vec<&str> = titles.iter().map(AsRef::as_ref).collect();
        array::numbers(py, &self.scorer.score(py, query, &titles)?, &[titles.len()])
    }

    /// Writes the ranker to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let Some(TrainedSystem { system, values, ranker }) = &self.system else {
            return Err(error::told(py, "expected a trained ranker to save, found a function or one from a file"));
        };
        work::short(py, || system.save(&path, values, &**ranker))?.map_err(|fault| error::raise(py, &fault))
    }
}

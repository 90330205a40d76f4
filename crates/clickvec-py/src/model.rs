//! A trained model.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use clickvec::model::{Embedder, Side};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::texts::Texts;
use crate::{array, error, explain, json, work};

/// The texts that are encoded before the first look for Ctrl-C, and the most between two looks.
const PART: (usize, usize) = (1 << 11, 1 << 17);
/// The calling thread encodes up to this many texts by itself.
const FEW: usize = 32;

/// A model with its embedders.
#[pyclass(frozen, module = "clickvec._clickvec")]
pub(crate) struct Model {
    pub(crate) inner: Arc<clickvec::model::Model>,
    queries: Embedder,
    documents: Embedder,
}

impl Model {
    pub(crate) fn new(model: clickvec::model::Model) -> Model {
        let (queries, documents) = (model.embedder(Side::Query), model.embedder(Side::Title));
        Model { inner: Arc::new(model), queries, documents }
    }

    /// The vectors of texts, one after the other.
    fn vectors(&self, py: Python<'_>, texts: &Texts, embedder: &Embedder) -> PyResult<Vec<f32>> {
        let texts = texts.all();
        if texts.len() <= FEW {
            return work::alone(py, || embedder.embed(&texts));
        }
        let mut vectors = Vec::with_capacity(texts.len() * embedder.dimension());
        let mut encoded = Vec::new();
        let Ok(()) = work::in_parts(
            py,
            &texts,
            PART,
            |part| {
                embedder.embed_into(part, &mut encoded);
                vectors.extend_from_slice(&encoded);
                Ok::<_, Infallible>(())
            },
            |()| Ok(()),
        )?;
        Ok(vectors)
    }
}

/// The side with this name.
pub(crate) fn side(name: &str) -> PyResult<Side> {
    match name {
        "query" => Ok(Side::Query),
        "title" => Ok(Side::Title),
        other => Err(error::invalid(format!("expected `query` or `title`, found `{other}`"))),
    }
}

#[pymethods]
impl Model {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
        let model = work::short(py, || clickvec::model::Model::load(&path))?;
        Ok(Model::new(model.map_err(|fault| error::raise(py, &fault))?))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Model> {
        let model = work::short(py, || clickvec::model::Model::from_bytes(data))?;
        Ok(Model::new(model.map_err(|fault| error::raise(py, &fault))?))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = work::short(py, || self.inner.to_bytes())?.map_err(|fault| error::raise(py, &fault))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        work::short(py, || self.inner.save(&path))?.map_err(|fault| error::raise(py, &fault))
    }

    #[getter]
    fn fingerprint(&self) -> &str {
        self.inner.fingerprint()
    }

    #[getter]
    fn dimension(&self) -> usize {
        self.inner.dimension()
    }

    #[getter]
    fn shared_towers(&self) -> bool {
        self.inner.shared_towers()
    }

    #[getter]
    fn encoder(&self) -> String {
        self.inner.encoder_config().to_string()
    }

    #[getter]
    fn parameters(&self) -> u64 {
        self.inner.parameters()
    }

    /// What the model records of its training.
    fn training<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let record = serde_json::to_value(self.inner.training());
        json::to_python(py, &record.map_err(|fault| error::told(py, &fault.to_string()))?)
    }

    /// Vectors of unit length, [texts, dimension]; of a single text [dimension].
    fn encode<'py>(&self, py: Python<'py>, texts: &Bound<'py, PyAny>, side_name: &str) -> PyResult<Bound<'py, PyAny>> {
        let embedder = match side(side_name)? {
            Side::Query => &self.queries,
            Side::Title => &self.documents,
        };
        let texts = Texts::extract(texts)?;
        let vectors = self.vectors(py, &texts, embedder)?;
        let shape = [vectors.len() / embedder.dimension(), embedder.dimension()];
        array::numbers(py, &vectors, if texts.is_one() { &shape[1..] } else { &shape })
    }

    /// Why a title has its score for a query.
    fn explain<'py>(&self, py: Python<'py>, query: &str, title: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = work::short(py, || clickvec::explain::Explainer::new(&self.inner).explain(query, title))?;
        json::to_python(py, &explain::json(&found))
    }
}

//! Evaluation of systems on judged titles, with the program's tests between them.

use std::path::PathBuf;
use std::sync::Arc;

use clickvec::Error;
use clickvec::eval::{
    self, Comparison, EvaluateOptions, Evaluation, Form, Gain, Judgments, Metric, Scores, TestSet, TestSetFiles, Ties,
};
use clickvec::ranker::{Corpus, FusionMethod, Ranker, RankerSpec, System};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Value, json};

use crate::events::{key, metrics};
use crate::ranker::{Files, checked, method, of_python, raised, resources};
use crate::{error, json, work};

/// A system to judge.
enum Entry {
    /// A ranker to train first, by its description.
    Spec(String),
    /// A ranker that is ready.
    Ready(Arc<dyn Ranker>),
    /// A file of a model, a ranker or a fusion.
    File(PathBuf),
}

/// How it is judged.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct How {
    judged: PathBuf,
    topics: Option<PathBuf>,
    ties: String,
    gain: String,
    relevant_from: u8,
    fusion: Vec<String>,
    fusion_weights: Option<Vec<f64>>,
    fusion_judged: Option<PathBuf>,
}

/// What the work found.
struct Found {
    set: TestSet,
    evaluations: Vec<Evaluation>,
    tests: Vec<Comparison>,
    fusions: Vec<Value>,
    left_out: Vec<String>,
}

/// Judges systems, each given with its name or without one.
#[pyfunction]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    systems: Vec<(Option<String>, Bound<'py, PyAny>)>,
    files: Files,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let options = options(&how)?;
    let (mut entries, mut slots) = (Vec::with_capacity(systems.len()), Vec::new());
    for (name, object) in &systems {
        let entry = match object.extract::<(String, PathBuf)>() {
            Ok((kind, path)) if kind == "file" => Entry::File(path),
            Ok((kind, spec)) if kind == "spec" => Entry::Spec(spec.to_string_lossy().into_owned()),
            _ => {
                let usable = of_python(object)?;
                slots.extend(usable.slots);
                Entry::Ready(usable.ranker)
            }
        };
        let name = match (name, &entry) {
            (Some(name), _) => name.clone(),
            (None, Entry::Spec(spec)) => {
                let parsed = spec.parse::<RankerSpec>().map_err(|fault| error::raise(py, &Error::from(fault)))?;
                parsed.to_string()
            }
            (None, Entry::Ready(ranker)) => ranker.name().to_owned(),
            (None, Entry::File(path)) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        };
        if entries.iter().any(|(taken, _)| *taken == name) {
            let what = format!("expected each system once, found `{name}` again; give names by a dict");
            return Err(PyValueError::new_err(what));
        }
        entries.push((name, entry));
    }
    let fusions: Vec<(String, FusionMethod)> =
        how.fusion.iter().map(|name| Ok((name.clone(), method(name, None)?))).collect::<PyResult<_>>()?;
    if !fusions.is_empty() && entries.len() < 2 {
        return Err(PyValueError::new_err("expected two systems or more to fuse"));
    }
    let weights = how.fusion_weights.as_deref().map(checked).transpose()?;
    if let Some(weights) = &weights
        && weights.len() != entries.len()
    {
        let what = format!("expected a weight for each of {} systems, found {}", entries.len(), weights.len());
        return Err(PyValueError::new_err(what));
    }
    let found = work::long(py, || judge(&entries, &files, &how, &options, &fusions, weights.as_deref()))?;
    raised(&slots)?;
    to_python(py, found.map_err(|fault| error::raise(py, &fault))?)
}

fn options(how: &How) -> PyResult<EvaluateOptions> {
    let ties = match how.ties.as_str() {
        "expected" => Ties::Expected,
        "trec" => Ties::Trec,
        other => return Err(PyValueError::new_err(format!("expected ties of expected or trec, found `{other}`"))),
    };
    let gain = match how.gain.as_str() {
        "exponential" => Gain::Exponential,
        "linear" => Gain::Linear,
        other => {
            return Err(PyValueError::new_err(format!("expected a gain of exponential or linear, found `{other}`")));
        }
    };
    Ok(EvaluateOptions { gain, ties, relevant_from: how.relevant_from })
}

fn read(judged: &PathBuf, files: &Files, how: &How) -> clickvec::Result<TestSet> {
    let (topics, titles) = (how.topics.as_deref(), files.titles.as_deref());
    eval::read_test_set(&TestSetFiles { judged, topics, titles, field: &files.field })
}

/// Trains or loads each system and judges it, as `clickvec evaluate` does.
fn judge(
    entries: &[(String, Entry)],
    files: &Files,
    how: &How,
    options: &EvaluateOptions,
    fusions: &[(String, FusionMethod)],
    weights: Option<&[f64]>,
) -> clickvec::Result<Found> {
    let set = read(&how.judged, files, how)?;
    let judgments = &set.judgments;
    let others = how.fusion_judged.as_ref().map(|path| read(path, files, how)).transpose()?;
    let others = others.map(|others| without(others.judgments, judgments));
    let corpus = match entries.iter().any(|(_, entry)| matches!(entry, Entry::Spec(_))) {
        false => Corpus::default(),
        true => {
            let titles = match (&files.titles, &set.form) {
                (Some(titles), _) => Some(titles.as_path()),
                (None, Form::Beir { corpus, .. }) => Some(corpus.as_path()),
                (None, _) => None,
            };
            let of = eval::CorpusFiles {
                titles,
                clicks: files.clicks.as_deref(),
                field: &files.field,
                weighting: clickvec::train::Weighting::default(),
            };
            let all: Vec<&Judgments> = std::iter::once(judgments).chain(&others).collect();
            eval::read_corpus(&of, &all)?.corpus
        }
    };
    let resources = resources(&corpus, files);
    let mut evaluations = Vec::new();
    let mut members: Vec<(String, Scores, Scores)> = Vec::new();
    let mut left_out = Vec::new();
    for (name, entry) in entries {
        let ranker: Arc<dyn Ranker> = match entry {
            Entry::Ready(ranker) => Arc::clone(ranker),
            Entry::File(path) => Arc::from(clickvec::ranker::load(path)?),
            Entry::Spec(spec) => {
                let spec: RankerSpec = spec.parse()?;
                let system = System::named(&spec.name)?;
                match system.train(&system.values(&spec)?, &resources, &mut |_| ()) {
                    Ok(ranker) => Arc::new(Owned(ranker)),
                    Err(why @ Error::Learn { .. }) => {
                        left_out.push(clickvec_cli::embedded::told(&why));
                        continue;
                    }
                    Err(other) => return Err(other),
                }
            }
        };
        let scores = eval::score(&*ranker, judgments);
        evaluations.push(eval::judge(name, &scores, judgments, options));
        if !fusions.is_empty() {
            let fitting = others.as_ref().map_or_else(Scores::new, |others| eval::score(&*ranker, others));
            members.push((name.clone(), scores, fitting));
        }
    }
    let mut fused = Vec::new();
    if members.len() == entries.len() {
        let scores: Vec<&Scores> = members.iter().map(|(_, scores, _)| scores).collect();
        for (name, method) in fusions {
            let equal = || vec![1.0 / members.len() as f64; members.len()];
            let weights = match (weights, &others) {
                (Some(weights), _) => weights.to_vec(),
                (None, None) => equal(),
                (None, Some(others)) => {
                    let fitting: Vec<&Scores> = members.iter().map(|(_, _, fitting)| fitting).collect();
                    eval::fit_fusion(&fitting, others, *method, options).weights
                }
            };
            let name = format!("fusion:{name}");
            evaluations.push(eval::judge(&name, &eval::fuse_scores(&scores, &weights, *method), judgments, options));
            let names = members.iter().map(|(name, ..)| name);
            fused.push(json!({
                "name": name,
                "members": names.zip(&weights).map(|(name, weight)| json!({"name": name, "weight": weight})).collect::<Vec<_>>(),
                "fitted_on": others.as_ref().map(|others| others.queries.len()),
            }));
        }
    } else if !fusions.is_empty() {
        left_out.push("the fusions, because a member was left out".to_owned());
    }
    let tests = eval::compare_all(&evaluations)?;
    Ok(Found { evaluations, tests, fusions: fused, left_out, set })
}

/// The queries that are not among the judged ones.
fn without(mut others: Judgments, judged: &Judgments) -> Judgments {
    let key = |text: &str| clickvec::internals::text::words(text).join(" ");
    let taken: std::collections::HashSet<String> = judged.queries.iter().map(|query| key(&query.text)).collect();
    others.queries.retain(|query| !taken.contains(&key(&query.text)));
    others
}

/// A trained system as a ranker.
struct Owned(Box<dyn clickvec::ranker::SystemRanker>);

impl Ranker for Owned {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        self.0.score(query, titles)
    }
}

fn to_python(py: Python<'_>, found: Found) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    let queries = &found.set.judgments.queries;
    result.set_item("queries", PyList::new(py, queries.iter().map(|query| &query.text))?)?;
    result.set_item("query_ids", PyList::new(py, queries.iter().map(|query| &query.id))?)?;
    let without = found.evaluations.first().map_or(0, |system| system.queries_without_relevant);
    result.set_item("queries_without_relevant", without)?;
    let systems = PyList::empty(py);
    for system in &found.evaluations {
        let of_system = PyDict::new(py);
        of_system.set_item("name", &system.name)?;
        of_system.set_item("mean", json::to_python(py, &metrics(&system.mean))?)?;
        let values = PyDict::new(py);
        for metric in Metric::ALL {
            values.set_item(key(metric), PyArray1::from_vec(py, system.values(metric)))?;
        }
        of_system.set_item("values", values)?;
        systems.append(of_system)?;
    }
    result.set_item("systems", systems)?;
    let test = |of: &Comparison| {
        let Comparison { a, b, metric, test, holm } = of;
        json!({"a": a, "b": b, "metric": key(*metric), "difference": test.difference, "t": test.t, "p": test.p, "holm": holm})
    };
    let tests: Vec<Value> = found.tests.iter().map(test).collect();
    result.set_item("tests", json::to_python(py, &json!(tests))?)?;
    result.set_item("fusions", json::to_python(py, &json!(found.fusions))?)?;
    let mut left_out = found.left_out;
    let ids = [
        ("judged queries without a text", &found.set.queries_without_text),
        ("judged titles without a text", &found.set.titles_without_text),
        ("queries with no judged title left", &found.set.queries_without_titles),
    ];
    for (what, ids) in ids.iter().filter(|(_, ids)| ids.count > 0) {
        left_out.push(format!("{} {what}: {}", ids.count, ids.first.join(", ")));
    }
    result.set_item("left_out", left_out)?;
    Ok(result)
}

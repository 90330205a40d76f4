//! Evaluation of systems on judged titles, with the program's tests between them.

use clickvec::tables::Titles;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clickvec::train::Weighting;
use clickvec_eval::ranker::{Corpus, FUSED_DEPTH, FusionMethod, RankerSpec, Resources, System};
use clickvec_eval::{
    self as eval, Answers, Comparison, EvaluateOptions, Evaluation, Form, Gain, Judgments, Metric, ReadCorpus, Scores,
    Task, TestSet, TestSetFiles, Ties,
};
use clickvec_tables::ErrorKind;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Value, json};

use crate::ranker::{Boxed, Files, checked, method, scorer_of};
use crate::scorer::Scorer;
use crate::{error, json, work};

/// A system to judge.
enum Entry {
    /// A ranker to train first, by its description.
    Spec(String),
    /// A ranker that is ready.
    Ready(Scorer),
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
    overlap: Option<String>,
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
    let weighting = files.weighting()?;
    let mut entries = Vec::with_capacity(systems.len());
    for (name, object) in &systems {
        let entry = match object.extract::<(String, PathBuf)>() {
            Ok((kind, path)) if kind == "file" => Entry::File(path),
            Ok((kind, spec)) if kind == "spec" => Entry::Spec(spec.to_string_lossy().into_owned()),
            _ => Entry::Ready(scorer_of(object)?),
        };
        let name = match (name, &entry) {
            (Some(name), _) => name.clone(),
            (None, Entry::Spec(spec)) => {
                let parsed = spec.parse::<RankerSpec>().map_err(|fault| error::raise(py, &fault))?;
                parsed.to_string()
            }
            (None, Entry::Ready(scorer)) => scorer.name().to_owned(),
            (None, Entry::File(path)) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        };
        if entries.iter().any(|(taken, _)| *taken == name) {
            let what = format!("expected each system once, found `{name}` again; give names by a dict");
            return Err(error::invalid(what));
        }
        entries.push((name, entry));
    }
    if how.fusion.is_empty() && (how.fusion_judged.is_some() || how.fusion_weights.is_some()) {
        return Err(error::invalid(
            "expected a fusion for `fusion_judged` or `fusion_weights`, found none; name its method",
        ));
    }
    if how.fusion_judged.is_some() && how.fusion_weights.is_some() {
        return Err(error::invalid("expected `fusion_judged` or `fusion_weights`, found both; leave one out"));
    }
    let fusions: Vec<(String, FusionMethod)> =
        how.fusion.iter().map(|name| Ok((name.clone(), method(name, None)?))).collect::<PyResult<_>>()?;
    if !fusions.is_empty() && entries.len() < 2 {
        let found = entries.len();
        return Err(error::invalid(format!("expected two systems or more to fuse, found {found}")));
    }
    let weights = how.fusion_weights.as_deref().map(checked).transpose()?;
    if let Some(weights) = &weights
        && weights.len() != entries.len()
    {
        let what = format!("expected a weight for each of {} systems, found {}", entries.len(), weights.len());
        return Err(error::invalid(what));
    }
    let learns = entries.iter().any(|(_, entry)| matches!(entry, Entry::Spec(_)));
    let data = work::long(py, || Data::read(&files, &how, learns.then_some(weighting)))?;
    let data = data.map_err(|fault| error::raise(py, &fault))?;
    let (mut scored, mut left_out) = (Vec::new(), Vec::new());
    let others = data.others.as_ref().filter(|_| !fusions.is_empty());
    for (name, entry) in entries {
        match work::long(py, || ready(entry, &data, &files))?.map_err(|fault| error::raise(py, &fault))? {
            Ok(scorer) => {
                let scores = scorer.score_all(py, &data.set.judgments)?;
                let fitting = others.map(|others| scorer.score_all(py, others)).transpose()?;
                scored.push(Scored { name, scores, fitting: fitting.unwrap_or_default() });
            }
            Err(why) => left_out.push(why),
        }
        py.check_signals()?;
    }
    let found = work::long(py, || judge(scored, left_out, data, &options, &fusions, weights.as_deref()))?;
    to_python(py, found.map_err(|fault| error::raise(py, &fault))?)
}

fn options(how: &How) -> PyResult<EvaluateOptions> {
    let ties = match how.ties.as_str() {
        "expected" => Ties::Expected,
        "trec" => Ties::Trec,
        other => return Err(error::invalid(format!("expected ties of expected or trec, found `{other}`"))),
    };
    let gain = match how.gain.as_str() {
        "exponential" => Gain::Exponential,
        "linear" => Gain::Linear,
        other => {
            return Err(error::invalid(format!("expected a gain of exponential or linear, found `{other}`")));
        }
    };
    Ok(EvaluateOptions { gain, ties, relevant_from: how.relevant_from })
}

/// Reads a test set, which must not be empty.
fn read(judged: &Path, files: &Files, how: &How) -> clickvec::Result<TestSet> {
    let (topics, titles) = (how.topics.as_deref(), files.titles.as_ref().map(Titles::from));
    let set = eval::read_test_set(&TestSetFiles { judged, topics, titles, field: &files.field })?;
    if set.judgments.queries.is_empty() {
        let place = if set.form == Form::Table { "below the header" } else { "whose texts are there" };
        let error = clickvec_tables::Error::expected(ErrorKind::Empty, format!("judged titles {place}"), "none");
        Err(error.at(judged))
    } else {
        Ok(set)
    }
}

/// What systems are judged on and learn from.
struct Data {
    set: TestSet,
    /// Other judged queries, for weights.
    others: Option<Judgments>,
    corpus: Corpus,
    /// What is said of judged queries that are also in the clicks.
    overlap: Option<String>,
}

impl Data {
    /// Reads it; rankers learn from clicks with this weighting, if they learn.
    fn read(files: &Files, how: &How, learns: Option<Weighting>) -> clickvec::Result<Data> {
        let set = read(&how.judged, files, how)?;
        let others = how.fusion_judged.as_ref().map(|path| others(path, files, how, &set.judgments)).transpose()?;
        let read = match learns {
            None => ReadCorpus::default(),
            Some(weighting) => {
                let titles = match (&files.titles, &set.form) {
                    (Some(titles), _) => Some(Titles::from(titles)),
                    (None, Form::Beir { corpus, .. }) => Some(Titles::from(corpus)),
                    (None, _) => None,
                };
                let of = eval::CorpusFiles { titles, clicks: files.clicks.as_deref(), field: &files.field, weighting };
                let all: Vec<&Judgments> = std::iter::once(&set.judgments).chain(&others).collect();
                eval::read_corpus(&of, &all)?
            }
        };
        let overlap = match (&files.clicks, read.overlap) {
            (None, _) => None,
            (Some(clicks), Some(overlap)) => overlap.warning(&how.judged, clicks),
            (Some(clicks), None) => eval::overlap(&set.judgments, clicks, &files.field)?.warning(&how.judged, clicks),
        };
        Ok(Data { set, others, corpus: read.corpus, overlap })
    }
}

/// A system's scores of the judged titles and, if weights are fitted, of the others.
struct Scored {
    name: String,
    scores: Scores,
    fitting: Scores,
}

/// The scorer of a system, trained or loaded if it is not ready; the reason if it has nothing to learn from.
fn ready(entry: Entry, data: &Data, files: &Files) -> clickvec::Result<Result<Scorer, String>> {
    match entry {
        Entry::Ready(scorer) => Ok(Ok(scorer)),
        Entry::File(path) => {
            Ok(Ok(Scorer::Native(Arc::from(clickvec_eval::ranker::load_with(&path, &clickvec_lab::SYSTEMS)?))))
        }
        Entry::Spec(spec) => {
            let spec: RankerSpec = spec.parse()?;
            let system = System::named(&spec.name, &clickvec_lab::SYSTEMS)?;
            let resources = Resources { corpus: &data.corpus, files: &files.ranker_files(&spec) };
            match system.train(&system.values(&spec)?, &resources, &mut |_| ()) {
                Ok(ranker) => Ok(Ok(Scorer::Native(Arc::new(Boxed(ranker))))),
                Err(why) if why.is_of_data() => Ok(Err(why.to_string())),
                Err(other) => Err(other),
            }
        }
    }
}

/// Judges what was scored, fuses it, and tests the differences.
fn judge(
    scored: Vec<Scored>,
    mut left_out: Vec<String>,
    data: Data,
    options: &EvaluateOptions,
    fusions: &[(String, FusionMethod)],
    weights: Option<&[f64]>,
) -> clickvec::Result<Found> {
    let Data { set, others, overlap, .. } = data;
    let judgments = &set.judgments;
    let mut evaluations: Vec<Evaluation> =
        scored.iter().map(|of| eval::judge(&of.name, &of.scores, judgments, options)).collect();
    let mut fused = Vec::new();
    if left_out.is_empty() {
        let scores: Vec<Answers> = scored.iter().map(|of| Answers::Scores(of.scores.clone())).collect();
        let scores: Vec<&Answers> = scores.iter().collect();
        for (name, method) in fusions {
            let weights = match (weights, &others) {
                (Some(weights), _) => weights.to_vec(),
                (None, None) => eval::equal_weights(&scores, *method),
                (None, Some(others)) => {
                    let fitting: Vec<Answers> = scored.iter().map(|of| Answers::Scores(of.fitting.clone())).collect();
                    let fitting: Vec<&Answers> = fitting.iter().collect();
                    let (task, method) = (Task::Judged(others), (*method, FUSED_DEPTH));
                    eval::fit_fusion(task, &fitting, method, options, &mut |_| ControlFlow::Continue(()))?.weights
                }
            };
            let name = format!("fusion:{name}");
            evaluations.push(eval::judge(
                &name,
                Answers::fused(&scores, &weights, *method, FUSED_DEPTH).scores(),
                judgments,
                options,
            ));
            let member = |(of, weight): (&Scored, &f64)| json!({"name": of.name, "weight": weight});
            fused.push(json!({
                "name": name,
                "members": scored.iter().zip(&weights).map(member).collect::<Vec<_>>(),
                "fitted_on": others.as_ref().map(|others| others.queries.len()),
            }));
        }
    } else if !fusions.is_empty() {
        left_out.push("the fusions, because a member was left out".to_owned());
    }
    let tests = eval::compare_all(&evaluations)?;
    Ok(Found { evaluations, tests, fusions: fused, left_out, overlap, set })
}

/// The queries in a file to fit weights on, without those that the systems are judged on.
fn others(path: &Path, files: &Files, how: &How, judged: &Judgments) -> clickvec::Result<Judgments> {
    let mut others = read(path, files, how)?.judgments;
    let key = |text: &str| clickvec::internals::text::words(text).join(" ");
    let taken: std::collections::HashSet<String> = judged.queries.iter().map(|query| key(&query.text)).collect();
    others.queries.retain(|query| !taken.contains(&key(&query.text)));
    if others.queries.is_empty() {
        let error =
            clickvec_tables::Error::expected(ErrorKind::Empty, "queries that are not among the judged ones", "none");
        return Err(error.at(path).help("weights are fitted on other queries"));
    }
    Ok(others)
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
        let row = PyDict::new(py);
        row.set_item("name", &system.name)?;
        row.set_item("mean", json::to_python(py, &json::metrics(&system.mean))?)?;
        let values = PyDict::new(py);
        for metric in Metric::OF_JUDGED {
            values.set_item(metric.to_string(), PyArray1::from_vec(py, system.values(metric)))?;
        }
        row.set_item("values", values)?;
        systems.append(row)?;
    }
    result.set_item("systems", systems)?;
    result.set_item("tests", json::to_python(py, &json!(found.tests))?)?;
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
    result.set_item("overlap", found.overlap)?;
    Ok(result)
}

//! Evaluation of systems on judged titles, with the program's tests between them.

use clickvec::tables::Titles;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clickvec::train::Weighting;
use clickvec_eval::ranker::{Corpus, RankerSpec, Resources, System};
use clickvec_eval::{
    self as eval, Answers, EvaluateOptions, EvaluationSet, Gain, Metric, Task, TestSet, TestSetFiles, Ties, evaluation,
};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Value, json};

use crate::bridge::{Caller, serve};
use crate::ranker::{Boxed, Files, scorer_of, trained};
use crate::scorer::Scorer;
use crate::{error, json, work};

/// A system to judge.
enum Entry {
    /// A ranker to train first, by its description.
    Spec(String),
    /// A ranker that is ready.
    Ready(Scorer),
    /// A file of a model or a ranker.
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
}

/// Judges systems, each given with its name or without one.
#[pyfunction]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    systems: Vec<(Option<String>, Bound<'py, PyAny>)>,
    files: Files,
    how: How,
    tell: &Bound<'py, PyAny>,
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
    let learns = entries.iter().any(|(_, entry)| matches!(entry, Entry::Spec(_)));
    let data = work::long(py, || Data::read(&files, &how, weighting, learns))?;
    let data = data.map_err(|fault| error::raise(py, &fault))?;
    let tell = |event: &Value| tell.call1((json::to_python(py, event)?,)).map(drop);
    let set = evaluation::run(entries, Task::Judged(&data.set.judgments), &Metric::OF_JUDGED, &options, |_, entry| {
        let ready = serve(py, None, &tell, |caller| ready(entry, &data, &files, &caller))?;
        let answers = match ready.map_err(|fault| error::raise(py, &fault))? {
            Ok(scorer) => Ok(Answers::Scores(scorer.score_all(py, &data.set.judgments)?)),
            Err(why) => Err(why),
        };
        py.check_signals()?;
        PyResult::Ok(answers)
    })?;
    to_python(py, &data, set)
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
    set.check_not_empty(judged)?;
    Ok(set)
}

/// What systems are judged on and learn from.
struct Data {
    set: TestSet,
    corpus: Corpus,
    /// What is said of judged queries that are also in the clicks.
    overlap: Option<String>,
}

impl Data {
    /// Reads it. If a ranker `learns`, it does so from clicks with this weighting.
    fn read(files: &Files, how: &How, weighting: Weighting, learns: bool) -> clickvec::Result<Data> {
        let set = read(&how.judged, files, how)?;
        let titles = set.collection(files.titles.as_ref().map(Titles::from));
        let clicks = files.clicks.as_deref();
        let of = eval::CorpusFiles { titles, clicks, field: &files.field, weighting };
        let read = eval::read_learnt(&of, &set.judgments, learns)?;
        let overlap = read.overlap.zip(clicks).and_then(|(overlap, clicks)| overlap.warning(&how.judged, clicks));
        Ok(Data { set, corpus: read.corpus, overlap })
    }
}

/// The scorer of a system, trained or loaded if it is not ready; the reason if it has nothing to learn from.
fn ready(entry: Entry, data: &Data, files: &Files, caller: &Caller) -> clickvec::Result<Result<Scorer, String>> {
    match entry {
        Entry::Ready(scorer) => Ok(Ok(scorer)),
        Entry::File(path) => {
            Ok(Ok(Scorer::Native(Arc::from(clickvec_eval::ranker::load_with(&path, &clickvec_lab::SYSTEMS)?))))
        }
        Entry::Spec(spec) => {
            let spec: RankerSpec = spec.parse()?;
            let system = System::named(&spec.name, &clickvec_lab::SYSTEMS)?;
            let resources = Resources { corpus: &data.corpus, files: &files.ranker_files(&spec) };
            match system.train(&system.values(&spec)?, &resources, &mut trained(caller, system.name)) {
                Ok(ranker) => Ok(Ok(Scorer::Native(Arc::new(Boxed(ranker))))),
                Err(why) if why.concerns_data() => Ok(Err(why.to_string())),
                Err(other) => Err(other),
            }
        }
    }
}

fn to_python<'py>(py: Python<'py>, data: &Data, set: EvaluationSet) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    let queries = &data.set.judgments.queries;
    result.set_item("queries", PyList::new(py, queries.iter().map(|query| &query.text))?)?;
    result.set_item("query_ids", PyList::new(py, queries.iter().map(|query| &query.id))?)?;
    let without = set.systems.first().map_or(0, |system| system.queries_without_relevant);
    result.set_item("queries_without_relevant", without)?;
    let systems = PyList::empty(py);
    for system in &set.systems {
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
    result.set_item("tests", json::to_python(py, &json!(set.tests))?)?;
    let mut left_out: Vec<String> = set.left_out.into_iter().map(|system| system.why).collect();
    let ids = [
        ("judged queries without a text", &data.set.queries_without_text),
        ("judged titles without a text", &data.set.titles_without_text),
        ("queries with no judged title left", &data.set.queries_without_titles),
    ];
    for (what, ids) in ids.iter().filter(|(_, ids)| ids.count > 0) {
        left_out.push(format!("{} {what}: {}", ids.count, ids.first.join(", ")));
    }
    if data.set.negative_grades > 0 {
        left_out.push(format!("{} titles with negative grades, which were not judged", data.set.negative_grades));
    }
    result.set_item("left_out", left_out)?;
    result.set_item("overlap", &data.overlap)?;
    Ok(result)
}

//! Evaluation of systems, with the program's tests between them.

use std::path::PathBuf;

use clickvec::Error;
use clickvec::tables::Titles;
use clickvec_eval::ranker::{Corpus, RankerSpec, System};
use clickvec_eval::{Answers, EvaluateOptions, EvaluationSet, Gain, Metric, Task, TestSetFiles, Ties, evaluation};
use clickvec_lab::SYSTEMS;
use clickvec_tables::ErrorKind;
use clickvec_tools::evaluate::{Config, Entry, Output, Test, check};
use clickvec_tools::systems::{Loaded, Source};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::json;

use crate::bridge::{Caller, serve};
use crate::ranker::{Files, scorer_of};
use crate::scorer::Scorer;
use crate::{array, error, json};

/// How systems are judged.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct How {
    judged: Vec<PathBuf>,
    topics: Option<PathBuf>,
    full: Option<u32>,
    measures: Vec<String>,
    ties: String,
    gain: String,
    relevant_from: u8,
    output: Option<PathBuf>,
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
    let raise = |fault: Error| error::raise(py, &fault);
    let (mut entries, mut ready) = (Vec::with_capacity(systems.len()), Vec::with_capacity(systems.len()));
    for (name, object) in &systems {
        let (entry, scorer) = entry(name.as_deref(), object, &files)?;
        entries.push(entry);
        ready.push(scorer);
    }
    if let Some(name) = (1..entries.len()).find_map(|at| {
        let name = &entries[at].name;
        entries[..at].iter().any(|other| other.name == *name).then_some(name)
    }) {
        return Err(error::invalid(format!("expected each system once, found `{name}` again; give names by a dict")));
    }
    let measures = how.measures.iter().map(|name| name.parse::<Metric>());
    let measures = measures.collect::<Result<Vec<_>, _>>().map_err(|fault| error::invalid(fault.to_string()))?;
    let titles = files.titles.as_ref().map(Titles::from);
    let (judged, others) =
        how.judged.split_first().ok_or_else(|| error::invalid("expected judged titles, found none"))?;
    let config = Config {
        files: TestSetFiles { judged, topics: how.topics.as_deref(), titles, field: &files.field },
        others,
        clicks: files.clicks.as_deref(),
        weighting: files.weighting()?,
        full: how.full,
        measures: &measures,
        options: options(&how)?,
    };
    let read = |caller: Caller| Data::read(&config, &entries, how.output.as_deref(), &caller);
    let Data { mut test, corpus, output } = serve(py, None, tell, read)?;
    let mut opened = std::mem::take(&mut test.opened);
    let named = entries.iter().map(|entry| entry.name.clone()).zip(entries.iter().zip(ready));
    let set = evaluation::run(named, test.task(), &test.metrics, &test.options, |name, (entry, scorer)| {
        let answers = match (scorer, test.task()) {
            (Some(scorer), Task::Judged(judgments)) => Ok(Answers::Scores(scorer.score_all(py, judgments)?)),
            (Some(Scorer::Function(_)), Task::Search { .. }) => {
                let expected = "a model, a ranker, a run or an index to search a collection";
                return Err(raise(Error::expected(ErrorKind::Setting, expected, "a function")));
            }
            (Some(Scorer::Native(ranker)), Task::Search { .. }) => {
                let loaded = Loaded::Ranker(ranker);
                Ok(serve(py, None, tell, |caller| test.answers(entry, &loaded, &caller))?)
            }
            (None, _) => serve(py, None, tell, |caller| test.answers_of(entry, &corpus, None, &mut opened, &caller))?,
        };
        py.check_signals()?;
        if let (Ok(answers), Some(folder)) = (&answers, &output) {
            folder.run(name, &test, answers).map_err(raise)?;
        }
        PyResult::Ok(answers)
    })?;
    output.map_or(Ok(()), |folder| folder.publish(&test, &set)).map_err(raise)?;
    to_python(py, &test, set)
}

/// A system with its name, and what scores if Python has it.
fn entry(name: Option<&str>, object: &Bound<'_, PyAny>, files: &Files) -> PyResult<(Entry, Option<Scorer>)> {
    let py = object.py();
    let raise = |fault: Error| error::raise(py, &fault);
    let named = |usual: String| name.map_or(usual, str::to_owned);
    let (name, source, scorer) = match object.extract::<(String, PathBuf)>() {
        Ok((kind, path)) if kind == "file" => {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (named(stem), Some(Source::new(&path, &SYSTEMS).map_err(raise)?), None)
        }
        Ok((kind, text)) if kind == "spec" => {
            let spec: RankerSpec = text.to_string_lossy().parse().map_err(raise)?;
            let system = System::named(&spec.name, &SYSTEMS).map_err(raise)?;
            let files = files.ranker_files(&spec);
            (named(spec.to_string()), Some(Source::of(system, RankerSpec { files, ..spec }).map_err(raise)?), None)
        }
        _ => {
            let scorer = scorer_of(object)?;
            (named(scorer.name().to_owned()), None, Some(scorer))
        }
    };
    Ok((Entry { name, source }, scorer))
}

fn options(how: &How) -> PyResult<EvaluateOptions> {
    let [ties, gain] = [&how.ties, &how.gain];
    let ties = Ties::from_name(ties)
        .ok_or_else(|| error::invalid(format!("expected ties of expected or trec, found `{ties}`")))?;
    let gain = Gain::from_name(gain)
        .ok_or_else(|| error::invalid(format!("expected a gain of exponential or linear, found `{gain}`")))?;
    Ok(EvaluateOptions { gain, ties, relevant_from: how.relevant_from })
}

/// What systems are judged on and learn from, and where the rankings go.
struct Data {
    test: Test,
    corpus: Corpus,
    output: Option<Output>,
}

impl Data {
    fn read(
        config: &Config<'_>,
        entries: &[Entry],
        output: Option<&std::path::Path>,
        caller: &Caller,
    ) -> clickvec::Result<Data> {
        check(entries, config.full.is_some())?;
        let output = output.map(|path| Output::new(path, config, entries)).transpose()?;
        let test = Test::read(config, entries, caller)?;
        output.as_ref().map_or(Ok(()), |folder| folder.judgments(&test))?;
        let (corpus, _) = test.corpus(config, entries, caller)?;
        Ok(Data { test, corpus, output })
    }
}

fn to_python<'py>(py: Python<'py>, test: &Test, set: EvaluationSet) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    let (ids, queries): (Vec<&str>, Vec<&str>) = test.task().queries().unzip();
    result.set_item("queries", PyList::new(py, queries)?)?;
    result.set_item("query_ids", PyList::new(py, ids)?)?;
    let without = set.systems.first().map_or(0, |system| system.queries_without_relevant);
    result.set_item("queries_without_relevant", without)?;
    let systems = PyList::empty(py);
    for system in &set.systems {
        let row = PyDict::new(py);
        row.set_item("name", &system.name)?;
        row.set_item("mean", json::to_python(py, &json::value(&system.mean))?)?;
        let values = PyDict::new(py);
        for &metric in &test.metrics {
            let scores = system.values(metric);
            values.set_item(metric.to_string(), array::numbers(py, &scores, &[scores.len()])?)?;
        }
        row.set_item("values", values)?;
        systems.append(row)?;
    }
    result.set_item("systems", systems)?;
    result.set_item("tests", json::to_python(py, &json!(set.tests))?)?;
    result.set_item("metrics", test.metrics.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    result.set_item("left_out", set.left_out.into_iter().map(|system| system.why).collect::<Vec<_>>())?;
    Ok(result)
}

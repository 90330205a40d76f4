//! Simulated logs, and tables of many systems.

use std::fmt::Display;
use std::path::PathBuf;

use clickvec::tables::TITLE;
use clickvec::train::Overrides;
use clickvec_eval::Correction;
use clickvec_lab::simulate::{SimulateConfig, check_output};
use clickvec_lab::table::report::{self, Report};
use clickvec_lab::table::spec::{self, Data, Spec};
use clickvec_lab::table::{Event, Options, make};
use clickvec_tables::{Error, ErrorKind};
use clickvec_tools::{Watcher as _, inputs};
use pyo3::prelude::*;
use serde_json::json;

use crate::bridge::serve;
use crate::{error, json, ranker};

/// Writes a simulated log. `settings` are a JSON object of settings by name.
#[pyfunction]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    output: PathBuf,
    titles: Option<PathBuf>,
    settings: &str,
    tell: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut overrides = Overrides::default();
    overrides.set("", serde_json::from_str(settings).map_err(|fault| error::told(py, &fault.to_string()))?);
    let simulated = serve(py, None, tell, |caller| {
        let defaults = SimulateConfig::default();
        let config = overrides.apply(defaults.clone())?;
        if titles.is_some() && config.titles != defaults.titles {
            let error = Error::expected(ErrorKind::Setting, "a table of titles or their number", "both");
            return Err(error.help("leave one out"));
        }
        config.check()?;
        check_output(&output, titles.as_deref())?;
        let titles = titles.as_ref().map(|titles| inputs::titles(titles, TITLE, &caller)).transpose()?;
        let summary = clickvec_lab::simulate::simulate(&config, titles, &output, &mut |pairs| {
            caller.at("simulating", "pairs", pairs, Some(config.pairs))
        })?;
        summary.shortfalls(&config).into_iter().for_each(|warning| caller.warn(warning));
        Ok(summary)
    })?;
    let mut simulated = json::value(&simulated);
    simulated["simulation"] = json!(output.to_string_lossy());
    json::to_python(py, &simulated)
}

/// The files of a table: judged titles, topics, clicks, and titles.
type Files = (Option<PathBuf>, Option<PathBuf>, Option<PathBuf>, Option<PathBuf>);

/// Makes a table of the systems of a spec, or of rankers by their descriptions. `program` is the file of this module.
#[pyfunction]
pub(crate) fn table<'py>(
    py: Python<'py>,
    spec: Option<PathBuf>,
    rankers: Vec<String>,
    files: Files,
    texts: (Option<String>, Option<String>),
    cache: Option<PathBuf>,
    against: Option<String>,
    uncorrected: bool,
    output: Vec<PathBuf>,
    program: PathBuf,
    tell: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let ((judged, topics, clicks, titles), (field, weighting)) = (files, texts);
    let weighting = weighting.map(|name| ranker::weighting(&name)).transpose()?;
    let data = Data { judged, topics, clicks, titles, field, weighting };
    let made = serve(py, None, tell, |caller| {
        let mut read = match &spec {
            Some(path) => spec::read(path)?,
            None => Spec::from_rankers(rankers.iter().map(|ranker| ranker.parse()).collect::<Result<_, _>>()?),
        };
        read.check_against(against.as_deref())?;
        read.replace_data(data)?;
        let plan = read.plan()?;
        report::check_outputs(&output, spec.as_deref(), &plan)?;
        let overlap = plan.overlap();
        let warning = plan.data.clicks.as_ref().zip(overlap.as_ref());
        let warning = warning.and_then(|(clicks, overlap)| overlap.warning(&plan.data.judged, clicks));
        warning.into_iter().for_each(|warning| caller.warn(warning));
        let cache = cache.unwrap_or_else(|| spec::cache_of(spec.as_deref()));
        let (mut done, of) = (0, plan.entries.len() as u64);
        let made = make(&plan, &Options { cache: &cache, program: &program }, &mut |event| {
            // A step can be watched, but not told to stop.
            if matches!(event, Event::Step { .. }) {
                caller.unwind_if_stopped();
            }
            done += u64::from(matches!(event, Event::RowDone));
            left_out(&event).into_iter().for_each(|warning| caller.warn(warning));
            caller.at("judging", "systems", done, Some(of))
        })?;
        let statistics = made.statistics(against.as_deref(), &read.claims)?;
        let correction = if uncorrected { Correction::None } else { Correction::Holm };
        let report = Report { spec: &read, plan: &plan, table: &made, statistics, correction, overlap };
        output.iter().try_for_each(|path| report.write(path))?;
        Ok(json::value(&report))
    })?;
    json::to_python(py, &made)
}

/// What to warn of, if the event is something that is left out or lost.
fn left_out(event: &Event<'_>) -> Option<String> {
    let row = |row: &str, what: &str, reason: &dyn Display| Some(format!("{row}: left {what}: {reason}"));
    match event {
        Event::Damaged { path } => {
            Some(format!("{}: this cached file is damaged and is computed again", path.display()))
        }
        Event::PointLeftOut { row: name, reason } => row(name, "a grid point out", reason),
        Event::RowLeftOut { row: name, reason } => row(name, "out", reason),
        _ => None,
    }
}

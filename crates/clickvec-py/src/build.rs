//! The recipe from logs and titles to an index.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use clickvec::tables::Titles;
use clickvec::train::{Event, Outcome, Overrides};
use clickvec_build::{Build, Progress};
use clickvec_eval::training;
use clickvec_logs::options::{self, LogColumns};
use clickvec_logs::tables::Options;
use clickvec_tables::outputs::{refuse_in_index, refuse_repeated};
use clickvec_tools::Watcher as _;
use pyo3::prelude::*;

use crate::bridge::{TOLD_EVERY, serve};
use crate::{error, json};

/// Makes an index of logs and titles, and returns what was made. `settings` are a JSON object of settings by name; `tell` gets every
/// event.
#[pyfunction]
pub(crate) fn build<'py>(
    py: Python<'py>,
    logs: Vec<PathBuf>,
    titles: PathBuf,
    output: PathBuf,
    columns: Option<String>,
    judged: Option<PathBuf>,
    teachers: Vec<PathBuf>,
    store: Vec<String>,
    fast: bool,
    settings: &str,
    tell: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let names = columns.as_deref().map(options::columns).transpose();
    let names: Vec<_> = names.map_err(|expected| error::invalid(format!("columns: {expected}")))?.into_iter().collect();
    let mut overrides = Overrides::default();
    overrides.set("", serde_json::from_str(settings).map_err(|fault| error::told(py, &fault.to_string()))?);
    let table =
        Options { header: LogColumns::header(&names), columns: LogColumns::for_log(&names), ..Options::default() };
    let build = Build {
        logs: &logs,
        table,
        preset: None,
        titles: if names.is_empty() { Titles::from(&titles) } else { LogColumns::titles(&names, titles) },
        store: &store,
        teachers: &teachers,
        judged: judged.as_deref(),
        fast,
        settings: overrides,
        output: &output,
    };
    let built = serve(py, None, tell, |caller| {
        refuse_repeated(&logs, "log")?;
        refuse_in_index(&output)?;
        let mut told = Instant::now();
        build.run(&mut |progress| {
            let is_due = match &progress {
                Progress::Reading { .. }
                | Progress::Encoding { .. }
                | Progress::Answered { .. }
                | Progress::Training(training::Progress::Run {
                    event: Event::Reading { .. } | Event::Minibatch { .. },
                    ..
                }) => told.elapsed() >= TOLD_EVERY,
                _ => true,
            };
            if is_due {
                told = Instant::now();
                caller.tell(json::value(&progress));
            }
            if caller.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    })?;
    match built {
        Outcome::Finished(built) => json::to_python(py, &json::value(&built)),
        Outcome::Cancelled => Err(error::told(py, "interrupted")),
    }
}

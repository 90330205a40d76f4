//! A comparison of two systems that a person grades.

use std::path::PathBuf;
use std::time::Duration;

use clickvec_eval::JudgmentsForm;
use clickvec_lab::SYSTEMS;
use clickvec_tools::judge::{Config, Judging};
use clickvec_tools::systems::Source;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::json;

use crate::bridge::serve;
use crate::{error, json};

/// How often it is asked whether the person is done, or pressed Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Draws searches and answers them with both systems. With `page`, serves the page to grade on until there are enough grades or Ctrl-C is
/// pressed. Returns what the grades show, and the titles with their grades.
#[pyfunction]
pub(crate) fn judge<'py>(
    py: Python<'py>,
    index: PathBuf,
    against: PathBuf,
    queries: PathBuf,
    sheet: Option<PathBuf>,
    judged: Vec<PathBuf>,
    write: Vec<(String, PathBuf)>,
    page: bool,
    tell: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let raise = |fault: clickvec::Error| error::raise(py, &fault);
    let form = |(form, file): (String, PathBuf)| {
        let form: JudgmentsForm =
            form.parse().map_err(|expected: &str| error::invalid(format!("write: {expected}")))?;
        PyResult::Ok((form, file))
    };
    let write = write.into_iter().map(form).collect::<PyResult<Vec<_>>>()?;
    let judging = serve(py, None, tell, |caller| {
        let against = Source::new(&against, &SYSTEMS)?;
        let (sheet, judged) = (sheet.as_deref(), &judged);
        Judging::new(Config { index: &index, against, queries: &queries, sheet, judged, write: &write }, &caller)
    })?;
    if page && !judging.is_finished() {
        let page = judging.page().map_err(raise)?;
        let event = json!({"event": "page", "address": page.address(), "sheet": judging.sheet().to_string_lossy()});
        tell.call1((json::to_python(py, &event)?,))?;
        while !judging.is_finished() {
            py.detach(|| std::thread::sleep(POLL_INTERVAL));
            match py.check_signals() {
                Err(stop) if stop.is_instance_of::<PyKeyboardInterrupt>(py) => break,
                other => other?,
            }
        }
        py.detach(|| drop(page));
    }
    let verdict = judging.finish().map_err(raise)?;
    let mut found = json::value(&verdict);
    found["text"] = json!(verdict.text(judging.sheet()));
    found["sheet"] = json!(judging.sheet().to_string_lossy());
    found["rows"] = judging.rows().iter().map(|row| json!([row.query, row.id, row.title, row.grade])).collect();
    json::to_python(py, &found)
}

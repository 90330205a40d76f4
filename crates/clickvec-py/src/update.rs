//! A model, or the model of an index, that learns new clicks.

use std::path::PathBuf;

use clickvec::tables::Titles;
use clickvec::train::{Event, Overrides};
use clickvec_eval::update::{Progress, UpdateConfig};
use clickvec_tools::Watcher as _;
use clickvec_tools::update::Learning;
use pyo3::prelude::*;

use crate::bridge::serve;
use crate::{error, json};

/// Trains a new model, and puts it in the place of the old one if it is shown to be better. Returns the report. `settings` are a JSON
/// object of settings by name.
#[pyfunction]
pub(crate) fn update<'py>(
    py: Python<'py>,
    target: PathBuf,
    clicks: Vec<PathBuf>,
    titles: PathBuf,
    judged: Option<PathBuf>,
    max_churn: f64,
    trust_clicks: bool,
    settings: &str,
    tell: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut overrides = Overrides::default();
    overrides.set("", serde_json::from_str(settings).map_err(|fault| error::told(py, &fault.to_string()))?);
    let settings = overrides.apply(UpdateConfig::default()).map_err(|fault| error::raise(py, &fault))?;
    let learnt = serve(py, None, tell, |caller| {
        let learning = Learning {
            target: &target,
            clicks: &clicks,
            titles: Titles::from(&titles),
            judged: judged.as_deref(),
            settings,
            max_churn,
            trust_clicks,
        };
        let mut learnt = 0;
        learning.run(
            &mut |progress, _| match progress {
                Progress::Run(Event::Minibatch { pairs, of_pairs, minibatch, .. }) => {
                    learnt = if *minibatch == 1 { *pairs } else { learnt + pairs };
                    caller.show("training", "pairs", learnt, Some(*of_pairs));
                }
                Progress::Run(event @ Event::Epoch(_)) => caller.tell(json::value(event)),
                _ => {}
            },
            &caller,
        )
    })?;
    json::to_python(py, &json::value(&learnt))
}

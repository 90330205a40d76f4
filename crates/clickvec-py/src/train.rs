//! Training.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use clickvec::tables::Titles;
use clickvec::train::{ClickSource, Event, Inputs, Outcome, Output, Overrides, Teacher};
use clickvec_eval::training::{Progress, Trained, Training};
use clickvec_eval::{self as eval, Judgments, TestSetFiles};
use clickvec_tables::ErrorKind;
use clickvec_tables::table::MemoryTable;
use clickvec_tools::Watcher as _;
use pyo3::prelude::*;

use crate::bridge::{TOLD_EVERY, serve};
use crate::model::Model;
use crate::table::{Shape, Source};
use crate::texts::Texts;
use crate::{array, error, json};

/// Where clicks come from.
#[derive(FromPyObject)]
pub(crate) enum Clicks<'py> {
    /// A table on disk.
    #[pyo3(transparent)]
    Path(PathBuf),
    /// A table or rows.
    #[pyo3(transparent)]
    Object(Bound<'py, PyAny>),
}

/// A teacher: a file, or texts with an array \[texts, dimension\] of float32.
#[derive(FromPyObject)]
pub(crate) enum TeacherSource<'py> {
    #[pyo3(transparent)]
    File(PathBuf),
    Vectors(Bound<'py, PyAny>, Bound<'py, PyAny>),
}

/// A teacher, ready for other threads.
enum Vectors {
    File(PathBuf),
    Memory(Vec<String>, Vec<f32>, usize),
}

/// Judged titles of a validation set: their file, and the topics and titles of TREC qrels.
type ValidationFiles = (PathBuf, Option<PathBuf>, Option<PathBuf>);

/// Trains a model. `settings` are a JSON object of settings by name; `tell` gets every event.
#[pyfunction]
#[pyo3(signature = (clicks, titles, init, teachers, output, validation, settings, checkpoint_every, resume, scratch, tell))]
pub(crate) fn train(
    py: Python<'_>,
    clicks: Option<Clicks<'_>>,
    titles: Vec<PathBuf>,
    init: Option<Py<Model>>,
    teachers: Vec<TeacherSource<'_>>,
    output: Option<PathBuf>,
    validation: Option<ValidationFiles>,
    settings: &str,
    checkpoint_every: Option<u64>,
    resume: bool,
    scratch: Option<PathBuf>,
    tell: Bound<'_, PyAny>,
) -> PyResult<Model> {
    let init = init.as_ref().map(|model| model.get());
    // Without clicks, the pairs of the first file of scores are learnt from, as in the program.
    let scores: Vec<&PathBuf> = teachers
        .iter()
        .filter_map(|teacher| match teacher {
            TeacherSource::File(path) => Some(path).filter(|path| Teacher::is_score_file(path)),
            TeacherSource::Vectors(..) => None,
        })
        .collect();
    let scored = scores.first().filter(|_| clicks.is_none()).map(|path| (*path).clone());
    let inputs = Inputs {
        validation: validation.is_some(),
        clicks: clicks.is_some(),
        titles: !titles.is_empty(),
        vectors: teachers.len() > scores.len(),
        scores: !scores.is_empty(),
        init: init.map(|model| &*model.inner),
        in_table: false,
    };
    let mut overrides = Overrides::default();
    overrides.set("", serde_json::from_str(settings).map_err(|fault| error::told(py, &fault.to_string()))?);
    let config = inputs.settings(&overrides).map_err(|fault| error::raise(py, &fault))?;
    let (file, rows) = match clicks {
        None => (scored.clone(), None),
        Some(Clicks::Path(path)) => (Some(path), None),
        Some(Clicks::Object(object)) => (None, Some(Source::extract(&object, Shape::clicks(&config.field))?)),
    };
    let names = rows.as_ref().map(|rows| rows.names.clone());
    let teachers = teachers.iter().map(vectors).collect::<PyResult<Vec<_>>>()?;
    let init = init.map(|model| &*model.inner);
    let trained = serve(py, rows, &tell, move |caller| {
        let mut told = Instant::now();
        let mut on_progress = |progress: Progress<'_>| {
            let is_due = match progress {
                Progress::Run { event: Event::Reading { .. } | Event::Minibatch { .. }, .. } => {
                    told.elapsed() >= TOLD_EVERY
                }
                _ => true,
            };
            if is_due {
                told = Instant::now();
                caller.tell(json::value(&progress));
            }
            if caller.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let judged =
            validation.iter().flat_map(|(judged, topics, titles)| [judged].into_iter().chain(topics).chain(titles));
        let read = file.iter().chain(&titles).chain(judged).chain(teachers.iter().filter_map(Vectors::file));
        let read: Vec<PathBuf> = read.cloned().collect();
        let judgments = validation.as_ref().map(|files| judgments(files, &config.field)).transpose()?;
        let titles: Vec<Titles> = titles.iter().map(Titles::from).collect();
        let training = Training {
            config: &config,
            titles: &titles,
            init,
            teachers: &|| Ok(teachers.iter().map(|vectors| vectors.teacher(&config.field)).collect()),
            validation: judgments.as_ref(),
            output: output.as_ref().map(|path| Output { path, checkpoint_every, resume }),
            scratch: scratch.as_deref(),
            inputs: &read,
            ..Training::new(&config)
        };
        let table = names.as_ref().map(|names| caller.table("clicks", names.clone()));
        let clicks = match file.as_deref().or(table.as_ref().map(MemoryTable::path)) {
            Some(path) if scored.is_some() => ClickSource::file(path).scored(),
            Some(path) => ClickSource::file(path),
            None => ClickSource::none(),
        };
        Ok(match (training.run(clicks, &mut on_progress)?, &output) {
            (Outcome::Cancelled, _) => None,
            (Outcome::Finished(Trained::Memory(model)), _) => Some(*model),
            (Outcome::Finished(Trained::File(_)), output) => {
                Some(clickvec::model::Model::load(output.as_deref().unwrap_or("".as_ref()))?)
            }
        })
    })?;
    trained.map(Model::new).ok_or_else(|| error::told(py, "interrupted"))
}

/// A teacher's vectors as the work takes them.
fn vectors(source: &TeacherSource<'_>) -> PyResult<Vectors> {
    Ok(match source {
        TeacherSource::File(path) => Vectors::File(path.clone()),
        TeacherSource::Vectors(texts, array) => {
            let texts: Vec<String> = Texts::extract(texts)?.all().iter().map(|text| text.as_ref().to_owned()).collect();
            let (rows, dimension): (usize, usize) = array.getattr("shape")?.extract()?;
            if rows != texts.len() {
                let what = format!("expected a vector for each of the teacher's {} texts, found {rows}", texts.len());
                return Err(error::invalid(what));
            }
            Vectors::Memory(texts, array::floats(array)?, dimension)
        }
    })
}

impl Vectors {
    /// The teacher, whose scores are of the texts of the column `field`.
    fn teacher<'a>(&'a self, field: &'a str) -> Teacher<'a> {
        match self {
            Vectors::File(path) => Teacher::open(path, field),
            Vectors::Memory(texts, numbers, dimension) => {
                Teacher::vectors(texts.iter().zip(numbers.chunks_exact((*dimension).max(1))))
            }
        }
    }

    fn file(&self) -> Option<&PathBuf> {
        match self {
            Vectors::File(path) => Some(path),
            Vectors::Memory(..) => None,
        }
    }
}

/// The judged titles that decide which epoch is kept.
fn judgments((judged, topics, titles): &ValidationFiles, field: &str) -> clickvec::Result<Judgments> {
    let (topics, titles) = (topics.as_deref(), titles.as_ref().map(Titles::from));
    let set = eval::read_test_set(&TestSetFiles { judged, topics, titles, field })?;
    if set.judgments.queries.is_empty() {
        let error = clickvec_tables::Error::expected(ErrorKind::Empty, "judged titles below the header", "none");
        return Err(error.at(judged));
    }
    Ok(set.judgments)
}

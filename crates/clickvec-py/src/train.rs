//! Training.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use clickvec::tables::Titles;
use clickvec::train::{ClickSource, Event, Inputs, Outcome, Output, Overrides, Teacher, TrainConfig};
use clickvec_eval::training::{Progress, Trained, Training};
use clickvec_eval::{self as eval, Judgments, TestSetFiles};
use clickvec_tables::ErrorKind;
use clickvec_tables::table::MemoryTable;
use clickvec_tools::Watcher as _;
use pyo3::prelude::*;

use crate::bridge::{Caller, TOLD_EVERY, serve};
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
    let run = Run {
        config,
        file,
        is_scored: scored.is_some(),
        names,
        titles,
        init: init.map(|model| &*model.inner),
        teachers,
        output,
        validation,
        checkpoint_every,
        resume,
        scratch,
    };
    let trained = serve(py, rows, &tell, move |caller| run.work(&caller))?;
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

/// All that a run needs, on the threads that do it.
struct Run<'a> {
    config: TrainConfig,
    file: Option<PathBuf>,
    /// Whether the file has a teacher's scores instead of clicks.
    is_scored: bool,
    /// The names of the columns of clicks that come from Python.
    names: Option<Vec<String>>,
    titles: Vec<PathBuf>,
    init: Option<&'a clickvec::model::Model>,
    teachers: Vec<Vectors>,
    output: Option<PathBuf>,
    validation: Option<ValidationFiles>,
    checkpoint_every: Option<u64>,
    resume: bool,
    scratch: Option<PathBuf>,
}

impl Run<'_> {
    /// Trains the model; `None` if it should stop.
    fn work(&self, caller: &Caller) -> clickvec::Result<Option<clickvec::model::Model>> {
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
        let judgments = self.judgments()?;
        let titles: Vec<Titles> = self.titles.iter().map(Titles::from).collect();
        let training = Training {
            config: &self.config,
            titles: &titles,
            init: self.init,
            teachers: &|| Ok(self.teachers()),
            validation: judgments.as_ref(),
            output: self.output.as_ref().map(|path| Output {
                path,
                checkpoint_every: self.checkpoint_every,
                resume: self.resume,
            }),
            scratch: self.scratch.as_deref(),
            inputs: &self.read(),
            ..Training::new(&self.config)
        };
        let table = self.names.as_ref().map(|names| caller.table("clicks", names.clone()));
        let clicks = match self.file.as_deref().or(table.as_ref().map(MemoryTable::path)) {
            Some(path) if self.is_scored => ClickSource::file(path).scored(),
            Some(path) => ClickSource::file(path),
            None => ClickSource::none(),
        };
        Ok(match (training.run(clicks, &mut on_progress)?, &self.output) {
            (Outcome::Cancelled, _) => None,
            (Outcome::Finished(Trained::Memory(model)), _) => Some(*model),
            (Outcome::Finished(Trained::File(_)), output) => {
                Some(clickvec::model::Model::load(output.as_deref().unwrap_or("".as_ref()))?)
            }
        })
    }

    /// Returns the judged titles that decide which epoch is kept.
    fn judgments(&self) -> clickvec::Result<Option<Judgments>> {
        let Some((judged, topics, titles)) = &self.validation else { return Ok(None) };
        let (topics, titles) = (topics.as_deref(), titles.as_ref().map(Titles::from));
        let files = TestSetFiles { judged, topics, titles, field: &self.config.field };
        let set = eval::read_test_set(&files)?;
        if set.judgments.queries.is_empty() {
            let error = clickvec_tables::Error::expected(ErrorKind::Empty, "judged titles below the header", "none");
            Err(error.at(judged))
        } else {
            Ok(Some(set.judgments))
        }
    }

    fn teachers(&self) -> Vec<Teacher<'_>> {
        let teachers = self.teachers.iter().map(|teacher| match teacher {
            Vectors::File(path) => Teacher::open(path, &self.config.field),
            Vectors::Memory(texts, numbers, dimension) => {
                Teacher::vectors(texts.iter().zip(numbers.chunks_exact((*dimension).max(1))))
            }
        });
        teachers.collect()
    }

    /// The files that are read.
    fn read(&self) -> Vec<PathBuf> {
        let validation = self
            .validation
            .iter()
            .flat_map(|(judged, topics, titles)| std::iter::once(judged).chain(topics).chain(titles));
        let teachers = self.teachers.iter().filter_map(|teacher| match teacher {
            Vectors::File(path) => Some(path),
            Vectors::Memory(..) => None,
        });
        self.file.iter().chain(&self.titles).chain(validation).chain(teachers).cloned().collect()
    }
}

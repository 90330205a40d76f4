//! Training.

use clickvec::tables::Titles;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clickvec::train::{Inputs, Output, Overrides, Teacher, TrainConfig};
use clickvec_cli::embedded::{self, Clicks as Source, Fault, Learning, Told};
use clickvec_eval::{self as eval, Judgments, TestSetFiles};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::bridge::{Caller, serve};
use crate::clicks::Pairs;
use crate::events::Pace;
use crate::model::Model;
use crate::pulled::{Kept, Once, Pulled};
use crate::texts::Texts;
use crate::{error, json};

/// Where clicks come from.
#[derive(FromPyObject)]
pub(crate) enum Clicks<'py> {
    /// A table on disk.
    #[pyo3(transparent)]
    Path(PathBuf),
    /// An iterator or a table of Arrow.
    #[pyo3(transparent)]
    Object(Bound<'py, PyAny>),
}

/// A teacher: a file, or texts with an array of their vectors.
#[derive(FromPyObject)]
pub(crate) enum TeacherSource<'py> {
    #[pyo3(transparent)]
    File(PathBuf),
    Vectors(Bound<'py, PyAny>, PyReadonlyArray2<'py, f32>),
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
            TeacherSource::File(path) if embedded::has_scores(path) => Some(path),
            _ => None,
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
    let config = inputs.settings(&overrides).map_err(|fault| error::raise(py, &fault.into()))?;
    let (file, pairs) = match clicks {
        None => (scored.clone(), None),
        Some(Clicks::Path(path)) => (Some(path), None),
        Some(Clicks::Object(object)) => (None, Some(Pairs::of(&object, &config.field, config.weighting)?)),
    };
    let from_python = pairs.is_some();
    let teachers = teachers.iter().map(vectors).collect::<PyResult<Vec<_>>>()?;
    let tell = |event: &Value| -> PyResult<()> {
        let event = json::to_python(py, event)?;
        debug_assert!(event.is_instance_of::<PyDict>());
        tell.call1((event,)).map(drop)
    };
    let run = Run {
        config,
        file,
        of_scores: scored.is_some(),
        from_python,
        titles,
        init: init.map(|model| &*model.inner),
        teachers,
        output,
        validation,
        checkpoint_every,
        resume,
        scratch,
    };
    match serve(py, pairs, &tell, move |caller| run.work(&caller))? {
        Ok(Some(model)) => Ok(Model::new(model)),
        Ok(None) => Err(error::told(py, "interrupted")),
        Err(fault) => Err(error::fault(py, &fault)),
    }
}

/// A teacher's vectors as the work takes them.
fn vectors(source: &TeacherSource<'_>) -> PyResult<Vectors> {
    Ok(match source {
        TeacherSource::File(path) => Vectors::File(path.clone()),
        TeacherSource::Vectors(texts, array) => {
            let texts: Vec<String> = Texts::of(texts)?.all().iter().map(|text| text.as_ref().to_owned()).collect();
            let [rows, dimension] = *array.shape() else { unreachable!("it has two dimensions") };
            if rows != texts.len() {
                let what = format!("expected a vector for each of the teacher's {} texts, found {rows}", texts.len());
                return Err(error::given(what));
            }
            Vectors::Memory(texts, array.as_array().iter().copied().collect(), dimension)
        }
    })
}

/// All that a run needs, on the threads that do it.
struct Run<'a> {
    config: TrainConfig,
    file: Option<PathBuf>,
    /// Whether the file has a teacher's scores in the place of clicks.
    of_scores: bool,
    from_python: bool,
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
    /// Learns the model, as the program does; `None` if it should stop.
    fn work(&self, caller: &Caller) -> Result<Option<clickvec::model::Model>, Fault> {
        let mut pace = Pace::new();
        let mut on_event = |event: Told<'_>| {
            let event = match event {
                Told::Event(event) => pace.event(event),
                Told::Json(event) => Some(event),
            };
            if let Some(event) = event {
                caller.tell(event);
            }
            if caller.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let judgments = self.judgments()?;
        let output = self.output.as_ref().map(|path| Output {
            path,
            checkpoint_every: self.checkpoint_every,
            resume: self.resume,
        });
        let learning = Learning {
            config: &self.config,
            clicks: Source::None,
            titles: &self.titles,
            init: self.init,
            teachers: &|| self.teachers(),
            judgments: judgments.as_ref(),
            output,
            scratch: self.scratch.as_deref(),
            read: &self.read(),
        };
        match &self.file {
            Some(path) if self.of_scores => {
                embedded::learn(Learning { clicks: Source::Scores(path), ..learning }, &mut on_event)
            }
            Some(path) => embedded::learn(Learning { clicks: Source::File(path), ..learning }, &mut on_event),
            None if !self.from_python => embedded::learn(learning, &mut on_event),
            // Python's pairs are read once; if queries are held out, they are learnt from twice.
            None if self.config.held_out > 0.0 => {
                let told = &mut |pairs| on_event(Told::Event(&clickvec::train::Event::Reading { pairs }));
                let kept = Kept::read(Pulled::new(caller), self.folder().as_deref(), told).map_err(Fault::Error)?;
                let Some(kept) = kept else { return Ok(None) };
                embedded::learn(Learning { clicks: Source::Pairs(&kept), ..learning }, &mut on_event)
            }
            None => {
                let once = Once::new(Pulled::new(caller));
                embedded::learn(Learning { clicks: Source::Pairs(&once), ..learning }, &mut on_event)
            }
        }
    }

    /// The judged titles that decide which epoch is kept.
    fn judgments(&self) -> Result<Option<Judgments>, Fault> {
        let Some((judged, topics, titles)) = &self.validation else { return Ok(None) };
        let (topics, titles) = (topics.as_deref(), titles.as_ref().map(Titles::from));
        let files = TestSetFiles { judged, topics, titles, field: &self.config.field };
        let set = eval::read_test_set(&files).map_err(Fault::Error)?;
        if set.judgments.queries.is_empty() {
            let judged = judged.display();
            Err(Fault::Told(format!("{judged}: expected judged titles below the header, found none")))
        } else {
            Ok(Some(set.judgments))
        }
    }

    fn teachers(&self) -> Result<Vec<Teacher<'_>>, Fault> {
        let opened = self.teachers.iter().map(|teacher| match teacher {
            Vectors::File(path) => embedded::teacher(path, &self.config.field),
            Vectors::Memory(texts, numbers, dimension) => {
                Ok(Teacher::vectors(texts.iter().zip(numbers.chunks_exact((*dimension).max(1)))))
            }
        });
        opened.collect()
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

    /// The folder for temporary files; the system's if there is no output.
    fn folder(&self) -> Option<PathBuf> {
        let of_output = || self.output.as_deref().map(clickvec::internals::files::folder_of);
        self.scratch.clone().or_else(of_output)
    }
}

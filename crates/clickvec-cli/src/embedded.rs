//! What the Python module shares with the program: the program itself, how a model is learnt, and the words of errors.

use clickvec::tables::Titles;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clickvec::Error;
use clickvec::model::Model;
use clickvec::train::{Event, Output, Teacher, TrainConfig, written_paths};
use clickvec_eval::{Judgments, Overlap};
use serde_json::{Value, json};

use crate::commands::{self, Ended, Judged, Learner, Learnt, Means, Trial, Watch};
pub use crate::commands::{Clicks, Pairs, Queries};
use crate::{advice, input, output, test_set};

/// Runs the program with these arguments, the first of which is its name, and returns the exit status. Its code is in
/// `program`, which `table` keeps its results by.
pub fn run(arguments: Vec<OsString>, program: PathBuf) -> u8 {
    crate::program::set(program, arguments.first().cloned().unwrap_or_default());
    crate::run::status(arguments)
}

/// Why a model was not learnt.
#[derive(Debug)]
pub enum Fault {
    /// An error of the library.
    Error(Error),
    /// What the program says about anything else.
    Told(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Error(error)
    }
}

impl From<anyhow::Error> for Fault {
    fn from(error: anyhow::Error) -> Fault {
        match error.downcast() {
            Ok(error) => Fault::Error(error),
            Err(error) => match error.downcast::<clickvec_tables::Error>() {
                Ok(error) => Fault::Error(error.into()),
                Err(error) => Fault::Told(output::reason(&error)),
            },
        }
    }
}

/// What a model is learnt from and where it goes. It is the same model as that of `clickvec train`.
#[derive(Clone, Copy)]
pub struct Learning<'a> {
    /// The settings, as [`training`] reads them.
    pub config: &'a TrainConfig,
    /// Where clicks come from.
    pub clicks: Clicks<'a>,
    /// Files of titles.
    pub titles: &'a [PathBuf],
    /// A model to start from.
    pub init: Option<&'a Model>,
    /// Opens the teachers; each run reads them from the beginning.
    pub teachers: &'a dyn Fn() -> Result<Vec<Teacher<'a>>, Fault>,
    /// Judged titles that decide which epoch is kept.
    pub judgments: Option<&'a Judgments>,
    /// The file of the model; without one it is kept in memory.
    pub output: Option<Output<'a>>,
    /// The folder for temporary files, if not that of the output.
    pub scratch: Option<&'a Path>,
    /// The files that are read, none of which may be written.
    pub read: &'a [PathBuf],
}

/// What [`learn`] tells.
pub enum Told<'a> {
    /// An event of training. What the log and the teachers have is told once.
    Event(&'a Event),
    /// An event with the form that `clickvec train --json` gives it: `judged`, `all_clicks`.
    Json(Value),
}

/// Learns a model as `clickvec train` does: with queries held out, if there are enough, and then with all clicks. `None` if
/// `on_event` broke.
///
/// # Errors
///
/// Those of the program.
pub fn learn(
    learning: Learning<'_>,
    on_event: &mut dyn FnMut(Told<'_>) -> ControlFlow<()>,
) -> Result<Option<Model>, Fault> {
    let Learning { config, clicks, titles, init, teachers, judgments, output, scratch, read } = learning;
    let path = output.map(|output| output.path);
    let trial = Trial::of(config, clicks, &titles.iter().map(PathBuf::as_path).collect::<Vec<_>>(), path)?;
    let outputs = trial.iter().filter_map(Trial::path).chain(path);
    for written in outputs.flat_map(written_paths) {
        input::refuse_overwriting(&written, read)?;
    }
    let teachers = || {
        teachers().map_err(|fault| match fault {
            Fault::Error(error) => error.into(),
            Fault::Told(words) => anyhow::Error::msg(words),
        })
    };
    let teachers = &teachers;
    let titles: Vec<Titles> = titles.iter().map(Titles::from).collect();
    let learner = Learner { config, clicks, titles: &titles, init, teachers, judgments, output, scratch };
    match (learner.learn(trial, &mut Teller { on_event, again: false })?, path) {
        (Ended::Stopped(_), _) => Ok(None),
        (Ended::Learnt(Learnt::Memory(model)), _) => Ok(Some(*model)),
        (Ended::Learnt(Learnt::File(_)), path) => {
            Ok(Some(Model::load(path.unwrap_or(Path::new(""))).map_err(Fault::Error)?))
        }
    }
}

/// Tells of events.
struct Teller<'a> {
    on_event: &'a mut dyn FnMut(Told<'_>) -> ControlFlow<()>,
    /// Whether all clicks are being learnt after a run that held some out.
    again: bool,
}

impl Watch for Teller<'_> {
    fn event(&mut self, event: &Event, _: Option<Means>) -> ControlFlow<()> {
        match event {
            // Said before. Whether to stop is asked with the next event.
            Event::Log { .. } | Event::Teacher(_) | Event::TeacherScores(_) | Event::Start(_) if self.again => {
                ControlFlow::Continue(())
            }
            event => (self.on_event)(Told::Event(event)),
        }
    }

    fn judged(&mut self, judged: &Judged) {
        self.tell(json!(judged.json()));
    }

    fn again(&mut self, epochs: Option<u32>) {
        self.again = true;
        if let Some(epochs) = epochs {
            self.tell(json!({"event": "all_clicks", "epochs": epochs}));
        }
    }
}

impl Teller<'_> {
    /// Tells of something between two runs. Whether to stop is asked again with the first event of the next.
    fn tell(&mut self, event: Value) {
        let _ = (self.on_event)(Told::Json(event));
    }
}

/// What the program says about an error: the message, and which option helps.
pub fn told(error: &Error) -> String {
    advice::told(error)
}

/// What the program says of judged queries that are also in the clicks; `None` if there are none.
pub fn overlap(judged: &Path, clicks: &Path, overlap: &Overlap) -> Option<String> {
    test_set::overlap_words(judged, clicks, overlap)
}

/// A teacher in a file of any form that the program reads; `field` is the column of titles in a table of scores.
///
/// # Errors
///
/// What the program says about a file that it cannot read.
pub fn teacher<'a>(path: &'a Path, field: &'a str) -> Result<Teacher<'a>, Fault> {
    Ok(commands::open_teacher(path, field)?)
}

/// Whether a file is a teacher's table of scores.
pub fn has_scores(path: &Path) -> bool {
    commands::has_scores(path)
}

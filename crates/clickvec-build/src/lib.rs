//! From a search engine's log and its titles to an index that is searched, with a test of how much better it is.
//!
//! [`Build::run`] examines the files, counts clicks, trains a model, compares the index with BM25 on queries that the model has
//! not seen, and writes the index. It never prints: [`Progress`] reports each step. An interrupted build leaves a folder beside
//! the output ([`folder_beside`]), from which the same build resumes; on success it is removed.

mod estimate;
mod look;
mod looked;
mod progress;
mod sample;
mod searched;
mod size;
mod taught;
mod testing;
mod vocabulary;
mod work;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clickvec::internals::vector_file::texts_path;
use clickvec::model::Model;
use clickvec::tables::{TITLE, Titles};
use clickvec::train::{self, ClickSource, Inputs, Outcome, Output, Overrides, TrainConfig, Weighting};
use clickvec_eval::training::{Training, held_out_path};
use clickvec_eval::{Contest, files_of_test_set, training};
use clickvec_index::{BuiltIndex, Fusion, IndexBuilder, Teacher, VectorFormat};
use clickvec_logs::Config;
use clickvec_logs::preset::Preset;
use clickvec_logs::tables::Options;
use clickvec_tables::collection::for_each_document;
use clickvec_tables::{Error, ErrorKind, Result};
use clickvec_transformer::Transformer;
use serde::{Deserialize, Serialize};

pub use self::looked::{Join, LogFacts, Looked, TitleFacts};
pub use self::progress::{OnProgress, Progress, Step};
pub use self::searched::IndexCandidates;
pub use self::work::folder_beside;

use self::look::Reading;
use self::size::Size;
use self::taught::Taught;
use self::work::{Before, InputFile, Work};

/// The counted clicks, the model, and the result of the test, in the folder of a build.
const CLICKS: &str = "clicks.tsv";
const COUNTED: &str = "counted.json";
const MODEL: &str = "model.safetensors";
const TESTED: &str = "tested.json";
/// The teacher's vectors of all texts, and an index without it to compare with.
const TAUGHT: &str = "teacher.npy";
const PLAIN: &str = "plain";

/// The minibatches between two checkpoints.
const CHECKPOINT_EVERY: u64 = 1_000;
/// The titles between two reports of progress.
const TITLES_AT_ONCE: u64 = 512;
/// The share of queries whose titles that were shown and not clicked are stored, as a multiple of the held-out share, which is not
/// exact in a small log.
const MARGIN: f64 = 1.5;
/// With a larger share of the clicks on one title, there is nothing to learn from them.
const MOST_ON_ONE_TITLE: f64 = 0.95;

/// The inputs of an index, and its output.
pub struct Build<'a> {
    /// The logs, raw or counted; without any, the model learns from the titles alone.
    pub logs: &'a [PathBuf],
    /// The reading of the logs.
    pub table: Options,
    /// The source of the logs, if it is known.
    pub preset: Option<Preset>,
    /// All titles to search.
    pub titles: Titles,
    /// Columns to store with the titles.
    pub store: &'a [String],
    /// Teachers: the folder of a sentence transformer, files of vectors, or scores.
    pub teachers: &'a [PathBuf],
    /// Judged titles, which the index is then compared by.
    pub judged: Option<&'a Path>,
    /// Whether to learn faster: a smaller model, which does not learn the clicks that it is judged by.
    pub fast: bool,
    /// Settings of the training.
    pub settings: Overrides,
    /// The folder of the index.
    pub output: &'a Path,
}

/// A finished build.
#[derive(Debug, Serialize)]
pub struct Built {
    /// The number of titles that can be found.
    pub titles: u64,
    /// The number of titles without a vector, because the model knows none of their words. Words find them.
    pub without_vector: u64,
    /// The number of these titles that have no words either. Nothing finds them but their ids.
    pub without_words: u64,
    /// The fingerprint of the index.
    pub fingerprint: String,
    /// The comparison with BM25; `None` if there was nothing to compare by.
    pub tested: Option<Contest>,
    /// The most frequent query of the log.
    pub query: Option<String>,
    /// Whether the index has the transformer that taught the model; `None` if there was none.
    pub teacher: Option<bool>,
}

/// The facts of the counted clicks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Counted {
    query: Option<String>,
    size: Size,
}

impl Build<'_> {
    /// Returns all files that are read.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let judged = self.judged.map_or_else(Vec::new, |judged| files_of_test_set(&testing::files(judged)));
        let files_of = |teacher: &PathBuf| {
            if teacher.is_dir() {
                return Transformer::files_in(teacher);
            }
            [teacher.clone()].into_iter().chain(Some(texts_path(teacher)).filter(|path| path.exists())).collect()
        };
        let files = self.logs.iter().chain([&self.titles.path]).cloned();
        files.chain(self.teachers.iter().flat_map(files_of)).chain(judged).collect()
    }

    /// Returns the settings of the training for these numbers of titles and clicks.
    ///
    /// # Errors
    ///
    /// Settings that do not exist, or cannot act.
    pub(crate) fn config(&self, size: Size) -> Result<TrainConfig> {
        let mut settings = self.settings.clone();
        let clicks = size.pairs > 0;
        let most = if self.fast { 2 } else { u64::MAX };
        let mut defaults = vec![("titles.epochs", size.title_epochs().min(most))];
        if clicks {
            defaults.push(("epochs", size.click_epochs().min(most)));
        }
        if self.fast {
            defaults.push(("encoder.members", 2));
        }
        for (name, value) in defaults {
            if !settings.has(name) {
                settings.set(name, value.into());
            }
        }
        Inputs { clicks, titles: true, ..Inputs::default() }.with_teacher(self.teachers).settings(&settings)
    }

    /// Makes the index. If `on_progress` breaks, the finished steps stay in the folder beside the output, and the same build
    /// resumes from it. A file at the output stays until the new index is complete.
    ///
    /// # Errors
    ///
    /// Those of reading the files; files that are no logs or titles, or do not belong together; nothing to learn from; another build
    /// of the same output; those of training and of writing.
    pub fn run(&self, on_progress: &mut OnProgress<'_>) -> Result<Outcome<Built>> {
        match self.try_run(on_progress) {
            Ok(built) => Ok(Outcome::Finished(built)),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Outcome::Cancelled),
            Err(error) => Err(error),
        }
    }

    fn try_run(&self, on_progress: &mut OnProgress<'_>) -> Result<Built> {
        let mut run = Run { steps: self.steps(), on_progress };
        IndexBuilder::check_output(self.output)?;
        self.config(self.small())?;
        let teacher = self.transformer()?;
        run.step(Step::Look)?;
        let reading = look::look(self, &mut || ControlFlow::Continue(()))?;
        run.tell(Progress::Looked(&reading.looked))?;
        let (mut work, before) = Work::open(self.output, &self.identity()?)?;
        match before {
            Before::Nothing => {}
            Before::Same => run.tell(Progress::Resumed)?,
            Before::Other => run.tell(Progress::StartedAfresh)?,
        }
        let (clicks, counted) = match self.counted(&reading, &work, &mut run) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
            counted => {
                work.keep(true);
                counted?
            }
        };
        let built = self.learn_and_index(&reading, clicks.as_deref(), counted, teacher, &work, &mut run);
        match &built {
            Ok(_) => work.remove()?,
            // Nothing resumes a build whose inputs have a fault: mended, they are others.
            Err(error) => work.keep(!error.concerns_data()),
        }
        built
    }

    /// Trains the model, and makes and tests the index.
    fn learn_and_index(
        &self,
        reading: &Reading,
        clicks: Option<&Path>,
        counted: Counted,
        teacher: Option<Teacher>,
        work: &Work,
        run: &mut Run<'_, '_>,
    ) -> Result<Built> {
        let mut taught = None;
        if let Some(teacher) = &teacher {
            run.step(Step::Teach)?;
            taught = Some(Taught::encode(teacher, &reading.titles, clicks, work.file(TAUGHT), run)?);
        }
        let mut tested = work.read(TESTED);
        let model = work.file(MODEL);
        let size = Size { titles: reading.looked.titles.titles, ..counted.size };
        self.learn(&reading.titles, clicks, size, taught.as_ref(), work, &mut tested, run)?;
        run.step(Step::Index)?;
        let model = Model::load(&model)?;
        let mut teacher = taught.as_ref().map(|taught| &taught.teacher);
        teacher = teacher.filter(|_| tested.as_ref().is_none_or(testing::keeps_teacher));
        let mut built = self.index(&model, reading, teacher, self.output, run)?;
        if let Some(judged) = self.judged {
            run.step(Step::Test)?;
            let plain = teacher.map(|_| work.file(PLAIN));
            if let Some(plain) = &plain {
                self.index(&model, reading, None, plain, run)?;
            }
            let contest = testing::judged(judged, &reading.titles, self.output, plain.as_deref(), run)?;
            run.tell(Progress::Tested(&contest))?;
            if teacher.is_some() && !testing::keeps_teacher(&contest) {
                teacher = None;
                built = self.index(&model, reading, None, self.output, run)?;
            }
            tested = Some(contest);
        }
        let teacher = taught.is_some().then_some(teacher.is_some());
        let BuiltIndex { titles, without_vector, without_words, fingerprint, .. } = built;
        Ok(Built { titles, without_vector, without_words, fingerprint, tested, query: counted.query, teacher })
    }

    /// Loads the transformer that teaches, if there is one.
    fn transformer(&self) -> Result<Option<Teacher>> {
        let mut folders = self.teachers.iter().filter(|path| path.is_dir());
        let (first, second) = (folders.next(), folders.next());
        if let Some(second) = second {
            let error = Error::expected(ErrorKind::Setting, "one transformer as the teacher", "a second one");
            return Err(error.help("name the better one").at(second));
        }
        first.map(|folder| Teacher::load(folder)).transpose()
    }

    /// Returns a size that is known before the files are read.
    fn small(&self) -> Size {
        Size { titles: 1, pairs: u64::from(!self.logs.is_empty()), queries: 0 }
    }

    /// Returns the steps of this build.
    fn steps(&self) -> Vec<Step> {
        let clicks = !self.logs.is_empty();
        let by_clicks = clicks && self.judged.is_none();
        let steps = [
            (Step::Look, true),
            (Step::Count, clicks),
            (Step::Teach, self.teachers.iter().any(|path| path.is_dir())),
            (Step::Learn, true),
            (Step::Test, by_clicks),
            (Step::LearnAll, clicks && !self.fast),
            (Step::Index, true),
            (Step::Test, self.judged.is_some()),
        ];
        steps.into_iter().filter(|&(_, is_done)| is_done).map(|(step, _)| step).collect()
    }

    /// Returns the inputs that the result depends on.
    fn identity(&self) -> Result<work::Inputs> {
        let files = self.inputs().iter().map(|path| InputFile::new(path)).collect::<Result<Vec<_>>>()?;
        let config = self.config(self.small())?;
        let config = serde_json::to_string(&config).unwrap_or_default();
        let settings = vec![
            config,
            format!("{:?} {:?} {:?}", self.table, self.preset.map(Preset::name), self.titles),
            format!("{} {:?} {}", self.logs.len(), self.judged, self.fast),
        ];
        Ok(work::Inputs { version: env!("CARGO_PKG_VERSION").to_owned(), settings, files })
    }

    /// Counts the clicks, unless that was done before. Returns the table of them.
    fn counted(&self, reading: &Reading, work: &Work, run: &mut Run<'_, '_>) -> Result<(Option<PathBuf>, Counted)> {
        if self.logs.is_empty() {
            return Ok((None, Counted::default()));
        }
        run.step(Step::Count)?;
        let clicks = reading.counted.clone().unwrap_or_else(|| work.file(CLICKS));
        if let Some(counted) = work.read(COUNTED).filter(|_| clicks.exists()) {
            return Ok((Some(clicks), counted));
        }
        if reading.counted.is_none() {
            let config = Config {
                table: reading.options.clone(),
                preset: reading.preset,
                titles: matches!(reading.looked.join, Join::Ids { .. }).then(|| reading.titles.clone()),
                impressions: MARGIN * f64::from(self.config(self.small())?.held_out),
                ..Config::new(self.logs.to_vec(), clicks.clone())
            };
            let tell = &mut |rows| (run.on_progress)(Progress::Reading { rows });
            let report = clickvec_logs::prepare(&config, &mut std::io::sink(), tell).map_err(nothing_left)?;
            run.tell(Progress::Counted(&report))?;
        }
        let counted = self.look_at_clicks(&clicks)?;
        work.write(COUNTED, &counted)?;
        Ok((Some(clicks), counted))
    }

    /// Finds the most frequent query of counted clicks, and refuses those that are nearly all on one title.
    fn look_at_clicks(&self, clicks: &Path) -> Result<Counted> {
        let seen = testing::most_clicked(clicks, Weighting::Log)?;
        let (title, share) = seen.title;
        if share > MOST_ON_ONE_TITLE {
            let found = format!("{:.0} % of them on `{}`", 100.0 * share, clickvec_tables::shown::shortened(&title));
            let error = Error::expected(ErrorKind::Empty, "clicks on many titles", found);
            let log = self.logs.first().map_or(clicks, PathBuf::as_path);
            return Err(error.help("name the column of titles or items").at(log));
        }
        Ok(Counted { query: seen.query, size: seen.size })
    }

    /// Trains the model, and compares it as soon as one is there that has not seen the held-out queries.
    fn learn(
        &self,
        titles: &Titles,
        clicks: Option<&Path>,
        size: Size,
        taught: Option<&Taught>,
        work: &Work,
        tested: &mut Option<Contest>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        let config = self.config(size)?;
        let then_all = !self.fast && size.learns_held_out();
        run.step(Step::Learn)?;
        run.tell(Progress::Epochs {
            titles: config.titles.map_or(0, |titles| titles.epochs),
            clicks: clicks.map_or(0, |_| config.epochs),
        })?;
        let model = work.file(MODEL);
        let inputs = self.inputs();
        // The vectors of a transformer are in a file by now.
        let files: Vec<&Path> = self
            .teachers
            .iter()
            .map(|path| taught.filter(|_| path.is_dir()).map_or(path.as_path(), |taught| &taught.vectors))
            .collect();
        let teachers = || Ok(files.iter().map(|path| train::Teacher::open(path, &config.field)).collect());
        let training = Training {
            titles: std::slice::from_ref(titles),
            teachers: &teachers,
            output: Some(Output { path: &model, checkpoint_every: Some(CHECKPOINT_EVERY), resume: true }),
            baselines: &[],
            then_all,
            inputs: &inputs,
            ..Training::new(&config)
        };
        let mut failed = None;
        let mut on_training = |progress: training::Progress<'_>| {
            let judged = if let training::Progress::Judged(summary) = &progress { Some(*summary) } else { None };
            let begun = match progress {
                training::Progress::AllClicks { .. } => run.step(Step::LearnAll),
                _ => Ok(()),
            };
            let told = begun.and_then(|()| run.tell(Progress::Training(progress)));
            let done = told.and_then(|()| match judged {
                Some(summary) if self.judged.is_none() && tested.is_none() => {
                    // The first of two trainings has its model beside that of the second.
                    let first = held_out_path(&model);
                    let path = if first.exists() { &first } else { &model };
                    run.step(Step::Test)?;
                    let contest = testing::held_out(
                        &summary.test,
                        path,
                        &work.file("tested"),
                        taught.map(|taught| &taught.teacher),
                        run,
                    )?;
                    work.write(TESTED, &contest)?;
                    run.tell(Progress::Tested(&contest))?;
                    *tested = Some(contest);
                    Ok(())
                }
                _ => Ok(()),
            });
            match done {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let source = clicks.map_or_else(ClickSource::none, ClickSource::file);
        let outcome = training.run(source, &mut on_training);
        match (failed, outcome?) {
            (Some(error), _) => Err(error),
            (None, Outcome::Cancelled) => Err(Error::interrupted()),
            (None, Outcome::Finished(_)) => Ok(()),
        }
    }

    /// Writes the index of a model, with a teacher as a part if there is one.
    fn index(
        &self,
        model: &Model,
        reading: &Reading,
        teacher: Option<&Teacher>,
        output: &Path,
        run: &mut Run<'_, '_>,
    ) -> Result<BuiltIndex> {
        let mut builder = IndexBuilder::with_fields(model, output, self.store)?;
        let (mut added, of) = (0, reading.looked.titles.titles);
        for_each_document(&reading.titles, TITLE, self.store, |title, values| {
            builder.add_with_fields(title, values)?;
            added += 1;
            if added % TITLES_AT_ONCE == 0 { run.tell(Progress::Encoding { texts: added, of }) } else { Ok(()) }
        })?;
        run.tell(Progress::Writing)?;
        let fusion = Fusion::for_model(model);
        let fusion = if let Some(teacher) = teacher { fusion.with_teacher(teacher.clone()) } else { fusion };
        clickvec_index::finish(builder, model, &fusion, VectorFormat::default())
    }
}

/// Adds help to the error if no click is left.
fn nothing_left(error: Error) -> Error {
    if error.kind() != ErrorKind::Empty {
        return error;
    }
    error.help("pass a longer log, or `prepare` it with other limits and build from the result")
}

/// The state of a build that runs.
struct Run<'r, 'f> {
    steps: Vec<Step>,
    on_progress: &'r mut OnProgress<'f>,
}

impl Run<'_, '_> {
    /// Reports an event.
    fn tell(&mut self, progress: Progress<'_>) -> Result<()> {
        if (self.on_progress)(progress).is_break() { Err(Error::interrupted()) } else { Ok(()) }
    }

    /// Begins a step.
    fn step(&mut self, step: Step) -> Result<()> {
        let number = self.steps.iter().position(|&other| other == step).map_or(self.steps.len(), |at| at + 1);
        self.tell(Progress::Step { step, number, of: self.steps.len() })
    }
}

//! Titles of an index that change; and a new model that learns new clicks, and takes the place of the old one when it is shown to be
//! better.

mod change;
mod replaced;
mod titles;
mod write;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clickvec::model::Model;
use clickvec::tables::Titles;
use clickvec::train::TrainConfig;
use clickvec_eval::TestSetFiles;
use clickvec_eval::update::{
    LEAST_QUERIES, LearntBefore, Notice, Progress, Reason, Report, Search, State, Suspicion, Update, UpdateConfig,
    Verdict, Window, search_with_model, training_config,
};
use clickvec_index::{Index, IndexBuilder, looks_like_index};
use clickvec_tables::files::{self, Claim};
use clickvec_tables::outputs::{self, Kind};
use clickvec_tables::shown::{counted, shown};
use clickvec_tables::titles::TitleReader;
use clickvec_tables::{Error, ErrorKind, Result};
use serde::{Serialize, Serializer};

pub use self::change::{change, compact, compact_if_overdue};
use self::replaced::Replaced;
pub use self::titles::Refreshed;
use self::write::Target;
use crate::{Watcher, inputs, test_set};

/// An index or a model that is to learn new clicks.
pub struct Learning<'a> {
    /// The folder of the index, or the file of the model.
    pub target: &'a Path,
    /// The clicks of each day, oldest first.
    pub clicks: &'a [PathBuf],
    /// All titles to search.
    pub titles: Titles,
    /// Judged titles of other queries.
    pub judged: Option<&'a Path>,
    /// The settings that decide.
    pub settings: UpdateConfig,
    /// The largest share of the first ten titles of frequent queries that may change.
    pub max_churn: f64,
    /// Whether to learn from clicks that do not look like those of users.
    pub trust_clicks: bool,
}

/// What an update found and did.
pub struct Learnt {
    /// The index or model.
    pub target: PathBuf,
    /// What the update found.
    pub report: Report,
    /// The fingerprint of the model before.
    pub old: String,
    /// What became of the titles of an index.
    pub refreshed: Option<Refreshed>,
}

/// What the new model is trained with, told before anything else.
pub struct Plan<'a> {
    /// The settings of the training.
    pub config: &'a TrainConfig,
    /// Whether it starts from random weights.
    pub fresh: bool,
}

impl Learning<'_> {
    /// Brings the titles of an index to those of the table, trains, and replaces the model if it is shown to be better. `on_progress` gets
    /// every event.
    ///
    /// # Errors
    ///
    /// Those of reading, training and writing; [`ErrorKind::Interrupted`] if `watch` stops it. Then the old model stays.
    pub fn run(&self, on_progress: &mut dyn FnMut(&Progress<'_>, &Plan<'_>), watch: &dyn Watcher) -> Result<Learnt> {
        let Learning { target, titles: table, settings, .. } = self;
        settings.check()?;
        let state_path = State::path_beside(target);
        let is_index = looks_like_index(target);
        self.check_outputs(&state_path, is_index)?;
        // First: another update of this model may be about to replace it.
        let _claims = [Some(Claim::new(&state_path)?), (!is_index).then(|| Claim::new(target)).transpose()?];
        files::remove_abandoned(target);
        files::remove_abandoned(&state_path);
        let old = if is_index { Index::open(target)?.model().clone() } else { Model::load(target)? };
        let state = read_state(&state_path, watch)?;
        let updates = state.as_ref().filter(|state| state.model == old.fingerprint()).map_or(0, |state| state.updates);
        let config = training_config(&old, settings.fresh, settings.epochs, updates);
        let replaced = is_index.then(|| Replaced::noted(target, watch)).transpose()?;
        // That columns are missing is told before anything is changed.
        let fields = replaced.as_ref().map_or(&[][..], |replaced| &replaced.fields);
        TitleReader::open(table, &config.field, fields)?;
        let titles = inputs::titles(table, &config.field, watch)?;
        if let Some(Replaced { field, .. }) = replaced.as_ref().filter(|replaced| replaced.field != config.field) {
            TitleReader::open(table, field, &[])?;
        }
        let judged = self.judged.map(|judged| {
            let titles = Some(table.clone());
            test_set::read(&TestSetFiles { judged, topics: None, titles, field: &config.field }, watch)
        });
        let judged = judged.transpose()?;
        let refreshed = is_index.then(|| Refreshed::new(target, table, watch)).transpose()?;
        let index = is_index.then(|| Target::new(target, table.clone())).transpose()?;
        let search: Box<Search<'_>> = match &index {
            Some(index) => Box::new(|model, set, queries| index.search(model, (set, queries), watch)),
            None => Box::new(search_with_model),
        };
        let folder = files::folder_of(target);
        let update = Update {
            old: &old,
            config: &config,
            window: Window {
                files: self.clicks,
                field: &config.field,
                weighting: config.weighting,
                half_life: settings.half_life,
                held_out: settings.held_out,
            },
            settings,
            max_churn: self.max_churn,
            state: state.as_ref(),
            search: &*search,
            titles: table.clone(),
            judged: self.judged.zip(judged.as_ref().map(|set| &set.judgments)),
            trust_clicks: self.trust_clicks,
            scratch: &folder,
        };
        let plan = Plan { config: &config, fresh: settings.fresh };
        let report = update.run(titles, &mut |progress| {
            on_progress(&progress, &plan);
            match &progress {
                Progress::Surveyed(survey) => {
                    survey.days.iter().for_each(|day| inputs::note_skipped(&day.file, &day.skipped, watch));
                }
                Progress::Notice(notice) => watch.warn(self.notice(*notice)),
                _ => {}
            }
            if watch.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let mut report = report.ok_or_else(Error::interrupted)?;
        let clock = Instant::now();
        if let Verdict::Replace(new, _) = &report.verdict {
            if watch.is_stopped() {
                return Err(Error::interrupted());
            }
            match &index {
                Some(index) => index.write(new, watch)?,
                None => new.save(target)?,
            }
            report.seconds.writing = clock.elapsed().as_secs_f64();
        }
        // Last: a state of another model than the one that is there begins the test anew.
        if let Some(state) = &report.state {
            state.write(&state_path)?;
        }
        Ok(Learnt { target: (*target).to_owned(), report, old: old.fingerprint().to_owned(), refreshed })
    }

    fn notice(&self, notice: Notice) -> String {
        let model = shown(self.target);
        let newest = || self.clicks.last().map_or_else(String::new, |path| shown(path));
        match notice {
            Notice::LearntBefore(LearntBefore::Window) => format!(
                "{model}: was trained on exactly these clicks with these settings, so this update only repeats that; is the \
                 newest day missing?"
            ),
            Notice::LearntBefore(LearntBefore::Newest) => format!(
                "{}: the newest day, but {model} was trained on exactly these clicks; is the newest day missing?",
                newest()
            ),
            Notice::OtherModel => {
                let state = shown(&State::path_beside(self.target));
                format!("{state}: belongs to another model; the test of {model} starts over")
            }
            Notice::CountedBefore => format!(
                "{}: the newest day, but the test has it already and counts it once; is the newest day missing?",
                newest()
            ),
            Notice::FewJudged { queries } => format!(
                "{}: {}, too few to decide; {LEAST_QUERIES} are needed",
                self.judged.map_or_else(String::new, shown),
                counted(queries as u64, "query")
            ),
        }
    }

    /// Checks that the outputs can be written and are not inputs too.
    fn check_outputs(&self, state: &PathBuf, is_index: bool) -> Result<()> {
        let titles = [self.titles.path.clone()];
        let judged = self.judged.map(Path::to_owned);
        let read = || self.clicks.iter().chain(&titles).chain(&judged);
        let target = self.target.to_owned();
        if is_index {
            outputs::check([state], read())?;
            IndexBuilder::check_output(&target)?;
            let folder = target.canonicalize().unwrap_or_else(|_| target.clone());
            if read().any(|file| file.canonicalize().is_ok_and(|file| file.starts_with(&folder))) {
                let expected = "inputs outside the folder of the index";
                let error = Error::expected(ErrorKind::Occupied, expected, "one inside");
                return Err(error.help("move it").at(&target));
            }
        } else {
            outputs::check([&target, state], read())?;
            outputs::refuse_other(&target, Kind::Model)?;
        }
        for file in read() {
            if files::is_stream(file) {
                let expected = "a file, because it is read twice";
                return Err(Error::expected(ErrorKind::Setting, expected, "a pipe").at(file));
            }
        }
        outputs::refuse_repeated(self.clicks, "day")
    }
}

/// Reads the state of the update before. A damaged one is moved aside, and the test begins anew.
fn read_state(path: &Path, watch: &dyn Watcher) -> Result<Option<State>> {
    match State::read(path) {
        Err(error) if error.kind() == ErrorKind::Damaged => {
            let mut aside = path.as_os_str().to_owned();
            aside.push(".damaged");
            std::fs::rename(path, &aside).map_err(|source| Error::io(path, "move aside", source))?;
            let aside = shown(Path::new(&aside));
            watch.warn(format!("{error}; it is now {aside}, and the test of new models starts over"));
            Ok(None)
        }
        state => state,
    }
}

/// The report of an update for other programs, described in `docs/reference/json.md`.
impl Serialize for Learnt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = Json {
            model: self.target.to_string_lossy().into_owned(),
            promoted: false,
            reason: None,
            fingerprint: &self.old,
            old: &self.old,
            worse_on: &[],
            suspicion: None,
            index: self.refreshed.as_ref(),
            report: &self.report,
        };
        match &self.report.verdict {
            Verdict::Replace(new, reason) => {
                (json.promoted, json.fingerprint, json.reason) = (true, new.fingerprint(), Some(*reason));
            }
            Verdict::Churn(reason) => json.reason = Some(*reason),
            Verdict::Worse(on) => json.worse_on = on,
            Verdict::Suspicious(suspicion) => json.suspicion = Some(suspicion),
            Verdict::NoGain => {}
        }
        json.serialize(serializer)
    }
}

#[derive(Serialize)]
struct Json<'a> {
    model: String,
    promoted: bool,
    /// Why the model was replaced, or would be if less changed.
    reason: Option<Reason>,
    /// The fingerprint of the model that is there now.
    fingerprint: &'a str,
    old: &'a str,
    /// The trials in which the new model is worse.
    worse_on: &'a [&'static str],
    suspicion: Option<&'a Suspicion>,
    /// What became of the titles of an index.
    index: Option<&'a Refreshed>,
    #[serde(flatten)]
    report: &'a Report,
}

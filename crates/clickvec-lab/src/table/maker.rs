//! From a plan to rows: makes every entry and judges it by cross validation.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::cache::{Cache, changed, stamps};
use super::fault::{self, Fault};
use super::fields::{Field, fields};
use super::folds::{CrossValidated, Folds, cross_validate};
use super::full::{DEPTH, Full, pack, search, unpack};
use super::processor::ProcessorClock;
use super::seeds::mean_over;
use super::{
    Data, Entry, Event, Judged, Options, Plan, Point, Row, Searched, Source, Table, TrainingFacts, Watch, tell,
};
use crate::systems::SYSTEMS;
use clickvec::internals::text::words;
use clickvec_eval::files_of_test_set;
use clickvec_eval::ranker::{self, Corpus, Ranker};
use clickvec_eval::{
    self as eval, Collection, EvaluateOptions, Evaluation, Form, Judgments, Metrics, Run, Task, judge, read_test_set,
};
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error as Shared, ErrorKind, files};
use clickvec_tables::{Error, Result};

/// The inputs of the rows, and the cache.
pub(super) struct Maker<'a> {
    pub(super) plan: &'a Plan,
    pub(super) judgments: &'a Judgments,
    pub(super) folds: &'a Folds,
    pub(super) options: EvaluateOptions,
    pub(super) cache: Cache,
    /// The corpus, which is read once a ranker has to be trained.
    pub(super) corpus: Option<Corpus>,
    /// The columns that only some rows have, and the corpus of each.
    pub(super) fields: &'a [Field],
    pub(super) corpora: Vec<Option<Corpus>>,
    /// The collection: the one that was named, or that of the judged titles.
    pub(super) titles: Option<PathBuf>,
    /// The collection that every row searches, if the plan searches it.
    pub(super) collection: Option<Collection>,
}

/// The points that a row is chosen from.
pub(super) struct Points {
    /// For each point, that of each seed; a point without a seed is made once.
    pub(super) points: Vec<Vec<Point>>,
    /// Whether there is one point for each fold, so that there is nothing to choose.
    pub(super) by_fold: bool,
}

pub(super) fn make(plan: &Plan, options: &Options<'_>, watch: &mut Watch<'_>) -> Result<Table> {
    plan.check()?;
    for file in plan.files() {
        refuse_pipe(&file)?;
    }
    let judged_files = plan.data.judged_files();
    let before = stamps(&judged_files)?;
    let set = read_test_set(&plan.data.test_set())?;
    tell(watch, Event::TestSet(&set))?;
    set.check_not_empty(&plan.data.judged)?;
    let titles = match (&plan.data.titles, &set.form) {
        (Some(named), _) => Some(clickvec::tables::titles_file(named)?),
        (None, Form::Beir { corpus, .. }) => Some(corpus.clone()),
        (None, _) => None,
    };
    let folds = Folds::new(&set.judgments, plan.folds, plan.seed);
    if folds.count() > folds.texts() {
        let expected = format!("at most {} folds, the number of different queries", folds.texts());
        return Err(fault::plan(expected, folds.count()));
    }
    let mut cache = Cache::open(options.cache, options.program)?;
    for file in &judged_files {
        cache.hash_of(file)?;
    }
    // Make sure that the files read are those that were hashed.
    if stamps(&judged_files)? != before {
        return Err(changed(&plan.data.judged));
    }
    let collection = match (plan.full, &titles) {
        (false, _) => None,
        (true, None) => {
            let error = Shared::expected(ErrorKind::Setting, "a file of titles for a search of all titles", "none");
            return Err(error.help("name the collection"));
        }
        (true, Some(titles)) => Some(collection(titles, plan, &set, &mut cache)?),
    };
    let searched =
        collection.as_ref().map(|set| Searched { titles: set.titles.len() as u64, missing: set.missing.clone() });
    let judgments = set.judgments;
    let fields = fields(plan, &judgments)?;
    // Their texts were read after the files were hashed.
    if !fields.is_empty() && stamps(&judged_files)? != before {
        return Err(changed(&plan.data.judged));
    }
    let rows = {
        let mut maker = Maker {
            plan,
            judgments: &judgments,
            folds: &folds,
            options: EvaluateOptions::default(),
            cache,
            corpus: None,
            fields: &fields,
            corpora: fields.iter().map(|_| None).collect(),
            titles,
            collection,
        };
        maker.refuse_judged_validation()?;
        maker.rows(watch)?
    };
    Ok(Table { judgments, folds, rows, searched })
}

/// Reads the collection that every row searches.
fn collection(titles: &Path, plan: &Plan, set: &eval::TestSet, cache: &mut Cache) -> Result<Collection> {
    cache.hash_of(titles)?;
    let read = clickvec::tables::read_titles(titles, &plan.data.field)?;
    // Make sure that the files read are those that were hashed.
    cache.refuse_changed(&[("titles", Some(titles))])?;
    let searched = Collection::new(&set.judgments, set.title_ids, read.titles)?;
    if searched.missing.count >= searched.judged {
        let by = if set.title_ids { "ids" } else { "texts" };
        let expected = format!("judged titles in the collection, matched by their {by}");
        let error = Shared::expected(ErrorKind::Mismatch, expected, "none");
        return Err(error.help("is this the collection that was judged?").at(titles));
    }
    Ok(searched)
}

/// Refuses a file that cannot be read again: a table identifies a file by its contents, and each training reads it
/// itself.
fn refuse_pipe(path: &Path) -> Result<()> {
    if !files::is_stream(path) {
        return path.metadata().map(drop).map_err(|source| Error::io(path, "read", source));
    }
    let found = if files::Found::is_device(path) { "a device" } else { "a pipe" };
    Err(Shared::expected(ErrorKind::Setting, "a file, since a table reads it more than once", found)
        .help("write what comes from it to a file first")
        .at(path))
}

impl<'a> Maker<'a> {
    /// Calls `make` with the texts of the row's column.
    fn within<T>(&mut self, entry: &Entry, make: impl FnOnce(&mut Maker<'a>) -> T) -> T {
        let fields = self.fields;
        let position = entry.other_field(&self.plan.data).and_then(|name| {
            let is_named = |field: &Field| field.plan.data.field == name;
            fields.iter().position(is_named)
        });
        let Some(position) = position else { return make(self) };
        let before = (self.plan, self.judgments);
        (self.plan, self.judgments) = (&fields[position].plan, &fields[position].judgments);
        let corpus: Option<Corpus> = std::mem::replace(&mut self.corpus, self.corpora[position].take());
        let made = make(self);
        self.corpora[position] = std::mem::replace(&mut self.corpus, corpus);
        (self.plan, self.judgments) = before;
        made
    }
}

impl Maker<'_> {
    /// Makes all rows in the order of the plan.
    fn rows(&mut self, watch: &mut Watch<'_>) -> Result<Vec<Row>> {
        let plan = self.plan;
        for entry in &plan.entries {
            // Finds a broken file now instead of after hours. The scores are computed when the row's turn comes.
            let checked = match &entry.source {
                Source::File(path) => self.within(entry, |maker| maker.file(path)).map(drop),
                Source::Run(path) => {
                    Run::read(path).and_then(|run| run.answers(Task::Judged(self.judgments), DEPTH)).map(drop)
                }
                _ => Ok(()),
            };
            checked.map_err(|error| in_row(&entry.name, error))?;
        }
        let mut rows: Vec<Row> = Vec::with_capacity(plan.entries.len());
        for (position, entry) in plan.entries.iter().enumerate() {
            let name = entry.name.as_str();
            tell(watch, Event::Row { name, position })?;
            let points = self.within(entry, |maker| match &entry.source {
                Source::Ranker(points) => maker.rankers(name, points, entry.seeds.unwrap_or(1), watch),
                Source::Model(points) => maker.models(name, points, entry.seeds.unwrap_or(plan.seeds), watch),
                Source::File(path) => Ok(maker.file(path)?),
                Source::Run(path) => Ok(maker.run(name, path, watch)?),
                Source::Fusion { members, methods } => maker.fusion(members, methods, &rows, watch),
            });
            self.tell_damaged(watch)?;
            let outcome = match points {
                Ok(points) => Ok(self.judged(name, points)),
                Err(Fault::Row(reason)) => {
                    tell(watch, Event::RowLeftOut { row: name, reason: &reason })?;
                    Err(reason)
                }
                Err(Fault::Table(error)) if error.kind() == ErrorKind::Interrupted => return Err(error),
                Err(Fault::Table(error)) => return Err(in_row(name, error)),
            };
            rows.push(Row { name: entry.name.clone(), outcome });
            tell(watch, Event::RowDone)?;
        }
        Ok(rows)
    }

    pub(super) fn tell_damaged(&mut self, watch: &mut Watch<'_>) -> Result<()> {
        self.cache.take_damaged().iter().try_for_each(|path| tell(watch, Event::Damaged { path }))
    }

    /// Refuses to choose a model's epoch by queries that the table judges it on.
    fn refuse_judged_validation(&self) -> Result<()> {
        let key = |text: &str| words(text).join(" ");
        let judged: HashSet<String> = self.judgments.queries.iter().map(|query| key(&query.text)).collect();
        let mut checked = HashSet::new();
        let trainings = self.plan.entries.iter().flat_map(|entry| match &entry.source {
            Source::Model(points) => points.as_slice(),
            _ => &[],
        });
        for validation in trainings.filter_map(|training| training.validation.as_ref()) {
            if !checked.insert(validation) {
                continue;
            }
            // Faults in its lines are reported by the row itself.
            let Ok(set) = read_test_set(&validation.test_set(&self.plan.data.field)) else { continue };
            let queries = set.judgments.queries.iter().map(|query| query.text.as_str());
            let both: Vec<&str> = queries.filter(|query| judged.contains(&key(query))).collect();
            if let Some(first) = both.first() {
                let files = files_of_test_set(&validation.test_set(&self.plan.data.field));
                let path = files.into_iter().next().unwrap_or_else(|| validation.judged.clone());
                let queries = if both.len() == 1 { "1 query".to_owned() } else { format!("{} queries", both.len()) };
                let found = format!("{queries} of it there, the first `{}`", shortened(first));
                let expected = "a validation set that is not judged in the table";
                let error = Shared::expected(ErrorKind::Mismatch, expected, found);
                return Err(error.help("leave them or the validation set out").at(&path));
            }
        }
        Ok(())
    }

    /// Cross validation of a row's points, or of one point for each fold.
    fn judged(&self, name: &str, points: Points) -> Judged {
        let Points { points, by_fold } = points;
        let runs: Vec<Vec<Evaluation>> = points
            .iter()
            .map(|seeds| {
                let by_seed = |point: &Point| judge(&point.parameters, &point.scores, self.judgments, &self.options);
                seeds.iter().map(by_seed).collect()
            })
            .collect();
        let candidates: Vec<Evaluation> = runs.iter().map(|runs| mean_over(runs)).collect();
        let of = self.folds.numbers();
        let (chosen, evaluation) = if by_fold {
            let queries: Vec<_> =
                of.iter().enumerate().map(|(query, &fold)| candidates[fold].queries[query].clone()).collect();
            let mean = Metrics::mean(queries.iter().map(|query| &query.metrics));
            let evaluation = Evaluation { name: name.to_owned(), queries, mean, ..candidates[0].clone() };
            ((0..points.len()).collect(), evaluation)
        } else {
            let CrossValidated { chosen, evaluation } = cross_validate(name, &candidates, self.folds);
            (chosen, evaluation)
        };
        // A point without a seed is the same for each.
        let count = points.iter().map(Vec::len).max().unwrap_or(1);
        let last = |seed: usize, of: usize| seed.min(of - 1);
        let by_seed = (0..count).map(|seed| {
            let metrics = of.iter().enumerate().map(|(query, &fold)| {
                let runs = &runs[chosen[fold]];
                runs[last(seed, runs.len())].queries[query].metrics.clone()
            });
            metrics.collect()
        });
        let by_seed: Vec<Vec<Metrics>> = by_seed.collect();
        let seeds = by_seed.iter().map(Metrics::mean).collect();
        let full = self.collection.as_ref().map(|set| {
            let lists = (0..count).map(|seed| {
                let list = |(query, &fold): (usize, &usize)| {
                    let seeds = &points[chosen[fold]];
                    unpack(&seeds[last(seed, seeds.len())].found[query])
                };
                of.iter().enumerate().map(list).collect()
            });
            Full::judged(name, set, lists.collect(), &self.options)
        });
        let scores =
            of.iter().enumerate().map(|(query, &fold)| points[chosen[fold]][0].scores[query].clone()).collect();
        let (points, others) = points
            .into_iter()
            .map(|seeds| {
                let mut seeds = seeds.into_iter();
                (seeds.next().unwrap_or_else(|| unreachable!("a point has a seed or more")), seeds.collect())
            })
            .unzip();
        Judged { points, others, chosen, evaluation, seeds, by_seed, scores, full, by_fold }
    }

    /// Makes the point of an existing file.
    fn file(&mut self, path: &Path) -> Result<Points> {
        let judged = self.plan.data.judged_files();
        let files: Vec<_> = named("judged", &judged).chain([("model", Some(path))]).collect();
        let field = self.plan.data.field.clone();
        let key = self.scores_key(&files, &[&field])?;
        if let Some(point) = self.finished(&key) {
            return Ok(Points { points: vec![vec![point]], by_fold: false });
        }
        let ranker = ranker::load_with(path, &SYSTEMS)?;
        self.cache.refuse_changed(&files)?;
        let (scores, score_seconds) = timed(|| eval::score(ranker.as_ref(), self.judgments));
        let point = Point {
            parameters: path.display().to_string(),
            scores,
            training: TrainingFacts::default(),
            score_seconds,
            bytes: size_of(path),
            weights: ranker.weights(),
            found: self.found(ranker.as_ref())?,
        };
        self.cache.put(&key, &point)?;
        Ok(Points { points: vec![vec![point]], by_fold: false })
    }

    /// Makes the point of a run. It is not stored: reading it again is quick, and its scores may be infinite.
    fn run(&mut self, row: &str, path: &Path, watch: &mut Watch<'_>) -> Result<Points> {
        let run = Run::read(path)?;
        let (answers, score_seconds) = timed(|| run.answers(Task::Judged(self.judgments), DEPTH));
        let (answers, coverage) = answers?;
        tell(watch, Event::RunCoverage { row, coverage })?;
        let scores = answers.scores().clone();
        let found = match &self.collection {
            None => Vec::new(),
            Some(set) => run.answers(set.task(&set.queries), DEPTH)?.0.lists().iter().map(|hits| pack(hits)).collect(),
        };
        let parameters = path.display().to_string();
        let training = TrainingFacts::default();
        let point = Point { parameters, scores, training, score_seconds, bytes: size_of(path), weights: None, found };
        Ok(Points { points: vec![vec![point]], by_fold: false })
    }

    /// Returns the finished point with this name, if there is one and it fits the judgments and the collection.
    pub(super) fn finished(&mut self, key: &str) -> Option<Point> {
        let point = self.cache.get(key, self.judgments)?;
        let fits = match &self.collection {
            None => point.found.is_empty(),
            Some(set) => {
                let exists = |&(position, _): &(u32, u32)| (position as usize) < set.titles.len();
                point.found.len() == set.queries.len() && point.found.iter().flatten().all(exists)
            }
        };
        fits.then_some(point)
    }

    /// Searches all titles with a ranker, if the plan searches them.
    fn found(&self, ranker: &dyn Ranker) -> Result<super::full::Found> {
        self.collection.as_ref().map_or_else(|| Ok(Vec::new()), |set| search(set, ranker))
    }

    /// Returns the name of scores and hits that depend on these files and on `more`.
    pub(super) fn scores_key(&mut self, files: &[(&str, Option<&Path>)], more: &[&str]) -> Result<String> {
        let titles = self.titles.clone().filter(|_| self.collection.is_some());
        let files: Vec<_> = files.iter().copied().chain([("searched titles", titles.as_deref())]).collect();
        Ok(format!("{}-scores", self.cache.key(&files, more)?))
    }

    /// Returns the files of the table.
    pub(super) fn data(&self) -> &Data {
        &self.plan.data
    }
}

impl Maker<'_> {
    /// Makes the point of a ranker: its scores of the judged titles, which are stored under `name`, and the facts of its
    /// training, which are under `key`.
    pub(super) fn point(&mut self, name: &str, key: &str, parameters: String, ranker: &dyn Ranker) -> Result<Point> {
        let (scores, score_seconds) = timed(|| eval::score(ranker, self.judgments));
        let training = self.cache.training(key);
        let (bytes, weights, found) = (size_of(&self.cache.model(key)), ranker.weights(), self.found(ranker)?);
        let point = Point { parameters, scores, training, score_seconds, bytes, weights, found };
        self.cache.put(name, &point)?;
        Ok(point)
    }
}

/// Does the work, and measures the seconds of processor time that it takes.
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let clock = ProcessorClock::start();
    let done = work();
    (done, clock.seconds())
}

fn size_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Files with the same role, in the form that [`Cache::key`] takes.
pub(super) fn named<'p>(role: &'p str, files: &'p [PathBuf]) -> impl Iterator<Item = (&'p str, Option<&'p Path>)> {
    files.iter().map(move |file| (role, Some(file.as_path())))
}

fn in_row(name: &str, error: Error) -> Error {
    fault::within(format!("system `{name}`"), error)
}

/// Points that could not be trained, while others may.
#[derive(Default)]
pub(super) struct Refused(Vec<Error>);

impl Refused {
    /// Returns the value; `None` if the error concerns only this point.
    pub(super) fn or<T>(&mut self, result: Result<T, Fault>) -> Result<Option<T>, Fault> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Fault::Row(error)) => {
                self.0.push(error);
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Returns the points that could be trained, if there are any.
    pub(super) fn points(self, row: &str, points: Vec<Vec<Point>>, watch: &mut Watch<'_>) -> Result<Points, Fault> {
        let mut refused = self.0.into_iter();
        if points.is_empty()
            && let Some(first) = refused.next()
        {
            return Err(Fault::Row(first));
        }
        for reason in refused {
            tell(watch, Event::PointLeftOut { row, reason: &reason })?;
        }
        Ok(Points { points, by_fold: false })
    }
}

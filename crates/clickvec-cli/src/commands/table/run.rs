//! From a spec to rows: every system trained with every set of parameters, unless that is done already, and judged by
//! cross validation.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clickvec::error::Error;
use clickvec::eval::{self, EvaluateOptions, Evaluation, Folds, Judgments, Metrics, Scores, judge};
use clickvec::model::Model;
use clickvec::ranker::{Corpus, Neural, RankerSpec, Resources, Stage, Stored, System, Trained, Values, file};
use indicatif::ProgressBar;

use super::cache::{Cache, Point, Training};
use super::spec::{Kind, Spec};
use super::{memory, process};
use crate::commands::train;
use crate::test_set::{self, query_key};
use crate::{output, progress};

/// Everything that systems are made of and judged by.
pub(super) struct Table<'a> {
    pub(super) spec: &'a Spec,
    pub(super) judgments: &'a Judgments,
    pub(super) options: EvaluateOptions,
    pub(super) folds: Folds,
    pub(super) cache: Cache,
    corpus: Option<Corpus>,
}

/// A row of the table.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) paper: Option<[f64; 3]>,
    /// The row, or why there is none.
    pub(super) outcome: Result<Judged, String>,
}

/// A system that was judged.
pub(super) struct Judged {
    /// One for each set of parameters; of a fusion, one for each fold.
    pub(super) points: Vec<Point>,
    /// Which of them is used on each fold.
    pub(super) chosen: Vec<usize>,
    pub(super) evaluation: Evaluation,
    /// Of each query's titles, by the point of its fold.
    pub(super) scores: Scores,
    /// There is a point for each fold: nothing was chosen among them, what they are made of was.
    pub(super) by_fold: bool,
}

impl<'a> Table<'a> {
    pub(super) fn new(
        spec: &'a Spec,
        judgments: &'a Judgments,
        options: EvaluateOptions,
        folds: Folds,
        cache: Cache,
    ) -> Table<'a> {
        Table { spec, judgments, options, folds, cache, corpus: None }
    }

    /// All rows, in the order of the spec. A system that cannot be trained on what there is has a row that says why.
    pub(super) fn rows(&mut self) -> Result<Vec<Row>> {
        // Faults of the spec are told before anything is trained.
        let kinds = (0..self.spec.systems.len()).map(|place| self.spec.kind(place)).collect::<Result<Vec<_>>>()?;
        self.refuse_judged_validation(&kinds)?;
        for (system, kind) in self.spec.systems.iter().zip(&kinds) {
            if let Kind::File(path) = kind {
                // A broken file is found now, and not after hours; what is worked out waits for its row.
                self.file(path).with_context(|| format!("system `{}`", output::printable(&system.name)))?;
            }
        }
        let bar = progress::bar_with_message(kinds.len() as u64, "judging", "systems");
        let mut rows: Vec<Row> = Vec::with_capacity(kinds.len());
        for (system, kind) in self.spec.systems.iter().zip(kinds) {
            let outcome = match kind {
                Kind::Rankers { points, load, vectors } => {
                    self.rankers(&points, load.as_deref(), vectors.as_deref(), &bar)
                }
                Kind::Models(points) => self.models(&points, &bar),
                Kind::File(path) => self.file(&path),
                Kind::Fusion { members, methods } => self.fusion(&members, &methods, &rows),
            };
            let outcome = match outcome {
                Ok(points) => Ok(self.judged(&system.name, points)),
                Err(error) if is_rows_own(&error) => {
                    let name = output::printable(&system.name);
                    bar.suspend(|| output::note(format_args!("{name}: left out: {error:#}")));
                    Err(format!("{error:#}"))
                }
                Err(error) => return Err(error.context(format!("system `{}`", output::printable(&system.name)))),
            };
            rows.push(Row { name: system.name.clone(), paper: system.paper, outcome });
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(rows)
    }

    /// Refuses to choose a model's epoch by queries that it is judged by.
    fn refuse_judged_validation(&self, kinds: &[Kind]) -> Result<()> {
        let judged: HashSet<String> = self.judgments.queries.iter().map(|query| query_key(&query.text)).collect();
        let mut checked = HashSet::new();
        let trainings = kinds.iter().flat_map(|kind| match kind {
            Kind::Models(points) => points.as_slice(),
            _ => &[],
        });
        for arguments in trainings {
            let files = train::check(arguments)?;
            for file in &files {
                test_set::refuse_pipe_in_table(file)?;
            }
            let Some(named) = files.first().cloned() else { continue };
            if !checked.insert(files) {
                continue;
            }
            // What is wrong with its lines `train` says, in the system's own row.
            let Ok(Some(set)) = train::validation(arguments, self.spec.data.field()) else { continue };
            let both: Vec<&str> = set.judgments.queries.iter().map(|query| query.text.as_str()).collect();
            let both: Vec<&&str> = both.iter().filter(|query| judged.contains(&query_key(query))).collect();
            if let Some(first) = both.first() {
                bail!(
                    "{}: expected a validation set that is not judged in the table, found {} of it there, the first `{}`; leave \
                     them or `--validation` out",
                    named.display(),
                    output::counted(both.len() as u64, "query"),
                    output::printable(first)
                );
            }
        }
        Ok(())
    }

    /// Cross validation over a system's points, or over those of its folds.
    fn judged(&self, name: &str, points: Points) -> Judged {
        let Points { points, by_fold } = points;
        let candidates: Vec<Evaluation> =
            points.iter().map(|point| judge(&point.parameters, &point.scores, self.judgments, &self.options)).collect();
        let (chosen, evaluation) = match by_fold {
            false => {
                let eval::CrossValidated { chosen, evaluation } = eval::cross_validate(name, &candidates, &self.folds);
                (chosen, evaluation)
            }
            true => {
                let of = self.folds.of_queries();
                let queries: Vec<_> =
                    of.iter().enumerate().map(|(query, &fold)| candidates[fold].queries[query].clone()).collect();
                let mean = Metrics::mean(queries.iter().map(|query| &query.metrics));
                let queries_without_relevant = candidates[0].queries_without_relevant;
                let evaluation = Evaluation { name: name.to_owned(), queries, mean, queries_without_relevant };
                ((0..points.len()).collect(), evaluation)
            }
        };
        let of = self.folds.of_queries();
        let scores = of.iter().enumerate().map(|(query, &fold)| points[chosen[fold]].scores[query].clone()).collect();
        Judged { points, chosen, evaluation, scores, by_fold }
    }

    fn rankers(
        &mut self,
        specs: &[RankerSpec],
        load: Option<&Path>,
        vectors: Option<&Path>,
        bar: &ProgressBar,
    ) -> Result<Points> {
        let system = System::named(&specs[0].name).map_err(Error::from)?;
        let mut specs: Vec<(RankerSpec, Values)> = specs
            .iter()
            .map(|spec| Ok((spec.clone(), system.values(spec).map_err(Error::from)?)))
            .collect::<Result<_>>()?;
        // Those of one training stand together.
        let training = |values: &Values| -> Vec<u64> {
            let of = values.iter().filter(|(parameter, _)| parameter.stage == Stage::Training);
            of.map(|(_, value)| value.to_bits()).collect()
        };
        specs.sort_by_key(|(_, values)| training(values));
        let contiguous = self.spec.data.contiguous.clone().filter(|_| system.name == "skip-thought");
        // Vectors of texts have their texts beside them.
        let texts = vectors.map(|vectors| vectors.with_extension("txt")).filter(|texts| texts.exists());
        let data = &self.spec.data;
        let judged = data.judged_files();
        let beside = [
            ("clicks", data.clicks.as_deref()),
            ("titles", data.titles.as_deref()),
            ("contiguous", contiguous.as_deref()),
            ("load", load),
            ("vectors", vectors),
            ("texts", texts.as_deref()),
        ];
        let files: Vec<_> = named("judged", &judged).chain(beside).collect();
        let beside = Beside { load, vectors, files: &beside };
        let (mut points, mut refused) = (Vec::with_capacity(specs.len()), Refused::default());
        // The ranker at hand, and the name of what it was trained with.
        let mut trained: Option<(String, Option<Box<dyn Trained>>)> = None;
        for (spec, values) in &specs {
            let assigned = |stage: Option<Stage>| -> Vec<String> {
                let of = values.iter().filter(|(parameter, _)| stage.is_none_or(|stage| parameter.stage == stage));
                let named = of.map(|(parameter, value)| format!("{}={value}", parameter.name));
                std::iter::once(system.name.to_owned()).chain(named).collect()
            };
            let [whole, training] = [assigned(None), assigned(Some(Stage::Training))].map(|parts| {
                let parts: Vec<&str> = [data.field()].into_iter().chain(parts.iter().map(String::as_str)).collect();
                self.cache.key(&files, &parts)
            });
            let (whole, training) = (format!("{}-scores", whole?), training?);
            if let Some(point) = self.cache.get(&whole, self.judgments) {
                points.push(point);
                continue;
            }
            if trained.as_ref().is_none_or(|(key, _)| *key != training) {
                let ranker = refused.or(self.train_or_load(&training, system, values, &beside, bar))?;
                trained = Some((training.clone(), ranker));
            }
            let Some((_, Some(ranker))) = &mut trained else { continue };
            ranker.tune(values);
            let began = Instant::now();
            let scores = eval::score(ranker.as_ref(), self.judgments);
            let point = Point {
                parameters: spec.to_string(),
                scores,
                training: self.cache.training(&training),
                score_seconds: began.elapsed().as_secs_f64(),
                bytes: size_of(&self.cache.model(&training)),
            };
            self.cache.put(&whole, &point)?;
            points.push(point);
        }
        refused.points(points, bar)
    }

    fn train_or_load(
        &mut self,
        key: &str,
        system: &'static System,
        values: &Values,
        beside: &Beside<'_>,
        bar: &ProgressBar,
    ) -> Result<Box<dyn Trained>> {
        let path = self.cache.model(key);
        if path.exists()
            && let Ok((_, _, ranker)) = file::load(&path)
        {
            return Ok(ranker);
        }
        if self.corpus.is_none() {
            let data = &self.spec.data;
            let corpus = crate::commands::evaluate::corpus(
                data.titles.as_deref(),
                data.clicks.as_deref(),
                data.field(),
                self.judgments,
                None,
            )?;
            self.corpus = Some(corpus);
        }
        let Some(corpus) = &self.corpus else { unreachable!("read above") };
        let &Beside { load, vectors, files } = beside;
        let resources = Resources { corpus, contiguous: self.spec.data.contiguous.as_deref(), load, vectors };
        memory::begin();
        let began = Instant::now();
        let ranker = system.train(values, &resources, &mut |step| {
            bar.set_message(format!("{} {}/{}", system.name, step.done, step.of));
        })?;
        let seconds = began.elapsed().as_secs_f64();
        self.cache.refuse_changed(files)?;
        file::save(&path, system, values, ranker.as_ref())?;
        self.cache
            .put_training(key, &Training { seconds, losses: Vec::new(), peak_bytes: memory::peak(), checked: true })?;
        Ok(ranker)
    }

    fn models(&mut self, points: &[Vec<String>], bar: &ProgressBar) -> Result<Points> {
        let data = &self.spec.data;
        let Some(clicks) = &data.clicks else {
            bail!(NotTrainable(
                "expected clicked pairs to learn from, found none; name a log with --clicks".to_owned()
            ));
        };
        let judged = data.judged_files();
        let (mut done, mut refused) = (Vec::with_capacity(points.len()), Refused::default());
        for arguments in points {
            let validation = train::check(arguments)?;
            let parts: Vec<&str> =
                ["train", data.field()].into_iter().chain(arguments.iter().map(String::as_str)).collect();
            // A model does not follow from what it is judged by.
            let files: Vec<_> =
                [("clicks", Some(clicks.as_path()))].into_iter().chain(named("validation", &validation)).collect();
            let training = self.cache.key(&files, &parts)?;
            let judged: Vec<_> = named("judged", &judged).collect();
            let whole = format!("{}-scores", self.cache.key(&judged, &["train", data.field(), &training])?);
            if let Some(point) = self.cache.get(&whole, self.judgments) {
                done.push(point);
                continue;
            }
            let path = self.cache.model(&training);
            let model = match self.cache.load_model(&training)? {
                Some(model) => model,
                None => {
                    let finished = process::train(clicks, data.field(), arguments, &path, &training, &self.cache, bar);
                    if let Err(changed) = self.cache.refuse_changed(&files) {
                        self.cache.remove_model(&training)?;
                        return Err(changed);
                    }
                    if refused.or(finished)?.is_none() {
                        continue;
                    }
                    let known = self.cache.training(&training);
                    self.cache.put_training(&training, &Training { checked: true, ..known })?;
                    Model::load(&path)?
                }
            };
            let ranker = Neural::new(String::new(), model);
            let began = Instant::now();
            let scores = eval::score(&ranker, self.judgments);
            let point = Point {
                parameters: arguments.join(" "),
                scores,
                training: self.cache.training(&training),
                score_seconds: began.elapsed().as_secs_f64(),
                bytes: size_of(&path),
            };
            self.cache.put(&whole, &point)?;
            done.push(point);
        }
        refused.points(done, bar)
    }

    fn file(&mut self, path: &Path) -> Result<Points> {
        let judged = self.spec.data.judged_files();
        let files: Vec<_> = named("judged", &judged).chain([("model", Some(path))]).collect();
        let key = format!("{}-scores", self.cache.key(&files, &[self.spec.data.field()])?);
        if let Some(point) = self.cache.get(&key, self.judgments) {
            return Ok(Points { points: vec![point], by_fold: false });
        }
        let ranker = Stored::load(path)?.named(String::new());
        self.cache.refuse_changed(&files)?;
        let began = Instant::now();
        let scores = eval::score(ranker.as_ref(), self.judgments);
        let point = Point {
            parameters: path.display().to_string(),
            scores,
            training: Training::default(),
            score_seconds: began.elapsed().as_secs_f64(),
            bytes: size_of(path),
        };
        self.cache.put(&key, &point)?;
        Ok(Points { points: vec![point], by_fold: false })
    }
}

/// What a ranker is made of beside its parameters.
struct Beside<'p> {
    load: Option<&'p Path>,
    vectors: Option<&'p Path>,
    /// All files, these among them.
    files: &'p [(&'static str, Option<&'p Path>)],
}

/// What a row is chosen from.
pub(super) struct Points {
    pub(super) points: Vec<Point>,
    /// There is one for each fold, and nothing to choose.
    pub(super) by_fold: bool,
}

fn size_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Files that serve as one thing, as [`Cache::key`] takes them.
pub(super) fn named<'p>(
    role: &'static str,
    files: &'p [PathBuf],
) -> impl Iterator<Item = (&'static str, Option<&'p Path>)> {
    files.iter().map(move |file| (role, Some(file.as_path())))
}

/// Why a row, or a point of it, cannot be made of what there is.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotTrainable(pub(super) String);

/// Whether the rest of the table can go on.
fn is_rows_own(error: &anyhow::Error) -> bool {
    error.downcast_ref::<NotTrainable>().is_some() || matches!(error.downcast_ref(), Some(Error::Learn { .. }))
}

/// Grid points that cannot be trained: the others may serve.
#[derive(Default)]
struct Refused(Vec<anyhow::Error>);

impl Refused {
    /// The value, or none if there is none for a reason that is the point's own.
    fn or<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if is_rows_own(&error) => {
                self.0.push(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The points that there are, if there are any.
    fn points(self, points: Vec<Point>, bar: &ProgressBar) -> Result<Points> {
        let mut refused = self.0.into_iter();
        if points.is_empty()
            && let Some(first) = refused.next()
        {
            return Err(first);
        }
        bar.suspend(|| refused.for_each(|error| output::note(format_args!("left a grid point out: {error:#}"))));
        Ok(Points { points, by_fold: false })
    }
}

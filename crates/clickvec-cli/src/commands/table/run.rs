//! From a spec to rows: every system trained with every set of parameters, unless that is done already, and judged by
//! cross validation.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clickvec::error::{Error, FileFault};
use clickvec::eval::{self, EvaluateOptions, Evaluation, Folds, Judgments, Metrics, Scores, folds, judge};
use clickvec::model::Model;
use clickvec::ranker::{
    Corpus, FittedWeights, FusionMethod, Neural, Ranker, RankerSpec, Resources, Stage, System, Trained, Values, file,
    fit_weights, fuse,
};
use indicatif::ProgressBar;

use super::cache::{Cache, Point};
use super::spec::{Kind, Spec};
use crate::{output, progress};

/// Everything that systems are made of and judged by.
pub(super) struct Table<'a> {
    pub(super) spec: &'a Spec,
    pub(super) judgments: &'a Judgments,
    pub(super) options: EvaluateOptions,
    pub(super) folds: Folds,
    /// Arguments of `train` that name its data.
    train_data: Vec<String>,
    cache: Cache,
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
}

impl<'a> Table<'a> {
    pub(super) fn new(
        spec: &'a Spec,
        judgments: &'a Judgments,
        options: EvaluateOptions,
        train_data: Vec<String>,
        cache: Cache,
    ) -> Table<'a> {
        let folds = Folds::new(judgments, spec.evaluation.folds, spec.evaluation.seed);
        Table { spec, judgments, options, folds, train_data, cache, corpus: None }
    }

    /// All rows, in the order of the spec. A system that cannot be trained on what there is has a row that says why.
    pub(super) fn rows(&mut self) -> Result<Vec<Row>> {
        // Faults of the spec are told before anything is trained.
        let kinds = (0..self.spec.systems.len()).map(|place| self.spec.kind(place)).collect::<Result<Vec<_>>>()?;
        let bar = progress::bar(kinds.len() as u64, "judging", "systems");
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
        Judged { points, chosen, evaluation, scores }
    }

    fn rankers(
        &mut self,
        specs: &[RankerSpec],
        load: Option<&Path>,
        vectors: Option<&Path>,
        bar: &ProgressBar,
    ) -> Result<Points> {
        let system = System::named(&specs[0].name).map_err(Error::from)?;
        let files = [load, vectors, self.spec.data.contiguous.as_deref().filter(|_| system.name == "skip-thought")];
        let mut base = vec![system.name.to_owned()];
        for file in files.into_iter().flatten() {
            base.push(self.cache.hash_of(file)?);
        }
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
        let mut points = Vec::with_capacity(specs.len());
        // The ranker at hand, and what it was trained with.
        let mut trained: Option<(String, Box<dyn Trained>, f64, u64)> = None;
        for (spec, values) in &specs {
            let key = |stage: Option<Stage>| {
                let of = values.iter().filter(|(parameter, _)| stage.is_none_or(|stage| parameter.stage == stage));
                let assigned: Vec<String> =
                    of.map(|(parameter, value)| format!("{}={value}", parameter.name)).collect();
                let parts: Vec<&str> = base.iter().chain(&assigned).map(String::as_str).collect();
                self.cache.key(&parts)
            };
            let (whole, training) = (key(None), key(Some(Stage::Training)));
            if let Some(point) = self.cache.get(&whole, self.judgments) {
                points.push(point);
                continue;
            }
            let mut train_seconds = 0.0;
            if trained.as_ref().is_none_or(|(key, ..)| *key != training) {
                let path = self.cache.model(&training);
                trained = Some(self.train_or_load(&training, &path, system, values, load, vectors, bar)?);
                train_seconds = trained.as_ref().map_or(0.0, |(_, _, seconds, _)| *seconds);
            }
            let Some((_, ranker, _, bytes)) = &mut trained else { unreachable!("trained above") };
            ranker.tune(values);
            let began = Instant::now();
            let scores = eval::score(ranker.as_ref(), self.judgments);
            let point = Point {
                parameters: spec.to_string(),
                scores,
                train_seconds,
                score_seconds: began.elapsed().as_secs_f64(),
                bytes: *bytes,
                peak_bytes: None,
                losses: Vec::new(),
            };
            self.cache.put(&whole, &point)?;
            points.push(point);
        }
        Ok(Points { points, by_fold: false })
    }

    fn train_or_load(
        &mut self,
        key: &str,
        path: &Path,
        system: &'static System,
        values: &Values,
        load: Option<&Path>,
        vectors: Option<&Path>,
        bar: &ProgressBar,
    ) -> Result<(String, Box<dyn Trained>, f64, u64)> {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        if path.exists()
            && let Ok((_, _, ranker)) = file::load(path)
        {
            return Ok((key.to_owned(), ranker, 0.0, size(path)));
        }
        if self.corpus.is_none() {
            let data = &self.spec.data;
            let corpus =
                crate::commands::evaluate::corpus(data.titles.as_deref(), data.clicks.as_deref(), self.judgments)?;
            self.corpus = Some(corpus);
        }
        let Some(corpus) = &self.corpus else { unreachable!("read above") };
        let resources = Resources { corpus, contiguous: self.spec.data.contiguous.as_deref(), load, vectors };
        let began = Instant::now();
        let ranker = system.train(values, &resources, &mut |step| {
            bar.set_message(format!("{} {}/{}", system.name, step.done, step.of));
        })?;
        let seconds = began.elapsed().as_secs_f64();
        file::save(path, system, values, ranker.as_ref())?;
        Ok((key.to_owned(), ranker, seconds, size(path)))
    }

    fn models(&mut self, points: &[Vec<String>], bar: &ProgressBar) -> Result<Points> {
        if self.spec.data.clicks.is_none() {
            bail!(NotTrainable(
                "expected clicked pairs to learn from, found none; name a log with --clicks".to_owned()
            ));
        }
        let mut done = Vec::with_capacity(points.len());
        for arguments in points {
            let parts: Vec<&str> = std::iter::once("train").chain(arguments.iter().map(String::as_str)).collect();
            let key = self.cache.key(&parts);
            if let Some(point) = self.cache.get(&key, self.judgments) {
                done.push(point);
                continue;
            }
            let path = self.cache.model(&key);
            let run = train(&self.train_data, arguments, &path, bar)?;
            let ranker = Neural::new(String::new(), Model::load(&path)?);
            let began = Instant::now();
            let scores = eval::score(&ranker, self.judgments);
            let point = Point {
                parameters: arguments.join(" "),
                scores,
                train_seconds: run.time.as_secs_f64(),
                score_seconds: began.elapsed().as_secs_f64(),
                bytes: std::fs::metadata(&path).map_or(0, |metadata| metadata.len()),
                peak_bytes: run.peak_bytes,
                losses: run.losses,
            };
            self.cache.put(&key, &point)?;
            done.push(point);
        }
        Ok(Points { points: done, by_fold: false })
    }

    fn file(&mut self, path: &Path) -> Result<Points> {
        let hash = self.cache.hash_of(path)?;
        let key = self.cache.key(&["file", &hash]);
        if let Some(point) = self.cache.get(&key, self.judgments) {
            return Ok(Points { points: vec![point], by_fold: false });
        }
        let ranker: Box<dyn Ranker> = match Model::load(path) {
            Ok(model) => Box::new(Neural::new(String::new(), model)),
            Err(Error::File { fault: FileFault::Kind { found, .. }, .. }) if found == file::KIND => file::load(path)?.2,
            Err(error) => return Err(error.into()),
        };
        let began = Instant::now();
        let scores = eval::score(ranker.as_ref(), self.judgments);
        let point = Point {
            parameters: path.display().to_string(),
            scores,
            train_seconds: 0.0,
            score_seconds: began.elapsed().as_secs_f64(),
            bytes: std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
            peak_bytes: None,
            losses: Vec::new(),
        };
        self.cache.put(&key, &point)?;
        Ok(Points { points: vec![point], by_fold: false })
    }

    /// For each fold, the members' scores with the parameters that they have there, by the method and with the weights that
    /// are best on the other folds.
    fn fusion(&self, members: &[usize], methods: &[FusionMethod], rows: &[Row]) -> Result<Points> {
        let mut judged = Vec::with_capacity(members.len());
        for &member in members {
            match &rows[member].outcome {
                Ok(row) => judged.push(row),
                Err(_) => bail!(NotTrainable(format!("its member `{}` was left out", rows[member].name))),
            }
        }
        let began = Instant::now();
        let mut points = Vec::with_capacity(self.folds.count());
        for fold in 0..self.folds.count() {
            let of: Vec<&Scores> = judged.iter().map(|row| &row.points[row.chosen[fold]].scores).collect();
            let fused = |query: usize, weights: &[f64], method: FusionMethod| {
                let scores: Vec<&[f64]> = of.iter().map(|scores| &scores[query][..]).collect();
                fuse(&scores, weights, method)
            };
            let queries: Vec<usize> =
                (0..self.judgments.queries.len()).filter(|&query| self.folds.chooses(query, fold)).collect();
            let chosen = Judgments {
                queries: queries.iter().map(|&query| self.judgments.queries[query].clone()).collect(),
                duplicates: 0,
            };
            let fitted = methods.iter().map(|&method| {
                let mut objective = |weights: &[f64]| {
                    let scores: Scores = queries.iter().map(|&query| fused(query, weights, method)).collect();
                    folds::objective(&judge("fusion", &scores, &chosen, &self.options).mean)
                };
                (method, fit_weights(members.len(), &mut objective))
            });
            // The first among equals.
            let better = |best: (FusionMethod, FittedWeights), other: (FusionMethod, FittedWeights)| {
                if other.1.objective > best.1.objective { other } else { best }
            };
            let Some((method, FittedWeights { weights, .. })) = fitted.reduce(better) else {
                unreachable!("a method or more")
            };
            let scores = (0..self.judgments.queries.len()).map(|query| fused(query, &weights, method)).collect();
            let named =
                members.iter().zip(&weights).map(|(&member, weight)| format!("{}={weight:.2}", rows[member].name));
            points.push(Point {
                parameters: format!("{}: {}", method_name(method), named.collect::<Vec<_>>().join(", ")),
                scores,
                train_seconds: began.elapsed().as_secs_f64(),
                score_seconds: 0.0,
                bytes: 0,
                peak_bytes: None,
                losses: Vec::new(),
            });
        }
        Ok(Points { points, by_fold: true })
    }
}

struct Points {
    points: Vec<Point>,
    /// There is one for each fold, and nothing to choose.
    by_fold: bool,
}

fn method_name(method: FusionMethod) -> &'static str {
    match method {
        FusionMethod::MinMax => "min-max",
        FusionMethod::ZScore => "z-score",
        FusionMethod::ReciprocalRank { .. } => "reciprocal rank",
    }
}

/// Why a row cannot be made of what there is.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NotTrainable(String);

/// Whether the rest of the table can go on.
fn is_rows_own(error: &anyhow::Error) -> bool {
    error.downcast_ref::<NotTrainable>().is_some() || matches!(error.downcast_ref(), Some(Error::Learn { .. }))
}

/// What a training said of itself.
struct Training {
    losses: Vec<f64>,
    time: Duration,
    peak_bytes: Option<u64>,
}

/// Runs `clickvec train` as a process of its own, so that its memory is its own too; continues where it was stopped.
fn train(data: &[String], arguments: &[String], model: &Path, bar: &ProgressBar) -> Result<Training> {
    let program = std::env::current_exe().context("cannot find the program itself")?;
    let began = Instant::now();
    let mut process = Command::new(program)
        .arg("train")
        .args(data)
        .args(arguments)
        .args(["--json", "--resume", "--output"])
        .arg(model)
        .args(["--threads", &rayon::current_num_threads().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start the program itself")?;
    let (Some(stdout), Some(mut stderr)) = (process.stdout.take(), process.stderr.take()) else {
        unreachable!("both are piped")
    };
    // Read beside the other, so that neither fills up.
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text)
    });
    let (mut losses, mut peak_bytes) = (Vec::new(), None);
    for line in BufReader::new(stdout).lines() {
        let line = line.context("cannot read what `train` says")?;
        let event: serde_json::Value = serde_json::from_str(&line).context("cannot read what `train` says")?;
        if event["event"] == "epoch" {
            losses.extend(event["loss"].as_f64());
            bar.set_message(format!("epoch {}", event["epoch"]));
            peak_bytes = peak_memory(process.id()).or(peak_bytes);
        }
    }
    let status = process.wait().context("cannot wait for `train`")?;
    let errors = errors.join().map_or_else(|_| String::new(), |text| text.unwrap_or_default());
    if !status.success() {
        let last = errors.lines().rev().find(|line| line.starts_with("error")).unwrap_or("").trim();
        bail!(NotTrainable(format!("`train {}` failed: {last}", arguments.join(" "))));
    }
    Ok(Training { losses, time: began.elapsed(), peak_bytes })
}

/// The most memory that a process has had so far; Linux only.
fn peak_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

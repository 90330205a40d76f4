//! The steps of the demo, which call the same functions as the other commands.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use clickvec::encoder::{DssmConfig, EncoderConfig};
use clickvec::model::Model;
use clickvec::tables::{TITLE, Title};
use clickvec::train::{ClickSource, Event, Keep, Output, TrainConfig};
use clickvec_eval::ranker::{self, Corpus, Neural, Ranker};
use clickvec_eval::training::{Progress, Training};
use clickvec_eval::{self as eval, EvaluateOptions, Judgments};
use clickvec_index::{Fusion, Index, IndexBuilder, VectorFormat, finish};
use clickvec_lab::simulate::{self, QueryKind, SimulateConfig};

use super::searches::{self, Engines};
use super::{Args, KindReport, Report};
use crate::{input, output, progress};

/// What makes queries of each kind hard.
fn about(kind: QueryKind) -> &'static str {
    match kind {
        QueryKind::Plain => "none: words of the titles",
        QueryKind::Synonym => "no word of its titles",
        QueryKind::Sense => "a word with two senses",
        QueryKind::Order => "the order of words",
        QueryKind::Misspelt => "a typing error",
        QueryKind::Navigational => "a web site, not a thing",
    }
}

/// Runs all steps in `folder`.
pub(super) fn run(args: &Args, folder: &Path) -> Result<Report> {
    let mut steps = Steps::default();
    let log = folder.join("log");
    let summary = steps.step("inventing a search engine and its users", |_| simulated(args, &log))?;
    let judgments = input::judgments(&log.join("judged.tsv"), TITLE)?;
    let titles = input::titles(&log.join("titles.tsv"), TITLE)?;

    let mut config = TrainConfig { keep: Keep::Best, ..TrainConfig::default() };
    let lstm = steps.step("training the LSTM-DSSM", |bar| trained("lstm", &config, folder, bar))?;
    config.encoder = EncoderConfig::Dssm(DssmConfig::default());
    let dssm =
        steps.step("training the DSSM, which ignores word order", |bar| trained("dssm", &config, folder, bar))?;

    let index = steps.step("encoding all titles", |bar| {
        bar.set_length(titles.len() as u64);
        encoded(&lstm, &titles, &folder.join("lstm.index"), bar)
    })?;
    let texts: Vec<&str> = titles.iter().map(|title| title.title.as_str()).collect();
    let rankers: [Box<dyn Ranker>; 3] = [
        bm25(&titles, &judgments)?,
        Box::new(Neural::new("dssm".to_owned(), dssm)),
        Box::new(Neural::new("lstm".to_owned(), lstm)),
    ];
    let (systems, tests, kinds) = steps.step("judging them and BM25", |_| {
        let (systems, tests) = judged(&rankers, &judgments)?;
        let mut kinds = Vec::new();
        for kind in QueryKind::ALL {
            let judgments = input::judgments(&log.join(format!("judged-{}.tsv", kind.name())), TITLE)?;
            let (systems, tests) = judged(&rankers, &judgments)?;
            let (queries, example) = (judgments.queries.len(), judgments.queries[0].text.clone());
            kinds.push(KindReport { name: kind.name(), about: about(kind), example, queries, systems, tests });
        }
        Ok((systems, tests, kinds))
    })?;
    let searches = steps.step("searching", |_| {
        let lstm = Model::load(&folder.join("lstm.safetensors"))?;
        let engines = Engines { model: &lstm, lstm: &index, bm25: rankers[0].as_ref(), titles: &texts };
        let hard = kinds
            .iter()
            .filter(|kind| kind.name != QueryKind::Plain.name() && kind.name != QueryKind::Navigational.name());
        let hard: Vec<&KindReport> = hard.collect();
        let queries: Vec<&str> = hard.iter().map(|kind| kind.example.as_str()).collect();
        let grades = simulate::true_grades(&simulated_config(args), &queries);
        let known = hard.iter().zip(grades);
        known
            .map(|(kind, grades)| {
                let grades = grades.context("a judged query has no true grades")?;
                searches::search(&engines, kind.name, &kind.example, &grades)
            })
            .collect()
    })?;
    let queries = judgments.queries.len();
    let validation = input::judgments(&log.join("validation.tsv"), TITLE)?.queries.len();
    let (pairs, titles) = (summary.pairs, summary.titles);
    Ok(Report { pairs, titles, queries, validation, systems, tests, kinds, searches, steps: steps.done, seconds: 0.0 })
}

type Judged = (Vec<eval::Evaluation>, Vec<eval::Comparison>);

fn judged(rankers: &[Box<dyn Ranker>], judgments: &Judgments) -> Result<Judged> {
    let options = EvaluateOptions::default();
    let systems: Vec<_> = rankers.iter().map(|ranker| eval::evaluate(ranker.as_ref(), judgments, &options)).collect();
    let tests = eval::compare_all(&systems)?;
    Ok((systems, tests))
}

fn simulated_config(args: &Args) -> SimulateConfig {
    SimulateConfig { pairs: args.pairs, ..SimulateConfig::default() }
}

fn simulated(args: &Args, log: &Path) -> Result<simulate::Summary> {
    Ok(simulate::simulate(&simulated_config(args), None, log, &mut |_| ())?)
}

fn bm25(titles: &[Title], judgments: &Judgments) -> Result<Box<dyn Ranker>> {
    let mut corpus = Corpus::default();
    titles.iter().try_for_each(|title| corpus.add_title(&title.title))?;
    judgments.queries.iter().try_for_each(|query| corpus.add_test_query(&query.text))?;
    Ok(ranker::train("bm25", &corpus)?)
}

fn encoded(model: &Model, titles: &[Title], output: &Path, bar: &indicatif::ProgressBar) -> Result<Index> {
    let mut builder = IndexBuilder::new(model, output)?;
    for title in titles {
        builder.add(title.clone())?;
        bar.inc(1);
    }
    finish(builder, model, &Fusion::for_model(model), VectorFormat::default())?;
    Ok(Index::open(output)?)
}

fn trained(name: &str, config: &TrainConfig, folder: &Path, bar: &indicatif::ProgressBar) -> Result<Model> {
    let judgments = input::judgments(&folder.join("log/validation.tsv"), TITLE)?;
    let output = folder.join(format!("{name}.safetensors"));
    let clicks = folder.join("log/clicks.tsv");
    let written = Output { path: &output, checkpoint_every: None, resume: false };
    let training = Training { validation: Some(&judgments), output: Some(written), ..Training::new(config) };
    let mut done = 0;
    let outcome = training.run(ClickSource::file(&clicks), &mut |progress| {
        match progress {
            Progress::Run { event: Event::Log { statistics, .. }, .. } => {
                bar.set_length(statistics.pairs * u64::from(config.epochs));
            }
            Progress::Run { event: Event::Minibatch { pairs, .. }, .. } => {
                done += pairs;
                bar.set_position(done);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    outcome.finished().context("the demo's training was stopped")?;
    Ok(Model::load(&output)?)
}

/// The steps that were done, and how long they took.
#[derive(Default)]
struct Steps {
    done: Vec<(String, f64)>,
}

impl Steps {
    fn step<T>(&mut self, name: &str, work: impl FnOnce(&indicatif::ProgressBar) -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let bar = progress::step(name);
        let result = work(&bar);
        bar.finish_and_clear();
        let result = result?;
        output::note(format_args!("  {name:<44}{:>12}", progress::duration(started.elapsed())));
        self.done.push((name.to_owned(), started.elapsed().as_secs_f64()));
        Ok(result)
    }
}

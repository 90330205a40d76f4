//! The steps of the demo, which call the same functions as the other commands.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use clickvec::encoder::{DssmConfig, EncoderConfig};
use clickvec::model::Model;
use clickvec::tables::{TITLE, Title, read_titles};
use clickvec::train::{self, ClickSource, Keep, Output, TrainConfig};
use clickvec_eval::ranker::{self, Corpus, Neural, Ranker};
use clickvec_eval::training::{Progress, Training};
use clickvec_eval::{self as eval, EvaluateOptions, Judgments, TestSetFiles};
use clickvec_index::{Fusion, Index, IndexBuilder, VectorFormat, finish};
use clickvec_tables::{Error, Result};

use super::searches::{self, Engines};
use super::{Event, INDEX, KindReport, LOG, MODEL, Report};
use crate::simulate::{self, QueryKind, SimulateConfig};

/// Returns what makes queries of a kind hard.
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
pub(super) fn run(pairs: u64, folder: &Path, on_event: &mut dyn FnMut(Event<'_>)) -> Result<Report> {
    let simulation = SimulateConfig { pairs, ..SimulateConfig::default() };
    let mut steps = Steps { on_event, done: Vec::new() };
    let log = folder.join(LOG);
    let summary = steps.step("inventing a search engine and its users", |_| {
        simulate::simulate(&simulation, None, &log, &mut |_| ControlFlow::Continue(()))
    })?;
    let judgments = judgments(&log.join("judged.tsv"))?;
    let titles = read_titles(&log.join("titles.tsv"), TITLE)?.titles;

    let mut config = TrainConfig { keep: Keep::Best, ..TrainConfig::default() };
    let lstm = steps
        .step("training the LSTM-DSSM", |on_progress| trained(&config, folder, &folder.join(MODEL), on_progress))?;
    config.encoder = EncoderConfig::Dssm(DssmConfig::default());
    let dssm = steps.step("training the DSSM, which ignores word order", |on_progress| {
        trained(&config, folder, &folder.join("dssm.safetensors"), on_progress)
    })?;

    let index =
        steps.step("encoding all titles", |on_progress| encoded(&lstm, &titles, &folder.join(INDEX), on_progress))?;
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
            let judgments = self::judgments(&log.join(format!("judged-{}.tsv", kind.name())))?;
            let (systems, tests) = judged(&rankers, &judgments)?;
            let (queries, example) = (judgments.queries.len(), judgments.queries[0].text.clone());
            kinds.push(KindReport { name: kind.name(), about: about(kind), example, queries, systems, tests });
        }
        Ok((systems, tests, kinds))
    })?;
    let searches = steps.step("searching", |_| {
        let lstm = Model::load(&folder.join(MODEL))?;
        let engines = Engines { model: &lstm, lstm: &index, bm25: rankers[0].as_ref(), titles: &texts };
        let hard = kinds
            .iter()
            .filter(|kind| kind.name != QueryKind::Plain.name() && kind.name != QueryKind::Navigational.name());
        let hard: Vec<&KindReport> = hard.collect();
        let queries: Vec<&str> = hard.iter().map(|kind| kind.example.as_str()).collect();
        let grades = simulate::true_grades(&simulation, &queries);
        let known = hard.iter().zip(grades);
        known
            .map(|(kind, grades)| {
                let grades = grades.expect("a judged query of this simulation");
                searches::search(&engines, kind.name, &kind.example, &grades)
            })
            .collect()
    })?;
    let queries = judgments.queries.len();
    let validation = self::judgments(&log.join("validation.tsv"))?.queries.len();
    let (pairs, titles) = (summary.pairs, summary.titles);
    Ok(Report { pairs, titles, queries, validation, systems, tests, kinds, searches, steps: steps.done })
}

type Judged = (Vec<eval::Evaluation>, Vec<eval::Comparison>);

fn judged(rankers: &[Box<dyn Ranker>], judgments: &Judgments) -> Result<Judged> {
    let options = EvaluateOptions::default();
    let systems: Vec<_> = rankers.iter().map(|ranker| eval::evaluate(ranker.as_ref(), judgments, &options)).collect();
    let tests = eval::compare_all(&systems)?;
    Ok((systems, tests))
}

fn bm25(titles: &[Title], judgments: &Judgments) -> Result<Box<dyn Ranker>> {
    let mut corpus = Corpus::default();
    titles.iter().try_for_each(|title| corpus.add_title(&title.title))?;
    judgments.queries.iter().try_for_each(|query| corpus.add_test_query(&query.text))?;
    Ok(ranker::train("bm25", &corpus)?)
}

fn judgments(path: &Path) -> Result<Judgments> {
    let files = TestSetFiles { judged: path, topics: None, titles: None, field: TITLE };
    Ok(eval::read_test_set(&files)?.judgments)
}

fn encoded(model: &Model, titles: &[Title], output: &Path, on_progress: &mut dyn FnMut(u64, u64)) -> Result<Index> {
    let mut builder = IndexBuilder::new(model, output)?;
    for (done, title) in (0..).zip(titles) {
        on_progress(done, titles.len() as u64);
        builder.add(title.clone())?;
    }
    finish(builder, model, &Fusion::for_model(model), VectorFormat::default())?;
    Index::open(output)
}

fn trained(config: &TrainConfig, folder: &Path, output: &Path, on_progress: &mut dyn FnMut(u64, u64)) -> Result<Model> {
    let log = folder.join(LOG);
    let judgments = judgments(&log.join("validation.tsv"))?;
    let clicks = log.join("clicks.tsv");
    let written = Output { path: output, checkpoint_every: None, resume: false };
    let training = Training { validation: Some(&judgments), output: Some(written), ..Training::new(config) };
    let (mut done, mut all) = (0, 0);
    let outcome = training.run(ClickSource::file(&clicks), &mut |progress| {
        match progress {
            Progress::Run { event: train::Event::Log { statistics, .. }, .. } => {
                all = statistics.pairs * u64::from(config.epochs);
            }
            Progress::Run { event: train::Event::Minibatch { pairs, .. }, .. } => {
                done += pairs;
                on_progress(done, all);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    outcome.finished().ok_or_else(Error::interrupted)?;
    Model::load(output)
}

/// The steps that were done, and how long they took.
struct Steps<'a> {
    on_event: &'a mut dyn FnMut(Event<'_>),
    done: Vec<(String, f64)>,
}

impl Steps<'_> {
    /// Does a step, which passes on how much it has done and of how much.
    fn step<T>(&mut self, step: &str, work: impl FnOnce(&mut dyn FnMut(u64, u64)) -> Result<T>) -> Result<T> {
        let started = Instant::now();
        (self.on_event)(Event::Begun { step });
        let result = work(&mut |done, of| (self.on_event)(Event::Progress { done, of }))?;
        let seconds = started.elapsed().as_secs_f64();
        (self.on_event)(Event::Ended { step, seconds });
        self.done.push((step.to_owned(), seconds));
        Ok(result)
    }
}

//! Helpers of the tests: encoders with random weights, texts, small logs, training runs.
#![allow(dead_code, reason = "each test program uses some of it")]

use clickvec::Result;
use clickvec::encoder::{
    Bptt, ClsmConfig, DssmConfig, EncoderConfig, GruConfig, InitRange, LstmConfig, MembersConfig, Peephole, RnnConfig,
    StackedConfig,
};
use clickvec::internals::encoder::{Encoder, Gradients, Tensor, TensorKind, Trace};
use clickvec::internals::loss::{Loss, NegativeRows, Pairs, TitleLists};
use clickvec::internals::optimizer::Optimizer;
use clickvec::internals::rng;
use clickvec::internals::text::batch::{Batch, WordFeatures};
use clickvec::internals::text::{Feature, WordId};
use clickvec::model::Model;
use clickvec::tables::Titles;
use clickvec::train::{ClickSource, NegativeSource, Negatives};
use clickvec::train::{
    Event, Keep, Outcome as Ended, Output, Ranks, Score, Teacher, TrainConfig, TrainOptions, Validation, Written,
    train_to_file,
};
use clickvec::train::{LossConfig, LossKind, OptimizerKind};
use clickvec_eval::ranker::Neural;
use clickvec_eval::{EvaluateOptions, HeldOutTest, JudgedQuery, JudgedTitle, Judgments, evaluate};
use rand::RngExt as _;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

/// Words by number, each with its trigram counts.
#[derive(Default, Clone)]
pub(crate) struct Words(pub(crate) Vec<Vec<Feature>>);

impl WordFeatures for Words {
    fn features(&self, word: WordId) -> &[Feature] {
        &self.0[word as usize]
    }
}

/// `words` words over `features` trigrams; word 0 has no known trigram at all.
pub(crate) fn words(words: usize, features: u32, seed: u64) -> Words {
    let mut stream = rng::stream(seed, "words", 0);
    let mut all = vec![Vec::new()];
    while all.len() < words {
        let mut ids: Vec<u32> = (0..stream.random_range(1..6)).map(|_| stream.random_range(0..features)).collect();
        ids.sort_unstable();
        ids.dedup();
        all.push(ids.into_iter().map(|id| Feature { id, count: stream.random_range(1..3) }).collect());
    }
    Words(all)
}

/// One text of each length, of words 1 … `words` − 1.
pub(crate) fn texts(lengths: &[usize], words: u32, seed: u64) -> Vec<Vec<WordId>> {
    let mut stream = rng::stream(seed, "texts", 0);
    lengths.iter().map(|&length| (0..length).map(|_| stream.random_range(1..words)).collect()).collect()
}

pub(crate) fn lstm(cells: usize, forget_gate: bool, peephole: Peephole) -> LstmConfig {
    LstmConfig { cells, forget_gate, peephole }
}

/// Every kind of encoder with every variant, in sizes that are not multiples of a vector register.
pub(crate) fn all_encoders() -> Vec<EncoderConfig> {
    let mut all = Vec::new();
    for forget in [false, true] {
        for peephole in [Peephole::None, Peephole::Diagonal, Peephole::Full] {
            all.push(EncoderConfig::Lstm(lstm(5, forget, peephole)));
            all.push(EncoderConfig::Bilstm(lstm(3, forget, peephole)));
        }
    }
    for dimension in [None, Some(7)] {
        let lstm = lstm(5, true, Peephole::Full);
        all.push(EncoderConfig::Members(MembersConfig::new(3, lstm, dimension)));
    }
    all.push(EncoderConfig::Gru(GruConfig { cells: 5 }));
    all.push(EncoderConfig::Rnn(RnnConfig { hidden: 5 }));
    for layers in [&[5][..], &[6, 5], &[7, 6, 5]] {
        all.push(EncoderConfig::Dssm(DssmConfig { layers: layers.to_vec() }));
    }
    for window in [1, 3, 5] {
        for bias in [false, true] {
            all.push(EncoderConfig::Clsm(ClsmConfig { window, convolution: 6, hidden: vec![], semantic: 5, bias }));
        }
    }
    // Without biases the convolution is that of the CLSM above, whose maxima do not change hands within a step of differences;
    // golden numbers have those with biases.
    for hidden in [vec![4], vec![7, 3]] {
        all.push(EncoderConfig::Clsm(ClsmConfig { window: 3, convolution: 6, hidden, semantic: 5, bias: false }));
    }
    for (layers, forget_gate, peephole) in [
        (vec![5, 4], false, Peephole::None),
        (vec![3, 5], true, Peephole::Full),
        (vec![4, 3, 5], true, Peephole::Diagonal),
    ] {
        all.push(EncoderConfig::Stacked(StackedConfig { layers, forget_gate, peephole }));
    }
    all
}

/// An encoder with all weights, biases too, uniform in ±`range`.
pub(crate) fn random_encoder(config: &EncoderConfig, features: usize, range: f32, seed: u64) -> Box<dyn Encoder> {
    let mut encoder = config.build(features);
    let mut stream = rng::stream(seed, "weights", 0);
    for tensor in encoder.tensors_mut() {
        for x in tensor.value.data_mut() {
            *x = range * (2.0 * stream.random::<f32>() - 1.0);
        }
    }
    encoder
}

pub(crate) fn batch_of(texts: &[Vec<WordId>], words: &Words, features: usize) -> Batch {
    let mut batch = Batch::new();
    batch.fill(texts.iter().map(Vec::as_slice), words);
    batch.plan_rows(features);
    batch
}

pub(crate) fn lists<'a>(all: impl IntoIterator<Item = &'a [u32]>) -> TitleLists {
    let mut lists = TitleLists::default();
    lists.clear();
    all.into_iter().for_each(|list| lists.push(list.iter().copied()));
    lists
}

/// Both towers over one minibatch.
pub(crate) struct Setting {
    pub(crate) towers: [Box<dyn Encoder>; 2],
    pub(crate) batches: [Batch; 2],
    pub(crate) pairs: Pairs,
    pub(crate) gamma: f32,
    pub(crate) bptt: Bptt,
}

/// The result of a pass.
pub(crate) struct Outcome {
    pub(crate) loss: f64,
    pub(crate) embeddings: [Vec<f32>; 2],
    /// Shaped like the parameters.
    pub(crate) gradients: [Vec<Tensor>; 2],
    /// The norms by which the optimiser clips.
    pub(crate) norms: [f64; 2],
}

pub(crate) const FEATURES: usize = 14;

impl Setting {
    /// Six queries and seven titles, an empty one and one without a known trigram on each side.
    pub(crate) fn new(config: &EncoderConfig) -> Setting {
        let words = words(12, FEATURES as u32, 5);
        let mut queries = texts(&[3, 1, 0, 6, 2, 4], 12, 6);
        let mut titles = texts(&[2, 7, 4, 0, 1, 3, 5], 12, 7);
        queries[4] = vec![0, 0];
        titles[4] = vec![0];
        titles[5][1] = 0;
        let negatives = NegativeRows::Listed(lists([&[1, 2, 4][..], &[0, 5], &[1, 6], &[0, 1, 2, 3], &[6], &[]]));
        Setting {
            towers: [11, 12].map(|seed| random_encoder(config, FEATURES, 0.6, seed)),
            batches: [&queries, &titles].map(|texts| batch_of(texts, &words, FEATURES)),
            pairs: Pairs {
                positive: vec![0, 1, 2, 5, 5, 6],
                weight: vec![1.0, 0.5, 1.0, 2.0, 1.0, 1.0],
                negatives,
                targets: None,
                margins: None,
                noise: None,
            },
            gamma: 2.0,
            bptt: Bptt::default(),
        }
    }

    pub(crate) fn loss(&self) -> f64 {
        let embeddings = self.forward();
        let [queries, titles] = embeddings.each_ref().map(|trace| &trace.embeddings[..]);
        Loss::default().compute(self.gamma, queries, titles, self.towers[0].dimension(), &self.pairs).loss
    }

    fn forward(&self) -> [Trace; 2] {
        [0, 1].map(|side| {
            let mut trace = Trace::default();
            self.towers[side].forward(&self.batches[side], &mut trace);
            trace
        })
    }

    pub(crate) fn run(&self) -> Outcome {
        let mut traces = self.forward();
        let mut loss = Loss::default();
        let [queries, titles] = traces.each_ref().map(|trace| &trace.embeddings[..]);
        let sum = loss.compute(self.gamma, queries, titles, self.towers[0].dimension(), &self.pairs);
        let grads = [&loss.query_gradient, &loss.title_gradient];
        let mut norms = [0.0; 2];
        let gradients = [0, 1].map(|side| {
            let (tower, batch) = (&self.towers[side], &self.batches[side]);
            let mut gradients = Gradients::default();
            tower.backward(batch, &mut traces[side], grads[side], self.bptt, &mut gradients);
            norms[side] = Optimizer::norm(tower.tensors(), &gradients);
            dense(&**tower, &gradients, batch)
        });
        Outcome { loss: sum.loss, embeddings: traces.map(|trace| trace.embeddings), gradients, norms }
    }
}

/// Gradients with all rows of the tables, shaped like the parameters.
pub(crate) fn dense(encoder: &dyn Encoder, gradients: &Gradients, batch: &Batch) -> Vec<Tensor> {
    let mut out = encoder.tensors().to_vec();
    for (tensor, gradient) in out.iter_mut().zip(&gradients.tensors) {
        if tensor.kind == TensorKind::Input {
            tensor.value.data_mut().fill(0.0);
            for (&row, &place) in batch.touched().iter().zip(&gradients.table_rows) {
                tensor.value.row_mut(row as usize).copy_from_slice(gradient.row(place as usize));
            }
        } else {
            tensor.value = gradient.clone();
        }
    }
    out
}

/// The largest difference, relative to the largest number of `expected`; ∞ if there is a NaN.
pub(crate) fn relative_difference(found: &[f32], expected: &[f32]) -> f64 {
    assert_eq!(found.len(), expected.len());
    // `max` would ignore a NaN.
    if found.iter().chain(expected).any(|x| x.is_nan()) {
        return f64::INFINITY;
    }
    let largest = expected.iter().fold(0.0f64, |a, &x| a.max(f64::from(x).abs()));
    let worst = found.iter().zip(expected).fold(0.0f64, |a, (&x, &y)| a.max((f64::from(x) - f64::from(y)).abs()));
    if worst == 0.0 { 0.0 } else { worst / largest }
}

pub(crate) const TOPICS: [&[&str]; 6] = [
    &["red", "shoe", "leather", "boots", "laces"],
    &["garden", "hose", "spray", "nozzle", "green"],
    &["drill", "cordless", "battery", "bits", "volt"],
    &["lamp", "bulb", "led", "warm", "ceiling"],
    &["paint", "brush", "roller", "primer", "wall"],
    &["kitchen", "sink", "faucet", "steel", "drain"],
];

/// A log in which query and title are about the same topic in different words. Some titles were clicked for two
/// queries.
pub(crate) fn log_rows(pairs: usize, seed: u64) -> String {
    let mut stream = rng::stream(seed, "log", 0);
    let mut rows = String::from("query\ttitle\n");
    for pair in 0..pairs {
        let topic = TOPICS[pair % TOPICS.len()];
        let mut some = |most: usize| -> String {
            let count = stream.random_range(1..=most);
            let words: Vec<&str> = (0..count).map(|_| topic[stream.random_range(0..topic.len())]).collect();
            words.join(" ")
        };
        let (query, title) = (some(3), some(6));
        rows.push_str(&format!("{query}\t{title} {}\n", pair % 40));
    }
    rows
}

/// Titles over the same topics.
pub(crate) fn title_rows(titles: usize, seed: u64) -> String {
    let mut stream = rng::stream(seed, "titles", 0);
    let mut rows = String::from("id\ttitle\n");
    for title in 0..titles {
        let topic = TOPICS[title % TOPICS.len()];
        let words: Vec<&str> =
            (0..stream.random_range(1..8)).map(|_| topic[stream.random_range(0..topic.len())]).collect();
        rows.push_str(&format!("t{title}\t{} {title}\n", words.join(" ")));
    }
    rows
}

/// Judged queries over the same topics.
pub(crate) fn judgments(seed: u64) -> Judgments {
    let mut queries = Vec::new();
    let mut stream = rng::stream(seed, "judged", 0);
    for (number, topic) in TOPICS.iter().enumerate() {
        let query = format!("{} {}", topic[0], topic[stream.random_range(1..topic.len())]);
        let title = |(other, words): (usize, &[&str])| {
            let text = format!("{} {} {other}", words[stream.random_range(0..words.len())], words[1]);
            JudgedTitle { id: text.clone(), text, grade: if number == other { 4 } else { 0 } }
        };
        let titles = TOPICS.iter().copied().enumerate().map(title).collect();
        queries.push(JudgedQuery { id: query.clone(), text: query, titles });
    }
    Judgments { queries, ..Judgments::default() }
}

/// A folder with a log, for models.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new(rows: &str) -> Place {
        let place = Place { folder: tempfile::tempdir().expect("a folder") };
        std::fs::write(place.clicks(), rows).expect("written");
        place
    }

    pub(crate) fn clicks(&self) -> PathBuf {
        self.folder.path().join("clicks.tsv")
    }

    /// Titles to learn from, if this file exists.
    pub(crate) fn titles(&self) -> PathBuf {
        self.folder.path().join("titles.tsv")
    }

    /// The initial model, if this file exists.
    pub(crate) fn init(&self) -> PathBuf {
        self.folder.path().join("init.safetensors")
    }

    /// A teacher's vectors, if this file is there.
    pub(crate) fn teacher(&self) -> PathBuf {
        self.folder.path().join("teacher.jsonl")
    }

    /// A teacher's scores, if this file is there.
    pub(crate) fn scores(&self) -> PathBuf {
        self.folder.path().join("scores.tsv")
    }

    pub(crate) fn output(&self) -> PathBuf {
        self.folder.path().join("model.safetensors")
    }

    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        self.folder.path().join(format!("model.safetensors{suffix}"))
    }

    pub(crate) fn model(&self) -> Vec<u8> {
        std::fs::read(self.output()).expect("a model")
    }

    pub(crate) fn train(&self, config: &TrainConfig, how: How<'_>) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        self.train_with(config, how, &mut |event| events.push(event.clone())).map(|_| events)
    }

    pub(crate) fn train_with(
        &self,
        config: &TrainConfig,
        how: How<'_>,
        on_event: &mut dyn FnMut(&Event),
    ) -> Result<Written> {
        let watched = self.train_watched(config, how, &mut |event| {
            on_event(event);
            ControlFlow::Continue(())
        });
        Ok(watched?.finished().expect("nobody broke off"))
    }

    pub(crate) fn train_watched(
        &self,
        config: &TrainConfig,
        how: How<'_>,
        on_event: &mut dyn FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<Ended<Written>> {
        let (clicks, titles, path) = (self.clicks(), self.titles(), self.output());
        let titles = if titles.exists() { vec![titles] } else { Vec::new() };
        let init = self.init().exists().then(|| Model::load(&self.init()).expect("a model to begin with"));
        let output = Output { path: &path, checkpoint_every: how.checkpoint_every, resume: how.resume };
        let mut judge = how.validation.map(judged_by);
        let mut validation = how.validation.zip(judge.as_mut()).map(|(judgments, judge)| Validation {
            fingerprint: judgments.fingerprint(),
            is_worse: |_, _| true,
            judge,
        });
        let test: RefCell<Option<HeldOutTest>> = RefCell::default();
        let mut by_held_out = |model: &Model| {
            let test = test.borrow();
            let evaluation =
                test.as_ref().expect("queries").judge(&Neural::new("model".to_owned(), model)).expect("judged");
            Score { value: HeldOutTest::value(&evaluation), ..Score::default() }
        };
        if validation.is_none() && config.held_out > 0.0 {
            validation = Some(Validation { fingerprint: 0, is_worse: |_, _| true, judge: &mut by_held_out });
        }
        let mut on_event = |event: &Event| {
            if let Event::HeldOut(held_out) = event {
                *test.borrow_mut() = Some(HeldOutTest::new(held_out.clone()).expect("memory"));
            }
            on_event(event)
        };
        let teacher = self.teacher();
        let scores = self.scores();
        let vectors = teacher.exists().then(|| Teacher::file(&teacher));
        let teachers =
            vectors.into_iter().chain(scores.exists().then(|| Teacher::score_file(&scores, "title"))).collect();
        let titles: Vec<Titles> = titles.iter().map(Titles::from).collect();
        let options = TrainOptions {
            validation,
            titles: &titles,
            init: init.as_ref(),
            teachers,
            ranks: how.ranks.cloned(),
            ..TrainOptions::default()
        };
        let no_clicks = !clicks.exists() && !titles.is_empty();
        let clicks = if no_clicks { ClickSource::none() } else { ClickSource::file(&clicks) };
        train_to_file(config, clicks, &output, options, &mut on_event)
    }

    /// The names in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Trains until `minibatches` minibatches are done, and then stops as if killed.
    pub(crate) fn interrupt(&self, config: &TrainConfig, how: How<'_>, minibatches: usize) {
        self.interrupt_at(config, how, |done, event| matches!(event, Event::Minibatch { .. }) && done == minibatches);
    }

    /// Trains until `stop` is true of the number of minibatches done and the event.
    pub(crate) fn interrupt_at(&self, config: &TrainConfig, how: How<'_>, stop: impl Fn(usize, &Event) -> bool) {
        struct Interrupted;
        let mut done = 0;
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.train_with(config, how, &mut |event| {
                done += usize::from(matches!(event, Event::Minibatch { .. }));
                if stop(done, event) {
                    // Not `panic!`: the hook would print.
                    std::panic::resume_unwind(Box::new(Interrupted));
                }
            })
        }));
        assert!(outcome.is_err_and(|payload| payload.is::<Interrupted>()), "the run was to be interrupted");
    }
}

/// The score of a model on these judgments.
pub(crate) fn judged_by(judgments: &Judgments) -> impl FnMut(&Model) -> Score + '_ {
    |model| evaluate(&Neural::new("model".to_owned(), model), judgments, &EvaluateOptions::default()).mean.into()
}

/// The options of a run.
#[derive(Clone, Copy, Default)]
pub(crate) struct How<'a> {
    pub(crate) validation: Option<&'a Judgments>,
    pub(crate) checkpoint_every: Option<u64>,
    pub(crate) resume: bool,
    pub(crate) ranks: Option<&'a Arc<dyn Ranks>>,
}

/// A training that takes milliseconds.
pub(crate) fn small(optimizer: OptimizerKind) -> TrainConfig {
    TrainConfig {
        encoder: EncoderConfig::Lstm(lstm(6, false, Peephole::None)),
        batch_size: 40,
        negatives: Negatives::Sampled(4),
        negative_source: NegativeSource::Minibatch,
        loss: LossConfig { gamma: 5.0, ..LossConfig::default() },
        optimizer,
        learning_rate: if optimizer == OptimizerKind::Adam { 0.01 } else { 0.005 },
        clip_norm: Some(5.0),
        shared_towers: false,
        init_range: InitRange::ActiveFan,
        epochs: 3,
        keep: Keep::Last,
        ..TrainConfig::default()
    }
}

/// Noise-contrastive estimation with the γ of [`small`].
pub(crate) const NCE: LossConfig = LossConfig { kind: LossKind::Nce, gamma: 5.0 };

/// Asserts that a run was refused because of another one, and what was expected. Returns the message.
pub(crate) fn refused_for<T>(result: clickvec::Result<T>, expected: &str) -> String {
    let error = result.map(drop).expect_err("refused");
    assert_eq!(error.kind(), clickvec_tables::ErrorKind::Mismatch, "{error}");
    assert!(error.to_string().contains(&format!("expected {expected}")), "{error}");
    error.to_string()
}

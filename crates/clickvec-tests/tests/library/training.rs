//! Training runs: what they learn, what they report, and how they stop.

use super::support::*;
use clickvec::Error;
use clickvec::encoder::{ClsmConfig, DssmConfig, EncoderConfig, Peephole, RnnConfig};
use clickvec::model::{Model, Side};
use clickvec::train::OptimizerKind;
use clickvec::train::{ClickSource, NegativeSource, Negatives, Weighting};
use clickvec::train::{
    EpochReport, Event, IsWorse, Keep, Outcome as Ended, Output, Score, TrainConfig, TrainOptions, Validation, train,
    train_to_file,
};
use clickvec::train::{LossConfig, LossKind};
use clickvec_eval::ranker::Neural;
use clickvec_eval::{EvaluateOptions, Metric, evaluate};
use clickvec_tables::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;

fn epochs(events: &[Event]) -> Vec<&EpochReport> {
    events.iter().filter_map(|event| if let Event::Epoch(report) = event { Some(report) } else { None }).collect()
}

/// A wider minibatch than one block of texts, so that threads have something to share.
fn wide(optimizer: OptimizerKind) -> TrainConfig {
    TrainConfig { batch_size: 300, ..small(optimizer) }
}

#[test]
fn the_loss_falls_and_the_model_ranks() {
    let place = Place::new(&log_rows(240, 1));
    let judged = judgments(1);
    for (optimizer, encoder) in [
        (OptimizerKind::Adam, small(OptimizerKind::Adam).encoder),
        (OptimizerKind::Nesterov, small(OptimizerKind::Adam).encoder),
        (
            OptimizerKind::Sgd,
            EncoderConfig::Clsm(ClsmConfig { window: 3, convolution: 8, hidden: vec![], semantic: 6, bias: true }),
        ),
        (OptimizerKind::Adam, EncoderConfig::Dssm(DssmConfig { layers: vec![8, 6] })),
        (OptimizerKind::Adam, EncoderConfig::Rnn(RnnConfig { hidden: 6 })),
    ] {
        let config = TrainConfig { encoder, epochs: 12, ..small(optimizer) };
        let config = TrainConfig { learning_rate: if optimizer == OptimizerKind::Sgd { 0.1 } else { 0.01 }, ..config };
        let how = How { validation: Some(&judged), ..How::default() };
        let mut events = Vec::new();
        let written = place.train_with(&config, how, &mut |event| events.push(event.clone())).expect("trained");
        let reports = epochs(&events);
        let losses: Vec<f64> = reports.iter().map(|report| report.loss).collect();
        assert!(losses[11] < 0.5 * losses[0], "{config:?}: {losses:?}");
        let last = reports[11].validation.as_ref().and_then(|score| score.figure("ndcg@1")).expect("validated");
        // Six titles for each query, one of them right, so chance is 1/6.
        assert!(last > 0.4, "{config:?}: NDCG@1 {last}");
        assert_eq!((reports[11].epoch, reports[11].kept, reports[11].without_negatives), (12, true, 0));

        assert_eq!((written.epoch, written.already), (12, false));
        let model = Model::load(&place.output()).expect("a model");
        assert_eq!(model.fingerprint(), written.fingerprint);
        assert_eq!((model.training().epoch, model.training().updates), (12, 72));
        assert_eq!(model.training().loss, losses[11]);
        assert_eq!(model.training().config, config);
        let found = evaluate(&Neural::new("again".to_owned(), model), &judged, &EvaluateOptions::default());
        assert_eq!(found.mean.get(Metric::Ndcg(1)), last, "the file holds what was measured");
        assert!(!place.beside(".partial").exists() && !place.beside(".checkpoint").exists());
    }
}

#[test]
fn shuffled_clicks_rank_worse() {
    let rows = log_rows(240, 1);
    let (head, pairs) = rows.split_once('\n').expect("a header");
    let pairs: Vec<(&str, &str)> = pairs.lines().filter_map(|line| line.split_once('\t')).collect();
    let others = pairs.iter().cycle().skip(101);
    let shuffled: String =
        pairs.iter().zip(others).map(|((query, _), (_, title))| format!("{query}\t{title}\n")).collect();
    let judged = judgments(1);
    for encoder in [
        small(OptimizerKind::Adam).encoder,
        EncoderConfig::Bilstm(lstm(5, false, Peephole::None)),
        EncoderConfig::Rnn(RnnConfig { hidden: 6 }),
        EncoderConfig::Clsm(ClsmConfig { window: 3, convolution: 8, hidden: vec![], semantic: 6, bias: true }),
        EncoderConfig::Dssm(DssmConfig { layers: vec![8, 6] }),
    ] {
        let config = TrainConfig { encoder, epochs: 12, learning_rate: 0.01, ..small(OptimizerKind::Adam) };
        let [right, wrong] = [rows.clone(), format!("{head}\n{shuffled}")].map(|rows| {
            let place = Place::new(&rows);
            place.train(&config, How::default()).expect("trained");
            let model = Neural::new("model".to_owned(), Model::load(&place.output()).expect("a model"));
            evaluate(&model, &judged, &EvaluateOptions::default()).mean.get(Metric::Ndcg(1))
        });
        assert!(right > wrong + 0.15, "{:?}: {right}, shuffled {wrong}", config.encoder);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_any_number_of_threads() {
    let rows = log_rows(700, 2);
    let all = [
        wide(OptimizerKind::Nesterov),
        TrainConfig { negatives: Negatives::All, ..wide(OptimizerKind::Adam) },
        TrainConfig { shared_towers: true, negative_source: NegativeSource::Uniform, ..wide(OptimizerKind::Sgd) },
        TrainConfig { loss: NCE, ..wide(OptimizerKind::Nesterov) },
        TrainConfig { loss: NCE, negatives: Negatives::All, ..wide(OptimizerKind::Adam) },
        TrainConfig {
            encoder: EncoderConfig::Clsm(ClsmConfig {
                window: 3,
                convolution: 9,
                hidden: vec![],
                semantic: 6,
                bias: true,
            }),
            ..wide(OptimizerKind::Nesterov)
        },
    ];
    for config in all {
        let place = Place::new(&rows);
        let run = |config: &TrainConfig, threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| place.train(config, How::default()).map(drop)).expect("trained");
            place.model()
        };
        let one = run(&config, 1);
        assert!(one == run(&config, 1), "{config:?}: again");
        assert!(one == run(&config, 2), "{config:?}: two threads");
        assert!(one == run(&config, 3), "{config:?}: three threads");
        let other = TrainConfig { seed: 2, ..config.clone() };
        assert!(one != run(&other, 1), "{config:?}: another seed");
    }
}

#[test]
fn noise_contrastive_estimation_learns_to_rank() {
    let place = Place::new(&log_rows(240, 1));
    let judged = judgments(1);
    for (negatives, negative_source) in [
        (Negatives::Sampled(4), NegativeSource::Minibatch),
        (Negatives::Sampled(4), NegativeSource::Uniform),
        (Negatives::All, NegativeSource::Minibatch),
    ] {
        let base = small(OptimizerKind::Adam);
        let config = TrainConfig { loss: NCE, negatives, negative_source, epochs: 12, ..base };
        let how = How { validation: Some(&judged), ..How::default() };
        let events = place.train(&config, how).expect("trained");
        let (first, last) = (epochs(&events)[0], epochs(&events)[11]);
        assert!(last.loss < 0.5 * first.loss, "{config:?}: {} {}", first.loss, last.loss);
        let ndcg = |report: &EpochReport| {
            let score = report.validation.as_ref().expect("validated");
            score.figure("ndcg@1").expect("metrics")
        };
        assert!(ndcg(last) > ndcg(first) + 0.3, "{config:?}: {} {}", ndcg(first), ndcg(last));
        let model = Model::load(&place.output()).expect("a model");
        assert_eq!(model.training().config.loss.kind, LossKind::Nce);
        // A model of one loss can begin with one of the other.
        let rows = log_rows(240, 2);
        let options = TrainOptions { init: Some(&model), ..TrainOptions::default() };
        let softmax = TrainConfig { loss: small(OptimizerKind::Adam).loss, epochs: 1, ..config };
        let outcome = train(&softmax, ClickSource::pairs(pairs_of(&rows)), options, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(outcome, Ok(Ended::Finished(_))));
    }
}

#[test]
fn looking_changes_nothing() {
    let place = Place::new(&log_rows(240, 3));
    let judged = judgments(3);
    for optimizer in [OptimizerKind::Nesterov, OptimizerKind::Adam, OptimizerKind::Sgd] {
        let config = small(optimizer);
        place.train(&config, How::default()).expect("trained");
        let bytes = place.model();
        place.train(&config, How { checkpoint_every: Some(3), ..How::default() }).expect("trained");
        assert!(bytes == place.model(), "{optimizer:?}: with checkpoints");
        place.train(&config, How { validation: Some(&judged), ..How::default() }).expect("trained");
        assert!(bytes == place.model(), "{optimizer:?}: with validation");
    }
}

#[test]
fn a_column_of_ones_is_no_column() {
    let rows = log_rows(120, 4);
    let with = |column: &str, value: &str| {
        let mut lines = rows.lines();
        let header = format!("{}\t{column}\n", lines.next().expect("a header"));
        header + &lines.map(|line| format!("{line}\t{value}\n")).collect::<String>()
    };
    let weights = |rows: &str, weighting| {
        let place = Place::new(rows);
        place.train(&TrainConfig { weighting, ..small(OptimizerKind::Adam) }, How::default()).expect("trained");
        let model = Model::load(&place.output()).expect("a model");
        [Side::Query, Side::Title].map(|side| model.encoder(side).tensors().to_vec())
    };
    let plain = weights(&rows, Weighting::Log);
    assert!(plain == weights(&with("weight", "1"), Weighting::Log));
    assert!(plain == weights(&with("count", "1"), Weighting::Linear));
    assert!(plain == weights(&with("count", "7"), Weighting::None));
    assert!(plain != weights(&with("count", "1"), Weighting::Log), "ln 2");
    assert!(plain != weights(&with("weight", "3"), Weighting::Log));
}

#[test]
fn a_weight_of_zero_leaves_a_pair_without_say() {
    let config = TrainConfig { batch_size: 4, epochs: 1, ..small(OptimizerKind::Sgd) };
    let rows = |weight: &str| {
        format!("query\ttitle\tweight\nred shoe\tboots\t1\nhose\tspray\t1\nlamp\tbulb\t1\npaint\troller\t{weight}\n")
    };
    let loss = |weight: &str| {
        let events = Place::new(&rows(weight)).train(&config, How::default()).expect("trained");
        epochs(&events)[0].loss
    };
    let (none, one, two) = (loss("0"), loss("1"), loss("2"));
    // One minibatch of four pairs, measured before its update: the mean is linear in the weight.
    assert!(none < one && ((two - one) - (one - none)).abs() < 1e-6 * one, "{none} {one} {two}");
}

#[test]
fn patience_stops_early_and_says_so() {
    let place = Place::new(&log_rows(120, 5));
    let judged = judgments(5);
    let how = How { validation: Some(&judged), ..How::default() };
    // A learning rate at which nothing moves, so no epoch is better than the first.
    for (optimizer, cut) in [(OptimizerKind::Adam, false), (OptimizerKind::Nesterov, true)] {
        for keep in [Keep::Best, Keep::Last] {
            let config = TrainConfig { learning_rate: 1e-12, epochs: 9, patience: Some(2), keep, ..small(optimizer) };
            let events = place.train(&config, how).expect("trained");
            assert_eq!(epochs(&events).len(), 3);
            let stop = Event::StoppedEarly { epoch: 3, best: 1, schedule_cut: cut };
            assert!(events.contains(&stop), "{optimizer:?}");
            let kept = if keep == Keep::Best { 1 } else { 3 };
            assert_eq!(Model::load(&place.output()).expect("a model").training().epoch, kept);
            let marks: Vec<bool> = epochs(&events).iter().map(|report| report.kept).collect();
            assert_eq!(marks, [true, keep == Keep::Last, keep == Keep::Last]);
        }
    }
}

#[test]
fn a_finished_run_is_not_run_again() {
    let judged = judgments(5);
    let best = TrainConfig { keep: Keep::Best, ..small(OptimizerKind::Adam) };
    let patient = TrainConfig { learning_rate: 1e-12, epochs: 9, patience: Some(1), ..small(OptimizerKind::Adam) };
    for (config, validation) in [(small(OptimizerKind::Adam), None), (best, Some(&judged)), (patient, Some(&judged))] {
        let place = Place::new(&log_rows(120, 5));
        let how = How { validation, resume: true, ..How::default() };
        place.train(&config, how).expect("trained");
        let bytes = place.model();
        let mut events = Vec::new();
        let written = place.train_with(&config, how, &mut |event| events.push(event.clone())).expect("nothing to do");
        assert!(epochs(&events).is_empty() && written.already && bytes == place.model(), "{config:?}");
        let other = TrainConfig { seed: 77, ..config };
        let refused = place.train(&other, how).expect_err("another run is not resumed").to_string();
        assert!(refused.contains("the run to resume (seed 1), found seed 77;") && bytes == place.model(), "{refused}");
        let written = place.train_with(&other, How { resume: false, ..how }, &mut |_| ()).expect("trained");
        assert!(!written.already, "anew");
    }
}

#[test]
fn one_pair_has_no_negatives_and_trains_all_the_same() {
    let place = Place::new("query\ttitle\nred shoe\tboots of leather\n");
    for negatives in [Negatives::Sampled(4), Negatives::All] {
        for shared_towers in [false, true] {
            let config = TrainConfig { negatives, shared_towers, ..small(OptimizerKind::Nesterov) };
            let events = place.train(&config, How::default()).expect("trained");
            for report in epochs(&events) {
                assert_eq!((report.loss, report.without_negatives), (0.0, 1));
            }
            let model = Model::load(&place.output()).expect("a model");
            assert!(model.embedder(Side::Query).embed(&["red shoe"]).iter().any(|&x| x != 0.0));
        }
    }
}

#[test]
fn a_minibatch_larger_than_the_log() {
    let place = Place::new(&log_rows(50, 6));
    let config = TrainConfig { batch_size: 1 << 40, ..small(OptimizerKind::Adam) };
    let events = place.train(&config, How::default()).expect("trained");
    let minibatches = events.iter().filter(|event| matches!(event, Event::Minibatch { minibatches: 1, pairs: 50, .. }));
    assert_eq!(minibatches.count(), 3);
}

#[test]
fn an_empty_validation_set_does_no_harm() {
    let place = Place::new(&log_rows(50, 6));
    let nothing = clickvec_eval::Judgments::default();
    let how = How { validation: Some(&nothing), checkpoint_every: Some(1), resume: true, ..How::default() };
    let config = TrainConfig { keep: Keep::Best, ..small(OptimizerKind::Adam) };
    place.interrupt(&config, how, 4);
    place.train(&config, how).expect("resumed");
}

fn diverged(error: Error) -> (u32, u64, f32, Option<(std::path::PathBuf, u32)>) {
    assert_eq!(error.kind(), ErrorKind::NotFinite, "{error}");
    let shown = error.to_string();
    let after = |name: &str| -> Option<&str> { shown.split_once(name)?.1.split([',', ';']).next() };
    let number = |name: &str| after(name).and_then(|number| number.parse().ok()).expect(name);
    let rate = after("with learning rate ").and_then(|rate| rate.parse().ok()).expect("a learning rate");
    let model = after("is in ").map(|path| (path.into(), number("the last good model, of epoch ") as u32));
    (number("infinite in epoch ") as u32, number("minibatch "), rate, model)
}

#[test]
fn a_number_that_is_none_stops_training_and_leaves_what_was_there() {
    let place = Place::new(&log_rows(120, 7));
    std::fs::write(place.output(), b"what was here").expect("written");
    for optimizer in [OptimizerKind::Adam, OptimizerKind::Sgd, OptimizerKind::Nesterov] {
        let config = TrainConfig { learning_rate: 3e38, clip_norm: None, ..small(optimizer) };
        let (epoch, minibatch, learning_rate, model) =
            diverged(place.train(&config, How::default()).expect_err("no number stands that"));
        assert_eq!((epoch, learning_rate, model), (1, 3e38, None));
        assert!((2..=3).contains(&minibatch), "{minibatch}");
        assert_eq!(place.model(), b"what was here");
    }
}

/// With one minibatch in an epoch, the update that makes the weights NaN comes between two epochs.
#[test]
fn the_last_good_model_is_left() {
    // Epoch 1 is fine, but its update ruins the weights, so no model with them may be kept.
    let ruin = TrainConfig { batch_size: 200, learning_rate: 3e38, clip_norm: None, ..small(OptimizerKind::Adam) };
    for epochs in [1, 3] {
        let place = Place::new(&log_rows(120, 7));
        std::fs::write(place.output(), b"what was here").expect("written");
        let config = TrainConfig { epochs, ..ruin.clone() };
        match place.train(&config, How::default()) {
            // Adam's first step is the learning rate itself: 3e38 is still a number.
            Ok(_) => drop(Model::load(&place.output()).expect("what is written can be read")),
            Err(error) => {
                let (.., model) = diverged(error);
                if let Some((path, _)) = model {
                    Model::load(&path).expect("the last good model can be read");
                }
                assert_eq!(place.model(), b"what was here");
            }
        }
    }
    // Weights that overflow in the very last update.
    let place = Place::new(&log_rows(120, 7).replace('\n', "\t1e12\n").replacen("1e12", "weight", 1));
    std::fs::write(place.output(), b"what was here").expect("written");
    let config =
        TrainConfig { batch_size: 200, epochs: 1, learning_rate: 1e30, clip_norm: None, ..small(OptimizerKind::Sgd) };
    let mut learnt = 0;
    let outcome = place.train_with(&config, How::default(), &mut |event| {
        learnt += usize::from(matches!(event, Event::Minibatch { .. }));
    });
    let (epoch, minibatch, _, model) = diverged(outcome.expect_err("infinite weights"));
    assert_eq!(learnt, 1, "its loss and its gradient were numbers");
    assert_eq!((epoch, minibatch, model), (1, 1, None));
    assert_eq!(place.model(), b"what was here");
}

/// Velocities that grow from epoch to epoch: some epochs are good, then one is not.
#[test]
fn the_model_of_the_last_good_epoch_is_left_beside_the_output() {
    let config =
        TrainConfig { batch_size: 200, epochs: 40, learning_rate: 3e37, clip_norm: None, ..small(OptimizerKind::Adam) };
    for occupied in [false, true] {
        let place = Place::new(&log_rows(120, 7));
        if occupied {
            std::fs::write(place.output(), b"what was here").expect("written");
        }
        let mut good = 0;
        let outcome = place.train_with(&config, How::default(), &mut |event| {
            good = if let Event::Epoch(report) = event { report.epoch } else { good };
        });
        let (epoch, minibatch, _, model) = diverged(outcome.expect_err("no number stands that"));
        assert!(good > 0, "the first epoch was to be good");
        assert_eq!((epoch, minibatch), (good + 1, 1));
        let (path, of) = model.expect("a model was left");
        assert_eq!((Model::load(&path).expect("readable").training().epoch, of), (good, good));
        assert_eq!(path, place.beside(".partial"));
        match occupied {
            true => assert_eq!(place.model(), b"what was here"),
            // A file at the output would be taken for a finished model.
            false => assert!(!place.output().exists()),
        }
    }
}

#[test]
fn settings_that_are_none_are_refused_before_the_log_is_read() {
    let place = Place { folder: tempfile::tempdir().expect("a folder") };
    let base = small(OptimizerKind::Adam);
    for config in [
        TrainConfig { loss: LossConfig { gamma: f32::NAN, ..base.loss }, ..base.clone() },
        TrainConfig { learning_rate: 0.0, ..base.clone() },
        TrainConfig { clip_norm: Some(-1.0), ..base.clone() },
        TrainConfig { batch_size: 0, ..base.clone() },
        TrainConfig { epochs: 0, ..base.clone() },
        TrainConfig { max_words: 0, ..base.clone() },
        TrainConfig { max_trigrams: 0, ..base.clone() },
        TrainConfig { negatives: Negatives::Sampled(0), ..base.clone() },
        TrainConfig { negatives: Negatives::All, negative_source: NegativeSource::Uniform, ..base.clone() },
        TrainConfig { keep: Keep::Best, ..base.clone() },
        TrainConfig { patience: Some(3), ..base.clone() },
        TrainConfig { encoder: EncoderConfig::Rnn(RnnConfig { hidden: 0 }), ..base.clone() },
        TrainConfig { encoder: EncoderConfig::Rnn(RnnConfig { hidden: usize::MAX }), ..base.clone() },
        TrainConfig { encoder: EncoderConfig::Dssm(DssmConfig { layers: vec![] }), ..base.clone() },
        TrainConfig {
            encoder: EncoderConfig::Clsm(ClsmConfig {
                window: 2,
                convolution: 4,
                hidden: vec![],
                semantic: 4,
                bias: true,
            }),
            ..base.clone()
        },
        TrainConfig {
            encoder: EncoderConfig::Rnn(RnnConfig { hidden: 4 }),
            bptt: clickvec::encoder::Bptt { words: None, signals: clickvec::encoder::Signals::PerGate },
            ..base.clone()
        },
        TrainConfig {
            encoder: EncoderConfig::Dssm(DssmConfig { layers: vec![4] }),
            bptt: clickvec::encoder::Bptt { words: Some(3), ..Default::default() },
            ..base.clone()
        },
    ] {
        let error = place.train(&config, How::default()).expect_err("refused");
        assert!(error.kind() == ErrorKind::Setting, "{error}");
    }
    let error = place.train(&base, How::default()).expect_err("there is no log");
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
}

/// The pairs of [`log_rows`], one by one.
fn pairs_of(rows: &str) -> Vec<(String, String, f32)> {
    let pair = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        (
            fields[0].to_owned(),
            fields[1].to_owned(),
            fields.get(2).map_or(1.0, |weight| weight.parse().expect("a number")),
        )
    };
    rows.lines().skip(1).map(pair).collect()
}

fn go_on(_: &Event) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn pairs_from_memory_make_the_model_that_a_file_makes() {
    let rows = log_rows(240, 1);
    let place = Place::new(&rows);
    for config in [
        small(OptimizerKind::Nesterov),
        TrainConfig { negative_source: NegativeSource::Uniform, shared_towers: true, ..small(OptimizerKind::Adam) },
    ] {
        place.train(&config, How::default()).expect("trained");
        let pairs = pairs_of(&rows);
        let borrowed = pairs.iter().map(|(query, title, weight)| (query, title, *weight));
        let model = train(&config, ClickSource::pairs(borrowed), TrainOptions::default(), &mut go_on).expect("trained");
        let model = model.finished().expect("nobody broke off");
        let other = place.folder.path().join("other");
        model.save(&other).expect("written");
        assert!(std::fs::read(&other).expect("read") == place.model(), "{config:?}");
        assert_eq!(Model::load(&other).expect("a model").fingerprint(), model.fingerprint());
        // To a file, and with a folder for temporary files.
        let output = Output { path: &other, checkpoint_every: Some(3), resume: false };
        let options = TrainOptions { scratch: Some(place.folder.path()), ..TrainOptions::default() };
        let written = train_to_file(&config, ClickSource::pairs(pairs), &output, options, &mut go_on).expect("trained");
        assert_eq!(written.finished().expect("finished").fingerprint, model.fingerprint());
        assert!(std::fs::read(&other).expect("read") == place.model());
    }
}

#[test]
fn a_pair_that_cannot_be_had_ends_the_run_with_its_number() {
    let config = small(OptimizerKind::Adam);
    let pair = |weight| ("red shoe".to_owned(), "a red shoe".to_owned(), weight);
    for weight in [f32::NAN, f32::INFINITY, -1.0, 3e38] {
        let pairs = [pair(1.0), pair(weight)];
        let error =
            train(&config, ClickSource::pairs(pairs), TrainOptions::default(), &mut go_on).map(drop).unwrap_err();
        assert!(error.to_string().starts_with("pair 2: expected a weight from 0 to 1e12, found "), "{error}");
    }
    let pairs = [Ok(pair(1.0)), Err("the cursor was closed")];
    let error = train(&config, ClickSource::results(pairs), TrainOptions::default(), &mut go_on).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "pair 2: the cursor was closed");
    let none: [(&str, &str, f32); 0] = [];
    let error = train(&config, ClickSource::pairs(none), TrainOptions::default(), &mut go_on).map(drop).unwrap_err();
    assert!(error.to_string().starts_with("pairs from memory: expected pairs of a query and a title"), "{error}");
}

#[test]
fn a_training_in_memory_can_be_cancelled_and_keeps_the_best_epoch() {
    let rows = log_rows(240, 1);
    let mut minibatches = 0;
    let mut stop = |event: &Event| {
        minibatches += usize::from(matches!(event, Event::Minibatch { .. }));
        if minibatches == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let config = TrainConfig { keep: Keep::Best, ..small(OptimizerKind::Adam) };
    let judge = &mut |_: &Model| Score { value: 0.0, ..Score::default() };
    let options = TrainOptions {
        validation: Some(Validation { fingerprint: 1, is_worse: |_, _| true, judge }),
        ..TrainOptions::default()
    };
    let outcome = train(&config, ClickSource::pairs(pairs_of(&rows)), options, &mut stop).expect("no fault");
    assert!(matches!(outcome, Ended::Cancelled));
    assert_eq!(minibatches, 3);
    // Any number may be the score: here the second epoch is the best, and NaN is the worst.
    let mut scores = [f64::NAN, 1.0, f64::NEG_INFINITY].into_iter();
    let judge = &mut |model: &Model| {
        assert!(!model.fingerprint().is_empty(), "a model is whole");
        Score { value: scores.next().expect("three epochs"), ..Score::default() }
    };
    let options = TrainOptions {
        validation: Some(Validation { fingerprint: 1, is_worse: |_, _| true, judge }),
        ..TrainOptions::default()
    };
    let outcome = train(&config, ClickSource::pairs(pairs_of(&rows)), options, &mut go_on).expect("trained");
    assert_eq!(outcome.finished().expect("finished").training().epoch, 2);
}

#[test]
fn a_later_epoch_is_kept_unless_it_is_worse_than_the_best() {
    let rows = log_rows(240, 1);
    let always: IsWorse = |_, _| true;
    for (is_worse, kept) in [(always, 2), (|best, later| later[0][0] < best[0][0] - 0.01, 4)] {
        let mut scores = [0.5, 0.7, 0.68, 0.695, 0.685].into_iter();
        let judge = &mut |_: &Model| {
            let value = scores.next().expect("five epochs");
            Score { value, queries: vec![vec![value]], ..Score::default() }
        };
        let validation = Validation { fingerprint: 1, is_worse, judge };
        let config = TrainConfig { keep: Keep::Best, epochs: 5, ..small(OptimizerKind::Adam) };
        let options = TrainOptions { validation: Some(validation), ..TrainOptions::default() };
        let mut marks = Vec::new();
        let mut mark = |event: &Event| {
            marks.extend(if let Event::Epoch(report) = event { Some(report.kept) } else { None });
            ControlFlow::Continue(())
        };
        let outcome = train(&config, ClickSource::pairs(pairs_of(&rows)), options, &mut mark).expect("trained");
        assert_eq!(outcome.finished().expect("finished").training().epoch, kept);
        assert_eq!(marks, [true, true, false, kept == 4, false]);
    }
}

/// Refused before anything is read: the log does not even exist.
#[test]
fn an_output_that_can_only_be_a_folder_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["new/", "new/.", ".", "no/model"] {
        let path = folder.path().join(name);
        let output = Output { path: &path, checkpoint_every: None, resume: false };
        let clicks = ClickSource::file(Path::new("/nonexistent"));
        let outcome = train_to_file(&TrainConfig::default(), clicks, &output, TrainOptions::default(), &mut go_on);
        assert!(matches!(outcome.expect_err("refused").kind(), ErrorKind::Mismatch | ErrorKind::Io), "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0);
}

//! An interrupted run continues to the same bytes as an undisturbed one, or says why it cannot.

use super::support::*;
use clickvec::encoder::{Bptt, EncoderConfig, InitRange, Peephole, RnnConfig};
use clickvec::model::Model;
use clickvec::train::OptimizerKind;
use clickvec::train::{Event, Keep, Outcome as Ended, TrainConfig};
use clickvec::train::{LossConfig, LossKind, Views};
use clickvec::train::{NegativeSource, Negatives, Tail, Weighting};
use clickvec_tables::ErrorKind;
use std::ops::ControlFlow;

/// 240 pairs in minibatches of 40, three epochs: 18 updates.
const UPDATES: usize = 18;

fn resume(validation: Option<&clickvec_eval::Judgments>) -> How<'_> {
    How { validation, checkpoint_every: Some(4), resume: true, ..How::default() }
}

fn resumed_at(events: &[Event]) -> Option<(u32, u64)> {
    events.iter().find_map(|event| match event {
        Event::Resumed { epoch, minibatch, .. } => Some((*epoch, *minibatch)),
        _ => None,
    })
}

#[test]
fn an_interrupted_run_ends_with_the_same_bytes() {
    interrupted_runs_end_alike(&[small(OptimizerKind::Nesterov)]);
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn an_interrupted_run_of_any_settings_ends_with_the_same_bytes() {
    let nesterov = small(OptimizerKind::Nesterov);
    let bilstm = EncoderConfig::Bilstm(lstm(4, true, Peephole::Full));
    interrupted_runs_end_alike(&[
        small(OptimizerKind::Adam),
        small(OptimizerKind::Sgd),
        TrainConfig { loss: NCE, ..small(OptimizerKind::Adam) },
        TrainConfig { shared_towers: true, encoder: bilstm, ..nesterov.clone() },
        TrainConfig { shared_towers: true, negative_source: NegativeSource::Uniform, ..small(OptimizerKind::Adam) },
        TrainConfig { keep: Keep::Best, patience: Some(1), ..nesterov },
        // The first epoch is the best, so it must survive the interruption.
        TrainConfig { keep: Keep::Best, patience: Some(2), learning_rate: 1e-12, ..small(OptimizerKind::Adam) },
    ]);
}

/// Interrupts runs of these settings at many moments and lets them go on.
fn interrupted_runs_end_alike(configs: &[TrainConfig]) {
    let judged = judgments(1);
    for config in configs {
        let validation = (config.keep == Keep::Best).then_some(&judged);
        let whole = Place::new(&log_rows(240, 1));
        whole.train(config, How { validation, ..How::default() }).expect("trained");
        let bytes = whole.model();
        for after in [1, 4, 5, 6, 7, 12, 13, 17, UPDATES] {
            let place = Place::new(&log_rows(240, 1));
            place.interrupt(config, resume(validation), after);
            let events = place.train(config, resume(validation)).expect("resumed");
            assert_eq!(resumed_at(&events).is_some(), after > 4, "after {after}");
            assert!(bytes == place.model(), "{config:?}: interrupted after {after}");
            assert!(!place.beside(".checkpoint").exists() && !place.beside(".partial").exists());
        }
        // Interrupted at the end of each epoch, repeatedly in one run, and with other intervals.
        let place = Place::new(&log_rows(240, 1));
        for epoch in 1..=3 {
            place.interrupt_at(
                config,
                resume(validation),
                |_, event| matches!(event, Event::Epoch(report) if report.epoch == epoch),
            );
        }
        let how = How { checkpoint_every: Some(1), ..resume(validation) };
        let events = place.train(config, how).expect("resumed");
        assert_eq!(resumed_at(&events), Some((4, 0)));
        assert!(bytes == place.model(), "{config:?}: after every epoch");
        let place = Place::new(&log_rows(240, 1));
        for done in [2, 3, 3, 4] {
            place.interrupt(config, how, done);
        }
        let events = place.train(config, How { checkpoint_every: None, ..how }).expect("resumed");
        // The interrupted minibatch itself was not written: 1 + 2 + 2 + 3 are done.
        assert_eq!(resumed_at(&events), Some((2, 2)));
        assert!(bytes == place.model(), "{config:?}: four times");
    }
}

/// Killed after the model was moved to its place and before the checkpoint was removed.
#[test]
fn a_run_that_was_killed_while_it_tidied_up_is_finished() {
    let judged = judgments(1);
    for keep in [Keep::Last, Keep::Best] {
        let config = TrainConfig { keep, ..small(OptimizerKind::Adam) };
        let place = Place::new(&log_rows(240, 1));
        let how = resume(Some(&judged));
        place.interrupt_at(&config, how, |_, event| matches!(event, Event::Epoch(report) if report.epoch == 3));
        let checkpoint = std::fs::read(place.beside(".checkpoint")).expect("a checkpoint");
        place.train(&config, how).expect("resumed");
        let bytes = place.model();
        std::fs::write(place.beside(".checkpoint"), checkpoint).expect("written");
        let written = place.train_with(&config, how, &mut |_| ()).expect("finished");
        assert_eq!(
            (written.already, written.epoch),
            (true, Model::load(&place.output()).expect("a model").training().epoch)
        );
        assert!(bytes == place.model());
        assert!(!place.beside(".checkpoint").exists(), "tidied up");
    }
}

/// A run that starts anew must not leave the earlier checkpoint to be resumed from, because the kept model next to it
/// no longer belongs to it.
#[test]
fn a_new_run_forgets_the_old_checkpoint() {
    let judged = judgments(1);
    let config = TrainConfig { keep: Keep::Best, ..small(OptimizerKind::Adam) };
    let whole = Place::new(&log_rows(240, 1));
    whole.train(&config, How { validation: Some(&judged), ..How::default() }).expect("trained");
    let place = Place::new(&log_rows(240, 1));
    let how = resume(Some(&judged));
    place.interrupt_at(&config, how, |_, event| matches!(event, Event::Epoch(report) if report.epoch == 3));
    let anew = How { checkpoint_every: None, resume: false, ..how };
    place.interrupt_at(&config, anew, |_, event| matches!(event, Event::Epoch(report) if report.epoch == 1));
    let events = place.train(&config, how).expect("trained");
    assert_eq!(resumed_at(&events), None);
    assert!(whole.model() == place.model());
}

/// Until the first epoch is finished, no model is next to the checkpoint, and what is at the output may be of another run.
#[test]
fn a_run_that_is_stopped_in_its_first_epoch_goes_on_although_an_earlier_model_is_there() {
    let config = small(OptimizerKind::Adam);
    let whole = Place::new(&log_rows(240, 1));
    whole.train(&config, How::default()).expect("trained");
    let place = Place::new(&log_rows(240, 1));
    place.train(&TrainConfig { seed: 7, ..config.clone() }, How::default()).expect("trained");
    let earlier = place.model();
    // Without a checkpoint, the earlier model is not replaced.
    let error = place.train(&config, resume(None)).expect_err("refused");
    assert!(error.path() == Some(&place.output()), "{error}");
    place.interrupt(&config, How { resume: false, ..resume(None) }, 5);
    assert!(place.beside(".checkpoint").exists() && !place.beside(".partial").exists());
    assert!(earlier == place.model());
    // Other settings are told from the checkpoint, not from the earlier model.
    let error = place.train(&TrainConfig { seed: 8, ..config.clone() }, resume(None)).expect_err("refused");
    assert!(error.path() == Some(&place.beside(".checkpoint")), "{error}");
    let events = place.train(&config, resume(None)).expect("resumed");
    assert_eq!(resumed_at(&events), Some((1, 4)));
    assert!(whole.model() == place.model());
}

/// A place with a checkpoint of `config` in it.
fn interrupted(config: &TrainConfig, how: How<'_>) -> Place {
    let place = Place::new(&log_rows(240, 1));
    place.interrupt(config, how, 11);
    assert!(place.beside(".checkpoint").exists());
    place
}

fn refused(place: &Place, config: &TrainConfig, how: How<'_>) -> String {
    let before = std::fs::read(place.beside(".checkpoint")).expect("a checkpoint");
    let error = place.train(config, how).expect_err("refused");
    assert!(before == std::fs::read(place.beside(".checkpoint")).expect("still there"));
    assert!(!place.output().exists());
    assert_eq!((error.kind(), error.path()), (ErrorKind::Mismatch, Some(&*place.beside(".checkpoint"))));
    error.message()
}

#[test]
fn every_changed_setting_is_named() {
    let judged = judgments(1);
    let how = resume(Some(&judged));
    let base = TrainConfig { keep: Keep::Best, patience: Some(5), ..small(OptimizerKind::Nesterov) };
    let mut rows = String::from("query\ttitle\tbody\n");
    for row in log_rows(240, 1).lines().skip(1) {
        rows += &format!("{row}\t{row}\n");
    }
    let place = Place::new(&rows);
    place.interrupt(&base, how, 11);
    let changed = [
        ("encoder", TrainConfig { encoder: EncoderConfig::Rnn(RnnConfig { hidden: 6 }), ..base.clone() }),
        ("encoder.cells", TrainConfig { encoder: EncoderConfig::Lstm(lstm(7, false, Peephole::None)), ..base.clone() }),
        ("shared_towers", TrainConfig { shared_towers: true, ..base.clone() }),
        ("batch_size", TrainConfig { batch_size: 41, ..base.clone() }),
        ("negatives", TrainConfig { negatives: Negatives::All, ..base.clone() }),
        ("negatives", TrainConfig { negatives: Negatives::Sampled(5), ..base.clone() }),
        ("negative_source", TrainConfig { negative_source: NegativeSource::Uniform, ..base.clone() }),
        ("loss.kind", TrainConfig { loss: LossConfig { kind: LossKind::Nce, ..base.loss }, ..base.clone() }),
        ("loss.gamma", TrainConfig { loss: LossConfig { gamma: 5.5, ..base.loss }, ..base.clone() }),
        ("optimizer", TrainConfig { optimizer: OptimizerKind::Adam, ..base.clone() }),
        ("learning_rate", TrainConfig { learning_rate: base.learning_rate.next_up(), ..base.clone() }),
        ("clip_norm", TrainConfig { clip_norm: None, ..base.clone() }),
        ("bptt.words", TrainConfig { bptt: Bptt { words: Some(3), ..Bptt::default() }, ..base.clone() }),
        ("init_range", TrainConfig { init_range: InitRange::Uniform(0.1), ..base.clone() }),
        ("field", TrainConfig { field: "body".to_owned(), ..base.clone() }),
        ("augment.drop", TrainConfig { augment: Views { drop: 0.5, ..Views::NONE }, ..base.clone() }),
        ("held_out", TrainConfig { held_out: 0.1, ..base.clone() }),
        ("weighting", TrainConfig { weighting: Weighting::Linear, ..base.clone() }),
        ("epochs", TrainConfig { epochs: 4, ..base.clone() }),
        ("keep", TrainConfig { keep: Keep::Last, ..base.clone() }),
        ("patience", TrainConfig { patience: None, ..base.clone() }),
        ("max_words", TrainConfig { max_words: 63, ..base.clone() }),
        ("tail", TrainConfig { tail: Tail::Merge, ..base.clone() }),
        ("max_trigrams", TrainConfig { max_trigrams: 199_999, ..base.clone() }),
        ("word_count", TrainConfig { word_count: Some(3), ..base.clone() }),
        ("seed", TrainConfig { seed: 2, ..base.clone() }),
    ];
    let fields = serde_json::to_value(&base).expect("JSON");
    for field in fields.as_object().expect("an object").keys() {
        let is_tried = changed.iter().any(|(name, _)| name.split('.').next() == Some(field.as_str()));
        assert!(is_tried, "`{field}` is not tried here");
    }
    for (name, config) in changed {
        let message = refused(&place, &config, how);
        let start = format!("expected the settings of the run to resume ({name} ");
        assert!(message.starts_with(&start) && !message.contains(", found , "), "{name}: {message}");
    }
    place.train(&base, how).expect("the same settings go on");
}

#[test]
fn other_data_is_refused() {
    let (judged, other) = (judgments(1), judgments(2));
    let how = resume(Some(&judged));
    for config in [
        TrainConfig { keep: Keep::Best, ..small(OptimizerKind::Adam) },
        TrainConfig { patience: Some(9), ..small(OptimizerKind::Adam) },
    ] {
        let place = interrupted(&config, how);
        let fault = refused(&place, &config, resume(Some(&other)));
        assert!(fault.starts_with("expected the validation set of the run to resume (fingerprint "), "{fault}");
    }
    // If it only observes, it may be another one.
    let config = small(OptimizerKind::Adam);
    let place = interrupted(&config, how);
    place.train(&config, resume(Some(&other))).expect("resumed");
    let place = interrupted(&config, how);
    let rows = log_rows(240, 1);
    for (changed, differs) in [
        (log_rows(240, 2), "words of queries"),
        (log_rows(241, 1), "pairs"),
        (rows.replacen("red", "rad", 1), "fingerprint"),
        (format!("{rows}broken\n"), "skipped lines"),
    ] {
        std::fs::write(place.clicks(), changed).expect("written");
        let message = refused(&place, &config, how);
        assert!(message.starts_with("expected the click log of the run to resume ("), "{message}");
        assert_eq!(message.matches(&format!("{differs} ")).count(), 2, "{message}");
    }
    std::fs::write(place.clicks(), rows.replace('\n', "\t7\n").replacen("title\t7", "title\tday", 1)).expect("written");
    place.train(&config, how).expect("a column that training does not see changes nothing");
}

#[test]
fn a_kept_model_that_is_gone_is_an_error() {
    let judged = judgments(1);
    let how = resume(Some(&judged));
    let config = TrainConfig { keep: Keep::Best, ..small(OptimizerKind::Adam) };
    let place = interrupted(&config, how);
    std::fs::remove_file(place.beside(".partial")).expect("there");
    let fault = refused(&place, &config, how);
    assert!(fault.starts_with("the model of epoch 1, the best so far, is not at "), "{fault}");
}

/// The kept model becomes the output, so a damaged one, or one of another run, must be refused.
#[test]
fn a_kept_model_that_is_damaged_or_of_another_run_is_an_error() {
    let judged = judgments(1);
    let how = resume(Some(&judged));
    let config = TrainConfig { keep: Keep::Best, ..small(OptimizerKind::Adam) };
    let whole = Place::new(&log_rows(240, 1));
    whole.train(&config, how).expect("trained");
    let good = whole.model();
    let place = interrupted(&config, how);
    let (partial, kept) = (place.beside(".partial"), std::fs::read(place.beside(".partial")).expect("read"));
    // A file that was there before, and must stay.
    std::fs::write(place.output(), &good).expect("written");
    let refused = |bytes: &[u8]| {
        std::fs::write(&partial, bytes).expect("written");
        let checkpoint = std::fs::read(place.beside(".checkpoint")).expect("read");
        let error = place.train(&config, how).expect_err("refused");
        assert!(place.model() == good && checkpoint == std::fs::read(place.beside(".checkpoint")).expect("read"));
        assert!(bytes == std::fs::read(&partial).expect("read"), "left as it is, to be looked at");
        error
    };
    for length in [0, 8, kept.len() / 2, kept.len() - 1] {
        assert!(refused(&kept[..length]).path() == Some(&partial), "cut at {length}");
    }
    let mut flipped = kept.clone();
    flipped[kept.len() - 5] ^= 1;
    assert_eq!(refused(&flipped).path(), Some(&*partial));
    // The settings of this command are right, so it is the file that is named.
    let rnn = EncoderConfig::Rnn(RnnConfig { hidden: 6 });
    for (other, log, says) in [
        (TrainConfig { encoder: rnn, ..config.clone() }, 1, "another run (encoder"),
        (TrainConfig { seed: 2, ..config.clone() }, 1, "another run (seed 2);"),
        (TrainConfig { epochs: 1, ..config.clone() }, 1, "another run (epochs 1);"),
        (config.clone(), 2, "another run (of a click log with "),
    ] {
        let elsewhere = Place::new(&log_rows(240, log));
        elsewhere.train(&other, how).expect("trained");
        let error = refused(&elsewhere.model());
        let is_named = error.path() == Some(&partial);
        assert!(is_named && error.to_string().contains(says), "{error}");
    }
    // A kill between the two writes leaves the model of a later epoch than the checkpoint's. That epoch is repeated.
    let later = interrupted(&config, how);
    std::fs::write(later.beside(".partial"), &good).expect("written");
    later.train(&config, how).expect("it goes on");
    assert!(later.model() == good);
    std::fs::write(&partial, &kept).expect("written");
    std::fs::remove_file(place.output()).expect("there");
    place.train(&config, how).expect("the undamaged one goes on");
    assert!(place.model() == good);
}

/// A model of an earlier epoch than the checkpoint's would take the place of the one that the run was to keep.
#[test]
fn a_model_of_an_earlier_epoch_is_refused() {
    let config = small(OptimizerKind::Nesterov);
    let how = How { checkpoint_every: Some(4), ..resume(None) };
    let place = Place::new(&log_rows(240, 1));
    let partial = place.beside(".partial");
    let mut earlier = Vec::new();
    let outcome = place.train_watched(&config, how, &mut |event| match event {
        Event::Epoch(report) if report.epoch == 1 => {
            earlier = std::fs::read(&partial).expect("the first epoch's");
            ControlFlow::Continue(())
        }
        Event::Epoch(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert_eq!(outcome.expect("no fault"), Ended::Cancelled);
    std::fs::write(&partial, &earlier).expect("written");
    match place.train(&config, how) {
        Err(error) => {
            assert!(
                error
                    .to_string()
                    .contains("expected the model of epoch 2, which the checkpoint continues, found epoch 1")
            );
            assert_eq!(error.path(), Some(&*partial));
        }
        other => panic!("{:?}", other.map(|events| events.len())),
    }
    assert!(!place.output().exists() && std::fs::read(&partial).expect("still there") == earlier);
}

/// The files next to the output of a run are as private as what it will replace.
#[test]
#[cfg(unix)]
fn what_lies_beside_the_output_has_its_readers() {
    use std::os::unix::fs::PermissionsExt;
    let config = small(OptimizerKind::Nesterov);
    let how = How { checkpoint_every: Some(4), ..resume(None) };
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    for private in [0o600, 0o640] {
        let place = Place::new(&log_rows(240, 1));
        let (partial, checkpoint) = (place.beside(".partial"), place.beside(".checkpoint"));
        std::fs::write(place.output(), "what was here").expect("written");
        std::fs::set_permissions(place.output(), PermissionsExt::from_mode(private)).expect("its owner may");
        // One that an earlier run left for all to read.
        std::fs::write(&partial, "left").expect("written");
        std::fs::set_permissions(&partial, PermissionsExt::from_mode(0o644)).expect("its owner may");
        let mut epochs = 0;
        let outcome = place.train_watched(&config, how, &mut |event| {
            if let Event::Epoch(_) = event {
                assert_eq!((mode(&partial), mode(&checkpoint)), (private, private));
                epochs += 1;
            }
            ControlFlow::Continue(())
        });
        assert!(matches!(outcome, Ok(Ended::Finished(_))) && epochs > 0);
        assert_eq!(mode(&place.output()), private);
    }
    // Without a model there, they are as the new model will be.
    let place = Place::new(&log_rows(240, 1));
    std::fs::write(place.beside(".new"), "").expect("written");
    let usual = mode(&place.beside(".new"));
    let mut modes = Vec::new();
    let outcome = place.train_watched(&config, how, &mut |event| {
        if let Event::Epoch(_) = event {
            modes.extend([mode(&place.beside(".partial")), mode(&place.beside(".checkpoint"))]);
        }
        ControlFlow::Continue(())
    });
    assert!(matches!(outcome, Ok(Ended::Finished(_))));
    assert!(!modes.is_empty() && modes.iter().all(|&mode| mode == usual), "{modes:?}");
    assert_eq!(mode(&place.output()), usual);
}

/// A row of a table that claims an update after the checkpoint's.
#[test]
fn a_row_of_a_later_update_is_named() {
    let config = small(OptimizerKind::Nesterov);
    let place = interrupted(&config, resume(None));
    let mut bytes = std::fs::read(place.beside(".checkpoint")).expect("read");
    let header = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes")) as usize;
    let json: serde_json::Value = serde_json::from_slice(&bytes[8..8 + header]).expect("JSON");
    let begin = json["query.current.0"]["data_offsets"][0].as_u64().expect("an offset") as usize;
    // Row 3.
    bytes[8 + header + begin + 24..][..8].copy_from_slice(&99u64.to_le_bytes());
    std::fs::write(place.beside(".checkpoint"), bytes).expect("written");
    let Err(fault) = place.train(&config, resume(None)) else { panic!("accepted") };
    assert!(fault.to_string().contains("row 3 of `query.current.0` to be of update 8 or before, found 99"), "{fault}");
    assert!(fault.to_string().contains("start the training over"), "{fault}");
}

/// Wherever a run is cancelled, the earlier output stays, and the run continues to the same bytes.
#[test]
fn a_cancelled_run_goes_on_to_the_same_bytes() {
    let judged = judgments(1);
    let config = TrainConfig { keep: Keep::Best, patience: Some(3), ..small(OptimizerKind::Nesterov) };
    let how = How { checkpoint_every: Some(4), ..resume(Some(&judged)) };
    let whole = Place::new(&log_rows(240, 1));
    let events = whole.train(&config, how).expect("trained").len();
    let place = Place::new(&log_rows(240, 1));
    let mut cancelled = 0;
    loop {
        // Each time two events further than before.
        let mut left = 3;
        let outcome = place.train_watched(&config, how, &mut |event| {
            left -= i32::from(!matches!(event, Event::Reading { .. }));
            // The epoch that ends with the current minibatch is still reported.
            assert!(left >= 0 || matches!(event, Event::Epoch(_)), "{event:?} after the last one");
            if left <= 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match outcome.expect("no fault") {
            Ended::Finished(written) => {
                assert!(!written.already);
                break;
            }
            Ended::Cancelled => cancelled += 1,
        }
        assert!(!place.output().exists());
        assert!(cancelled <= 2 * events, "it gets nowhere");
    }
    assert!(cancelled > 10, "{cancelled}");
    assert!(place.model() == whole.model());
    assert_eq!(place.names(), ["clicks.tsv", "model.safetensors"]);
    // While the log is read, before anything is written.
    let outcome = place.train_watched(&config, How { resume: false, ..how }, &mut |_| ControlFlow::Break(()));
    assert_eq!(outcome.expect("no fault"), Ended::Cancelled);
    assert!(place.model() == whole.model());
    assert_eq!(place.names(), ["clicks.tsv", "model.safetensors"]);
}

#[test]
fn a_damaged_checkpoint_is_an_error() {
    let config = small(OptimizerKind::Nesterov);
    let place = interrupted(&config, resume(None));
    let (path, good) = (place.beside(".checkpoint"), std::fs::read(place.beside(".checkpoint")).expect("read"));
    let fault = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("written");
        match place.train(&config, resume(None)) {
            Ok(_) => String::new(),
            Err(fault) if fault.kind() == ErrorKind::Mismatch => "another run".to_owned(),
            Err(fault) => fault.to_string(),
        }
    };
    for length in [0, 1, 7, 8, 9, 100, good.len() / 2, good.len() - 1] {
        assert!(fault(&good[..length]).contains("expected a safetensors file, found"), "cut at {length}");
    }
    // A changed byte anywhere in the numbers must be found, since a run must not continue from other weights.
    let header = u64::from_le_bytes(good[..8].try_into().expect("8 bytes")) as usize;
    for place in (8 + header..good.len()).step_by(good.len() / 40) {
        let mut bytes = good.clone();
        bytes[place] ^= 1;
        assert!(!fault(&bytes).is_empty(), "byte {place} was changed");
    }
    // Positions in the data that no run can have.
    for (from, to) in [
        (r#"\"minibatch\":2,"#, r#"\"minibatch\":9,"#),
        (r#"\"epoch\":1,"#, r#"\"epoch\":2,"#),
        (r#"\"updates\":8"#, r#"\"updates\":9"#),
    ] {
        let text = String::from_utf8_lossy(&good[8..8 + header]).into_owned();
        assert!(text.contains(from), "{text}");
        let mut bytes = good.clone();
        bytes[8..8 + header].copy_from_slice(text.replacen(from, to, 1).as_bytes());
        assert!(fault(&bytes).contains("counts of epochs and minibatches"), "{to}");
    }
    std::fs::write(&path, &good).expect("written");
    place.train(&config, resume(None)).expect("the undamaged one is fine");
}

#[test]
fn a_model_is_no_checkpoint_and_a_checkpoint_no_model() {
    let config = small(OptimizerKind::Adam);
    let place = interrupted(&config, resume(None));
    let Err(fault) = Model::load(&place.beside(".checkpoint")) else { panic!("no model") };
    assert!(fault.to_string().contains("expected a model, found a `checkpoint`"), "{fault}");
    std::fs::copy(place.beside(".partial"), place.beside(".checkpoint")).expect("copied");
    let Err(fault) = place.train(&config, resume(None)) else { panic!("no checkpoint") };
    assert!(fault.to_string().contains("expected a checkpoint, found a `model`"), "{fault}");
}

//! Training on titles, before clicks or without any, on changed queries, and starting from a model's weights.

use super::support::*;
use clickvec::encoder::{EncoderConfig, InitRange, MembersConfig, Peephole};
use clickvec::model::Model;
use clickvec::tables::Titles;
use clickvec::train::OptimizerKind;
use clickvec::train::Views;
use clickvec::train::{ClickSource, Negatives, Section};
use clickvec::train::{Event, Keep, Score, TitleConfig, TrainConfig, TrainOptions, Validation, train};
use std::ops::ControlFlow;

const VIEWS: Views = Views { few: 0.5, drop: 0.3, swap: 0.1, misspell: 0.3 };

/// 120 titles in minibatches of 25, two epochs: 10 updates; then clicks.
fn config(optimizer: OptimizerKind) -> TrainConfig {
    let titles =
        TitleConfig { epochs: 2, batch_size: 25, gamma: 8.0, learning_rate: 0.01, views: VIEWS, among_clicks: 0.0 };
    TrainConfig { titles: Some(titles), augment: VIEWS, ..small(optimizer) }
}

/// 120 titles and, if `pairs` is not 0, a log.
fn place(pairs: usize) -> Place {
    let place = Place::new(&log_rows(pairs, 1));
    if pairs == 0 {
        std::fs::remove_file(place.clicks()).expect("removed");
    }
    std::fs::write(place.titles(), title_rows(120, 1)).expect("written");
    place
}

fn sections(events: &[Event]) -> Vec<(Section, u32)> {
    let epoch = |event: &Event| match event {
        Event::Epoch(report) => Some((report.section, report.epoch)),
        _ => None,
    };
    events.iter().filter_map(epoch).collect()
}

#[test]
fn titles_come_first_and_clicks_after() {
    let (whole, alone) = (place(240), place(0));
    let events = whole.train(&config(OptimizerKind::Adam), How::default()).expect("trained");
    let (titles, clicks) = (Section::Titles, Section::Clicks);
    assert_eq!(sections(&events), [(titles, 1), (titles, 2), (clicks, 1), (clicks, 2), (clicks, 3)]);
    let model = Model::load(&whole.output()).expect("a model");
    assert_eq!((model.training().epoch, model.training().updates), (5, 2 * 5 + 3 * 6));
    assert_eq!(model.training().log.titles.titles, 120);
    let events = alone.train(&config(OptimizerKind::Adam), How::default()).expect("trained");
    assert_eq!(sections(&events), [(titles, 1), (titles, 2)]);
    let losses: Vec<f64> = events
        .iter()
        .filter_map(|event| if let Event::Epoch(report) = event { Some(report.loss) } else { None })
        .collect();
    assert!(losses[1] < losses[0], "{losses:?}");
}

#[test]
fn the_same_bytes_at_any_number_of_threads() {
    let mixed = |optimizer| {
        let mut config = config(optimizer);
        config.titles.as_mut().expect("titles").among_clicks = 0.3;
        config
    };
    for (config, pairs) in [
        (config(OptimizerKind::Adam), 0),
        (mixed(OptimizerKind::Nesterov), 240),
        (TrainConfig { shared_towers: true, ..mixed(OptimizerKind::Adam) }, 240),
        (TrainConfig { loss: NCE, negatives: Negatives::All, ..mixed(OptimizerKind::Adam) }, 240),
    ] {
        let place = place(pairs);
        let run = |config: &TrainConfig, threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| place.train(config, How::default()).map(drop)).expect("trained");
            place.model()
        };
        let one = run(&config, 1);
        assert!(one == run(&config, 3), "{config:?}");
        assert!(one != run(&TrainConfig { seed: 2, ..config.clone() }, 1), "another seed");
        let mut plain = config.clone();
        plain.titles.as_mut().expect("titles").views = Views::NONE;
        assert!(one != run(&plain, 1), "the views count");
    }
}

#[test]
fn an_interrupted_run_ends_with_the_same_bytes() {
    interrupted_runs_end_alike(vec![(TrainConfig { shared_towers: true, ..config(OptimizerKind::Adam) }, 240, 28)]);
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn an_interrupted_run_of_any_settings_ends_with_the_same_bytes() {
    let mut mixed = members(2, OptimizerKind::Adam);
    mixed.titles.as_mut().expect("titles").among_clicks = 1.0;
    let nesterov = (config(OptimizerKind::Nesterov), 240, 28);
    interrupted_runs_end_alike(vec![(mixed, 240, 37), nesterov, (config(OptimizerKind::Adam), 0, 10)]);
}

/// Interrupts runs of these settings, pairs and updates at many moments and lets them go on.
fn interrupted_runs_end_alike(runs: Vec<(TrainConfig, usize, usize)>) {
    for (config, pairs, updates) in runs {
        let whole = place(pairs);
        whole.train(&config, How::default()).expect("trained");
        let bytes = whole.model();
        let how = How { checkpoint_every: Some(3), resume: true, ..How::default() };
        for after in [2, 4, 5, 6, 9, 10, 11, 14, 16, 27, 28].into_iter().filter(|&after| after <= updates) {
            let place = place(pairs);
            place.interrupt(&config, how, after);
            place.train(&config, how).expect("resumed");
            assert!(bytes == place.model(), "{config:?}: interrupted after {after}");
        }
        let place = place(pairs);
        for epoch in 1..=2 {
            place.interrupt_at(&config, how, |_, event| {
                matches!(event, Event::Epoch(report) if report.epoch == epoch && report.section == Section::Titles)
            });
        }
        place.train(&config, how).expect("resumed");
        assert!(bytes == place.model(), "{config:?}: between the two");
        assert!(place.train_with(&config, how, &mut |_| ()).expect("finished before").already);
    }
}

#[test]
fn a_run_with_other_titles_does_not_resume() {
    let place = place(240);
    let how = How { checkpoint_every: Some(2), resume: true, ..How::default() };
    let config = config(OptimizerKind::Adam);
    place.interrupt(&config, how, 5);
    std::fs::write(place.titles(), title_rows(120, 2)).expect("written");
    let found = place.train(&config, how);
    refused_for(found, "the click log of the run to resume");
    let mut other = config.clone();
    other.titles.as_mut().expect("titles").gamma = 9.0;
    let found = place.train(&other, how).map_err(|error| error.to_string());
    assert!(found.as_ref().is_err_and(|error| error.contains("titles")), "{found:?}");
}

#[test]
fn what_there_is_to_learn_from_and_the_settings_agree() {
    let clicks_alone = small(OptimizerKind::Adam);
    let error = place(0).train(&clicks_alone, How::default()).expect_err("refused").to_string();
    assert_eq!(error, "titles: expected settings and titles, or neither, found 1 files of titles");
    let go_on = &mut |_: &Event| std::ops::ControlFlow::Continue(());
    let nothing = clickvec::train::train(&clicks_alone, ClickSource::none(), TrainOptions::default(), go_on);
    assert!(nothing.is_err_and(|error| error.to_string().starts_with("clicks: expected clicks, titles or both")));
    let mut config = config(OptimizerKind::Adam);
    config.augment.drop = 2.0;
    let error = place(240).train(&config, How::default()).expect_err("refused").to_string();
    assert_eq!(error, "augment.drop: expected a number from 0 to 1, found 2");
    let empty = place(0);
    std::fs::write(empty.titles(), "id\ttitle\n1\t!!\n").expect("written");
    let found = empty.train(&TrainConfig { augment: Views::NONE, ..config }, How::default());
    let error = found.expect_err("refused").to_string();
    assert!(error.contains("expected titles with words, found none"), "{error}");
}

#[test]
fn a_model_to_begin_with_keeps_its_weights() {
    for shared_towers in [true, false] {
        let place = place(240);
        let config = TrainConfig { shared_towers, init_range: InitRange::Uniform(0.01), ..config(OptimizerKind::Adam) };
        place.train(&config, How::default()).expect("trained");
        std::fs::rename(place.output(), place.init()).expect("renamed");
        let before = Model::load(&place.init()).expect("a model");
        std::fs::remove_file(place.titles()).expect("removed");
        let rows = log_rows(240, 1).replace("sink", "washbasin");
        std::fs::write(place.clicks(), rows).expect("written");
        // Steps so small that nothing moves.
        let still = TrainConfig { titles: None, learning_rate: 1e-20, epochs: 1, ..config.clone() };
        place.train(&still, How::default()).expect("trained");
        let after = Model::load(&place.output()).expect("a model");
        let (old, new) = (before.dictionary().len(), after.dictionary().len());
        assert!(new > old, "{new} trigrams after {old}");
        assert_eq!(after.dictionary().trigrams()[..old], before.dictionary().trigrams()[..]);
        assert_eq!(after.training().init.as_deref(), Some(before.fingerprint()));
        for side in [clickvec::model::Side::Query, clickvec::model::Side::Title] {
            let tensors = before.encoder(side).tensors().iter().zip(after.encoder(side).tensors());
            for (before, after) in tensors {
                let (before, after) = (before.value.data(), after.value.data());
                assert_eq!(before, &after[..before.len()]);
                let added = &after[before.len()..];
                assert!(added.iter().all(|x| x.abs() <= 0.01) && (added.is_empty() || added.iter().any(|&x| x != 0.0)));
            }
        }
    }
}

#[test]
fn a_model_to_begin_with_must_fit() {
    let place = place(240);
    let config = TrainConfig { shared_towers: false, ..config(OptimizerKind::Adam) };
    place.train(&config, How::default()).expect("trained");
    std::fs::rename(place.output(), place.init()).expect("renamed");
    let larger = TrainConfig { encoder: EncoderConfig::Lstm(lstm(7, false, Peephole::None)), ..config.clone() };
    let error = refused_for(place.train(&larger, How::default()), "an initial model of the encoder ");
    assert!(error.contains("cells=7") && error.contains("cells=6"), "{error}");
    let shared = TrainConfig { shared_towers: true, ..config.clone() };
    refused_for(place.train(&shared, How::default()), "an initial model with one tower");
    // After an interruption it continues only with the same initial model.
    let whole = {
        place.train(&config, How::default()).expect("trained");
        place.model()
    };
    std::fs::remove_file(place.output()).expect("removed");
    let how = How { checkpoint_every: Some(2), resume: true, ..How::default() };
    place.interrupt(&config, how, 7);
    place.train(&config, how).expect("resumed");
    assert!(whole == place.model());
    // With another initial model it does not.
    let other = Place::new(&log_rows(240, 1));
    std::fs::copy(place.titles(), other.titles()).expect("copied");
    std::fs::copy(place.init(), other.init()).expect("copied");
    other.interrupt(&config, how, 7);
    std::fs::copy(place.output(), other.init()).expect("copied");
    let found = other.train(&config, how);
    refused_for(found, "the initial model of the run to resume");
}

fn members(members: usize, optimizer: OptimizerKind) -> TrainConfig {
    let encoder = EncoderConfig::Members(MembersConfig::new(members, lstm(5, false, Peephole::None), None));
    TrainConfig { encoder, ..config(optimizer) }
}

#[test]
fn members_know_nothing_of_each_other() {
    for shared_towers in [true, false] {
        let tensors = |count: usize| {
            let place = place(240);
            place
                .train(&TrainConfig { shared_towers, ..members(count, OptimizerKind::Adam) }, How::default())
                .expect("trained");
            let model = Model::load(&place.output()).expect("a model");
            assert_eq!(model.dimension(), 5 * count);
            model.encoder(clickvec::model::Side::Title).tensors().to_vec()
        };
        let (two, three) = (tensors(2), tensors(3));
        assert_eq!(two[..], three[..two.len()], "a third changes nothing in the first two");
        let each = two.len() / 2;
        assert_ne!(two[0].value, two[each].value, "other weights");
    }
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn members_go_on_after_a_kill_and_learn_the_same_at_any_number_of_threads() {
    let judged = judgments(1);
    for optimizer in [OptimizerKind::Adam, OptimizerKind::Nesterov] {
        let config = TrainConfig { keep: Keep::Best, ..members(3, optimizer) };
        let how = How { validation: Some(&judged), checkpoint_every: Some(3), resume: true, ..How::default() };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            let place = place(240);
            pool.install(|| place.train(&config, how).map(drop)).expect("trained");
            place.model()
        };
        let whole = run(1);
        assert!(whole == run(4), "four threads");
        for after in [5, 9, 10, 12, 20] {
            let place = place(240);
            place.interrupt(&config, how, after);
            place.train(&config, how).expect("resumed");
            assert!(whole == place.model(), "{optimizer:?}: interrupted after {after}");
        }
    }
}

#[test]
fn a_model_of_members_is_one_to_begin_with() {
    let place = place(240);
    let config = TrainConfig { init_range: InitRange::Uniform(0.01), ..members(2, OptimizerKind::Adam) };
    place.train(&config, How::default()).expect("trained");
    std::fs::rename(place.output(), place.init()).expect("renamed");
    let before = Model::load(&place.init()).expect("a model");
    let still = TrainConfig { learning_rate: 1e-20, epochs: 1, titles: None, ..config };
    std::fs::remove_file(place.titles()).expect("removed");
    place.train(&still, How::default()).expect("trained");
    let after = Model::load(&place.output()).expect("a model");
    let side = clickvec::model::Side::Query;
    for (before, after) in before.encoder(side).tensors().iter().zip(after.encoder(side).tensors()) {
        assert_eq!(before.value.data(), &after.value.data()[..before.value.data().len()]);
    }
}

#[test]
fn titles_that_were_learnt_before_are_not_learnt_again() {
    let place = place(240);
    let titles = [Titles::from(&place.titles())];
    for optimizer in [OptimizerKind::Adam, OptimizerKind::Nesterov] {
        let config = TrainConfig { augment: Views::NONE, ..config(optimizer) };
        let run = |config: &TrainConfig, after_titles: Option<&Model>| {
            let (mut at_titles, mut events) = (None, Vec::new());
            let mut judge = |model: &Model| {
                if model.training().epoch == 2 {
                    at_titles = Some(model.clone());
                }
                Score { value: 0.0, ..Score::default() }
            };
            let options = TrainOptions {
                titles: &titles,
                validation: Some(Validation { fingerprint: 1, is_worse: |_, _| true, judge: &mut judge }),
                after_titles,
                ..TrainOptions::default()
            };
            let outcome = train(config, ClickSource::file(&place.clicks()), options, &mut |event| {
                events.push(event.clone());
                ControlFlow::Continue(())
            });
            outcome.map(|outcome| (outcome.finished().expect("nobody breaks off"), at_titles, sections(&events)))
        };
        let (whole, at_titles, _) = run(&config, None).expect("trained");
        let at_titles = at_titles.expect("a model after the titles");
        let clicks = Section::Clicks;
        let (later, none, learnt) = run(&config, Some(&at_titles)).expect("trained");
        assert_eq!((learnt, none.is_none()), (vec![(clicks, 1), (clicks, 2), (clicks, 3)], true));
        assert_eq!(later.fingerprint(), whole.fingerprint());
        assert_eq!(later.training(), whole.training());
        // Another model, and one of other settings, are not what this run would have learnt.
        let other =
            TrainConfig { titles: config.titles.map(|titles| TitleConfig { gamma: 9.0, ..titles }), ..config.clone() };
        refused_for(run(&config, Some(&whole)), "a model after ");
        let message = run(&other, Some(&at_titles)).err().expect("another setting").to_string();
        assert!(
            message.contains("with the settings of this run (titles.gamma 9), found one with titles.gamma "),
            "{message}"
        );
    }
}

//! Queries that are held out of the clicks, to judge the model by.

use super::support::*;
use clickvec::internals::rng;
use clickvec::model::{Model, Side};
use clickvec::train::{Event, HeldOut, HeldOutQuery, Keep, LossKind, OptimizerKind, TrainConfig};
use clickvec_eval::ranker::{Neural, Ranker};
use clickvec_eval::{Contest, HeldOutTest, Standing};
use rand::RngExt as _;

/// So many queries, each with two titles of its topic.
fn rows(queries: usize) -> String {
    let mut stream = rng::stream(1, "held out", 0);
    let mut rows = String::from("query\ttitle\n");
    for query in 0..queries {
        let topic = TOPICS[query % TOPICS.len()];
        for _ in 0..2 {
            let mut word = || topic[stream.random_range(0..topic.len())];
            let (a, b, c) = (word(), word(), word());
            rows.push_str(&format!("{} no{query}\t{a} {b} {c} {}\n", topic[0], query / 3));
        }
    }
    rows
}

fn config() -> TrainConfig {
    TrainConfig { held_out: 0.1, keep: Keep::Best, ..small(OptimizerKind::Adam) }
}

fn held_out(events: &[Event]) -> HeldOut {
    let held_out = |event: &Event| if let Event::HeldOut(held_out) = event { Some(held_out.clone()) } else { None };
    events.iter().find_map(held_out).expect("what is held out")
}

/// The value of each epoch by which one is chosen.
fn values(events: &[Event]) -> Vec<f64> {
    let value = |event: &Event| match event {
        Event::Epoch(report) => report.validation.as_ref().map(|score| score.value),
        _ => None,
    };
    events.iter().filter_map(value).collect()
}

fn report(place: &Place, events: &[Event]) -> Contest {
    let model = Model::load(&place.output()).expect("a model");
    HeldOutTest::new(held_out(events))
        .expect("memory")
        .report(&Neural::new("model".to_owned(), model), &HeldOutTest::BASELINES)
        .expect("a report")
}

#[test]
fn held_out_queries_choose_the_epoch_and_judge_the_model() {
    let place = Place::new(&rows(1200));
    let events = place.train(&config(), How::default()).expect("trained");
    let held = held_out(&events);
    assert_eq!((held.queries.len(), held.counts.of_queries, held.counts.pairs), (120, 1200, 240));
    assert_eq!(held.titles.len() as u64, held.counts.of_titles);
    let values = values(&events);
    assert_eq!(values.len(), 3);
    let best = values.iter().copied().fold(0.0, f64::max);
    let report = report(&place, &events);
    let names: Vec<&str> = report.systems.iter().map(|system| system.name.as_str()).collect();
    assert_eq!(names, ["model", "BM25", "letter trigrams"]);
    let value = |system: &Standing| system.mean.get(HeldOutTest::DECIDES);
    assert_eq!(value(&report.systems[0]), best, "that of the best epoch");
    for (test, system) in report.tests.iter().zip(&report.systems[1..]) {
        assert_eq!((&*test.a, &test.b, test.metric), ("model", &system.name, HeldOutTest::DECIDES));
        let difference = best - value(system);
        assert!((test.test.difference - difference).abs() < 1e-12 && test.holm >= test.test.p, "{test:?}");
    }
    let model = Model::load(&place.output()).expect("a model");
    let epoch = 1 + values.iter().position(|&value| value == best).expect("the best") as u32;
    let record = model.training();
    assert_eq!((record.epoch, record.log.pairs, record.log.held_out), (epoch, 2160, 240));
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn the_same_bytes_at_any_number_of_threads_and_through_kills() {
    let how = How { checkpoint_every: Some(7), resume: true, ..How::default() };
    let run = |threads: usize| {
        let place = Place::new(&rows(1200));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let events = pool.install(|| place.train(&config(), how)).expect("trained");
        (place.model(), report(&place, &events))
    };
    let whole = run(1);
    assert!(whole == run(3), "three threads");
    for after in [10, 54, 60, 130] {
        let place = Place::new(&rows(1200));
        place.interrupt(&config(), how, after);
        let events = place.train(&config(), how).expect("resumed");
        assert!(whole == (place.model(), report(&place, &events)), "interrupted after {after}");
    }
    let place = Place::new(&rows(1200));
    place.interrupt(&config(), how, 20);
    let other = TrainConfig { held_out: 0.2, ..config() };
    refused_for(place.train(&other, how), "the settings of the run to resume (held_out ");
}

#[test]
fn a_small_log_is_learnt_whole_and_its_last_epoch_kept() {
    let place = Place::new(&rows(500));
    let events = place.train(&config(), How::default()).expect("trained");
    let held = held_out(&events);
    assert_eq!((held.queries.len(), held.counts.of_queries, values(&events).len()), (0, 500, 0));
    let model = Model::load(&place.output()).expect("a model");
    assert_eq!((model.training().epoch, model.training().log.pairs), (3, 1000));
    let vectors = |config: &TrainConfig| {
        place.train(config, How::default()).expect("trained");
        Model::load(&place.output()).expect("a model").embedder(Side::Query).embed(&["red shoe", "garden no7"])
    };
    assert_eq!(vectors(&config()), vectors(&small(OptimizerKind::Adam)));
}

#[test]
fn settings_without_sense_are_refused() {
    let fault = |config: &TrainConfig| {
        let pairs = clickvec::train::ClickSource::pairs([("a", "b", 1.0)]);
        match clickvec::train::train(config, pairs, Default::default(), &mut |_| std::ops::ControlFlow::Continue(())) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("accepted"),
        }
    };
    for wrong in [-0.1, 0.6, f32::NAN] {
        let found = fault(&TrainConfig { held_out: wrong, ..config() });
        assert!(found.starts_with("held_out: expected a number from 0 to 0.5, found"), "{found}");
    }
    let found = fault(&TrainConfig { keep: Keep::Last, ..config() });
    assert!(found.starts_with("held_out: expected a validation"), "{found}");
}

/// A ranker whose scores are given.
struct Given(fn(&str, &str) -> f64);

impl Ranker for Given {
    fn name(&self) -> &str {
        "given"
    }

    fn score(&self, query: &str, titles: &[&str]) -> Vec<f64> {
        titles.iter().map(|title| self.0(query, title)).collect()
    }
}

#[test]
fn the_loss_of_held_out_pairs_is_that_of_training() {
    let titles: Vec<String> = (0..60).map(|title| format!("t{title}")).collect();
    let query = |number: u32| HeldOutQuery {
        text: format!("q{number}"),
        clicked: vec![(number, 1), (number + 20, 1)],
        shown: Vec::new(),
    };
    let held_out = HeldOut { queries: (0..20).map(query).collect(), titles, ..HeldOut::default() };
    let test = HeldOutTest::new(held_out).expect("memory");
    let equal = test.loss(&Given(|_, _| 0.5), LossKind::Softmax, 10.0, 4).expect("negatives");
    // Few of the titles that are drawn were clicked for the query, and are left out: nearly ln(1 + 4).
    assert!(equal < 5f64.ln() && equal > 4.5f64.ln(), "{equal}");
    let right = Given(|query, title| {
        let (query, title): (u32, u32) = (query[1..].parse().unwrap(), title[1..].parse().unwrap());
        f64::from(u8::from(title < 40 && title % 20 == query))
    });
    let found = test.loss(&right, LossKind::Softmax, 10.0, 4).expect("negatives");
    let expected = (equal.exp() - 1.0) * (-10f64).exp();
    assert!((found / expected - 1.0).abs() < 0.05, "{found}, about {expected}");
    let wrong = test.loss(
        &Given(|query, title| {
            let (query, title): (u32, u32) = (query[1..].parse().unwrap(), title[1..].parse().unwrap());
            -f64::from(u8::from(title < 40 && title % 20 == query))
        }),
        LossKind::Softmax,
        10.0,
        4,
    );
    assert!(wrong.is_some_and(|loss| loss > 9.0), "{wrong:?}");
    assert_eq!(test.loss(&right, LossKind::Softmax, 10.0, 4), Some(found), "the same negatives again");
    assert_eq!(test.loss(&right, LossKind::Softmax, 10.0, 0), None);
    let nce = |ranker: &Given, negatives| test.loss(ranker, LossKind::Nce, 10.0, negatives);
    // If all scores are equal, each title is a clicked one with a chance of 1 in 5.
    let of_equal = -(0.2f64.ln() + 4.0 * 0.8f64.ln());
    let found = nce(&Given(|_, _| 0.5), 4).expect("negatives");
    assert!((found - of_equal).abs() < 0.1, "{found}, about {of_equal}");
    let of_right = nce(&right, 4).expect("negatives");
    // At 10 more, c is halfway between: both kinds of fault are as rare.
    assert!(of_right < 0.1 && of_right > 0.01, "{of_right}");
    assert_eq!((nce(&right, 4), nce(&right, 0)), (Some(of_right), None));
}

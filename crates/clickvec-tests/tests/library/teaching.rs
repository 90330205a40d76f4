//! Training with a teacher: vectors of the same texts that another program made.

use super::support::*;
use clickvec::Result;
use clickvec::encoder::{EncoderConfig, MembersConfig, Peephole};
use clickvec::model::{Model, Side};
use clickvec::tables::Titles;
use clickvec::train::{
    Agreement, ClickSource, Event, Negatives, OptimizerKind, Outcome, Score, StartReport, Teacher, TeacherConfig,
    TeacherStart, TitleConfig, TrainConfig, TrainOptions, Validation, Views, train,
};
use clickvec_eval::update::training_config;
use std::ops::ControlFlow;
use std::path::Path;

/// How alike texts are: the angle tells the topic of the first word that has one, and a little more.
fn vector(text: &str) -> [f32; 3] {
    let topic = text.split(' ').find_map(|word| TOPICS.iter().position(|topic| topic.contains(&word)));
    let angle = topic.map_or(0.0, |topic| topic as f32) + 0.1 * (text.len() as f32).sin();
    [3.0 * angle.cos(), 3.0 * angle.sin(), 0.5]
}

/// The texts of a table.
fn texts(path: &Path, column: usize) -> Vec<String> {
    let rows = std::fs::read_to_string(path).expect("a table");
    rows.lines().skip(1).map(|line| line.split('\t').nth(column).expect("a column").to_owned()).collect()
}

/// 120 titles and a log of `pairs`, and a teacher that knows all texts but every `skip`th.
fn place(pairs: usize, skip: usize) -> Place {
    let place = Place::new(&log_rows(pairs, 1));
    std::fs::write(place.titles(), title_rows(120, 1)).expect("written");
    let mut all = [texts(&place.clicks(), 0), texts(&place.clicks(), 1), texts(&place.titles(), 1)].concat();
    all.sort();
    all.dedup();
    let known = all.iter().enumerate().filter(|(number, _)| (number + 1) % skip != 0);
    let lines: String = known
        .map(|(_, text)| {
            let [a, b, c] = vector(text);
            format!("{{\"text\": \"{}\", \"vector\": [{a}, {b}, {c}]}}\n", text.to_uppercase())
        })
        .collect();
    std::fs::write(place.teacher(), lines).expect("written");
    if pairs == 0 {
        std::fs::remove_file(place.clicks()).expect("removed");
    }
    place
}

fn config(optimizer: OptimizerKind, teacher: TeacherConfig) -> TrainConfig {
    let views = Views { few: 0.5, drop: 0.3, swap: 0.1, misspell: 0.3 };
    let titles = TitleConfig { epochs: 2, batch_size: 25, gamma: 8.0, learning_rate: 0.01, views, among_clicks: 0.3 };
    TrainConfig { titles: Some(titles), teacher: Some(teacher), negatives: Negatives::All, ..small(optimizer) }
}

const HALF: TeacherConfig =
    TeacherConfig { gamma: 10.0, titles: 0.5, clicks: 0.5, scores: 0.5, start: TeacherStart::Random, start_share: 0.2 };

const FITTED: TeacherConfig = TeacherConfig { start: TeacherStart::LeastSquares, ..HALF };

fn agreements(events: &[Event]) -> Vec<Agreement> {
    let epoch = |event: &Event| match event {
        Event::Epoch(report) => report.agreement,
        _ => None,
    };
    events.iter().filter_map(epoch).collect()
}

#[test]
fn similarities_are_learnt_without_a_click() {
    let alone = TeacherConfig { titles: 1.0, ..HALF };
    let mut config = config(OptimizerKind::Adam, alone);
    config.titles.as_mut().expect("titles").epochs = 20;
    let place = place(0, usize::MAX);
    let events = place.train(&config, How::default()).expect("trained");
    let found = agreements(&events);
    let (first, last) = (found[0], found[found.len() - 1]);
    assert_eq!((found.len(), last.queries, last.titles), (20, 24, 96), "each text is on one side");
    assert!(last.spearman > 0.6 && last.spearman > first.spearman + 0.1, "{first:?} {last:?}");
    assert!(last.overlap > first.overlap, "{first:?} {last:?}");
}

/// [`place`] with a teacher of 24 numbers that knows all texts but every `skip`th: sums of the words' vectors.
fn place_of_sums(pairs: usize, skip: usize) -> Place {
    let place = place(pairs, usize::MAX);
    let of_word = |word: &str, number: usize| {
        let hash =
            word.bytes().fold(number as u32 + 1, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        f64::from(hash >> 8) / f64::from(1 << 24) - 0.5
    };
    let titles = texts(&place.titles(), 1);
    let known = titles.iter().enumerate().filter(|(number, _)| (number + 1) % skip != 0);
    let line = |(_, title): (usize, &String)| {
        let number = |number: usize| title.split(' ').map(|word| of_word(word, number)).sum::<f64>().to_string();
        format!("{{\"text\": \"{title}\", \"vector\": [{}]}}\n", (0..24).map(number).collect::<Vec<_>>().join(", "))
    };
    std::fs::write(place.teacher(), known.map(line).collect::<String>()).expect("written");
    place
}

/// What a run of this encoder says of its start, if one is asked for, and how its first epoch, which learns next to nothing, agrees
/// with the teacher.
fn started(place: &Place, encoder: &EncoderConfig, teacher: TeacherConfig) -> (Option<Option<StartReport>>, f64) {
    let shared_towers = matches!(encoder, EncoderConfig::Members(_));
    let mut config = TrainConfig { encoder: encoder.clone(), shared_towers, ..config(OptimizerKind::Adam, teacher) };
    config.titles.as_mut().expect("titles").learning_rate = 1e-9;
    let events = place.train(&config, How::default()).expect("trained");
    let start = events.iter().find_map(|event| match event {
        Event::Start { fitted } => Some(*fitted),
        _ => None,
    });
    (start, agreements(&events)[0].spearman)
}

#[test]
fn weights_that_were_fitted_agree_with_the_teacher_before_anything_is_learnt() {
    // More columns than are solved at a time; as many members' cells as the vectors have numbers, and more.
    let one = EncoderConfig::Lstm(lstm(20, false, Peephole::None));
    let members = |members, cells| {
        let lstm = lstm(cells, false, Peephole::None);
        EncoderConfig::Members(MembersConfig::new(members, lstm, None))
    };
    for encoder in [one, members(2, 12), members(3, 20)] {
        let place = place_of_sums(0, usize::MAX);
        let (none, random) = started(&place, &encoder, HALF);
        assert_eq!(none, None);
        let (start, fitted) = started(&place, &encoder, FITTED);
        let StartReport { titles, explained, .. } = start.flatten().expect("a start");
        assert_eq!(titles, texts(&place.titles(), 1).iter().collect::<std::collections::HashSet<_>>().len() as u64);
        assert!((0.6..1.0).contains(&explained), "{explained}");
        assert!(fitted > 0.8 && fitted > random + 0.3, "{encoder:?}: {fitted}, {random}");
    }
}

#[test]
fn where_the_teacher_says_too_little_weights_are_random() {
    let cells = |cells| EncoderConfig::Lstm(lstm(cells, false, Peephole::None));
    let weights = |place: &Place, encoder: &EncoderConfig, teacher| {
        let start = started(place, encoder, teacher).0;
        (start, Model::load(&place.output()).expect("a model").encoder(Side::Title).tensors().to_vec())
    };
    let few = place_of_sums(0, 1);
    let titles = texts(&few.titles(), 1);
    let known: String = titles[..40]
        .iter()
        .map(|title| format!("{{\"text\": \"{title}\", \"vector\": [1, 0, {}, 2, 1, 3]}}\n", title.len()))
        .collect();
    std::fs::write(few.teacher(), known).expect("written");
    // Titles without a vector; vectors with too few numbers; an encoder that does not add up.
    let gated = EncoderConfig::Lstm(lstm(5, true, Peephole::None));
    for (place, encoder) in [(&few, cells(5)), (&place(0, usize::MAX), cells(7)), (&place(0, usize::MAX), gated)] {
        let (asked, fitted) = weights(place, &encoder, FITTED);
        assert_eq!(asked, Some(None), "{encoder:?}");
        assert_eq!(fitted, weights(place, &encoder, HALF).1, "{encoder:?}");
    }
}

#[test]
fn an_initial_model_has_weights_of_its_own() {
    let place = place_of_sums(240, usize::MAX);
    let fitted = config(OptimizerKind::Adam, FITTED);
    let events = place.train(&fitted, How::default()).expect("trained");
    assert!(events.iter().any(|event| matches!(event, Event::Start { fitted: Some(_) })));
    let init = Model::load(&place.output()).expect("a model");
    let (teacher, titles) = (place.teacher(), [Titles::from(&place.titles())]);
    let options = || TrainOptions {
        init: Some(&init),
        titles: &titles,
        teachers: vec![Teacher::file(&teacher)],
        ..TrainOptions::default()
    };
    let mut asked = false;
    let mut run = |config: &TrainConfig, options| {
        let outcome = train(config, ClickSource::file(&place.clicks()), options, &mut |event| {
            asked |= matches!(event, Event::Start { .. });
            ControlFlow::Continue(())
        });
        let model = outcome.expect("trained").finished().expect("finished");
        model.encoder(Side::Title).tensors().to_vec()
    };
    let learnt = run(&fitted, options());
    // Nothing is kept of the initial model but what goes on learning.
    let share = fitted.teacher.map(|teacher| TeacherConfig { start_share: 0.0, ..teacher });
    assert_eq!(learnt, run(&TrainConfig { teacher: share, ..fitted.clone() }, options()));
    assert!(!asked);
}

#[test]
fn an_update_without_the_teacher_learns_as_many_titles_as_others() {
    let place = place_of_sums(240, usize::MAX);
    for (among_clicks, updated) in
        [(TitleConfig::taught().among_clicks, TitleConfig::default().among_clicks), (0.5, 0.5)]
    {
        let mut config = averaging(0.25);
        config.titles.as_mut().expect("titles").among_clicks = among_clicks;
        place.train(&config, How::default()).expect("trained");
        let model = Model::load(&place.output()).expect("a model");
        let config = training_config(&model, true, None, 0);
        assert_eq!((config.teacher, config.titles.expect("titles").among_clicks), (None, updated));
    }
}

#[test]
fn clicks_keep_what_titles_have_learnt_from_random_weights() {
    let place = place_of_sums(240, usize::MAX);
    let titles = texts(&place.titles(), 1);
    let few = titles[..10].iter().map(|title| format!("{{\"text\": \"{title}\", \"vector\": [1, 0]}}\n"));
    std::fs::write(place.teacher(), few.collect::<String>()).expect("written");
    let weights = |share: f32, epochs: u32| {
        let mut config = averaging(share);
        config.titles.as_mut().expect("titles").epochs = epochs;
        let events = place.train(&config, How::default()).expect("trained");
        assert!(events.iter().any(|event| matches!(event, Event::Start { fitted: None })));
        Model::load(&place.output()).expect("a model").encoder(Side::Title).tensors().to_vec()
    };
    assert_eq!(weights(0.5, 0), weights(0.0, 0), "one stage, from random weights");
    assert_ne!(weights(0.5, 2), weights(0.0, 2), "two");
}

/// A run of members that start from fitted weights, with this share of a stage's first weights in its models.
fn averaging(share: f32) -> TrainConfig {
    let lstm = lstm(5, false, Peephole::None);
    let encoder = EncoderConfig::Members(MembersConfig::new(2, lstm, None));
    let teacher = TeacherConfig { start_share: share, ..FITTED };
    TrainConfig { encoder, shared_towers: true, ..config(OptimizerKind::Adam, teacher) }
}

#[test]
fn a_model_is_the_mean_of_what_a_stage_learnt_and_what_it_began_with() {
    let numbers = |place: &Place, config: &TrainConfig| -> Vec<f32> {
        place.train(config, How::default()).expect("trained");
        let model = Model::load(&place.output()).expect("a model");
        model.encoder(Side::Title).tensors().iter().flat_map(|tensor| tensor.value.data().to_vec()).collect()
    };
    for pairs in [0, 240] {
        let place = place_of_sums(pairs, usize::MAX);
        let still = |mut config: TrainConfig| {
            config.learning_rate = 1e-20;
            config.titles.as_mut().expect("titles").learning_rate = 1e-20;
            config
        };
        let first = numbers(&place, &still(averaging(0.0)));
        // Each stage goes back to the weights that it began with.
        assert_eq!(numbers(&place, &averaging(1.0)), first, "{pairs} pairs");
        // One stage: the titles, or the clicks if no title is learnt before them.
        let one = |share: f32| {
            let mut config = averaging(share);
            if pairs > 0 {
                config.titles.as_mut().expect("titles").epochs = 0;
            }
            numbers(&place, &config)
        };
        let (learnt, mean) = (one(0.0), one(0.25));
        for (mean, (learnt, first)) in mean.iter().zip(learnt.iter().zip(&first)) {
            assert!((mean - (0.75 * learnt + 0.25 * first)).abs() < 1e-6, "{mean}: {learnt} and {first}");
        }
        let moved = learnt.iter().zip(&first).map(|(learnt, first)| (learnt - first).abs()).fold(0.0, f32::max);
        assert!(moved > 0.01, "{moved}");
    }
}

#[test]
fn the_clicks_begin_with_the_mean_of_the_titles() {
    let place = place_of_sums(240, usize::MAX);
    let (teacher, titles) = (place.teacher(), [Titles::from(&place.titles())]);
    let config = averaging(0.25);
    let run = |after_titles: Option<&Model>| {
        let mut at_titles = None;
        let mut judge = |model: &Model| {
            at_titles = (model.training().epoch == 2).then(|| model.clone()).or(at_titles.take());
            Score { value: 0.0, ..Score::default() }
        };
        let options = TrainOptions {
            titles: &titles,
            teachers: vec![Teacher::file(&teacher)],
            validation: Some(Validation { fingerprint: 1, is_worse: |_, _| true, judge: &mut judge }),
            after_titles,
            ..TrainOptions::default()
        };
        let outcome = train(&config, ClickSource::file(&place.clicks()), options, &mut |_| ControlFlow::Continue(()));
        (outcome.expect("trained").finished().expect("finished"), at_titles)
    };
    let (whole, at_titles) = run(None);
    let (later, _) = run(Some(&at_titles.expect("a model after the titles")));
    assert_eq!(later.fingerprint(), whole.fingerprint());
}

#[test]
fn what_it_knows_is_counted_and_what_it_lacks_is_learnt_without_it() {
    let place = place(240, 3);
    let events = place.train(&config(OptimizerKind::Adam, HALF), How::default()).expect("trained");
    let coverage = events.iter().find_map(|event| match event {
        Event::Teacher(coverage) => Some(coverage.clone()),
        _ => None,
    });
    let coverage = coverage.expect("a report");
    assert_eq!(coverage.dimension, 3);
    assert!(0 < coverage.known_queries && coverage.known_queries < coverage.queries, "{coverage:?}");
    assert!(0 < coverage.known_titles && coverage.known_titles < coverage.titles, "{coverage:?}");
}

#[test]
fn a_teacher_without_a_share_changes_no_weight() {
    let place = place(240, usize::MAX);
    let tensors = |config: &TrainConfig| {
        place.train(config, How::default()).expect("trained");
        Model::load(&place.output()).expect("a model").encoder(Side::Title).tensors().to_vec()
    };
    let none = TeacherConfig { titles: 0.0, clicks: 0.0, ..HALF };
    let taught = tensors(&config(OptimizerKind::Adam, none));
    assert_ne!(taught, tensors(&config(OptimizerKind::Adam, HALF)));
    std::fs::remove_file(place.teacher()).expect("removed");
    let alone = TrainConfig { teacher: None, ..config(OptimizerKind::Adam, none) };
    assert_eq!(taught, tensors(&alone));
}

#[test]
#[ignore = "some seconds; .ci/run runs it"]
fn the_same_bytes_at_any_number_of_threads_and_through_kills() {
    let encoder = EncoderConfig::Members(MembersConfig::new(2, lstm(5, false, Peephole::None), None));
    for (config, pairs) in [
        (config(OptimizerKind::Adam, HALF), 0),
        (config(OptimizerKind::Nesterov, HALF), 240),
        (config(OptimizerKind::Adam, FITTED), 0),
        (TrainConfig { shared_towers: true, encoder, ..config(OptimizerKind::Adam, FITTED) }, 240),
    ] {
        let how = How { checkpoint_every: Some(3), resume: true, ..How::default() };
        let is_fitted = config.teacher.is_some_and(|teacher| teacher.start == TeacherStart::LeastSquares);
        let place = || if is_fitted { place_of_sums(pairs, 3) } else { place(pairs, 3) };
        let run = |threads: usize| {
            let place = place();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            let events = pool.install(|| place.train(&config, how)).expect("trained");
            let is_started = events.iter().any(|event| matches!(event, Event::Start { fitted: Some(_) }));
            assert_eq!(is_started, is_fitted, "{config:?}");
            place.model()
        };
        let whole = run(1);
        assert!(whole == run(3), "{config:?}: three threads");
        for after in [2, 4, 5, 6, 14, 20].into_iter().filter(|&after| pairs > 0 || after < 10) {
            let place = place();
            place.interrupt(&config, how, after);
            place.train(&config, how).expect("resumed");
            assert!(whole == place.model(), "{config:?}: interrupted after {after}");
        }
    }
}

#[test]
fn a_run_with_another_teacher_does_not_resume() {
    let place = place(240, 3);
    let config = config(OptimizerKind::Adam, HALF);
    let how = How { checkpoint_every: Some(2), resume: true, ..How::default() };
    place.interrupt(&config, how, 5);
    let vectors = std::fs::read_to_string(place.teacher()).expect("a teacher");
    std::fs::write(place.teacher(), vectors.replacen("0.5]", "0.6]", 1)).expect("written");
    let found = place.train(&config, how);
    refused_for(found, "the teacher of the run to resume");
    let other = TrainConfig { teacher: Some(TeacherConfig { clicks: 0.4, ..HALF }), ..config };
    let found = place.train(&other, how).map_err(|error| error.to_string());
    assert!(found.as_ref().is_err_and(|error| error.contains("teacher")), "{found:?}");
}

/// Trains on a few pairs with these teachers, in memory.
fn taught(teachers: Vec<Teacher<'_>>) -> Result<Model> {
    let pairs = (0..60).map(|i| {
        let topic = TOPICS[i % 6];
        (topic[i % 5].to_owned(), format!("{} {} {}", topic[i % 5], topic[(i + 1) % 5], i % 20), 1.0)
    });
    let config =
        TrainConfig { teacher: Some(HALF), epochs: 2, negatives: Negatives::All, ..small(OptimizerKind::Adam) };
    let options = TrainOptions { teachers, ..TrainOptions::default() };
    let outcome = train(&config, ClickSource::pairs(pairs), options, &mut |_| ControlFlow::Continue(()))?;
    let Outcome::Finished(model) = outcome else { unreachable!("nobody breaks off") };
    Ok(model)
}

#[test]
fn a_teacher_from_memory_is_that_of_a_file() {
    let words: Vec<&str> = TOPICS.concat();
    let vectors = || words.iter().map(|word| (*word, vector(word)));
    let model = taught(vec![Teacher::vectors(vectors())]).expect("trained");
    let folder = tempfile::tempdir().expect("a folder");
    let (npy, json) = (folder.path().join("words.npy"), folder.path().join("words.jsonl"));
    let description = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 3), }}\n", words.len());
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(description.len() as u16).to_le_bytes());
    bytes.extend_from_slice(description.as_bytes());
    vectors().for_each(|(_, vector)| vector.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes())));
    std::fs::write(&npy, bytes).expect("written");
    std::fs::write(npy.with_extension("txt"), words.join("\n")).expect("written");
    let lines = vectors().map(|(text, [a, b, c])| format!("{{\"text\":\"{text}\",\"vector\":[{a},{b},{c}]}}\n"));
    std::fs::write(&json, lines.collect::<String>()).expect("written");
    for path in [&npy, &json] {
        let same = taught(vec![Teacher::file(path)]).expect("trained");
        assert_eq!(same.fingerprint(), model.fingerprint(), "{}", path.display());
    }
    // Two files, and a length of vectors, change nothing either.
    let (first, second): (Vec<_>, Vec<_>) = vectors().partition(|(word, _)| words[..7].contains(word));
    let longer = second.into_iter().map(|(word, vector)| (word, vector.map(|x| 4.0 * x)));
    let both = taught(vec![Teacher::vectors(first), Teacher::vectors(longer)]).expect("trained");
    assert_eq!(both.fingerprint(), model.fingerprint());
    assert!(taught(vec![Teacher::vectors(vectors().take(9))]).expect("trained").fingerprint() != model.fingerprint());
}

#[test]
fn what_is_wrong_with_a_teacher_is_said() {
    let message = |teachers| taught(teachers).map(drop).unwrap_err().to_string();
    let in_memory = |vectors: Vec<(&'static str, Vec<f32>)>| message(vec![Teacher::vectors(vectors)]);
    let not_finite =
        |found: &str| format!("expected finite numbers of 32 bits for `shoe`, found {found}; remove its vector");
    let zero = "expected a number other than 0 in the vector of `shoe`, found none; remove its vector";
    let second = |vector| in_memory(vec![("red", vec![1.0, 2.0]), ("shoe", vector)]);
    let numbers =
        |found: usize| format!("expected a vector of 2 numbers, as the others have, found {found}; mend or remove it");
    assert_eq!(second(vec![1.0]), format!("vectors from memory, vector 2: {}", numbers(1)));
    assert!(second(vec![1.0, f32::NAN]).ends_with(&not_finite("NaN")));
    assert!(second(vec![1.0, f32::INFINITY]).ends_with(&not_finite("inf")));
    assert!(second(vec![0.0, -0.0]).ends_with(zero));
    assert!(in_memory(vec![("red", vec![])]).contains("expected vectors of 1 to 65536 numbers, found 0"));
    let unknown = message(vec![Teacher::vectors([("zebra", [1.0])])]);
    assert_eq!(unknown, "teacher: expected vectors of texts in the training data, found none among the 1 given");
    let two = message(vec![Teacher::vectors([("red", vec![1.0])]), Teacher::vectors([("shoe", vec![1.0, 2.0])])]);
    assert!(two.starts_with("teacher: expected vectors of 1 numbers, as the first file has, found 2"), "{two}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.jsonl");
    let in_file = |lines: &str| {
        std::fs::write(&path, lines).expect("written");
        message(vec![Teacher::file(&path)])
    };
    let one = "{\"text\":\"red\",\"vector\":[1,2]}\n";
    for (lines, expected) in [
        (format!("{one}\n{{\"text\":\"shoe\",\"vector\":[0,0]}}"), format!("t.jsonl:3: {zero}")),
        (format!("{one}{{\"text\":\"shoe\",\"vector\":[0,0,1]}}"), format!("t.jsonl:2: {}", numbers(3))),
        ("shoe inf 1\n".to_owned(), format!("t.jsonl:1: {}", not_finite("inf"))),
        ("{\"text\":\"shoe\",\"vector\":[1e40]}".to_owned(), format!("t.jsonl:1: {}", not_finite("inf"))),
    ] {
        let found = in_file(&lines);
        assert!(found.ends_with(&expected), "{found}");
    }
    for (bad, expected) in [
        ("{\"text\":1}", "a list of numbers in `vector`, found none"),
        ("{\"text\":\"shoe\",\"vector\":\"1\"}", "a list of numbers in `vector`, found a text"),
        ("{\"text\":\"shoe\",\"vector\":[1,null]}", "a list of numbers in `vector`, found null as item 2"),
        ("{\"vector\":[1,2]}", "a text in `text`, found none"),
        ("{\"text\":\"shoe\",\"vector\":[NaN,1]}", "a JSON object, found invalid JSON at column 26"),
    ] {
        let found = in_file(&format!("{one}{bad}"));
        assert!(found.contains(&format!("t.jsonl:2: expected {expected}")), "{found}");
    }
    let failing = Teacher::results([Ok(("red", [1.0])), Err("gone")]);
    assert_eq!(taught(vec![failing]).map(drop).map_err(|error| error.to_string()), Err("vector 2: gone".to_owned()));
}

#[test]
fn a_teacher_and_its_settings_agree() {
    let refused = |config: &TrainConfig, place: &Place, expected: &str| {
        let error = place.train(config, How::default()).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    let (with, without) = (place(240, 3), place(240, 3));
    std::fs::remove_file(without.teacher()).expect("removed");
    let taught = config(OptimizerKind::Adam, HALF);
    refused(&taught, &without, "teacher: expected settings and a teacher, or neither, found 0 teachers");
    refused(&TrainConfig { teacher: None, ..taught.clone() }, &with, "teacher: expected");
    refused(&TrainConfig { negatives: Negatives::Sampled(4), ..taught.clone() }, &with, "negatives: expected `all`");
    refused(&TrainConfig { loss: NCE, ..taught.clone() }, &with, "loss.kind: expected softmax");
    for wrong in [-0.1, 1.1, f32::NAN] {
        for (name, teacher) in [
            ("clicks", TeacherConfig { clicks: wrong, ..HALF }),
            ("scores", TeacherConfig { scores: wrong, ..HALF }),
            ("start_share", TeacherConfig { start_share: wrong, ..HALF }),
            ("titles", TeacherConfig { titles: wrong, ..HALF }),
        ] {
            let config = TrainConfig { teacher: Some(teacher), ..taught.clone() };
            refused(&config, &with, &format!("teacher.{name}: expected a number from 0 to 1, found"));
        }
    }
    let teacher = Some(TeacherConfig { gamma: 0.0, ..HALF });
    refused(&TrainConfig { teacher, ..taught }, &with, "teacher.gamma: expected a number above 0, found 0");
}

//! Training with a teacher's scores of titles for queries.

use super::support::*;
use clickvec::encoder::{EncoderConfig, MembersConfig, Peephole};
use clickvec::model::{Model, Side};
use clickvec::train::{
    ClickSource, Event, Negatives, OptimizerKind, Outcome, Score, ScoreCoverage, Teacher, TeacherConfig, TrainConfig,
    TrainOptions, Validation, train,
};
use std::ops::ControlFlow;

const QUERIES: usize = 30;

fn query(number: usize) -> String {
    let topic = TOPICS[number % 6];
    format!("{} {}", topic[number % 5], topic[(number / 6) % 5])
}

fn title(number: usize) -> String {
    let topic = TOPICS[number % 6];
    format!("{} {} {}", topic[(number / 2) % 5], topic[(number / 3) % 5], number)
}

/// How good the teacher finds a title for a query: 100 times the distance of their topics, around which they lie.
fn score(of_query: usize, of_title: usize) -> f32 {
    let apart = (of_query % 6).abs_diff(of_title % 6);
    -100.0 * apart.min(6 - apart) as f32
}

/// Each query with eight titles.
fn scored() -> impl Iterator<Item = (usize, usize)> {
    (0..QUERIES).flat_map(|query| (0..8).map(move |place| (query, (7 * query + 5 * place) % 60)))
}

fn scores() -> Vec<(String, String, f32)> {
    scored().map(|(of_query, of_title)| (query(of_query), title(of_title), score(of_query, of_title))).collect()
}

fn config(share: f32) -> TrainConfig {
    let teacher = TeacherConfig { scores: share, ..TeacherConfig::default() };
    TrainConfig {
        teacher: Some(teacher),
        negatives: Negatives::All,
        epochs: 30,
        batch_size: 24,
        ..small(OptimizerKind::Adam)
    }
}

fn learnt(config: &TrainConfig, teachers: Vec<Teacher<'_>>) -> (Model, Option<ScoreCoverage>) {
    let pairs = scored().map(|(of_query, of_title)| (query(of_query), title(of_title), 1.0));
    let options = TrainOptions { teachers, ..TrainOptions::default() };
    let mut found = None;
    let outcome = train(config, ClickSource::pairs(pairs), options, &mut |event| {
        if let Event::TeacherScores(coverage) = event {
            found = Some(coverage.clone());
        }
        ControlFlow::Continue(())
    });
    let Outcome::Finished(model) = outcome.expect("trained") else { unreachable!("nobody breaks off") };
    (model, found)
}

/// The correlation of cosines and scores within queries, over the scored pairs. What no score is about is left to whatever
/// fits.
fn agreement(model: &Model) -> f64 {
    let vectors = |side, texts: Vec<String>| model.embedder(side).embed(&texts);
    let of_queries = vectors(Side::Query, scored().map(|(of_query, _)| query(of_query)).collect());
    let of_titles = vectors(Side::Title, scored().map(|(_, of_title)| title(of_title)).collect());
    let rows = of_queries.chunks_exact(model.dimension()).zip(of_titles.chunks_exact(model.dimension()));
    let cosines = rows.map(|(x, y)| x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>());
    let both: Vec<(f64, f64)> =
        cosines.zip(scored()).map(|(x, (of_query, of_title))| (x, f64::from(score(of_query, of_title)))).collect();
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for of_query in both.chunks_exact(8) {
        let mean = |of: fn(&(f64, f64)) -> f64| of_query.iter().map(of).sum::<f64>() / 8.0;
        let (x, y) = (mean(|both| both.0), mean(|both| both.1));
        for (a, b) in of_query {
            xy += (a - x) * (b - y);
            xx += (a - x).powi(2);
            yy += (b - y).powi(2);
        }
    }
    xy / (xx * yy).sqrt()
}

#[test]
fn scores_are_learnt_alone_and_beside_clicks() {
    let (alone, coverage) = learnt(&config(1.0), vec![Teacher::scores(scores())]);
    let coverage = coverage.expect("a report");
    assert_eq!((coverage.scores, coverage.known), (8 * QUERIES as u64, 8 * QUERIES as u64), "{coverage:?}");
    assert!(agreement(&alone) > 0.99, "{}", agreement(&alone));
    let (none, _) = learnt(&config(0.0), vec![Teacher::scores(scores())]);
    let (both, _) = learnt(&config(0.5), vec![Teacher::scores(scores())]);
    assert!(agreement(&both) > agreement(&none) + 0.2, "{} {}", agreement(&both), agreement(&none));
}

#[test]
fn the_same_bytes_at_any_number_of_threads_with_vectors_too() {
    let encoder = EncoderConfig::Members(MembersConfig::new(2, lstm(5, false, Peephole::None), None));
    let words: Vec<&str> = TOPICS.concat();
    let vectors = || words.iter().enumerate().map(|(number, word)| (*word, [(number as f32).sin(), 1.0]));
    let queries = || (0..QUERIES).map(|number| (query(number), [(number as f32).cos(), 1.0]));
    let with_titles = || (0..60).map(|number| (title(number), [(number as f32).sin(), 0.5]));
    for config in [
        TrainConfig { epochs: 2, ..config(0.4) },
        TrainConfig { epochs: 2, shared_towers: true, encoder, ..config(0.4) },
    ] {
        let run = |threads: usize, vectors_too: bool| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| {
                let mut teachers = vec![Teacher::scores(scores())];
                if vectors_too {
                    teachers.push(Teacher::vectors(vectors()));
                    teachers.push(Teacher::vectors(queries()));
                    teachers.push(Teacher::vectors(with_titles()));
                }
                learnt(&config, teachers).0
            })
        };
        let (one, three) = (run(1, true), run(3, true));
        assert_eq!(one.fingerprint(), three.fingerprint());
        let scores_alone = run(2, false);
        assert_ne!(one.training().teacher, scores_alone.training().teacher);
        assert_ne!(one.fingerprint(), scores_alone.fingerprint());
    }
}

#[test]
fn an_interrupted_run_ends_with_the_same_bytes() {
    let encoder = EncoderConfig::Members(MembersConfig::new(2, lstm(5, false, Peephole::None), None));
    let place = || {
        let rows: String =
            scored().map(|(of_query, of_title)| format!("{}\t{}\n", query(of_query), title(of_title))).collect();
        let place = Place::new(&format!("query\ttitle\n{rows}"));
        let rows: String =
            scores().iter().map(|(query, title, score)| format!("{query}\t{title}\t{score}\n")).collect();
        std::fs::write(place.scores(), format!("query\ttitle\tscore\n{rows}")).expect("written");
        place
    };
    // Two epochs of ten minibatches.
    for config in [TrainConfig { epochs: 2, ..config(0.4) }, TrainConfig { epochs: 2, encoder, ..config(1.0) }] {
        let whole = place();
        whole.train(&config, How::default()).expect("trained");
        let how = How { checkpoint_every: Some(3), resume: true, ..How::default() };
        for after in [2, 3, 7, 10, 11, 19, 20] {
            let place = place();
            place.interrupt(&config, how, after);
            place.train(&config, how).expect("resumed");
            assert!(whole.model() == place.model(), "{config:?}: interrupted after {after}");
        }
    }
}

#[test]
fn a_table_of_scores_is_read_line_by_line_and_broken_lines_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scores.tsv");
    let rows: String = scores().iter().map(|(query, title, score)| format!("{query}\t{title}\t{score}\n")).collect();
    std::fs::write(&path, format!("query\ttitle\tscore\n{rows}red shoe\tx\tbad\nred\tx\tNaN\nalone\n"))
        .expect("written");
    let config = TrainConfig { epochs: 2, ..config(0.5) };
    let (file, coverage) = learnt(&config, vec![Teacher::score_file(&path, "title")]);
    let skipped = coverage.expect("a report").skipped;
    assert_eq!(skipped.iter().map(|skipped| skipped.count).collect::<Vec<_>>(), [3]);
    assert_eq!(skipped[0].first[0].line, 8 * QUERIES as u64 + 2);
    let (memory, _) = learnt(&config, vec![Teacher::scores(scores())]);
    assert_eq!(file.fingerprint(), memory.fingerprint());
}

#[test]
fn scored_pairs_in_place_of_clicks_teach_only_by_their_scores() {
    // The query of these has no other title, so nothing can be learnt from them.
    let single = [("purple", "purple curtain", 5.0), ("yellow", "yellow curtain", -5.0)];
    let owned = |(query, title, score): &(&str, &str, f32)| (query.to_string(), title.to_string(), *score);
    let all: Vec<(String, String, f32)> = scores().into_iter().chain(single.iter().map(owned)).collect();
    let run = |scored: Vec<(String, String, f32)>| {
        let pairs: Vec<(String, String, f32)> =
            all.iter().map(|(query, title, _)| (query.clone(), title.clone(), 1.0)).collect();
        let options = TrainOptions { teachers: vec![Teacher::scores(scored)], ..TrainOptions::default() };
        let mut found = None;
        let config = TrainConfig { epochs: 2, ..config(1.0) };
        let outcome = train(&config, ClickSource::pairs(pairs).scored(), options, &mut |event| {
            if let Event::TeacherScores(coverage) = event {
                found = Some(coverage.clone());
            }
            ControlFlow::Continue(())
        });
        (outcome.expect("trained").finished().expect("nobody breaks off"), found.expect("a report"))
    };
    let (model, coverage) = run(all.clone());
    let scored = 8 * QUERIES as u64;
    assert_eq!((coverage.scores, coverage.known, coverage.queries, coverage.alone), (scored + 2, scored + 2, 30, 2));
    assert_eq!((model.training().log.pairs, model.training().log.alone), (scored, 2));
    // Opposite scores teach the opposite: it is not the click that counts.
    let opposite = all.iter().map(|(query, title, score)| (query.clone(), title.clone(), -score)).collect();
    assert!(agreement(&model) > agreement(&run(opposite).0) + 0.2);
}

#[test]
fn scores_of_held_out_queries_are_not_learnt() {
    let pairs: Vec<(String, String, f32)> =
        (0..4000).map(|i| (format!("query {}", i / 2), format!("title {i}"), 1.0)).collect();
    let scores = pairs.iter().enumerate().map(|(i, (query, title, _))| (query.clone(), title.clone(), (i % 2) as f32));
    let config = TrainConfig { epochs: 1, held_out: 0.1, batch_size: 500, ..config(0.5) };
    let judge: &mut dyn FnMut(&Model) -> Score = &mut |_| Score { value: 0.0, ..Score::default() };
    let options = TrainOptions {
        teachers: vec![Teacher::scores(scores.collect::<Vec<_>>())],
        validation: Some(Validation { fingerprint: 1, is_worse: |_, _| true, judge }),
        ..TrainOptions::default()
    };
    let mut found = None;
    let outcome = train(&config, ClickSource::pairs(pairs), options, &mut |event| {
        if let Event::TeacherScores(coverage) = event {
            found = Some(coverage.clone());
        }
        ControlFlow::Continue(())
    });
    assert!(outcome.is_ok());
    let coverage = found.expect("a report");
    assert_eq!((coverage.scores, coverage.known, coverage.queries), (4000, 3600, 1800));
}

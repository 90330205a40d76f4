//! What the papers say of models, tested on simulated logs, where it is known what a query means.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::OnceLock;

use clickvec::encoder::{ClsmConfig, EncoderConfig, LstmConfig};
use clickvec::explain::{Explainer, KeywordOptions};
use clickvec::internals::rng;
use clickvec::internals::text::words;
use clickvec::model::{Model, Side};
use clickvec::tables::TITLE;
use clickvec::train::{ClickSource, Keep, Output, TrainConfig, TrainOptions, train_to_file};
use clickvec_eval::{TestSetFiles, paired_t_test, read_test_set};
use clickvec_lab::explain::{Topics, contexts, keyword_claims};
use clickvec_lab::simulate::{SimulateConfig, simulate, true_topics};
use rand::RngExt as _;
use std::ops::ControlFlow;

fn config() -> SimulateConfig {
    SimulateConfig { pairs: 60_000, titles: 5_000, judged: 100, validation: 6, ..SimulateConfig::default() }
}

/// An LSTM and a CLSM that learnt from one simulated log, and the judged queries.
struct World {
    lstm: Model,
    clsm: Model,
    queries: Vec<String>,
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        simulate(&config(), None, &log, &mut |_| ControlFlow::Continue(())).unwrap();
        let trained = |encoder: EncoderConfig| -> Model {
            let config = TrainConfig { encoder, epochs: 3, keep: Keep::Last, ..TrainConfig::default() };
            let path = folder.path().join("model.safetensors");
            let output = Output { path: &path, checkpoint_every: None, resume: false };
            let clicks = log.join("clicks.tsv");
            let options = TrainOptions::default();
            let source = ClickSource::file(&clicks);
            let outcome = train_to_file(&config, source, &output, options, &mut |_| ControlFlow::Continue(()));
            assert!(outcome.unwrap().finished().is_some(), "nobody stops it");
            Model::load(&path).unwrap()
        };
        let lstm = trained(EncoderConfig::Lstm(LstmConfig { cells: 48, ..LstmConfig::default() }));
        let clsm = trained(EncoderConfig::Clsm(ClsmConfig { convolution: 96, semantic: 48, ..ClsmConfig::default() }));
        World { lstm, clsm, queries: judged_queries(&log.join("judged.tsv")) }
    })
}

fn judged_queries(path: &Path) -> Vec<String> {
    let files = TestSetFiles { judged: path, topics: None, titles: None, field: TITLE };
    read_test_set(&files).unwrap().judgments.queries.into_iter().map(|query| query.text).collect()
}

#[test]
#[ignore = "slow; .ci/run runs it"]
fn leaving_out_a_keyword_turns_the_vector_more_than_another_word() {
    let world = world();
    for (model, least) in [(&world.lstm, 0.05), (&world.clsm, 0.02)] {
        let explainer = Explainer::new(model);
        let claims = keyword_claims(&explainer, Side::Query, &world.queries, &KeywordOptions::default());
        let claims = claims.expect("states at words");
        assert!(claims.texts > 100 && claims.keywords > 200 && claims.others > 200, "{claims:?}");
        assert!(claims.removal.keywords > claims.removal.others + least, "{claims:?}");
        assert!(claims.removal.p < 1e-6, "{claims:?}");
        assert_eq!(claims.input_gate.is_some(), model.encoder_config().has_cells());
    }
}

/// Information that a query's main cell gives on its true topic, in bits, compared with that on shuffled topics.
#[test]
#[ignore = "slow; .ci/run runs it"]
fn cells_match_the_known_topics_better_than_by_chance() {
    const ROUNDS: u64 = 500;
    let world = world();
    let asked: Vec<&str> = world.queries.iter().map(String::as_str).collect();
    let known: Vec<(&str, usize)> = asked
        .iter()
        .copied()
        .zip(true_topics(&config(), &asked))
        .filter_map(|(query, topic)| Some((query, topic?)))
        .collect();
    assert!(known.len() > 300, "only {} queries have a topic", known.len());
    let queries: Vec<String> = known.iter().map(|(query, _)| (*query).to_owned()).collect();
    for model in [&world.lstm, &world.clsm] {
        let found = Topics::new(
            &Explainer::new(model),
            Side::Query,
            &queries,
            &KeywordOptions { cells: 5, ..KeywordOptions::default() },
        );
        let found = found.expect("states at words");
        assert_eq!(found.table.len(), queries.len());
        let both = found.main_cells().zip(&known);
        let (cells, topics): (Vec<usize>, Vec<usize>) = both.filter_map(|(cell, known)| Some((cell?, known.1))).unzip();
        assert!(cells.len() > 200, "{}", cells.len());
        let own = information(&cells, &topics);
        let shuffled = |round: u64| {
            let (mut topics, mut stream) = (topics.clone(), rng::stream(round, "shuffle", 0));
            (1..topics.len()).rev().for_each(|i| topics.swap(i, stream.random_range(0..=i)));
            information(&cells, &topics)
        };
        let by_chance: Vec<f64> = (0..ROUNDS).map(shuffled).collect();
        let as_good = by_chance.iter().filter(|&&bits| bits >= own).count();
        let mean = by_chance.iter().sum::<f64>() / ROUNDS as f64;
        let encoder = model.encoder_config();
        assert_eq!(as_good, 0, "{encoder}: p is not below {}", 1.0 / (ROUNDS + 1) as f64);
        assert!(own > mean + 0.15, "{encoder}: {own} bits, by chance {mean}");
    }
}

fn information(cells: &[usize], topics: &[usize]) -> f64 {
    let all = cells.len() as f64;
    let (mut both, mut of_cell, mut of_topic) = (HashMap::new(), HashMap::new(), HashMap::new());
    for (&cell, &topic) in cells.iter().zip(topics) {
        *both.entry((cell, topic)).or_insert(0.0) += 1.0;
        *of_cell.entry(cell).or_insert(0.0) += 1.0;
        *of_topic.entry(topic).or_insert(0.0) += 1.0;
    }
    let term = |((cell, topic), &count): (&(usize, usize), &f64)| {
        count / all * (count * all / (of_cell[cell] * of_topic[topic])).log2()
    };
    let mut terms: Vec<f64> = both.iter().map(term).collect();
    terms.sort_by(f64::total_cmp);
    terms.into_iter().sum()
}

/// Table 2 of the CLSM paper, over all words that occur in queries of several topics: their windows are more alike in
/// queries of the same topic.
#[test]
#[ignore = "slow; .ci/run runs it"]
fn windows_tell_the_topics_of_a_word_apart() {
    let world = world();
    let asked: Vec<&str> = world.queries.iter().map(String::as_str).collect();
    let topics = true_topics(&config(), &asked);
    let mut of_word = BTreeMap::<String, Vec<(String, usize)>>::new();
    for (query, topic) in asked.iter().zip(topics).filter_map(|(query, topic)| Some((query, topic?))) {
        for word in words(query).into_iter().collect::<BTreeSet<_>>() {
            of_word.entry(word).or_default().push(((*query).to_owned(), topic));
        }
    }
    let explainer = Explainer::new(&world.clsm);
    let (mut same, mut other) = (Vec::new(), Vec::new());
    for (word, queries) in &of_word {
        for (base, topic) in queries {
            let others = queries.iter().filter(|(query, _)| query != base);
            let mean = |wanted: bool| {
                let texts = others.clone().filter(|(_, its)| (its == topic) == wanted).map(|(query, _)| query.clone());
                let texts: Vec<String> = std::iter::once(base.clone()).chain(texts).collect();
                let found = contexts(&explainer, Side::Query, word, &texts).expect("windows");
                let cosines = found[1..].iter().map(|context| f64::from(context.cosine));
                (found.len() > 1).then(|| cosines.sum::<f64>() / (found.len() - 1) as f64)
            };
            if let (Some(near), Some(far)) = (mean(true), mean(false)) {
                same.push(near);
                other.push(far);
            }
        }
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let test = paired_t_test(&same, &other).unwrap();
    assert!(same.len() > 100, "{}", same.len());
    assert!(
        mean(&same) > mean(&other) + 0.02 && test.p < 0.001,
        "same topic {}, other topics {}, p {}, {} windows",
        mean(&same),
        mean(&other),
        test.p,
        same.len()
    );
}

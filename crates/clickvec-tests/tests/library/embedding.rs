//! From a text to a vector: neither caching nor the threads that do the work change a bit.

use std::path::Path;

use super::support::*;
use clickvec::encoder::State;
use clickvec::index::FlatIndex;
use clickvec::internals::encoder::Trace;
use clickvec::internals::text::batch::Batch;
use clickvec::internals::text::{Interner, WordId, words};
use clickvec::model::{Embedder, Model, Side};
use clickvec::train::OptimizerKind;
use clickvec::train::TrainConfig;
use clickvec_eval::ranker::{Neural, Ranker};

fn some_texts() -> Vec<String> {
    let titles = log_rows(300, 3);
    let mut texts: Vec<String> = titles.lines().skip(1).map(|line| line.replace('\t', " ")).collect();
    texts[7] = String::new();
    texts[8] = "?!".to_owned();
    texts[9] = "zzz 北京".to_owned();
    texts[10] = "red shoe ".repeat(100);
    texts
}

/// The vectors by [`clickvec::internals::encoder::Encoder::forward`], which training runs.
fn by_the_encoder(model: &Model, texts: &[String]) -> Vec<f32> {
    let mut interner = Interner::default();
    let mut features = Vec::new();
    let mut number = |word: &String| {
        let (number, _, new) = interner.intern(word);
        if new {
            features.push(Vec::new());
            model.dictionary().hash_word(word, features.last_mut().expect("just pushed"));
        }
        number
    };
    let max_words = model.training().config.max_words;
    let numbered: Vec<Vec<WordId>> =
        texts.iter().map(|text| words(text).iter().take(max_words).map(&mut number).collect()).collect();
    let (mut batch, mut trace) = (Batch::new(), Trace::default());
    batch.fill(numbered.iter().map(Vec::as_slice), &Words(features));
    model.encoder(Side::Title).forward(&batch, &mut trace);
    trace.embeddings
}

#[test]
fn the_vector_of_a_text_is_the_encoders_bit_for_bit() {
    let place = Place::new(&log_rows(120, 1));
    let texts = some_texts();
    for encoder in all_encoders() {
        let config = TrainConfig { encoder, epochs: 1, ..small(OptimizerKind::Sgd) };
        place.train(&config, How::default()).expect("trained");
        let model = Model::load(&place.output()).expect("a model");
        std::fs::remove_file(place.output()).expect("removed");
        let expected = by_the_encoder(&model, &texts);
        for (threads, cache_bytes) in [(1, Embedder::CACHE_BYTES), (3, Embedder::CACHE_BYTES), (2, 2_000), (1, 0)] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| {
                let how = format!("{:?}, {threads} threads, cache of {cache_bytes}", config.encoder);
                let embedder = model.embedder(Side::Title).with_cache_bytes(cache_bytes).raw();
                for _ in 0..2 {
                    assert_eq!(embedder.embed(&texts), expected, "{how}");
                }
                for (text, expected) in texts.iter().zip(expected.chunks_exact(model.dimension())).rev().step_by(7) {
                    assert_eq!(embedder.embed(&[text]), expected, "{how}: `{text}` alone");
                }
                assert!(embedder.embed::<&str>(&[]).is_empty());
            });
        }
    }
}

/// A small model of two towers.
fn model() -> Model {
    let place = Place::new(&log_rows(120, 1));
    let config = TrainConfig { epochs: 1, ..small(OptimizerKind::Sgd) };
    place.train(&config, How::default()).expect("trained");
    Model::load(&place.output()).expect("a model")
}

#[test]
fn vectors_have_unit_length_unless_raw_ones_are_wanted() {
    let (model, texts) = (model(), some_texts());
    let (unit, raw) = (model.embedder(Side::Query).embed(&texts), model.embedder(Side::Query).raw().embed(&texts));
    let dimension = model.dimension();
    for ((text, unit), raw) in texts.iter().zip(unit.chunks_exact(dimension)).zip(raw.chunks_exact(dimension)) {
        let length = |vector: &[f32]| vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let (expected, scale) = if words(text).is_empty() { (0.0, 0.0) } else { (1.0, 1.0 / length(raw)) };
        assert!((length(unit) - expected).abs() < 1e-6, "`{text}`");
        for (&unit, &raw) in unit.iter().zip(raw) {
            assert!((f64::from(unit) - scale * f64::from(raw)).abs() < 1e-7, "`{text}`");
        }
    }
}

#[test]
fn an_embedder_outlives_its_model_and_serves_many_threads() {
    fn shared<T: Send + Sync + 'static>(_: &T) {}
    let (model, texts) = (model(), some_texts());
    let embedder = model.embedder(Side::Query);
    shared(&embedder);
    let expected = embedder.embed(&texts);
    let dimension = model.dimension();
    drop(model);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (embedder, texts, expected) = (&embedder, &texts, &expected);
            scope.spawn(move || {
                let mut vector = Vec::new();
                for (text, expected) in texts.iter().zip(expected.chunks_exact(dimension)).skip(thread) {
                    embedder.embed_into(&[text], &mut vector);
                    assert_eq!(vector, expected, "`{text}`");
                }
                assert_eq!(embedder.embed(texts), *expected);
            });
        }
    });
}

#[test]
fn search_embedding_and_judging_have_one_score() {
    let model = model();
    let texts: Vec<String> = some_texts().into_iter().filter(|text| model.dictionary().knows_a_word(text)).collect();
    let query = "red leather shoe";
    let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
    let of_query = model.embedder(Side::Query).embed(&[query]);
    let of_titles = model.embedder(Side::Title).embed(&texts);
    let index = FlatIndex::from_unit(model.dimension(), of_titles.clone()).expect("an index");
    let found = index.search_batch(&of_query, texts.len()).expect("hits").remove(0);
    assert_eq!(found.len(), texts.len());
    let judged = Neural::new("model".to_owned(), model).score(query, &borrowed);
    for found in &found {
        let position = found.position as usize;
        assert_eq!(f64::from(found.score), judged[position]);
        let vector = &of_titles[position * of_query.len()..][..of_query.len()];
        let product: f64 = of_query.iter().zip(vector).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
        assert!((product - judged[position]).abs() < 1e-6);
    }
}

#[test]
fn states_are_read_before_and_after_their_activations() {
    let frozen = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/frozen/format-1/lstm.safetensors");
    let model = Model::load(Path::new(frozen)).expect("a model");
    let embedder = model.embedder(Side::Title).raw();
    let texts = ["red shoe for men", "red"];
    let vectors = embedder.embed(&texts);
    let mut read = 0;
    embedder.read_states(&texts, |number, text| {
        assert_eq!(text.embedding(), &vectors[number * embedder.dimension()..][..embedder.dimension()]);
        for (gate, word) in [State::InputGate, State::OutputGate]
            .into_iter()
            .flat_map(|gate| (0..text.words()).map(move |word| (gate, word)))
        {
            let (before, after) = (text.at(gate.before(), word).expect("kept"), text.at(gate, word).expect("a gate"));
            let sigmoid = before.iter().map(|x| 1.0 / (1.0 + (-x).exp()));
            assert!(sigmoid.zip(after.iter()).all(|(expected, found)| (expected - found).abs() < 1e-5));
            read += after.len();
        }
    });
    assert!(read > 0);
    assert_eq!(embedder.embed(&texts), vectors);
}

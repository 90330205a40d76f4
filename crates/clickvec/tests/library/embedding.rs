//! The way from a text to a vector: what is remembered and who does the work changes no bit.

use super::support::*;
use clickvec::encoder::Trace;
use clickvec::model::{Embedder, Model, Side};
use clickvec::optimizer::OptimizerKind;
use clickvec::text::batch::Batch;
use clickvec::text::{Interner, WordId, words};
use clickvec::train::TrainConfig;

fn some_texts() -> Vec<String> {
    let titles = log_rows(300, 3);
    let mut texts: Vec<String> = titles.lines().skip(1).map(|line| line.replace('\t', " ")).collect();
    texts[7] = String::new();
    texts[8] = "?!".to_owned();
    texts[9] = "zzz 北京".to_owned();
    texts[10] = "red shoe ".repeat(100);
    texts
}

/// By [`clickvec::encoder::Encoder::forward`], which training runs.
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
                let mut embedder = model.embedder(Side::Title).with_cache_bytes(cache_bytes);
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

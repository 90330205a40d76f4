//! A merged tail: text beyond the limit as one word (LSTM paper, fig. 10, tables VIII, X).

use super::support::*;
use clickvec::encoder::{DssmConfig, EncoderConfig, Peephole};
use clickvec::explain::{Evidence, Explainer, KeywordOptions};
use clickvec::index::FlatIndex;
use clickvec::internals::encoder::{Encoder, Trace};
use clickvec::internals::text::batch::Batch;
use clickvec::internals::text::{Feature, WordId, words};
use clickvec::model::{Model, Side};
use clickvec::train::{OptimizerKind, Tail, TitleConfig, TrainConfig, Views};
use clickvec_lab::explain::{Topics, contexts};

/// Words of a text in these tests; the last of them is a tail, if there are more.
const MOST: usize = 4;

fn merging(encoder: EncoderConfig) -> TrainConfig {
    TrainConfig { encoder, epochs: 1, max_words: MOST, tail: Tail::Merge, ..small(OptimizerKind::Sgd) }
}

fn trained(config: &TrainConfig) -> Model {
    let place = Place::new(&log_rows(240, 1));
    place.train(config, How::default()).expect("trained");
    Model::load(&place.output()).expect("a model")
}

/// What an encoder gets of a text: single words, and a tail of the others.
fn by_hand(text: &str) -> Vec<Vec<String>> {
    let all = words(text);
    let alone = if all.len() > MOST { MOST - 1 } else { all.len() };
    let mut read: Vec<Vec<String>> = all[..alone].iter().map(|word| vec![word.clone()]).collect();
    read.extend((all.len() > MOST).then(|| all[alone..].to_vec()));
    read
}

/// The vectors of texts of which each word is a bag of words, by [`Encoder::forward`], which training runs.
fn by_the_encoder(model: &Model, encoder: &dyn Encoder, texts: &[Vec<Vec<String>>]) -> Vec<f32> {
    let mut all = Vec::new();
    let mut number = |bag: &Vec<String>| {
        let mut counts = std::collections::BTreeMap::<u32, u32>::new();
        let mut features = Vec::new();
        for word in bag {
            model.dictionary().hash_word(word, &mut features);
            features.iter().for_each(|feature| *counts.entry(feature.id).or_default() += feature.count);
        }
        all.push(counts.into_iter().map(|(id, count)| Feature { id, count }).collect());
        all.len() as WordId - 1
    };
    let numbered: Vec<Vec<WordId>> = texts.iter().map(|text| text.iter().map(&mut number).collect()).collect();
    let (mut batch, mut trace) = (Batch::new(), Trace::default());
    batch.fill(numbered.iter().map(Vec::as_slice), &Words(all));
    encoder.forward(&batch, &mut trace);
    trace.embeddings
}

fn some_texts() -> Vec<String> {
    let rows = log_rows(120, 5);
    let mut texts: Vec<String> = rows.lines().skip(1).map(|line| line.replace('\t', " ")).collect();
    texts.extend(["", "?!", "red", "red leather shoe boots", "red leather shoe boots 北京 zzz"].map(str::to_owned));
    texts.push("red shoe, ".repeat(300));
    texts
}

#[test]
fn every_encoder_reads_the_tail_as_one_word() {
    let texts = some_texts();
    assert!(texts.iter().filter(|text| words(text).len() > MOST).count() > 30);
    let bags: Vec<Vec<Vec<String>>> = texts.iter().map(|text| by_hand(text)).collect();
    for encoder in all_encoders() {
        let model = trained(&merging(encoder.clone()));
        let expected = by_the_encoder(&model, model.encoder(Side::Title), &bags);
        for cache_bytes in [1 << 20, 2_000, 0] {
            let embedder = model.embedder(Side::Title).with_cache_bytes(cache_bytes).raw();
            assert_eq!(embedder.embed(&texts), expected, "{encoder}, cache of {cache_bytes}");
        }
        for (text, expected) in texts.iter().zip(expected.chunks_exact(model.dimension())).step_by(9) {
            assert_eq!(model.embedder(Side::Title).raw().embed(&[text]), expected, "{encoder}: `{text}` alone");
        }
    }
}

/// A bag of trigrams has no order, so that nothing is lost: as if the limit were far away.
#[test]
fn a_bag_of_words_is_whole() {
    let dssm = merging(EncoderConfig::Dssm(DssmConfig { layers: vec![6, 5] }));
    let texts = some_texts();
    let [merged, whole] =
        [dssm.clone(), TrainConfig { max_words: 1_000, tail: Tail::Cut, ..dssm.clone() }].map(|config| {
            let model = trained(&config);
            model.embedder(Side::Query).raw().embed(&texts)
        });
    assert!(relative_difference(&merged, &whole) < 1e-5, "{}", relative_difference(&merged, &whole));
    let cut = trained(&TrainConfig { tail: Tail::Cut, ..dssm }).embedder(Side::Query).raw().embed(&texts);
    assert!(relative_difference(&cut, &whole) > 1e-3);
}

#[test]
fn the_same_bytes_at_any_number_of_threads_and_through_a_kill() {
    let lstm = EncoderConfig::Lstm(lstm(6, false, Peephole::None));
    let titles = TitleConfig {
        views: Views { few: 0.5, drop: 0.2, swap: 0.2, misspell: 1.0 },
        epochs: 1,
        batch_size: 40,
        ..TitleConfig::default()
    };
    for config in [
        merging(lstm.clone()),
        TrainConfig { titles: Some(titles), augment: Views { misspell: 1.0, ..Views::NONE }, ..merging(lstm) },
    ] {
        let place = || {
            let place = Place::new(&log_rows(240, 1));
            if config.titles.is_some() {
                std::fs::write(place.titles(), title_rows(100, 2)).expect("written");
            }
            place
        };
        let run = |threads: usize| {
            let place = place();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| place.train(&config, How::default())).expect("trained");
            place.model()
        };
        let one = run(1);
        assert!(one == run(2), "two threads");
        let place = place();
        let how = How { checkpoint_every: Some(1), ..How::default() };
        place.interrupt(&config, how, 3);
        place.train(&config, How { resume: true, ..how }).expect("resumed");
        assert!(one == place.model(), "killed and resumed");
        let model = Model::load(&place.output()).expect("a model");
        assert_eq!((model.training().config.tail, model.training().config.max_words), (Tail::Merge, MOST));
    }
}

#[test]
fn what_is_explained_has_the_tail_as_one_word() {
    let query = "red leather shoe";
    let title = "leather boots with red laces and a green garden hose";
    for encoder in all_encoders() {
        let model = trained(&merging(encoder.clone()));
        let explainer = Explainer::new(&model);
        let found = explainer.explain(query, title);
        let shown: Vec<_> = found.title.words.iter().map(|word| word.shown().into_owned()).collect();
        assert_eq!(shown, ["leather", "boots", "with", "… (7 words)"], "{encoder}");
        assert_eq!(found.title.words[3].text, "red laces and a green garden hose");
        assert_eq!((found.title.words[3].parts, found.title.cut, found.query.words.len()), (7, 0, 3));
        assert!(
            found.title.words[3].known && found.title.panels.iter().all(|panel| panel.values.len() == 4 * panel.units)
        );

        let index = FlatIndex::from_unit(model.dimension(), model.embedder(Side::Title).embed(&[title])).expect("one");
        let hits = index.search_batch(&model.embedder(Side::Query).embed(&[query]), 1).expect("a search").remove(0);
        assert_eq!(found.score.to_bits(), hits[0].score.to_bits(), "{encoder}");
        let score = f64::from(found.score);
        for sum in [
            found.units.iter().sum::<f64>(),
            found.query_words.along.iter().sum(),
            found.title_words.along.iter().sum(),
        ] {
            assert!((sum - score).abs() < 2e-6, "{encoder}: {sum} for {score}");
        }

        // Without its second word the title has three, of which the last is still the tail.
        let vector = |bags: Vec<Vec<String>>, side: Side| {
            let mut vector = by_the_encoder(&model, model.encoder(side), &[bags]);
            clickvec::internals::math::vector::normalize(&mut vector);
            vector
        };
        for left_out in [1, 3] {
            let mut bags = by_hand(title);
            bags.remove(left_out);
            let [of_query, of_title] = [vector(by_hand(query), Side::Query), vector(bags, Side::Title)];
            let cosine: f64 = of_query.iter().zip(&of_title).map(|(&q, &t)| f64::from(q) * f64::from(t)).sum();
            let without = found.title_words.without[left_out];
            assert!((without - (score - cosine)).abs() < 2e-6, "{encoder}: {without} for {}", score - cosine);
        }

        let options = KeywordOptions { threshold: 0.0, ..KeywordOptions::default() };
        if let Some(keywords) = found.title.keywords(&options) {
            assert_eq!(keywords.is_keyword.len(), 4, "{encoder}");
            if let Evidence::Changes(directions) = &keywords.evidence {
                assert!(directions.iter().all(|counts| counts.assigned.len() == 4), "{encoder}");
            }
        }
        // A tail is not a word that a cell could represent.
        let queries = [title.to_owned(), query.to_owned()];
        if let Some(topics) = Topics::new(&explainer, Side::Title, &queries, &options) {
            let collected = topics.cells.iter().flat_map(|cell| &cell.words).map(|word| word.word.as_str());
            let known = ["leather", "boots", "with", "red", "shoe"];
            assert!(collected.into_iter().all(|word| known.contains(&word)), "{encoder}: {:?}", topics.cells);
        }
        if let EncoderConfig::Clsm(_) = encoder {
            let texts = [query.to_owned(), title.to_owned(), "a red shoe".to_owned()];
            let found = contexts(&explainer, Side::Title, "red", &texts).expect("windows");
            assert_eq!(found.len(), 2, "in the tail the word has no window of its own: {found:?}");
        }
    }
}

#[test]
fn a_teacher_and_a_log_know_a_long_text_by_the_same_hash() {
    let rows =
        "query\ttitle\nred shoe\tleather boots with red laces and heels\nlamp\twarm led bulb\nhose\tgarden hose\n";
    let place = Place::new(rows);
    let vectors =
        [("Leather boots with red laces, and heels", [1, 0]), ("warm led bulb", [0, 1]), ("garden hose", [1, 1])];
    let lines: String =
        vectors.iter().map(|(text, vector)| format!("{{\"text\":{text:?},\"vector\":{vector:?}}}\n")).collect();
    std::fs::write(place.teacher(), lines).expect("written");
    let config = TrainConfig {
        teacher: Some(Default::default()),
        negatives: clickvec::train::Negatives::All,
        batch_size: 3,
        ..merging(EncoderConfig::Lstm(lstm(6, false, Peephole::None)))
    };
    let events = place.train(&config, How::default()).expect("trained");
    let known = events.iter().find_map(|event| match event {
        clickvec::train::Event::Teacher(coverage) => Some((coverage.known_titles, coverage.titles)),
        _ => None,
    });
    assert_eq!(known, Some((3, 3)));
}

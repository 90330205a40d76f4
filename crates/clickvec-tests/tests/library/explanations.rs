//! Explanations are true: they explain the score that a search gives, and shares sum to what they share out.

use super::support::*;
use clickvec::encoder::{ClsmConfig, EncoderConfig, Peephole, RnnConfig};
use clickvec::explain::{Evidence, Explainer, KeywordOptions};
use clickvec::index::FlatIndex;
use clickvec::internals::rng;
use clickvec::internals::text::words;
use clickvec::model::{Model, Side};
use clickvec::train::OptimizerKind;
use clickvec::train::TrainConfig;
use clickvec_eval::ranker::Corpus;
use clickvec_lab::explain::{Neighbours, Space, Topics, contexts};
use clickvec_lab::systems;
use rand::RngExt as _;

fn model_of(encoder: EncoderConfig, rows: &str, epochs: u32, shared_towers: bool) -> Model {
    let place = Place::new(rows);
    let config = TrainConfig { encoder, epochs, shared_towers, ..small(OptimizerKind::Adam) };
    place.train(&config, How::default()).expect("trained");
    Model::load(&place.output()).expect("a model")
}

const PAIRS: [(&str, &str); 8] = [
    ("red leather shoe", "leather boots with red laces"),
    ("lamp", "warm led bulb"),
    ("drill", "drill drill drill"),
    ("zzz 北京 drill", "cordless drill, 18 volt"),
    ("", "garden hose"),
    ("garden hose", "?!"),
    ("北京", "garden"),
    ("sink", "kitchen sink with a steel drain and a faucet for the wall of a warm kitchen in green and red"),
];

#[test]
fn the_score_is_the_searchs_and_shares_sum_to_it() {
    for encoder in all_encoders() {
        let model = model_of(encoder.clone(), &log_rows(240, 1), 1, false);
        let explainer = Explainer::new(&model);
        for (query, title) in PAIRS {
            let found = explainer.explain(query, title);
            let told = format!("{encoder}: `{query}` and `{title}`");
            // A title without a known word cannot be found, though an encoder with biases gives it a vector.
            if model.dictionary().knows_a_word(query) && model.dictionary().knows_a_word(title) {
                let vector = model.embedder(Side::Title).embed(&[title]);
                let index = FlatIndex::from_unit(model.dimension(), vector).expect("one");
                let hits =
                    index.search_batch(&model.embedder(Side::Query).embed(&[query]), 1).expect("a search").remove(0);
                assert_eq!(found.score.to_bits(), hits[0].score.to_bits(), "{told}");
            }
            let score = f64::from(found.score);
            let close = |what: &str, sum: f64| assert!((sum - score).abs() < 2e-6, "{told}: {what}: {sum} for {score}");
            close("units", found.units.iter().sum());
            close("query along", found.query_words.along.iter().sum());
            close("title along", found.title_words.along.iter().sum());
            let pairs = found.word_pairs();
            if !pairs.is_empty() {
                close("pairs of words", pairs.iter().map(|pair| pair.share).sum());
            }
            assert_eq!(
                pairs.is_empty(),
                !encoder.is_recurrent() || query.is_empty() || words(title).is_empty(),
                "{told}"
            );
            for (view, shares) in [(&found.query, &found.query_words), (&found.title, &found.title_words)] {
                assert_eq!((shares.along.len(), shares.without.len()), (view.words.len(), view.words.len()), "{told}");
                assert!(shares.along.iter().chain(&shares.without).all(|share| share.is_finite()), "{told}");
            }
            if words(query).len() == 1 {
                assert!((found.query_words.without[0] - score).abs() < 2e-6, "{told}: without its only word");
            }
            if !title.is_empty() && !query.is_empty() && words(title).len() > 1 {
                // By hand: the cosine without the title's second word.
                let rest: Vec<String> = words(title)
                    .into_iter()
                    .enumerate()
                    .filter(|&(place, _)| place != 1)
                    .map(|(_, word)| word)
                    .collect();
                let other = explainer.explain(query, &rest.join(" "));
                let expected = score - f64::from(other.score);
                assert!((found.title_words.without[1] - expected).abs() < 2e-6, "{told}: without the second word");
            }
        }
    }
}

#[test]
fn unknown_and_missing_words_are_said() {
    let model = model_of(EncoderConfig::Lstm(lstm(6, false, Peephole::None)), &log_rows(240, 1), 1, false);
    let view = Explainer::new(&model).text(Side::Query, "Drill 北京!");
    let known: Vec<(&str, bool)> = view.words.iter().map(|word| (word.text.as_str(), word.known)).collect();
    assert_eq!(known, [("drill", true), ("北", false), ("京", false)]);
    let long = Explainer::new(&model).text(Side::Query, &"drill ".repeat(70));
    assert_eq!((long.words.len(), long.cut), (64, 6));
    let empty = Explainer::new(&model).text(Side::Title, " ?");
    assert!(empty.words.is_empty() && empty.vector.iter().all(|&x| x == 0.0));
    assert_eq!(empty.keywords(&KeywordOptions::default()).expect("an LSTM").is_keyword, [false; 0]);
}

/// The counts of the papers' tables, worked out anew from the activations after each beginning of a text.
#[test]
fn a_word_has_the_cells_that_it_changes() {
    let texts = ["red leather shoe", "lamp", "paint the wall with a roller brush", ""];
    for (encoder, directions) in [
        (EncoderConfig::Lstm(lstm(12, false, Peephole::None)), 1),
        (EncoderConfig::Bilstm(lstm(12, true, Peephole::Diagonal)), 2),
        (EncoderConfig::Rnn(RnnConfig { hidden: 12 }), 1),
    ] {
        let model = model_of(encoder.clone(), &log_rows(600, 1), 3, true);
        let explainer = Explainer::new(&model);
        for threshold in [0.0, 0.1, 0.4] {
            let options = KeywordOptions { threshold, ..KeywordOptions::default() };
            for text in texts {
                let view = explainer.text(Side::Query, text);
                let keywords = view.keywords(&options).expect("states at words");
                let Evidence::Changes(found) = &keywords.evidence else { panic!("{encoder}: no cells") };
                let all = words(text);
                assert_eq!(found.len(), directions, "{encoder}: {text}");
                for (number, found) in found.iter().enumerate() {
                    // What was read until a word: a text of its own.
                    let until = |word: usize| match number {
                        0 => all[..=word].join(" "),
                        _ => all[word..].join(" "),
                    };
                    let vector = |word: usize| {
                        let vector = model.embedder(Side::Query).raw().embed(&[until(word)]);
                        vector[number * 12..][..12].to_vec()
                    };
                    let last = if number == 0 { all.len().checked_sub(1) } else { (!all.is_empty()).then_some(0) };
                    let Some(last) = last.map(vector) else { continue };
                    let mean = found.cells.iter().map(|&cell| last[cell].abs()).sum::<f32>() / found.cells.len() as f32;
                    for word in 0..all.len() {
                        let before = if number == 0 { word.checked_sub(1) } else { Some(word + 1) };
                        let Some(before) = before.filter(|&before| before < all.len()) else {
                            assert_eq!(found.assigned[word], None, "{encoder}: {text}: the word that is read first");
                            continue;
                        };
                        let (now, before) = (vector(word), vector(before));
                        let changed = |cell: &usize| (now[*cell] - before[*cell]).abs() > threshold * mean;
                        let expected: Vec<usize> = found.cells.iter().copied().filter(changed).collect();
                        assert_eq!(found.assigned[word].as_ref(), Some(&expected), "{encoder}: {text}: {word}");
                    }
                    let weakest = found.cells.iter().map(|&cell| last[cell].abs()).fold(f32::INFINITY, f32::min);
                    let others = (0..12).filter(|cell| !found.cells.contains(cell)).map(|cell| last[cell].abs());
                    assert!(found.cells.len() == 10 && others.into_iter().all(|other| other <= weakest), "{encoder}");
                }
                for (word, &is_keyword) in keywords.is_keyword.iter().enumerate() {
                    let counts: Vec<usize> =
                        found.iter().filter_map(|counts| counts.counts().nth(word).flatten()).collect();
                    let is_changing = !counts.is_empty() && counts.iter().all(|&count| count >= 4);
                    // What the model does not know is none, though cells change while it is read.
                    assert_eq!(is_keyword, is_changing && view.words[word].known, "{text}");
                }
            }
        }
    }
}

/// Three pages of a bookshop and of a hardware shop could not be mistaken, but for the words that both use.
#[test]
fn a_keywords_removal_moves_the_vector_more_than_another_words() {
    // Every query has words of a topic, and words that occur in all topics and say nothing.
    let mut stream = rng::stream(3, "fillers", 0);
    let fillers = ["the", "for", "with", "and", "my"];
    let mut rows = String::from("query\ttitle\n");
    let mut text = |topic: &[&str]| {
        let word =
            |stream: &mut rand_xoshiro::Xoshiro256PlusPlus| topic[stream.random_range(0..topic.len())].to_owned();
        let mut words = vec![fillers[stream.random_range(0..5)].to_owned(), word(&mut stream), word(&mut stream)];
        words.insert(stream.random_range(1..4), fillers[stream.random_range(0..5)].to_owned());
        words.join(" ")
    };
    for pair in 0..1_500 {
        let topic = TOPICS[pair % TOPICS.len()];
        rows.push_str(&format!("{}\t{} {}\n", text(topic), text(topic), pair % 40));
    }
    let queries: Vec<String> = (0..300).map(|query| text(TOPICS[query % TOPICS.len()])).collect();
    let model = model_of(EncoderConfig::Lstm(lstm(24, false, Peephole::None)), &rows, 4, true);
    let explainer = Explainer::new(&model);
    let mut differences = Vec::new();
    for view in explainer.texts(Side::Query, &queries) {
        let keywords = view.keywords(&KeywordOptions::default()).expect("an LSTM");
        let own = explainer.explain(&view.text, &view.text);
        // The first word counts in neither group: it has no count.
        let mean = |wanted: bool| {
            let some: Vec<f64> = (1..view.words.len())
                .filter(|&word| keywords.is_keyword[word] == wanted)
                .map(|word| own.query_words.without[word])
                .collect();
            (!some.is_empty()).then(|| some.iter().sum::<f64>() / some.len() as f64)
        };
        differences.extend(mean(true).zip(mean(false)).map(|(keyword, other)| keyword - other));
    }
    let n = differences.len() as f64;
    assert!(n > 50.0, "only {n} queries have keywords and other words");
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = mean / (variance / n).sqrt();
    assert!(t > 3.5, "mean {mean}, t {t} over {n} queries");
}

/// Information that a query's main cell gives on its topic, in bits, against what it gives on shuffled topics.
#[test]
fn cells_stand_for_topics_better_than_by_chance() {
    let mut stream = rng::stream(4, "queries", 0);
    let topics: Vec<usize> = (0..400).map(|query| query % TOPICS.len()).collect();
    let query = |&topic: &usize| {
        let mut word = || TOPICS[topic][stream.random_range(0..TOPICS[topic].len())];
        format!("{} {} {}", word(), word(), word())
    };
    let queries: Vec<String> = topics.iter().map(query).collect();
    let clsm = ClsmConfig { window: 3, convolution: 24, hidden: vec![], semantic: 12, bias: true };
    for encoder in [EncoderConfig::Lstm(lstm(24, false, Peephole::None)), EncoderConfig::Clsm(clsm)] {
        let model = model_of(encoder.clone(), &log_rows(1_500, 1), 4, true);
        let found = Topics::new(
            &Explainer::new(&model),
            Side::Query,
            &queries,
            &KeywordOptions { cells: 5, ..KeywordOptions::default() },
        );
        let found = found.expect("states at words");
        assert_eq!(found.table.len(), 400);
        let main: Vec<usize> = found.main_cells().map(|cell| cell.unwrap_or(usize::MAX)).collect();
        let information = |topics: &[usize]| {
            let mut counts = std::collections::HashMap::<(usize, usize), f64>::new();
            main.iter().zip(topics).for_each(|(&cell, &topic)| *counts.entry((cell, topic)).or_default() += 1.0);
            let of = |key: &dyn Fn((usize, usize)) -> bool| -> f64 {
                counts.iter().filter(|&(&pair, _)| key(pair)).map(|(_, count)| count).sum()
            };
            let term = |(&(cell, topic), &both): (&(usize, usize), &f64)| {
                let (cell, topic) = (of(&|pair| pair.0 == cell), of(&|pair| pair.1 == topic));
                both / 400.0 * (both * 400.0 / (cell * topic)).log2()
            };
            counts.iter().map(term).sum::<f64>()
        };
        let own = information(&topics);
        let shuffled = |round: u64| {
            let (mut topics, mut stream) = (topics.clone(), rng::stream(round, "shuffle", 0));
            (1..topics.len()).rev().for_each(|i| topics.swap(i, stream.random_range(0..=i)));
            information(&topics)
        };
        let by_chance = (0..200).map(shuffled).fold(0.0, f64::max);
        assert!(own > 2.0 * by_chance, "{encoder}: {own} bits, by chance at most {by_chance}");
        for cell in &found.cells {
            assert!(cell.queries > 0 && !cell.words.is_empty() && cell.purity >= -1e-9, "{cell:?}");
            assert!(!cell.name.is_empty());
        }
    }
    let dssm = model_of(EncoderConfig::Dssm(Default::default()), &log_rows(240, 1), 1, true);
    assert!(
        Topics::new(
            &Explainer::new(&dssm),
            Side::Query,
            &queries,
            &KeywordOptions { cells: 5, ..KeywordOptions::default() }
        )
        .is_none()
    );
}

/// Table 2 of the CLSM paper: `office` is software next to one word and a room next to another, `body` is of a car or of a
/// person.
#[test]
fn a_window_tells_the_senses_of_a_word_apart() {
    let senses = [
        [
            ["microsoft office software", "free office 2000", "download office excel", "word office online"],
            ["apartment office hours", "massachusetts office location", "rent office room", "small office desk"],
        ],
        [
            ["car body shop", "car body kits", "auto body repair", "auto body parts"],
            ["wave body language", "calculate body fat", "forcefield body armour", "healthy body weight"],
        ],
    ];
    let titles = [
        ["excel and word suite", "desk and chair for rent"],
        ["dent repair for your auto", "exercise and diet of people"],
    ];
    let mut rows = String::from("query\ttitle\n");
    for round in 0..200 {
        for (senses, titles) in senses.iter().zip(titles) {
            for (queries, title) in senses.iter().zip(titles) {
                rows.push_str(&format!("{}\t{title} {}\n", queries[round % 4], round % 30));
            }
        }
    }
    let clsm = ClsmConfig { window: 3, convolution: 24, hidden: vec![], semantic: 12, bias: true };
    let model = model_of(EncoderConfig::Clsm(clsm), &rows, 8, false);
    let explainer = Explainer::new(&model);
    let mean = |some: &[clickvec_lab::explain::Context]| some.iter().map(|c| c.cosine).sum::<f32>() / some.len() as f32;
    let texts_of = |senses: &[[&str; 4]; 2]| senses.concat().into_iter().map(str::to_owned).collect::<Vec<String>>();
    for (word, senses) in ["office", "body"].into_iter().zip(&senses) {
        let found = contexts(&explainer, Side::Query, word, &texts_of(senses)).expect("windows");
        assert_eq!(found.len(), 8);
        assert!((found[0].cosine - 1.0).abs() < 1e-6);
        assert!(mean(&found[1..4]) > mean(&found[4..]) + 0.1, "{found:?}");
    }
    let none = vec!["no such word".to_owned()];
    assert_eq!(contexts(&explainer, Side::Query, "office", &none), Some(vec![]));
    let lstm = model_of(EncoderConfig::Lstm(lstm(6, false, Peephole::None)), &rows, 1, false);
    assert_eq!(contexts(&Explainer::new(&lstm), Side::Query, "office", &texts_of(&senses[0])), None);
}

/// Appendix F of the LSTM paper.
#[test]
fn the_words_of_a_ranker_have_neighbours_in_its_own_vectors() {
    let titles: Vec<String> =
        log_rows(600, 1).lines().skip(1).filter_map(|row| row.split('\t').nth(1)).map(str::to_owned).collect();
    let corpus = Corpus::from_titles(titles.iter().map(String::as_str)).expect("memory");
    let doc2vec = systems::train("doc2vec:size=24,epochs=40,sample=0", &corpus).expect("trained");
    let lsa = systems::train("lsa:dimensions=6", &corpus).expect("trained");
    for ranker in [&doc2vec, &lsa] {
        let near = Neighbours::from_ranker(ranker.as_ref(), None).expect("vectors of words");
        let nearest = near.nearest("drill", 3).expect("known");
        let of_topic = nearest.iter().filter(|near| TOPICS[2].contains(&near.word.as_str())).count();
        assert!(of_topic >= 2, "{}: {nearest:?}", ranker.name());
        assert!(near.nearest("plutonium", 3).is_none());
        let some = ["drill", "lamp", "plutonium"].map(str::to_owned);
        let near = Neighbours::from_ranker(ranker.as_ref(), Some(&some)).expect("vectors of words");
        assert_eq!(near.nearest("drill", 5).expect("known").len(), 1);
    }
    // The cosine of two words is that of two texts of one word each.
    let near = Neighbours::from_ranker(lsa.as_ref(), None).expect("vectors of words");
    for near in near.nearest("drill", 5).expect("known") {
        assert!((lsa.score("drill", &[&near.word])[0] - f64::from(near.cosine)).abs() < 1e-5, "{near:?}");
    }
    let bags = systems::train("doc2vec:dm=0,epochs=1", &corpus).expect("trained");
    let bm25 = systems::train("bm25", &corpus).expect("trained");
    assert!([&bags, &bm25].into_iter().all(|ranker| Neighbours::from_ranker(ranker.as_ref(), None).is_none()));
}

#[test]
fn near_words_are_spelt_alike_or_mean_the_same() {
    let model = model_of(EncoderConfig::Lstm(lstm(24, false, Peephole::None)), &log_rows(1_500, 1), 4, true);
    let explainer = Explainer::new(&model);
    let mut vocabulary: Vec<String> =
        TOPICS.iter().flat_map(|topic| topic.iter().map(|&word| word.to_owned())).collect();
    vocabulary.push("zzz".to_owned());
    vocabulary.push("lether".to_owned());
    let input = Neighbours::new(&explainer, Side::Query, Space::Input, vocabulary.clone());
    assert_eq!(input.nearest("lether", 1).expect("known")[0].word, "leather");
    assert!(input.nearest("zzz", 3).is_none(), "unknown to the model");
    let embedding = Neighbours::new(&explainer, Side::Query, Space::Embedding, vocabulary);
    let near = embedding.nearest("drill", 3).expect("known");
    assert!(near.iter().all(|near| TOPICS[2].contains(&near.word.as_str())), "{near:?}");
    assert!(
        near.windows(2).all(|pair| pair[0].cosine >= pair[1].cosine) && near.iter().all(|near| near.word != "drill")
    );
    assert_eq!(embedding.nearest("drill", usize::MAX).expect("known").len(), 30);
}

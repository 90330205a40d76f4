//! Members whose vectors a projection brings to fewer numbers.

use crate::support::*;
use clickvec::encoder::{EncoderConfig, MembersConfig, Peephole};
use clickvec::explain::Explainer;
use clickvec::model::{Model, Side};
use clickvec::train::{Event, OptimizerKind, TitleConfig, TrainConfig, Views};
use clickvec_eval::update::training_config;

const QUERIES: [&str; 4] = ["drill", "warm lamp bulb", "wall paint", "steel faucet drain kitchen"];

/// Three members of five cells.
fn members(dimension: Option<usize>) -> MembersConfig {
    MembersConfig::new(3, lstm(5, false, Peephole::None), dimension)
}

/// Learns from titles, then from clicks if there are any.
fn config(dimension: Option<usize>) -> TrainConfig {
    let titles = TitleConfig {
        epochs: 2,
        batch_size: 25,
        gamma: 8.0,
        learning_rate: 0.01,
        views: Views { few: 0.0, drop: 0.3, swap: 0.1, misspell: 0.3 },
        among_clicks: 0.0,
    };
    let encoder = EncoderConfig::Members(members(dimension));
    TrainConfig { encoder, titles: Some(titles), ..small(OptimizerKind::Adam) }
}

/// A folder with so many titles and no clicks.
fn place(titles: usize) -> Place {
    let place = with_clicks(titles);
    std::fs::remove_file(place.clicks()).expect("removed");
    place
}

fn with_clicks(titles: usize) -> Place {
    let place = Place::new(&log_rows(120, 1));
    std::fs::write(place.titles(), title_rows(titles, 1)).expect("written");
    place
}

fn titles(place: &Place) -> Vec<String> {
    let table = std::fs::read_to_string(place.titles()).expect("titles");
    table.lines().skip(1).map(|row| row.split_once('\t').expect("a title").1.to_owned()).collect()
}

/// The model, and the share of variance that its last epoch says.
fn learnt(place: &Place, config: &TrainConfig) -> (Model, Option<f64>) {
    let events = place.train(config, How::default()).expect("trained");
    let mut shares =
        events.iter().filter_map(|event| if let Event::Epoch(report) = event { report.variance } else { None });
    (Model::load(&place.output()).expect("a model"), shares.next_back())
}

fn raw<S: AsRef<str> + Sync>(model: &Model, side: Side, texts: &[S]) -> Vec<Vec<f64>> {
    let vectors = model.embedder(side).raw().embed(texts);
    vectors.chunks_exact(model.dimension()).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Σ (x − mean)² over all numbers of all vectors.
fn deviation(vectors: &[Vec<f64>]) -> f64 {
    let mean = |i: usize| vectors.iter().map(|vector| vector[i]).sum::<f64>() / vectors.len() as f64;
    (0..vectors[0].len()).map(|i| vectors.iter().map(|vector| (vector[i] - mean(i)).powi(2)).sum::<f64>()).sum()
}

/// The columns of a tower's projection.
fn components(model: &Model, side: Side) -> Vec<Vec<f64>> {
    let projection = &model.encoder(side).tensors().last().expect("a projection").value;
    (0..projection.columns())
        .map(|column| (0..projection.rows()).map(|row| f64::from(projection.row(row)[column])).collect())
        .collect()
}

#[test]
fn vectors_are_the_members_along_directions_that_keep_what_is_said() {
    let place = place(120);
    let texts = titles(&place);
    for shared_towers in [true, false] {
        let config = |dimension| TrainConfig { shared_towers, ..config(dimension) };
        let (whole, none) = learnt(&place, &config(None));
        assert_eq!((none, whole.training().variance), (None, None));
        let all = raw(&whole, Side::Title, &texts);
        let mut before = 0.0;
        for dimension in [1, 4, 14] {
            let (model, share) = learnt(&place, &config(Some(dimension)));
            assert_eq!((model.dimension(), model.training().variance), (dimension, share));
            let share = share.expect("a share");
            assert!(share > before && share < 1.0, "{dimension}: {share} after {before}");
            before = share;
            for side in [Side::Query, Side::Title] {
                let components = components(&model, side);
                for (i, a) in components.iter().enumerate() {
                    for (j, b) in components.iter().enumerate() {
                        assert!((dot(a, b) - f64::from(u8::from(i == j))).abs() < 1e-6, "{i} {j}");
                    }
                }
                // The members have learnt what they learn without a projection, and both towers are projected alike.
                let of_members = raw(&whole, side, &texts);
                let found = raw(&model, side, &texts);
                for (vector, found) in of_members.iter().zip(&found) {
                    assert!(components.iter().zip(found).all(|(of, x)| (dot(vector, of) - x).abs() < 1e-5));
                }
            }
            assert_eq!(components(&model, Side::Query), components(&model, Side::Title));
            let found = raw(&model, Side::Title, &texts);
            assert!((deviation(&found) / deviation(&all) - share).abs() < 1e-5, "{dimension}: {share}");
        }
    }
}

#[test]
fn with_all_numbers_every_cosine_is_that_of_the_members() {
    let place = with_clicks(120);
    let texts = titles(&place);
    let (whole, _) = learnt(&place, &config(None));
    let (model, share) = learnt(&place, &config(Some(15)));
    assert!((share.expect("a share") - 1.0).abs() < 1e-9);
    let [expected, found] = [&whole, &model].map(|model| {
        let titles = model.embedder(Side::Title).embed(&texts);
        let queries = model.embedder(Side::Query).embed(&QUERIES);
        let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        let cosines = |query: &[f32]| titles.chunks_exact(15).map(|title| cosine(query, title)).collect::<Vec<_>>();
        queries.chunks_exact(15).flat_map(cosines).collect::<Vec<f64>>()
    });
    assert_eq!(found.len(), QUERIES.len() * texts.len());
    assert!(expected.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-5), "{expected:?} {found:?}");
}

#[test]
fn fewer_titles_than_numbers_have_all_their_cosines() {
    // Nine titles have nine dimensions at most.
    let place = place(9);
    let texts = titles(&place);
    let [expected, found] = [None, Some(9)].map(|dimension| {
        let vectors = learnt(&place, &config(dimension)).0.embedder(Side::Title).embed(&texts);
        let rows: Vec<Vec<f64>> =
            vectors.chunks_exact(vectors.len() / 9).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect();
        rows.iter().flat_map(|a| rows.iter().map(|b| dot(a, b)).collect::<Vec<_>>()).collect::<Vec<f64>>()
    });
    assert!(expected.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-5), "{expected:?} {found:?}");
    assert!(learnt(&place, &config(Some(12))).1.is_some_and(|share| (share - 1.0).abs() < 1e-9));
}

#[test]
fn threads_and_kills_change_no_byte() {
    let config = config(Some(6));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let place = with_clicks(120);
        pool.install(|| place.train(&config, How::default()).map(drop)).expect("trained");
        place.model()
    };
    let whole = run(1);
    assert!(whole == run(2), "two threads");
    let how = How { checkpoint_every: Some(3), resume: true, ..How::default() };
    for after in [2, 4, 5, 6, 10, 14] {
        let place = with_clicks(120);
        place.interrupt(&config, how, after);
        place.train(&config, how).expect("resumed");
        assert!(whole == place.model(), "interrupted after {after}");
    }
    let again = with_clicks(120);
    again.interrupt(&config, how, 6);
    let other = TrainConfig { encoder: EncoderConfig::Members(members(Some(5))), ..config };
    let found = again.train(&other, how).expect_err("another run").to_string();
    assert!(found.contains("(encoder.dimension 6), found encoder.dimension 5;"), "{found}");
}

#[test]
fn members_of_an_initial_model_go_on_and_are_projected_anew() {
    let place = place(120);
    let (before, _) = learnt(&place, &config(Some(6)));
    std::fs::rename(place.output(), place.init()).expect("renamed");
    for dimension in [Some(6), Some(3), None] {
        // Steps so small that nothing moves.
        let mut still = config(dimension);
        let titles = still.titles.as_mut().expect("titles");
        (titles.learning_rate, titles.epochs) = (1e-20, 1);
        let (after, _) = learnt(&place, &still);
        let [before, after] = [&before, &after].map(|model| model.encoder(Side::Title).tensors().to_vec());
        let members = before.len() - 1;
        assert!(before[..members].iter().zip(&after).all(|(before, after)| before.value == after.value));
        assert_eq!(after.len(), members + usize::from(dimension.is_some()));
        if dimension == Some(6) {
            assert_eq!(before[members].value, after[members].value);
        }
    }
    // An update keeps the size.
    assert_eq!(training_config(&before, false, None, 0).encoder, config(Some(6)).encoder);
    let fewer = EncoderConfig::Members(MembersConfig { members: 2, ..members(Some(6)) });
    let found = place.train(&TrainConfig { encoder: fewer, ..config(None) }, How::default());
    refused_for(found, "an initial model of the encoder ");
}

#[test]
fn shares_of_words_and_their_pairs_sum_to_the_score() {
    let [whole, all, model] = [None, Some(15), Some(6)].map(|size| learnt(&with_clicks(60), &config(size)).0);
    let explain = |model: &Model| Explainer::new(model).explain("warm led lamp", "ceiling lamp led 3");
    let found = explain(&model);
    let score = f64::from(found.score);
    assert_eq!(found.units.len(), 6);
    let pairs = found.word_pairs().iter().map(|pair| pair.share).sum::<f64>();
    let along = |shares: &[f64]| shares.iter().sum::<f64>();
    for sum in [pairs, along(&found.query_words.along), along(&found.title_words.along), along(&found.units)] {
        assert!((sum - score).abs() < 1e-5, "{sum} {score}");
    }
    // With all numbers, the pairs are those of the cells.
    let share = |model: &Model, query_word: usize, title_word: usize| -> f64 {
        let pairs = explain(model).word_pairs();
        pairs.iter().filter(|of| (of.query_word, of.title_word) == (query_word, title_word)).map(|of| of.share).sum()
    };
    for (query_word, title_word) in (0..3).flat_map(|query| (0..4).map(move |title| (query, title))) {
        let [expected, found] = [&whole, &all].map(|model| share(model, query_word, title_word));
        assert!((expected - found).abs() < 1e-5, "{query_word} {title_word}: {expected} {found}");
    }
    // A dimension of a projection is no cell that a word has moved, and the states are still those of the cells.
    assert!(found.shared.iter().all(|unit| unit.query_word.is_none() && unit.title_word.is_none()));
    assert_eq!(found.query.activations()[0].units, 15);
}

#[test]
fn sizes_that_no_projection_has_are_refused() {
    let place = place(9);
    let fault = |encoder: MembersConfig| {
        let config = TrainConfig { encoder: EncoderConfig::Members(encoder), ..config(None) };
        match place.train(&config, How::default()) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("accepted"),
        }
    };
    for found in [0, 16, usize::MAX] {
        let fault = fault(members(Some(found)));
        assert!(fault.starts_with("encoder.dimension: expected"), "{fault}");
    }
    let alone = MembersConfig { members: 1, ..members(Some(2)) };
    assert!(fault(alone).starts_with("encoder.dimension: expected two members or more"));
}

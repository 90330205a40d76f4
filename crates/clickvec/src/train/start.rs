//! The weights that a run starts from.

use super::least_squares::Start;
use crate::clicks::ClickLog;
use crate::encoder::{Encoder, InitRange, Tensor, TensorKind, TextStatistics, initialize};
use crate::model::{Model, prefixes};
use crate::settings::TrainConfig;

/// The range of random weights beside those that were fitted to a teacher's vectors.
const SMALL: f32 = 0.01;

/// Returns encoders with these weights, one for each tower, without a projection.
pub(super) fn encoders(config: &TrainConfig, log: &ClickLog, towers: Vec<Vec<Tensor>>) -> Vec<Box<dyn Encoder>> {
    let encoder = |tensors: Vec<Tensor>| {
        let mut encoder = config.encoder.without_projection().build(log.dictionary().len());
        for (tensor, now) in encoder.tensors_mut().iter_mut().zip(tensors) {
            tensor.value = now.value;
        }
        encoder
    };
    towers.into_iter().map(encoder).collect()
}

/// Returns the towers before the first update: the weights of `init` or of `start`, and small random numbers for the rest.
pub(super) fn initial_towers(
    config: &TrainConfig,
    log: &ClickLog,
    init: Option<&Model>,
    start: Option<&Start>,
) -> Vec<Box<dyn Encoder>> {
    let statistics = log.statistics();
    let of = |words: u64, trigrams: u64, texts: u64| TextStatistics {
        trigrams_per_word: trigrams as f64 / words as f64,
        words_per_text: words as f64 / texts as f64,
    };
    let (queries, titles) =
        ((statistics.query_words, statistics.query_trigrams), (statistics.title_words, statistics.title_trigrams));
    // Both towers read titles without a click. If there are no clicks, all titles are such.
    let alone = &statistics.titles;
    // The other figures include pairs that are not learnt.
    let pairs = statistics.pairs + statistics.held_out + statistics.alone;
    let of = |words: u64, trigrams: u64, texts: u64| match pairs {
        0 => of(alone.words, alone.trigrams, alone.titles),
        _ => of(words, trigrams, texts),
    };
    let sides = if config.shared_towers {
        vec![of(queries.0 + titles.0, queries.1 + titles.1, 2 * pairs)]
    } else {
        vec![of(queries.0, queries.1, pairs), of(titles.0, titles.1, pairs)]
    };
    let tower = |(number, (prefix, statistics)): (usize, (&str, TextStatistics))| {
        let members = config.encoder.without_projection();
        let mut encoder = members.build(log.dictionary().len());
        let side = prefix.trim_end_matches('.');
        // Gates and recurrent weights that are not small would undo the start.
        let range = if start.is_some() { InitRange::Uniform(SMALL) } else { config.init_range };
        initialize(&mut *encoder, &members, side, statistics, range, config.forget_bias, config.seed);
        if let Some(start) = start {
            start.set(&mut *encoder);
        }
        if let Some(init) = init {
            // The initial model's trigrams come before new ones, and its words before new ones. One tower may become two.
            let from = init.towers.get(number).unwrap_or(&init.towers[0]).tensors();
            let old_trigrams = init.dictionary().trigrams().len();
            let trigrams = log.dictionary().trigrams().len();
            for (tensor, from) in encoder.tensors_mut().iter_mut().zip(from) {
                let known = from.value.data();
                let (first, words) = match from.kind {
                    TensorKind::Input => (old_trigrams * from.value.columns(), trigrams * from.value.columns()),
                    TensorKind::Dense | TensorKind::Bias => (known.len(), known.len()),
                };
                let to = tensor.value.data_mut();
                to[..first].copy_from_slice(&known[..first]);
                to[words..][..known.len() - first].copy_from_slice(&known[first..]);
            }
        }
        encoder
    };
    prefixes(config.shared_towers).into_iter().zip(sides).enumerate().map(tower).collect()
}

//! The network of paragraph vectors: its predictions, and how it learns from errors.

use rand::{Rng, RngExt as _};

use clickvec::internals::math::vector::{add, add_scaled, dot};
use clickvec::internals::rng::stream;
use clickvec::internals::text::WordId;

/// The exponent of a word's frequency in the distribution of negative samples (Mikolov et al. 2013, section 2.2).
const NEGATIVE_EXPONENT: f64 = 0.75;
/// The value to which the learning rate falls linearly.
const LAST_RATE: f64 = 1e-4;

/// The parameters in the form that the network uses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Options {
    /// Whether to use distributed memory instead of the distributed bag of words.
    pub(super) memory: bool,
    /// Whether the distributed bag of words learns word vectors too.
    pub(super) words: bool,
    pub(super) size: usize,
    pub(super) window: usize,
    pub(super) sample: f64,
    pub(super) negative: usize,
    pub(super) epochs: usize,
    pub(super) rate: f64,
    pub(super) seed: u64,
}

impl Options {
    /// Returns the learning rate at a point of training that runs from 0 to 1.
    pub(super) fn rate_at(&self, position: f64) -> f32 {
        (self.rate - (self.rate - LAST_RATE.min(self.rate)) * position) as f32
    }

    /// Returns whether there are context vectors of words.
    pub(super) fn has_inputs(&self) -> bool {
        self.memory || self.words
    }
}

/// The parameters that all texts share.
#[derive(Debug, Clone)]
pub(super) struct Network {
    /// Context vectors of words, [words, size]; empty if the context is the text's vector alone.
    pub(super) inputs: Vec<f32>,
    /// Output vectors of words, [words, size].
    pub(super) outputs: Vec<f32>,
    /// The number of occurrences of each word in the texts.
    pub(super) frequencies: Vec<u32>,
    /// The probability of keeping each word of a text.
    sampled: Vec<f32>,
    negatives: AliasTable,
}

impl Network {
    /// Creates an untrained network, with small random context vectors and zero output vectors.
    pub(super) fn new(frequencies: Vec<u32>, options: &Options) -> Network {
        let words = frequencies.len();
        let inputs = if options.has_inputs() {
            random_rows(words, options.size, options.seed, "doc2vec words")
        } else {
            Vec::new()
        };
        Network::from_parts(frequencies, inputs, vec![0.0; words * options.size], options)
    }

    /// Creates a network with these vectors.
    pub(super) fn from_parts(frequencies: Vec<u32>, inputs: Vec<f32>, outputs: Vec<f32>, options: &Options) -> Network {
        let total: f64 = frequencies.iter().map(|&count| f64::from(count)).sum();
        // √(t/f) + t/f, as in word2vec, and not √(t/f) as in the paper.
        let keep = |count: &u32| match options.sample * total / f64::from(*count) {
            _ if options.sample == 0.0 => 1.0,
            ratio => (ratio.sqrt() + ratio) as f32,
        };
        let sampled = frequencies.iter().map(keep).collect();
        let weights = frequencies.iter().map(|&count| f64::from(count).powf(NEGATIVE_EXPONENT)).collect();
        Network { inputs, outputs, sampled, negatives: AliasTable::new(weights), frequencies }
    }

    /// Draws a negative sample.
    pub(super) fn draw(&self, random: &mut impl Rng) -> WordId {
        self.negatives.draw(random)
    }
}

/// A network that learns, or one that is used only to learn the vector of a text.
pub(super) enum Access<'n> {
    Learning(&'n mut Network),
    Fixed(&'n Network),
}

impl Access<'_> {
    fn network(&self) -> &Network {
        match self {
            Access::Learning(network) => network,
            Access::Fixed(network) => network,
        }
    }

    fn learning(&mut self) -> Option<&mut Network> {
        match self {
            Access::Learning(network) => Some(network),
            Access::Fixed(_) => None,
        }
    }
}

/// Working memory, reused from text to text.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    sampled: Vec<WordId>,
    hidden: Vec<f32>,
    /// −rate · the gradient of the loss with respect to `hidden`.
    error: Vec<f32>,
}

/// The loss of some predictions, and their number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Loss {
    pub(super) sum: f64,
    pub(super) predictions: u64,
}

/// Makes one pass over a text: predicts each of its words, and moves everything used for that by a step.
pub(super) fn learn_text(
    access: &mut Access<'_>,
    options: &Options,
    text: &[WordId],
    vector: &mut [f32],
    rate: f32,
    random: &mut impl Rng,
    scratch: &mut Scratch,
) -> Loss {
    let Scratch { sampled, hidden, error } = scratch;
    let size = options.size;
    hidden.resize(size, 0.0);
    error.resize(size, 0.0);
    let chances = &access.network().sampled;
    sampled.clear();
    sampled.extend(text.iter().copied().filter(|&word| {
        chances[word as usize] >= 1.0 || {
            let draw: f32 = random.random();
            draw < chances[word as usize]
        }
    }));
    let mut loss = Loss::default();
    for (position, &word) in sampled.iter().enumerate() {
        // The window is drawn again for each word, so that near words count more.
        let reach = if options.has_inputs() { random.random_range(1..=options.window) } else { 0 };
        let context = position.saturating_sub(reach)..(position + reach + 1).min(sampled.len());
        let neighbours = context.filter(|&other| other != position).map(|other| sampled[other] as usize * size);
        if options.memory {
            hidden.copy_from_slice(vector);
            neighbours.clone().for_each(|row| add(hidden, &access.network().inputs[row..row + size]));
            let scale = 1.0 / (1 + neighbours.clone().count()) as f32;
            hidden.iter_mut().for_each(|x| *x *= scale);
            loss.add(predict(access, options, word, hidden, rate, error, random));
            add(vector, error);
            if let Some(network) = access.learning() {
                neighbours.for_each(|row| add(&mut network.inputs[row..row + size], error));
            }
        } else {
            if let Access::Learning(_) = access {
                for row in neighbours {
                    hidden.copy_from_slice(&access.network().inputs[row..row + size]);
                    loss.add(predict(access, options, word, hidden, rate, error, random));
                    if let Some(network) = access.learning() {
                        add(&mut network.inputs[row..row + size], error);
                    }
                }
            }
            loss.add(predict(access, options, word, vector, rate, error, random));
            add(vector, error);
        }
    }
    loss
}

impl Loss {
    pub(super) fn add(&mut self, other: Loss) {
        self.sum += other.sum;
        self.predictions += other.predictions;
    }
}

/// Learns to tell `word` from words drawn at random: L = −log σ(u·h) − Σ over the drawn words of log σ(−u·h), where u
/// is a word's output vector and h is `hidden`. Moves the output vectors, and leaves −rate · ∂L/∂h in `error`.
pub(super) fn predict(
    access: &mut Access<'_>,
    options: &Options,
    word: WordId,
    hidden: &[f32],
    rate: f32,
    error: &mut [f32],
    random: &mut impl Rng,
) -> Loss {
    error.fill(0.0);
    let size = hidden.len();
    // One logarithm of the product costs less than a logarithm of each factor.
    let mut likelihood = 1.0f64;
    for drawn in 0..=options.negative {
        let (other, label) = match drawn {
            0 => (word, 1.0),
            _ => (access.network().draw(random), 0.0),
        };
        // As in word2vec, a word is not its own negative, and no other is drawn instead.
        if drawn > 0 && other == word {
            continue;
        }
        let row = other as usize * size..(other as usize + 1) * size;
        let output = &access.network().outputs[row.clone()];
        let predicted = 1.0 / (1.0 + (-dot(hidden, output)).exp());
        let step = (label - predicted) * rate;
        likelihood *= f64::from(if drawn == 0 { predicted } else { 1.0 - predicted });
        add_scaled(error, step, output);
        if let Some(network) = access.learning() {
            add_scaled(&mut network.outputs[row], step, hidden);
        }
    }
    // max() would hide a NaN.
    let likelihood = if likelihood < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { likelihood };
    Loss { sum: -likelihood.ln(), predictions: 1 }
}

/// Draws uniform numbers in ±1/size, the initial values of gensim. With word2vec's ±½/size, few texts learn as much in the same
/// number of epochs.
pub(super) fn random_rows(rows: usize, size: usize, seed: u64, name: &str) -> Vec<f32> {
    let mut random = stream(seed, name, 0);
    (0..rows * size).map(|_| random_coordinate(&mut random, size)).collect()
}

pub(super) fn random_coordinate(random: &mut impl Rng, size: usize) -> f32 {
    (2.0 * random.random::<f32>() - 1.0) / size as f32
}

/// A table that draws from a fixed distribution in constant time (Walker 1977; built as in Vose 1991).
#[derive(Debug, Clone)]
pub(super) struct AliasTable {
    /// For each slot the probability of drawing the slot itself; otherwise its `alias` is drawn.
    chance: Vec<f32>,
    alias: Vec<u32>,
}

impl AliasTable {
    /// Creates a distribution proportional to `weights`, which must be finite and not negative.
    pub(super) fn new(mut weights: Vec<f64>) -> AliasTable {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        weights.iter_mut().for_each(|weight| *weight *= scale);
        let (mut chance, mut alias) = (vec![1.0; weights.len()], vec![0; weights.len()]);
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..weights.len()).partition(|&i| weights[i] < 1.0);
        // The part of its slot that a small weight does not use is given to a large one. Rounding may leave slots of
        // weight 1.
        while let (Some(&giver), true) = (large.last(), !small.is_empty()) {
            let taker = small.pop().unwrap_or_default();
            chance[taker] = weights[taker] as f32;
            alias[taker] = giver as u32;
            weights[giver] -= 1.0 - weights[taker];
            if weights[giver] < 1.0 {
                large.pop();
                small.push(giver);
            }
        }
        AliasTable { chance, alias }
    }

    pub(super) fn draw(&self, random: &mut impl Rng) -> u32 {
        let bits: u64 = random.random();
        let position = ((bits >> 32) * self.chance.len() as u64) >> 32;
        let draw = (bits as u32 >> 8) as f32 / (1u32 << 24) as f32;
        if draw < self.chance[position as usize] { position as u32 } else { self.alias[position as usize] }
    }
}

//! Training with Adam (Kingma and Ba 2015) on minibatches of sentences.

use rand::RngExt as _;
use rayon::prelude::*;

use super::model::{Gradient, Model, Tuple};
use super::sentences::Sentences;
use super::softmax::Candidates;
use crate::error::{LearnFault, Remedy};
use crate::math::Buffer;
use crate::math::vector::{add, sum_of_squares};
use crate::optimizer::adam::{AdamStep, adam};
use crate::ranker::system::{Progress, Watch};
use crate::rng::{self, Permutation};

/// The number of tuples in a task.
const BLOCK: usize = 64;
/// The number of minibatches between two progress reports.
const ROUND: usize = 50;

/// The settings of training.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) epochs: usize,
    pub(super) minibatch: usize,
    pub(super) learning_rate: f64,
    /// The norm to which a longer gradient is scaled down.
    pub(super) clip_norm: f64,
    /// The number of words drawn for each minibatch's softmax; 0 for all words.
    pub(super) negatives: usize,
    pub(super) seed: u64,
}

/// The models, trained independently.
pub(super) fn train(
    models: Vec<Model>,
    sentences: &Sentences,
    settings: &Settings,
    watch: &mut Watch<'_>,
) -> Result<Vec<Model>, LearnFault> {
    let draws = Draws::new(&sentences.counts);
    let minibatches = sentences.len().div_ceil(settings.minibatch);
    let rounds = minibatches.div_ceil(ROUND);
    let (of, mut done) = ((settings.epochs * rounds) as u64, 0);
    let updates = (settings.epochs * minibatches) as f64;
    let mut learners: Vec<Learner> = models.into_iter().map(Learner::new).collect();
    for epoch in 0..settings.epochs {
        let order = Permutation::new(sentences.len() as u64, settings.seed, "skip-thought.order", epoch as u64);
        for round in 0..rounds {
            let part = round * ROUND..((round + 1) * ROUND).min(minibatches);
            let learn = |learner: &mut Learner| {
                let (mut loss, mut predicted) = (0.0, 0);
                for minibatch in part.clone() {
                    let first = minibatch * settings.minibatch;
                    let places = first..(first + settings.minibatch).min(sentences.len());
                    let tuples: Vec<Tuple<'_>> =
                        places.map(|place| sentences.tuple(order.at(place as u64) as usize)).collect();
                    let rate = settings.learning_rate * (1.0 - learner.updates as f64 / updates);
                    let gradient = learner.update(&tuples, &draws, settings, rate);
                    loss += gradient.0;
                    predicted += gradient.1;
                }
                loss / predicted as f64
            };
            let losses: Vec<f64> = learners.par_iter_mut().map(learn).collect();
            let objective = losses.iter().sum::<f64>() / losses.len() as f64;
            done += 1;
            if !objective.is_finite() {
                return Err(LearnFault::Diverged { step: done, remedy: Remedy::Smaller("learning-rate") });
            }
            watch(Progress { done, of, objective: Some(objective) });
        }
    }
    Ok(learners.into_iter().map(|learner| learner.model).collect())
}

/// A sampler that draws words as often as they are to be predicted.
struct Draws {
    /// The cumulative counts of words.
    cumulated: Vec<u64>,
}

impl Draws {
    fn new(counts: &[u64]) -> Draws {
        let sum = |sum: &mut u64, count: &u64| {
            *sum += count;
            Some(*sum)
        };
        Draws { cumulated: counts.iter().scan(0, sum).collect() }
    }

    fn total(&self) -> u64 {
        self.cumulated.last().copied().unwrap_or(0)
    }

    /// The word at this place in the cumulative counts.
    fn word(&self, place: u64) -> u32 {
        self.cumulated.partition_point(|&end| end <= place) as u32
    }

    /// P(w)
    fn probability(&self, word: u32) -> f64 {
        let word = word as usize;
        let before = if word == 0 { 0 } else { self.cumulated[word - 1] };
        (self.cumulated[word] - before) as f64 / self.total() as f64
    }
}

/// A model and the state of its updates.
struct Learner {
    model: Model,
    updates: u64,
    word_vectors: Moments,
    output: Moments,
    output_bias: Moments,
    grus: Vec<[Moments; 3]>,
}

/// Adam's running means of gradients and of their squares.
struct Moments {
    mean: Buffer,
    square: Buffer,
}

impl Moments {
    fn like(buffer: &[f32]) -> Moments {
        Moments { mean: Buffer::zeros(buffer.len()), square: Buffer::zeros(buffer.len()) }
    }
}

impl Learner {
    fn new(model: Model) -> Learner {
        let grus = model.encoders.iter().chain(&model.decoders).map(|gru| gru.tensors().map(|x| Moments::like(x)));
        Learner {
            updates: 0,
            word_vectors: Moments::like(model.word_vectors.data()),
            output: Moments::like(model.output.data()),
            output_bias: Moments::like(&model.output_bias),
            grus: grus.collect(),
            model,
        }
    }

    /// Makes one update. Returns the loss of all predicted words before it, and their number.
    fn update(&mut self, tuples: &[Tuple<'_>], draws: &Draws, settings: &Settings, rate: f64) -> (f64, u64) {
        let texts = tuples.iter().flat_map(|tuple| [tuple.sentence, tuple.neighbours[0], tuple.neighbours[1]]);
        let words = distinct(texts.flatten().copied().collect());
        let candidates = self.candidates(tuples, draws, settings);
        let shared = self.model.share(words, candidates);
        let weight = 1.0 / tuples.len() as f32;
        let blocks: Vec<Gradient> =
            tuples.par_chunks(BLOCK).map(|tuples| self.model.gradient(&shared, tuples, weight)).collect();
        // In the order of the blocks, whichever finished first.
        let gradient = blocks.into_iter().reduce(sum).expect("a minibatch has a tuple");
        self.apply(&shared.words, &shared.candidates.words, &gradient, settings.clip_norm, rate);
        (gradient.loss, gradient.predicted)
    }

    fn candidates(&self, tuples: &[Tuple<'_>], draws: &Draws, settings: &Settings) -> Candidates {
        let Model { output, output_bias, .. } = &self.model;
        if settings.negatives == 0 {
            return Candidates::new((0..output.rows() as u32).collect(), output.data(), output_bias, |_| 1.0);
        }
        let mut stream = rng::stream(settings.seed, "skip-thought.negatives", self.updates);
        let drawn = (0..settings.negatives).map(|_| draws.word(stream.random_range(0..draws.total())));
        let neighbours = tuples.iter().flat_map(|tuple| tuple.neighbours).filter(|sentence| !sentence.is_empty());
        let predicted = neighbours.flat_map(|sentence| sentence.iter().copied().chain([self.model.end()]));
        let all: Vec<u32> = predicted.chain(drawn).collect();
        // Predicted words come as often as they occur, and so do words that are drawn.
        let count = all.len() as f64;
        let presence = |word| -f64::exp_m1(count * f64::ln_1p(-draws.probability(word)));
        Candidates::new(distinct(all), output.data(), output_bias, presence)
    }

    fn apply(&mut self, words: &[u32], candidates: &[u32], gradient: &Gradient, clip_norm: f64, rate: f64) {
        self.updates += 1;
        let grus = gradient.grus.iter().flat_map(|gru| gru.tensors());
        let tensors = grus.chain([&gradient.word_vectors, &gradient.candidates.rows, &gradient.candidates.bias]);
        let norm = tensors.map(|tensor| sum_of_squares(tensor)).sum::<f64>().sqrt();
        let step = AdamStep::new(self.updates, rate, if norm > clip_norm { clip_norm / norm } else { 1.0 });
        let Learner { model, word_vectors, output, output_bias, grus, .. } = self;
        let all = model.encoders.iter_mut().chain(&mut model.decoders).zip(grus).zip(&gradient.grus);
        for ((gru, moments), gradient) in all {
            for ((value, moments), gradient) in gru.tensors_mut().into_iter().zip(moments).zip(gradient.tensors()) {
                adam(value, &mut moments.mean, &mut moments.square, gradient, step);
            }
        }
        let width = model.word_vectors.columns();
        rows(model.word_vectors.data_mut(), word_vectors, width, words, &gradient.word_vectors, step);
        let width = model.output.columns();
        rows(model.output.data_mut(), output, width, candidates, &gradient.candidates.rows, step);
        rows(&mut model.output_bias, output_bias, 1, candidates, &gradient.candidates.bias, step);
    }
}

/// The words without repetitions, ascending.
fn distinct(mut words: Vec<u32>) -> Vec<u32> {
    words.sort_unstable();
    words.dedup();
    words
}

/// The sum of two blocks' gradients.
fn sum(mut all: Gradient, block: Gradient) -> Gradient {
    all.loss += block.loss;
    all.predicted += block.predicted;
    for (all, block) in all.grus.iter_mut().zip(&block.grus) {
        for (all, block) in all.tensors_mut().into_iter().zip(block.tensors()) {
            add(all, block);
        }
    }
    add(&mut all.word_vectors, &block.word_vectors);
    add(&mut all.candidates.rows, &block.candidates.rows);
    add(&mut all.candidates.bias, &block.candidates.bias);
    all
}

/// Updates those rows of the word vectors that the minibatch has, and leaves the others alone.
fn rows(values: &mut [f32], moments: &mut Moments, width: usize, touched: &[u32], gradient: &[f32], step: AdamStep) {
    for (&row, gradient) in touched.iter().zip(gradient.chunks_exact(width)) {
        let span = row as usize * width..(row as usize + 1) * width;
        let Moments { mean, square } = moments;
        adam(&mut values[span.clone()], &mut mean[span.clone()], &mut square[span], gradient, step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_drawn_as_often_as_they_occur() {
        let draws = Draws::new(&[3, 0, 2, 1]);
        let drawn: Vec<u32> = (0..draws.total()).map(|place| draws.word(place)).collect();
        assert_eq!(drawn, [0, 0, 0, 2, 2, 3]);
        assert_eq!((draws.probability(0), draws.probability(1), draws.probability(3)), (0.5, 0.0, 1.0 / 6.0));
    }
}

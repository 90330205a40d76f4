//! Maximum a posteriori estimation of topics by EM, from texts of one language or from pairs of texts of two
//! languages.
//!
//! The model is P(w|D) = Σ_z P(w|z, side) θ_Dz for each word of each side, with Dirichlet priors on θ_D and on P(·|z,
//! side). An iteration goes over the texts and then over the words, so that each number is computed by one thread in
//! one order, and no thread needs its own counts: θ'_Dz ∝ prior + θ_Dz Σ_{w∈D} P(w|z) / P(w|D), and P'(w|z) ∝
//! prior + P(w|z) Σ_{D∋w} weight_D θ_Dz / P(w|D).

use rand::RngExt as _;
use rayon::prelude::*;

use super::Topics;
use super::pair::{Scratch, Tilt, pair, single, sum_of_logarithms};
use super::side::Side;
use crate::systems::fault::diverged;
use clickvec::internals::math::vector::{add_scaled, dot};
use clickvec::internals::rng::stream;
use clickvec_eval::ranker::{Progress, Watch};
use clickvec_tables::Error;
use clickvec_tables::memory::{NoRoom, room_for_numbers};

/// The number of texts in a task.
const TEXTS: usize = 64;
/// The number of words in a task.
const WORDS: usize = 8;

pub(super) struct Settings {
    pub(super) topics: usize,
    pub(super) iterations: usize,
    /// The amount that the prior adds to each topic of a text.
    pub(super) topic_prior: f32,
    /// The amount that the prior adds to each word of a topic.
    pub(super) word_prior: f32,
    pub(super) seed: u64,
}

/// Trains the topics of each side: of single texts, or of pairs, whose sides are made to agree.
///
/// # Errors
/// [`clickvec_tables::ErrorKind::NotFinite`] if it diverges.
pub(super) fn train(
    system: &'static str,
    sides: &[&Side],
    weights: &[f32],
    settings: &Settings,
    watch: &mut Watch<'_>,
) -> Result<Vec<Topics>, Error> {
    let mut em = Em::new(sides, weights, settings);
    for step in 1..=settings.iterations as u64 {
        let objective = em.iterate();
        if !objective.is_finite() {
            return Err(diverged(system, step, "larger priors"));
        }
        watch(Progress { done: step, of: settings.iterations as u64, objective: Some(objective) });
    }
    let topics = |(side, topic_words): (&&Side, TopicWords)| Topics {
        count: settings.topics,
        row_of: side.row_of.clone(),
        probability: topic_words.probability,
    };
    Ok(sides.iter().zip(em.topic_words).map(topics).collect())
}

/// Checks that there is memory to train on `texts` texts or pairs of these sides.
///
/// # Errors
///
/// [`NoRoom`].
pub(super) fn room(sides: &[&Side], texts: usize, topics: usize) -> Result<(), NoRoom> {
    let words = sides.iter().map(|side| side.words()).sum();
    // P(w|z) as it is and as it will be. θ the same; of pairs, λ and the two sides' θ besides.
    let copies = if sides.len() == 2 { 5 } else { 2 };
    room_for_numbers::<f32>("topics", &[&[2, words, topics], &[copies, texts, topics]])
}

/// P(w|z) for the words of one side.
struct TopicWords {
    /// [words, T]
    probability: Vec<f32>,
    /// Σ ln P(w|z) over all words and topics.
    logarithms: f64,
}

/// λ and the θ of both sides for all pairs, each [pairs, T].
struct Tilts {
    lambda: Vec<f32>,
    theta: [Vec<f32>; 2],
}

/// A task for a thread: a run of texts.
struct Run<'a> {
    first: usize,
    theta: &'a [f32],
    next: &'a mut [f32],
    /// λ and the θ of both sides.
    tilts: Option<[&'a mut [f32]; 3]>,
}

struct Em<'a> {
    settings: &'a Settings,
    sides: &'a [&'a Side],
    /// The weight of each text or pair.
    weights: &'a [f32],
    /// P(w|z) of each side.
    topic_words: Vec<TopicWords>,
    /// [texts, T]
    theta: Vec<f32>,
    next: Vec<f32>,
    tilts: Option<Tilts>,
}

impl<'a> Em<'a> {
    /// Topics are initialised with the words of random texts: each text has one topic for half of its words, and the
    /// other half is spread evenly.
    fn new(sides: &'a [&'a Side], weights: &'a [f32], settings: &'a Settings) -> Em<'a> {
        let (topics, texts) = (settings.topics, weights.len());
        let mut random = stream(settings.seed, "topics of texts", 0);
        let mut theta = vec![0.5 / topics as f32; texts * topics];
        for theta in theta.chunks_exact_mut(topics) {
            theta[random.random_range(0..topics)] += 0.5;
        }
        // If all topics are equal, every text is equally likely, and a word's counts are the sums of θ.
        let topic_words = |side: &&Side| TopicWords { probability: vec![1.0; side.words() * topics], logarithms: 0.0 };
        let topic_words = sides.iter().map(topic_words).collect();
        let next = theta.clone();
        let tilts = || Tilts { lambda: vec![0.0; texts * topics], theta: [theta.clone(), theta.clone()] };
        let tilts = (sides.len() == 2).then(tilts);
        let mut em = Em { settings, sides, weights, topic_words, theta, next, tilts };
        em.words();
        em
    }

    /// Makes one iteration. Returns the logarithm of the posterior density before it, up to a constant.
    fn iterate(&mut self) -> f64 {
        let word_prior = f64::from(self.settings.word_prior);
        let words_log: f64 = self.topic_words.iter().map(|topic_words| topic_words.logarithms).sum();
        let texts_log = self.texts();
        self.words();
        std::mem::swap(&mut self.theta, &mut self.next);
        texts_log + if word_prior > 0.0 { word_prior * words_log } else { 0.0 }
    }

    /// Updates the topics of the texts, and returns the texts' part of the objective.
    fn texts(&mut self) -> f64 {
        let Settings { topics, topic_prior, .. } = *self.settings;
        let run = TEXTS * topics;
        let mut tilts = self.tilts.as_mut().map(|Tilts { lambda, theta: [a, b] }| {
            lambda.chunks_mut(run).zip(a.chunks_mut(run)).zip(b.chunks_mut(run)).map(|((lambda, a), b)| [lambda, a, b])
        });
        let runs = self.theta.chunks(run).zip(self.next.chunks_mut(run)).enumerate();
        let runs: Vec<Run<'_>> = runs
            .map(|(number, (theta, next))| Run {
                first: number * TEXTS,
                theta,
                next,
                tilts: tilts.as_mut().and_then(Iterator::next),
            })
            .collect();
        let (sides, weights, topic_words) = (self.sides, self.weights, &self.topic_words);
        let objective = |scratch: &mut Scratch, mut run: Run<'_>| {
            let mut sum = 0.0;
            for (position, theta) in run.theta.chunks_exact(topics).enumerate() {
                let (text, numbers) = (run.first + position, position * topics..(position + 1) * topics);
                let next = &mut run.next[numbers.clone()];
                let likelihood = match &mut run.tilts {
                    None => single(sides[0].text(text), &topic_words[0].probability, theta, next, scratch),
                    Some(tilts) => {
                        let [lambda, a, b] = tilts.each_mut().map(|numbered| &mut numbered[numbers.clone()]);
                        let words = [sides[0].text(text), sides[1].text(text)];
                        let topic_words = [&topic_words[0].probability[..], &topic_words[1].probability];
                        pair(words, topic_words, theta, Tilt { lambda, theta: [a, b] }, next, scratch)
                    }
                };
                let prior = f64::from(topic_prior);
                let prior = if prior > 0.0 { prior * sum_of_logarithms(theta) } else { 0.0 };
                next.iter_mut().for_each(|next| *next += topic_prior);
                scale_to_1(next);
                sum += f64::from(weights[text]) * (likelihood + prior);
            }
            sum
        };
        let objectives: Vec<f64> = runs.into_par_iter().map_init(|| Scratch::new(topics), objective).collect();
        objectives.iter().sum()
    }

    /// Updates the words, using the topics that the texts had before.
    fn words(&mut self) {
        let Settings { topics, word_prior, .. } = *self.settings;
        for (number, (side, topic_words)) in self.sides.iter().zip(&mut self.topic_words).enumerate() {
            let theta = self.tilts.as_ref().map_or(&self.theta, |tilts| &tilts.theta[number]);
            let rows = topic_words.probability.par_chunks_exact_mut(topics).enumerate().with_max_len(WORDS);
            rows.for_each_init(
                || vec![0.0; topics],
                |counts, (row, probability)| {
                    counts.fill(0.0);
                    for &text in side.occurrences(row) {
                        let theta = &theta[text as usize * topics..][..topics];
                        let p = dot(probability, theta);
                        if p > 0.0 {
                            add_scaled(counts, self.weights[text as usize] / p, theta);
                        }
                    }
                    probability.iter_mut().zip(&*counts).for_each(|(p, count)| *p = *p * count + word_prior);
                },
            );
            *topic_words = normalized(std::mem::take(&mut topic_words.probability), topics);
        }
    }
}

/// Makes each topic's probabilities sum to 1.
fn normalized(mut probability: Vec<f32>, topics: usize) -> TopicWords {
    /// The number of rows that are summed separately.
    const ROWS: usize = 512;
    let parts: Vec<Vec<f64>> = probability
        .par_chunks(ROWS * topics)
        .map(|rows| {
            let mut sums = vec![0.0; topics];
            for row in rows.chunks_exact(topics) {
                sums.iter_mut().zip(row).for_each(|(sum, &p)| *sum += f64::from(p));
            }
            sums
        })
        .collect();
    let mut scales = vec![0.0f64; topics];
    parts.iter().for_each(|part| scales.iter_mut().zip(part).for_each(|(scale, sum)| *scale += sum));
    let scales: Vec<f32> = scales.iter().map(|&sum| if sum > 0.0 { (1.0 / sum) as f32 } else { 0.0 }).collect();
    let logarithms: Vec<f64> = probability
        .par_chunks_mut(ROWS * topics)
        .map(|rows| {
            let scale_row = |row: &mut [f32]| {
                row.iter_mut().zip(&scales).for_each(|(p, scale)| *p *= scale);
                sum_of_logarithms(row)
            };
            rows.chunks_exact_mut(topics).map(scale_row).sum()
        })
        .collect();
    TopicWords { probability, logarithms: logarithms.iter().sum() }
}

fn scale_to_1(values: &mut [f32]) {
    let sum: f32 = values.iter().sum();
    if sum > 0.0 {
        let scale = 1.0 / sum;
        values.iter_mut().for_each(|value| *value *= scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes an iteration of EM by its definition, word by word, with P(z|w, D) written out.
    fn naive(
        texts: &[&[u32]],
        weights: &[f32],
        theta: &mut [Vec<f64>],
        phi: &mut [Vec<f64>],
        settings: &Settings,
    ) -> f64 {
        let topics = settings.topics;
        let (topic_prior, word_prior) = (f64::from(settings.topic_prior), f64::from(settings.word_prior));
        let mut next_theta = vec![vec![topic_prior; topics]; theta.len()];
        let mut next_phi = vec![vec![word_prior; topics]; phi.len()];
        let mut objective: f64 = phi.iter().flatten().map(|p| word_prior * p.ln()).sum();
        for (d, text) in texts.iter().enumerate() {
            let weight = f64::from(weights[d]);
            objective += weight * theta[d].iter().map(|p| topic_prior * p.ln()).sum::<f64>();
            for &w in *text {
                let joint: Vec<f64> = (0..topics).map(|z| phi[w as usize][z] * theta[d][z]).collect();
                let total: f64 = joint.iter().sum();
                objective += weight * total.ln();
                for z in 0..topics {
                    next_theta[d][z] += joint[z] / total;
                    next_phi[w as usize][z] += weight * joint[z] / total;
                }
            }
        }
        for row in &mut next_theta {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= sum);
        }
        for z in 0..topics {
            let sum: f64 = next_phi.iter().map(|row| row[z]).sum();
            next_phi.iter_mut().for_each(|row| row[z] /= sum);
        }
        theta.clone_from_slice(&next_theta);
        phi.clone_from_slice(&next_phi);
        objective
    }

    #[test]
    fn iterations_are_those_of_the_definition() {
        let texts: [&[u32]; 4] = [&[0, 1, 1, 4], &[2, 3], &[0, 0, 2, 4], &[3, 2, 1]];
        let weights = [1.0, 2.5, 0.5, 1.0];
        let side = Side::new(texts.into_iter(), 5).unwrap();
        // In rows, which are numbered by first occurrence.
        let in_rows: Vec<&[u32]> = (0..4).map(|text| side.text(text)).collect();
        let settings = Settings { topics: 3, iterations: 0, topic_prior: 0.2, word_prior: 0.1, seed: 1 };
        let sides = [&side];
        let mut em = Em::new(&sides, &weights, &settings);
        let rows = |flat: &[f32]| -> Vec<Vec<f64>> {
            flat.chunks_exact(3).map(|row| row.iter().map(|&p| f64::from(p)).collect()).collect()
        };
        let (mut theta, mut phi) = (rows(&em.theta), rows(&em.topic_words[0].probability));
        for _ in 0..20 {
            let objective = naive(&in_rows, &weights, &mut theta, &mut phi, &settings);
            assert!((em.iterate() - objective).abs() < 1e-4, "expected {objective}");
        }
        let found = [rows(&em.theta), rows(&em.topic_words[0].probability)];
        for (found, expected) in found.iter().flatten().flatten().zip([theta, phi].iter().flatten().flatten()) {
            assert!((found - expected).abs() < 1e-4, "{found}, expected {expected}");
        }
    }
}

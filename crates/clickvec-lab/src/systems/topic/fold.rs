//! Folding in: inferring the topics of a new title, with the topics of its words fixed.

use clickvec::internals::math::vector::{add_scaled, dot};

/// The method of inferring the topics of a title. `prior` is added to each topic before any word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Inference {
    /// The most likely θ by EM: θ_z ∝ prior + Σ_w P(z|w, θ). There is one maximum.
    Map { prior: f32 },
    /// The mean of θ by collapsed variational inference of order zero (Asuncion, Welling, Smyth, Teh, "On smoothing
    /// and inference for topic models", 2009): P(z|w) ∝ P(w|z) (prior + Σ over the other words of P(z|w')). It is what
    /// a collapsed Gibbs sampler estimates, but without randomness.
    Mean { prior: f32 },
}

/// The largest number of sweeps over the title's words.
const SWEEPS: usize = 10_000;
/// Folding in is done when a sweep changes θ by no more than this, summed over the topics.
const MOVED: f32 = 1e-6;

/// Folding-in of titles, with working memory that is reused.
pub(super) struct Folder {
    inference: Inference,
    /// P(z|D).
    theta: Vec<f32>,
    /// The next θ; or the expected number of words of each topic.
    next: Vec<f32>,
    /// P(z|w), word by word.
    word_topics: Vec<f32>,
}

impl Folder {
    pub(super) fn new(topics: usize, inference: Inference) -> Folder {
        Folder { inference, theta: vec![0.0; topics], next: vec![0.0; topics], word_topics: Vec::new() }
    }

    /// Infers P(z|D) of a title with these words, each P(w|z) for all z.
    pub(super) fn fold<'a>(&mut self, words: impl Iterator<Item = &'a [f32]>) -> &[f32] {
        let words: Vec<&[f32]> = words.collect();
        let even = 1.0 / self.theta.len() as f32;
        self.theta.fill(even);
        if !words.is_empty() {
            match self.inference {
                Inference::Map { prior } => self.most_likely(&words, prior),
                Inference::Mean { prior } => self.mean(&words, prior),
            }
        }
        &self.theta
    }

    fn most_likely(&mut self, words: &[&[f32]], prior: f32) {
        for _ in 0..SWEEPS {
            self.next.fill(0.0);
            for word in words {
                // A word that none of the remaining topics has says nothing.
                let p = dot(word, &self.theta);
                if p > 0.0 {
                    add_scaled(&mut self.next, 1.0 / p, word);
                }
            }
            self.next.iter_mut().zip(&self.theta).for_each(|(next, theta)| *next = *next * theta + prior);
            if self.settle() <= MOVED {
                break;
            }
        }
    }

    fn mean(&mut self, words: &[&[f32]], prior: f32) {
        let topics = self.theta.len();
        self.word_topics.clear();
        self.word_topics.resize(words.len() * topics, 0.0);
        // The expected number of words of each topic, including the prior.
        let mut counts = vec![prior; topics];
        for _ in 0..SWEEPS {
            for (word, word_topic) in words.iter().zip(self.word_topics.chunks_exact_mut(topics)) {
                counts.iter_mut().zip(&*word_topic).for_each(|(count, p)| *count = (*count - p).max(0.0));
                let sum = dot(word, &counts);
                let scale = if sum > 0.0 { 1.0 / sum } else { 0.0 };
                for ((p, count), word) in word_topic.iter_mut().zip(&mut counts).zip(*word) {
                    *p = word * *count * scale;
                    *count += *p;
                }
            }
            self.next.copy_from_slice(&counts);
            if self.settle() <= MOVED {
                break;
            }
        }
    }

    /// Replaces θ by `next`, scaled to sum to 1. Returns how far it has moved.
    fn settle(&mut self) -> f32 {
        let sum: f32 = self.next.iter().sum();
        if sum <= 0.0 {
            return 0.0;
        }
        let mut moved = 0.0;
        for (theta, next) in self.theta.iter_mut().zip(&self.next) {
            let next = next / sum;
            moved += (next - *theta).abs();
            *theta = next;
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(w|z) of three words under two topics.
    const WORDS: [[f32; 2]; 3] = [[0.6, 0.1], [0.3, 0.3], [0.1, 0.6]];

    fn fold(inference: Inference, title: &[usize]) -> Vec<f32> {
        Folder::new(2, inference).fold(title.iter().map(|&word| &WORDS[word][..])).to_vec()
    }

    /// Compares with trying all θ.
    #[test]
    fn the_most_likely_topics_are_found() {
        for prior in [0.0, 0.25, 2.0] {
            for title in [&[0, 0, 2][..], &[1, 1], &[0], &[2, 1, 0, 2, 2]] {
                let posterior = |a: f64| {
                    let log_term =
                        |&word: &usize| (a * f64::from(WORDS[word][0]) + (1.0 - a) * f64::from(WORDS[word][1])).ln();
                    let log_prior = if prior > 0.0 { f64::from(prior) * (a.ln() + (1.0 - a).ln()) } else { 0.0 };
                    title.iter().map(log_term).sum::<f64>() + log_prior
                };
                let found = fold(Inference::Map { prior }, title);
                let best = (1..10_000).map(|i| posterior(f64::from(i) / 1e4)).fold(f64::NEG_INFINITY, f64::max);
                let reached = posterior(f64::from(found[0]).clamp(1e-6, 1.0 - 1e-6));
                assert!(reached > best - 1e-6, "{prior}, {title:?}: {found:?} reaches {reached} of {best}");
                assert!((found[0] + found[1] - 1.0).abs() < 1e-6);
            }
        }
    }

    /// Compares with summing over all topics of the words. For one word the mean is exact.
    #[test]
    fn the_mean_of_the_topics_is_found() {
        let prior = 0.5;
        for (title, tolerance) in [(&[0][..], 1e-6), (&[2], 1e-6), (&[0, 0, 2], 0.03), (&[1, 2, 2, 0], 0.03)] {
            let (mut total, mut mean) = (0.0, 0.0);
            for assigned in 0..1u32 << title.len() {
                let mut counts = [f64::from(prior); 2];
                let mut p = 1.0;
                for (i, &word) in title.iter().enumerate() {
                    let topic = (assigned >> i & 1) as usize;
                    p *= counts[topic] * f64::from(WORDS[word][topic]);
                    counts[topic] += 1.0;
                }
                total += p;
                mean += p * counts[0] / (counts[0] + counts[1]);
            }
            let found = fold(Inference::Mean { prior }, title);
            assert!((f64::from(found[0]) - mean / total).abs() < tolerance, "{title:?}: {found:?}, {}", mean / total);
        }
    }

    #[test]
    fn a_title_without_words_has_every_topic_alike() {
        for inference in [Inference::Map { prior: 0.1 }, Inference::Mean { prior: 0.1 }] {
            assert_eq!(fold(inference, &[]), [0.5, 0.5]);
            // The previous title must not influence the result.
            let mut folder = Folder::new(2, inference);
            folder.fold([&WORDS[0][..]].into_iter());
            assert_eq!(folder.fold([&WORDS[2][..]].into_iter()), fold(inference, &[2]));
        }
    }
}

//! LDA: latent Dirichlet allocation (Blei, Ng, Jordan 2003) by collapsed Gibbs sampling (Griffiths, Steyvers, "Finding
//! scientific topics", 2004), as a document model for retrieval (Wei, Croft, "LDA-based document models for ad-hoc
//! retrieval", 2006).

use rand::RngExt as _;
use statrs::function::gamma::ln_gamma;

use super::fold::Inference;
use super::side::{ABSENT, Side};
use super::{CLICKED, LAMBDA, TOPICS, TopicRanker, Topics, titles_side};
use crate::systems::ulm::MU;
use clickvec::internals::rng::stream;
use clickvec::internals::text::WordId;
use clickvec_eval::ranker::{Parameter, Progress, Resources, System, Values, Watch};
use clickvec_tables::Result;
use clickvec_tables::memory::{NoRoom, room_for_numbers};

const SWEEPS: Parameter = Parameter::count("sweeps", 300, 1, 1_000_000, "how often each word's topic is drawn again");
const SAMPLES: Parameter = Parameter::count(
    "samples",
    20,
    1,
    10_000,
    "sweeps that the topics are averaged over: every fifth of the last half, at most this many",
);
const ALPHA: Parameter =
    Parameter::training("alpha", 1.0, 1e-6, 1e6, "words that the prior adds to a title, over all topics together");
const BETA: Parameter =
    Parameter::training("beta", 0.01, 1e-6, 1e6, "how often the prior adds each word to each topic");
/// The most copies of a clicked title.
const MOST_COPIES: f32 = 1000.0;
/// The number of sweeps between two samples.
const APART: usize = 5;

/// The system before training: name, parameters, how to train and restore it.
pub(in crate::systems) const SYSTEM: System = System {
    name: "lda",
    about: "latent Dirichlet allocation of titles, by Gibbs sampling (Wei, Croft 2006)",
    parameters: &[TOPICS, CLICKED, SWEEPS, SAMPLES, ALPHA, BETA, Parameter::SEED, LAMBDA, MU],
    files: &[],
    one_above_zero: &[],
    train: |values, resources, watch| Ok(Box::new(train(values, resources, watch)?)),
    restore: |values, state| Ok(Box::new(TopicRanker::restore("lda", values, state, false, inference(values))?)),
};

fn inference(values: &Values) -> Inference {
    Inference::Mean { prior: (values.get(ALPHA.name) / values.get(TOPICS.name)) as f32 }
}

fn train(values: &Values, resources: &Resources<'_>, watch: &mut Watch<'_>) -> Result<TopicRanker> {
    let topics = values.count(TOPICS.name);
    let (titles, weights) = titles_side(SYSTEM.name, resources.corpus, values)?;
    let titles = copied(titles, &weights, resources.corpus.vocabulary.len())?;
    let (alpha, beta) = (values.get(ALPHA.name) / topics as f64, values.get(BETA.name));
    let long = (0..titles.texts()).filter(|&text| titles.text(text).len() > topics).count();
    let occurrences = titles.first_occurrence(titles.words());
    // For words: counts, their sums (of twice the size) and the probabilities that they become. For occurrences: the topic and
    // the place, of twice the size. For titles: where their rows start.
    let counts: [&[usize]; 4] =
        [&[4, titles.words(), topics], &[long, topics], &[3, occurrences], &[4, titles.texts()]];
    room_for_numbers::<u32>("topics", &counts)?;
    let mut sampler = Sampler::new(&titles, topics, alpha, beta, values.count(Parameter::SEED.name) as u64);
    let sweeps = values.count(SWEEPS.name);
    let (mut sums, mut samples) = (vec![0u64; sampler.topic_counts_by_word.len()], 0);
    for sweep in 0..sweeps {
        sampler.sweep();
        let left = sweeps - 1 - sweep;
        // Early sweeps still depend on the start of the chain.
        if left.is_multiple_of(APART) && left / APART < values.count(SAMPLES.name) && left <= sweep {
            samples += 1;
            sums.iter_mut().zip(&sampler.topic_counts_by_word).for_each(|(sum, &count)| *sum += u64::from(count));
        }
        let objective = Some(sampler.log_likelihood());
        watch(Progress { done: sweep as u64 + 1, of: sweeps as u64, objective });
    }
    let topics = mean_topics(&titles, topics, beta, &sums, samples);
    Ok(TopicRanker::new(SYSTEM.name, values, resources.corpus, (topics, None), inference(values)))
}

/// Copies each title as often as its rounded weight: at least once and at most [`MOST_COPIES`] times. A sampler counts whole
/// words.
fn copied(titles: Side, weights: &[f32], vocabulary: usize) -> Result<Side, NoRoom> {
    let copies = |weight: f32| weight.round().clamp(1.0, MOST_COPIES) as usize;
    if weights.iter().all(|&weight| copies(weight) == 1) {
        return Ok(titles);
    }
    let copied_words = |(text, &weight): (usize, &f32)| titles.text(text).len().saturating_mul(copies(weight));
    let occurrences = weights.iter().enumerate().map(copied_words).fold(0, usize::saturating_add);
    let texts: usize = weights.iter().map(|&weight| copies(weight)).sum();
    // Lists double as they grow, and each word knows its texts.
    room_for_numbers::<u32>("copies of titles", &[&[4, occurrences], &[4, texts]])?;
    // The words of the rows, to number them again in the same order.
    let mut words = vec![0; titles.words()];
    for (word, &row) in (0..).zip(&titles.row_of) {
        if row != ABSENT {
            words[row as usize] = word;
        }
    }
    let texts: Vec<Vec<WordId>> =
        (0..titles.texts()).map(|text| titles.text(text).iter().map(|&row| words[row as usize]).collect()).collect();
    let all =
        texts.iter().zip(weights).flat_map(|(text, &weight)| std::iter::repeat_n(text.as_slice(), copies(weight)));
    Side::new(all, vocabulary)
}

/// Returns P(w|z) = (n_wz + β) / (n_z + β·words), where n are means over the samples.
fn mean_topics(side: &Side, count: usize, beta: f64, sums: &[u64], samples: u32) -> Topics {
    let mut topic_counts = vec![0u64; count];
    for row in sums.chunks_exact(count) {
        topic_counts.iter_mut().zip(row).for_each(|(total, sum)| *total += sum);
    }
    let samples = f64::from(samples);
    let scales: Vec<f64> =
        topic_counts.iter().map(|&total| 1.0 / (total as f64 / samples + beta * side.words() as f64)).collect();
    let probability = sums
        .chunks_exact(count)
        .flat_map(|row| row.iter().zip(&scales).map(|(&sum, scale)| ((sum as f64 / samples + beta) * scale) as f32));
    Topics { count, row_of: side.row_of.clone(), probability: probability.collect() }
}

/// Collapsed Gibbs sampling, word by word. Each sweep draws the topics of all occurrences of the first word, then of
/// the second, and so on (the order of F+LDA: Yu, Hsieh, Yun, Vishwanathan, Dhillon, "A scalable asynchronous
/// distributed algorithm for topic modeling", 2015). P(z) ∝ (n_Dz + α) f(z) with f(z) = (n_wz + β) / (n_z + β·words),
/// where all counts exclude the occurrence itself. While the word stays the same, f changes in two places for each
/// draw, so a tree of partial sums provides the part α f(z). The part n_Dz f(z) is a sum over the title's other words
/// or, if there are more of these, over all topics. The sampler is exact, and with short titles its cost hardly
/// depends on the number of topics.
struct Sampler<'a> {
    side: &'a Side,
    alpha: f64,
    beta: f64,
    topics: usize,
    random: rand_xoshiro::Xoshiro256PlusPlus,
    /// The topic of each word of the titles, in the order of [`Side::range`].
    assigned: Vec<u32>,
    /// The position in `assigned` of each occurrence, row by row.
    positions: Vec<usize>,
    /// n_wz, [words, T]
    topic_counts_by_word: Vec<u32>,
    /// n_z
    topic_counts: Vec<u32>,
    /// n_Dz of the titles with more words than topics, [such titles, T]
    long_title_counts: Vec<u32>,
    /// The start of a title's row there, if it has one.
    long: Vec<Option<usize>>,
}

impl<'a> Sampler<'a> {
    /// Starts a sampler, with a random topic for every word.
    fn new(side: &'a Side, topics: usize, alpha: f64, beta: f64, seed: u64) -> Sampler<'a> {
        let mut random = stream(seed, "topics of words", 0);
        let mut next: Vec<usize> = (0..side.words()).map(|row| side.first_occurrence(row)).collect();
        let mut assigned = Vec::new();
        let mut positions = vec![0; side.first_occurrence(side.words())];
        let (mut long_title_counts, mut long) = (Vec::new(), Vec::new());
        let (mut topic_counts_by_word, mut topic_counts) = (vec![0u32; side.words() * topics], vec![0u32; topics]);
        for text in 0..side.texts() {
            for &row in side.text(text) {
                let (row, topic) = (row as usize, random.random_range(0..topics));
                positions[next[row]] = assigned.len();
                next[row] += 1;
                assigned.push(topic as u32);
                topic_counts_by_word[row * topics + topic] += 1;
                topic_counts[topic] += 1;
            }
            let title = &assigned[side.range(text)];
            long.push((title.len() > topics).then(|| {
                let row = long_title_counts.len();
                long_title_counts.resize(row + topics, 0);
                title.iter().for_each(|&topic| long_title_counts[row + topic as usize] += 1);
                row
            }));
        }
        Sampler {
            side,
            alpha,
            beta,
            topics,
            random,
            assigned,
            positions,
            topic_counts_by_word,
            topic_counts,
            long_title_counts,
            long,
        }
    }

    /// Draws the topic of every word once.
    fn sweep(&mut self) {
        let Sampler { side, topics, alpha, beta, .. } = *self;
        let all_words = beta * side.words() as f64;
        let mut inverse: Vec<f64> =
            self.topic_counts.iter().map(|&count| 1.0 / (f64::from(count) + all_words)).collect();
        let mut f = SumTree::new(topics);
        for row in 0..side.words() {
            let counts = &mut self.topic_counts_by_word[row * topics..][..topics];
            f.fill(counts.iter().zip(&inverse).map(|(&count, inverse)| (f64::from(count) + beta) * inverse));
            let first = side.first_occurrence(row);
            for (occurrence, &text) in (first..).zip(side.occurrences(row)) {
                let position = self.positions[occurrence];
                let title = side.range(text as usize);
                let (before, after) = (title.start..position, position + 1..title.end);
                let mut count = |topic: usize, change: u32, f: &mut SumTree| {
                    counts[topic] = counts[topic].wrapping_add(change);
                    self.topic_counts[topic] = self.topic_counts[topic].wrapping_add(change);
                    inverse[topic] = 1.0 / (f64::from(self.topic_counts[topic]) + all_words);
                    f.set(topic, (f64::from(counts[topic]) + beta) * inverse[topic]);
                };
                // −1
                count(self.assigned[position] as usize, u32::MAX, &mut f);
                let random = &mut self.random;
                let mut draw = |sum: f64| random.random::<f64>() * (sum + alpha * f.sum());
                let topic = match self.long[text as usize] {
                    None => {
                        let others = || self.assigned[before.clone()].iter().chain(&self.assigned[after.clone()]);
                        let mut left = draw(others().map(|&topic| f.at(topic as usize)).sum());
                        let reached = |&&topic: &&u32| {
                            left -= f.at(topic as usize);
                            left < 0.0
                        };
                        match others().find(reached) {
                            Some(&topic) => topic as usize,
                            None => f.find(left / alpha),
                        }
                    }
                    Some(first) => {
                        let title_counts = &mut self.long_title_counts[first..][..topics];
                        title_counts[self.assigned[position] as usize] -= 1;
                        let part = |topic: usize| f64::from(title_counts[topic]) * f.at(topic);
                        let mut left = draw((0..topics).map(part).sum());
                        let reached = |&topic: &usize| {
                            left -= part(topic);
                            left < 0.0
                        };
                        let topic = (0..topics).find(reached).unwrap_or_else(|| f.find(left / alpha));
                        title_counts[topic] += 1;
                        topic
                    }
                };
                count(topic, 1, &mut f);
                self.assigned[position] = topic as u32;
            }
        }
    }

    /// Returns ln P(words, topics of words), with the distributions integrated out.
    fn log_likelihood(&self) -> f64 {
        let Sampler { side, topics, alpha, beta, .. } = *self;
        // Σ ln (prior + 0) (prior + 1) … (prior + n − 1), which is ln of Γ(prior + n) / Γ(prior).
        let rising = |prior: f64, most: u32| -> Vec<f64> {
            let next = |sum: &mut f64, n: u32| Some(std::mem::replace(sum, *sum + (prior + f64::from(n)).ln()));
            (0..=most).scan(0.0, next).collect()
        };
        let log_rising = rising(beta, self.topic_counts_by_word.iter().copied().max().unwrap_or(0));
        let words: f64 = self.topic_counts_by_word.iter().map(|&count| log_rising[count as usize]).sum();
        let all_words = beta * side.words() as f64;
        let log_gamma = |&count: &u32| ln_gamma(all_words) - ln_gamma(all_words + f64::from(count));
        let by_topic: f64 = self.topic_counts.iter().map(log_gamma).sum();
        let all_topics = alpha * topics as f64;
        let mut earlier = vec![0u32; topics];
        let by_title = |text: usize| {
            let title = &self.assigned[side.range(text)];
            let term = |(i, &topic): (usize, &u32)| {
                let earlier = &mut earlier[topic as usize];
                *earlier += 1;
                ((alpha + f64::from(*earlier - 1)) / (all_topics + i as f64)).ln()
            };
            let sum = title.iter().enumerate().map(term).sum::<f64>();
            title.iter().for_each(|&topic| earlier[topic as usize] = 0);
            sum
        };
        words + by_topic + (0..side.texts()).map(by_title).sum::<f64>()
    }
}

/// Non-negative numbers in a tree of partial sums. Changing a number, or drawing one, takes as many steps as the tree
/// has levels.
struct SumTree {
    /// Node i has the children 2i and 2i + 1, and the root is 1. The numbers are the leaves, starting at `leaves`.
    nodes: Vec<f64>,
    leaves: usize,
    last: usize,
}

impl SumTree {
    fn new(numbers: usize) -> SumTree {
        let leaves = numbers.next_power_of_two();
        SumTree { nodes: vec![0.0; 2 * leaves], leaves, last: numbers - 1 }
    }

    fn fill(&mut self, numbers: impl Iterator<Item = f64>) {
        self.nodes[self.leaves..].iter_mut().zip(numbers).for_each(|(leaf, number)| *leaf = number);
        for node in (1..self.leaves).rev() {
            self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1];
        }
    }

    fn at(&self, i: usize) -> f64 {
        self.nodes[self.leaves + i]
    }

    fn sum(&self) -> f64 {
        self.nodes[1]
    }

    /// Sums are computed anew, so that errors do not accumulate.
    fn set(&mut self, i: usize, number: f64) {
        let mut node = self.leaves + i;
        self.nodes[node] = number;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1];
        }
    }

    /// Returns the first number at which the running sum exceeds `sum`.
    fn find(&self, mut sum: f64) -> usize {
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            if sum >= self.nodes[node] {
                sum -= self.nodes[node];
                node += 1;
            }
        }
        // Rounding may go past the end.
        (node - self.leaves).min(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates two titles of three words.
    fn tiny() -> Side {
        let titles: [&[u32]; 2] = [&[0, 1, 1], &[0, 2]];
        Side::new(titles.into_iter(), 3).unwrap()
    }

    /// All 32 assignments of two topics to five words occur as often as their posterior probability says.
    #[test]
    fn draws_are_from_the_posterior() {
        const SWEEPS: usize = 100_000;
        let side = tiny();
        let mut sampler = Sampler::new(&side, 2, 0.3, 0.2, 1);
        let mut seen = [0usize; 32];
        let position = |assigned: &[u32]| assigned.iter().fold(0, |position, &topic| 2 * position + topic as usize);
        for _ in 0..SWEEPS {
            sampler.sweep();
            seen[position(&sampler.assigned)] += 1;
        }
        // P(words, topics) by definition: word by word, each given those before it.
        let words = [0, 1, 1, 0, 2];
        let joint = |assigned: [usize; 5]| {
            let (mut topic_counts_by_word, mut title_counts, mut p) = ([[0.0; 3]; 2], [[0.0; 2]; 2], 1.0);
            for (i, (&word, topic)) in words.iter().zip(assigned).enumerate() {
                let title = i / 3;
                let title: &mut [f64; 2] = &mut title_counts[title];
                p *= (title[topic] + 0.3) / (title.iter().sum::<f64>() + 0.6);
                p *=
                    (topic_counts_by_word[topic][word] + 0.2) / (topic_counts_by_word[topic].iter().sum::<f64>() + 0.6);
                title[topic] += 1.0;
                topic_counts_by_word[topic][word] += 1.0;
            }
            p
        };
        let assignments: Vec<[usize; 5]> = (0..32).map(|n| std::array::from_fn(|i| n >> (4 - i) & 1)).collect();
        let total: f64 = assignments.iter().map(|&assigned| joint(assigned)).sum();
        for (number, &assigned) in assignments.iter().enumerate() {
            let (p, found) = (joint(assigned) / total, seen[number] as f64 / SWEEPS as f64);
            // Allow five standard errors, assuming that draws some ten sweeps apart are independent.
            let error = 5.0 * (p * (1.0 - p) * 10.0 / SWEEPS as f64).sqrt();
            assert!((found - p).abs() < error, "{assigned:?}: expected {p}, found {found}");
            sampler.assigned = assigned.iter().map(|&topic| topic as u32).collect();
            recount(&mut sampler);
            assert!((sampler.log_likelihood() - joint(assigned).ln()).abs() < 1e-9, "{assigned:?}");
        }
    }

    fn recount(sampler: &mut Sampler<'_>) {
        sampler.topic_counts_by_word.fill(0);
        sampler.topic_counts.fill(0);
        sampler.long_title_counts.fill(0);
        for (title, first) in sampler.long.iter().enumerate() {
            for &topic in first.iter().flat_map(|_| &sampler.assigned[sampler.side.range(title)]) {
                sampler.long_title_counts[first.unwrap_or(0) + topic as usize] += 1;
            }
        }
        let words = (0..sampler.side.texts()).flat_map(|text| sampler.side.text(text));
        for (&row, &topic) in words.zip(&sampler.assigned) {
            sampler.topic_counts_by_word[row as usize * sampler.topics + topic as usize] += 1;
            sampler.topic_counts[topic as usize] += 1;
        }
    }

    #[test]
    fn counts_stay_those_of_the_topics() {
        let texts: Vec<Vec<u32>> = (0..30).map(|i| (0..i % 7).map(|j| (i * j) % 11).collect()).collect();
        let side = Side::new(texts.iter().map(Vec::as_slice), 11).unwrap();
        let mut sampler = Sampler::new(&side, 5, 0.1, 0.1, 3);
        (0..10).for_each(|_| sampler.sweep());
        let counts = |sampler: &Sampler<'_>| {
            (sampler.topic_counts_by_word.clone(), sampler.topic_counts.clone(), sampler.long_title_counts.clone())
        };
        let found = counts(&sampler);
        // Titles of 6 words have more words than there are topics.
        assert!(found.2.iter().sum::<u32>() == 4 * 6);
        recount(&mut sampler);
        assert_eq!(found, counts(&sampler));
    }

    #[test]
    fn a_tree_finds_what_a_running_sum_does() {
        for count in [1, 2, 3, 5, 8] {
            let mut tree = SumTree::new(count);
            let mut numbers: Vec<f64> = (0..count).map(|i| f64::from(i as u32 % 3)).collect();
            tree.fill(numbers.iter().copied());
            for change in 0..count {
                numbers[change] = 2.0;
                tree.set(change, 2.0);
                let total: f64 = numbers.iter().sum();
                assert_eq!((tree.sum(), tree.at(change)), (total, 2.0));
                for half in 0..2 * total as usize {
                    let mut left = half as f64 / 2.0;
                    let expected = numbers.iter().position(|number| {
                        left -= number;
                        left < 0.0
                    });
                    assert_eq!(Some(tree.find(half as f64 / 2.0)), expected);
                }
                assert_eq!(tree.find(total + 1.0), count - 1);
            }
        }
    }
}

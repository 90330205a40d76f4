//! One update of both towers from one minibatch.

use crate::clicks::{ClickLog, Minibatch};
use crate::encoder::{Encoder, Gradients, TextStatistics, Trace, initialize};
use crate::loss::{Loss, LossSum};
use crate::model::prefixes;
use crate::optimizer::{MomentumSchedule, Optimizer, OptimizerConfig};
use crate::settings::TrainConfig;
use crate::text::batch::Batch;

/// The weights in training, with all working memory.
pub(super) struct Towers {
    pub(super) towers: Vec<Tower>,
    loss: Loss,
}

/// One encoder in training.
pub(super) struct Tower {
    /// Its tables hold the points where the next gradients are taken.
    pub(super) encoder: Box<dyn Encoder>,
    pub(super) optimizer: Optimizer,
    trace: Trace,
    gradients: Gradients,
}

impl Towers {
    pub(super) fn new(config: &TrainConfig, log: &ClickLog, minibatches: u64) -> Towers {
        let statistics = log.statistics();
        let updates = minibatches * u64::from(config.epochs);
        let optimizer = OptimizerConfig {
            kind: config.optimizer,
            learning_rate: config.learning_rate,
            clip_norm: config.clip_norm,
            momentum: MomentumSchedule::papers(updates),
        };
        let of = |words: u64, trigrams: u64, texts: u64| TextStatistics {
            trigrams_per_word: trigrams as f64 / words as f64,
            words_per_text: words as f64 / texts as f64,
        };
        let (queries, titles) =
            ((statistics.query_words, statistics.query_trigrams), (statistics.title_words, statistics.title_trigrams));
        let sides = if config.shared_towers {
            vec![of(queries.0 + titles.0, queries.1 + titles.1, 2 * statistics.pairs)]
        } else {
            vec![of(queries.0, queries.1, statistics.pairs), of(titles.0, titles.1, statistics.pairs)]
        };
        let towers = prefixes(config.shared_towers).into_iter().zip(sides).map(|(prefix, statistics)| {
            let mut encoder = config.encoder.build(log.dictionary().len());
            let side = prefix.trim_end_matches('.');
            initialize(&mut *encoder, &config.encoder, side, statistics, config.init_range, config.seed);
            let optimizer = Optimizer::new(optimizer.clone(), encoder.tensors_mut());
            let trace = Trace { precision: config.precision, ..Trace::default() };
            Tower { encoder, optimizer, trace, gradients: Gradients::default() }
        });
        Towers { towers: towers.collect(), loss: Loss::default() }
    }

    /// Updates done.
    pub(super) fn updates(&self) -> u64 {
        self.towers[0].optimizer.updates()
    }

    /// One update; `None`, and nothing updated, if the loss or a gradient is not finite.
    pub(super) fn step(&mut self, config: &TrainConfig, minibatch: &Minibatch) -> Option<LossSum> {
        let Towers { towers, loss } = self;
        match &mut towers[..] {
            [both] => {
                both.forward(&minibatch.queries);
                let (queries, titles) =
                    both.trace.embeddings.split_at(minibatch.pairs.positive.len() * both.encoder.dimension());
                let dimension = both.encoder.dimension();
                let sum = loss.compute(config.gamma, queries, titles, dimension, &minibatch.pairs);
                let grad = [&loss.query_gradient[..], &loss.title_gradient].concat();
                let norm = both.backward(&minibatch.queries, &grad, config);
                if !sum.loss.is_finite() || !norm.is_finite() {
                    return None;
                }
                both.apply(&minibatch.queries, norm);
                Some(sum)
            }
            [query, title] => {
                rayon::join(|| query.forward(&minibatch.queries), || title.forward(&minibatch.titles));
                let (queries, titles) = (&query.trace.embeddings, &title.trace.embeddings);
                let dimension = query.encoder.dimension();
                let sum = loss.compute(config.gamma, queries, titles, dimension, &minibatch.pairs);
                let (query_norm, title_norm) = rayon::join(
                    || query.backward(&minibatch.queries, &loss.query_gradient, config),
                    || title.backward(&minibatch.titles, &loss.title_gradient, config),
                );
                if !(sum.loss.is_finite() && query_norm.is_finite() && title_norm.is_finite()) {
                    return None;
                }
                rayon::join(
                    || query.apply(&minibatch.queries, query_norm),
                    || title.apply(&minibatch.titles, title_norm),
                );
                Some(sum)
            }
            _ => unreachable!("one tower or two"),
        }
    }

    /// The parameters as they are now; training goes on undisturbed.
    pub(super) fn snapshot(&self, config: &TrainConfig, features: usize) -> Vec<Box<dyn Encoder>> {
        let copy = |tower: &Tower| {
            let mut encoder = config.encoder.build(features);
            let parameters = tower.optimizer.parameters(tower.encoder.tensors());
            for (tensor, now) in encoder.tensors_mut().iter_mut().zip(parameters) {
                *tensor = now;
            }
            encoder
        };
        self.towers.iter().map(copy).collect()
    }
}

impl Tower {
    fn forward(&mut self, batch: &Batch) {
        self.optimizer.prepare(self.encoder.tensors_mut(), batch.touched());
        self.encoder.forward(batch, &mut self.trace);
    }

    /// Returns the norm of the gradient.
    fn backward(&mut self, batch: &Batch, grad: &[f32], config: &TrainConfig) -> f64 {
        self.encoder.backward(batch, &mut self.trace, grad, config.bptt, &mut self.gradients);
        Optimizer::norm(self.encoder.tensors(), &self.gradients)
    }

    fn apply(&mut self, batch: &Batch, norm: f64) {
        self.optimizer.apply(self.encoder.tensors_mut(), batch.touched(), &self.gradients, norm);
    }
}

//! PLSA: probabilistic latent semantic analysis (Hofmann, "Probabilistic latent semantic indexing", 1999), estimated
//! maximum a posteriori as in Gao, Toutanova, Yih, "Clickthrough-based latent semantic models for web search", 2011.

use super::em::Settings;
use super::fold::Inference;
use super::{CLICKED, LAMBDA, TOPICS, TopicRanker, titles_side};
use crate::systems::topic::em;
use crate::systems::ulm::MU;
use clickvec_eval::ranker::{Parameter, Resources, System, Values, Watch};
use clickvec_tables::Result;

pub(super) const ITERATIONS: Parameter = Parameter::count("iterations", 100, 1, 100_000, "iterations of EM");
pub(super) const ALPHA: Parameter =
    Parameter::training("alpha", 1.0, 0.0, 1e6, "words that the prior adds to a title, over all topics together");
pub(super) const BETA: Parameter =
    Parameter::training("beta", 0.01, 0.0, 1e6, "how often the prior adds each word to each topic");

/// The system before training: name, parameters, how to train and restore it.
pub(in crate::systems) const SYSTEM: System = System {
    name: "plsa",
    about: "probabilistic latent semantic analysis of titles, by EM with priors (Hofmann 1999)",
    parameters: &[TOPICS, CLICKED, ITERATIONS, ALPHA, BETA, Parameter::SEED, LAMBDA, MU],
    files: &[],
    one_above_zero: &[],
    train: |values, resources, watch| Ok(Box::new(train(values, resources, watch)?)),
    restore: |values, state| Ok(Box::new(TopicRanker::restore("plsa", values, state, false, inference(values))?)),
};

fn train(values: &Values, resources: &Resources<'_>, watch: &mut Watch<'_>) -> Result<TopicRanker> {
    let topics = values.count(TOPICS.name);
    let (titles, weights) = titles_side(SYSTEM.name, resources.corpus, values)?;
    let sides = [&titles];
    em::room(&sides, weights.len(), topics)?;
    let topics = em::train(SYSTEM.name, &sides, &weights, &settings(values), watch)?.swap_remove(0);
    Ok(TopicRanker::new(SYSTEM.name, values, resources.corpus, (topics, None), inference(values)))
}

/// Returns the amount that the prior adds to each topic of a title.
fn topic_prior(values: &Values) -> f32 {
    (values.get(ALPHA.name) / values.get(TOPICS.name)) as f32
}

pub(super) fn inference(values: &Values) -> Inference {
    Inference::Map { prior: topic_prior(values) }
}

pub(super) fn settings(values: &Values) -> Settings {
    Settings {
        topics: values.count(TOPICS.name),
        iterations: values.count(ITERATIONS.name),
        topic_prior: topic_prior(values),
        word_prior: values.get(BETA.name) as f32,
        seed: values.count(Parameter::SEED.name) as u64,
    }
}

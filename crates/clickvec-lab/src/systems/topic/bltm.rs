//! BLTM: the bilingual topic model (Gao, Toutanova, Yih, "Clickthrough-based latent semantic models for web search",
//! 2011).

use super::em;
use super::plsa::{ALPHA, BETA, ITERATIONS, inference, settings};
use super::side::Side;
use super::{LAMBDA, TOPICS, TopicRanker, enough_words};
use crate::systems::fault::no_clicks;
use crate::systems::ulm::MU;
use clickvec_eval::internals::ClickedPairs;
use clickvec_eval::ranker::{Parameter, Resources, System, Values, Watch};
use clickvec_tables::Result;

/// The system before training: name, parameters, how to train and restore it.
pub(in crate::systems) const SYSTEM: System = System {
    name: "bltm",
    about: "bilingual topic model of clicked pairs, by EM with priors (Gao, Toutanova, Yih 2011)",
    parameters: &[TOPICS, ITERATIONS, ALPHA, BETA, Parameter::SEED, LAMBDA, MU],
    files: &[],
    one_above_zero: &[],
    train: |values, resources, watch| Ok(Box::new(train(values, resources, watch)?)),
    restore: |values, state| Ok(Box::new(TopicRanker::restore("bltm", values, state, true, inference(values))?)),
};

fn train(values: &Values, resources: &Resources<'_>, watch: &mut Watch<'_>) -> Result<TopicRanker> {
    let corpus = resources.corpus;
    let ClickedPairs { queries, titles, weights } = &corpus.clicks;
    let counts = |&i: &usize| !queries.get(i).is_empty() && !titles.get(i).is_empty() && weights[i] > 0.0;
    let pairs: Vec<usize> = (0..weights.len()).filter(counts).collect();
    if pairs.is_empty() {
        return Err(no_clicks(SYSTEM.name));
    }
    let words = corpus.vocabulary.len();
    let queries = Side::new(pairs.iter().map(|&i| queries.get(i)), words)?;
    let titles = Side::new(pairs.iter().map(|&i| titles.get(i)), words)?;
    enough_words(SYSTEM.name, &titles, values.count(TOPICS.name))?;
    let weights: Vec<f32> = pairs.iter().map(|&i| weights[i]).collect();
    let sides = [&queries, &titles];
    em::room(&sides, weights.len(), values.count(TOPICS.name))?;
    let mut topics = em::train(SYSTEM.name, &sides, &weights, &settings(values), watch)?;
    let titles = topics.swap_remove(1);
    let queries = topics.swap_remove(0);
    Ok(TopicRanker::new(SYSTEM.name, values, corpus, (titles, Some(queries)), inference(values)))
}

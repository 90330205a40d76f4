//! A model to measure with. Its sizes matter, and what it has learnt does not.

use std::ops::ControlFlow;

use clickvec::Result;
use clickvec::encoder::EncoderConfig;
use clickvec::model::Model;
use clickvec::train::ClickSource;
use clickvec::train::{Event, TrainConfig, TrainOptions, train};

use crate::texts::Vocabulary;

/// A model trained for one epoch on `pairs` made-up pairs, with one tower for both sides.
///
/// # Errors
/// If there is no memory for the pairs.
pub fn model(encoder: EncoderConfig, vocabulary: &Vocabulary, pairs: usize) -> Result<Model> {
    let titles = vocabulary.texts("log titles", pairs, 8);
    let queries = vocabulary.texts("log queries", pairs, 3);
    let pairs = queries.iter().zip(&titles).map(|(query, title)| (query, title, 1.0));
    let config = TrainConfig { encoder, epochs: 1, shared_towers: true, ..TrainConfig::lstm_dssm() };
    let go_on = &mut |_: &Event| ControlFlow::Continue(());
    let outcome = train(&config, ClickSource::pairs(pairs), TrainOptions::default(), go_on)?;
    Ok(outcome.finished().expect("nobody breaks off"))
}

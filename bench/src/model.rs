//! A model to measure with: its sizes matter, and what it learned does not.

use std::fmt::Write as _;

use clickvec::Result;
use clickvec::encoder::EncoderConfig;
use clickvec::model::Model;
use clickvec::train::{TrainConfig, TrainOptions, train};

use crate::texts::Vocabulary;

/// A model of one epoch over `pairs` made-up pairs: both sides share a tower.
///
/// # Errors
/// If the temporary folder cannot be written.
pub fn model(encoder: EncoderConfig, vocabulary: &Vocabulary, pairs: usize) -> Result<Model> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (log, output) = (folder.path().join("clicks.tsv"), folder.path().join("model.safetensors"));
    let mut lines = String::from("query\ttitle\n");
    let titles = vocabulary.texts("log titles", pairs, 8);
    for (query, title) in vocabulary.texts("log queries", pairs, 3).iter().zip(titles) {
        writeln!(lines, "{query}\t{title}").expect("a string takes all");
    }
    std::fs::write(&log, lines).expect("a temporary file");
    let config = TrainConfig { encoder, epochs: 1, shared_towers: true, ..TrainConfig::paper() };
    let options =
        TrainOptions { clicks: &log, validation: None, output: &output, checkpoint_every: None, resume: false };
    train(&config, &options, &mut |_| {})?;
    Model::load(&output)
}

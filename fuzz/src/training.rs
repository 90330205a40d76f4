//! Targets that train: a teacher's file, a checkpoint.

use std::ops::ControlFlow;
use std::path::Path;

use clickvec::encoder::{EncoderConfig, LstmConfig};
use clickvec::internals::math::Level;
use clickvec::train::{
    ClickSource, Event, Keep, Output, Teacher, TeacherConfig, TrainConfig, TrainOptions, train, train_to_file,
};

use crate::repaired;
use crate::targets::{file, folder, frozen, quiet, told};

/// Replaces the checkpoint of an interrupted run.
pub fn checkpoint(data: &[u8]) {
    let folder = folder();
    let output = folder.join("stopped");
    let _ = std::fs::remove_file(&output);
    let partial = Path::new(env!("CARGO_MANIFEST_DIR")).join("beside/stopped.partial");
    std::fs::copy(partial, folder.join("stopped.partial")).unwrap();
    // The level of the interrupted run.
    Level::limit(Level::Plain);
    let clicks = &frozen("format-1/clicks.tsv");
    let lstm = LstmConfig { cells: 4, ..LstmConfig::default() };
    let config = TrainConfig {
        encoder: EncoderConfig::Lstm(lstm),
        max_trigrams: 200,
        batch_size: 32,
        seed: 3,
        epochs: 300,
        keep: Keep::Last,
        ..TrainConfig::default()
    };
    let to = Output { path: &output, checkpoint_every: None, resume: true };
    let path = folder.join("stopped.checkpoint");
    repaired::file(&path, data, || {
        // The log and the checkpoint are read, and nothing is trained after them.
        let stop = &mut |event: &Event| match event {
            Event::Reading { .. } | Event::Log { .. } => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        let source = ClickSource::file(clicks);
        train_to_file(&config, source, &to, TrainOptions::default(), stop).map(drop)
    });
}

/// A teacher's scores, together with clicks and instead of them.
pub fn scores(data: &[u8]) {
    let path = &file("scores", data);
    taught(ClickSource::pairs(CLICKS), Teacher::score_file(path, "title"));
    taught(ClickSource::file(path).scored(), Teacher::score_file(path, "title"));
}

/// A teacher's vectors or scores: the first bytes say in which form. The crate that reads Parquet may panic, as in `parquet`.
pub fn teacher(data: &[u8]) {
    quiet();
    let path = &file("teacher", data);
    file("teacher.txt", b"red shoes\nShoes in red\nsofa\n");
    taught(ClickSource::pairs(CLICKS), Teacher::open(path, "title"));
}

const CLICKS: [(&str, &str, f32); 3] =
    [("red shoes", "Shoes in red", 1.0), ("red shoes", "Red hat", 1.0), ("sofa", "Blue sofa", 2.0)];

/// Learns a minibatch, after everything is read.
fn taught(source: ClickSource<'_>, teacher: Teacher<'_>) {
    let encoder = EncoderConfig::Lstm(LstmConfig { cells: 2, ..LstmConfig::default() });
    let config =
        TrainConfig { teacher: Some(TeacherConfig::default()), max_trigrams: 50, encoder, ..TrainConfig::default() };
    let stop = &mut |event: &Event| match event {
        Event::Minibatch { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    told(train(&config, source, TrainOptions { teachers: vec![teacher], ..TrainOptions::default() }, stop));
}

//! Trains a model from pairs in memory, and embeds a text.

use std::ops::ControlFlow;

use clickvec::model::Side;
use clickvec::train::{ClickSource, Event, TrainConfig, TrainOptions, train};

fn main() -> clickvec::Result<()> {
    let clicks = [
        ("leather couch", "3-seat leather sofa, brown", 12.0),
        ("lether couch", "2-seat leather sofa", 3.0),
        ("desk lamp", "LED lamp for a desk", 5.0),
        ("garden hose", "hose for the garden, 20 m", 2.0),
    ];
    let config = TrainConfig { epochs: 20, ..TrainConfig::default() };
    let outcome = train(&config, ClickSource::pairs(clicks), TrainOptions::default(), &mut |event| {
        if let Event::Epoch(report) = event {
            println!("epoch {:2}  loss {:.3}", report.epoch, report.loss);
        }
        // `ControlFlow::Break(())` would cancel the training.
        ControlFlow::Continue(())
    })?;
    let model = outcome.finished().expect("nothing cancels it");
    let vector = model.embedder(Side::Query).embed(&["leather couch"]);
    println!("{} numbers, the first {:.3}; the model is {}", vector.len(), vector[0], model.fingerprint());
    Ok(())
}

//! Reads the input gates of an LSTM, which say how far its cells open to each word.

use std::path::Path;

use clickvec::encoder::State;
use clickvec::explain::Explainer;
use clickvec::model::{Model, Side};

fn main() -> clickvec::Result<()> {
    let frozen = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/frozen/format-1/lstm.safetensors");
    let path = std::env::args().nth(1).unwrap_or_else(|| frozen.to_owned());
    let model = Model::load(Path::new(&path))?;
    let text = Explainer::new(&model).text(Side::Title, "oak vanity with two drawers");
    let Some(gates) = text.panel(State::InputGate) else {
        println!("{path} has no input gates: it is a {}", model.encoder_config());
        return Ok(());
    };
    for (place, word) in text.words.iter().enumerate() {
        let of_cells = gates.at(place);
        let mean = of_cells.iter().sum::<f32>() / of_cells.len() as f32;
        println!("{:10}  mean input gate {mean:.3}, cell 1 {:.3}", word.text, of_cells[0]);
    }
    Ok(())
}

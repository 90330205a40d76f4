//! The reader of an encoder's states: by text and word, in the text's own order.

use super::support::*;
use clickvec::encoder::{ClsmConfig, Direction, EncoderConfig, Peephole, Quantity, State, StateReader, TextStates};
use clickvec::internals::encoder::{Encoder, Gradients, Reading, Trace};
use clickvec::internals::text::WordId;
use clickvec::internals::text::batch::Batch;

const GATES: [State; 5] = [State::InputGate, State::ForgetGate, State::OutputGate, State::UpdateGate, State::ResetGate];
const BOTH: [Direction; 2] = [Direction::Forward, Direction::Backward];

/// More than one block, repeated lengths, an empty text, and an unknown word.
fn some_texts() -> Vec<Vec<WordId>> {
    let lengths: Vec<usize> = (0..40).map(|text| (text * 7) % 6).collect();
    let mut all = texts(&lengths, 20, 3);
    all[3].push(0);
    all
}

fn traced(encoder: &dyn Encoder, batch: &Batch) -> Trace {
    let mut trace = Trace::default();
    trace.keep_inputs = true;
    encoder.forward(batch, &mut trace);
    trace
}

/// Runs [`some_texts`] through every encoder that is wanted, and shows `check` what there is to read of them.
fn each_encoder(wanted: impl Fn(&EncoderConfig) -> bool, mut check: impl FnMut(&EncoderConfig, StateReader<'_>)) {
    let (words, all) = (words(20, FEATURES as u32, 4), some_texts());
    let batch = batch_of(&all, &words, FEATURES);
    for config in all_encoders().iter().filter(|config| wanted(config)) {
        let trace = traced(&*random_encoder(config, FEATURES, 0.5, 21), &batch);
        check(config, trace.reader(&batch).expect("a forward pass"));
    }
}

/// Everything that can be read of a text.
fn everything(text: TextStates<'_>) -> Vec<(Quantity, Vec<f32>)> {
    let mut all = Vec::new();
    for quantity in text.word_quantities() {
        for quantity in [quantity, quantity.before()] {
            let rows: Vec<_> = (0..text.words()).filter_map(|word| text.at(quantity, word)).collect();
            assert!(rows.is_empty() || rows.len() == text.words(), "{quantity:?}");
            all.push((quantity, rows.concat()));
            assert!(text.at(quantity, text.words()).is_none(), "{quantity:?} beyond the last word");
        }
    }
    for quantity in text.text_quantities() {
        for quantity in [quantity, quantity.before()] {
            let row = text.at_text(quantity);
            assert_eq!(row.is_some(), text.words() > 0, "{quantity:?}");
            all.push((quantity, row.unwrap_or_default().into_owned()));
        }
    }
    let winners = text.winners().unwrap_or_default();
    all.push((State::Maximum.into(), winners.iter().map(|&word| word as f32).collect()));
    all
}

#[test]
fn an_encoder_is_what_its_description_says() {
    each_encoder(
        |_| true,
        |config, reader| {
            let (text, description) = (reader.text(5), config.description());
            assert!(text.words() > 1, "a text with words");
            let states: Vec<State> = text.word_quantities().into_iter().map(|quantity| quantity.state).collect();
            for state in description.telling {
                assert!(states.contains(state), "{config}: {state}");
            }
            for gate in GATES {
                let is_described = description.gates.contains(&gate);
                assert_eq!(is_described, states.contains(&gate), "{config}: {gate}");
            }
            assert!(description.gates.iter().all(|gate| GATES.contains(gate)), "{config}");
            assert_eq!(description.telling.is_empty(), states.is_empty(), "{config}");
            let reading = match states.contains(&State::Activation) {
                true => Reading::WordByWord,
                false if text.winners().is_some() => Reading::Windows,
                false => Reading::Bag,
            };
            assert_eq!(description.reading, reading, "{config}");
            assert_eq!(reading == Reading::Bag, states.is_empty(), "{config}");
        },
    );
}

#[test]
fn a_text_alone_has_the_states_it_has_among_many() {
    let (words, all) = (words(20, FEATURES as u32, 4), some_texts());
    each_encoder(
        |_| true,
        |config, reader| {
            assert_eq!(reader.texts(), all.len());
            let encoder = random_encoder(config, FEATURES, 0.5, 21);
            let one = |text: usize| {
                let batch = batch_of(&all[text..=text], &words, FEATURES);
                let trace = traced(&*encoder, &batch);
                let text = trace.reader(&batch).expect("a forward pass").text(0);
                (everything(text), text.embedding().to_vec())
            };
            for (number, words) in all.iter().enumerate() {
                let text = reader.text(number);
                assert_eq!(text.words(), words.len());
                assert_eq!((everything(text), text.embedding().to_vec()), one(number), "{config}: text {number}");
                let first =
                    text.word_quantities().into_iter().chain(text.text_quantities()).next().expect("some state");
                assert!(
                    words.is_empty()
                        || everything(text).iter().any(|(quantity, all)| *quantity == first && !all.is_empty())
                );
            }
        },
    );
}

/// A direction in which an encoder does not read has no states.
#[test]
fn only_a_bidirectional_encoder_reads_backward() {
    let all = some_texts();
    each_encoder(
        |_| true,
        |config, reader| {
            let number = (0..all.len()).find(|&number| !all[number].is_empty()).expect("a text with words");
            let text = reader.text(number);
            let known = text.word_quantities();
            for state in [State::Cell, State::InputGate, State::Activation, State::Window] {
                for direction in BOTH {
                    let quantity = state.read(direction);
                    assert_eq!(text.at(quantity, 0).is_some(), known.contains(&quantity), "{config}: {quantity:?}");
                }
            }
        },
    );
}

/// The formulas of the papers hold for the states that are read, word by word.
#[test]
fn gates_make_cells_and_cells_the_embedding() {
    let all = some_texts();
    each_encoder(
        |config| ["lstm", "bilstm"].contains(&config.kind()),
        |config, reader| {
            let directions = if config.kind() == "bilstm" { &BOTH[..] } else { &BOTH[..1] };
            for number in (0..all.len()).filter(|&number| !all[number].is_empty()) {
                let text = reader.text(number);
                let last = text.words() - 1;
                let mut embedding = Vec::new();
                for &direction in directions {
                    let at = |state: State, word| text.at(state.read(direction), word).expect("a state of an LSTM");
                    let order: Vec<usize> = match direction {
                        Direction::Forward => (0..=last).collect(),
                        Direction::Backward => (0..=last).rev().collect(),
                    };
                    let mut before = vec![0.0; at(State::Cell, 0).len()];
                    for &word in &order {
                        let [written, open, shown] =
                            [State::CellInput, State::InputGate, State::OutputGate].map(|state| at(state, word));
                        let kept = text.at(State::ForgetGate.read(direction), word);
                        let (cell, activation) = (at(State::Cell, word), at(State::Activation, word));
                        for unit in 0..cell.len() {
                            let kept = kept.as_ref().map_or(1.0, |kept| kept[unit]);
                            let expected = kept * before[unit] + open[unit] * written[unit];
                            assert!((cell[unit] - expected).abs() < 1e-5, "{config}: c of {number} at {word}");
                            let expected = shown[unit] * cell[unit].tanh();
                            assert!((activation[unit] - expected).abs() < 1e-5, "{config}: y of {number} at {word}");
                        }
                        before = cell.into_owned();
                        let inputs =
                            |state: State| text.at(state.read(direction).before(), word).expect("they were kept");
                        for (x, y) in inputs(State::CellInput).iter().zip(written.iter()) {
                            assert!((x.tanh() - y).abs() < 1e-5, "{config}: y_g of {number} at {word}");
                        }
                        for state in text.word_quantities().into_iter().map(|quantity| quantity.state) {
                            if matches!(state, State::InputGate | State::ForgetGate | State::OutputGate) {
                                for (x, y) in inputs(state).iter().zip(at(state, word).iter()) {
                                    assert!((1.0 / (1.0 + (-x).exp()) - y).abs() < 1e-5, "{config}: {state} at {word}");
                                }
                            }
                        }
                    }
                    embedding.extend_from_slice(&at(State::Activation, order[last]));
                }
                if let EncoderConfig::Members(members) = config {
                    // Each member's part has unit length.
                    for part in embedding.chunks_exact_mut(members.cells) {
                        clickvec::internals::math::vector::normalize(part);
                    }
                    if members.dimension.is_some() {
                        // `projecting` multiplies by the projection.
                        assert_eq!(config.projection(), Some((embedding.len(), text.embedding().len())));
                        continue;
                    }
                }
                assert_eq!(embedding, text.embedding(), "{config}: text {number}");
            }
        },
    );
}

/// Without gates, the embeddings of the other encoders follow from the states.
#[test]
fn winners_layers_and_activations_agree_with_the_embedding() {
    let all = some_texts();
    each_encoder(
        |config| !config.has_cells(),
        |config, reader| {
            for number in (0..all.len()).filter(|&number| !all[number].is_empty()) {
                let text = reader.text(number);
                let last = match text.text_quantities().last() {
                    Some(&layer) => text.at_text(layer).expect("a layer"),
                    None => text.at(State::Activation, text.words() - 1).expect("an activation"),
                };
                assert_eq!(&last[..], text.embedding(), "{config}: text {number}");
                for quantity in text.text_quantities() {
                    let (before, after) =
                        (text.at_text(quantity.before()).expect("kept"), text.at_text(quantity).expect("kept"));
                    assert!(before.iter().zip(after.iter()).all(|(x, y)| (x.tanh() - y).abs() < 1e-5), "{config}");
                }
                let Some(winners) = text.winners() else { continue };
                let maximum = text.at_text(State::Maximum).expect("a CLSM");
                for (unit, (&winner, &maximum)) in winners.iter().zip(maximum.iter()).enumerate() {
                    let of = |word: usize| text.at(State::Window, word).expect("a window")[unit];
                    assert_eq!(of(winner as usize), maximum, "{config}: unit {unit}");
                    assert!((0..text.words()).all(|word| of(word) <= maximum), "{config}: unit {unit}");
                }
            }
        },
    );
}

#[test]
fn what_is_not_there_is_not_read() {
    let (words, all) = (words(20, FEATURES as u32, 4), some_texts());
    let batch = batch_of(&all, &words, FEATURES);
    let text_of = |trace: &Trace, state: Quantity| {
        let text = trace.reader(&batch).expect("a forward pass").text(1);
        text.at(state, 0).is_some()
    };
    let config = EncoderConfig::Lstm(lstm(5, false, Peephole::None));
    let encoder = random_encoder(&config, FEATURES, 0.5, 21);
    let mut trace = Trace::default();
    assert!(trace.reader(&batch).is_none(), "no forward pass yet");
    for keep_inputs in [true, false] {
        trace.keep_inputs = keep_inputs;
        encoder.forward(&batch, &mut trace);
        assert!(text_of(&trace, State::InputGate.into()));
        assert_eq!(text_of(&trace, State::InputGate.before()), keep_inputs);
        assert!(!text_of(&trace, State::ForgetGate.into()), "it has no forget gate");
        assert!(!text_of(&trace, State::Cell.before()), "a cell state has no activation");
        assert!(!text_of(&trace, State::InputGate.read(Direction::Backward)), "it reads forward only");
        assert!(!text_of(&trace, State::Window.into()), "it has no windows");
    }
    assert!(trace.reader(&batch_of(&all[..1], &words, FEATURES)).is_none(), "another batch");
    let grad = vec![1.0; trace.embeddings.len()];
    encoder.backward(&batch, &mut trace, &grad, Default::default(), &mut Gradients::default());
    assert!(trace.reader(&batch).is_none(), "the backward pass has put errors where gates were");

    // One trace is used by one encoder after another.
    let clsm = EncoderConfig::Clsm(ClsmConfig { window: 3, convolution: 6, hidden: vec![], semantic: 5, bias: true });
    random_encoder(&clsm, FEATURES, 0.5, 21).forward(&batch, &mut trace);
    assert!(text_of(&trace, State::Window.into()) && text_of(&trace, State::Window.before()));
    assert!(!text_of(&trace, State::InputGate.into()));
    encoder.forward(&batch, &mut trace);
    assert!(text_of(&trace, State::InputGate.into()));
}

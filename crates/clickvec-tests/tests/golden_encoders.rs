//! Every encoder compared with the golden numbers, at every instruction level of the processor: embeddings, cosines,
//! loss, gradients, traces, and six Nesterov updates.
//!
//! Tolerance: golden numbers are f64 and ours f32, so a number may be off by 2e-5 of the largest number of its tensor,
//! which is a few hundred roundings of 6e-8. After six updates, whose velocities add up the errors of the gradients,
//! 1e-4 of the largest change is allowed.

use clickvec::encoder::{
    Bptt, ClsmConfig, DssmConfig, EncoderConfig, GruConfig, LstmConfig, Peephole, RnnConfig, Signals, StackedConfig,
    State,
};
use clickvec::internals::encoder::{Encoder, Gradients, Tensor, Trace};
use clickvec::internals::loss::{Loss, NegativeRows, Pairs, TitleLists};
use clickvec::internals::math::Level;
use clickvec::internals::optimizer::{MomentumSchedule, Optimizer, OptimizerConfig};
use clickvec::internals::text::batch::{Batch, WordFeatures};
use clickvec::internals::text::{Feature, WordId};
use clickvec::train::OptimizerKind;
use serde_json::Value;
use std::path::PathBuf;

const TOLERANCE: f64 = 2e-5;
const AFTER_UPDATES: f64 = 1e-4;

fn folder() -> PathBuf {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden");
    std::env::var_os("CLICKVEC_GOLDEN").map_or_else(|| PathBuf::from(default), PathBuf::from)
}

/// The words of all texts of a case. A word's id is its position in this list.
#[derive(Default)]
struct Words(Vec<Vec<Feature>>);

impl WordFeatures for Words {
    fn features(&self, word: WordId) -> &[Feature] {
        &self.0[word as usize]
    }
}

impl Words {
    fn text(&mut self, text: &Value) -> Vec<WordId> {
        let number = |x: &Value| x.as_u64().expect("a count") as u32;
        list(text)
            .iter()
            .map(|word| {
                let features = list(word).iter().map(|f| Feature { id: number(&f[0]), count: number(&f[1]) }).collect();
                // Equal words must have the same id, as in a vocabulary.
                let known = self.0.iter().position(|known| known == &features);
                known.unwrap_or_else(|| {
                    self.0.push(features);
                    self.0.len() - 1
                }) as WordId
            })
            .collect()
    }
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("expected a list, found {value}"))
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap_or_else(|| panic!("expected a number, found {other}"))],
    }
}

fn size(value: &Value, name: &str) -> usize {
    value[name].as_u64().unwrap_or_else(|| panic!("no `{name}` in {value}")) as usize
}

struct Case {
    name: String,
    golden: Value,
    config: EncoderConfig,
    bptt: Bptt,
    features: usize,
}

impl Case {
    fn read(name: &str, golden: Value) -> Case {
        let c = &golden["config"];
        let peephole = || match c["peephole"].as_str() {
            Some("none") => Peephole::None,
            Some("diagonal") => Peephole::Diagonal,
            Some("full") => Peephole::Full,
            other => panic!("{name}: peephole {other:?}"),
        };
        let sizes = |value: &Value| numbers(value).into_iter().map(|n| n as usize).collect::<Vec<usize>>();
        let lstm = || LstmConfig {
            cells: size(c, "cells"),
            forget_gate: c["forget"].as_bool().expect("forget"),
            peephole: peephole(),
        };
        let config = match golden["model"].as_str() {
            Some("lstm") if c.get("layers").is_some() => EncoderConfig::Stacked(StackedConfig {
                layers: sizes(&c["layers"]),
                forget_gate: c["forget"].as_bool().expect("forget"),
                peephole: peephole(),
            }),
            Some("lstm") => EncoderConfig::Lstm(lstm()),
            Some("bilstm") => EncoderConfig::Bilstm(lstm()),
            Some("rnn") => EncoderConfig::Rnn(RnnConfig { hidden: size(c, "hidden") }),
            Some("gru") => EncoderConfig::Gru(GruConfig { cells: size(c, "cells") }),
            Some("dssm") => EncoderConfig::Dssm(DssmConfig { layers: sizes(&c["layers"]) }),
            Some("clsm") => {
                // A number, or one for each layer.
                let mut layers = sizes(&c["semantic"]);
                let semantic = layers.pop().expect("a semantic layer");
                EncoderConfig::Clsm(ClsmConfig {
                    window: size(c, "window"),
                    convolution: size(c, "conv"),
                    hidden: layers,
                    semantic,
                    bias: golden["query_parameters"].get("bc").is_some(),
                })
            }
            other => panic!("{name}: model {other:?} is not known"),
        };
        for key in c.as_object().expect("config").keys() {
            let known = [
                "cells",
                "forget",
                "peephole",
                "hidden",
                "layers",
                "window",
                "conv",
                "semantic",
                "bptt",
                "bptt_words",
                "bias",
            ];
            assert!(known.contains(&key.as_str()), "{name}: config `{key}` is not known");
        }
        let bptt = Bptt {
            words: c.get("bptt_words").map(|n| n.as_u64().expect("bptt_words") as usize),
            signals: match c.get("bptt").and_then(Value::as_str) {
                None | Some("exact") => Signals::Exact,
                Some("per-gate") => Signals::PerGate,
                Some(other) => panic!("{name}: bptt {other}"),
            },
        };
        let features = size(&golden, "features");
        Case { name: name.to_owned(), golden, config, bptt, features }
    }

    fn tower(&self, key: &str) -> Box<dyn Encoder> {
        let mut encoder = self.config.build(self.features);
        let source = &self.golden[key];
        for tensor in encoder.tensors_mut() {
            each_number(tensor, self.features, |name, row, column| lookup(source, &name, row, column));
        }
        // Every golden number must have a place.
        for (name, values) in source.as_object().expect("parameters") {
            let placed = collect(encoder.tensors(), name, self.features).len();
            assert_eq!(placed, numbers(values).len(), "{}: {name}", self.name);
        }
        encoder
    }

    /// The largest difference of any tensor, relative to the tensor's largest number.
    fn compare(&self, what: &str, tensors: &[Tensor], golden: &Value, before: Option<&Value>, tolerance: f64) {
        for (name, expected) in golden.as_object().unwrap_or_else(|| panic!("{}: no {what}", self.name)) {
            let found = collect(tensors, name, self.features);
            let expected = numbers(expected);
            assert_eq!(found.len(), expected.len(), "{}: {what} {name}", self.name);
            let largest = expected.iter().fold(0.0f64, |a, x| a.max(x.abs())).max(1e-3);
            let allowed = match before {
                None => tolerance * largest,
                // For parameters after updates, compare how far they have moved, and allow a rounding for each update.
                Some(before) => {
                    let moves = expected.iter().zip(numbers(&before[name])).map(|(x, y)| (x - y).abs());
                    tolerance * moves.fold(0.0, f64::max) + 6.0 * 6e-8 * largest
                }
            };
            let worst = found.iter().zip(&expected).fold(0.0f64, |a, (x, y)| a.max((x - y).abs()));
            assert!(
                worst <= allowed,
                "{}: {what} {name}: off by {worst:.2e}, allowed {allowed:.2e}, largest {largest:.2e}",
                self.name
            );
        }
    }
}

/// Golden name, row (output), column (input) of every number of a tensor.
fn each_number(tensor: &mut Tensor, features: usize, mut value: impl FnMut(String, usize, usize) -> f64) {
    let ranges: Vec<_> = tensor.ranges().map(|(group, columns)| (group.name.clone(), columns)).collect();
    for (name, columns) in ranges {
        for input in 0..tensor.value.rows() {
            for (output, column) in columns.clone().enumerate() {
                let (name, input) = golden_place(&name, input, features);
                tensor.value.row_mut(input.1)[column] = value(name, output, input.0) as f32;
            }
        }
    }
}

/// A CLSM's `wc.2` is the third block of columns of the golden `wc`, and its padding word is the last column of each
/// block. Returns (column in golden, row in ours).
fn golden_place(name: &str, input: usize, features: usize) -> (String, (usize, usize)) {
    if let Some(place) = name.strip_prefix("wc.padding.") {
        let place: usize = place.parse().expect("a place in the window");
        return ("wc".to_owned(), (place * (features + 1) + features, input));
    }
    if let Some(place) = name.strip_prefix("wc.") {
        let place: usize = place.parse().expect("a place in the window");
        return ("wc".to_owned(), (place * (features + 1) + input, input));
    }
    (name.to_owned(), (input, input))
}

fn lookup(source: &Value, name: &str, row: usize, column: usize) -> f64 {
    let tensor = source.get(name).unwrap_or_else(|| panic!("no golden tensor `{name}`"));
    match &tensor[row] {
        Value::Array(columns) => columns[column].as_f64().expect("a number"),
        // A vector: a bias or a diagonal peephole.
        number => number.as_f64().unwrap_or_else(|| panic!("no number at {name}[{row}]")),
    }
}

/// All numbers of ours that belong to the golden tensor `name`, in its order.
fn collect(tensors: &[Tensor], name: &str, features: usize) -> Vec<f64> {
    let mut found: Vec<((usize, usize), f64)> = Vec::new();
    for tensor in tensors {
        for (group, columns) in tensor.ranges() {
            for input in 0..tensor.value.rows() {
                let (golden, (column, _)) = golden_place(&group.name, input, features);
                if golden == name {
                    for (output, at) in columns.clone().enumerate() {
                        found.push(((output, column), f64::from(tensor.value.row(input)[at])));
                    }
                }
            }
        }
    }
    found.sort_by_key(|&(place, _)| place);
    found.into_iter().map(|(_, x)| x).collect()
}

/// Gradients with all rows of the tables, shaped like the parameters.
fn dense(encoder: &dyn Encoder, gradients: &Gradients, batch: &Batch) -> Vec<Tensor> {
    let mut out = encoder.tensors().to_vec();
    for (tensor, gradient) in out.iter_mut().zip(&gradients.tensors) {
        if tensor.kind == clickvec::internals::encoder::TensorKind::Input {
            tensor.value.reset(tensor.value.rows(), tensor.value.columns());
            for (&row, &place) in batch.touched().iter().zip(&gradients.table_rows) {
                tensor.value.row_mut(row as usize).copy_from_slice(gradient.row(place as usize));
            }
        } else {
            tensor.value = gradient.clone();
        }
    }
    out
}

/// Both towers' passes over some of a case's samples.
struct Pass {
    batches: [Batch; 2],
    traces: [Trace; 2],
    gradients: [Gradients; 2],
    loss: Loss,
    pairs: Pairs,
}

impl Pass {
    fn new(case: &Case, samples: &[usize]) -> Pass {
        let mut words = Words::default();
        let (mut queries, mut titles) = (Vec::new(), Vec::new());
        let mut pairs = Pairs::default();
        let mut lists = TitleLists::default();
        for &sample in samples {
            let sample = &case.golden["batch"][sample];
            queries.push(words.text(&sample["query"]));
            pairs.positive.push(titles.len() as u32);
            pairs.weight.push(1.0);
            titles.push(words.text(&sample["positive"]));
            let first = titles.len() as u32;
            titles.extend(list(&sample["negatives"]).iter().map(|text| words.text(text)));
            lists.push(first..titles.len() as u32);
        }
        pairs.negatives = NegativeRows::Listed(lists);
        let mut batches = [Batch::new(), Batch::new()];
        for (batch, texts) in batches.iter_mut().zip([&queries, &titles]) {
            batch.fill(texts.iter().map(Vec::as_slice), &words);
            batch.plan_rows(case.features);
        }
        Pass { batches, traces: Default::default(), gradients: Default::default(), loss: Loss::default(), pairs }
    }

    fn run(&mut self, case: &Case, towers: [&dyn Encoder; 2]) -> f64 {
        for ((tower, batch), trace) in towers.iter().zip(&self.batches).zip(&mut self.traces) {
            tower.forward(batch, trace);
        }
        let gamma = case.golden["gamma"].as_f64().expect("gamma") as f32;
        let [queries, titles] = &self.traces;
        let dimension = towers[0].dimension();
        let sum = self.loss.compute(gamma, &queries.embeddings, &titles.embeddings, dimension, &self.pairs);
        let grads = [&self.loss.query_gradient, &self.loss.title_gradient];
        for i in 0..2 {
            towers[i].backward(&self.batches[i], &mut self.traces[i], grads[i], case.bptt, &mut self.gradients[i]);
        }
        sum.loss
    }
}

fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected.abs().max(1.0), "{what}: {found} against {expected}");
}

fn check_passes(case: &Case) {
    let towers = [case.tower("query_parameters"), case.tower("document_parameters")];
    let towers = [&*towers[0], &*towers[1]];
    let samples: Vec<usize> = (0..list(&case.golden["batch"]).len()).collect();
    let mut pass = Pass::new(case, &samples);
    let loss = pass.run(case, towers);
    close(&format!("{}: loss", case.name), loss, case.golden["loss_sum"].as_f64().expect("loss_sum"), TOLERANCE);
    let mut gradients = [0, 1].map(|i| dense(towers[i], &pass.gradients[i], &pass.batches[i]));
    if case.golden["shared_tower"] == true {
        // One tower for both sides: each side's gradients are the whole ones.
        let [queries, titles] = &mut gradients;
        for (query, title) in queries.iter_mut().zip(titles) {
            clickvec::internals::math::vector::add(query.value.data_mut(), title.value.data());
            title.value = query.value.clone();
        }
    }
    for (found, key) in gradients.iter().zip(["query_gradients", "document_gradients"]) {
        case.compare(key, found, &case.golden[key], None, TOLERANCE);
    }
    let dimension = towers[0].dimension();
    let mut title = 0;
    for (i, sample) in list(&case.golden["per_sample"]).iter().enumerate() {
        let query = &pass.traces[0].embeddings[i * dimension..][..dimension];
        for (x, y) in query.iter().zip(numbers(&sample["query_embedding"])) {
            close(&format!("{}: query {i}", case.name), f64::from(*x), y, TOLERANCE);
        }
        for (j, document) in list(&sample["document_embeddings"]).iter().enumerate() {
            let found = &pass.traces[1].embeddings[title * dimension..][..dimension];
            for (x, y) in found.iter().zip(numbers(document)) {
                close(&format!("{}: document {i}.{j}", case.name), f64::from(*x), y, TOLERANCE);
            }
            let norm = |x: &[f32]| clickvec::internals::math::vector::dot(x, x).sqrt();
            let cosine = clickvec::internals::math::vector::dot(query, found) / (norm(query) * norm(found));
            let expected = numbers(&sample["cosine"])[j];
            close(&format!("{}: cosine {i}.{j}", case.name), f64::from(cosine), expected, TOLERANCE);
            title += 1;
        }
    }
    check_trace(case, &pass, towers[0]);
    check_one_by_one(case, towers, &pass, &samples);
}

/// A batch of one gives the same bits as a batch of many, and the losses of single samples are golden.
fn check_one_by_one(case: &Case, towers: [&dyn Encoder; 2], many: &Pass, samples: &[usize]) {
    let dimension = towers[0].dimension();
    for &sample in samples {
        let mut one = Pass::new(case, &[sample]);
        let loss = one.run(case, towers);
        let expected = case.golden["per_sample"][sample]["loss"].as_f64().expect("loss");
        close(&format!("{}: loss {sample}", case.name), loss, expected, TOLERANCE);
        assert_eq!(
            one.traces[0].embeddings,
            many.traces[0].embeddings[sample * dimension..][..dimension],
            "{}: sample {sample} alone",
            case.name
        );
    }
}

fn check_trace(case: &Case, pass: &Pass, tower: &dyn Encoder) {
    let Some(golden) = case.golden.get("trace_of_first_query") else { return };
    let batch = &pass.batches[0];
    assert!(pass.traces[0].reader(batch).is_none(), "{}: a backward pass uses a trace up", case.name);
    let mut trace = Trace::default();
    tower.forward(batch, &mut trace);
    let text = trace.reader(batch).expect("a forward pass").text(0);
    let words = |state: State| -> Vec<f64> {
        let row = |word| text.at(state, word).unwrap_or_else(|| panic!("{}: no {state} at {word}", case.name));
        (0..text.words()).flat_map(|word| row(word).into_owned()).map(f64::from).collect()
    };
    for (key, expected) in golden.as_object().expect("a trace") {
        let expected = numbers(expected);
        let found: Vec<f64> = match key.as_str() {
            "input_gate" => words(State::InputGate),
            "forget_gate" => words(State::ForgetGate),
            "output_gate" => words(State::OutputGate),
            "update_gate" => words(State::UpdateGate),
            "reset_gate" => words(State::ResetGate),
            "cell_state" => words(State::Cell),
            "activation" => words(State::Activation),
            "h" => words(State::Window),
            "v" => text.at_text(State::Maximum).expect("v").iter().map(|&x| f64::from(x)).collect(),
            "argmax" => text.winners().expect("winners").iter().map(|&word| f64::from(word)).collect(),
            other => panic!("{}: trace `{other}` is not known", case.name),
        };
        assert_eq!(found.len(), expected.len(), "{}: trace {key}", case.name);
        for (x, y) in found.iter().zip(expected) {
            close(&format!("{}: trace {key}", case.name), *x, y, TOLERANCE);
        }
    }
}

fn check_nesterov(case: &Case) {
    let Some(golden) = case.golden.get("nesterov") else { return };
    let steps = list(&golden["steps"]);
    let momenta: Vec<f64> = steps.iter().map(|step| step["momentum"].as_f64().expect("momentum")).collect();
    let config = OptimizerConfig {
        kind: OptimizerKind::Nesterov,
        learning_rate: golden["learning_rate"].as_f64().expect("learning_rate") as f32,
        clip_norm: Some(golden["clip_norm"].as_f64().expect("clip_norm") as f32),
        momentum: MomentumSchedule::each(&momenta),
    };
    let mut towers = [case.tower("query_parameters"), case.tower("document_parameters")];
    let mut optimizers = towers.each_mut().map(|tower| Optimizer::new(config.clone(), tower.tensors_mut()));
    for step in steps {
        let samples: Vec<usize> = numbers(&step["minibatch"]).into_iter().map(|i| i as usize).collect();
        let mut pass = Pass::new(case, &samples);
        for i in 0..2 {
            optimizers[i].prepare(towers[i].tensors_mut(), pass.batches[i].touched());
        }
        let loss = pass.run(case, [&*towers[0], &*towers[1]]);
        let expected = step["loss_at_lookahead"].as_f64().expect("loss");
        close(&format!("{}: loss at lookahead", case.name), loss, expected, AFTER_UPDATES);
        for (i, key) in ["query_gradient_norm", "document_gradient_norm"].into_iter().enumerate() {
            let norm = Optimizer::norm(towers[i].tensors(), &pass.gradients[i]);
            close(&format!("{}: {key}", case.name), norm, step[key].as_f64().expect("a norm"), AFTER_UPDATES);
            let touched = pass.batches[i].touched();
            optimizers[i].apply(towers[i].tensors_mut(), touched, &pass.gradients[i], norm);
        }
    }
    for (i, side) in ["query", "document"].into_iter().enumerate() {
        let before = &case.golden[format!("{side}_parameters")];
        let parameters = optimizers[i].parameters(towers[i].tensors());
        let key = format!("{side}_parameters");
        case.compare(&format!("nesterov {key}"), &parameters, &golden[&key], Some(before), AFTER_UPDATES);
        let velocities = optimizers[i].velocities(towers[i].tensors());
        let key = format!("{side}_velocity");
        case.compare(&format!("nesterov {key}"), &velocities, &golden[&key], None, AFTER_UPDATES);
    }
}

/// The cases of `testdata/golden`.
const CASES: [&str; 25] = [
    "bilstm_full",
    "bilstm_simplified",
    "bilstm_truncated",
    "clsm_no_bias",
    "clsm_two_semantic_layers",
    "clsm_window_1",
    "clsm_window_3",
    "clsm_window_5",
    "dssm_shared_tower",
    "dssm_three_layer",
    "dssm_two_layer",
    "gru",
    "lstm_diagonal_peephole",
    "lstm_forget",
    "lstm_full",
    "lstm_full_per_gate",
    "lstm_full_per_gate_truncated",
    "lstm_full_truncated",
    "lstm_shared_tower",
    "lstm_simplified",
    "lstm_simplified_per_gate",
    "lstm_two_layers",
    "lstm_two_layers_forget",
    "rnn",
    "rnn_truncated",
];

#[test]
fn golden_encoders() {
    let mut checked = Vec::new();
    let entries = std::fs::read_dir(folder()).expect("the golden folder");
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.extension().is_none_or(|e| e != "json") || name == "words" || name == "metrics" {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        let mut case = Case::read(&name, serde_json::from_str(&text).expect("JSON"));
        // The level is that of the whole process, and this is its only test.
        for level in Level::ALL.into_iter().filter(|&level| level <= Level::detect()) {
            Level::limit(level);
            case.name = format!("{name}, {}", level.name());
            check_passes(&case);
            check_nesterov(&case);
        }
        checked.push(name);
    }
    checked.sort();
    match std::env::var_os("CLICKVEC_GOLDEN") {
        None => assert_eq!(checked, CASES),
        // Another folder may have others.
        Some(folder) => assert!(!checked.is_empty(), "no golden case in {}", folder.display()),
    }
}

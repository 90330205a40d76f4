//! The graph of an encoder: from the rows of words' trigrams to vectors of unit length.
//!
//! Inputs: `features` [texts, words, slots], for each word the rows of its trigrams, and V, the number of rows, where nothing
//! is left; `lengths` [texts], the number of words of each text. Output: `vectors` [texts, L].

use clickvec::encoder::EncoderConfig;
use clickvec::internals::encoder::{Encoder, Tensor, TensorKind};
use clickvec_tables::{Error, ErrorKind, Result};

use super::graph::{Graph, Size, int, ints, string};
use super::proto::INT32;

/// The names of the inputs and of the output.
pub(super) const FEATURES: &str = "features";
pub(super) const LENGTHS: &str = "lengths";
pub(super) const VECTORS: &str = "vectors";

/// A forget gate that is always open: σ(40) = 1 in 32 bits. ONNX's LSTM cannot leave the gate out.
const OPEN: f32 = 40.0;

/// Less than any tanh.
const BELOW: f32 = -2.0;

/// The largest message that protobuf allows.
const MOST_BYTES: u64 = i32::MAX as u64;

/// Returns the bytes of the ONNX model of an encoder.
///
/// # Errors
/// If ONNX's operators cannot express it, or if it is too large for one file.
pub(super) fn model(encoder: &dyn Encoder, config: &EncoderConfig, metadata: &[(&str, &str)]) -> Result<Vec<u8>> {
    let numbers: u64 = encoder.tensors().iter().map(|tensor| tensor.value.data().len() as u64).sum();
    // Identities and names add little.
    if numbers * 4 > MOST_BYTES / 10 * 9 {
        let expected = "a model whose graph has less than 2 GiB, the most that ONNX allows";
        return Err(Error::expected(ErrorKind::Setting, expected, format!("{numbers} weights")));
    }
    let mut graph = Graph::default();
    let weights = Weights(encoder.tensors());
    let raw = Builder { graph: &mut graph, weights }.encoder(config)?;
    // Texts without words have the vector zero.
    let unit = unit(&mut graph, &raw);
    let zero = graph.integer(0);
    let has_words = graph.node("Greater", &[LENGTHS, &zero], vec![]);
    let last = graph.integers(&[1]);
    let has_words = graph.node("Unsqueeze", &[&has_words, &last], vec![]);
    let nothing = graph.floats(&[], [0.0]);
    let vectors = graph.node("Where", &[&has_words, &unit, &nothing], vec![]);
    graph.rename(&vectors, VECTORS);
    let [texts, words, slots] = ["texts", "words", "slots"].map(Size::Named);
    let inputs: [(&str, &[Size]); 2] = [(FEATURES, &[texts, words, slots]), (LENGTHS, &[texts])];
    Ok(graph.finish(&inputs, (VECTORS, &[texts, Size::Fixed(encoder.dimension())]), metadata))
}

/// Scales vectors to length 1; zero stays zero.
fn unit(graph: &mut Graph, vectors: &str) -> String {
    let length = graph.node("ReduceL2", &[vectors], vec![ints("axes", &[-1])]);
    let least = graph.floats(&[], [f32::MIN_POSITIVE]);
    let length = graph.node("Max", &[&length, &least], vec![]);
    graph.node("Div", &[vectors, &length], vec![])
}

/// The weights of an encoder by the names of the papers' matrices.
struct Weights<'a>(&'a [Tensor]);

impl<'a> Weights<'a> {
    /// Returns a matrix, [inputs, outputs], row by row, with the number of its outputs.
    fn find(&self, name: &str) -> Option<(Vec<f32>, usize)> {
        self.0.iter().find_map(|tensor| {
            let (group, columns) = tensor.ranges().find(|(group, _)| group.name == name)?;
            let rows = (0..tensor.value.rows()).map(|row| &tensor.value.row(row)[columns.clone()]);
            Some((rows.flatten().copied().collect(), group.width))
        })
    }

    fn get(&self, name: &str) -> (Vec<f32>, usize) {
        self.find(name).unwrap_or_else(|| unreachable!("an encoder has {name}"))
    }

    /// Returns the tensor whose first matrix has this name: the matrices next to each other.
    fn tensor(&self, first: &str) -> &'a Tensor {
        let found = self.0.iter().find(|tensor| tensor.groups.first().is_some_and(|group| group.name == first));
        found.unwrap_or_else(|| unreachable!("an encoder has {first}"))
    }
}

/// A recurrent operator.
struct Recurrent {
    operator: &'static str,
    direction: &'static str,
    cells: usize,
    /// [gates·H, inputs], [gates·H, H] and [2·gates·H]: input and recurrent weights, and biases, gate by gate in ONNX's order.
    input: Vec<f32>,
    recurrent: Vec<f32>,
    bias: Vec<f32>,
    /// [3·H], from the cells to the gates i, o and f.
    peepholes: Option<Vec<f32>>,
}

struct Builder<'g, 'w> {
    graph: &'g mut Graph,
    weights: Weights<'w>,
}

impl Builder<'_, '_> {
    /// Builds the vectors as the encoder computes them.
    fn encoder(&mut self, config: &EncoderConfig) -> Result<String> {
        Ok(match config {
            EncoderConfig::Dssm(config) => self.dssm(config.layers.len()),
            EncoderConfig::Clsm(config) => self.clsm(config.window, config.convolution, 1 + config.hidden.len()),
            EncoderConfig::Rnn(config) => {
                let words = self.words("w", true);
                let last = self.gates("RNN", "", config.hidden, &[("", 1.0)]);
                self.last(&words, &last)
            }
            EncoderConfig::Gru(config) => {
                let words = self.words("wz", true);
                // ONNX's z is how much of y⁻ stays, ours how much of ỹ comes: σ(−x) = 1 − σ(x).
                let last = self.gates("GRU", "", config.cells, &[("z", -1.0), ("r", 1.0), ("h", 1.0)]);
                self.last(&words, &last)
            }
            EncoderConfig::Lstm(config) => {
                let words = self.words("w4", true);
                let lstm = self.lstm("", "forward", config.cells)?;
                self.last(&words, &lstm)
            }
            EncoderConfig::Bilstm(config) => {
                let mut both = Vec::new();
                for (prefix, direction) in [("forward.", "forward"), ("backward.", "reverse")] {
                    let words = self.words(&format!("{prefix}w4"), true);
                    let lstm = self.lstm(prefix, direction, config.cells)?;
                    both.push(self.last(&words, &lstm));
                }
                self.side_by_side(&both)
            }
            EncoderConfig::Stacked(config) => {
                let mut below = self.words("layer1.w4", true);
                for (layer, &cells) in (1..).zip(&config.layers) {
                    let lstm = self.lstm(&format!("layer{layer}."), "forward", cells)?;
                    if layer == config.layers.len() {
                        below = self.last(&below, &lstm);
                        break;
                    }
                    let all = self.recurrent(&below, &lstm, 0);
                    let directions = self.graph.integers(&[1]);
                    below = self.graph.node("Squeeze", &[&all, &directions], vec![]);
                }
                below
            }
            EncoderConfig::Members(config) => {
                let mut all = Vec::new();
                for member in 1..=config.members {
                    let prefix = format!("m{member}.");
                    let words = self.words(&format!("{prefix}w4"), true);
                    let lstm = self.lstm(&prefix, "forward", config.cells)?;
                    let vectors = self.last(&words, &lstm);
                    all.push(unit(self.graph, &vectors));
                }
                let all = self.side_by_side(&all);
                match self.weights.find("projection") {
                    None => all,
                    Some((weights, dimension)) => {
                        let weights = self.graph.floats(&[weights.len() / dimension, dimension], weights);
                        self.graph.node("MatMul", &[&all, &weights], vec![])
                    }
                }
            }
        })
    }

    /// Returns the rows of the table that begins with the matrix `first`, for each slot: [texts, words, slots, W].
    fn rows(&mut self, first: &str) -> String {
        let table = &self.weights.tensor(first).value;
        let (rows, columns) = (table.rows(), table.columns());
        // The last row is that of slots in which nothing is left.
        let values = table.data().iter().copied().chain(std::iter::repeat_n(0.0, columns));
        let table = self.graph.floats(&[rows + 1, columns], values);
        self.graph.node("Gather", &[&table, FEATURES], vec![int("axis", 0)])
    }

    /// Returns the projected words, without a bias: [texts, words, W], or [words, texts, W] as recurrent operators want them.
    fn words(&mut self, first: &str, by_word: bool) -> String {
        let rows = self.rows(first);
        let slots = self.graph.integers(&[2]);
        let words = self.graph.node("ReduceSum", &[&rows, &slots], vec![int("keepdims", 0)]);
        if by_word { self.graph.node("Transpose", &[&words], vec![ints("perm", &[1, 0, 2])]) } else { words }
    }

    fn side_by_side(&mut self, vectors: &[String]) -> String {
        let vectors: Vec<&str> = vectors.iter().map(String::as_str).collect();
        self.graph.node("Concat", &vectors, vec![int("axis", -1)])
    }

    /// Returns y = tanh(x·W + b) for each layer, named with these stems and `numbers`.
    fn layers(&mut self, mut x: String, stems: [&str; 2], numbers: impl IntoIterator<Item = String>) -> String {
        for number in numbers {
            let (weights, outputs) = self.weights.get(&format!("{}{number}", stems[0]));
            let weights = self.graph.floats(&[weights.len() / outputs, outputs], weights);
            x = self.graph.node("MatMul", &[&x, &weights], vec![]);
            x = self.biased_tanh(&x, &format!("{}{number}", stems[1]));
        }
        x
    }

    /// Returns tanh(x + b), or tanh x if there is no bias of this name.
    fn biased_tanh(&mut self, x: &str, bias: &str) -> String {
        let sum = self.weights.find(bias).map(|(bias, width)| {
            let bias = self.graph.floats(&[width], bias);
            self.graph.node("Add", &[x, &bias], vec![])
        });
        self.graph.node("Tanh", &[sum.as_deref().unwrap_or(x)], vec![])
    }

    fn dssm(&mut self, layers: usize) -> String {
        let rows = self.rows("w1");
        let axes = self.graph.integers(&[1, 2]);
        let sum = self.graph.node("ReduceSum", &[&rows, &axes], vec![int("keepdims", 0)]);
        let first = self.biased_tanh(&sum, "b1");
        self.layers(first, ["w", "b"], (2..=layers).map(|number| number.to_string()))
    }

    /// Builds the graph of a CLSM: `window` are the words of a window, `units` those of the convolution.
    fn clsm(&mut self, window: usize, units: usize, layers: usize) -> String {
        let words = self.words("wc.0", false);
        let padding = self.weights.tensor("wc.padding.0").value.data().to_vec();
        let width = padding.len();
        let padding = self.graph.floats(&[1, 1, width], padding);
        let inside = self.inside();
        let words = self.graph.node("Where", &[&inside, &words, &padding], vec![]);
        // Before the first word of a text and after the last one of the longest.
        let reach = (window / 2) as i64;
        let texts = self.graph.node("Shape", &[LENGTHS], vec![]);
        let sizes = self.graph.integers(&[reach, width as i64]);
        let sizes = self.graph.node("Concat", &[&texts, &sizes], vec![int("axis", 0)]);
        let padding = self.graph.node("Expand", &[&padding, &sizes], vec![]);
        let padded = self.graph.node("Concat", &[&padding, &words, &padding], vec![int("axis", 1)]);
        let axes = self.graph.integers(&[1, 2]);
        let mut sum: Option<String> = None;
        for offset in 0..window as i64 {
            let column = offset * units as i64;
            let starts = self.graph.integers(&[offset, column]);
            let end = if offset == 2 * reach { i64::MAX } else { offset - 2 * reach };
            let ends = self.graph.integers(&[end, column + units as i64]);
            let part = self.graph.node("Slice", &[&padded, &starts, &ends, &axes], vec![]);
            sum = Some(match sum {
                None => part,
                Some(sum) => self.graph.node("Add", &[&sum, &part], vec![]),
            });
        }
        let windows = self.biased_tanh(&sum.unwrap_or_default(), "bc");
        let below = self.graph.floats(&[], [BELOW]);
        let windows = self.graph.node("Where", &[&inside, &windows, &below], vec![]);
        let attributes = vec![ints("axes", &[1]), int("keepdims", 0)];
        let most = self.graph.node("ReduceMax", &[&windows], attributes);
        let numbers = (1..=layers).map(|number| if number == 1 { String::new() } else { number.to_string() });
        self.layers(most, ["ws", "bs"], numbers)
    }

    /// Returns whether there is a word: [texts, words, 1].
    fn inside(&mut self) -> String {
        let shape = self.graph.node("Shape", &[FEATURES], vec![]);
        let [first, one] = [0, 1].map(|number| self.graph.integer(number));
        let words = self.graph.node("Gather", &[&shape, &one], vec![int("axis", 0)]);
        let numbers = self.graph.node("Range", &[&first, &words, &one], vec![]);
        let [word_axes, text_axes] = [&[0, 2][..], &[1, 2]].map(|axes| self.graph.integers(axes));
        let numbers = self.graph.node("Unsqueeze", &[&numbers, &word_axes], vec![]);
        let lengths = self.graph.node("Unsqueeze", &[LENGTHS, &text_axes], vec![]);
        self.graph.node("Less", &[&numbers, &lengths], vec![])
    }

    /// Returns y after the last word of each text, [texts, H]. `words` are its inputs, [words, texts, inputs].
    fn last(&mut self, words: &str, layer: &Recurrent) -> String {
        let last = self.recurrent(words, layer, 1);
        let directions = self.graph.integers(&[0]);
        self.graph.node("Squeeze", &[&last, &directions], vec![])
    }

    /// Returns an output of a recurrent operator: y after every word, [words, 1, texts, H], or after the last one, [1, texts, H].
    fn recurrent(&mut self, words: &str, layer: &Recurrent, output: usize) -> String {
        let Recurrent { operator, direction, cells, input, recurrent, bias, peepholes } = layer;
        let gates = recurrent.len() / cells / cells;
        let rows = gates * cells;
        let input = self.graph.floats(&[1, rows, input.len() / rows], input.iter().copied());
        let recurrent = self.graph.floats(&[1, rows, *cells], recurrent.iter().copied());
        let bias = self.graph.floats(&[1, 2 * rows], bias.iter().copied());
        // A text without words is read as one word, and its vector is left out in the end.
        let one = self.graph.integer(1);
        let lengths = self.graph.node("Max", &[LENGTHS, &one], vec![]);
        let lengths = self.graph.node("Cast", &[&lengths], vec![int("to", i64::from(INT32))]);
        let mut inputs = vec![words, &input, &recurrent, &bias, &lengths];
        let peepholes = peepholes.as_ref().map(|values| self.graph.floats(&[1, 3 * cells], values.iter().copied()));
        if let Some(peepholes) = &peepholes {
            // No initial states.
            inputs.extend(["", "", peepholes]);
        }
        let attributes = vec![int("hidden_size", *cells as i64), string("direction", direction)];
        self.graph.nth_output(operator, &inputs, attributes, output)
    }

    /// Returns a recurrent operator with these gates in ONNX's order: how the names of a gate's matrices end, and the factor of its
    /// inputs. The names begin with `prefix`. A gate that the encoder does not have is open.
    fn gates(&self, operator: &'static str, prefix: &str, cells: usize, gates: &[(&str, f32)]) -> Recurrent {
        let width = gates.len() * cells;
        let mut layer = Recurrent {
            operator,
            direction: "forward",
            cells,
            input: Vec::with_capacity(width * width),
            recurrent: Vec::with_capacity(width * cells),
            bias: vec![0.0; 2 * width],
            peepholes: None,
        };
        for (number, (gate, sign)) in gates.iter().enumerate() {
            let name = |stem: &str| format!("{prefix}{stem}{gate}");
            let gate_bias = &mut layer.bias[number * cells..][..cells];
            let Some((bias, _)) = self.weights.find(&name("b")) else {
                gate_bias.fill(OPEN);
                for weights in [&mut layer.input, &mut layer.recurrent] {
                    weights.resize(weights.len() / number * (number + 1), 0.0);
                }
                continue;
            };
            gate_bias.iter_mut().zip(bias).for_each(|(to, bias)| *to = bias * sign);
            layer.input.extend(self.inputs(&name("w")).iter().map(|weight| weight * sign));
            let recurrent = transposed(&self.weights.get(&name("wrec")).0, cells);
            layer.recurrent.extend(recurrent.iter().map(|weight| weight * sign));
        }
        layer
    }

    /// Returns the input weights of a gate, [H, inputs]: those of its own matrix if that reads a layer below, and a part of the
    /// identity if its words are projected already.
    fn inputs(&self, name: &str) -> Vec<f32> {
        let has_group = |tensor: &&Tensor| tensor.groups.iter().any(|group| group.name == name);
        let tensor = self.weights.0.iter().find(has_group).unwrap_or_else(|| unreachable!("an encoder has {name}"));
        let (weights, cells) = self.weights.get(name);
        if tensor.kind != TensorKind::Input {
            return transposed(&weights, cells);
        }
        let all = tensor.value.columns();
        let first = tensor.ranges().find(|(group, _)| group.name == name).map_or(0, |(_, columns)| columns.start);
        (0..cells).flat_map(|row| (0..all).map(move |column| f32::from(u8::from(column == first + row)))).collect()
    }

    /// Returns the LSTM whose names begin with `prefix`.
    fn lstm(&self, prefix: &str, direction: &'static str, cells: usize) -> Result<Recurrent> {
        // ONNX's order: input, output, forget gate, cell.
        let mut layer = self.gates("LSTM", prefix, cells, &["3", "1", "2", "4"].map(|gate| (gate, 1.0)));
        layer.direction = direction;
        let peephole = |gate| self.weights.find(&format!("{prefix}wp{gate}")).map(|(weights, _)| weights);
        if let Some(input) = peephole("3") {
            if input.len() > cells {
                let expected = "an LSTM without peepholes or with diagonal ones";
                let found = "full ones: ONNX's LSTM has no weights from one cell to another's gates";
                let error = Error::expected(ErrorKind::Setting, expected, found);
                return Err(error.help("train with `encoder.peephole=diagonal`"));
            }
            let [output, forget] = ["1", "2"].map(|gate| peephole(gate).unwrap_or_else(|| vec![0.0; cells]));
            layer.peepholes = Some([input, output, forget].concat());
        }
        Ok(layer)
    }
}

/// Returns the transpose of a matrix stored row by row, `columns` wide.
fn transposed(matrix: &[f32], columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| matrix.iter().skip(column).step_by(columns).copied()).collect()
}

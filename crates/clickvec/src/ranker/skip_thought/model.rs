//! A Skip-Thought model in training: word vectors, encoders, two decoders and the words' output vectors.
//!
//! As in the authors' program, both decoders start from the encoder's vector and read the words of the sentence that
//! they predict, shifted by one. (In the paper, eq. 5–7, the vector is added at every step instead.) Their output
//! vectors are shared.

use super::gru::{Gru, Trace, Transposed};
use super::packed::{NO_WORD, Packed};
use super::softmax::{CandidateGradient, Candidates};
use crate::math::vector::add;
use crate::math::{Buffer, Matrix};
use crate::rng;
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The model. Words are numbered 0 … V − 1, the unknown word is V, and the end of a sentence is V + 1.
#[derive(Debug, Clone)]
pub(super) struct Model {
    /// Word vectors: [V + 1, D].
    pub(super) word_vectors: Matrix,
    /// One encoder that reads forward, or two, the second of which reads backward.
    pub(super) encoders: Vec<Gru>,
    /// The decoders of the previous and of the next sentence.
    pub(super) decoders: Vec<Gru>,
    /// v: [V + 2, units]
    pub(super) output: Matrix,
    /// b: [V + 2]
    pub(super) output_bias: Buffer,
}

/// A sentence with its neighbours; an empty neighbour does not exist.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuple<'a> {
    pub(super) sentence: &'a [u32],
    /// The previous and the next sentence.
    pub(super) neighbours: [&'a [u32]; 2],
}

/// What all blocks of a minibatch share.
#[derive(Debug)]
pub(super) struct Shared {
    /// The words of the minibatch, ascending.
    pub(super) words: Vec<u32>,
    pub(super) candidates: Candidates,
    /// Those of the encoders, then those of the decoders.
    transposed: Vec<Transposed>,
}

/// The gradient of the loss of some tuples.
#[derive(Debug)]
pub(super) struct Gradient {
    /// Σ −log P over all predicted words.
    pub(super) loss: f64,
    /// The number of predicted words.
    pub(super) predicted: u64,
    /// [words of the minibatch, D]
    pub(super) word_vectors: Buffer,
    /// Those of the encoders, then those of the decoders.
    pub(super) grus: Vec<Gru>,
    pub(super) candidates: CandidateGradient,
}

impl Model {
    /// Initial weights as in the paper: recurrent weights orthogonal, all others uniform in ±0.1, biases 0.
    pub(super) fn new(name: &str, words: usize, inputs: usize, encoders: &[usize], seed: u64) -> Model {
        let units = encoders.iter().sum();
        let uniform = |tensor: &str, data: &mut [f32]| {
            let mut stream = rng::stream(seed, &format!("skip-thought.{name}.{tensor}"), 0);
            data.iter_mut().for_each(|x| *x = 0.1 * (2.0 * stream.random::<f32>() - 1.0));
        };
        let gru = |tensor: String, units: usize| {
            let mut gru = Gru::zeros(inputs, units);
            uniform(&format!("{tensor}.input"), &mut gru.input_weights);
            for group in 0..3 {
                let stream = rng::stream(seed, &format!("skip-thought.{name}.{tensor}.recurrent"), group as u64);
                for (row, weights) in gru.recurrent_weights.chunks_exact_mut(3 * units).zip(orthogonal(units, stream)) {
                    row[group * units..][..units].copy_from_slice(&weights);
                }
            }
            gru
        };
        let mut model = Model {
            word_vectors: Matrix::zeros(words + 1, inputs),
            encoders: encoders.iter().enumerate().map(|(i, &units)| gru(format!("encoder{i}"), units)).collect(),
            decoders: (0..2).map(|i| gru(format!("decoder{i}"), units)).collect(),
            output: Matrix::zeros(words + 2, units),
            output_bias: Buffer::zeros(words + 2),
        };
        uniform("words", model.word_vectors.data_mut());
        uniform("output", model.output.data_mut());
        model
    }

    /// The number of the end of a sentence.
    pub(super) fn end(&self) -> u32 {
        self.word_vectors.rows() as u32
    }

    /// What the blocks of a minibatch with these `words` (ascending) share.
    pub(super) fn share(&self, words: Vec<u32>, candidates: Candidates) -> Shared {
        let transposed = self.encoders.iter().chain(&self.decoders).map(Gru::transposed).collect();
        Shared { words, candidates, transposed }
    }

    /// The loss of `tuples`, and the gradient of `weight` times the loss.
    pub(super) fn gradient(&self, shared: &Shared, tuples: &[Tuple<'_>], weight: f32) -> Gradient {
        let units = self.output.columns();
        let grus: Vec<Gru> =
            self.encoders.iter().chain(&self.decoders).map(|gru| Gru::zeros(gru.inputs, gru.units)).collect();
        let word_vectors = Buffer::zeros(shared.words.len() * self.word_vectors.columns());
        let mut all =
            Gradient { loss: 0.0, predicted: 0, word_vectors, grus, candidates: shared.candidates.gradient() };
        let mut scratch = Scratch::default();

        let lengths: Vec<usize> = tuples.iter().map(|tuple| tuple.sentence.len()).collect();
        let mut vectors = Matrix::zeros(tuples.len(), units);
        let mut passes = Vec::with_capacity(self.encoders.len());
        let mut first = 0;
        for (encoder, gru) in self.encoders.iter().enumerate() {
            let word = |text: usize, step: usize| match encoder {
                0 => tuples[text].sentence[step],
                _ => tuples[text].sentence[lengths[text] - 1 - step],
            };
            let packed = Packed::new(&lengths, word);
            let (mut inputs, mut trace) = (Buffer::default(), Trace::default());
            self.look_up(&packed.words, &mut inputs);
            gru.forward(&inputs, None, &packed.alive, &mut trace);
            for (text, row) in packed.last_rows() {
                vectors.row_mut(text)[first..][..gru.units]
                    .copy_from_slice(&trace.states[row * gru.units..][..gru.units]);
            }
            passes.push((packed, inputs, trace, first));
            first += gru.units;
        }

        let mut vector_errors = Matrix::zeros(tuples.len(), units);
        for side in 0..2 {
            self.decode(side, shared, tuples, weight, &vectors, &mut vector_errors, &mut all, &mut scratch);
        }

        for (encoder, (packed, inputs, mut trace, first)) in passes.into_iter().enumerate() {
            let gru = &self.encoders[encoder];
            scratch.errors.resize(trace.states.len());
            scratch.errors.fill(0.0);
            for (text, row) in packed.last_rows() {
                scratch.errors[row * gru.units..][..gru.units]
                    .copy_from_slice(&vector_errors.row(text)[first..][..gru.units]);
            }
            let (errors, input_errors) = (&mut scratch.errors, &mut scratch.input_errors);
            let (transposed, gradient) = (&shared.transposed[encoder], &mut all.grus[encoder]);
            gru.backward(transposed, &inputs, &packed.alive, &mut trace, errors, input_errors, None, gradient);
            self.gather(&shared.words, &packed.words, input_errors, &mut all.word_vectors);
        }
        all
    }

    /// Predicts the sentences on one side, and adds their loss and its gradients.
    fn decode(
        &self,
        side: usize,
        shared: &Shared,
        tuples: &[Tuple<'_>],
        weight: f32,
        vectors: &Matrix,
        vector_errors: &mut Matrix,
        all: &mut Gradient,
        scratch: &mut Scratch,
    ) {
        let (units, gru) = (self.output.columns(), &self.decoders[side]);
        // The end of the sentence is predicted too.
        let length = |sentence: &[u32]| if sentence.is_empty() { 0 } else { sentence.len() + 1 };
        let lengths: Vec<usize> = tuples.iter().map(|tuple| length(tuple.neighbours[side])).collect();
        let sentence = |text: usize| tuples[text].neighbours[side];
        let read = |text: usize, step: usize| if step == 0 { NO_WORD } else { sentence(text)[step - 1] };
        let predict = |text: usize, step: usize| {
            let word = sentence(text).get(step).copied().unwrap_or(self.end());
            place(&shared.candidates.words, word)
        };
        let (packed, targets) = (Packed::new(&lengths, read), Packed::new(&lengths, predict));
        let Some(&texts) = packed.alive.first() else { return };
        self.look_up(&packed.words, &mut scratch.inputs);
        scratch.start.resize(texts * units);
        for (row, &text) in scratch.start.chunks_exact_mut(units).zip(&packed.order) {
            row.copy_from_slice(vectors.row(text as usize));
        }
        gru.forward(&scratch.inputs, Some(&scratch.start), &packed.alive, &mut scratch.trace);
        let (states, errors) = (&scratch.trace.states, &mut scratch.errors);
        all.loss += shared.candidates.loss(states, &targets.words, weight, errors, &mut all.candidates);
        all.predicted += targets.words.len() as u64;
        scratch.start_errors.resize(texts * units);
        scratch.start_errors.fill(0.0);
        let gradient = self.encoders.len() + side;
        gru.backward(
            &shared.transposed[gradient],
            &scratch.inputs,
            &packed.alive,
            &mut scratch.trace,
            errors,
            &mut scratch.input_errors,
            Some(&mut scratch.start_errors),
            &mut all.grus[gradient],
        );
        for (row, &text) in scratch.start_errors.chunks_exact(units).zip(&packed.order) {
            add(vector_errors.row_mut(text as usize), row);
        }
        self.gather(&shared.words, &packed.words, &scratch.input_errors, &mut all.word_vectors);
    }

    /// Sets `inputs` to the vectors of `words`; zero for [`NO_WORD`].
    fn look_up(&self, words: &[u32], inputs: &mut Buffer) {
        let width = self.word_vectors.columns();
        inputs.resize(words.len() * width);
        for (out, &word) in inputs.chunks_exact_mut(width).zip(words) {
            if word == NO_WORD { out.fill(0.0) } else { out.copy_from_slice(self.word_vectors.row(word as usize)) }
        }
    }

    /// Adds the errors of inputs to those of the minibatch's words.
    fn gather(&self, known: &[u32], words: &[u32], errors: &[f32], word_vectors: &mut [f32]) {
        let width = self.word_vectors.columns();
        for (errors, &word) in errors.chunks_exact(width).zip(words).filter(|(_, word)| **word != NO_WORD) {
            add(&mut word_vectors[place(known, word) as usize * width..][..width], errors);
        }
    }
}

/// The position of `word` in a list that contains it.
fn place(words: &[u32], word: u32) -> u32 {
    words.binary_search(&word).expect("the minibatch's words") as u32
}

/// The working memory of a block.
#[derive(Debug, Default)]
struct Scratch {
    inputs: Buffer,
    trace: Trace,
    start: Buffer,
    start_errors: Buffer,
    errors: Buffer,
    input_errors: Buffer,
}

/// The rows of a random orthogonal matrix: Gaussian numbers, with each row made orthogonal to the earlier ones
/// (Gram–Schmidt, twice, because once leaves rounding errors).
fn orthogonal(size: usize, mut stream: Xoshiro256PlusPlus) -> Vec<Vec<f32>> {
    let mut rows: Vec<Vec<f32>> = Vec::with_capacity(size);
    while rows.len() < size {
        let mut row: Vec<f32> = (0..size).map(|_| gaussian(&mut stream)).collect();
        for _ in 0..2 {
            for before in &rows {
                let product = crate::math::vector::dot(&row, before);
                crate::math::vector::add_scaled(&mut row, -product, before);
            }
            crate::math::vector::normalize(&mut row);
        }
        rows.push(row);
    }
    rows
}

/// A normally distributed number (Box and Muller).
fn gaussian(stream: &mut Xoshiro256PlusPlus) -> f32 {
    let (u, v) = (1.0 - stream.random::<f64>(), stream.random::<f64>());
    ((-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orthogonal_rows_are() {
        let rows = orthogonal(20, rng::stream(1, "rows", 0));
        for (i, a) in rows.iter().enumerate() {
            for (j, b) in rows.iter().enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((crate::math::vector::dot(a, b) - expected).abs() < 1e-6, "{i} {j}");
            }
        }
    }

    /// Words 0 to 4; 5 is unknown and 6 is the end.
    const TUPLES: [Tuple<'static>; 3] = [
        Tuple { sentence: &[0, 1, 5], neighbours: [&[2, 0], &[3]] },
        Tuple { sentence: &[4], neighbours: [&[], &[1, 1, 2, 0]] },
        Tuple { sentence: &[2, 3], neighbours: [&[0, 4, 5], &[]] },
    ];
    const WEIGHT: f32 = 0.5;

    fn share(model: &Model) -> Shared {
        // Word 1 counts twice, as if it were in the sample half the time.
        let presence = |word| if word == 1 { 0.5 } else { 1.0 };
        let candidates = Candidates::new((0..7).collect(), model.output.data(), &model.output_bias, presence);
        model.share((0..6).collect(), candidates)
    }

    /// Every number of the gradient is compared with the difference of two losses.
    #[test]
    fn gradients_are_those_of_finite_differences() {
        for encoders in [&[3][..], &[2, 2]] {
            let mut model = Model::new("test", 5, 3, encoders, 7);
            // Weights are larger than initially, so that every path matters.
            model.word_vectors.data_mut().iter_mut().chain(model.output.data_mut()).for_each(|x| *x *= 8.0);
            for gru in model.encoders.iter_mut().chain(&mut model.decoders) {
                gru.input_weights.iter_mut().for_each(|x| *x *= 6.0);
                gru.bias.iter_mut().enumerate().for_each(|(i, x)| *x = 0.1 * i as f32 - 0.4);
            }
            let gradient = model.gradient(&share(&model), &TUPLES, WEIGHT);
            assert_eq!(gradient.predicted, 3 + 2 + 5 + 4);
            let loss = |model: &Model| f64::from(WEIGHT) * model.gradient(&share(model), &TUPLES, 1.0).loss;
            type Tensor = fn(&mut Model, usize) -> &mut [f32];
            let mut tensors: Vec<(String, Tensor, usize, Vec<f32>)> = vec![
                ("words".to_owned(), |model, _| model.word_vectors.data_mut(), 0, gradient.word_vectors.to_vec()),
                ("output".to_owned(), |model, _| model.output.data_mut(), 0, gradient.candidates.rows.to_vec()),
                ("bias".to_owned(), |model, _| &mut model.output_bias, 0, gradient.candidates.bias.to_vec()),
            ];
            for (i, gru) in gradient.grus.iter().enumerate() {
                let tensor: [Tensor; 3] = [
                    |model, i| model.grus_mut(i).tensors_mut()[0],
                    |model, i| model.grus_mut(i).tensors_mut()[1],
                    |model, i| model.grus_mut(i).tensors_mut()[2],
                ];
                for (tensor, (name, numbers)) in tensor.into_iter().zip(["W", "U", "b"].into_iter().zip(gru.tensors()))
                {
                    tensors.push((format!("{name} of {i}"), tensor, i, numbers.to_vec()));
                }
            }
            for (name, tensor, which, numbers) in tensors {
                assert!(numbers.iter().any(|x| x.abs() > 1e-3), "{name}: no gradient");
                for (i, &found) in numbers.iter().enumerate() {
                    let moved = |by: f32| {
                        let mut model = model.clone();
                        tensor(&mut model, which)[i] += by;
                        loss(&model)
                    };
                    let expected = (moved(4e-3) - moved(-4e-3)) / 8e-3;
                    let close = (f64::from(found) - expected).abs() < 2e-4 + 2e-3 * expected.abs();
                    assert!(close, "{name}, number {i}: {found}, by differences {expected}");
                }
            }
        }
    }

    impl Model {
        fn grus_mut(&mut self, i: usize) -> &mut Gru {
            let encoders = self.encoders.len();
            if i < encoders { &mut self.encoders[i] } else { &mut self.decoders[i - encoders] }
        }
    }
}

//! The layers of a BERT encoder (Devlin et al. 2019, with the names of Vaswani et al. 2017 in comments).

use clickvec::internals::math::activation::gelu_slice;
use clickvec::internals::math::gemm::{Left, gemm_into};
use clickvec::internals::math::rows::{layer_norm, softmax};
use clickvec_tables::Result;

use crate::config::Config;
use crate::weights::{Linear, Tensors};

/// Layer normalisation.
#[derive(Debug, Clone)]
pub(crate) struct LayerNorm {
    scale: Vec<f32>,
    shift: Vec<f32>,
    epsilon: f32,
}

impl LayerNorm {
    pub(crate) fn read(tensors: &Tensors<'_>, name: &str, config: &Config) -> Result<LayerNorm> {
        let read = |part: &str| tensors.read(&format!("{name}.{part}"), &[Some(config.hidden)]);
        Ok(LayerNorm { scale: read("weight")?, shift: read("bias")?, epsilon: config.epsilon })
    }

    pub(crate) fn apply(&self, rows: &mut [f32]) {
        layer_norm(rows, &self.scale, &self.shift, self.epsilon);
    }
}

/// A layer: attention, then two linear layers for each token, both added to what came in.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    heads: usize,
    /// Q, K and V side by side; Q is divided by √d.
    attended: Linear,
    attention_output: Linear,
    attention_norm: LayerNorm,
    intermediate: Linear,
    output: Linear,
    output_norm: LayerNorm,
}

/// The buffers of a block of texts.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// [tokens, 3·hidden]
    attended: Vec<f32>,
    /// [tokens, hidden]
    context: Vec<f32>,
    /// [tokens, intermediate]
    intermediate: Vec<f32>,
    /// The keys of a head, [d, tokens of the text].
    keys: Vec<f32>,
    /// The attention of a head, [tokens of the text, tokens of the text].
    attention: Vec<f32>,
}

impl Layer {
    /// Reads the layer with this number.
    pub(crate) fn read(tensors: &Tensors<'_>, number: usize, config: &Config) -> Result<Layer> {
        let Config { hidden, intermediate, heads, .. } = *config;
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        let matrix = |part: &str, inputs: usize, outputs: usize| {
            let weights = tensors.read(&name(&format!("{part}.weight")), &[Some(outputs), Some(inputs)])?;
            Ok::<_, clickvec_tables::Error>((weights, tensors.read(&name(&format!("{part}.bias")), &[Some(outputs)])?))
        };
        let linear = |part: &str, inputs: usize, outputs: usize| {
            let (weights, bias) = matrix(part, inputs, outputs)?;
            Ok::<_, clickvec_tables::Error>(Linear::new(inputs, &weights, bias))
        };
        let (mut weights, mut bias) = matrix("attention.self.query", hidden, hidden)?;
        let factor = 1.0 / ((hidden / heads) as f32).sqrt();
        weights.iter_mut().chain(&mut bias).for_each(|weight| *weight *= factor);
        for part in ["attention.self.key", "attention.self.value"] {
            let (more, its_bias) = matrix(part, hidden, hidden)?;
            weights.extend(more);
            bias.extend(its_bias);
        }
        Ok(Layer {
            heads,
            attended: Linear::new(hidden, &weights, bias),
            attention_output: linear("attention.output.dense", hidden, hidden)?,
            attention_norm: LayerNorm::read(tensors, &name("attention.output.LayerNorm"), config)?,
            intermediate: linear("intermediate.dense", hidden, intermediate)?,
            output: linear("output.dense", intermediate, hidden)?,
            output_norm: LayerNorm::read(tensors, &name("output.LayerNorm"), config)?,
        })
    }

    /// Replaces the states [tokens, hidden] of some texts by those of the next layer. `lengths` has the tokens of each text.
    pub(crate) fn apply(&self, states: &mut [f32], lengths: &[usize], buffers: &mut Buffers) {
        let hidden = self.attention_output.outputs;
        let tokens = states.len() / hidden;
        buffers.attended.resize(tokens * self.attended.outputs, 0.0);
        buffers.context.resize(tokens * hidden, 0.0);
        buffers.intermediate.resize(tokens * self.intermediate.outputs, 0.0);
        self.attended.apply(states, &mut buffers.attended);
        let mut first = 0;
        for &length in lengths {
            self.attend(first, length, buffers);
            first += length;
        }
        self.attention_output.add(&buffers.context, states);
        self.attention_norm.apply(states);
        self.intermediate.apply(states, &mut buffers.intermediate);
        gelu_slice(&mut buffers.intermediate);
        self.output.add(&buffers.intermediate, states);
        self.output_norm.apply(states);
    }

    /// Computes softmax(Q·Kᵀ/√d)·V of each head for the text whose tokens begin at `first`.
    fn attend(&self, first: usize, length: usize, buffers: &mut Buffers) {
        let Buffers { attended, context, keys, attention, .. } = buffers;
        let hidden = self.attention_output.outputs;
        let (d, width) = (hidden / self.heads, 3 * hidden);
        let (attended, context) = (&attended[first * width..], &mut context[first * hidden..]);
        keys.resize(d * length, 0.0);
        attention.resize(length * length, 0.0);
        for head in 0..self.heads {
            let (query, key, value) = (head * d, hidden + head * d, 2 * hidden + head * d);
            for token in 0..length {
                for (i, &x) in attended[token * width + key..][..d].iter().enumerate() {
                    keys[i * length + token] = x;
                }
            }
            let left = Left::rows(&attended[query..], width);
            gemm_into((length, length, d), left, (&*keys, length), (&mut *attention, length));
            softmax(attention, length);
            let left = Left::rows(attention, length);
            gemm_into((length, d, length), left, (&attended[value..], width), (&mut context[head * d..], hidden));
        }
    }
}

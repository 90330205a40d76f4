//! From the tokens of texts to vectors.

use std::time::Instant;

use clickvec::internals::math::vector::{add, scale_to_unit};
use clickvec_tables::Result;

use crate::config::{Config, Pooling};
use crate::folder::Folder;
use crate::layers::{Buffers, Layer, LayerNorm};
use crate::weights::{Tensors, WEIGHTS};

/// A BERT encoder, with how the vectors of tokens become one.
#[derive(Debug, Clone)]
pub(crate) struct Encoder {
    pub(crate) hidden: usize,
    pooling: Pooling,
    /// [tokens of the vocabulary, hidden]
    words: Vec<f32>,
    /// [positions, hidden], with the embedding of the first type of token.
    positions: Vec<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

/// The buffers of an encoder. Its numbers do not depend on what they contained before.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    states: Vec<f32>,
    lengths: Vec<usize>,
    buffers: Buffers,
}

impl Encoder {
    /// Reads the weights of a folder.
    pub(crate) fn read(folder: &mut Folder<'_>, config: &Config) -> Result<Encoder> {
        let Some(bytes) = folder.read_weights(WEIGHTS)? else {
            let others = ["model.safetensors.index.json", "pytorch_model.bin", "onnx/model.onnx"];
            let found = others.into_iter().find(|name| folder.file(name).is_file());
            let found = found.map_or("none".to_owned(), |name| format!("`{name}`"));
            return Err(folder.unsupported("", format!("the weights in one `{WEIGHTS}`"), found));
        };
        let tensors = Tensors::new(&bytes, folder)?;
        Encoder::from_tensors(&tensors, config).map_err(|error| error.at(&folder.file(WEIGHTS)))
    }

    fn from_tensors(tensors: &Tensors<'_>, config: &Config) -> Result<Encoder> {
        let hidden = config.hidden;
        let words = tensors.read("embeddings.word_embeddings.weight", &[None, Some(hidden)])?;
        let shape = [Some(config.positions), Some(hidden)];
        let mut positions = tensors.read("embeddings.position_embeddings.weight", &shape)?;
        let types = tensors.read("embeddings.token_type_embeddings.weight", &[None, Some(hidden)])?;
        positions.chunks_exact_mut(hidden).for_each(|row| add(row, &types[..hidden]));
        let norm = LayerNorm::read(tensors, "embeddings.LayerNorm", config)?;
        let layers = (0..config.layers).map(|number| Layer::read(tensors, number, config)).collect::<Result<_>>()?;
        Ok(Encoder { hidden, pooling: config.pooling, words, positions, norm, layers })
    }

    /// Returns the number of tokens that have an embedding.
    pub(crate) fn tokens(&self) -> usize {
        self.words.len() / self.hidden
    }

    /// Writes the vectors of texts, which are lists of tokens, one after the other. Returns `false` if it gave up because it is
    /// later than `until`.
    pub(crate) fn encode<'t>(
        &self,
        texts: impl Iterator<Item = &'t [u32]>,
        scratch: &mut Scratch,
        vectors: &mut [f32],
        until: Option<Instant>,
    ) -> bool {
        let Scratch { states, lengths, buffers } = scratch;
        let d = self.hidden;
        states.clear();
        lengths.clear();
        for tokens in texts {
            lengths.push(tokens.len());
            for (&token, position) in tokens.iter().zip(self.positions.chunks_exact(d)) {
                let begin = states.len();
                states.extend_from_slice(&self.words[token as usize * d..][..d]);
                add(&mut states[begin..], position);
            }
        }
        self.norm.apply(states);
        for layer in &self.layers {
            if until.is_some_and(|until| Instant::now() > until) {
                return false;
            }
            layer.apply(states, lengths, buffers);
        }
        let mut rest = &states[..];
        for (vector, &length) in vectors.chunks_exact_mut(d).zip(&*lengths) {
            let (own, others) = rest.split_at(length * d);
            let pooled = match self.pooling {
                Pooling::Mean => own,
                Pooling::First => &own[..d],
            };
            vector.fill(0.0);
            pooled.chunks_exact(d).for_each(|state| add(vector, state));
            scale_to_unit(vector);
            rest = others;
        }
        true
    }
}

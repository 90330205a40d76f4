//! The weights of an encoder, read from safetensors and laid out for products.

use clickvec::internals::index::floats;
use clickvec::internals::math::Level;
use clickvec::internals::math::gemm::{Left, gemm};
use clickvec::internals::math::vector::not_finite;
use clickvec_tables::{Error, ErrorKind, Result, damaged};
use safetensors::SafeTensors;
use safetensors::tensor::Dtype;

use crate::folder::Folder;

pub(crate) const WEIGHTS: &str = "model.safetensors";

/// The rows of the right factor that are multiplied at once, so that a panel of them stays in the first-level cache.
const ROWS_AT_ONCE: usize = 256;

/// The tensors of a file.
pub(crate) struct Tensors<'b> {
    tensors: SafeTensors<'b>,
    /// The prefix of their names.
    prefix: &'static str,
}

impl<'b> Tensors<'b> {
    /// Reads the header of a file. A model with another head has `bert.` before the names.
    pub(crate) fn new(bytes: &'b [u8], folder: &Folder<'_>) -> Result<Tensors<'b>> {
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| {
            let found = format!("one that is cut short or damaged ({error})");
            let error = Error::expected(ErrorKind::Damaged, "a safetensors file", found);
            error.help("fetch it again").at(&folder.file(WEIGHTS))
        })?;
        let has_prefix = tensors.names().iter().any(|name| name.starts_with("bert."));
        Ok(Tensors { tensors, prefix: if has_prefix { "bert." } else { "" } })
    }

    /// Returns the numbers of a tensor with this shape; `None` stands for any size. Every number must be finite.
    pub(crate) fn read(&self, name: &str, shape: &[Option<usize>]) -> Result<Vec<f32>> {
        let name = format!("{}{name}", self.prefix);
        let view = self.tensors.tensor(&name).map_err(|_| damaged::missing_tensor(&name))?;
        let fits = view.shape().len() == shape.len()
            && view.shape().iter().zip(shape).all(|(&found, expected)| expected.is_none_or(|size| size == found));
        let bytes = view.data();
        let pairs = || bytes.as_chunks::<2>().0.iter().map(|&pair| u16::from_le_bytes(pair));
        let numbers: Vec<f32> = match view.dtype() {
            _ if !fits => Vec::new(),
            Dtype::F32 => bytes.as_chunks::<4>().0.iter().map(|&four| f32::from_le_bytes(four)).collect(),
            Dtype::F16 => floats(&pairs().collect::<Vec<u16>>()),
            Dtype::BF16 => pairs().map(|high| f32::from_bits(u32::from(high) << 16)).collect(),
            _ => Vec::new(),
        };
        if numbers.is_empty() {
            let sizes = shape.iter().map(|size| size.map_or("any".to_owned(), |size| size.to_string()));
            let expected = format!("F32, F16 or BF16 [{}]", sizes.collect::<Vec<_>>().join(", "));
            return Err(damaged::wrong_tensor(name, expected, format!("{:?} {:?}", view.dtype(), view.shape())));
        }
        let columns = view.shape().last().copied().unwrap_or(1).max(1);
        for (row, numbers) in numbers.chunks(columns).enumerate() {
            if let Some(found) = not_finite(numbers) {
                return Err(damaged::not_finite(name, row, found));
            }
        }
        Ok(numbers)
    }
}

/// A linear layer, y = x·W + b. W is [inputs, outputs] in panels of some columns, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
    inputs: usize,
    pub(crate) outputs: usize,
    panel: usize,
    weights: Vec<f32>,
    bias: Vec<f32>,
}

impl Linear {
    /// Makes a layer of weights [outputs, inputs], as PyTorch stores them, and a bias.
    pub(crate) fn new(inputs: usize, weights: &[f32], bias: Vec<f32>) -> Linear {
        let outputs = bias.len();
        // As many columns as a product computes at once.
        let panel = if Level::current() == Level::Avx512 { 48 } else { 24 };
        let mut packed = Vec::with_capacity(weights.len());
        for begin in (0..outputs).step_by(panel) {
            let end = outputs.min(begin + panel);
            for input in 0..inputs {
                packed.extend((begin..end).map(|output| weights[output * inputs + input]));
            }
        }
        Linear { inputs, outputs, panel, weights: packed, bias }
    }

    /// Sets y [rows, outputs] to x·W + b, where x is [rows, inputs].
    pub(crate) fn apply(&self, x: &[f32], y: &mut [f32]) {
        y.chunks_exact_mut(self.outputs).for_each(|row| row.copy_from_slice(&self.bias));
        self.add_product(x, y);
    }

    /// Adds x·W + b to y.
    pub(crate) fn add(&self, x: &[f32], y: &mut [f32]) {
        for row in y.chunks_exact_mut(self.outputs) {
            row.iter_mut().zip(&self.bias).for_each(|(y, bias)| *y += bias);
        }
        self.add_product(x, y);
    }

    fn add_product(&self, x: &[f32], y: &mut [f32]) {
        let (k, n) = (self.inputs, self.outputs);
        let rows = y.len() / n;
        for begin in (0..n).step_by(self.panel) {
            let width = self.panel.min(n - begin);
            let panel = &self.weights[begin * k..][..width * k];
            for first in (0..k).step_by(ROWS_AT_ONCE) {
                let depth = ROWS_AT_ONCE.min(k - first);
                let left = Left::rows(&x[first..], k);
                gemm((rows, width, depth), left, (&panel[first * width..], width), (&mut y[begin..], n));
            }
        }
    }
}

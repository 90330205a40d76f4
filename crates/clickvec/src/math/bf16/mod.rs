//! Matrix products of factors rounded to bf16 and summed in f32, on processors with AMX or AVX512-BF16.
//!
//! Both kinds of instructions multiply pairs of rounded numbers, so both read factors in the same order: that of AMX, whose
//! tile registers hold 16 rows of 64 bytes, 16 × 32 numbers in bf16 or 16 × 16 in f32. Each number of a product is one chain
//! over k, so it depends neither on the other rows nor on their number.
#![allow(unsafe_code, reason = "instructions over raw pointers; bounds are checked at gemm's door")]
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "other processors have no products of bf16"))]

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx;
#[cfg(target_arch = "x86_64")]
mod dots;
#[cfg(target_arch = "x86_64")]
mod packing;
#[cfg(test)]
mod tests;

#[cfg(test)]
use super::gemm::Left;
use super::gemm::{Job, Right, reach};
use super::level::Level;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::sync::OnceLock;

/// The precision of the factors in an encoder's recurrent products. Sums and weights are always f32.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// No rounding.
    #[default]
    F32,
    /// Rounding to 8 significant bits: needs AMX or AVX512-BF16.
    Bf16,
}

impl Precision {
    /// Returns whether nothing is rounded.
    pub(crate) fn is_f32(&self) -> bool {
        *self == Precision::F32
    }

    /// Returns the reason why the current level has no products in this precision, if it has none.
    pub fn missing(self) -> Option<&'static str> {
        match self {
            Precision::F32 => None,
            Precision::Bf16 => Instructions::current().err(),
        }
    }

    /// Returns the name of the instructions that make this precision's results differ by rounding from those of others, as
    /// a model file records it after its level. Products of f32, and of bf16 with AMX, have none.
    pub(crate) fn instructions(self) -> Option<&'static str> {
        (self == Precision::Bf16 && Instructions::current() == Ok(Instructions::Dots)).then_some("bf16")
    }

    /// Returns a right factor for a single product, whose rows are `stride` apart.
    pub(crate) fn right(self, data: &[f32], stride: usize) -> Right<'_> {
        match self {
            Precision::F32 => Right::Exact(data, stride),
            Precision::Bf16 => Right::Rounded(data, stride),
        }
    }

    /// Returns a right factor of k × n numbers for many products, rounded once into `memory`.
    pub(crate) fn prepare<'a>(self, (k, n): (usize, usize), data: &'a [f32], memory: &'a mut Packed) -> Right<'a> {
        match self {
            Precision::F32 => Right::Exact(data, n),
            Precision::Bf16 => {
                memory.pack((k, n), data, n);
                Right::Packed(memory)
            }
        }
    }
}

/// The instructions that multiply bf16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instructions {
    /// Products of tiles.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Amx,
    /// AVX512-BF16: the sums of the products of pairs.
    Dots,
    /// Those of AVX512-BF16 in terms of AVX-512, for tests on processors without it.
    #[cfg(test)]
    Emulated,
}

#[cfg(test)]
thread_local! {
    /// The instructions that a test asks for, in place of the best.
    static CHOSEN: std::cell::Cell<Option<Instructions>> = const { std::cell::Cell::new(None) };
}

impl Instructions {
    /// Returns the best instructions of the processor, or the reason why the current level has none.
    fn current() -> Result<Instructions, &'static str> {
        #[cfg(test)]
        if let Some(chosen) = CHOSEN.get() {
            return Ok(chosen);
        }
        static BEST: OnceLock<Result<Instructions, &'static str>> = OnceLock::new();
        let best = *BEST.get_or_init(Instructions::detect);
        best.and_then(|best| match Level::current() {
            Level::Avx512 => Ok(best),
            _ => Err("an instruction level below avx512"),
        })
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn detect() -> Result<Instructions, &'static str> {
        Err("a program for another processor than x86-64")
    }

    #[cfg(target_arch = "x86_64")]
    fn detect() -> Result<Instructions, &'static str> {
        if Level::detect() < Level::Avx512 || !is_x86_feature_detected!("avx512bf16") {
            return Err("a processor without them");
        }
        #[cfg(target_os = "linux")]
        if amx::is_usable() {
            return Ok(Instructions::Amx);
        }
        Ok(Instructions::Dots)
    }
}

/// A row of a tile: 16 pairs of bf16, with the first of a pair in the low half.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row([u32; 16]);

const ZERO: Row = Row([0; 16]);

/// The number of tiles in a panel of a right factor.
const WIDE: usize = 6;

/// A right factor, rounded and stored in tiles. Packing reuses the memory.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Packed {
    /// Panels of up to [`WIDE`] tiles next to each other. In a panel, tiles follow from the top down. Row r of a tile has
    /// rows 2r and 2r + 1 of the factor in pairs, and zeros after k. If the width is not a multiple of 16, the last
    /// tile is a panel of its own.
    rows: Vec<Row>,
    k: usize,
    n: usize,
}

impl Packed {
    /// Returns the sizes k and n.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.k, self.n)
    }

    fn pack(&mut self, (k, n): (usize, usize), data: &[f32], stride: usize) {
        let instructions = Instructions::current().expect("products of bf16");
        assert!(k > 0 && n > 0 && stride >= n && data.len() >= reach(k - 1, stride, n), "right factor too short");
        (self.k, self.n) = (k, n);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the sizes were checked, and so was the processor.
        unsafe {
            packing::pack_right(instructions, (k, n), data.as_ptr(), stride, &mut self.rows);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = instructions;
    }
}

thread_local! {
    /// The left factor of the last product, packed in strips of 16 rows, and the right one if it was not packed already.
    static MEMORY: RefCell<(Vec<Row>, Packed)> = RefCell::default();
}

/// Computes a job whose right factor is `b`.
///
/// # Safety
/// The job's pointers are good for its sizes, and `b` is k × n.
///
/// # Panics
/// If [`Precision::missing`] gives a reason.
#[inline(never)]
pub(super) unsafe fn product(job: Job, transposed: bool, b: Right<'_>) {
    let instructions = Instructions::current().expect("products of bf16");
    MEMORY.with_borrow_mut(|(left, right)| {
        let b = match b {
            Right::Packed(packed) => packed,
            Right::Exact(data, stride) | Right::Rounded(data, stride) => {
                right.pack((job.k, job.n), data, stride);
                right
            }
        };
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the caller's contract, and `current` names only instructions that the processor has.
        unsafe {
            packing::pack_left(instructions, &job, transposed, left);
            match instructions {
                #[cfg(target_os = "linux")]
                Instructions::Amx => amx::product(&job, left, b),
                Instructions::Dots => dots::product(&job, left, b),
                #[cfg(test)]
                Instructions::Emulated => dots::emulated(&job, left, b),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (instructions, transposed, left, b);
    });
}

/// The naive version of a product with a rounded right factor, which the kernels are tested against.
#[cfg(test)]
pub(crate) fn gemm_bf16_naive(sizes: (usize, usize, usize), a: Left<'_>, b: (&[f32], usize), c: (&mut [f32], usize)) {
    let ((m, n, k), (b, b_stride), (c, c_stride)) = (sizes, b, c);
    let b: Vec<f32> = b.iter().copied().map(round).collect();
    for i in 0..m {
        let row: Vec<f32> = (0..k).map(|p| round(a.at(i, p))).collect();
        for j in 0..n {
            c[i * c_stride + j] += row.iter().zip(b[j..].iter().step_by(b_stride)).map(|(a, b)| a * b).sum::<f32>();
        }
    }
}

/// Rounds to the nearest bf16, and to the even one of two.
#[cfg(test)]
fn round(x: f32) -> f32 {
    let bits = x.to_bits();
    if x.is_nan() { x } else { f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000) }
}

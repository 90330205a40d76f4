//! Factors in the order in which the instructions read them.

use super::super::gemm::Job;
#[cfg(test)]
use super::dots::Emulated;
use super::dots::{Native, Pairs};
use super::{Instructions, Row, WIDE, ZERO};
use std::arch::x86_64::*;

/// Packs a right factor of k × n numbers as [`super::Packed`] says.
///
/// # Safety
/// `data` is k × n, with rows `stride` apart, and the processor has the instructions.
pub(super) unsafe fn pack_right(
    instructions: Instructions,
    sizes: (usize, usize),
    data: *const f32,
    stride: usize,
    into: &mut Vec<Row>,
) {
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn native(sizes: (usize, usize), data: *const f32, stride: usize, into: &mut Vec<Row>) {
        // SAFETY: the caller's contract.
        unsafe { right::<Native>(sizes, data, stride, into) }
    }
    #[cfg(test)]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn emulated(sizes: (usize, usize), data: *const f32, stride: usize, into: &mut Vec<Row>) {
        // SAFETY: the caller's contract.
        unsafe { right::<Emulated>(sizes, data, stride, into) }
    }
    // SAFETY: the caller's contract.
    unsafe {
        match instructions {
            #[cfg(test)]
            Instructions::Emulated => emulated(sizes, data, stride, into),
            _ => native(sizes, data, stride, into),
        }
    }
}

/// Packs the left factor of a job in strips of 16 rows, each as the tiles of k one after the other.
///
/// # Safety
/// The job's pointers are good for its sizes, and the processor has the instructions.
pub(super) unsafe fn pack_left(instructions: Instructions, job: &Job, is_transposed: bool, into: &mut Vec<Row>) {
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn native(job: &Job, is_transposed: bool, into: &mut Vec<Row>) {
        // SAFETY: the caller's contract.
        unsafe { left::<Native>(job, is_transposed, into) }
    }
    #[cfg(test)]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn emulated(job: &Job, is_transposed: bool, into: &mut Vec<Row>) {
        // SAFETY: the caller's contract.
        unsafe { left::<Emulated>(job, is_transposed, into) }
    }
    // SAFETY: the caller's contract.
    unsafe {
        match instructions {
            #[cfg(test)]
            Instructions::Emulated => emulated(job, is_transposed, into),
            _ => native(job, is_transposed, into),
        }
    }
}

#[inline(always)]
unsafe fn left<P: Pairs>(job: &Job, is_transposed: bool, into: &mut Vec<Row>) {
    // SAFETY: the caller's contract.
    unsafe { if is_transposed { transposed::<P>(job, into) } else { rows::<P>(job, into) } }
}

#[inline(always)]
fn mask(count: usize) -> u16 {
    ((1u32 << count.min(16)) - 1) as u16
}

/// Rows p and p + 1 of a matrix of k rows, `count` columns of them, in pairs, with zeros outside.
#[inline(always)]
unsafe fn pairs<P: Pairs>(data: *const f32, stride: usize, p: usize, k: usize, count: usize) -> __m512i {
    // SAFETY: the caller's matrix; what is masked off is not accessed.
    unsafe {
        let row = |p: usize| {
            let mask = if p < k { mask(count) } else { 0 };
            _mm512_maskz_loadu_ps(mask, data.wrapping_add(p * stride))
        };
        let order: [u16; 32] = const {
            let mut order = [0; 32];
            let mut i = 0;
            while i < 32 {
                order[i] = (i / 2 + i % 2 * 16) as u16;
                i += 1;
            }
            order
        };
        let order = _mm512_loadu_si512(order.as_ptr().cast());
        _mm512_permutexvar_epi16(order, P::round(row(p), row(p + 1)))
    }
}

fn resize(rows: &mut Vec<Row>, length: usize) {
    if rows.len() < length {
        rows.resize(length, ZERO);
    }
}

/// Packs a right factor of k × n numbers as [`super::Packed`] says.
#[inline(always)]
unsafe fn right<P: Pairs>((k, n): (usize, usize), data: *const f32, stride: usize, into: &mut Vec<Row>) {
    let steps = k.div_ceil(32);
    resize(into, n.div_ceil(16) * steps * 16);
    for tile in 0..n.div_ceil(16) {
        // Full tiles are in panels. A tile that is not full is a panel of its own.
        let (full, first) = (n / 16, tile / WIDE * WIDE);
        let (first, count) = if tile < full { (first, WIDE.min(full - first)) } else { (tile, 1) };
        for step in 0..steps {
            let at = (first * steps + step * count + tile - first) * 16;
            for (r, row) in into[at..at + 16].iter_mut().enumerate() {
                // SAFETY: columns from 16·tile on, as many as there are, up to 16.
                unsafe {
                    let pairs = pairs::<P>(data.add(tile * 16), stride, step * 32 + 2 * r, k, n - tile * 16);
                    _mm512_store_si512(row.0.as_mut_ptr().cast(), pairs);
                }
            }
        }
    }
}

/// Packs strips of 16 rows of A, each as the tiles of k one after the other.
#[inline(always)]
unsafe fn rows<P: Pairs>(job: &Job, into: &mut Vec<Row>) {
    let steps = job.k.div_ceil(32);
    resize(into, job.m.div_ceil(16) * steps * 16);
    for i in 0..job.m {
        for step in 0..steps {
            let left = job.k - step * 32;
            // SAFETY: row i of A from 32·step on; what is masked off is not accessed.
            unsafe {
                let p = job.a.add(i * job.a_stride + step * 32);
                let low = _mm512_maskz_loadu_ps(mask(left), p);
                let high = _mm512_maskz_loadu_ps(mask(left.saturating_sub(16)), p.wrapping_add(16));
                let row = &mut into[(i / 16 * steps + step) * 16 + i % 16];
                _mm512_store_si512(row.0.as_mut_ptr().cast(), P::round(low, high));
            }
        }
    }
}

/// [`rows`] for a matrix that is stored transposed.
#[inline(always)]
unsafe fn transposed<P: Pairs>(job: &Job, into: &mut Vec<Row>) {
    let steps = job.k.div_ceil(32);
    resize(into, job.m.div_ceil(16) * steps * 16);
    for strip in 0..job.m.div_ceil(16) {
        for step in 0..steps {
            // SAFETY: rows 16·strip … of A, which are side by side.
            let mut tile: [__m512i; 16] = std::array::from_fn(|r| unsafe {
                pairs::<P>(job.a.add(strip * 16), job.a_stride, step * 32 + 2 * r, job.k, job.m - strip * 16)
            });
            // SAFETY: AVX-512, as the caller says.
            unsafe { transpose(&mut tile) };
            for (row, pairs) in into[(strip * steps + step) * 16..].iter_mut().zip(tile) {
                // SAFETY: a row has 64 bytes, aligned.
                unsafe { _mm512_store_si512(row.0.as_mut_ptr().cast(), pairs) };
            }
        }
    }
}

/// Transposes 16 × 16 numbers: blocks of d × d are exchanged across the diagonal, d = 1, 2, 4, 8.
///
/// # Safety
/// The processor has AVX-512.
#[inline(always)]
unsafe fn transpose(tile: &mut [__m512i; 16]) {
    for d in [1, 2, 4, 8] {
        let upper: [i32; 16] = std::array::from_fn(|l| if l & d == 0 { l } else { 16 + l - d } as i32);
        let lower: [i32; 16] = std::array::from_fn(|l| if l & d == 0 { l + d } else { 16 + l } as i32);
        // SAFETY: 64 bytes each; the caller's processor.
        unsafe {
            let (upper, lower) = (_mm512_loadu_si512(upper.as_ptr().cast()), _mm512_loadu_si512(lower.as_ptr().cast()));
            for i in (0..16).filter(|i| i & d == 0) {
                let (x, y) = (tile[i], tile[i + d]);
                tile[i] = _mm512_permutex2var_epi32(x, upper, y);
                tile[i + d] = _mm512_permutex2var_epi32(x, lower, y);
            }
        }
    }
}

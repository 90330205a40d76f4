//! Products by AVX512-BF16: sixteen sums at a time, to each of which the products of a pair are added.

use super::super::gemm::{Job, Start};
use super::{Packed, Row, WIDE};
use std::arch::x86_64::*;

/// What AVX512-BF16 does with pairs of numbers.
///
/// # Safety
/// Every function may only run on a processor that has the implementor's instructions.
pub(super) trait Pairs {
    /// 32 numbers rounded to bf16, the first 16 in the lower half.
    unsafe fn round(low: __m512, high: __m512) -> __m512i;
    /// Adds a₀b₀ + a₁b₁ for each pair.
    unsafe fn add_products(sum: __m512, a: __m512i, b: __m512i) -> __m512;
}

/// AVX512-BF16.
pub(super) struct Native;

#[inline(always)]
unsafe fn pairs(bits: __m512i) -> __m512bh {
    // SAFETY: two names for 64 bytes in a register.
    unsafe { std::mem::transmute(bits) }
}

impl Pairs for Native {
    #[inline(always)]
    unsafe fn round(low: __m512, high: __m512) -> __m512i {
        // SAFETY: the caller's processor; two names for 64 bytes in a register.
        unsafe { std::mem::transmute(_mm512_cvtne2ps_pbh(high, low)) }
    }

    #[inline(always)]
    unsafe fn add_products(sum: __m512, a: __m512i, b: __m512i) -> __m512 {
        // SAFETY: the caller's processor; two names for 64 bytes in a register.
        unsafe { _mm512_dpbf16_ps(sum, pairs(a), pairs(b)) }
    }
}

/// The same with AVX-512, except for numbers below the smallest normal ones, which AVX512-BF16 treats as zero.
#[cfg(test)]
pub(super) struct Emulated;

#[cfg(test)]
impl Pairs for Emulated {
    #[inline(always)]
    unsafe fn round(low: __m512, high: __m512) -> __m512i {
        // SAFETY: the caller's processor.
        unsafe {
            let numbers: [[f32; 16]; 2] = std::mem::transmute([low, high]);
            let rounded = numbers.as_flattened().iter().map(|&x| (super::round(x).to_bits() >> 16) as u16);
            let mut bits = [0u16; 32];
            bits.iter_mut().zip(rounded).for_each(|(to, bits)| *to = bits);
            // The low half of a number that is none may hold all that says so.
            numbers.as_flattened().iter().zip(&mut bits).filter(|(x, _)| x.is_nan()).for_each(|(_, to)| *to = 0x7fc0);
            _mm512_loadu_si512(bits.as_ptr().cast())
        }
    }

    #[inline(always)]
    unsafe fn add_products(sum: __m512, a: __m512i, b: __m512i) -> __m512 {
        // SAFETY: the caller's processor.
        unsafe {
            let first = |pairs| _mm512_castsi512_ps(_mm512_slli_epi32::<16>(pairs));
            let second = |pairs| _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(-0x10000)));
            _mm512_fmadd_ps(first(a), first(b), _mm512_fmadd_ps(second(a), second(b), sum))
        }
    }
}

/// # Safety
/// The job's pointers are good for its sizes, `left` and `right` are its packed factors, and the processor has AVX512-BF16.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn product(job: &Job, left: &[Row], right: &Packed) {
    // SAFETY: the caller's contract.
    unsafe { panels::<Native>(job, left, right) }
}

/// # Safety
/// As for [`product`], but AVX-512 will do.
#[cfg(test)]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn emulated(job: &Job, left: &[Row], right: &Packed) {
    // SAFETY: the caller's contract.
    unsafe { panels::<Emulated>(job, left, right) }
}

/// The tiles of a right factor that a task reads, and the columns of C that they make.
#[derive(Clone, Copy)]
struct Columns {
    /// The first tile.
    tiles: *const Row,
    /// The number of rows from a tile to the one below it.
    below: usize,
    /// The first column.
    first: usize,
    /// The columns of the last tile.
    last: __mmask16,
}

/// Computes up to three tiles of columns at a time: 8 × 3 sums, 3 vectors of B and one of A are 28 of 32 registers.
#[inline(always)]
unsafe fn panels<P: Pairs>(job: &Job, left: &[Row], right: &Packed) {
    let (full, steps) = (job.n / 16, job.k.div_ceil(32));
    let mut tile = 0;
    while tile < job.n.div_ceil(16) {
        let panel = tile / WIDE * WIDE;
        // As `Packed` says: full tiles are in panels, and one that is not full is a panel of its own.
        let (panel, wide) = if tile < full { (panel, WIDE.min(full - panel)) } else { (tile, 1) };
        let count = (panel + wide - tile).min(3);
        let columns = Columns {
            tiles: right.rows[(panel * steps + tile - panel) * 16..].as_ptr(),
            below: wide * 16,
            first: tile * 16,
            last: if tile < full { !0 } else { (1 << (job.n % 16)) - 1 },
        };
        // SAFETY: the caller's contract.
        unsafe {
            match count {
                3 => rows::<P, 3>(job, left, columns),
                2 => rows::<P, 2>(job, left, columns),
                _ => rows::<P, 1>(job, left, columns),
            }
        }
        tile += count;
    }
}

#[inline(always)]
unsafe fn rows<P: Pairs, const NV: usize>(job: &Job, left: &[Row], columns: Columns) {
    let mut row = 0;
    // SAFETY: each part takes rows row … row + its height ≤ m. They lie in one strip of 16, since heights only fall.
    unsafe {
        while row + 8 <= job.m {
            sums::<P, 8, NV>(job, left, columns, row);
            row += 8;
        }
        if row + 4 <= job.m {
            sums::<P, 4, NV>(job, left, columns, row);
            row += 4;
        }
        while row < job.m {
            sums::<P, 1, NV>(job, left, columns, row);
            row += 1;
        }
    }
}

/// Computes MR rows × NV tiles of C over all of k, in registers.
#[inline(always)]
unsafe fn sums<P: Pairs, const MR: usize, const NV: usize>(job: &Job, left: &[Row], columns: Columns, row: usize) {
    let steps = job.k.div_ceil(32);
    let a = left[row / 16 * steps * 16 + row % 16..].as_ptr();
    // SAFETY: the caller keeps row + MR ≤ m and the tiles inside n; what is masked off is not accessed.
    unsafe {
        let mask = |v: usize| if v + 1 == NV { columns.last } else { !0 };
        let mut sum = [[_mm512_setzero_ps(); NV]; MR];
        for i in 0..MR {
            let start = match job.start {
                Start::Zero => continue,
                Start::Product => job.c.add((row + i) * job.c_stride).cast_const(),
                Start::Rows { data, stride, of } => data.add(*of.add(row + i) as usize * stride),
            };
            for v in 0..NV {
                sum[i][v] = _mm512_maskz_loadu_ps(mask(v), start.wrapping_add(columns.first + 16 * v));
            }
        }
        for step in 0..steps {
            let tiles = columns.tiles.add(step * columns.below);
            // Pairs beyond k are zero in both factors.
            for pair in 0..(job.k - step * 32).div_ceil(2).min(16) {
                let mut b = [_mm512_setzero_si512(); NV];
                for v in 0..NV {
                    b[v] = _mm512_load_si512(tiles.add(16 * v + pair).cast());
                }
                for i in 0..MR {
                    let pair_of_row = (*a.add(step * 16 + i)).0[pair];
                    let a = _mm512_set1_epi32(pair_of_row.cast_signed());
                    for v in 0..NV {
                        sum[i][v] = P::add_products(sum[i][v], a, b[v]);
                    }
                }
            }
        }
        for i in 0..MR {
            let c = job.c.add((row + i) * job.c_stride + columns.first);
            for v in 0..NV {
                _mm512_mask_storeu_ps(c.wrapping_add(16 * v), mask(v), sum[i][v]);
            }
        }
    }
}

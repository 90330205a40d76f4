//! Matrix products, C += A·B.
//!
//! These are our own kernels instead of a library's, for three reasons. Each number of C is one chain of fused
//! multiply-adds over k = 0, 1, …, whatever the number of rows, so that a batch of one gives bit for bit the same as a
//! batch of many. The level can be lowered, so that tests run every path. And a single row (a query) needs no extra
//! code. B is read in place, K × N row by row, without packing: at this project's sizes a panel of it stays in the
//! first-level cache.
#![allow(unsafe_code, reason = "kernels over raw pointers; bounds are checked once, at the door")]

mod kernel;

pub(super) use kernel::Job;
use kernel::plain;
#[cfg(target_arch = "x86_64")]
use kernel::{avx2, avx512};

use super::level::Level;

/// The left factor: m × k numbers.
#[derive(Clone, Copy)]
pub struct Left<'a> {
    data: &'a [f32],
    stride: usize,
    transposed: bool,
}

impl<'a> Left<'a> {
    /// Returns a matrix stored row by row, with rows `stride` apart.
    pub fn rows(data: &'a [f32], stride: usize) -> Left<'a> {
        Left { data, stride, transposed: false }
    }

    /// Returns the transpose of a matrix stored row by row, with rows `stride` apart.
    pub fn transposed(data: &'a [f32], stride: usize) -> Left<'a> {
        Left { data, stride, transposed: true }
    }

    /// Returns the place of the number in row i, column p.
    ///
    /// # Panics
    /// If the place exceeds the address space.
    fn position(&self, i: usize, p: usize) -> usize {
        if self.transposed { reach(p, self.stride, i) } else { reach(i, self.stride, p) }
    }
}

/// Returns rows·stride + columns, with which bounds are checked, so it must not wrap.
///
/// # Panics
/// If the result exceeds the address space.
pub(super) fn reach(rows: usize, stride: usize, columns: usize) -> usize {
    rows.checked_mul(stride).and_then(|start| start.checked_add(columns)).expect("sizes that an address space has")
}

/// The right factor: k × n numbers, stored row by row.
#[derive(Clone, Copy)]
pub struct Right<'a> {
    data: &'a [f32],
    stride: usize,
}

impl<'a, T: AsRef<[f32]> + ?Sized> From<(&'a T, usize)> for Right<'a> {
    fn from((data, stride): (&'a T, usize)) -> Right<'a> {
        Right { data: data.as_ref(), stride }
    }
}

/// Rows of a matrix: row i is `data[of[i]·stride..]`.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// The matrix, row by row.
    pub data: &'a [f32],
    /// The distance between its rows.
    pub stride: usize,
    /// The rows to take.
    pub of: &'a [u32],
    /// The number of rows of C after this product's that belong to the next product. `of` continues with the rows that
    /// they begin with. Both are prefetched during this product.
    pub ahead: usize,
}

/// Computes C[m × n] += A[m × k]·B[k × n]. The number after B and C is the distance between their rows.
///
/// # Panics
/// If a slice is too short for its sizes.
pub fn gemm<'b>(sizes: (usize, usize, usize), a: Left<'_>, b: impl Into<Right<'b>>, c: (&mut [f32], usize)) {
    product(sizes, a, b.into(), c, Start::Product, Ahead::Nothing);
}

/// Computes [`gemm`] and prefetches `ahead`, which is needed next, into the second-level cache.
///
/// # Panics
/// Those of [`gemm`].
pub(crate) fn gemm_ahead<'b>(
    sizes: (usize, usize, usize),
    a: Left<'_>,
    b: impl Into<Right<'b>>,
    c: (&mut [f32], usize),
    ahead: [&[f32]; AHEAD],
) {
    let lines = ahead.map(|numbers| (numbers.as_ptr(), numbers.len().div_ceil(LINE)));
    product(sizes, a, b.into(), c, Start::Product, Ahead::Lines(lines));
}

/// Computes C[m × n] = A[m × k]·B[k × n], whatever C contained before; otherwise like [`gemm`].
///
/// # Panics
/// If a slice is too short for its sizes, or k is 0.
pub fn gemm_into<'b>(sizes: (usize, usize, usize), a: Left<'_>, b: impl Into<Right<'b>>, c: (&mut [f32], usize)) {
    assert!(sizes.2 > 0, "a product over nothing");
    product(sizes, a, b.into(), c, Start::Zero, Ahead::Nothing);
}

/// Computes C[m × n] = D[m × n] + A[m × k]·B[k × n], where D is `rows`; otherwise like [`gemm`].
///
/// # Panics
/// If a slice is too short for its sizes, or k is 0.
pub(crate) fn gemm_onto<'b>(
    sizes: (usize, usize, usize),
    a: Left<'_>,
    b: impl Into<Right<'b>>,
    rows: Rows<'_>,
    c: (&mut [f32], usize),
) {
    let (m, n, k) = sizes;
    assert!(k > 0, "a product over nothing");
    // No more than n numbers of a row are read, not even of the last: the matrix may be some columns of a wider one.
    let count = rows.data.len().checked_sub(n).map_or(0, |start| start / rows.stride + 1);
    assert!(rows.stride >= n && rows.of.len() >= reach(1, m, rows.ahead), "too few rows to add to");
    assert!(rows.of.iter().all(|&row| (row as usize) < count), "a row beyond the {count} there are");
    let Rows { data, stride, of, ahead } = rows;
    let start = Start::Rows { data: data.as_ptr(), stride, of: of.as_ptr() };
    product(sizes, a, b.into(), c, start, Ahead::Rows(ahead));
}

/// The numbers that a product is added to.
#[derive(Clone, Copy)]
pub(super) enum Start {
    Zero,
    /// The old values of C.
    Product,
    /// Row i is at `data[of[i]·stride]`.
    Rows {
        data: *const f32,
        stride: usize,
        of: *const u32,
    },
}

/// The number of slices that a product can prefetch.
const AHEAD: usize = 3;

/// The number of values in a cache line.
const LINE: usize = 16;

/// Memory that is needed after a product. It is prefetched tile by tile, since prefetching all at once would wait for
/// memory.
#[derive(Clone, Copy)]
pub(super) enum Ahead {
    Nothing,
    /// This many rows after the product's, of C and of [`Start::Rows`], whose `of` continues for them.
    Rows(usize),
    /// Cache lines: the address of the first, and their number.
    Lines([(*const f32, usize); AHEAD]),
}

fn product(
    (m, n, k): (usize, usize, usize),
    a: Left<'_>,
    b: Right<'_>,
    (c, c_stride): (&mut [f32], usize),
    start: Start,
    ahead: Ahead,
) {
    if m == 0 || n == 0 || k == 0 {
        return;
    }
    assert!(a.data.len() > a.position(m - 1, k - 1), "left factor too short");
    assert!(b.stride >= n && b.data.len() >= reach(k - 1, b.stride, n), "right factor too short");
    assert!(c_stride >= n && c.len() >= reach(m - 1, c_stride, n), "product too short");
    let job = Job {
        m,
        n,
        k,
        a: a.data.as_ptr(),
        a_stride: a.stride,
        b: b.data.as_ptr(),
        b_stride: b.stride,
        c: c.as_mut_ptr(),
        c_stride,
        start,
        ahead,
        column: 0,
    };
    match Level::current() {
        // SAFETY: the sizes were checked against the slices above, and `Level::current` never
        // exceeds what the processor was found to have.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: see above.
        Level::Avx512 => unsafe { avx512(job, a.transposed) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: see above.
        Level::Avx2 => unsafe { avx2(job, a.transposed) },
        // SAFETY: as above.
        _ => unsafe { plain(job, a.transposed) },
    }
}

/// Computes [`gemm`] naively, for tests of the kernels.
#[cfg(test)]
pub(crate) fn gemm_naive(
    (m, n, k): (usize, usize, usize),
    a: Left<'_>,
    (b, b_stride): (&[f32], usize),
    (c, c_stride): (&mut [f32], usize),
) {
    for i in 0..m {
        for j in 0..n {
            let mut sum = 0.0;
            for p in 0..k {
                sum += a.data[a.position(i, p)] * b[p * b_stride + j];
            }
            c[i * c_stride + j] += sum;
        }
    }
}

#[cfg(test)]
mod tests;

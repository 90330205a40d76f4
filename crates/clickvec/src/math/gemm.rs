//! The product of matrices, C += A·B.
//!
//! Own kernels in place of a library's: each number of C is one chain of fused multiply-adds over
//! k = 0, 1, …, whatever the number of rows, so that a batch of one gives bit for bit what a batch
//! of many gives; the level can be lowered, so that tests run every path; and a single row (a
//! query) needs no code of its own. B is read as it lies, K × N row by row, without packing: at
//! this project's sizes a panel of it stays in the first-level cache.
#![allow(unsafe_code, reason = "kernels over raw pointers; bounds are checked once, at the door")]

#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use super::lanes::{Lanes, Plain};
use super::level::Level;

/// The left factor: m × k numbers at `data[i·row_stride + p·column_stride]`.
#[derive(Clone, Copy)]
pub struct Left<'a> {
    data: &'a [f32],
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Left<'a> {
    /// A matrix that lies row by row, its rows `stride` apart.
    pub fn rows(data: &'a [f32], stride: usize) -> Left<'a> {
        Left { data, row_stride: stride, column_stride: 1 }
    }

    /// The transpose of a matrix that lies row by row, its rows `stride` apart.
    pub fn transposed(data: &'a [f32], stride: usize) -> Left<'a> {
        Left { data, row_stride: 1, column_stride: stride }
    }
}

/// C[m × n] += A[m × k]·B[k × n]; B's rows are `b_stride` apart, C's `c_stride`.
///
/// # Panics
/// If a slice is too short for its sizes.
pub fn gemm(sizes: (usize, usize, usize), a: Left<'_>, b: (&[f32], usize), c: (&mut [f32], usize)) {
    product(sizes, a, b, c, true);
}

/// C[m × n] = A[m × k]·B[k × n], whatever C was; otherwise as [`gemm`].
///
/// # Panics
/// If a slice is too short for its sizes, or k is 0.
pub fn gemm_into(sizes: (usize, usize, usize), a: Left<'_>, b: (&[f32], usize), c: (&mut [f32], usize)) {
    assert!(sizes.2 > 0, "a product over nothing");
    product(sizes, a, b, c, false);
}

fn product(
    (m, n, k): (usize, usize, usize),
    a: Left<'_>,
    (b, b_stride): (&[f32], usize),
    (c, c_stride): (&mut [f32], usize),
    accumulate: bool,
) {
    if m == 0 || n == 0 || k == 0 {
        return;
    }
    assert!(a.data.len() > (m - 1) * a.row_stride + (k - 1) * a.column_stride, "left factor too short");
    assert!(b_stride >= n && b.len() >= (k - 1) * b_stride + n, "right factor too short");
    assert!(c_stride >= n && c.len() >= (m - 1) * c_stride + n, "product too short");
    let job = Job {
        m,
        n,
        k,
        a: a.data.as_ptr(),
        a_row: a.row_stride,
        a_column: a.column_stride,
        b: b.as_ptr(),
        b_stride,
        c: c.as_mut_ptr(),
        c_stride,
        accumulate,
    };
    match Level::current() {
        // SAFETY: the sizes were checked against the slices above, and `Level::current` never
        // exceeds what the processor was found to have.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: see above.
        Level::Avx512 => unsafe { avx512(job) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: see above.
        Level::Avx2 => unsafe { avx2(job) },
        // SAFETY: as above.
        _ => unsafe { plain(job) },
    }
}

/// The naive twin of [`gemm`]: what the kernels are tested against.
pub fn gemm_naive(
    (m, n, k): (usize, usize, usize),
    a: Left<'_>,
    (b, b_stride): (&[f32], usize),
    (c, c_stride): (&mut [f32], usize),
) {
    for i in 0..m {
        for j in 0..n {
            let mut sum = 0.0;
            for p in 0..k {
                sum += a.data[i * a.row_stride + p * a.column_stride] * b[p * b_stride + j];
            }
            c[i * c_stride + j] += sum;
        }
    }
}

#[derive(Clone, Copy)]
struct Job {
    m: usize,
    n: usize,
    k: usize,
    a: *const f32,
    a_row: usize,
    a_column: usize,
    b: *const f32,
    b_stride: usize,
    c: *mut f32,
    c_stride: usize,
    accumulate: bool,
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
unsafe fn avx512(job: Job) {
    // SAFETY: the caller's contract. 8 × 3 sums, 3 of B and one of A: 28 of 32 registers.
    unsafe { panels::<Avx512, 8, 18>(job) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(job: Job) {
    // SAFETY: the caller's contract. 4 × 3 sums, 3 of B and one of A: all 16 registers.
    unsafe { panels::<Avx2, 4, 12>(job) }
}

unsafe fn plain(job: Job) {
    // SAFETY: the caller's contract.
    unsafe { panels::<Plain, 2, 6>(job) }
}

/// Panels of three vectors of columns, then what is left of them. A single row has but one sum a
/// vector, and three would wait for each other, so it takes WIDE and six vectors first.
#[inline(always)]
unsafe fn panels<L: Lanes, const MR: usize, const WIDE: usize>(job: Job) {
    let mut column = 0;
    if job.m == 1 {
        // SAFETY: the caller's contract, for a single row.
        unsafe {
            column = single_row::<L, WIDE>(job, column);
            column = single_row::<L, 6>(job, column);
        }
    }
    while column < job.n {
        let left = job.n - column;
        let vectors = left.div_ceil(L::N).min(3);
        let tail = if left >= vectors * L::N { 0 } else { left - (vectors - 1) * L::N };
        // SAFETY: columns column … column + min(left, vectors·N) lie inside B and C.
        unsafe {
            let panel = Job { b: job.b.add(column), c: job.c.add(column), ..job };
            match (vectors, tail) {
                (3, 0) => rows::<L, MR, 3, false>(panel, 0),
                (3, _) => rows::<L, MR, 3, true>(panel, tail),
                (2, 0) => rows::<L, MR, 2, false>(panel, 0),
                (2, _) => rows::<L, MR, 2, true>(panel, tail),
                (_, 0) => rows::<L, MR, 1, false>(panel, 0),
                (_, _) => rows::<L, MR, 1, true>(panel, tail),
            }
        }
        column += vectors * L::N;
    }
}

/// Panels of NV vectors of the only row, from `column` on; returns the first column that is left.
#[inline(always)]
unsafe fn single_row<L: Lanes, const NV: usize>(job: Job, mut column: usize) -> usize {
    while job.n - column >= NV * L::N {
        // SAFETY: columns column … column + NV·N lie inside B and C.
        unsafe {
            let panel = Job { b: job.b.add(column), c: job.c.add(column), ..job };
            tile::<L, 1, NV, false>(panel, 0, 0);
        }
        column += NV * L::N;
    }
    column
}

#[inline(always)]
unsafe fn rows<L: Lanes, const MR: usize, const NV: usize, const TAIL: bool>(job: Job, tail: usize) {
    let mut row = 0;
    // SAFETY: each tile takes rows row … row + its height ≤ m.
    unsafe {
        while row + MR <= job.m {
            tile::<L, MR, NV, TAIL>(job, row, tail);
            row += MR;
        }
        if MR > 4 && row + 4 <= job.m {
            tile::<L, 4, NV, TAIL>(job, row, tail);
            row += 4;
        }
        if MR > 2 && row + 2 <= job.m {
            tile::<L, 2, NV, TAIL>(job, row, tail);
            row += 2;
        }
        while row < job.m {
            tile::<L, 1, NV, TAIL>(job, row, tail);
            row += 1;
        }
    }
}

/// MR rows × NV vectors of C, all of k, in registers.
#[inline(always)]
unsafe fn tile<L: Lanes, const MR: usize, const NV: usize, const TAIL: bool>(job: Job, row: usize, tail: usize) {
    // SAFETY: the caller keeps row + MR ≤ m and the panel inside n; with TAIL the last vector of
    // B and C is `tail` numbers wide and only those are touched.
    unsafe {
        let mut sum = [[L::zero(); NV]; MR];
        let mut a = job.a.add(row * job.a_row);
        let mut b = job.b;
        for _ in 0..job.k {
            let mut vector = [L::zero(); NV];
            for v in 0..NV {
                let p = b.add(v * L::N);
                vector[v] = if TAIL && v + 1 == NV { L::load_partial(p, tail) } else { L::load(p) };
            }
            for i in 0..MR {
                let x = L::splat(*a.add(i * job.a_row));
                for v in 0..NV {
                    sum[i][v] = L::mul_add(x, vector[v], sum[i][v]);
                }
            }
            a = a.wrapping_add(job.a_column);
            b = b.wrapping_add(job.b_stride);
        }
        for i in 0..MR {
            let c = job.c.add((row + i) * job.c_stride);
            for v in 0..NV {
                let p = c.add(v * L::N);
                if TAIL && v + 1 == NV {
                    let before = if job.accumulate { L::load_partial(p, tail) } else { L::zero() };
                    L::store_partial(p, L::add(before, sum[i][v]), tail);
                } else {
                    let before = if job.accumulate { L::load(p) } else { L::zero() };
                    L::store(p, L::add(before, sum[i][v]));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2654435761).wrapping_add(1);
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                (state >> 8) as f32 / (1u32 << 23) as f32 - 1.0
            })
            .collect()
    }

    #[test]
    fn agrees_with_the_naive_twin_at_every_size() {
        for &m in &[1usize, 2, 3, 5, 8, 9, 17] {
            for &n in &[1usize, 3, 4, 8, 15, 16, 17, 33, 48, 49, 96, 100] {
                for &k in &[1usize, 2, 7, 96] {
                    for transposed in [false, true] {
                        let a = numbers(m * k, 1);
                        let b = numbers(k * (n + 2), 2);
                        let left = if transposed { Left::transposed(&a, m) } else { Left::rows(&a, k) };
                        let mut fast = numbers(m * (n + 1), 3);
                        let mut naive = fast.clone();
                        gemm((m, n, k), left, (&b, n + 2), (&mut fast, n + 1));
                        gemm_naive((m, n, k), left, (&b, n + 2), (&mut naive, n + 1));
                        for (x, y) in fast.iter().zip(&naive) {
                            assert!((x - y).abs() < 1e-5 * k as f32, "{m}×{n}×{k}: {x} against {y}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn gemm_into_forgets_what_was_there() {
        let (m, n, k) = (9, 50, 7);
        let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
        let (mut added, mut into) = (vec![0.0; m * n], vec![f32::NAN; m * n]);
        gemm((m, n, k), Left::rows(&a, k), (&b, n), (&mut added, n));
        gemm_into((m, n, k), Left::rows(&a, k), (&b, n), (&mut into, n));
        assert_eq!(added, into);
    }

    #[test]
    fn a_row_does_not_depend_on_the_rows_beside_it() {
        let (m, n, k) = (19, 50, 33);
        let (a, b) = (numbers(m * k, 4), numbers(k * n, 5));
        let mut many = vec![0.0; m * n];
        gemm((m, n, k), Left::rows(&a, k), (&b, n), (&mut many, n));
        for i in 0..m {
            let mut one = vec![0.0; n];
            gemm((1, n, k), Left::rows(&a[i * k..], k), (&b, n), (&mut one, n));
            assert_eq!(one, many[i * n..][..n], "row {i}");
        }
    }

    #[test]
    #[should_panic(expected = "product too short")]
    fn a_short_product_is_refused() {
        gemm((2, 2, 1), Left::rows(&[1.0, 1.0], 1), (&[1.0, 1.0], 2), (&mut [0.0; 3], 2));
    }
}

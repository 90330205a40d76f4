//! Matrix products, C += A·B.
//!
//! These are our own kernels instead of a library's, for three reasons. Each number of C is one chain of fused
//! multiply-adds over k = 0, 1, …, whatever the number of rows, so that a batch of one gives bit for bit the same as a
//! batch of many. The level can be lowered, so that tests run every path. And a single row (a query) needs no extra
//! code. B is read in place, K × N row by row, without packing: at this project's sizes a panel of it stays in the
//! first-level cache.
#![allow(unsafe_code, reason = "kernels over raw pointers; bounds are checked once, at the door")]

use super::bf16::Packed;
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use super::lanes::{Lanes, Plain};
use super::level::Level;
use super::prefetch::prefetch_line;

/// The left factor: m × k numbers.
#[derive(Clone, Copy)]
pub struct Left<'a> {
    data: &'a [f32],
    stride: usize,
    transposed: bool,
}

impl<'a> Left<'a> {
    /// A matrix stored row by row, with rows `stride` apart.
    pub fn rows(data: &'a [f32], stride: usize) -> Left<'a> {
        Left { data, stride, transposed: false }
    }

    /// The transpose of a matrix stored row by row, with rows `stride` apart.
    pub fn transposed(data: &'a [f32], stride: usize) -> Left<'a> {
        Left { data, stride, transposed: true }
    }

    /// The place of the number in row i, column p.
    ///
    /// # Panics
    /// If the place exceeds the address space.
    fn place(&self, i: usize, p: usize) -> usize {
        if self.transposed { reach(p, self.stride, i) } else { reach(i, self.stride, p) }
    }

    /// The number in row i, column p.
    #[cfg(test)]
    pub(super) fn at(&self, i: usize, p: usize) -> f32 {
        self.data[self.place(i, p)]
    }
}

/// rows·stride + columns, with which bounds are checked, so it must not wrap.
///
/// # Panics
/// If the result exceeds the address space.
pub(super) fn reach(rows: usize, stride: usize, columns: usize) -> usize {
    rows.checked_mul(stride).and_then(|start| start.checked_add(columns)).expect("sizes that an address space has")
}

/// The right factor: k × n numbers, with the rounding of both factors.
#[derive(Clone, Copy)]
pub enum Right<'a> {
    /// No rounding. The number is the distance between rows.
    Exact(&'a [f32], usize),
    /// Both factors are rounded to bf16 in the product. The number is the distance between rows.
    Rounded(&'a [f32], usize),
    /// Like `Rounded`, but rounded in advance for many products.
    Packed(&'a Packed),
}

impl<'a, T: AsRef<[f32]> + ?Sized> From<(&'a T, usize)> for Right<'a> {
    fn from((data, stride): (&'a T, usize)) -> Right<'a> {
        Right::Exact(data.as_ref(), stride)
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

/// C[m × n] += A[m × k]·B[k × n]. The number after B and C is the distance between their rows.
///
/// # Panics
/// If a slice is too short for its sizes, or if B is to be rounded and [`super::Precision::missing`] gives a reason.
pub fn gemm<'b>(sizes: (usize, usize, usize), a: Left<'_>, b: impl Into<Right<'b>>, c: (&mut [f32], usize)) {
    product(sizes, a, b.into(), c, Start::Product, Ahead::Nothing);
}

/// [`gemm`] that also prefetches `ahead`, which is needed next, into the second-level cache.
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

/// C[m × n] = A[m × k]·B[k × n], whatever C contained before; otherwise like [`gemm`].
///
/// # Panics
/// If a slice is too short for its sizes, or k is 0.
pub fn gemm_into<'b>(sizes: (usize, usize, usize), a: Left<'_>, b: impl Into<Right<'b>>, c: (&mut [f32], usize)) {
    assert!(sizes.2 > 0, "a product over nothing");
    product(sizes, a, b.into(), c, Start::Zero, Ahead::Nothing);
}

/// C[m × n] = D[m × n] + A[m × k]·B[k × n], where D is `rows`; otherwise like [`gemm`].
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
    // Of the last row, too, no more than n numbers are read: the matrix may be some columns of a wider one.
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
    right: Right<'_>,
    (c, c_stride): (&mut [f32], usize),
    start: Start,
    ahead: Ahead,
) {
    if m == 0 || n == 0 || k == 0 {
        return;
    }
    assert!(a.data.len() > a.place(m - 1, k - 1), "left factor too short");
    let (b, b_stride) = match right {
        Right::Exact(b, stride) | Right::Rounded(b, stride) => {
            assert!(stride >= n && b.len() >= reach(k - 1, stride, n), "right factor too short");
            (b.as_ptr(), stride)
        }
        Right::Packed(packed) => {
            assert_eq!(packed.sizes(), (k, n), "another right factor");
            (std::ptr::null(), n)
        }
    };
    assert!(c_stride >= n && c.len() >= reach(m - 1, c_stride, n), "product too short");
    let (a_data, c) = (a.data.as_ptr(), c.as_mut_ptr());
    let job = Job { m, n, k, a: a_data, a_stride: a.stride, b, b_stride, c, c_stride, start, ahead, column: 0 };
    if !matches!(right, Right::Exact(..)) {
        // SAFETY: the sizes were checked against the slices above.
        unsafe { super::bf16::product(job, a.transposed, right) };
        return;
    }
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

/// The naive version of [`gemm`], which the kernels are tested against.
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
                sum += a.data[a.place(i, p)] * b[p * b_stride + j];
            }
            c[i * c_stride + j] += sum;
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) a: *const f32,
    pub(super) a_stride: usize,
    b: *const f32,
    b_stride: usize,
    pub(super) c: *mut f32,
    pub(super) c_stride: usize,
    pub(super) start: Start,
    ahead: Ahead,
    /// The column where this part of the job begins.
    column: usize,
}

impl Job {
    /// The part of the job that starts at a column.
    ///
    /// # Safety
    /// B and C have that column.
    #[inline(always)]
    unsafe fn at_column(self, column: usize) -> Job {
        // SAFETY: the caller's contract.
        unsafe {
            let start = match self.start {
                Start::Rows { data, stride, of } => Start::Rows { data: data.add(column), stride, of },
                start => start,
            };
            Job { b: self.b.add(column), c: self.c.add(column), start, column, ..self }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
unsafe fn avx512(job: Job, transposed: bool) {
    // SAFETY: the caller's contract. 8 × 3 sums, 3 of B and one of A: 28 of 32 registers.
    unsafe { if transposed { panels::<Avx512, 8, 18, true>(job) } else { panels::<Avx512, 8, 18, false>(job) } }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(job: Job, transposed: bool) {
    // SAFETY: the caller's contract. 4 × 3 sums, 3 of B and one of A: all 16 registers.
    unsafe { if transposed { panels::<Avx2, 4, 12, true>(job) } else { panels::<Avx2, 4, 12, false>(job) } }
}

unsafe fn plain(job: Job, transposed: bool) {
    // SAFETY: the caller's contract.
    unsafe { if transposed { panels::<Plain, 2, 6, true>(job) } else { panels::<Plain, 2, 6, false>(job) } }
}

/// Computes panels of three vectors of columns, then what is left. A single row has only one sum for each vector, and
/// three sums would wait for each other, so it takes WIDE and six vectors first.
#[inline(always)]
unsafe fn panels<L: Lanes, const MR: usize, const WIDE: usize, const T: bool>(job: Job) {
    let mut column = 0;
    if job.m == 1 {
        // SAFETY: the caller's contract, for a single row.
        unsafe {
            column = single_row::<L, WIDE, T>(job, column);
            column = single_row::<L, 6, T>(job, column);
        }
    }
    while column < job.n {
        let left = job.n - column;
        let vectors = left.div_ceil(L::N).min(3);
        let tail = if left >= vectors * L::N { 0 } else { left - (vectors - 1) * L::N };
        // SAFETY: columns column … column + min(left, vectors·N) lie inside B and C.
        unsafe {
            let panel = job.at_column(column);
            match (vectors, tail) {
                (3, 0) => rows::<L, MR, T, 3, false>(panel, 0),
                (3, _) => rows::<L, MR, T, 3, true>(panel, tail),
                (2, 0) => rows::<L, MR, T, 2, false>(panel, 0),
                (2, _) => rows::<L, MR, T, 2, true>(panel, tail),
                (_, 0) => rows::<L, MR, T, 1, false>(panel, 0),
                (_, _) => rows::<L, MR, T, 1, true>(panel, tail),
            }
        }
        column += vectors * L::N;
    }
}

/// Computes panels of NV vectors of the only row, starting at `column`. Returns the first column that is left.
#[inline(always)]
unsafe fn single_row<L: Lanes, const NV: usize, const T: bool>(job: Job, mut column: usize) -> usize {
    while job.n - column >= NV * L::N {
        // SAFETY: columns column … column + NV·N lie inside B and C.
        unsafe {
            tile::<L, 1, T, NV, false>(job.at_column(column), 0, 0);
        }
        column += NV * L::N;
    }
    column
}

#[inline(always)]
unsafe fn rows<L: Lanes, const MR: usize, const T: bool, const NV: usize, const TAIL: bool>(job: Job, tail: usize) {
    let mut row = 0;
    // SAFETY: each tile takes rows row … row + its height ≤ m.
    unsafe {
        while row + MR <= job.m {
            tile::<L, MR, T, NV, TAIL>(job, row, tail);
            row += MR;
        }
        if MR > 4 && row + 4 <= job.m {
            tile::<L, 4, T, NV, TAIL>(job, row, tail);
            row += 4;
        }
        if MR > 2 && row + 2 <= job.m {
            tile::<L, 2, T, NV, TAIL>(job, row, tail);
            row += 2;
        }
        while row < job.m {
            tile::<L, 1, T, NV, TAIL>(job, row, tail);
            row += 1;
        }
    }
}

/// Computes MR rows × NV vectors of C over all of k, in registers. With T, A is stored transposed.
#[inline(always)]
unsafe fn tile<L: Lanes, const MR: usize, const T: bool, const NV: usize, const TAIL: bool>(
    job: Job,
    row: usize,
    tail: usize,
) {
    // SAFETY: the caller keeps row + MR ≤ m and the panel inside n; with TAIL the last vector of
    // B and C is `tail` numbers wide and only those are touched.
    unsafe {
        let mut sum = [[L::zero(); NV]; MR];
        // One address for each row and one counter for all: incrementing eight addresses would take issue slots from
        // the multipliers.
        let a: [*const f32; MR] =
            std::array::from_fn(
                |i| if T { job.a.wrapping_add(row) } else { job.a.wrapping_add((row + i) * job.a_stride) },
            );
        let mut b = job.b;
        let parts = if matches!(job.ahead, Ahead::Nothing) { 1 } else { MR };
        for part in 0..parts {
            prefetch_part::<L, MR, NV>(job, row, part);
            for p in part * job.k / parts..(part + 1) * job.k / parts {
                let mut vector = [L::zero(); NV];
                for v in 0..NV {
                    let p = b.add(v * L::N);
                    vector[v] = if TAIL && v + 1 == NV { L::load_partial(p, tail) } else { L::load(p) };
                }
                for i in 0..MR {
                    let x = L::splat(if T { *a[0].add(p * job.a_stride + i) } else { *a[i].add(p) });
                    for v in 0..NV {
                        sum[i][v] = L::mul_add(x, vector[v], sum[i][v]);
                    }
                }
                b = b.wrapping_add(job.b_stride);
            }
        }
        for i in 0..MR {
            let c = job.c.add((row + i) * job.c_stride);
            let start = match job.start {
                Start::Zero => None,
                Start::Product => Some(c.cast_const()),
                Start::Rows { data, stride, of } => Some(data.add(*of.add(row + i) as usize * stride)),
            };
            for v in 0..NV {
                let (p, start) = (c.add(v * L::N), start.map(|start| start.add(v * L::N)));
                if TAIL && v + 1 == NV {
                    let before = start.map_or(L::zero(), |start| L::load_partial(start, tail));
                    L::store_partial(p, L::add(before, sum[i][v]), tail);
                } else {
                    let before = start.map_or(L::zero(), |start| L::load(start));
                    L::store(p, L::add(before, sum[i][v]));
                }
            }
        }
    }
}

/// Prefetches one of MR parts of what the tile at `row` is to prefetch.
///
/// # Safety
/// `of` goes on for the rows ahead.
#[inline(always)]
unsafe fn prefetch_part<L: Lanes, const MR: usize, const NV: usize>(job: Job, row: usize, part: usize) {
    match (job.ahead, job.start) {
        (Ahead::Rows(rows), Start::Rows { data, stride, of }) if row + part < rows => {
            let next = job.m + row + part;
            // SAFETY: next < m + rows, which `of` has.
            let begins = unsafe { data.wrapping_add(*of.add(next) as usize * stride) };
            let goes = job.c.wrapping_add(next * job.c_stride);
            for v in 0..NV {
                prefetch_line(begins.wrapping_add(v * L::N));
                prefetch_line(goes.wrapping_add(v * L::N));
            }
        }
        (Ahead::Lines(lines), _) => {
            let panel = NV * L::N;
            let (tall, wide) = (job.m.div_ceil(MR), job.n.div_ceil(panel));
            let share = ((job.column / panel) * tall + row / MR) * MR + part;
            let of_share = |count: usize, share: usize| count * share / (tall * wide * MR);
            for (first, count) in lines {
                for line in of_share(count, share)..of_share(count, share + 1) {
                    prefetch_line(first.wrapping_add(line * LINE));
                }
            }
        }
        _ => {}
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
    fn gemm_onto_begins_with_the_rows_it_is_given() {
        for (m, n, k, ahead) in [(1, 5, 3, 0), (9, 50, 7, 5), (13, 96, 4, 13)] {
            let (a, b, d) = (numbers(m * k, 1), numbers(k * n, 2), numbers(4 * (n + 3), 3));
            let of: Vec<u32> = (0..(m + ahead) as u32).map(|i| i * 7 % 4).collect();
            let mut onto = vec![f32::NAN; m * n];
            let rows = Rows { data: &d, stride: n + 3, of: &of, ahead };
            gemm_onto((m, n, k), Left::rows(&a, k), (&b, n), rows, (&mut onto, n));
            let mut naive: Vec<f32> =
                of[..m].iter().flat_map(|&row| &d[row as usize * (n + 3)..][..n]).copied().collect();
            gemm_naive((m, n, k), Left::rows(&a, k), (&b, n), (&mut naive, n));
            assert!(onto.iter().zip(&naive).all(|(x, y)| (x - y).abs() < 1e-5 * k as f32), "{m}×{n}×{k}");
        }
    }

    #[test]
    #[should_panic(expected = "a row beyond the 2 there are")]
    fn a_row_to_add_to_that_is_not_there() {
        let rows = Rows { data: &[0.0; 4], stride: 2, of: &[2], ahead: 0 };
        gemm_onto((1, 2, 1), Left::rows(&[1.0], 1), (&[1.0, 1.0], 2), rows, (&mut [0.0; 2], 2));
    }

    #[test]
    fn sizes_that_wrap_are_refused() {
        let refused = |run: fn()| std::panic::catch_unwind(run).is_err();
        assert!(refused(|| gemm((2, 1, 1), Left::rows(&[1.0; 2], 1), (&[1.0], 1), (&mut [0.0; 4], usize::MAX))));
        assert!(refused(|| gemm((1, 1, 2), Left::rows(&[1.0; 2], 2), (&[1.0; 2], usize::MAX), (&mut [0.0], 1))));
        assert!(refused(|| gemm((2, 1, 1), Left::rows(&[1.0; 2], usize::MAX), (&[1.0], 1), (&mut [0.0; 2], 1))));
        assert!(refused(|| {
            let rows = Rows { data: &[0.0; 2], stride: 2, of: &[0], ahead: usize::MAX };
            gemm_onto((1, 2, 1), Left::rows(&[1.0], 1), (&[1.0, 1.0], 2), rows, (&mut [0.0; 2], 2));
        }));
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

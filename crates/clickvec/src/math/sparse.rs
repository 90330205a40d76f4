//! Sums of a few rows of a matrix: the input layer and its gradients.
#![allow(unsafe_code, reason = "kernels over raw pointers; bounds are checked for every row")]

#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use super::lanes::{Lanes, Plain};
use super::level::Level;

/// A row of a matrix and the factor it is added with.
pub(crate) trait RowCount: Copy {
    /// Returns the row.
    fn row(self) -> usize;
    /// Its factor.
    fn count(self) -> f32;
}

impl RowCount for u32 {
    fn row(self) -> usize {
        self as usize
    }
    fn count(self) -> f32 {
        1.0
    }
}

/// The rows of a matrix as they are read.
trait MatrixRows: Copy {
    /// Returns the address of the first number.
    fn value(self) -> *const f32;
    /// Returns the share of a row's velocity that is added to it.
    ///
    /// # Safety
    /// The matrix has the row.
    unsafe fn drift(self, row: usize) -> f32;
    /// Returns the address of the first velocity, used only if there is a drift.
    fn velocity(self) -> *const f32;
}

/// A matrix whose rows are read as they are stored.
#[derive(Clone, Copy)]
struct Still(*const f32);

/// A matrix in which row r is value[r] + drift[r]·velocity[r].
#[derive(Clone, Copy)]
struct Moving {
    value: *const f32,
    velocity: *const f32,
    drift: *const f32,
}

impl MatrixRows for Still {
    #[inline(always)]
    fn value(self) -> *const f32 {
        self.0
    }
    #[inline(always)]
    unsafe fn drift(self, _: usize) -> f32 {
        0.0
    }
    #[inline(always)]
    fn velocity(self) -> *const f32 {
        self.0
    }
}

impl MatrixRows for Moving {
    #[inline(always)]
    fn value(self) -> *const f32 {
        self.value
    }
    #[inline(always)]
    unsafe fn drift(self, row: usize) -> f32 {
        // SAFETY: the caller's contract.
        unsafe { *self.drift.add(row) }
    }
    #[inline(always)]
    fn velocity(self) -> *const f32 {
        self.velocity
    }
}

/// Sets `out` to Σ count·row over `items`, with rows of `matrix` as wide as `out`; zeros if there are none.
///
/// # Panics
/// If the matrix has no such row.
pub(crate) fn sum_rows<I: RowCount>(matrix: &[f32], items: &[I], out: &mut [f32]) {
    check_rows(matrix, items, out.len());
    sum::<_, _, false>(Still(matrix.as_ptr()), items, out);
}

/// Adds [`sum_rows`] to `out`: each number is one chain of sums that begins with what `out` has.
///
/// # Panics
/// If the matrix has no such row.
pub(crate) fn add_rows<I: RowCount>(matrix: &[f32], items: &[I], out: &mut [f32]) {
    check_rows(matrix, items, out.len());
    sum::<_, _, true>(Still(matrix.as_ptr()), items, out);
}

/// Computes [`sum_rows`] where row r of the matrix is value[r] + drift[r]·velocity[r].
///
/// # Panics
/// If the matrix has no such row, or `velocity` or `drift` do not have its size.
pub(crate) fn sum_moving_rows<I: RowCount>(
    value: &[f32],
    velocity: &[f32],
    drift: &[f32],
    items: &[I],
    out: &mut [f32],
) {
    check_rows(value, items, out.len());
    assert!(velocity.len() == value.len() && drift.len() * out.len() >= value.len(), "a velocity for each number");
    sum::<_, _, false>(
        Moving { value: value.as_ptr(), velocity: velocity.as_ptr(), drift: drift.as_ptr() },
        items,
        out,
    );
}

fn check_rows<I: RowCount>(matrix: &[f32], items: &[I], width: usize) {
    let rows = matrix.len().checked_div(width).unwrap_or(0);
    assert!(items.iter().all(|item| item.row() < rows), "a row beyond the matrix's {rows}");
}

/// Sums rows of a matrix, on top of `out` with ADD. The matrix must have every row of `items`, as wide as `out`.
fn sum<T: MatrixRows, I: RowCount, const ADD: bool>(matrix: T, items: &[I], out: &mut [f32]) {
    match Level::current() {
        // SAFETY: every row lies inside the matrix, as the callers checked, and `Level::current` never
        // exceeds what the processor was found to have.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: see above.
        Level::Avx512 => unsafe { avx512::<T, I, ADD>(matrix, items, out) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: see above.
        Level::Avx2 => unsafe { avx2::<T, I, ADD>(matrix, items, out) },
        // SAFETY: as above.
        _ => unsafe { plain::<T, I, ADD>(matrix, items, out) },
    }
}

/// Computes [`sum_rows`] naively.
#[cfg(test)]
fn sum_rows_naive<I: RowCount>(matrix: &[f32], items: &[I], out: &mut [f32]) {
    let width = out.len();
    for (j, sum) in out.iter_mut().enumerate() {
        *sum = items.iter().map(|item| item.count() * matrix[item.row() * width + j]).sum();
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
unsafe fn avx512<T: MatrixRows, I: RowCount, const ADD: bool>(matrix: T, items: &[I], out: &mut [f32]) {
    // SAFETY: the caller's contract. 18 sums: three gates of 96 cells in one pass over the rows.
    unsafe {
        let done = panels::<Avx512, T, I, 18, ADD>(matrix, items, out, 0);
        let done = panels::<Avx512, T, I, 6, ADD>(matrix, items, out, done);
        rest::<Avx512, T, I, ADD>(matrix, items, out, done);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<T: MatrixRows, I: RowCount, const ADD: bool>(matrix: T, items: &[I], out: &mut [f32]) {
    // SAFETY: the caller's contract.
    unsafe {
        let done = panels::<Avx2, T, I, 12, ADD>(matrix, items, out, 0);
        let done = panels::<Avx2, T, I, 6, ADD>(matrix, items, out, done);
        rest::<Avx2, T, I, ADD>(matrix, items, out, done);
    }
}

unsafe fn plain<T: MatrixRows, I: RowCount, const ADD: bool>(matrix: T, items: &[I], out: &mut [f32]) {
    // SAFETY: the caller's contract.
    unsafe {
        let done = panels::<Plain, T, I, 6, ADD>(matrix, items, out, 0);
        rest::<Plain, T, I, ADD>(matrix, items, out, done);
    }
}

/// Sums panels of NV vectors of columns, starting at `column`. Returns the first column that is left.
#[inline(always)]
unsafe fn panels<L: Lanes, T: MatrixRows, I: RowCount, const NV: usize, const ADD: bool>(
    matrix: T,
    items: &[I],
    out: &mut [f32],
    mut column: usize,
) -> usize {
    let width = out.len();
    // SAFETY: columns column … column + NV·N lie inside every row.
    unsafe {
        while column + NV * L::N <= width {
            let mut sums = [L::zero(); NV];
            if ADD {
                for v in 0..NV {
                    sums[v] = L::load(out.as_ptr().add(column + v * L::N));
                }
            }
            for item in items {
                let (position, drift) = (item.row() * width + column, matrix.drift(item.row()));
                let (value, count) = (matrix.value().add(position), L::splat(item.count()));
                if drift == 0.0 {
                    for v in 0..NV {
                        sums[v] = L::mul_add(count, L::load(value.add(v * L::N)), sums[v]);
                    }
                } else {
                    let (velocity, drift) = (matrix.velocity().add(position), L::splat(drift));
                    for v in 0..NV {
                        let moved = L::mul_add(L::load(velocity.add(v * L::N)), drift, L::load(value.add(v * L::N)));
                        sums[v] = L::mul_add(count, moved, sums[v]);
                    }
                }
            }
            for v in 0..NV {
                L::store(out.as_mut_ptr().add(column + v * L::N), sums[v]);
            }
            column += NV * L::N;
        }
    }
    column
}

/// Sums what is left, one vector at a time; the last may be partial.
#[inline(always)]
unsafe fn rest<L: Lanes, T: MatrixRows, I: RowCount, const ADD: bool>(
    matrix: T,
    items: &[I],
    out: &mut [f32],
    mut column: usize,
) {
    let width = out.len();
    // SAFETY: `lanes` columns from `column` on lie inside every row.
    unsafe {
        while column < width {
            let lanes = (width - column).min(L::N);
            let mut sum = if ADD { L::load_partial(out.as_ptr().add(column), lanes) } else { L::zero() };
            for item in items {
                let (position, drift) = (item.row() * width + column, matrix.drift(item.row()));
                let mut row = L::load_partial(matrix.value().add(position), lanes);
                if drift != 0.0 {
                    let velocity = L::load_partial(matrix.velocity().add(position), lanes);
                    row = L::mul_add(velocity, L::splat(drift), row);
                }
                sum = L::mul_add(L::splat(item.count()), row, sum);
            }
            L::store_partial(out.as_mut_ptr().add(column), sum, lanes);
            column += lanes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Feature;

    #[test]
    fn agrees_with_the_naive_twin_at_every_width() {
        for width in [1usize, 5, 16, 17, 48, 96, 100, 288, 300, 384] {
            let matrix: Vec<f32> = (0..9 * width).map(|i| ((i * 7919) % 1000) as f32 * 1e-3 - 0.5).collect();
            for items in [vec![], vec![3u32], vec![0, 8, 3, 3, 5]] {
                let (mut fast, mut naive) = (vec![9.0; width], vec![9.0; width]);
                sum_rows(&matrix, &items, &mut fast);
                sum_rows_naive(&matrix, &items, &mut naive);
                assert!(fast.iter().zip(&naive).all(|(x, y)| (x - y).abs() < 1e-6), "{width}");
                let start: Vec<f32> = (0..width).map(|i| i as f32 * 0.25 - 3.0).collect();
                let mut added = start.clone();
                add_rows(&matrix, &items, &mut added);
                let naive = start.iter().zip(&naive).map(|(start, sum)| start + sum);
                assert!(added.iter().zip(naive).all(|(x, y)| (x - y).abs() < 3e-5), "{width}");
            }
            let items = [Feature { id: 2, count: 3 }, Feature { id: 7, count: 1 }];
            let (mut fast, mut naive) = (vec![9.0; width], vec![9.0; width]);
            sum_rows(&matrix, &items, &mut fast);
            sum_rows_naive(&matrix, &items, &mut naive);
            assert!(fast.iter().zip(&naive).all(|(x, y)| (x - y).abs() < 1e-6), "{width}");
        }
    }

    #[test]
    fn moving_rows_are_summed_where_they_are_now() {
        for width in [1usize, 5, 16, 100, 288, 300] {
            let value: Vec<f32> = (0..4 * width).map(|i| ((i * 7919) % 1000) as f32 * 1e-3 - 0.5).collect();
            let velocity: Vec<f32> = (0..4 * width).map(|i| ((i * 104_729) % 1000) as f32 * 1e-3 - 0.5).collect();
            let drift = [0.0f32, 0.5, 0.0, 2.0];
            let now: Vec<f32> = (0..4 * width).map(|i| value[i] + drift[i / width] * velocity[i]).collect();
            let items = [Feature { id: 2, count: 3 }, Feature { id: 3, count: 2 }, Feature { id: 1, count: 1 }];
            let (mut fast, mut naive) = (vec![9.0; width], vec![9.0; width]);
            sum_moving_rows(&value, &velocity, &drift, &items, &mut fast);
            sum_rows_naive(&now, &items, &mut naive);
            assert!(fast.iter().zip(&naive).all(|(x, y)| (x - y).abs() < 2e-6), "{width}");
        }
    }

    #[test]
    #[should_panic(expected = "a row beyond the matrix's 2")]
    fn a_row_beyond_the_table() {
        sum_rows(&[0.0; 8], &[2u32], &mut [0.0; 4]);
    }
}

//! The kernels of products: tiles of rows and vectors in registers, panel by panel.

use super::{Ahead, LINE, Start};
#[cfg(target_arch = "x86_64")]
use crate::math::lanes::{Avx2, Avx512};
use crate::math::lanes::{Lanes, Plain};
use crate::math::prefetch::prefetch_line;

/// A product, and where its factors and its result lie.
#[derive(Clone, Copy)]
pub(in crate::math) struct Job {
    pub(in crate::math) m: usize,
    pub(in crate::math) n: usize,
    pub(in crate::math) k: usize,
    pub(in crate::math) a: *const f32,
    pub(in crate::math) a_stride: usize,
    pub(super) b: *const f32,
    pub(super) b_stride: usize,
    pub(in crate::math) c: *mut f32,
    pub(in crate::math) c_stride: usize,
    pub(in crate::math) start: Start,
    pub(super) ahead: Ahead,
    /// The column where this part of the job begins.
    pub(super) column: usize,
}

impl Job {
    /// Returns the part of the job that starts at a column.
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
pub(super) unsafe fn avx512(job: Job, transposed: bool) {
    // SAFETY: the caller's contract. 8 × 3 sums, 3 of B and one of A: 28 of 32 registers.
    unsafe { if transposed { panels::<Avx512, 8, 18, true>(job) } else { panels::<Avx512, 8, 18, false>(job) } }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn avx2(job: Job, transposed: bool) {
    // SAFETY: the caller's contract. 4 × 3 sums, 3 of B and one of A: all 16 registers.
    unsafe { if transposed { panels::<Avx2, 4, 12, true>(job) } else { panels::<Avx2, 4, 12, false>(job) } }
}

pub(super) unsafe fn plain(job: Job, transposed: bool) {
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
            let boundary = |count: usize, share: usize| count * share / (tall * wide * MR);
            for (first, count) in lines {
                for line in boundary(count, share)..boundary(count, share + 1) {
                    prefetch_line(first.wrapping_add(line * LINE));
                }
            }
        }
        _ => {}
    }
}

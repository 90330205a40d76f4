//! Matrix products of factors rounded to bf16 and summed in f32, on processors with AMX.
//!
//! A tile register holds 16 rows of 64 bytes: 16 × 32 numbers in bf16, or 16 × 16 in f32. Each number of a product is
//! one chain over the tiles of k, so it depends neither on the other rows nor on their number.
#![allow(unsafe_code, reason = "tile instructions over raw pointers; bounds are checked at gemm's door")]

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(super) use amx::product;

#[cfg(test)]
use super::gemm::Left;
use super::gemm::{Right, reach};
use super::level::Level;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// The precision of the factors in an encoder's recurrent products. Sums and weights are always f32.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// No rounding.
    #[default]
    F32,
    /// Rounding to 8 significant bits: needs AMX.
    Bf16,
}

impl Precision {
    /// Whether nothing is rounded.
    pub(crate) fn is_f32(&self) -> bool {
        *self == Precision::F32
    }

    /// The reason why the current level has no products in this precision, if it has none.
    pub fn missing(self) -> Option<&'static str> {
        static AMX: OnceLock<Result<(), &'static str>> = OnceLock::new();
        match self {
            Precision::F32 => None,
            Precision::Bf16 => AMX
                .get_or_init(detect)
                .err()
                .or_else(|| (Level::current() < Level::Avx512).then_some("an instruction level below avx512")),
        }
    }

    /// A right factor for a single product, whose rows are `stride` apart.
    pub(crate) fn right(self, data: &[f32], stride: usize) -> Right<'_> {
        match self {
            Precision::F32 => Right::Exact(data, stride),
            Precision::Bf16 => Right::Rounded(data, stride),
        }
    }

    /// A right factor of k × n numbers for many products, rounded once into `memory`.
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

/// A row of a tile: 16 pairs of bf16, with the first of a pair in the low half.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row([u32; 16]);

/// A right factor, rounded and stored in tiles. Packing reuses the memory.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Packed {
    /// Panels of up to six tiles next to each other. In a panel, tiles follow from the top down. Row r of a tile has
    /// rows 2r and 2r + 1 of the factor in pairs, and zeros after k. If the width is not a multiple of 16, the last
    /// tile is a panel of its own.
    rows: Vec<Row>,
    k: usize,
    n: usize,
}

impl Packed {
    /// The sizes k and n.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.k, self.n)
    }

    fn pack(&mut self, (k, n): (usize, usize), data: &[f32], stride: usize) {
        assert!(Precision::Bf16.missing().is_none(), "bf16 without AMX");
        assert!(k > 0 && n > 0 && stride >= n && data.len() >= reach(k - 1, stride, n), "right factor too short");
        (self.k, self.n) = (k, n);
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        // SAFETY: the sizes were checked, and so was the processor.
        unsafe {
            amx::pack_right((k, n), data.as_ptr(), stride, &mut self.rows);
        }
    }
}

/// The naive version of a product with a rounded right factor, which the tiles are tested against.
#[cfg(test)]
pub(crate) fn gemm_bf16_naive(sizes: (usize, usize, usize), a: Left<'_>, b: (&[f32], usize), c: (&mut [f32], usize)) {
    let ((m, n, k), (b, b_stride), (c, c_stride)) = (sizes, b, c);
    for i in 0..m {
        for j in 0..n {
            let product = |p: usize| round(a.at(i, p)) * round(b[p * b_stride + j]);
            c[i * c_stride + j] += (0..k).map(product).sum::<f32>();
        }
    }
}

/// Rounds to the nearest bf16, and to the even one of two.
#[cfg(test)]
fn round(x: f32) -> f32 {
    let bits = x.to_bits();
    if x.is_nan() { x } else { f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000) }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn detect() -> Result<(), &'static str> {
    Err("a program for another processor or system than Linux on x86-64")
}

/// Checks that there is AMX with bf16, and that the system lets this process use it.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn detect() -> Result<(), &'static str> {
    use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
    #[target_feature(enable = "xsave")]
    fn enabled() -> u64 {
        // SAFETY: the caller found xgetbv enabled.
        unsafe { _xgetbv(0) }
    }
    const BF16_AND_TILE: u32 = 1 << 22 | 1 << 24;
    const TILE_STATES: u64 = 0b11 << 17;
    const OSXSAVE: u32 = 1 << 27;
    const REQUEST_PERMISSION: libc::c_int = 0x1023;
    const TILE_DATA: libc::c_ulong = 18;
    let has = Level::detect() == Level::Avx512
        && is_x86_feature_detected!("avx512bf16")
        && __cpuid_count(7, 0).edx & BF16_AND_TILE == BF16_AND_TILE;
    if !has {
        return Err("a processor without it");
    }
    // SAFETY: `enabled` needs xgetbv, which OSXSAVE says is enabled. The system call takes two numbers and touches no
    // memory of this process.
    let allowed = unsafe {
        __cpuid(1).ecx & OSXSAVE != 0
            && enabled() & TILE_STATES == TILE_STATES
            && libc::syscall(libc::SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0
    };
    if allowed { Ok(()) } else { Err("a system that does not let programs use it") }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx {
    use super::super::gemm::{Job, Right, Start};
    use super::{Packed, Row};
    use std::arch::asm;
    use std::arch::x86_64::*;
    use std::cell::RefCell;
    use std::mem::MaybeUninit;

    /// The number of tiles in a panel: six sums, one tile of A and one of B fill all eight registers.
    const WIDE: usize = 6;
    const ZERO: Row = Row([0; 16]);
    static ZEROS: [Row; WIDE] = [ZERO; WIDE];

    thread_local! {
        static MEMORY: RefCell<(Vec<Row>, Packed)> = RefCell::default();
    }

    /// # Safety
    /// The job's pointers are good for its sizes, `b` is k × n, and the processor has AMX, whose use is permitted.
    #[inline(never)]
    pub(in super::super) unsafe fn product(job: Job, transposed: bool, b: Right<'_>) {
        MEMORY.with_borrow_mut(|(left, right)| {
            let b = match b {
                Right::Packed(packed) => packed,
                Right::Exact(data, stride) | Right::Rounded(data, stride) => {
                    right.pack((job.k, job.n), data, stride);
                    right
                }
            };
            // SAFETY: the caller's contract; configurations name no row or column beyond m and n.
            unsafe {
                if transposed {
                    pack_transposed(&job, left);
                } else {
                    pack_left(&job, left);
                }
                let (tall, wide) = (job.m / 16, job.n / 16);
                for (rows, columns) in [(16, 16), (job.m % 16, 16), (16, job.n % 16), (job.m % 16, job.n % 16)] {
                    let strips = if rows == 16 { 0..tall } else { tall..tall + usize::from(rows > 0) };
                    let tiles = if columns == 16 { 0..wide } else { wide..wide + usize::from(columns > 0) };
                    if strips.is_empty() || tiles.is_empty() {
                        continue;
                    }
                    configure(rows, columns);
                    for first in tiles.clone().step_by(WIDE) {
                        let count = WIDE.min(tiles.end - first);
                        for strip in strips.clone() {
                            panel(&job, &left[..], &b.rows[..], strip, first, (rows, columns, count));
                        }
                    }
                }
                asm!("tilerelease", options(nostack));
            }
        });
    }

    /// Computes rows of C from 16·strip and columns from 16·first: `count` tiles of `rows` × `columns`.
    #[inline(always)]
    unsafe fn panel(
        job: &Job,
        left: &[Row],
        right: &[Row],
        strip: usize,
        first: usize,
        (rows, columns, count): (usize, usize, usize),
    ) {
        let steps = job.k.div_ceil(32);
        let a = left[strip * steps * 16..].as_ptr();
        let b = right[first * steps * 16..].as_ptr();
        let mut added = MaybeUninit::<[Row; 16 * WIDE]>::uninit();
        // SAFETY: as `product`.
        unsafe {
            let c = job.c.add(strip * 16 * job.c_stride + first * 16);
            let (start, stride) = match job.start {
                Start::Zero => (ZEROS.as_ptr().cast::<f32>(), 0),
                Start::Product => (c.cast_const(), job.c_stride),
                Start::Rows { data, stride, of } => {
                    let width = (count - 1) * 16 + columns;
                    for i in 0..rows {
                        let row = data.add(*of.add(strip * 16 + i) as usize * stride + first * 16);
                        let into = added.as_mut_ptr().cast::<Row>().add(i * WIDE).cast::<f32>();
                        std::ptr::copy_nonoverlapping(row, into, width);
                    }
                    (added.as_ptr().cast(), WIDE * 16)
                }
            };
            // Sums are in tmm0 …, A in tmm6, B in tmm7. Sums begin with the values at `start`.
            macro_rules! tiles {
                ($($tile:literal)*) => {
                    asm!(
                        $(concat!("tileloadd tmm", $tile, ", [{start} + {from}*1 + 64*", $tile, "]"),)*
                        "2:",
                        "tileloadd tmm6, [{a} + {line}*1]",
                        $(
                            concat!("tileloadd tmm7, [{b} + {line}*1 + 1024*", $tile, "]"),
                            concat!("tdpbf16ps tmm", $tile, ", tmm6, tmm7"),
                        )*
                        "add {a}, 1024",
                        "add {b}, {panel}",
                        "dec {steps}",
                        "jnz 2b",
                        $(concat!("tilestored [{c} + {to}*1 + 64*", $tile, "], tmm", $tile),)*
                        start = in(reg) start, from = in(reg) stride * 4,
                        a = inout(reg) a => _, b = inout(reg) b => _, line = in(reg) 64usize,
                        panel = in(reg) count * 1024, steps = inout(reg) steps => _,
                        c = in(reg) c, to = in(reg) job.c_stride * 4,
                        out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                        out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                        options(nostack)
                    )
                };
            }
            match count {
                1 => tiles!(0),
                2 => tiles!(0 1),
                3 => tiles!(0 1 2),
                4 => tiles!(0 1 2 3),
                5 => tiles!(0 1 2 3 4),
                _ => tiles!(0 1 2 3 4 5),
            }
        }
    }

    /// Sets the size of sums to `rows` × `columns`, until tilerelease.
    unsafe fn configure(rows: usize, columns: usize) {
        #[repr(C, align(64))]
        struct Configuration {
            palette: u8,
            start_row: u8,
            reserved: [u8; 14],
            bytes: [u16; 16],
            rows: [u8; 16],
        }
        let (r, wide) = (rows as u8, 4 * columns as u16);
        let mut to = Configuration { palette: 1, start_row: 0, reserved: [0; 14], bytes: [0; 16], rows: [0; 16] };
        to.bytes[..8].copy_from_slice(&[wide, wide, wide, wide, wide, wide, 64, wide]);
        to.rows[..8].copy_from_slice(&[r, r, r, r, r, r, r, 16]);
        // SAFETY: 64 bytes as palette 1 has them; nothing else in this program uses tiles.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const to, options(nostack, readonly)) };
    }

    #[inline(always)]
    fn mask(count: usize) -> u16 {
        ((1u32 << count.min(16)) - 1) as u16
    }

    /// Rows p and p + 1 of a matrix of k rows, `count` columns of them, in pairs, with zeros outside.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn pairs(data: *const f32, stride: usize, p: usize, k: usize, count: usize) -> __m512i {
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
            _mm512_permutexvar_epi16(order, round(row(p), row(p + 1)))
        }
    }

    /// 32 numbers rounded to bf16.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bf16")]
    fn round(low: __m512, high: __m512) -> __m512i {
        // SAFETY: two names for 64 bytes in a register.
        unsafe { std::mem::transmute(_mm512_cvtne2ps_pbh(high, low)) }
    }

    fn resize(rows: &mut Vec<Row>, length: usize) {
        if rows.len() < length {
            rows.resize(length, ZERO);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    pub(super) unsafe fn pack_right((k, n): (usize, usize), data: *const f32, stride: usize, into: &mut Vec<Row>) {
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
                        let pairs = pairs(data.add(tile * 16), stride, step * 32 + 2 * r, k, n - tile * 16);
                        _mm512_store_si512(row.0.as_mut_ptr().cast(), pairs);
                    }
                }
            }
        }
    }

    /// Packs strips of 16 rows of A, each as the tiles of k one after the other.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn pack_left(job: &Job, into: &mut Vec<Row>) {
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
                    _mm512_store_si512(row.0.as_mut_ptr().cast(), round(low, high));
                }
            }
        }
    }

    /// [`pack_left`] for a matrix that is stored transposed.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn pack_transposed(job: &Job, into: &mut Vec<Row>) {
        let steps = job.k.div_ceil(32);
        resize(into, job.m.div_ceil(16) * steps * 16);
        for strip in 0..job.m.div_ceil(16) {
            for step in 0..steps {
                // SAFETY: rows 16·strip … of A, which are side by side.
                let mut tile: [__m512i; 16] = std::array::from_fn(|r| unsafe {
                    pairs(job.a.add(strip * 16), job.a_stride, step * 32 + 2 * r, job.k, job.m - strip * 16)
                });
                transpose(&mut tile);
                for (row, pairs) in into[(strip * steps + step) * 16..].iter_mut().zip(tile) {
                    // SAFETY: a row has 64 bytes, aligned.
                    unsafe { _mm512_store_si512(row.0.as_mut_ptr().cast(), pairs) };
                }
            }
        }
    }

    /// Transposes 16 × 16 numbers: blocks of d × d are exchanged across the diagonal, d = 1, 2, 4, 8.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn transpose(tile: &mut [__m512i; 16]) {
        for d in [1, 2, 4, 8] {
            let upper: [i32; 16] = std::array::from_fn(|l| if l & d == 0 { l } else { 16 + l - d } as i32);
            let lower: [i32; 16] = std::array::from_fn(|l| if l & d == 0 { l + d } else { 16 + l } as i32);
            // SAFETY: 64 bytes each.
            let (upper, lower) =
                unsafe { (_mm512_loadu_si512(upper.as_ptr().cast()), _mm512_loadu_si512(lower.as_ptr().cast())) };
            for i in (0..16).filter(|i| i & d == 0) {
                let (x, y) = (tile[i], tile[i + d]);
                tile[i] = _mm512_permutex2var_epi32(x, upper, y);
                tile[i + d] = _mm512_permutex2var_epi32(x, lower, y);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::gemm::{Rows, gemm, gemm_into, gemm_onto};
    use super::*;

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2654435761).wrapping_add(1);
        let mut next = || {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 8) as f32 / (1u32 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    /// Whether this machine has AMX.
    fn amx() -> bool {
        Precision::Bf16.missing().is_none_or(|found| {
            println!("skipped: {found}, so no AMX");
            false
        })
    }

    #[test]
    fn rounds_to_even() {
        for (x, rounded) in [(1.0, 1.0), (1.0 + 1.0 / 256.0, 1.0), (1.0 + 3.0 / 256.0, 1.015625), (-0.3, -77.0 / 256.0)]
        {
            assert_eq!(round(x), rounded);
        }
        assert!(round(f32::NAN).is_nan() && round(f32::from_bits(0x7fff_ffff)).is_nan());
        assert_eq!(round(f32::MAX), f32::INFINITY);
    }

    /// Both round the factors in the same way and sum k products in f32 in another order, so they differ by at most k
    /// roundings.
    #[test]
    fn agrees_with_the_naive_twin_at_every_size() {
        if !amx() {
            return;
        }
        for &m in &[1usize, 2, 15, 16, 17, 33, 96, 128] {
            for &n in &[1usize, 15, 16, 17, 48, 96, 97, 112, 200, 288] {
                for &k in &[1usize, 2, 7, 16, 31, 32, 33, 96, 288] {
                    for transposed in [false, true] {
                        let (a, b) = (numbers(m * k, 1), numbers(k * (n + 2), 2));
                        let left = if transposed { Left::transposed(&a, m) } else { Left::rows(&a, k) };
                        let mut fast = numbers(m * (n + 1), 3);
                        let mut naive = fast.clone();
                        gemm((m, n, k), left, Precision::Bf16.right(&b, n + 2), (&mut fast, n + 1));
                        gemm_bf16_naive((m, n, k), left, (&b, n + 2), (&mut naive, n + 1));
                        for (x, y) in fast.iter().zip(&naive) {
                            assert!((x - y).abs() <= 1e-7 * (k as f32 + 2.0), "{m}×{n}×{k}: {x} against {y}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn begins_where_it_is_told_and_a_row_does_not_depend_on_others() {
        if !amx() {
            return;
        }
        for (m, n, k) in [(1, 5, 3), (19, 50, 33), (45, 288, 96)] {
            let (a, b, d) = (numbers(m * k, 1), numbers(k * n, 2), numbers(4 * (n + 3), 3));
            let of: Vec<u32> = (0..m as u32).map(|i| i * 7 % 4).collect();
            let mut memory = Packed::default();
            let right = Precision::Bf16.prepare((k, n), &b, &mut memory);
            let (mut into, mut onto) = (vec![f32::NAN; m * n], vec![f32::NAN; m * n]);
            gemm_into((m, n, k), Left::rows(&a, k), right, (&mut into, n));
            gemm_onto(
                (m, n, k),
                Left::rows(&a, k),
                right,
                Rows { data: &d, stride: n + 3, of: &of, ahead: 0 },
                (&mut onto, n),
            );
            let mut naive: Vec<f32> = of.iter().flat_map(|&row| &d[row as usize * (n + 3)..][..n]).copied().collect();
            gemm_bf16_naive((m, n, k), Left::rows(&a, k), (&b, n), (&mut naive, n));
            assert!(onto.iter().zip(&naive).all(|(x, y)| (x - y).abs() <= 1e-7 * (k as f32 + 2.0)), "{m}×{n}×{k}");
            for i in 0..m {
                let mut one = vec![f32::NAN; n];
                gemm_into((1, n, k), Left::rows(&a[i * k..], k), Precision::Bf16.right(&b, n), (&mut one, n));
                assert_eq!(one, into[i * n..][..n], "row {i}");
            }
        }
    }

    #[test]
    fn what_is_no_number_stays_none() {
        if !amx() {
            return;
        }
        let (mut a, b, mut c) = (vec![1.0; 20 * 40], vec![1.0; 40 * 3], vec![0.0; 20 * 3]);
        (a[17 * 40 + 5], a[18 * 40]) = (f32::from_bits(0x7fff_ffff), f32::INFINITY);
        gemm((20, 3, 40), Left::rows(&a, 40), Precision::Bf16.right(&b, 3), (&mut c, 3));
        assert!(c[17 * 3].is_nan() && c[18 * 3] == f32::INFINITY);
        assert!((0..17).chain([19]).all(|i| c[i * 3..][..3] == [40.0; 3]));
    }

    #[test]
    #[should_panic(expected = "another right factor")]
    fn a_packed_factor_of_other_sizes_is_refused() {
        gemm((2, 2, 1), Left::rows(&[1.0, 1.0], 1), Right::Packed(&Packed::default()), (&mut [0.0; 4], 2));
    }
}

//! The few vector operations that matrix products need, implemented once for each level.
#![allow(unsafe_code, reason = "vector intrinsics")]

/// A vector register of f32 values.
///
/// # Safety
/// Every function may only run on a processor that has the implementor's instructions, and the
/// pointers must be good for `N` (or `count` ≤ `N`) numbers.
pub(crate) trait Lanes {
    type V: Copy;
    const N: usize;
    unsafe fn zero() -> Self::V;
    unsafe fn splat(x: f32) -> Self::V;
    unsafe fn load(p: *const f32) -> Self::V;
    unsafe fn load_partial(p: *const f32, count: usize) -> Self::V;
    unsafe fn store(p: *mut f32, v: Self::V);
    unsafe fn store_partial(p: *mut f32, v: Self::V, count: usize);
    /// Returns a·b + c.
    unsafe fn mul_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
}

/// Four numbers in plain Rust, multiplied and then added.
pub(crate) struct Plain;

impl Lanes for Plain {
    type V = [f32; 4];
    const N: usize = 4;
    #[inline(always)]
    unsafe fn zero() -> [f32; 4] {
        [0.0; 4]
    }
    #[inline(always)]
    unsafe fn splat(x: f32) -> [f32; 4] {
        [x; 4]
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> [f32; 4] {
        // SAFETY: the caller vouches for four numbers at `p`; no alignment is assumed.
        unsafe { p.cast::<[f32; 4]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn load_partial(p: *const f32, count: usize) -> [f32; 4] {
        let mut v = [0.0; 4];
        for i in 0..count.min(4) {
            // SAFETY: the caller vouches for `count` numbers at `p`.
            v[i] = unsafe { p.add(i).read() };
        }
        v
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: [f32; 4]) {
        // SAFETY: the caller vouches for four numbers at `p`; no alignment is assumed.
        unsafe { p.cast::<[f32; 4]>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn store_partial(p: *mut f32, v: [f32; 4], count: usize) {
        for i in 0..count.min(4) {
            // SAFETY: the caller vouches for `count` numbers at `p`.
            unsafe { p.add(i).write(v[i]) };
        }
    }
    #[inline(always)]
    unsafe fn mul_add(a: [f32; 4], b: [f32; 4], c: [f32; 4]) -> [f32; 4] {
        std::array::from_fn(|i| a[i] * b[i] + c[i])
    }
    #[inline(always)]
    unsafe fn add(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        std::array::from_fn(|i| a[i] + b[i])
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lanes;
    use std::arch::x86_64::*;

    /// Eight numbers in an AVX2 register.
    pub(crate) struct Avx2;

    /// Sixteen numbers in an AVX-512 register.
    pub(crate) struct Avx512;

    #[inline(always)]
    unsafe fn mask8(count: usize) -> __m256i {
        // SAFETY: the caller runs on AVX2.
        unsafe {
            let lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), lane)
        }
    }

    // SAFETY (all of this): the trait's contract, handed on to the intrinsics as it is; loads and
    // stores are the unaligned ones, and a masked lane is not accessed.
    impl Lanes for Avx2 {
        type V = __m256;
        const N: usize = 8;
        #[inline(always)]
        unsafe fn zero() -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_setzero_ps() }
        }
        #[inline(always)]
        unsafe fn splat(x: f32) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_loadu_ps(p) }
        }
        #[inline(always)]
        unsafe fn load_partial(p: *const f32, count: usize) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_maskload_ps(p, mask8(count)) }
        }
        #[inline(always)]
        unsafe fn store(p: *mut f32, v: __m256) {
            // SAFETY: see above.
            unsafe { _mm256_storeu_ps(p, v) }
        }
        #[inline(always)]
        unsafe fn store_partial(p: *mut f32, v: __m256, count: usize) {
            // SAFETY: see above.
            unsafe { _mm256_maskstore_ps(p, mask8(count), v) }
        }
        #[inline(always)]
        unsafe fn mul_add(a: __m256, b: __m256, c: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_fmadd_ps(a, b, c) }
        }
        #[inline(always)]
        unsafe fn add(a: __m256, b: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_add_ps(a, b) }
        }
    }

    // SAFETY (all of this): as for AVX2.
    impl Lanes for Avx512 {
        type V = __m512;
        const N: usize = 16;
        #[inline(always)]
        unsafe fn zero() -> __m512 {
            // SAFETY: see above.
            unsafe { _mm512_setzero_ps() }
        }
        #[inline(always)]
        unsafe fn splat(x: f32) -> __m512 {
            // SAFETY: see above.
            unsafe { _mm512_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> __m512 {
            // SAFETY: see above.
            unsafe { _mm512_loadu_ps(p) }
        }
        #[inline(always)]
        unsafe fn load_partial(p: *const f32, count: usize) -> __m512 {
            // SAFETY: see above.
            unsafe { _mm512_maskz_loadu_ps(((1u32 << count) - 1) as u16, p) }
        }
        #[inline(always)]
        unsafe fn store(p: *mut f32, v: __m512) {
            // SAFETY: see above.
            unsafe { _mm512_storeu_ps(p, v) }
        }
        #[inline(always)]
        unsafe fn store_partial(p: *mut f32, v: __m512, count: usize) {
            // SAFETY: see above.
            unsafe { _mm512_mask_storeu_ps(p, ((1u32 << count) - 1) as u16, v) }
        }
        #[inline(always)]
        unsafe fn mul_add(a: __m512, b: __m512, c: __m512) -> __m512 {
            // SAFETY: see above.
            unsafe { _mm512_fmadd_ps(a, b, c) }
        }
        #[inline(always)]
        unsafe fn add(a: __m512, b: __m512) -> __m512 {
            // SAFETY: see above.
            unsafe { _mm512_add_ps(a, b) }
        }
    }
}

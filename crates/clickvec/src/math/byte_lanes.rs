//! The few operations that products of 4-bit codes need, implemented once for each set of instructions.
#![allow(unsafe_code, reason = "vector intrinsics")]

/// A register of bytes, four for each row, and one of 32-bit sums, one for each row.
///
/// # Safety
/// Every function may only run on a processor that has the implementor's instructions, and the pointers must be good
/// for what is read or written: four bytes (or one sum) a row, and four numbers of a query.
pub(crate) trait ByteLanes {
    type Bytes: Copy;
    type Sums: Copy;
    /// The rows in a register: a divisor of 16.
    const ROWS: usize;
    unsafe fn zero() -> Self::Sums;
    unsafe fn load(p: *const u8) -> Self::Bytes;
    /// Returns the low four bits of each byte.
    unsafe fn low_halves(bytes: Self::Bytes) -> Self::Bytes;
    /// Returns the high four bits of each byte.
    unsafe fn high_halves(bytes: Self::Bytes) -> Self::Bytes;
    /// Loads four numbers of a query, for every row.
    unsafe fn splat(query: *const i8) -> Self::Bytes;
    /// Returns sums + Σ code·query over the four bytes of each row; codes are 0 to 15, queries signed.
    unsafe fn add_dots(sums: Self::Sums, codes: Self::Bytes, query: Self::Bytes) -> Self::Sums;
    unsafe fn store(p: *mut i32, sums: Self::Sums);
}

/// Four rows in plain Rust.
pub(crate) struct Plain;

impl ByteLanes for Plain {
    type Bytes = [u8; 16];
    type Sums = [i32; 4];
    const ROWS: usize = 4;
    #[inline(always)]
    unsafe fn zero() -> [i32; 4] {
        [0; 4]
    }
    #[inline(always)]
    unsafe fn load(p: *const u8) -> [u8; 16] {
        // SAFETY: the caller vouches for 16 bytes at `p`.
        unsafe { p.cast::<[u8; 16]>().read() }
    }
    #[inline(always)]
    unsafe fn low_halves(bytes: [u8; 16]) -> [u8; 16] {
        bytes.map(|byte| byte & 15)
    }
    #[inline(always)]
    unsafe fn high_halves(bytes: [u8; 16]) -> [u8; 16] {
        bytes.map(|byte| byte >> 4)
    }
    #[inline(always)]
    unsafe fn splat(query: *const i8) -> [u8; 16] {
        // SAFETY: the caller vouches for four numbers.
        let four = unsafe { query.cast::<[u8; 4]>().read() };
        std::array::from_fn(|i| four[i % 4])
    }
    #[inline(always)]
    unsafe fn add_dots(mut sums: [i32; 4], codes: [u8; 16], query: [u8; 16]) -> [i32; 4] {
        for i in 0..16 {
            sums[i / 4] += i32::from(codes[i]) * i32::from(query[i] as i8);
        }
        sums
    }
    #[inline(always)]
    unsafe fn store(p: *mut i32, sums: [i32; 4]) {
        // SAFETY: the caller vouches for four sums at `p`.
        unsafe { p.cast::<[i32; 4]>().write(sums) }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512, Vnni};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::ByteLanes;

    /// Eight rows in an AVX2 register.
    pub(crate) struct Avx2;

    /// Sixteen rows in an AVX-512 register.
    pub(crate) struct Avx512;

    /// AVX-512 with `vpdpbusd`, the instruction for exactly this product.
    pub(crate) struct Vnni;

    // SAFETY (all of this): the trait's contract, handed on to the intrinsics as it is; loads and stores are the
    // unaligned ones.
    impl ByteLanes for Avx2 {
        type Bytes = __m256i;
        type Sums = __m256i;
        const ROWS: usize = 8;
        #[inline(always)]
        unsafe fn zero() -> __m256i {
            // SAFETY: see above.
            unsafe { _mm256_setzero_si256() }
        }
        #[inline(always)]
        unsafe fn load(p: *const u8) -> __m256i {
            // SAFETY: see above.
            unsafe { _mm256_loadu_si256(p.cast()) }
        }
        #[inline(always)]
        unsafe fn low_halves(bytes: __m256i) -> __m256i {
            // SAFETY: see above.
            unsafe { _mm256_and_si256(bytes, _mm256_set1_epi8(15)) }
        }
        #[inline(always)]
        unsafe fn high_halves(bytes: __m256i) -> __m256i {
            // SAFETY: see above.
            unsafe { Avx2::low_halves(_mm256_srli_epi16::<4>(bytes)) }
        }
        #[inline(always)]
        unsafe fn splat(query: *const i8) -> __m256i {
            // SAFETY: see above.
            unsafe { _mm256_set1_epi32(query.cast::<i32>().read_unaligned()) }
        }
        #[inline(always)]
        unsafe fn add_dots(sums: __m256i, codes: __m256i, query: __m256i) -> __m256i {
            // SAFETY: see above. Two products make at most 2 · 15 · 128, far from what saturates 16 bits.
            unsafe {
                let pairs = _mm256_maddubs_epi16(codes, query);
                _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
            }
        }
        #[inline(always)]
        unsafe fn store(p: *mut i32, sums: __m256i) {
            // SAFETY: see above.
            unsafe { _mm256_storeu_si256(p.cast(), sums) }
        }
    }

    // SAFETY (all of this): as for AVX2.
    impl ByteLanes for Avx512 {
        type Bytes = __m512i;
        type Sums = __m512i;
        const ROWS: usize = 16;
        #[inline(always)]
        unsafe fn zero() -> __m512i {
            // SAFETY: see above.
            unsafe { _mm512_setzero_si512() }
        }
        #[inline(always)]
        unsafe fn load(p: *const u8) -> __m512i {
            // SAFETY: see above.
            unsafe { _mm512_loadu_si512(p.cast()) }
        }
        #[inline(always)]
        unsafe fn low_halves(bytes: __m512i) -> __m512i {
            // SAFETY: see above.
            unsafe { _mm512_and_si512(bytes, _mm512_set1_epi8(15)) }
        }
        #[inline(always)]
        unsafe fn high_halves(bytes: __m512i) -> __m512i {
            // SAFETY: see above.
            unsafe { Avx512::low_halves(_mm512_srli_epi16::<4>(bytes)) }
        }
        #[inline(always)]
        unsafe fn splat(query: *const i8) -> __m512i {
            // SAFETY: see above.
            unsafe { _mm512_set1_epi32(query.cast::<i32>().read_unaligned()) }
        }
        #[inline(always)]
        unsafe fn add_dots(sums: __m512i, codes: __m512i, query: __m512i) -> __m512i {
            // SAFETY: see above; saturates as little as with AVX2.
            unsafe {
                let pairs = _mm512_maddubs_epi16(codes, query);
                _mm512_add_epi32(sums, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))
            }
        }
        #[inline(always)]
        unsafe fn store(p: *mut i32, sums: __m512i) {
            // SAFETY: see above.
            unsafe { _mm512_storeu_si512(p.cast(), sums) }
        }
    }

    // SAFETY (all of this): as for AVX2.
    impl ByteLanes for Vnni {
        type Bytes = __m512i;
        type Sums = __m512i;
        const ROWS: usize = 16;
        #[inline(always)]
        unsafe fn zero() -> __m512i {
            // SAFETY: see above.
            unsafe { Avx512::zero() }
        }
        #[inline(always)]
        unsafe fn load(p: *const u8) -> __m512i {
            // SAFETY: see above.
            unsafe { Avx512::load(p) }
        }
        #[inline(always)]
        unsafe fn low_halves(bytes: __m512i) -> __m512i {
            // SAFETY: see above.
            unsafe { Avx512::low_halves(bytes) }
        }
        #[inline(always)]
        unsafe fn high_halves(bytes: __m512i) -> __m512i {
            // SAFETY: see above.
            unsafe { Avx512::high_halves(bytes) }
        }
        #[inline(always)]
        unsafe fn splat(query: *const i8) -> __m512i {
            // SAFETY: see above.
            unsafe { Avx512::splat(query) }
        }
        #[inline(always)]
        unsafe fn add_dots(sums: __m512i, codes: __m512i, query: __m512i) -> __m512i {
            // SAFETY: see above.
            unsafe { _mm512_dpbusd_epi32(sums, codes, query) }
        }
        #[inline(always)]
        unsafe fn store(p: *mut i32, sums: __m512i) {
            // SAFETY: see above.
            unsafe { Avx512::store(p, sums) }
        }
    }
}

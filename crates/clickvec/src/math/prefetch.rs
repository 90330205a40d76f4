//! Prefetching memory.
#![allow(unsafe_code, reason = "the instruction takes a pointer")]

/// The bytes of a cache line.
const LINE: usize = 64;

/// Starts to load `values` into the second-level cache, if the processor has such an instruction. Only the time of the
/// program changes.
#[inline]
pub(crate) fn prefetch<T>(values: &[T]) {
    let mut line = values.as_ptr().cast::<u8>();
    for _ in 0..size_of_val(values).div_ceil(LINE) {
        prefetch_line(line);
        line = line.wrapping_add(LINE);
    }
}

/// Prefetches the cache line of an address, which need not be valid.
#[inline(always)]
pub(crate) fn prefetch_line<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: every x86-64 has the instruction. It is a hint, and no address makes it fault.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

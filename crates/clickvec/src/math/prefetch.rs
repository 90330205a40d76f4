//! Asking for memory before it is needed.
#![allow(unsafe_code, reason = "the instruction takes a pointer")]

/// Begins to bring `values` into the second-level cache, where the processor has such an
/// instruction; changes nothing that a program can see but its time.
#[inline]
pub(crate) fn prefetch(values: &[f32]) {
    for line in values.chunks(64 / size_of::<f32>()) {
        prefetch_line(line.as_ptr());
    }
}

/// As [`prefetch`], for the cache line of an address, which need not be any memory's.
#[inline(always)]
pub(crate) fn prefetch_line<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: every x86-64 has the instruction; it is a hint, which no address makes a fault.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

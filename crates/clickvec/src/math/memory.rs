//! A hint to the system about large tables. It changes no result.
#![allow(unsafe_code, reason = "advice takes a raw address")]

/// Tables from this size on ask for huge pages: rows are read in no order, and each 4 KiB page of
/// them would cost a walk through the page table.
#[cfg(target_os = "linux")]
const HUGE: usize = 8 << 20;

/// Asks for huge pages under a large table that nothing was written to yet.
pub(crate) fn advise_huge_pages(table: &[f32]) {
    #[cfg(target_os = "linux")]
    {
        let bytes = size_of_val(table);
        if bytes < HUGE {
            return;
        }
        const PAGE: usize = 4096;
        let start = table.as_ptr() as usize;
        let first = start.next_multiple_of(PAGE);
        let length = (start + bytes - first) / PAGE * PAGE;
        // SAFETY: whole pages inside one live allocation. The advice does not change what they hold, and
        // a refusal leaves them as they are.
        unsafe { libc::madvise(first as *mut libc::c_void, length, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = table;
}

//! Whether standard output is closed. Rust's runtime opens `/dev/null` in the place of a closed one before `main`, and its writes to a
//! closed one seem to succeed, so everything would be lost without a word.

#![allow(unsafe_code)]

/// Whether it was closed when the program was loaded.
#[cfg(target_os = "linux")]
static WAS_CLOSED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

#[cfg(target_os = "linux")]
#[used]
// SAFETY: the loader calls what this section has as functions, once each and before the runtime. `look` needs nothing of the runtime.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

#[cfg(target_os = "linux")]
extern "C" fn look() {
    WAS_CLOSED.store(is_closed_now(), std::sync::atomic::Ordering::Relaxed);
}

#[cfg(target_os = "linux")]
fn is_closed_now() -> bool {
    use std::ffi::c_int;
    const STANDARD_OUTPUT: c_int = 1;
    const F_GETFD: c_int = 1;
    unsafe extern "C" {
        fn fcntl(file: c_int, command: c_int, ...) -> c_int;
    }
    // SAFETY: this command takes no argument and changes nothing.
    unsafe { fcntl(STANDARD_OUTPUT, F_GETFD) == -1 }
}

/// Returns whether standard output is closed, or was when the program began; elsewhere than on Linux, never.
pub(crate) fn is_output_closed() -> bool {
    #[cfg(target_os = "linux")]
    return is_closed_now() || WAS_CLOSED.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(target_os = "linux"))]
    false
}

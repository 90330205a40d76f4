//! Panics of tantivy on damaged files, as errors.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use tantivy::TantivyError;

thread_local! {
    /// Whether a panic on this thread will be caught and told as an error.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// What `read` gives; if it panics, as tantivy does on some damaged files, an error. The panic is told nowhere else.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T, TantivyError>) -> Result<T, TantivyError> {
    hush();
    let before = IS_GUARDED.replace(true);
    let caught = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(before);
    caught.unwrap_or_else(|_| Err(TantivyError::InternalError("reading it failed".to_owned())))
}

/// Puts a hook before the program's own that keeps quiet about the panics that are caught here, and about no others.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tell = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                tell(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_errors_and_a_guard_ends_with_what_it_guards() {
        let on_purpose = || -> Result<(), TantivyError> { panic!("on purpose") };
        assert!(guarded(|| Ok(())).is_ok());
        assert!(guarded(on_purpose).unwrap_err().to_string().contains("reading it failed"));
        // One inside another does not end the outer one.
        let outer = guarded(|| {
            let inner = guarded(on_purpose);
            assert!(IS_GUARDED.get());
            inner
        });
        assert!(outer.is_err() && !IS_GUARDED.get());
    }
}

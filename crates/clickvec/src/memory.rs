//! Checks for memory before work that would abort without it.

use memmap2::MmapMut;

use crate::error::{Error, Result};

/// Checks that the system can provide `bytes` of memory for `what`; `None` exceeds 64 bits.
///
/// All sizes that come from outside are added up and requested once, here, and given back. Later allocations abort the
/// process if memory is short, like any `Vec`.
///
/// # Errors
///
/// [`Error::NoMemory`].
pub(crate) fn room_for(what: &'static str, bytes: Option<u64>) -> Result<()> {
    let fault = || Error::NoMemory { what, bytes };
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(fault)?;
    match bytes {
        0 => Ok(()),
        // Pages that nobody writes to cost nothing.
        _ => MmapMut::map_anon(bytes).map(drop).map_err(|_| fault()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_can_be_is_an_error() {
        room_for("nothing", Some(0)).unwrap();
        room_for("a page", Some(4096)).unwrap();
        for bytes in [None, Some(u64::MAX), Some(1 << 62)] {
            let error = room_for("the weights", bytes).unwrap_err().to_string();
            assert!(error.contains("for the weights") && error.ends_with("found less; ask for less"), "{error}");
        }
        assert!(room_for("x", Some(3 << 61)).unwrap_err().to_string().contains("6,597,069,766,656 MiB"));
    }
}

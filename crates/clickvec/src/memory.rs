//! Whether memory is there, before work begins that would end without it.

use memmap2::MmapMut;

use crate::error::{Error, Result};

/// That the system gives `bytes` of memory for `what`; `None` is more than can be counted.
///
/// Sizes that come from outside are asked for here, once and together, and given back. What is taken after that, piece by
/// piece, ends the process where it is missing, as any `Vec` does.
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

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

/// [`room_for`] this many numbers of type `T`; the terms of `counts` are products.
///
/// # Errors
///
/// [`Error::NoMemory`].
pub(crate) fn room_for_numbers<T>(what: &'static str, counts: &[&[usize]]) -> Result<()> {
    let product = |sizes: &&[usize]| sizes.iter().try_fold(1u64, |all, &size| all.checked_mul(size as u64));
    let numbers = counts.iter().try_fold(0u64, |all, sizes| all.checked_add(product(sizes)?));
    room_for(what, numbers.and_then(|numbers| numbers.checked_mul(size_of::<T>() as u64)))
}

/// Makes room in `list` for `more` items: where memory is missing, an error and not the end of the process.
///
/// # Errors
///
/// [`Error::NoMemory`].
pub(crate) fn reserve<T>(list: &mut Vec<T>, more: usize, what: &'static str) -> Result<()> {
    list.try_reserve(more).map_err(|_| Error::NoMemory { what, bytes: bytes_of::<T>(more) })
}

/// The bytes of `count` items; `None` is more than can be counted.
pub(crate) fn bytes_of<T>(count: usize) -> Option<u64> {
    (count as u64).checked_mul(size_of::<T>() as u64)
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
        room_for_numbers::<f32>("a table", &[&[1000, 3], &[]]).unwrap();
        let absurd: [&[&[usize]]; 3] = [&[&[usize::MAX, 2]], &[&[usize::MAX], &[usize::MAX]], &[&[1 << 40, 1 << 20]]];
        for counts in absurd {
            assert!(room_for_numbers::<f64>("a table", counts).is_err());
        }
        let mut list = vec![1u64];
        reserve(&mut list, 9, "a list").unwrap();
        assert!(list.capacity() >= 10);
        let error = reserve(&mut list, usize::MAX >> 4, "a list").unwrap_err().to_string();
        assert!(error.starts_with("expected 8,796,093,022,208 MiB of memory for a list"), "{error}");
        assert!(room_for("x", Some(3 << 61)).unwrap_err().to_string().contains("6,597,069,766,656 MiB"));
    }
}

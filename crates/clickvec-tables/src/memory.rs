//! Checks for memory before work that would abort without it.
//!
//! Where one piece of memory is large because something from outside is (a file, a setting, a minibatch), it is asked for here
//! first, so that a lack of it is an error. What grows line by line is asked for with [`reserve`] where it is large: vectors,
//! titles, judgments, phrases, the words of a vocabulary. Still, memory may run out elsewhere, which ends the process as with any
//! `Vec`: small pieces are not asked for, and the memory of other processes is unknown.

use std::fmt;

use memmap2::MmapMut;

use crate::shown::count;
use crate::{Error, ErrorKind};

/// Memory that the system does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom {
    /// What it is for.
    pub what: &'static str,
    /// How much; `None` exceeds 64 bits.
    pub bytes: Option<u64>,
}

impl From<NoRoom> for Error {
    fn from(NoRoom { what, bytes }: NoRoom) -> Error {
        Error::expected(ErrorKind::Memory, format!("{} of memory for {what}", mebibytes(bytes)), "less")
            .help("ask for less")
    }
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Error::from(*self).fmt(f)
    }
}

/// Returns memory in MiB, with separated thousands.
fn mebibytes(bytes: Option<u64>) -> String {
    bytes.map_or("more than 2^64 bytes".to_owned(), |bytes| format!("{} MiB", count(bytes.div_ceil(1 << 20))))
}

/// Up to here, the system is only asked whether it would hand out the memory, not how much is free.
const FREE_FROM: u64 = 256 << 20;

/// Checks that the system can provide `bytes` of memory for `what`; `None` exceeds 64 bits. It is requested and given back, and
/// compared with what is free where Linux tells: it hands out more than it has, and ends the process once that is used.
///
/// # Errors
///
/// [`NoRoom`].
pub fn room_for(what: &'static str, bytes: Option<u64>) -> Result<(), NoRoom> {
    let fault = || NoRoom { what, bytes };
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(fault)?;
    if bytes as u64 > FREE_FROM && free_bytes().is_some_and(|free| bytes as u64 > free) {
        return Err(fault());
    }
    match bytes {
        0 => Ok(()),
        // Pages that are never written to cost nothing.
        _ => MmapMut::map_anon(bytes).map(drop).map_err(|_| fault()),
    }
}

/// The memory that is free, with what the system can take back and swap; `None` if it does not say.
fn free_bytes() -> Option<u64> {
    let all = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes = |name: &str| {
        let line = all.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let free = kibibytes("MemAvailable:")? + kibibytes("SwapFree:").unwrap_or(0);
    // A container may have a limit of its own.
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = limit.and_then(|limit| limit.trim().parse().ok()).unwrap_or(u64::MAX);
    Some((free * 1024).min(limit))
}

/// [`room_for`] this many numbers of type `T`; the terms of `counts` are products.
///
/// # Errors
///
/// [`NoRoom`].
pub fn room_for_numbers<T>(what: &'static str, counts: &[&[usize]]) -> Result<(), NoRoom> {
    let product = |sizes: &&[usize]| sizes.iter().try_fold(1u64, |all, &size| all.checked_mul(size as u64));
    let numbers = counts.iter().try_fold(0u64, |all, sizes| all.checked_add(product(sizes)?));
    room_for(what, numbers.and_then(|numbers| numbers.checked_mul(size_of::<T>() as u64)))
}

/// Makes room in `list` for `more` items: where memory is missing, an error and not the end of the process.
///
/// # Errors
///
/// [`NoRoom`].
pub fn reserve<T>(list: &mut Vec<T>, more: usize, what: &'static str) -> Result<(), NoRoom> {
    list.try_reserve(more).map_err(|_| NoRoom { what, bytes: bytes_of::<T>(more) })
}

/// The bytes of `count` items; `None` is more than can be counted.
pub fn bytes_of<T>(count: usize) -> Option<u64> {
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
        // The system hands out as much as the machine has, even if half of it is in use.
        if let Some(free) = free_bytes() {
            assert!(free > FREE_FROM, "{free}");
            room_for("a little", Some(FREE_FROM)).unwrap();
            let error = room_for("more than is free", Some(2 * free)).unwrap_err();
            assert_eq!(error, NoRoom { what: "more than is free", bytes: Some(2 * free) });
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

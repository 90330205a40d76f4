//! Thrift's compact form, in which Parquet keeps its metadata, checked before the crate for Parquet reads it. That crate
//! believes what a collection says of its size: values that take no bytes it reads two billion times, and at the end of a
//! file it goes on reading nothing.

use std::fs::File;

use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::reader::{ChunkReader, Length as _};

use super::pages::{Bytes, told};
use crate::error::{BadPart, ParquetFault, ParquetPart};

/// The bytes at the end of a file: the length of its metadata, and [`MAGIC`].
const TAIL: u64 = 8;
const MAGIC: &[u8] = b"PAR1";
const ENCRYPTED: &[u8] = b"PARE";
/// The bytes that are read at first for the header of a page, and the most: statistics can make it long.
const FIRST: u64 = 1 << 10;
const MOST: u64 = 1 << 24;
/// How deep values may be in each other, as for the crate for Parquet.
const DEPTH: u8 = 64;
/// The field of a page's header that has the number of bytes after it.
const COMPRESSED_SIZE: i64 = 3;

/// Checks the end of a file and the metadata before it.
pub(super) fn check_footer(file: &File) -> Result<()> {
    let length = file.len();
    let tail = length.checked_sub(TAIL).ok_or_else(|| told(ParquetFault::NoEnd))?;
    let bytes = file.get_bytes(tail, TAIL as usize)?;
    let (size, magic) = bytes.split_at(size_of::<u32>());
    let size = size.first_chunk().map_or(0, |size| u64::from(u32::from_le_bytes(*size)));
    match magic {
        MAGIC if size <= tail => {}
        ENCRYPTED => return Err(told(ParquetFault::Encrypted)),
        _ => return Err(told(ParquetFault::NoEnd)),
    }
    match length_of(&file.get_bytes(tail - size, size as usize)?, &mut |_, _| {}) {
        Ok(_) => Ok(()),
        Err(fault) => Err(damaged(ParquetPart::Metadata, tail - size, fault)),
    }
}

/// Checks the headers of all pages of a column.
pub(super) fn check_headers(file: &File, column: &ColumnChunkMetaData) -> Result<()> {
    let (mut at, length) = column.byte_range();
    let end = at.saturating_add(length).min(file.len());
    while at < end {
        let mut after = None;
        let header = header_length(file, at, &mut |field, number| {
            if field == COMPRESSED_SIZE {
                after = Some(number);
            }
        })?;
        // A whole number is twice its size, or that less 1 if it is negative.
        let after = after
            .filter(|after| after % 2 == 0)
            .ok_or_else(|| damaged(ParquetPart::PageHeader, at, BadPart::Unknown))?;
        at = at.saturating_add(header).saturating_add(after / 2);
    }
    Ok(())
}

fn header_length(file: &File, at: u64, see: &mut See<'_>) -> Result<u64> {
    let left = file.len().saturating_sub(at).min(MOST);
    let mut window = FIRST.min(left);
    loop {
        match length_of(&file.get_bytes(at, window as usize)?, see) {
            Ok(length) => return Ok(length as u64),
            Err(BadPart::EndsEarly) if window < left => window = (window * 16).min(left),
            Err(fault) => return Err(damaged(ParquetPart::PageHeader, at, fault)),
        }
    }
}

fn damaged(part: ParquetPart, at: u64, found: BadPart) -> ParquetError {
    told(ParquetFault::Part { part, at, found })
}

/// Receives the number of each field of the outermost struct, with its value as it was written if it is a whole number.
type See<'a> = dyn FnMut(i64, u64) + 'a;

/// The length of the struct at the start of these bytes.
fn length_of(bytes: &[u8], see: &mut See<'_>) -> std::result::Result<usize, BadPart> {
    let mut walk = Walk(Bytes(bytes));
    walk.fields(DEPTH, see)?;
    Ok(bytes.len() - walk.0.0.len())
}

/// The walk over a struct. Each value takes a byte or more, so the work is bounded by their number.
struct Walk<'a>(Bytes<'a>);

impl Walk<'_> {
    fn byte(&mut self) -> std::result::Result<u8, BadPart> {
        self.0.take(1).map(|byte| byte[0]).ok_or(BadPart::EndsEarly)
    }

    fn skip(&mut self, count: u64) -> std::result::Result<(), BadPart> {
        self.0.take(count).map(drop).ok_or(BadPart::EndsEarly)
    }

    fn number(&mut self) -> std::result::Result<u64, BadPart> {
        self.0.number().ok_or(BadPart::EndsEarly)
    }

    fn fields(&mut self, depth: u8, see: &mut See<'_>) -> std::result::Result<(), BadPart> {
        let mut field = 0;
        loop {
            let head = self.byte()?;
            if head & 15 == 0 {
                return Ok(());
            }
            field = match i64::from(head >> 4) {
                0 => self.number().map(|number| (number >> 1) as i64 ^ -((number & 1) as i64))?,
                more => field + more,
            };
            // The type of a boolean is its value.
            let value = if head & 15 <= 2 { 0 } else { self.value(head & 15, depth)? };
            see(field, value);
        }
    }

    fn value(&mut self, kind: u8, depth: u8) -> std::result::Result<u64, BadPart> {
        let inner = depth.checked_sub(1).ok_or(BadPart::Unknown)?;
        match kind {
            3 => self.skip(1)?,
            4..=6 => return self.number(),
            7 => self.skip(8)?,
            8 => {
                let length = self.number()?;
                self.skip(length)?;
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
                self.values(count, &[head & 15], inner)?;
            }
            11 => {
                let count = self.number()?;
                if count > 0 {
                    let kinds = self.byte()?;
                    self.values(count, &[kinds >> 4, kinds & 15], inner)?;
                }
            }
            12 => self.fields(inner, &mut |_, _| {})?,
            13 => self.skip(16)?,
            _ => return Err(BadPart::Unknown),
        }
        Ok(0)
    }

    /// `count` times a value of each of `kinds`.
    fn values(&mut self, count: u64, kinds: &[u8], depth: u8) -> std::result::Result<(), BadPart> {
        if count > self.0.0.len() as u64 {
            return Err(BadPart::EndsEarly);
        }
        for _ in 0..count {
            for &kind in kinds {
                self.value(kind, depth)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(bytes: &[u8]) -> std::result::Result<usize, BadPart> {
        length_of(bytes, &mut |_, _| {})
    }

    /// Fields 1 to 11: true, a byte, 300, 1.5, "ab", [7, 8], {1: "x"}, [], a struct with a field 20, {} and a byte.
    const ALL: [u8; 42] = [
        0x11, 0x13, 9, 0x15, 0xd8, 4, 0x17, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0x18, 2, b'a', b'b', 0x19, 0x25, 14, 16,
        0x1b, 1, 0x58, 2, 1, b'x', 0x19, 0, 0x1c, 0x05, 40, 2, 0, 0x1b, 0, 0x13, 1, 0, 77,
    ];

    #[test]
    fn the_length_of_a_struct_is_found() {
        let mut seen = Vec::new();
        let length = length_of(&ALL, &mut |field, value| seen.push((field, value)));
        assert_eq!(length, Ok(ALL.len() - 1), "the last byte is another's");
        assert_eq!(seen.len(), 11);
        assert_eq!((seen[0], seen[2], seen[10]), ((1, 0), (3, 600), (11, 0)));
        for end in 0..ALL.len() - 1 {
            assert_eq!(length_of(&ALL[..end], &mut |_, _| {}), Err(BadPart::EndsEarly), "{end}");
        }
    }

    #[test]
    fn what_could_go_on_for_ever_is_refused() {
        // Two billion booleans, which take no bytes, in a list and in a map; two billion numbers that are not there.
        assert_eq!(length(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0]), Err(BadPart::EndsEarly));
        assert_eq!(length(&[0x19, 0x21, 0, 0]), Err(BadPart::Unknown));
        assert_eq!(length(&[0x1b, 0x02, 0x12, 0, 0, 0]), Err(BadPart::Unknown));
        assert_eq!(length(&[0x19, 0xf7, 0xff, 0xff, 0xff, 0xff, 7, 0]), Err(BadPart::EndsEarly));
        // A number without an end, no such type, and structs in structs.
        assert_eq!(length(&[0x15; 1]), Err(BadPart::EndsEarly));
        assert_eq!(length(&[[0x15].as_slice(), &[0xff; 12]].concat()), Err(BadPart::EndsEarly));
        assert_eq!(length(&[0x1e, 0]), Err(BadPart::Unknown));
        assert_eq!(length(&[0x1c; 1000]), Err(BadPart::Unknown));
        assert_eq!(length(&[[0x1c; 60].as_slice(), &[0; 61]].concat()), Ok(121));
    }
}

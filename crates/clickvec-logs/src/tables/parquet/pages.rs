//! Pages of a Parquet file, checked before they are decoded. The crate for Parquet makes room for as many values as a page
//! says it has, before it looks whether they are there; memory that cannot be had would end the process.

use std::fs::File;

use ::parquet::basic::{Compression, Encoding, Type as Physical};
use ::parquet::bloom_filter::Sbbf;
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use ::parquet::record::reader::RowIter;
use ::parquet::schema::types::{ColumnDescPtr, Type};

use super::thrift;
use crate::error::ParquetFault;

/// The most values in a page whose lengths are differences: a few bytes can claim any number of them.
const MOST_VALUES: u64 = 1 << 26;

/// A Parquet file whose metadata and pages are checked before they are read.
pub(super) struct CheckedFile {
    file: File,
    reader: SerializedFileReader<File>,
}

impl CheckedFile {
    /// Reads the file's metadata.
    pub(super) fn open(file: File) -> Result<CheckedFile> {
        thrift::check_footer(&file)?;
        Ok(CheckedFile { reader: SerializedFileReader::new(file.try_clone()?)?, file })
    }

    /// Reads every page of every column once.
    pub(super) fn check_all(&self) -> Result<()> {
        for number in 0..self.num_row_groups() {
            let group = self.get_row_group(number)?;
            for column in 0..group.num_columns() {
                let mut pages = group.get_column_page_reader(column)?;
                while pages.get_next_page()?.is_some() {}
            }
        }
        Ok(())
    }
}

impl FileReader for CheckedFile {
    fn metadata(&self) -> &ParquetMetaData {
        self.reader.metadata()
    }

    fn num_row_groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    fn get_row_group(&self, number: usize) -> Result<Box<dyn RowGroupReader + '_>> {
        Ok(Box::new(CheckedGroup { file: &self.file, group: self.reader.get_row_group(number)? }))
    }

    fn get_row_iter(&self, projection: Option<Type>) -> Result<RowIter<'_>> {
        RowIter::from_file(projection, self)
    }
}

struct CheckedGroup<'a> {
    file: &'a File,
    group: Box<dyn RowGroupReader + 'a>,
}

impl RowGroupReader for CheckedGroup<'_> {
    fn metadata(&self) -> &RowGroupMetaData {
        self.group.metadata()
    }

    fn num_columns(&self) -> usize {
        self.group.num_columns()
    }

    fn get_column_page_reader(&self, number: usize) -> Result<Box<dyn PageReader>> {
        let chunk = self.metadata().column(number);
        if chunk.compression() == Compression::LZO {
            let (column, found) = (chunk.column_path().string(), chunk.compression().to_string());
            return Err(told(ParquetFault::Compression { column, found }));
        }
        thrift::check_headers(self.file, chunk)?;
        let column = self.metadata().schema_descr().column(number);
        Ok(Box::new(CheckedPages { pages: self.group.get_column_page_reader(number)?, column }))
    }

    fn get_column_bloom_filter(&self, number: usize) -> Option<&Sbbf> {
        self.group.get_column_bloom_filter(number)
    }

    fn get_row_iter(&self, projection: Option<Type>) -> Result<RowIter<'_>> {
        RowIter::from_row_group(projection, self)
    }
}

struct CheckedPages {
    pages: Box<dyn PageReader>,
    column: ColumnDescPtr,
}

impl CheckedPages {
    fn checked(&self, page: Option<Page>) -> Result<Option<Page>> {
        page.map(|page| check(&page, &self.column).map(|()| page)).transpose()
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        self.checked(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        let page = self.pages.take_deferred_dictionary()?;
        self.checked(page)
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

/// Checks that a page has the values that it says, where decoding makes room for them first.
fn check(page: &Page, column: &ColumnDescPtr) -> Result<()> {
    let (values, bytes) = (u64::from(page.num_values()), page.buffer());
    let (encoded, encoding) = match page {
        Page::DictionaryPage { .. } => {
            let room = bytes.len() as u64 * 8 / bits(column);
            return if values > room { Err(fault(column, room, values)) } else { Ok(()) };
        }
        Page::DataPage { encoding, def_level_encoding, rep_level_encoding, .. } => {
            let repetition = levels(bytes, *rep_level_encoding, column.max_rep_level(), values);
            let after = repetition.and_then(|from| bytes.get(from..)).unwrap_or_default();
            let definition = levels(after, *def_level_encoding, column.max_def_level(), values);
            (definition.and_then(|from| after.get(from..)), encoding)
        }
        Page::DataPageV2 { encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
            let levels = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
            (bytes.get(levels..), encoding)
        }
    };
    let lists = match encoding {
        Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        // The lengths that values share with the one before, and those of the rest.
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => return Ok(()),
    };
    let damaged = || told(ParquetFault::PageEnds { column: column.path().string() });
    let mut rest = Bytes(encoded.ok_or_else(damaged)?);
    let most = values.min(MOST_VALUES);
    for list in 1..=lists {
        let differences = rest.differences().ok_or_else(damaged)?;
        if differences.values > most {
            return Err(fault(column, most, differences.values));
        }
        if list < lists {
            rest.skip(&differences).ok_or_else(damaged)?;
        }
    }
    Ok(())
}

fn fault(column: &ColumnDescPtr, most: u64, found: u64) -> ParquetError {
    told(ParquetFault::Values { column: column.path().string(), most, found })
}

/// A fault in the form in which the crate for Parquet passes it on.
pub(super) fn told(fault: ParquetFault) -> ParquetError {
    ParquetError::External(Box::new(fault))
}

/// The least bits of a value of a dictionary.
fn bits(column: &ColumnDescPtr) -> u64 {
    match column.physical_type() {
        Physical::BOOLEAN => 1,
        // For texts, those of the length.
        Physical::INT32 | Physical::FLOAT | Physical::BYTE_ARRAY => 32,
        Physical::INT64 | Physical::DOUBLE => 64,
        Physical::INT96 => 96,
        Physical::FIXED_LEN_BYTE_ARRAY => 8 * u64::from(column.type_length().max(1).unsigned_abs()),
    }
}

/// The bytes of a page's repetition or definition levels; `None` if the page ends before.
fn levels(bytes: &[u8], encoding: Encoding, most: i16, values: u64) -> Option<usize> {
    if most == 0 {
        return Some(0);
    }
    #[allow(deprecated, reason = "old files have it")]
    if encoding == Encoding::BIT_PACKED {
        let bits = u64::from(u16::BITS - most.unsigned_abs().leading_zeros());
        return usize::try_from((values * bits).div_ceil(8)).ok();
    }
    let length = bytes.first_chunk().map(|length| u32::from_le_bytes(*length))?;
    usize::try_from(length).ok()?.checked_add(size_of::<u32>())
}

/// The header of a list of whole numbers as differences (`DELTA_BINARY_PACKED`).
struct Differences {
    block: u64,
    parts: u64,
    values: u64,
}

/// Bytes that are still to be read.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl Bytes<'_> {
    pub(super) fn take(&mut self, count: u64) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of seven bits a byte, the least significant first; `None` if it has no end.
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn differences(&mut self) -> Option<Differences> {
        let (block, parts, values) = (self.number()?, self.number()?, self.number()?);
        let _first = self.number()?;
        (parts > 0 && block >= parts).then_some(Differences { block, parts, values })
    }

    /// Skips the blocks after a header. A part that has no value has no bytes either.
    fn skip(&mut self, list: &Differences) -> Option<()> {
        let of_part = list.block / list.parts;
        let mut left = list.values.saturating_sub(1);
        while left > 0 {
            let _least = self.number()?;
            let widths = self.take(list.parts)?.to_vec();
            for width in widths {
                if left > 0 {
                    self.take(of_part.checked_mul(u64::from(width))? / 8)?;
                    left = left.saturating_sub(of_part);
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_differences_are_skipped() {
        // 7, 5, 3, …: the parts after the first have no bytes, whatever their width.
        let mut bytes = Bytes(&[0x80, 1, 4, 3, 14, 3, 2, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8, 42]);
        let list = bytes.differences().unwrap();
        assert_eq!((list.block, list.parts, list.values), (128, 4, 3));
        bytes.skip(&list).unwrap();
        assert_eq!(bytes.0, [42]);
    }

    #[test]
    fn a_list_that_ends_too_early_is_none() {
        let whole = [0x80, 1, 4, 3, 14, 3, 2, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8];
        for end in 0..whole.len() {
            let mut bytes = Bytes(&whole[..end]);
            assert!(bytes.differences().and_then(|list| bytes.skip(&list)).is_none(), "{end}");
        }
        // No part, and a number without an end.
        assert!(Bytes(&[0x80, 1, 0, 3, 14]).differences().is_none());
        assert!(Bytes(&[0xff; 12]).number().is_none());
    }
}

//! The reader and the writer of NumPy's `.npy` format.

use std::io::{self, Read, Seek, SeekFrom, Write};

use clickvec_tables::{Error, ErrorKind, Result};

use clickvec_tables::shown::shortened;

/// The header is padded to a multiple of this, so that the numbers can be mapped.
const ALIGNMENT: usize = 64;
/// The first bytes of a file.
pub const MAGIC: &[u8] = b"\x93NUMPY";
/// The longest header that is read. NumPy's own have about a hundred bytes, and it reads none above 10,000.
const MAX_HEADER: usize = 1 << 16;

/// NumPy's name of little-endian numbers of 32 bits.
pub const F32: &str = "<f4";
/// NumPy's name of little-endian numbers of 16 bits.
pub const F16: &str = "<f2";

/// Returns everything before the numbers: format 1.0, row-major, [rows, dimension], numbers of a kind by NumPy's name. The length
/// is the same for any number of rows.
pub fn header(kind: &str, rows: usize, dimension: usize) -> Vec<u8> {
    let description = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, {dimension}), }}");
    let mut header = [MAGIC, b"\x01\x00"].concat();
    // The length of the rest in two bytes, the description, spaces, and a line end follow.
    let unpadded = header.len() + 2 + description.len() + 1;
    let padding = unpadded.next_multiple_of(ALIGNMENT) - unpadded;
    // The two sizes have at most 20 digits each, so the length easily fits two bytes.
    let length = (description.len() + padding + 1) as u16;
    header.extend_from_slice(&length.to_le_bytes());
    header.extend_from_slice(description.as_bytes());
    header.resize(header.len() + padding, b' ');
    header.push(b'\n');
    header
}

/// Writes numbers in the byte order of the file.
pub(crate) fn write_numbers(target: &mut impl Write, numbers: &[f32]) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return target.write_all(bytemuck::cast_slice(numbers));
    }
    numbers.iter().try_for_each(|number| target.write_all(&number.to_le_bytes()))
}

/// A writer of rows whose number is not known in advance. It writes the header last.
pub struct Appender<W> {
    target: W,
    rows: usize,
    dimension: usize,
}

impl<W: Write + Seek> Appender<W> {
    /// Returns a writer at the start of the target.
    pub fn new(mut target: W, dimension: usize) -> io::Result<Appender<W>> {
        target.write_all(&header(F32, 0, dimension))?;
        Ok(Appender { target, rows: 0, dimension })
    }

    /// Returns the number of rows so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Writes complete rows.
    pub fn write(&mut self, rows: &[f32]) -> io::Result<()> {
        debug_assert!(rows.len().is_multiple_of(self.dimension), "whole rows");
        write_numbers(&mut self.target, rows)?;
        self.rows += rows.len() / self.dimension;
        Ok(())
    }

    /// Writes the number of rows, and flushes.
    pub fn finish(mut self) -> io::Result<()> {
        self.target.seek(SeekFrom::Start(0))?;
        self.target.write_all(&header(F32, self.rows, self.dimension))?;
        self.target.flush()
    }
}

/// A reader of an array of little-endian `f4` or `f8`, format 1 to 3, after its header was read. The source may
/// contain anything, and no memory is allocated for more than it has.
#[derive(Debug)]
pub struct Reader<R> {
    source: R,
    header: Header,
    /// The bytes of a number: 4 or 8.
    width: usize,
    /// The position of the first number.
    start: usize,
    bytes: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Returns a reader of the array in `source`, whose header is read here.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`] for another header, [`ErrorKind::Damaged`] for one that ends too soon, and [`ErrorKind::Io`],
    /// all without the path.
    pub fn open(mut source: R) -> Result<Reader<R>> {
        let mut begin = [0; MAGIC.len() + 2];
        let found = fill(&mut source, &mut begin).map_err(failed)?;
        if !begin[..found].starts_with(&MAGIC[..found.min(MAGIC.len())]) {
            let begin = begin[..found].escape_ascii();
            return Err(not_npy(format!("a file that begins with `{begin}`")));
        }
        if found < begin.len() {
            return Err(cut());
        }
        let length_bytes = match begin[MAGIC.len()] {
            1 => 2,
            2 | 3 => 4,
            version => return Err(not_npy(format!("one of version {version}"))),
        };
        let mut length = [0; 4];
        fill_all(&mut source, &mut length[..length_bytes])?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_HEADER {
            return Err(not_npy(format!("one of {length} bytes")));
        }
        let mut text = vec![0; length];
        fill_all(&mut source, &mut text)?;
        let text = String::from_utf8_lossy(&text);
        let header = Header::parse(&text).ok_or_else(|| not_npy(format!("`{}`", shortened(text.trim()))))?;
        let width = match header.kind.as_str() {
            "<f4" => 4,
            "<f8" => 8,
            other => {
                let found = format!("`{}`", shortened(other));
                return Err(Error::expected(ErrorKind::Malformed, "numbers of type <f4 or <f8", found)
                    .help("convert them with .astype('<f4')"));
            }
        };
        Ok(Reader { source, header, width, start: begin.len() + length_bytes + length, bytes: Vec::new() })
    }

    /// Returns the sizes, with the slowest first.
    pub fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// Returns whether rows are stored one after the other.
    pub fn is_by_rows(&self) -> bool {
        !self.header.fortran_order
    }

    /// Returns the bytes of a number.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the bytes of the whole file according to its header.
    pub fn file_bytes(&self) -> Option<usize> {
        let numbers = self.header.shape.iter().try_fold(self.width, |bytes, &size| bytes.checked_mul(size))?;
        numbers.checked_add(self.start)
    }

    /// Reads the next numbers. Returns the number of bytes read, which is smaller at the end.
    pub fn read(&mut self, numbers: &mut [f32]) -> io::Result<usize> {
        self.bytes.resize(numbers.len() * self.width, 0);
        let found = fill(&mut self.source, &mut self.bytes)?;
        match self.width {
            4 => {
                for (number, bytes) in numbers.iter_mut().zip(self.bytes.as_chunks::<4>().0) {
                    *number = f32::from_le_bytes(*bytes);
                }
            }
            _ => {
                for (number, bytes) in numbers.iter_mut().zip(self.bytes.as_chunks::<8>().0) {
                    *number = f64::from_le_bytes(*bytes) as f32;
                }
            }
        }
        Ok(found)
    }

    /// Returns the source.
    pub(crate) fn source(&mut self) -> &mut R {
        &mut self.source
    }
}

/// Reads until `bytes` is full or the source ends. Returns the number of bytes read.
fn fill(source: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut found = 0;
    while found < bytes.len() {
        match source.read(&mut bytes[found..]) {
            Ok(0) => break,
            Ok(read) => found += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn fill_all(source: &mut impl Read, bytes: &mut [u8]) -> Result<()> {
    if fill(source, bytes).map_err(failed)? == bytes.len() { Ok(()) } else { Err(cut()) }
}

fn not_npy(found: String) -> Error {
    Error::expected(ErrorKind::Malformed, "the header of a .npy file", found).help("write it with numpy.save")
}

fn cut() -> Error {
    Error::expected(ErrorKind::Damaged, "the header of a .npy file", "one that ends too soon")
        .help("it was cut short, fetch it again")
}

fn failed(source: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot read: {source}")).caused_by(source)
}

/// The contents of a header: a Python dictionary with three keys.
#[derive(Debug, PartialEq)]
struct Header {
    kind: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Parses a header such as `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
    fn parse(text: &str) -> Option<Header> {
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        let (mut kind, mut fortran_order, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let (key, after) = quoted(rest)?;
            let value = after.trim_start().strip_prefix(':')?.trim_start();
            let after = match key {
                "descr" => {
                    let (value, after) = quoted(value)?;
                    kind = Some(value.to_owned());
                    after
                }
                "fortran_order" => {
                    let (value, after) = match value.strip_prefix("True") {
                        Some(after) => (true, after),
                        None => (false, value.strip_prefix("False")?),
                    };
                    fortran_order = Some(value);
                    after
                }
                "shape" => {
                    let (sizes, after) = value.strip_prefix('(')?.split_once(')')?;
                    shape = Some(tuple(sizes)?);
                    after
                }
                _ => return None,
            };
            let after = after.trim_start();
            rest = if after.is_empty() { after } else { after.strip_prefix(',')?.trim_start() };
        }
        Some(Header { kind: kind?, fortran_order: fortran_order?, shape: shape? })
    }
}

/// Returns a text in single or double quotes, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| ['\'', '"'].contains(quote))?;
    text[1..].split_once(quote)
}

/// Parses `3, 4`, `3,` or nothing. Old files may have `3L`.
fn tuple(text: &str) -> Option<Vec<usize>> {
    let text = text.trim();
    let text = text.strip_suffix(',').unwrap_or(text);
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(|size| size.trim().trim_end_matches('L').parse().ok()).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns an array as NumPy writes it.
    pub(crate) fn array(kind: &str, order: &str, shape: &str, version: u8, data: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}");
        let length_bytes = if version == 1 { 2 } else { 4 };
        while !(8 + length_bytes + header.len() + 1).is_multiple_of(ALIGNMENT) {
            header.push(' ');
        }
        header.push('\n');
        let length = (header.len() as u32).to_le_bytes();
        [MAGIC, &[version, 0], &length[..length_bytes], header.as_bytes(), data].concat()
    }

    fn fault(bytes: &[u8]) -> String {
        Reader::open(bytes).expect_err("a fault").to_string()
    }

    #[test]
    fn what_is_written_is_read() {
        let mut file = io::Cursor::new(Vec::new());
        let mut appender = Appender::new(&mut file, 2).unwrap();
        appender.write(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        appender.finish().unwrap();
        let bytes = file.into_inner();
        let mut reader = Reader::open(&bytes[..]).unwrap();
        assert_eq!((reader.shape(), reader.is_by_rows(), reader.width()), (&[2, 2][..], true, 4));
        assert_eq!(reader.file_bytes(), Some(bytes.len()));
        let mut numbers = [0.0; 3];
        assert_eq!(reader.read(&mut numbers).unwrap(), 12);
        assert_eq!(numbers, [1.0, 2.0, 3.0]);
        assert_eq!(reader.read(&mut numbers).unwrap(), 4);
    }

    #[test]
    fn every_version_and_width() {
        for version in [1, 2, 3] {
            let wide: Vec<u8> = [1.5f64, -2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
            let bytes = array("<f8", "True", "(2L,)", version, &wide);
            let mut reader = Reader::open(&bytes[..]).unwrap();
            assert_eq!((reader.shape(), reader.is_by_rows(), reader.width()), (&[2][..], false, 8));
            let mut numbers = [0.0; 2];
            assert_eq!((reader.read(&mut numbers).unwrap(), numbers), (16, [1.5, -2.0]));
        }
        let endless = array("<f4", "False", "(18446744073709551615, 65536)", 1, &[]);
        assert_eq!(Reader::open(&endless[..]).unwrap().file_bytes(), None);
    }

    #[test]
    fn what_is_no_array() {
        let good = array("<f4", "False", "(2, 3)", 1, &[]);
        for end in 0..good.len() {
            assert!(fault(&good[..end]).contains("ends too soon"), "{end}");
        }
        assert!(fault(b"PK\x03\x04").contains("begins with `PK\\x03\\x04`"));
        assert!(fault(&[MAGIC, &[4, 0]].concat()).contains("one of version 4;"));
        let long = [MAGIC, &[2, 0, 255, 255, 255, 255]].concat();
        assert!(fault(&long).contains("one of 4294967295 bytes"));
        for kind in ["|O", ">f4", "<i4"] {
            let found = fault(&array(kind, "False", "(2, 3)", 1, &[]));
            assert!(found.contains(&format!("found `{kind}`;")), "{found}");
        }
        for (order, shape) in [("Maybe", "(2, 3)"), ("False", "(-2, 3)"), ("False", "(1e9,)")] {
            let found = fault(&array("<f4", order, shape, 1, &[]));
            assert!(found.contains("header of a .npy file, found `{"), "{found}");
        }
    }

    #[test]
    fn headers_that_are_nearly_right() {
        let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";
        assert!(
            Header::parse(good).is_some()
                && Header::parse("{\"shape\":(2,),\"descr\":\"<f4\",\"fortran_order\":True}").is_some()
        );
        // Cut it at every length, and remove every letter.
        for end in 0..good.trim_end().len() {
            assert_eq!(Header::parse(&good[..end]), None, "{}", &good[..end]);
        }
        for gone in 0..good.len() {
            let _ = Header::parse(&format!("{}{}", &good[..gone], &good[gone + 1..]));
        }
        for bad in ["{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "{}", "{'é'}", "{é: 1}", ""] {
            assert_eq!(Header::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn headers_are_aligned_and_as_long_for_any_number_of_rows() {
        for dimension in [1, 300, usize::MAX] {
            for rows in [0, 9, 99_999, usize::MAX] {
                assert_eq!(header(F32, rows, dimension).len() % ALIGNMENT, 0);
                assert_eq!(header(F32, rows, dimension).len(), header(F32, 0, dimension).len());
            }
        }
    }

    #[test]
    fn rows_that_were_not_counted_before() {
        for rows in [0, 1, 12] {
            let numbers: Vec<f32> = (0..3 * rows).map(|i| i as f32 - 1.5).collect();
            let mut file = io::Cursor::new(Vec::new());
            let mut appender = Appender::new(&mut file, 3).unwrap();
            numbers.chunks(6).for_each(|rows| appender.write(rows).unwrap());
            assert_eq!(appender.rows(), rows);
            appender.finish().unwrap();
            let mut expected = header(F32, rows, 3);
            expected.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
            assert_eq!(file.into_inner(), expected);
        }
    }
}

//! Arrays that NumPy wrote: `.npy`, versions 1 to 3, of little-endian `f4` or `f8`. What is read may be anything.

use std::io::{self, Read};

use crate::math::Matrix;

const MAGIC: &[u8] = b"\x93NUMPY";
/// NumPy's own headers have about a hundred bytes.
const MOST_HEADER_BYTES: usize = 64 * 1024;
/// What is read at once, and asked for before anything was read.
const PART: usize = 16 * 1024;

/// Why an array could not be read.
#[derive(Debug)]
pub(super) enum Fault {
    Io(io::Error),
    /// What is there instead.
    Content(String),
}

/// An array of which the header has been read.
#[derive(Debug)]
pub(super) struct Npy<R> {
    source: R,
    /// Sizes, the slowest first.
    pub(super) shape: Vec<usize>,
    /// Whether the first index is the fastest.
    fortran_order: bool,
    /// Bytes of a number: 4 or 8.
    width: usize,
    bytes: Vec<u8>,
}

impl<R: Read> Npy<R> {
    /// Reads the header of an array that takes `bytes` bytes in all.
    pub(super) fn open(mut source: R, bytes: u64) -> Result<Npy<R>, Fault> {
        let mut start = [0; 8];
        fill(&mut source, &mut start)?;
        if start[..6] != *MAGIC {
            return Err(content("no .npy array"));
        }
        let length = match start[6] {
            1 => {
                let mut length = [0; 2];
                fill(&mut source, &mut length)?;
                usize::from(u16::from_le_bytes(length))
            }
            2 | 3 => {
                let mut length = [0; 4];
                fill(&mut source, &mut length)?;
                u32::from_le_bytes(length) as usize
            }
            version => return Err(content(format!("version {version}"))),
        };
        if length > MOST_HEADER_BYTES {
            return Err(content(format!("a header of {length} bytes")));
        }
        let mut header = vec![0; length];
        fill(&mut source, &mut header)?;
        let text = String::from_utf8(header).map_err(|_| content("a header that is no text"))?;
        let Header { descr, fortran_order, shape } =
            Header::parse(&text).ok_or_else(|| content(format!("the header {}", crate::error::shortened(&text))))?;
        let width = match descr.as_str() {
            "<f4" => 4,
            "<f8" => 8,
            "|O" => return Err(content("Python objects")),
            other => return Err(content(format!("numbers of type `{}`", crate::error::shortened(other)))),
        };
        let before = 8 + if start[6] == 1 { 2 } else { 4 } + length as u64;
        let expected = shape.iter().try_fold(width as u64, |bytes, &size| bytes.checked_mul(size as u64));
        if expected.and_then(|expected| expected.checked_add(before)) != Some(bytes) {
            return Err(content(format!("{bytes} bytes for an array of shape {shape:?}")));
        }
        Ok(Npy { source, shape, fortran_order, width, bytes: Vec::new() })
    }

    /// The next numbers as they lie in the file.
    pub(super) fn read(&mut self, numbers: &mut [f32]) -> Result<(), Fault> {
        self.bytes.resize(numbers.len() * self.width, 0);
        fill(&mut self.source, &mut self.bytes)?;
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
        Ok(())
    }

    /// Whether rows lie one after the other.
    pub(super) fn is_by_rows(&self) -> bool {
        !self.fortran_order
    }

    /// The whole array; a list is a single row.
    pub(super) fn matrix(mut self) -> Result<Matrix, Fault> {
        let (rows, columns) = match self.shape[..] {
            [columns] => (1, columns),
            [rows, columns] => (rows, columns),
            _ => return Err(content(format!("an array of shape {:?}", self.shape))),
        };
        let count = rows * columns;
        // It grows with what is read: the size that a compressed file claims proves nothing.
        let mut numbers = Vec::with_capacity(count.min(PART));
        let mut part = [0.0; PART];
        while numbers.len() < count {
            let part = &mut part[..(count - numbers.len()).min(PART)];
            self.read(part)?;
            numbers.extend_from_slice(part);
        }
        if self.fortran_order {
            let by_columns = numbers;
            numbers = (0..count).map(|place| by_columns[place % columns * rows + place / columns]).collect();
        }
        Ok(Matrix::from_vec(rows, columns, numbers))
    }
}

fn content(found: impl Into<String>) -> Fault {
    Fault::Content(found.into())
}

fn fill(source: &mut impl Read, bytes: &mut [u8]) -> Result<(), Fault> {
    source.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => content("an array that ends too soon"),
        // A damaged compressed member.
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => content(error.to_string()),
        _ => Fault::Io(error),
    })
}

/// What is in a header: a Python dictionary of three keys.
#[derive(Debug, PartialEq)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(text: &str) -> Option<Header> {
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let (key, after) = quoted(rest)?;
            let value = after.trim_start().strip_prefix(':')?.trim_start();
            let after = match key {
                "descr" => {
                    let (value, after) = quoted(value)?;
                    descr = Some(value.to_owned());
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
        Some(Header { descr: descr?, fortran_order: fortran_order?, shape: shape? })
    }
}

/// A text in quotes of either kind, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| ['\'', '"'].contains(quote))?;
    text[1..].split_once(quote)
}

/// `3, 4`, `3,` or nothing; old files may have `3L`.
fn tuple(text: &str) -> Option<Vec<usize>> {
    let text = text.trim();
    let text = text.strip_suffix(',').unwrap_or(text);
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(|size| size.trim().trim_end_matches('L').parse().ok()).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An array as NumPy writes it.
    pub(crate) fn npy(descr: &str, order: &str, shape: &str, version: u8, data: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
        let length_bytes = if version == 1 { 2 } else { 4 };
        while (8 + length_bytes + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let length = (header.len() as u32).to_le_bytes();
        [MAGIC, &[version, 0], &length[..length_bytes], header.as_bytes(), data].concat()
    }

    fn read(bytes: &[u8]) -> Result<Matrix, Fault> {
        Npy::open(bytes, bytes.len() as u64).and_then(Npy::matrix)
    }

    fn f4(numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    #[test]
    fn every_version_width_and_order() {
        let six = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let expected = Matrix::from_vec(2, 3, six.to_vec());
        for version in [1, 2, 3] {
            assert_eq!(read(&npy("<f4", "False", "(2, 3)", version, &f4(&six))).unwrap(), expected);
        }
        let f8: Vec<u8> = six.iter().flat_map(|&x| f64::from(x).to_le_bytes()).collect();
        assert_eq!(read(&npy("<f8", "False", "(2L, 3L)", 1, &f8)).unwrap(), expected);
        let columns = f4(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(read(&npy("<f4", "True", "(2, 3)", 1, &columns)).unwrap(), expected);
        assert_eq!(read(&npy("<f4", "False", "(6,)", 1, &f4(&six))).unwrap(), Matrix::from_vec(1, 6, six.to_vec()));
        assert_eq!(read(&npy("<f4", "False", "(0, 3)", 1, &[])).unwrap().rows(), 0);
        let large: Vec<f32> = (0..PART + 5).map(|i| i as f32).collect();
        let shape = format!("({},)", large.len());
        assert_eq!(read(&npy("<f4", "False", &shape, 1, &f4(&large))).unwrap().data(), large);
    }

    #[test]
    fn other_arrays_are_refused_with_what_they_are() {
        let good = npy("<f4", "False", "(2, 3)", 1, &[0; 24]);
        let cases: [(Vec<u8>, &str); 13] = [
            (Vec::new(), "ends too soon"),
            (b"PK\x03\x04 a zip file".to_vec(), "no .npy array"),
            (good[..good.len() - 1].to_vec(), "151 bytes for an array of shape [2, 3]"),
            (good[..20].to_vec(), "ends too soon"),
            ([&good[..], &[0]].concat(), "bytes for an array"),
            ([MAGIC, &[4, 0, 0, 0]].concat(), "version 4"),
            ([MAGIC, &[2, 0, 255, 255, 255, 255]].concat(), "a header of 4294967295 bytes"),
            (npy("|O", "False", "(2, 3)", 1, &[0; 24]), "Python objects"),
            (npy(">f4", "False", "(2, 3)", 1, &[0; 24]), "type `>f4`"),
            (npy("<i4", "False", "(2, 3)", 1, &[0; 24]), "type `<i4`"),
            (npy("<f4", "Maybe", "(2, 3)", 1, &[0; 24]), "the header {"),
            (npy("<f4", "False", "(-2, 3)", 1, &[0; 24]), "the header {"),
            (npy("<f4", "False", "(4294967296, 4294967296, 4)", 1, &[0; 24]), "152 bytes for an array"),
        ];
        for (bytes, expected) in cases {
            match read(&bytes) {
                Err(Fault::Content(found)) => assert!(found.contains(expected), "{found}, expected {expected}"),
                other => panic!("{other:?}, expected {expected}"),
            }
        }
        assert!(matches!(read(&npy("<f4", "False", "()", 1, &[0; 4])), Err(Fault::Content(_))));
    }

    #[test]
    fn headers_that_are_nearly_right() {
        let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";
        assert!(
            Header::parse(good).is_some()
                && Header::parse("{\"shape\":(2,),\"descr\":\"<f4\",\"fortran_order\":True}").is_some()
        );
        // Cut anywhere, and with any one letter gone.
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
}

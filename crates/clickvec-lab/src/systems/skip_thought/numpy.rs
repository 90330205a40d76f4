//! Reading weights in NumPy's format, from arrays whose size in bytes is known. The contents may be anything.

use std::borrow::Cow;
use std::io::{self, Read};

use clickvec::internals::math::Matrix;
use clickvec::internals::npy::{self, Reader};
use clickvec_tables::{Error, ErrorKind};

/// The number of values that are read at once, and the most that are allocated before anything was read.
const PART: usize = 16 * 1024;

/// Why an array could not be read.
#[derive(Debug)]
pub(super) enum Fault {
    Io(io::Error),
    /// Without the place, which the caller knows.
    Content(Error),
}

/// A reader of an array that takes `bytes` bytes in all, whose header is read here.
pub(super) fn open<R: Read>(source: R, bytes: u64) -> Result<Reader<R>, Fault> {
    let array = Reader::open(source).map_err(|fault| match fault {
        npy::Fault::Io(error) => failed(error),
        npy::Fault::NotNpy(found) => {
            malformed("an array in NumPy's .npy format", format!("a file that begins with {found}"))
        }
        npy::Fault::Version(found) => malformed("version 1, 2 or 3 of the .npy format", found.to_string()),
        npy::Fault::HeaderLength(found) => malformed("a short .npy header", format!("one of {found} bytes")),
        npy::Fault::Header(found) => malformed("a valid .npy header", found),
        npy::Fault::Type(found) if found == "|O" => malformed(TYPES, "Python objects".to_owned()),
        npy::Fault::Type(found) => malformed(TYPES, format!("`{found}`")),
        npy::Fault::Cut => cut(),
    })?;
    if array.file_bytes().map(|bytes| bytes as u64) != Some(bytes) {
        let expected = format!("the bytes of an array of shape {:?}", array.shape());
        return Err(malformed(expected, format!("{bytes} bytes")));
    }
    Ok(array)
}

/// Reads the next numbers.
pub(super) fn read<R: Read>(array: &mut Reader<R>, numbers: &mut [f32]) -> Result<(), Fault> {
    match array.read(numbers).map_err(failed)? {
        found if found == numbers.len() * array.width() => Ok(()),
        _ => Err(cut()),
    }
}

/// The whole array as a matrix; a list becomes a single row.
pub(super) fn matrix<R: Read>(mut array: Reader<R>) -> Result<Matrix, Fault> {
    let (rows, columns) = match *array.shape() {
        [columns] => (1, columns),
        [rows, columns] => (rows, columns),
        ref shape => {
            return Err(Fault::Content(other_shape(&[None, None], shape)));
        }
    };
    let count = rows * columns;
    // Grows with what is read, because the size that a compressed file claims proves nothing.
    let mut numbers = Vec::with_capacity(count.min(PART));
    let mut part = [0.0; PART];
    while numbers.len() < count {
        let part = &mut part[..(count - numbers.len()).min(PART)];
        read(&mut array, part)?;
        numbers.extend_from_slice(part);
    }
    if !array.is_by_rows() {
        let by_columns = numbers;
        numbers = (0..count).map(|position| by_columns[position % columns * rows + position / columns]).collect();
    }
    Ok(Matrix::from_vec(rows, columns, numbers))
}

/// The types of numbers that are read.
const TYPES: &str = "numbers of type <f4 or <f8";

/// Returns the error of an array of another shape; `None` stands for any size but 0.
pub(super) fn other_shape(expected: &[Option<usize>], found: &[usize]) -> Error {
    let size = |size: &Option<usize>| size.map_or("any".to_owned(), |size| size.to_string());
    let expected = expected.iter().map(size).collect::<Vec<_>>().join(", ");
    Error::expected(ErrorKind::Malformed, format!("an array of shape [{expected}]"), format!("{found:?}"))
}

fn malformed(expected: impl Into<Cow<'static, str>>, found: String) -> Fault {
    Fault::Content(Error::expected(ErrorKind::Malformed, expected, found))
}

fn cut() -> Fault {
    let error = Error::expected(ErrorKind::Damaged, "the rest of the array", "the end of the file");
    Fault::Content(error.help("it was cut short, fetch it again"))
}

fn failed(error: io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => cut(),
        // A compressed member is damaged.
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            let error = Error::expected(ErrorKind::Damaged, "an array that is whole", "other bytes than were stored");
            Fault::Content(error.help("fetch it again"))
        }
        _ => Fault::Io(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::testing::npy;
    use clickvec::internals::npy::MAGIC;

    fn read(bytes: &[u8]) -> Result<Matrix, Fault> {
        open(bytes, bytes.len() as u64).and_then(matrix)
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
            (Vec::new(), "cut short"),
            (b"PK\x03\x04 a zip file".to_vec(), "in NumPy's .npy format, found a file that begins with `PK"),
            (good[..good.len() - 1].to_vec(), "array of shape [2, 3], found 151 bytes"),
            (good[..20].to_vec(), "cut short"),
            ([&good[..], &[0]].concat(), "found 153 bytes"),
            ([MAGIC, &[4, 0, 0, 0]].concat(), "found 4"),
            ([MAGIC, &[2, 0, 255, 255, 255, 255]].concat(), "found one of 4294967295 bytes"),
            (npy("|O", "False", "(2, 3)", 1, &[0; 24]), "Python objects"),
            (npy(">f4", "False", "(2, 3)", 1, &[0; 24]), "found `>f4`"),
            (npy("<i4", "False", "(2, 3)", 1, &[0; 24]), "found `<i4`"),
            (npy("<f4", "Maybe", "(2, 3)", 1, &[0; 24]), "header, found {"),
            (npy("<f4", "False", "(-2, 3)", 1, &[0; 24]), "header, found {"),
            (npy("<f4", "False", "(4294967296, 4294967296, 4)", 1, &[0; 24]), "found 152 bytes"),
        ];
        for (bytes, expected) in cases {
            match read(&bytes) {
                Err(Fault::Content(fault)) => {
                    let found = fault.to_string();
                    assert!(found.contains(expected), "{found}, expected {expected}");
                }
                other => panic!("{other:?}, expected {expected}"),
            }
        }
        assert!(matches!(read(&npy("<f4", "False", "()", 1, &[0; 4])), Err(Fault::Content(_))));
    }
}

//! Reading weights in NumPy's format, from arrays whose size in bytes is known. The contents may be anything.

use std::io::{self, Read};

use clickvec::internals::math::Matrix;
use clickvec::internals::npy::Reader;
use clickvec_tables::{Error, ErrorKind, Result};

/// The number of values that are read at once, and the most that are allocated before anything was read.
const PART: usize = 16 * 1024;

/// Opens an array that takes `bytes` bytes in all, reading its header.
pub(super) fn open<R: Read>(source: R, bytes: u64) -> Result<Reader<R>> {
    let array = Reader::open(source).map_err(|error| match io_cause(&error) {
        Some(cause) => content_fault(cause).unwrap_or(error),
        None => error,
    })?;
    if array.file_bytes().map(|bytes| bytes as u64) != Some(bytes) {
        let expected = format!("the bytes of an array of shape {:?}", array.shape());
        return Err(malformed(expected, format!("{bytes} bytes")));
    }
    Ok(array)
}

/// Reads the next numbers.
pub(super) fn read<R: Read>(array: &mut Reader<R>, numbers: &mut [f32]) -> Result<()> {
    match array.read(numbers).map_err(failed)? {
        found if found == numbers.len() * array.width() => Ok(()),
        _ => Err(cut()),
    }
}

/// Reads the whole array as a matrix; a list becomes a single row.
pub(super) fn matrix<R: Read>(mut array: Reader<R>) -> Result<Matrix> {
    let (rows, columns) = match *array.shape() {
        [columns] => (1, columns),
        [rows, columns] => (rows, columns),
        ref shape => {
            return Err(other_shape(&[None, None], shape));
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

/// Returns the error of an array of another shape; `None` stands for any size but 0.
pub(super) fn other_shape(expected: &[Option<usize>], found: &[usize]) -> Error {
    let size = |size: &Option<usize>| size.map_or("any".to_owned(), |size| size.to_string());
    let expected = expected.iter().map(size).collect::<Vec<_>>().join(", ");
    Error::expected(ErrorKind::Malformed, format!("an array of shape [{expected}]"), format!("{found:?}"))
}

fn malformed(expected: String, found: String) -> Error {
    Error::expected(ErrorKind::Malformed, expected, found)
}

fn cut() -> Error {
    Error::expected(ErrorKind::Damaged, "the rest of the array", "the end of the file")
        .help("it was cut short, fetch it again")
}

/// Returns the error of the operating system, or of the archive, behind an error.
pub(super) fn io_cause(error: &Error) -> Option<&io::Error> {
    std::error::Error::source(error)?.downcast_ref()
}

/// Returns the fault of the contents that made reading fail; `None` for another reason.
fn content_fault(error: &io::Error) -> Option<Error> {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Some(cut()),
        // A compressed member is damaged.
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            let error =
                Error::expected(ErrorKind::Damaged, "an array that is complete", "other bytes than were stored");
            Some(error.help("fetch it again"))
        }
        _ => None,
    }
}

fn failed(source: io::Error) -> Error {
    content_fault(&source)
        .unwrap_or_else(|| Error::new(ErrorKind::Io, format!("cannot read: {source}")).caused_by(source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::testing::npy;
    use clickvec::internals::npy::MAGIC;

    fn read(bytes: &[u8]) -> Result<Matrix> {
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
            (b"PK\x03\x04 a zip file".to_vec(), "of a .npy file, found a file that begins with `PK"),
            (good[..good.len() - 1].to_vec(), "array of shape [2, 3], found 151 bytes"),
            (good[..20].to_vec(), "cut short"),
            ([&good[..], &[0]].concat(), "found 153 bytes"),
            ([MAGIC, &[4, 0, 0, 0]].concat(), "found one of version 4"),
            ([MAGIC, &[2, 0, 255, 255, 255, 255]].concat(), "found one of 4294967295 bytes"),
            (npy("|O", "False", "(2, 3)", 1, &[0; 24]), "found `|O`; convert them"),
            (npy(">f4", "False", "(2, 3)", 1, &[0; 24]), "found `>f4`"),
            (npy("<i4", "False", "(2, 3)", 1, &[0; 24]), "found `<i4`"),
            (npy("<f4", "Maybe", "(2, 3)", 1, &[0; 24]), "header of a .npy file, found `{"),
            (npy("<f4", "False", "(-2, 3)", 1, &[0; 24]), "header of a .npy file, found `{"),
            (npy("<f4", "False", "(4294967296, 4294967296, 4)", 1, &[0; 24]), "found 152 bytes"),
        ];
        for (bytes, expected) in cases {
            match read(&bytes) {
                Err(error) => {
                    let found = error.to_string();
                    assert!(found.contains(expected), "{found}, expected {expected}");
                }
                other => panic!("{other:?}, expected {expected}"),
            }
        }
        assert!(read(&npy("<f4", "False", "()", 1, &[0; 4])).is_err());
    }
}

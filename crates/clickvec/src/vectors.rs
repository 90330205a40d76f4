//! Writing vectors for other programs: NumPy's `.npy`, word2vec's text format, and JSON lines.

use std::io::{self, Write};

use serde::Serialize;

use crate::math::vector::not_finite;
use crate::npy;
use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind};

/// The number and size of vectors that the beginning of a file announces.
#[derive(Debug)]
struct Promise {
    rows: usize,
    dimension: usize,
    written: usize,
}

impl Promise {
    fn new(rows: usize, dimension: usize) -> Promise {
        Promise { rows, dimension, written: 0 }
    }

    /// Checks that one more vector may follow, and that it has the right size.
    fn check(&self, vector: &[f32]) -> io::Result<()> {
        if vector.len() != self.dimension {
            return Err(invalid(other_dimension(self.dimension, vector.len())));
        }
        if self.written == self.rows {
            return Err(invalid(other_count(self.rows, self.rows + 1)));
        }
        Ok(())
    }

    /// Checks that all vectors were written.
    fn check_fulfilled(&self) -> io::Result<()> {
        if self.written == self.rows { Ok(()) } else { Err(invalid(other_count(self.rows, self.written))) }
    }
}

/// A writer of vectors as a `.npy` file (format 1.0, little-endian f32, row-major, [rows, dimension]).
#[derive(Debug)]
pub struct NpyWriter<W> {
    target: W,
    promise: Promise,
}

impl<W: Write> NpyWriter<W> {
    /// Returns a writer of `rows` vectors, which the header announces.
    ///
    /// # Errors
    ///
    /// Those of `target`.
    pub fn new(mut target: W, rows: usize, dimension: usize) -> io::Result<NpyWriter<W>> {
        target.write_all(&npy::header(npy::F32, rows, dimension))?;
        Ok(NpyWriter { target, promise: Promise::new(rows, dimension) })
    }

    /// Writes one vector.
    ///
    /// # Errors
    ///
    /// Those of the target; [`io::ErrorKind::InvalidInput`] if the vector has another dimension, or is one too many.
    pub fn write(&mut self, vector: &[f32]) -> io::Result<()> {
        self.promise.check(vector)?;
        npy::write_numbers(&mut self.target, vector)?;
        self.promise.written += 1;
        Ok(())
    }

    /// Returns the target, flushed, if all rows were written.
    ///
    /// # Errors
    ///
    /// Those of the target; [`io::ErrorKind::InvalidInput`] if rows are missing.
    pub fn finish(mut self) -> io::Result<W> {
        self.promise.check_fulfilled()?;
        self.target.flush()?;
        Ok(self.target)
    }
}

/// A writer of vectors in word2vec's text format: a line with their number and dimension, then for each its token and
/// its numbers, all separated by one space. Every number is the shortest that reads back to the same f32.
#[derive(Debug)]
pub struct Word2vecWriter<W> {
    target: W,
    promise: Promise,
}

impl<W: Write> Word2vecWriter<W> {
    /// Returns a writer of `rows` vectors, which the first line announces.
    ///
    /// # Errors
    ///
    /// Those of `target`.
    pub fn new(mut target: W, rows: usize, dimension: usize) -> io::Result<Word2vecWriter<W>> {
        writeln!(target, "{rows} {dimension}")?;
        Ok(Word2vecWriter { target, promise: Promise::new(rows, dimension) })
    }

    /// Writes one vector. Readers of this format use tokens as keys, so no two should be equal.
    ///
    /// # Errors
    ///
    /// Those of the target; [`io::ErrorKind::InvalidInput`] if the vector has another dimension, a number is not finite, the
    /// token is empty or has white space, or the vector is one too many.
    pub fn write(&mut self, token: &str, vector: &[f32]) -> io::Result<()> {
        self.promise.check(vector)?;
        if let Some(found) = not_finite(vector) {
            return Err(invalid(bad_number(&found)));
        }
        if token.is_empty() || token.contains(char::is_whitespace) {
            let found = format!("`{}`", shortened(token));
            return Err(invalid(Error::expected(ErrorKind::Setting, "a token without white space", found)));
        }
        self.target.write_all(token.as_bytes())?;
        for value in vector {
            write!(self.target, " {value}")?;
        }
        self.target.write_all(b"\n")?;
        self.promise.written += 1;
        Ok(())
    }

    /// Returns the target, flushed, if all rows were written.
    ///
    /// # Errors
    ///
    /// Those of the target; [`io::ErrorKind::InvalidInput`] if rows are missing.
    pub fn finish(mut self) -> io::Result<W> {
        self.promise.check_fulfilled()?;
        self.target.flush()?;
        Ok(self.target)
    }
}

/// Returns a text as a token for word2vec's formats, in which white space ends a token. Each run of white space becomes `_`,
/// and so does a text of nothing else. To the encoders it is the same text, because neither is part of a word.
pub fn word2vec_token(text: &str) -> String {
    let token = text.split_whitespace().collect::<Vec<_>>().join("_");
    if token.is_empty() { "_".to_owned() } else { token }
}

/// Writes `{"id":…,"text":…,"vector":[…]}`, without an id if there is none, and a line end. Every number is the shortest that reads back to the same f32.
///
/// # Errors
///
/// Those of `target`; [`io::ErrorKind::InvalidInput`] for a number that JSON does not have.
pub fn write_json_line(target: &mut impl Write, id: Option<&str>, text: &str, vector: &[f32]) -> io::Result<()> {
    #[derive(Serialize)]
    struct Line<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        text: &'a str,
        vector: &'a [f32],
    }
    if let Some(found) = not_finite(vector) {
        return Err(invalid(bad_number(&found)));
    }
    serde_json::to_writer(&mut *target, &Line { id, text, vector })?;
    target.write_all(b"\n")
}

fn invalid(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}

/// Returns the error of a vector with another dimension than the others.
pub(crate) fn other_dimension(expected: usize, found: usize) -> Error {
    let expected = format!("a vector of {expected} numbers");
    Error::expected(ErrorKind::Mismatch, expected, found.to_string()).help("was it made by another model?")
}

/// Returns the error of a vector with a NaN or an infinity.
pub(crate) fn bad_number(found: &str) -> Error {
    Error::expected(ErrorKind::NotFinite, "a vector of finite numbers", format!("{found} in it"))
}

fn other_count(expected: usize, found: usize) -> Error {
    Error::expected(ErrorKind::Mismatch, format!("{expected} vectors"), found.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(error: io::Error) -> String {
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        error.to_string()
    }

    #[test]
    fn npy_to_the_byte() {
        let mut writer = NpyWriter::new(Vec::new(), 2, 1).unwrap();
        writer.write(&[1.0]).unwrap();
        writer.write(&[-2.5]).unwrap();
        let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        expected.extend_from_slice(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }");
        expected.resize(127, b' ');
        expected.extend_from_slice(b"\n\x00\x00\x80\x3f\x00\x00\x20\xc0");
        assert_eq!(writer.finish().unwrap(), expected);
    }

    #[test]
    fn npy_of_another_dimension() {
        let mut writer = NpyWriter::new(Vec::new(), 2, 3).unwrap();
        let found = fault(writer.write(&[1.0]).unwrap_err());
        assert_eq!(found, "expected a vector of 3 numbers, found 1; was it made by another model?");
    }

    #[test]
    fn npy_with_a_row_too_many_or_too_few() {
        let mut writer = NpyWriter::new(Vec::new(), 1, 1).unwrap();
        writer.write(&[1.0]).unwrap();
        assert_eq!(fault(writer.write(&[1.0]).unwrap_err()), "expected 1 vectors, found 2");
        let writer = NpyWriter::new(Vec::new(), 1, 1).unwrap();
        assert_eq!(fault(writer.finish().unwrap_err()), "expected 1 vectors, found 0");
    }

    #[test]
    fn word2vec_to_the_byte() {
        let mut writer = Word2vecWriter::new(Vec::new(), 2, 2).unwrap();
        writer.write(&word2vec_token(" Röte \t\u{3000}Schuhe"), &[0.1, -2.5]).unwrap();
        writer.write(&word2vec_token(""), &[0.0, f32::MIN_POSITIVE]).unwrap();
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let (first, last) = text.rsplit_once(' ').unwrap();
        assert_eq!(first, "2 2\nRöte_Schuhe 0.1 -2.5\n_ 0");
        assert_eq!(last.trim_end().parse(), Ok(f32::MIN_POSITIVE));
    }

    #[test]
    fn word2vec_refuses_what_would_not_be_read_back() {
        let writer = || Word2vecWriter::new(Vec::new(), 1, 1).unwrap();
        for token in ["", "a b", "a\u{a0}b", "a\n"] {
            let found = fault(writer().write(token, &[1.0]).unwrap_err());
            assert!(found.starts_with("expected a token without white space, found `"), "{found}");
        }
        let found = fault(writer().write("a", &[f32::INFINITY]).unwrap_err());
        assert_eq!(found, "expected a vector of finite numbers, found inf in it");
        let found = fault(writer().write("a", &[1.0, 2.0]).unwrap_err());
        assert!(found.starts_with("expected a vector of 1 numbers, found 2;"), "{found}");
        let mut full = writer();
        full.write("a", &[1.0]).unwrap();
        assert_eq!(fault(full.write("b", &[1.0]).unwrap_err()), "expected 1 vectors, found 2");
        assert_eq!(fault(writer().finish().unwrap_err()), "expected 1 vectors, found 0");
    }

    #[test]
    fn json_lines_read_back_to_the_same_bits() {
        let vector = [0.1, -1.0 / 3.0, f32::MIN_POSITIVE, 16_777_217.0];
        let mut line = Vec::new();
        write_json_line(&mut line, None, "a \"b\"\t\u{fc}", &vector).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert!(line.starts_with("{\"text\":\"a \\\"b\\\"\\t\u{fc}\",\"vector\":[0.1,-0.33333334,"), "{line}");
        assert!(line.ends_with("]}\n"));
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        let read: Vec<f32> = serde_json::from_value(read["vector"].clone()).unwrap();
        assert_eq!(read, vector);
    }

    #[test]
    fn json_has_no_nan() {
        let error = write_json_line(&mut Vec::new(), None, "a", &[f32::NAN]).unwrap_err();
        assert!(fault(error).contains("found NaN in it"));
    }
}

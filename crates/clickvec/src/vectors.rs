//! Writing vectors for other programs: NumPy's `.npy`, word2vec's text format, and JSON lines.

use std::io::{self, Write};

use serde::Serialize;

use crate::error::{VectorFault, not_finite, shortened};
use crate::npy;

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
            return Err(invalid(VectorFault::Dimension { expected: self.dimension, found: vector.len() }));
        }
        if self.written == self.rows {
            return Err(invalid(VectorFault::RowCount { expected: self.rows, found: self.rows + 1 }));
        }
        Ok(())
    }

    /// Checks that all vectors were written.
    fn check_kept(&self) -> io::Result<()> {
        if self.written == self.rows {
            Ok(())
        } else {
            Err(invalid(VectorFault::RowCount { expected: self.rows, found: self.written }))
        }
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
    /// What `target` returns.
    pub fn new(mut target: W, rows: usize, dimension: usize) -> io::Result<NpyWriter<W>> {
        target.write_all(&npy::header(rows, dimension))?;
        Ok(NpyWriter { target, promise: Promise::new(rows, dimension) })
    }

    /// Writes one vector.
    ///
    /// # Errors
    ///
    /// What the target returns; [`io::ErrorKind::InvalidInput`] with [`VectorFault::Dimension`] if the vector has
    /// another dimension, and with [`VectorFault::RowCount`] if it is one too many.
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
    /// What the target returns; [`io::ErrorKind::InvalidInput`] with [`VectorFault::RowCount`] if rows are missing.
    pub fn finish(mut self) -> io::Result<W> {
        self.promise.check_kept()?;
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
    /// What `target` returns.
    pub fn new(mut target: W, rows: usize, dimension: usize) -> io::Result<Word2vecWriter<W>> {
        writeln!(target, "{rows} {dimension}")?;
        Ok(Word2vecWriter { target, promise: Promise::new(rows, dimension) })
    }

    /// Writes one vector. Readers of this format use tokens as keys, so no two should be equal.
    ///
    /// # Errors
    ///
    /// What the target returns; [`io::ErrorKind::InvalidInput`] with [`VectorFault::Dimension`] if the vector has
    /// another dimension, with [`VectorFault::BadNumber`] if a number is not finite, with [`VectorFault::Token`]
    /// if the token is empty or has white space, and with [`VectorFault::RowCount`] if it is one too many.
    pub fn write(&mut self, token: &str, vector: &[f32]) -> io::Result<()> {
        self.promise.check(vector)?;
        if let Some(found) = not_finite(vector) {
            return Err(invalid(VectorFault::BadNumber { found }));
        }
        if token.is_empty() || token.contains(char::is_whitespace) {
            return Err(invalid(VectorFault::Token { found: shortened(token) }));
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
    /// What the target returns; [`io::ErrorKind::InvalidInput`] with [`VectorFault::RowCount`] if rows are missing.
    pub fn finish(mut self) -> io::Result<W> {
        self.promise.check_kept()?;
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

/// Writes `{"text":…,"vector":[…]}` and a line end. Every number is the shortest that reads back to the same f32.
///
/// # Errors
///
/// What `target` returns; [`io::ErrorKind::InvalidInput`] with [`VectorFault::BadNumber`] for a number that JSON
/// does not have.
pub fn write_json_line(target: &mut impl Write, text: &str, vector: &[f32]) -> io::Result<()> {
    #[derive(Serialize)]
    struct Line<'a> {
        text: &'a str,
        vector: &'a [f32],
    }
    if let Some(found) = not_finite(vector) {
        return Err(invalid(VectorFault::BadNumber { found }));
    }
    serde_json::to_writer(&mut *target, &Line { text, vector })?;
    target.write_all(b"\n")
}

fn invalid(fault: VectorFault) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(error: io::Error) -> VectorFault {
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        error.get_ref().unwrap().downcast_ref::<VectorFault>().unwrap().clone()
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
        assert_eq!(found, VectorFault::Dimension { expected: 3, found: 1 });
    }

    #[test]
    fn npy_with_a_row_too_many_or_too_few() {
        let mut writer = NpyWriter::new(Vec::new(), 1, 1).unwrap();
        writer.write(&[1.0]).unwrap();
        assert_eq!(fault(writer.write(&[1.0]).unwrap_err()), VectorFault::RowCount { expected: 1, found: 2 });
        let writer = NpyWriter::new(Vec::new(), 1, 1).unwrap();
        assert_eq!(fault(writer.finish().unwrap_err()), VectorFault::RowCount { expected: 1, found: 0 });
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
            assert_eq!(
                fault(writer().write(token, &[1.0]).unwrap_err()),
                VectorFault::Token { found: crate::error::shortened(token) }
            );
        }
        let found = fault(writer().write("a", &[f32::INFINITY]).unwrap_err());
        assert_eq!(found, VectorFault::BadNumber { found: "inf".to_owned() });
        let found = fault(writer().write("a", &[1.0, 2.0]).unwrap_err());
        assert_eq!(found, VectorFault::Dimension { expected: 1, found: 2 });
        let mut full = writer();
        full.write("a", &[1.0]).unwrap();
        assert_eq!(fault(full.write("b", &[1.0]).unwrap_err()), VectorFault::RowCount { expected: 1, found: 2 });
        assert_eq!(fault(writer().finish().unwrap_err()), VectorFault::RowCount { expected: 1, found: 0 });
    }

    #[test]
    fn json_lines_read_back_to_the_same_bits() {
        let vector = [0.1, -1.0 / 3.0, f32::MIN_POSITIVE, 16_777_217.0];
        let mut line = Vec::new();
        write_json_line(&mut line, "a \"b\"\t\u{fc}", &vector).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert!(line.starts_with("{\"text\":\"a \\\"b\\\"\\t\u{fc}\",\"vector\":[0.1,-0.33333334,"), "{line}");
        assert!(line.ends_with("]}\n"));
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        let read: Vec<f32> = serde_json::from_value(read["vector"].clone()).unwrap();
        assert_eq!(read, vector);
    }

    #[test]
    fn json_has_no_nan() {
        let error = write_json_line(&mut Vec::new(), "a", &[f32::NAN]).unwrap_err();
        assert_eq!(fault(error), VectorFault::BadNumber { found: "NaN".to_owned() });
    }
}

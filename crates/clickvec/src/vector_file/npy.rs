//! Vectors as NumPy writes them, and the texts next to them.

use std::io::BufRead;

use super::fault::{self, VectorPlace, malformed};
use super::{Entries, MAX_DIMENSION, MAX_TEXT, Stop, at_line, in_file};
use crate::npy::Reader;
use clickvec_tables::ErrorKind;
use clickvec_tables::shown::shortened;
use clickvec_tables::{FoundLine, Lines};

/// The rows of a file, of which the header was read.
pub(super) struct Rows<R> {
    array: Reader<R>,
    rows: u64,
    dimension: usize,
}

impl<R: BufRead> Rows<R> {
    /// Returns the rows of an array, whose header is read here.
    pub(super) fn open(source: R) -> Result<Rows<R>, Stop> {
        let array = Reader::open(source).or_else(in_file)?;
        if !array.is_by_rows() {
            return in_file(malformed(
                "the matrix row by row (C order)",
                "Fortran order",
                "save numpy.ascontiguousarray of it",
            ));
        }
        let (rows, dimension) = match *array.shape() {
            [rows, dimension] if (1..=MAX_DIMENSION).contains(&dimension) => (rows as u64, dimension),
            [_, found] => {
                return in_file(fault::dimension(found as u64));
            }
            ref shape => {
                let found: Vec<String> = shape.iter().map(usize::to_string).collect();
                let comma = if shape.len() == 1 { "," } else { "" };
                let found = format!("`{}`", shortened(&(found.join(", ") + comma)));
                return in_file(malformed("a shape of two sizes, texts and numbers", found, "save a matrix"));
            }
        };
        Ok(Rows { array, rows, dimension })
    }

    /// Hands over each row with its text, a line of `texts`. An error says whether it is one of the texts.
    pub(super) fn read(&mut self, texts: impl BufRead, entries: &mut impl Entries) -> Result<(), (bool, Stop)> {
        let Rows { array, rows, dimension } = self;
        let in_rows = |stop: Stop| (false, stop);
        let in_texts = |stop: Stop| (true, stop);
        entries.begin(*dimension);
        let (mut lines, mut bytes) = (Lines::new(texts, MAX_TEXT), Vec::new());
        let mut vector = vec![0.0; *dimension];
        let row_bytes = *dimension * array.width();
        for row in 1..=*rows {
            match array.read(&mut vector).map_err(|error| in_rows(error.into()))? {
                found if found == row_bytes => {}
                0 => {
                    let fault = fault::too_few(*rows, row - 1);
                    return in_file(fault).map_err(in_rows);
                }
                found => {
                    let cut = fault::cut(row_bytes, found);
                    return Err(in_rows(Stop::Fault(VectorPlace::Vector(row), cut)));
                }
            }
            let text = text_of(&mut lines, &mut bytes, row, *rows).map_err(in_texts)?;
            if let Some(number) = vector.iter().find(|number| !number.is_finite()) {
                let fault = fault::not_finite(text, number.to_string());
                return Err(in_rows(Stop::Fault(VectorPlace::Vector(row), fault)));
            }
            entries.add(text, &vector, VectorPlace::Line(row), true).map_err(in_texts)?;
        }
        if !array.source().fill_buf().map_err(|error| in_rows(error.into()))?.is_empty() {
            return in_file(fault::too_many(*rows)).map_err(in_rows);
        }
        match lines.next(&mut bytes).map_err(|error| in_texts(error.into()))? {
            FoundLine::End => Ok(()),
            _ => in_file(other_texts(*rows, *rows + 1)).map_err(in_texts),
        }
    }
}

/// Creates the error of more or fewer texts than vectors.
fn other_texts(expected: u64, found: u64) -> clickvec_tables::Error {
    let expected = format!("{expected} texts, one a line and one for each vector");
    clickvec_tables::Error::expected(ErrorKind::Mismatch, expected, found.to_string())
}

/// Returns the text of a row.
fn text_of<'b>(lines: &mut Lines<impl BufRead>, bytes: &'b mut Vec<u8>, row: u64, rows: u64) -> Result<&'b str, Stop> {
    match lines.next(bytes)? {
        FoundLine::End => return in_file(other_texts(rows, row - 1)),
        FoundLine::TooLong => return at_line(row, fault::line_too_long(MAX_TEXT)),
        FoundLine::Whole => {}
    }
    std::str::from_utf8(bytes).map(str::trim).or_else(|error| {
        let found = format!("another byte at position {} of the line", error.valid_up_to() + 1);
        at_line(row, malformed("UTF-8", found, "save the texts as UTF-8"))
    })
}

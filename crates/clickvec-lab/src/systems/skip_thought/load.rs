//! Encoders in the layout that the authors published: `dictionary.txt`, word vectors in `utable.npy` and `btable.npy`,
//! weights in `uni_skip.npz` and `bi_skip.npz`. Sizes follow from the arrays; the `.pkl` files next to them are not read.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::gru::Gru;
use super::numpy;
use super::{LARGEST, Part, SkipThought, large};
use clickvec::Result;
use clickvec::internals::math::Matrix;
use clickvec::internals::text::{Interner, WordBuffer, for_each_word};
use clickvec_tables::files::open_plain;
use clickvec_tables::memory::room_for_numbers;
use clickvec_tables::shown::shown_input;
use clickvec_tables::{Error, ErrorKind};
use clickvec_tables::{FoundLine, Lines};

/// The line of the dictionary whose vector is used for unknown words. It is not a word itself.
const UNKNOWN: &str = "UNK";
const END: &str = "<eos>";
/// A line of the dictionary that cannot occur in a text here.
const NOT_KEPT: u32 = u32::MAX;
/// The first bytes of a ZIP archive.
const ZIP: &[u8] = b"PK";
/// The number of bytes of another file shown in a message.
const SHOWN: usize = 8;
/// The longest line of a dictionary.
const MOST_LINE_BYTES: usize = 64 * 1024;

/// Loads the encoder in a folder, with these parts.
pub(super) fn load(folder: &Path, parts: &[(&'static str, &[&str])]) -> Result<SkipThought> {
    let dictionary = Dictionary::read(&folder.join("dictionary.txt"))?;
    let part = |&(name, encoders): &(&'static str, &[&str])| {
        // `utable.npy` and `uni_skip.npz`.
        let word_vectors = dictionary.word_vectors(&folder.join(format!("{}table.npy", &name[..1])))?;
        let weights = folder.join(format!("{name}_skip.npz"));
        let encoders = encoders_of(&weights, &["encoder", "encoder_r"][..encoders.len()], word_vectors.columns())?;
        Ok(Part { name, word_vectors, encoders })
    };
    let parts = parts.iter().map(part).collect::<Result<_>>()?;
    Ok(SkipThought { vocabulary: dictionary.vocabulary, parts })
}

/// The lines of the dictionary that are words here.
struct Dictionary {
    vocabulary: Interner,
    /// For each line the number of its word, the number of the unknown word (after all others), or [`NOT_KEPT`].
    lines: Vec<u32>,
}

impl Dictionary {
    /// Reads the dictionary. A word's line is the one with exactly this word or, if there is none, the first that becomes it when
    /// read as a text. The dictionary has words with capitals and punctuation; texts here have neither.
    fn read(path: &Path) -> Result<Dictionary> {
        let mut lines = Lines::new(open(path)?.0, MOST_LINE_BYTES);
        let (mut line, mut buffer) = (Vec::new(), WordBuffer::default());
        let (mut vocabulary, mut line_of, mut unknown) = (Interner::default(), Vec::new(), None);
        let mut others: Vec<(usize, String)> = Vec::new();
        for number in 0.. {
            let malformed = |expected: String, found: &'static str| {
                Error::expected(ErrorKind::Malformed, expected, found).at_line(path, number as u64 + 1)
            };
            match lines.next(&mut line).map_err(|source| Error::io(path, "read", source))? {
                FoundLine::Whole => {}
                FoundLine::TooLong => {
                    let expected = format!("a line of at most {MOST_LINE_BYTES} bytes");
                    return Err(malformed(expected, "a longer one"));
                }
                FoundLine::End => {
                    line_of.push(number);
                    break;
                }
            }
            let text = std::str::from_utf8(&line)
                .map_err(|_| malformed("UTF-8".to_owned(), "other bytes").help("save the file as UTF-8"))?
                .trim();
            let (mut count, mut only) = (0, String::new());
            for_each_word(text, &mut buffer, |word| {
                count += 1;
                if count == 1 {
                    only.push_str(word);
                }
            });
            match text {
                UNKNOWN => unknown = Some(number),
                END => {}
                _ if count == 1 && only == text => match vocabulary.try_intern(text)? {
                    (_, _, true) => line_of.push(number),
                    // The authors' program uses the last of several.
                    (word, ..) => line_of[word as usize] = number,
                },
                _ if count == 1 => others.push((number, only)),
                _ => {}
            }
        }
        let lines = line_of.pop().unwrap_or(0);
        for (number, word) in others {
            if vocabulary.try_intern(&word)?.2 {
                line_of.push(number);
            }
        }
        let unknown = unknown.ok_or_else(|| {
            let expected = format!("a line `{UNKNOWN}` for unknown words");
            Error::expected(ErrorKind::Malformed, expected, format!("{lines} other lines")).at(path)
        })?;
        let mut dictionary = Dictionary { vocabulary, lines: vec![NOT_KEPT; lines] };
        for (word, line) in (0..).zip(line_of.into_iter().chain([unknown])) {
            dictionary.lines[line] = word;
        }
        Ok(dictionary)
    }

    /// Reads the vectors of the words and of the unknown word.
    fn word_vectors(&self, path: &Path) -> Result<Matrix> {
        let (reader, bytes) = open(path)?;
        let failed = |error| unread(path, None, error);
        let mut npy = numpy::open(reader, bytes).map_err(failed)?;
        let columns = match *npy.shape() {
            _ if !npy.is_by_rows() => {
                let expected = "the array row by row (C order)";
                return Err(Error::expected(ErrorKind::Malformed, expected, "Fortran order").at(path));
            }
            [lines, columns] if lines == self.lines.len() && columns > 0 => columns,
            ref shape => {
                let expected = format!("{} rows, one for each line of dictionary.txt", self.lines.len());
                let found = format!("an array of shape {shape:?}");
                return Err(Error::expected(ErrorKind::Mismatch, expected, found).at(path));
            }
        };
        room_for_numbers::<f32>("vectors of words", &[&[self.vocabulary.len() + 1, columns]])?;
        let mut word_vectors = Matrix::zeros(self.vocabulary.len() + 1, columns);
        let mut row = vec![0.0; columns];
        for &word in &self.lines {
            numpy::read(&mut npy, &mut row).map_err(failed)?;
            if word != NOT_KEPT {
                word_vectors.row_mut(word as usize).copy_from_slice(&row);
            }
        }
        refuse_large(word_vectors.data(), path, None)?;
        Ok(word_vectors)
    }
}

/// Reads encoders whose word vectors have `inputs` numbers.
fn encoders_of(path: &Path, prefixes: &[&str], inputs: usize) -> Result<Vec<Gru>> {
    let mut reader = open(path)?.0;
    let begin = reader.fill_buf().map_err(|source| Error::io(path, "read", source))?;
    if !begin.starts_with(ZIP) {
        let begin = begin[..begin.len().min(SHOWN)].escape_ascii().to_string();
        let found =
            if begin.is_empty() { "an empty file".to_owned() } else { format!("a file that begins with `{begin}`") };
        return Err(not_npz(found, "fetch it again").at(path));
    }
    let mut archive = ZipArchive::new(reader).map_err(|error| zipped(path, None, error))?;
    let mut array = |name: String, expected: &[Option<usize>]| -> Result<Matrix> {
        let member = archive.by_name(&format!("{name}.npy")).map_err(|error| zipped(path, Some(&name), error))?;
        let size = member.size();
        let failed = |error| unread(path, Some(&name), error);
        let npy = numpy::open(member, size).map_err(failed)?;
        let fits = npy.shape().len() == expected.len()
            && npy.shape().iter().zip(expected).all(|(&found, expected)| expected.is_none_or(|size| size == found));
        if !fits || npy.shape().contains(&0) {
            return Err(in_array(numpy::other_shape(expected, npy.shape()), path, Some(&name)));
        }
        let matrix = numpy::matrix(npy).map_err(failed)?;
        refuse_large(matrix.data(), path, Some(&name))?;
        Ok(matrix)
    };
    let mut encoder = |prefix: &&str| {
        let mut array = |name: &str, shape: &[Option<usize>]| array(format!("{prefix}_{name}"), shape);
        let candidate = array("Ux", &[None, None])?;
        let units = candidate.rows();
        if candidate.columns() != units {
            let error = numpy::other_shape(&[Some(units); 2], &[units, candidate.columns()]);
            return Err(in_array(error, path, Some(&format!("{prefix}_Ux"))));
        }
        // r comes first, then z.
        let gates = 2 * units;
        let mut gru = Gru::zeros(inputs, units);
        let sides = [
            (array("W", &[Some(inputs), Some(gates)])?, array("Wx", &[Some(inputs), Some(units)])?),
            (array("U", &[Some(units), Some(gates)])?, candidate),
            (array("b", &[Some(gates)])?, array("bx", &[Some(units)])?),
        ];
        for (tensor, (gates, candidate)) in gru.tensors_mut().into_iter().zip(&sides) {
            for (i, row) in tensor.chunks_exact_mut(3 * units).enumerate() {
                row[..2 * units].copy_from_slice(gates.row(i));
                row[2 * units..].copy_from_slice(candidate.row(i));
            }
        }
        Ok(gru)
    };
    prefixes.iter().map(&mut encoder).collect()
}

/// Opens a file, and returns its size too.
fn open(path: &Path) -> Result<(BufReader<File>, u64)> {
    let file = open_plain(path)?;
    let bytes = file.metadata().map_err(|source| Error::io(path, "open", source))?.len();
    Ok((BufReader::with_capacity(1 << 18, file), bytes))
}

/// Refuses numbers that are NaN or so large that sums of them may overflow.
fn refuse_large(numbers: &[f32], path: &Path, array: Option<&str>) -> Result<()> {
    let Some(found) = large(numbers) else { return Ok(()) };
    let expected = format!("numbers between −{LARGEST:e} and {LARGEST:e}");
    Err(in_array(Error::expected(ErrorKind::Malformed, expected, format!("{found:e}")), path, array))
}

/// Sets the place of an error: the file or an array of an archive.
fn in_array(error: Error, path: &Path, array: Option<&str>) -> Error {
    match array {
        Some(array) => error.within(format!("{}, array `{array}`", shown_input(path))),
        None => error.at(path),
    }
}

fn unread(path: &Path, array: Option<&str>, error: Error) -> Error {
    match numpy::io_cause(&error) {
        // The method of compression is looked at when the first bytes are read.
        Some(cause) => match cause.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(inner) => in_array(unreadable(inner), path, array),
            None => error.at(path),
        },
        None => in_array(error, path, array),
    }
}

fn zipped(path: &Path, array: Option<&str>, error: ZipError) -> Error {
    match error {
        ZipError::Io(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => Error::io(path, "read", source),
        ZipError::FileNotFound => {
            in_array(Error::expected(ErrorKind::Malformed, "this array", "none of that name"), path, array)
        }
        error => in_array(unreadable(&error), path, array),
    }
}

/// Returns the error of an archive, or of an array in it, that cannot be read.
fn unreadable(error: &ZipError) -> Error {
    let save = "write it with numpy.savez";
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => not_npz("an array with a password", save),
        ZipError::CompressionMethodNotSupported(method) => {
            not_npz(format!("an array that is compressed by method {method}"), save)
        }
        ZipError::UnsupportedArchive(_) => not_npz("a ZIP archive of another form", save),
        _ => not_npz("a ZIP archive that was cut short or damaged", "fetch it again"),
    }
}

fn not_npz(found: impl Into<Cow<'static, str>>, help: &'static str) -> Error {
    Error::expected(ErrorKind::Malformed, "a .npz file", found).help(help)
}

//! Encoders in the layout that the authors published: `dictionary.txt`, word vectors in `utable.npy` and `btable.npy`,
//! weights in `uni_skip.npz` and `bi_skip.npz`. Sizes follow from the arrays; the `.pkl` files next to them are not read.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::gru::Gru;
use super::numpy::{self, Fault};
use super::{LARGEST, Part, SYSTEM, SkipThought, large};
use clickvec::error::{Error, LearnFault, LearnFileFault, LearnPlace, NpzFound, Result};
use clickvec::internals::math::Matrix;
use clickvec::internals::tables::{FoundLine, Lines};
use clickvec::internals::text::{Interner, WordBuffer, for_each_word};
use clickvec_tables::files::open_plain;
use clickvec_tables::memory::room_for_numbers;

/// The line of the dictionary whose vector is used for unknown words. It is not a word itself.
const UNKNOWN: &str = "UNK";
const END: &str = "<eos>";
/// A line of the dictionary that cannot occur in a text here.
const NOT_KEPT: u32 = u32::MAX;
/// The first bytes of a ZIP archive.
const ZIP: &[u8] = b"PK";
/// How many bytes of another file a message shows.
const SHOWN: usize = 8;
/// The longest line of a dictionary.
const MOST_LINE_BYTES: usize = 64 * 1024;

/// The encoder in a folder, with these parts.
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

/// Which lines of the dictionary are words here.
struct Dictionary {
    vocabulary: Interner,
    /// For each line the number of its word, the number of the unknown word (after all others), or [`NOT_KEPT`].
    lines: Vec<u32>,
}

impl Dictionary {
    /// A word's line is the one with exactly this word or, if there is none, the first that becomes it when read as a
    /// text. The dictionary has words with capitals and punctuation; texts here have neither.
    fn read(path: &Path) -> Result<Dictionary> {
        let mut lines = Lines::new(open(path)?.0, MOST_LINE_BYTES);
        let (mut line, mut buffer) = (Vec::new(), WordBuffer::default());
        let (mut vocabulary, mut line_of, mut unknown) = (Interner::default(), Vec::new(), None);
        let mut others: Vec<(usize, String)> = Vec::new();
        for number in 0.. {
            let bad = |fault| bad(path, LearnPlace::Line(number as u64 + 1), fault);
            match lines.next(&mut line).map_err(|source| Error::io(path, "read", source))? {
                FoundLine::Whole => {}
                FoundLine::TooLong => return Err(bad(LearnFileFault::LineTooLong { most: MOST_LINE_BYTES })),
                FoundLine::End => {
                    line_of.push(number);
                    break;
                }
            }
            let text = std::str::from_utf8(&line)
                .map_err(|error| bad(LearnFileFault::NotUtf8 { byte: error.valid_up_to() + 1 }))?;
            let text = text.trim();
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
        let no_unknown = LearnFileFault::NoUnknownWord { expected: UNKNOWN, lines };
        let unknown = unknown.ok_or_else(|| bad(path, LearnPlace::File, no_unknown))?;
        let mut dictionary = Dictionary { vocabulary, lines: vec![NOT_KEPT; lines] };
        for (word, line) in (0..).zip(line_of.into_iter().chain([unknown])) {
            dictionary.lines[line] = word;
        }
        Ok(dictionary)
    }

    /// The vectors of the words and of the unknown word.
    fn word_vectors(&self, path: &Path) -> Result<Matrix> {
        let (reader, bytes) = open(path)?;
        let failed = |fault| unread(path, LearnPlace::File, fault);
        let mut npy = numpy::open(reader, bytes).map_err(failed)?;
        let columns = match *npy.shape() {
            _ if !npy.is_by_rows() => return Err(bad(path, LearnPlace::File, LearnFileFault::NpyOrder)),
            [lines, columns] if lines == self.lines.len() && columns > 0 => columns,
            ref shape => {
                let fault = LearnFileFault::Rows { lines: self.lines.len(), found: shape.to_vec() };
                return Err(bad(path, LearnPlace::File, fault));
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
        match large(word_vectors.data()) {
            Some(found) => Err(bad(path, LearnPlace::File, LearnFileFault::Number { most: LARGEST, found })),
            None => Ok(word_vectors),
        }
    }
}

/// Reads encoders whose word vectors have `inputs` numbers.
fn encoders_of(path: &Path, prefixes: &[&str], inputs: usize) -> Result<Vec<Gru>> {
    let mut reader = open(path)?.0;
    let begin = reader.fill_buf().map_err(|source| Error::io(path, "read", source))?;
    if !begin.starts_with(ZIP) {
        let found = NpzFound::Other(begin[..begin.len().min(SHOWN)].escape_ascii().to_string());
        return Err(bad(path, LearnPlace::File, LearnFileFault::NotNpz { found }));
    }
    let mut archive = ZipArchive::new(reader).map_err(|error| zipped(path, LearnPlace::File, error))?;
    let mut array = |name: String, expected: &[Option<usize>]| {
        let place = || LearnPlace::Array(name.clone());
        let member = archive.by_name(&format!("{name}.npy")).map_err(|error| zipped(path, place(), error))?;
        let size = member.size();
        let failed = |fault| unread(path, place(), fault);
        let npy = numpy::open(member, size).map_err(failed)?;
        let fits = npy.shape().len() == expected.len()
            && npy.shape().iter().zip(expected).all(|(&found, expected)| expected.is_none_or(|size| size == found));
        if !fits || npy.shape().contains(&0) {
            let fault = LearnFileFault::NpyShape { expected: expected.to_vec(), found: npy.shape().to_vec() };
            return Err(bad(path, place(), fault));
        }
        let matrix = numpy::matrix(npy).map_err(failed)?;
        match large(matrix.data()) {
            Some(found) => Err(bad(path, place(), LearnFileFault::Number { most: LARGEST, found })),
            None => Ok(matrix),
        }
    };
    let mut encoder = |prefix: &&str| {
        let mut array = |name: &str, shape: &[Option<usize>]| array(format!("{prefix}_{name}"), shape);
        let candidate = array("Ux", &[None, None])?;
        let units = candidate.rows();
        if candidate.columns() != units {
            let found = vec![units, candidate.columns()];
            let fault = LearnFileFault::NpyShape { expected: vec![Some(units); 2], found };
            return Err(bad(path, LearnPlace::Array(format!("{prefix}_Ux")), fault));
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

/// A file and its size.
fn open(path: &Path) -> Result<(BufReader<File>, u64)> {
    let file = open_plain(path)?;
    let bytes = file.metadata().map_err(|source| Error::io(path, "open", source))?.len();
    Ok((BufReader::with_capacity(1 << 18, file), bytes))
}

fn bad(path: &Path, place: LearnPlace, fault: LearnFileFault) -> Error {
    Error::Learn { ranker: SYSTEM.name, fault: LearnFault::BadFile { path: path.to_owned(), place, fault } }
}

fn unread(path: &Path, place: LearnPlace, fault: Fault) -> Error {
    match fault {
        // The method of compression is looked at when the first bytes are read.
        Fault::Io(source) => match source.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(inner) => bad(path, place, LearnFileFault::NotNpz { found: found(inner) }),
            None => Error::io(path, "read", source),
        },
        Fault::Content(fault) => bad(path, place, fault),
    }
}

fn zipped(path: &Path, place: LearnPlace, error: ZipError) -> Error {
    match error {
        ZipError::Io(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => Error::io(path, "read", source),
        ZipError::FileNotFound => bad(path, place, LearnFileFault::NoArray),
        error => bad(path, place, LearnFileFault::NotNpz { found: found(&error) }),
    }
}

fn found(error: &ZipError) -> NpzFound {
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => NpzFound::Password,
        ZipError::CompressionMethodNotSupported(method) => NpzFound::Method(*method),
        ZipError::UnsupportedArchive(_) => NpzFound::Form,
        _ => NpzFound::Damaged,
    }
}

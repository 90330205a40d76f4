//! Vectors as NumPy writes them, and the texts next to them.

use std::io::{BufRead, Read};

use super::reader::{Builder, MAX_DIMENSION, Stop, at_line, read_up_to};
use crate::error::{VectorFileFault, VectorPlace, shortened};

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// The longest header; NumPy itself reads no longer one than 10,000 bytes.
const MAX_HEADER: usize = 1 << 16;
/// The longest text, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// The rows of a file.
pub(super) struct Rows {
    dimension: usize,
    numbers: Vec<f32>,
}

fn fault<T>(fault: VectorFileFault) -> Result<T, Stop> {
    Err(Stop::Fault(VectorPlace::File, fault))
}

/// The rows of a whole file. The texts that they belong to are [`read_texts`]'.
pub(super) fn read(mut source: impl BufRead, builder: &mut Builder) -> Result<Option<Rows>, Stop> {
    let mut head = Vec::new();
    read_up_to(&mut source, MAGIC.len() + 2, &mut head)?;
    let version = head.get(MAGIC.len()).copied().unwrap_or_default();
    let length_bytes = match version {
        1 => 2,
        2 | 3 => 4,
        _ => return fault(VectorFileFault::NpyHeader { found: format!("one of version {version}") }),
    };
    let mut length = Vec::new();
    read_up_to(&mut source, length_bytes, &mut length)?;
    length.resize(4, 0);
    let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
    if length > MAX_HEADER {
        return fault(VectorFileFault::NpyHeader { found: format!("one of {length} bytes") });
    }
    let mut header = Vec::new();
    read_up_to(&mut source, length, &mut header)?;
    let Description { wide, rows, dimension } = Description::of(&String::from_utf8_lossy(&header))?;
    builder.begin(dimension);
    let row_bytes = dimension * if wide { 8 } else { 4 };
    let (mut numbers, mut bytes) = (Vec::new(), Vec::with_capacity(row_bytes));
    for row in 1..=rows {
        bytes.clear();
        read_up_to(&mut source, row_bytes, &mut bytes)?;
        match bytes.len() {
            found if found == row_bytes => {}
            0 => return fault(VectorFileFault::TooFew { expected: rows, found: row - 1 }),
            found => {
                let cut = VectorFileFault::Cut { expected: row_bytes, found };
                return Err(Stop::Fault(VectorPlace::Vector(row), cut));
            }
        }
        match wide {
            true => numbers.extend(bytes.as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes) as f32)),
            false => numbers.extend(bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes))),
        }
    }
    if !source.fill_buf()?.is_empty() {
        return fault(VectorFileFault::TooMany { expected: rows });
    }
    Ok(Some(Rows { dimension, numbers }))
}

/// The texts of the rows, one a line.
pub(super) fn read_texts(mut source: impl BufRead, rows: &Rows, builder: &mut Builder) -> Result<(), Stop> {
    let Rows { dimension, numbers } = rows;
    let expected = (numbers.len() / dimension) as u64;
    let mut bytes = Vec::new();
    for (line, vector) in (1..).zip(numbers.chunks_exact(*dimension)) {
        bytes.clear();
        source.by_ref().take(MAX_TEXT as u64 + 1).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return fault(VectorFileFault::Texts { expected, found: line - 1 });
        }
        if bytes.len() > MAX_TEXT {
            return at_line(line, VectorFileFault::LineTooLong { limit: MAX_TEXT });
        }
        let Ok(text) = std::str::from_utf8(&bytes) else { return at_line(line, VectorFileFault::NotUtf8) };
        builder.add(text.trim(), vector, VectorPlace::Line(line), true)?;
    }
    match source.fill_buf()?.is_empty() {
        true => Ok(()),
        false => fault(VectorFileFault::Texts { expected, found: expected + 1 }),
    }
}

/// What a header says.
struct Description {
    /// 64 bits a number; else 32.
    wide: bool,
    rows: u64,
    dimension: usize,
}

impl Description {
    /// Of `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
    fn of(header: &str) -> Result<Description, Stop> {
        let value = |name: &str| match header.split_once(&format!("'{name}':")) {
            Some((_, rest)) => Ok(rest.trim_start()),
            None => fault(VectorFileFault::NpyHeader { found: format!("`{}`", shortened(header.trim())) }),
        };
        let quoted = value("descr")?;
        let wide = match quoted.split('\'').nth(1).unwrap_or_default() {
            "<f4" => false,
            "<f8" => true,
            _ => {
                let found = quoted.split(", 'fortran").next().unwrap_or_default();
                return fault(VectorFileFault::NpyType { found: shortened(found.trim_matches('\'')) });
            }
        };
        if !value("fortran_order")?.starts_with("False") {
            return fault(VectorFileFault::NpyOrder);
        }
        let shape = value("shape")?.split(')').next().unwrap_or_default().trim_start_matches('(');
        let sizes: Option<Vec<u64>> =
            shape.split(',').map(str::trim).filter(|size| !size.is_empty()).map(|size| size.parse().ok()).collect();
        match sizes.as_deref() {
            Some(&[rows, dimension]) if (1..=MAX_DIMENSION as u64).contains(&dimension) => {
                Ok(Description { wide, rows, dimension: dimension as usize })
            }
            Some(&[_, found]) => fault(VectorFileFault::Dimension { most: MAX_DIMENSION, found }),
            _ => fault(VectorFileFault::NpyShape { found: shortened(shape) }),
        }
    }
}

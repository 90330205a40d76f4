//! Vectors as JSON lines: `{"text": …, "vector": […]}`.

use std::io::BufRead;

use serde::Deserialize;

use super::{Entries, MAX_DIMENSION, MAX_NUMBER, MAX_TEXT, Stop, at_line};
use crate::error::{VectorFileFault, VectorPlace, shortened};
use crate::tables::{FoundLine, Lines};

#[derive(Deserialize)]
struct Line {
    text: String,
    vector: Vec<f32>,
}

/// Hands over each line; the first tells the dimension.
pub(super) fn read(source: impl BufRead, entries: &mut impl Entries) -> Result<(), Stop> {
    const LIMIT: usize = MAX_TEXT + MAX_NUMBER * MAX_DIMENSION;
    let mut lines = Lines::new(source, LIMIT);
    let (mut bytes, mut dimension) = (Vec::new(), None);
    for line in 1.. {
        match lines.next(&mut bytes)? {
            FoundLine::End => break,
            FoundLine::TooLong => return at_line(line, VectorFileFault::LineTooLong { limit: LIMIT }),
            FoundLine::Whole if bytes.trim_ascii().is_empty() => continue,
            FoundLine::Whole => {}
        }
        let Line { text, vector } = serde_json::from_slice(&bytes)
            .or_else(|fault| at_line(line, VectorFileFault::NotJson { found: shortened(&fault.to_string()) }))?;
        let found = vector.len();
        match dimension {
            None if (1..=MAX_DIMENSION).contains(&found) => entries.begin(*dimension.insert(found)),
            None => return at_line(line, VectorFileFault::Dimension { most: MAX_DIMENSION, found: found as u64 }),
            Some(expected) if found != expected => {
                return at_line(line, VectorFileFault::Numbers { expected, found });
            }
            Some(_) => {}
        }
        entries.add(text.trim(), &vector, VectorPlace::Line(line), true)?;
    }
    Ok(())
}

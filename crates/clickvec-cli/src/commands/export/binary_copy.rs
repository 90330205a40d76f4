//! The binary form of PostgreSQL's COPY, with the columns id, title and embedding.

use std::io::{self, Write};

/// What a stream begins with: the signature, no flags, no extension of the header.
pub(super) const HEADER: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What ends it: a row of −1 columns.
pub(super) const TRAILER: &[u8; 2] = &[0xff; 2];

/// Writes a row.
pub(super) fn write_row(out: &mut impl Write, id: &str, title: &str, vector: &[f32]) -> io::Result<()> {
    out.write_all(&3i16.to_be_bytes())?;
    write_text(out, id)?;
    write_text(out, title)?;
    // pgvector's vector: its dimension, two bytes that are not used, the numbers.
    let dimension = i16::try_from(vector.len()).map_err(io::Error::other)?;
    out.write_all(&(4 + 4 * i32::from(dimension)).to_be_bytes())?;
    out.write_all(&dimension.to_be_bytes())?;
    out.write_all(&[0; 2])?;
    vector.iter().try_for_each(|number| out.write_all(&number.to_be_bytes()))
}

/// Writes a text: its length and its bytes. PostgreSQL's texts have no U+0000.
fn write_text(out: &mut impl Write, text: &str) -> io::Result<()> {
    let text = text.replace('\0', " ");
    let length = i32::try_from(text.len()).map_err(io::Error::other)?;
    out.write_all(&length.to_be_bytes())?;
    out.write_all(text.as_bytes())
}

//! PostgreSQL with pgvector: the binary form of COPY, and the SQL around it.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use clickvec::Error;
use clickvec::internals::files::Pending;
use clickvec::model::Model;

use super::folder;
use super::titles::{Counts, ExportedTitles};

/// What a binary COPY begins with: the signature, no flags, no extension of the header.
const HEADER: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// The columns id, title and embedding.
const COLUMNS: i16 = 3;
/// What ends it: a row of −1 columns.
const TRAILER: i16 = -1;

/// Writes rows for `COPY … (FORMAT binary)`.
pub(super) fn write(path: &Path, titles: ExportedTitles<'_>) -> Result<Counts> {
    let mut file = Pending::new(path)?;
    let out = file.writer();
    let failed = |source| Error::io(path, "write", source);
    let length = titles.model.dimension();
    out.write_all(HEADER).map_err(failed)?;
    let counts = titles.each(path, |titles, vectors| {
        for (title, vector) in titles.iter().zip(vectors.chunks_exact(length)) {
            out.write_all(&COLUMNS.to_be_bytes())?;
            text(out, &title.id)?;
            text(out, &title.title)?;
            // pgvector's vector: its dimension, two bytes that are not used, the numbers.
            let dimension = i16::try_from(length).map_err(io::Error::other)?;
            out.write_all(&(4 + 4 * i32::from(dimension)).to_be_bytes())?;
            out.write_all(&dimension.to_be_bytes())?;
            out.write_all(&[0; 2])?;
            for number in vector {
                out.write_all(&number.to_be_bytes())?;
            }
        }
        Ok(())
    })?;
    out.write_all(&TRAILER.to_be_bytes()).map_err(failed)?;
    folder::publish(file, path)?;
    Ok(counts)
}

/// A text: its length and its bytes. PostgreSQL's texts have no U+0000.
fn text(out: &mut impl Write, text: &str) -> io::Result<()> {
    let text = text.replace('\0', " ");
    let length = i32::try_from(text.len()).map_err(io::Error::other)?;
    out.write_all(&length.to_be_bytes())?;
    out.write_all(text.as_bytes())
}

/// The SQL that loads the rows, for psql in the folder. A graph of pgvector has at most 2,000 numbers a vector.
pub(super) fn sql(name: &str, model: &Model) -> String {
    let (dimension, fingerprint) = (model.dimension(), model.fingerprint());
    let index = match dimension {
        0..=2000 => format!("CREATE INDEX \"{name}_embedding\" ON \"{name}\" USING hnsw (embedding vector_ip_ops);\n"),
        _ => String::new(),
    };
    format!(
        r#"-- Loads titles.copy: psql -f load.sql DATABASE, in this folder. Needs pgvector 0.5 or later. A table of this name stays as it
-- is; drop it first to load it anew.
\set ON_ERROR_STOP on
BEGIN;
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE "{name}" (id text PRIMARY KEY, title text NOT NULL, embedding vector({dimension}) NOT NULL);
COMMENT ON TABLE "{name}" IS 'clickvec model {fingerprint}';
\copy "{name}" (id, title, embedding) FROM 'titles.copy' (FORMAT binary)
-- Vectors have length 1, so the inner product orders like the cosine. Built after loading, which is faster.
{index}ANALYZE "{name}";
COMMIT;
-- To search, with a query's vector of `clickvec embed --side query`:
--     SELECT id, title, -(embedding <#> '[…]') AS score FROM "{name}" ORDER BY embedding <#> '[…]' LIMIT 10;
"#
    )
}

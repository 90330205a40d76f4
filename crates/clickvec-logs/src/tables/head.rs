//! Recognising the format and the columns from the beginning of a file.

use std::io::{self, BufRead};
use std::path::Path;

use clickvec::internals::files;
use clickvec::internals::tables::{FoundLine, is_parquet};

use super::format::{Format, Options};
use super::record::{Lines, MAX_ROW_BYTES};
use crate::error::{Error, Result, TableFault};

/// Reads at least up to the end of the first line that is not empty, up to a limit. The library's reader of a first line would
/// not do: forms without lines are recognised by as many bytes as there are.
pub(super) fn first_line(source: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while head.len() < MAX_ROW_BYTES && !head.trim_ascii_start().contains(&b'\n') {
        let available = match source.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            break;
        }
        head.extend_from_slice(available);
        let used = available.len();
        source.consume(used);
    }
    Ok(head)
}

/// Reads the first line that is not empty, without byte order mark and line end.
pub(super) fn read_header(path: &Path, lines: &mut Lines, header: &mut Vec<u8>) -> Result<()> {
    loop {
        match lines.next(header).map_err(|error| Error::io(path, "read", error))? {
            FoundLine::End => return Err(Error::table(path, TableFault::Empty)),
            FoundLine::TooLong => return Err(Error::table(path, TableFault::HeaderTooLong { limit: MAX_ROW_BYTES })),
            FoundLine::Whole if header.is_empty() => {}
            FoundLine::Whole => {
                let found = std::str::from_utf8(header);
                let fault = |byte| Error::table(path, TableFault::HeaderNotUtf8 { byte });
                return found.map(drop).map_err(|error| fault(error.valid_up_to() + 1));
            }
        }
    }
}

/// Whether the name or the first bytes of a file say that it is Parquet.
pub(super) fn looks_like_parquet(path: &Path, options: &Options) -> Result<bool> {
    if let Some(format) = options.format {
        return Ok(format == Format::Parquet);
    }
    Ok(is_parquet(&files::first_bytes::<4>(path)?))
}

/// Recognises the format by the name, then by the first bytes.
pub(super) fn guess(path: &Path, head: &[u8]) -> Result<Format, TableFault> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    for packed in [".gz", ".zst"] {
        name = name.strip_suffix(packed).unwrap_or(&name).to_owned();
    }
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
    let Some(first) = first else { return Err(TableFault::Empty) };
    let line = head.split(|&byte| byte == b'\n').find(|line| !line.is_empty()).unwrap_or_default();
    let has_commas = line.contains(&b',') || line.contains(&b';');
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "tsv" | "tab" => return Ok(Format::Tsv),
        // Some programs separate fields by tabs and call it CSV all the same.
        "csv" if has_commas || !line.contains(&b'\t') => return Ok(Format::Csv),
        "jsonl" | "ndjson" | "json" if *first == b'[' => return Err(TableFault::JsonArray),
        "jsonl" | "ndjson" | "json" => return Ok(Format::Json),
        _ => {}
    }
    match first {
        b'{' => return Ok(Format::Json),
        b'[' => return Err(TableFault::JsonArray),
        _ => {}
    }
    match line.contains(&b'\t') {
        true => Ok(Format::Tsv),
        false if has_commas => Ok(Format::Csv),
        false => Err(TableFault::UnknownFormat),
    }
}
